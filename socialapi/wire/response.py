"""Reading responses: bytes become a model, or an error that says what the service said."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs
import orjson

from socialapi.errors import ApiError, DecodeError, error_class
from socialapi.problems import PROBLEM_TYPES, OperationError, Problem, ServiceError
from socialapi.routes.route import Route
from socialapi.wire.converter import join_path, structure

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


def read_result(route: Route[R], reply: Reply) -> R:
    """The result of a successful call.

    Raises ApiError for any other status, for errors without data, and for operation errors whatever the status;
    DecodeError when the answer is not what is documented.
    """
    if not reply.ok:
        raise read_error(reply)
    body = decode(reply.content)
    if not route.family.envelope:
        result: R = structure(body, route.result)
        return result
    if not isinstance(body, dict):
        raise DecodeError("", "expected an object")
    if body.get("operation_errors") or (body.get("data") is None and body.get("errors")):
        raise read_error(reply)
    enveloped = "data" in body
    try:
        result = structure(body["data"] if enveloped else body, route.result)
    except DecodeError as problem:
        raise DecodeError(join_path("data", problem.path) if enveloped else problem.path, problem.reason) from None
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
    request_ids = (reply.headers.get(name) for name in REQUEST_ID_HEADERS)
    return error_class(reply.status)(
        reply.status,
        headers=reply.headers,
        problems=[read_problem(item) for item in items if "title" in item or "type" in item],
        errors=[_service_error(item) for item in items if not ("title" in item or "type" in item)],
        operation_errors=_operation_errors(body),
        request_id=next((each for each in request_ids if each), None),
        summary=_summary(reply),
    )


def read_problem(data: Mapping[str, Any]) -> Problem:
    """The problem as its documented type, chosen by the last segment of `type`; an odd one as the base class."""
    slug = str(data.get("type", "")).rstrip("/").rpartition("/")[2]
    for cls in (PROBLEM_TYPES.get(slug, Problem), Problem):
        try:
            problem: Problem = structure(data, cls)
        except DecodeError:
            continue
        return problem
    texts = {name: data[name] for name in ("type", "title", "detail") if isinstance(data.get(name), str)}
    return Problem(**texts, extra={name: value for name, value in data.items() if name not in texts})


def _service_error(item: Mapping[str, Any]) -> ServiceError:
    code = item.get("code")
    return ServiceError(
        code=code if isinstance(code, int | str) else None,
        message=_text(item.get("message") or item.get("detail")),
        parameter=_text(item.get("parameter")),
    )


def _operation_errors(body: Any) -> Sequence[OperationError]:
    """Both forms: objects with an `index`, and a list with one (possibly empty) entry for each operation."""
    listed = body.get("operation_errors") if isinstance(body, dict) else None
    found: list[OperationError] = []
    for position, entry in enumerate(listed if isinstance(listed, list) else ()):
        for item in entry if isinstance(entry, list) else (entry,):
            if not isinstance(item, dict) or not item:
                continue
            index = item.get("index")
            error = _service_error(item)
            found.append(
                OperationError(
                    index=index if isinstance(index, int) else position,
                    code=error.code,
                    message=error.message,
                    parameter=error.parameter,
                )
            )
    return found


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _summary(reply: Reply) -> str:
    kind = reply.headers.get("content-type", "").partition(";")[0].strip()
    if not reply.content:
        return "an empty answer"
    return f"an answer of type {kind or 'unknown'} with no reason in it"
