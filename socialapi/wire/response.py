"""Reading responses: bytes become a model, or an error that says what the service said."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, cast
from urllib.parse import parse_qsl

import attrs
import orjson

from socialapi.errors import ApiError, DecodeError, WebhookRejected, error_class
from socialapi.problems import OperationError, Problem
from socialapi.routes.route import Route
from socialapi.wire.converter import join_path, structure
from socialapi.wire.paging import is_paged, read_page
from socialapi.wire.problems import read_partial_error, read_problem, read_service_error

R = TypeVar("R")

REQUEST_ID_HEADERS: Final = ("x-transaction-id", "x-request-id")


@attrs.frozen(repr=False)
class Reply:
    """An HTTP response, whole: status, headers with lower-case names, body."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def ok(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def is_json(self) -> bool:
        """Whether the content type says JSON."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return kind == "application/json" or kind.endswith("+json")

    @property
    def body(self) -> Any:
        """The body, decoded when it is JSON, else its bytes. Raises DecodeError for JSON that does not decode."""
        return decode(self.content) if self.is_json and self.content else self.content

    def __repr__(self) -> str:
        return f"Reply({self.status}, {len(self.content)} bytes)"


def decode(content: bytes) -> Any:
    """JSON bytes as Python data. Raises DecodeError."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        error = DecodeError("", f"is not JSON ({problem.msg} at byte {problem.pos})")
    # Out here, so that orjson's error, which holds the whole document, is not even its context.
    raise error


def _decode_form(content: bytes) -> Any:
    """Ampersand-joined pairs, as the token steps of OAuth 1.0a answer them; JSON is tolerated (section 5.3)."""
    if content.lstrip()[:1] in (b"{", b"["):
        return decode(content)
    pairs = dict(parse_qsl(content.decode("utf-8", "replace")))
    # The one of them that is no text; a screen name may well be "true".
    return pairs | {name: pairs[name] == "true" for name in ("oauth_callback_confirmed",) if name in pairs}


def read_result(route: Route[R], reply: Reply) -> R:
    """The result of a successful call.

    Raises ApiError for any other status, for errors without data, and for operation errors whatever the status;
    DecodeError when the answer is not what is documented.
    """
    if not reply.ok:
        raise read_error(reply)
    # The token steps are said to answer JSON and shown to answer pairs: what came tells, whatever its content type.
    body = decode(reply.content) if route.family.envelope else _decode_form(reply.content)
    if not route.family.envelope:
        result: R = structure(body, route.result)
        return result
    if not isinstance(body, dict):
        raise DecodeError("", "expected an object")
    if body.get("operation_errors") or (body.get("data") is None and body.get("errors")):
        raise read_error(reply)
    if is_paged(route.result):
        return cast("R", read_page(route.result, body))
    enveloped = "data" in body
    try:
        result = structure(body["data"] if enveloped else body, route.result)
    except DecodeError as problem:
        raise DecodeError(join_path("data", problem.path) if enveloped else problem.path, problem.reason) from None
    return with_partial_errors(result, body)


def with_partial_errors(result: R, body: Mapping[str, Any]) -> R:
    """Errors beside data are kept on results that have a place for them."""
    listed = body.get("errors")
    if listed and attrs.has(type(result)) and hasattr(result, "errors"):
        errors = tuple(read_partial_error(each) for each in listed if isinstance(each, dict))
        return attrs.evolve(result, errors=errors)  # type: ignore[misc]  # attrs.has has said that it is one
    return result


def read_error(reply: Reply) -> ApiError:
    """The error that a reply stands for; never raises, so that an HTML page or an empty body keeps its status."""
    body: Any = None
    if reply.content.lstrip()[:1] in (b"{", b"["):
        try:
            body = orjson.loads(reply.content)
        except orjson.JSONDecodeError:
            body = None
    listed = body.get("errors") if isinstance(body, dict) else None
    items = [item for item in (listed if isinstance(listed, list) else ()) if isinstance(item, dict)]
    is_problem = isinstance(body, dict) and ("title" in body or "type" in body)
    if is_problem or (isinstance(body, dict) and not items and "code" in body):
        items = [body]
    if isinstance(body, dict) and isinstance(body.get("error"), str):
        items.append({"code": body["error"], "message": body.get("error_description")})  # RFC 6749, section 5.2
    request_ids = (reply.headers.get(name) for name in REQUEST_ID_HEADERS)
    problems = [read_problem(item) for item in items if "title" in item or "type" in item]
    reason = _webhook_failure(problems)
    error = (WebhookRejected if reason else error_class(reply.status))(
        reply.status,
        headers=reply.headers,
        problems=problems,
        errors=[read_service_error(item) for item in items if not ("title" in item or "type" in item)],
        operation_errors=_operation_errors(body),
        request_id=next((each for each in request_ids if each), None),
        summary=_summary(reply),
    )
    if isinstance(error, WebhookRejected) and reason:
        error.reason = reason
    return error


def _webhook_failure(problems: Sequence[Problem]) -> str | None:
    """The reason of section 7.2 that a problem begins with."""
    from socialapi.models.webhooks import WEBHOOK_FAILURES

    texts = [text for problem in problems for text in (problem.title, problem.detail, problem.slug) if text]
    return next((reason for reason in WEBHOOK_FAILURES if any(text.startswith(reason) for text in texts)), None)


def _operation_errors(body: Any) -> Sequence[OperationError]:
    """Both forms: objects with an `index`, and a list with one (possibly empty) entry for each operation.

    An object without an index in a list that has no empty entries may be either, or about nothing in particular; its
    index stays None.
    """
    given = body.get("operation_errors") if isinstance(body, dict) else None
    listed = given if isinstance(given, list) else []
    positional = any(not entry or isinstance(entry, list) for entry in listed)
    found: list[OperationError] = []
    for position, entry in enumerate(listed):
        for item in entry if isinstance(entry, list) else (entry,):
            if not isinstance(item, dict) or not item:
                continue
            index = _index(item.get("index"))
            error = read_service_error(item)
            found.append(
                OperationError(
                    index=position if index is None and positional else index,
                    position=position,
                    listed=len(listed),
                    code=error.code,
                    message=error.message,
                    parameter=error.parameter,
                )
            )
    return found


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _summary(reply: Reply) -> str:
    kind = reply.headers.get("content-type", "").partition(";")[0].strip()
    if not reply.content:
        return "an empty answer"
    return f"an answer of type {kind or 'unknown'} with no reason in it"
