"""Decodes responses into models or errors."""

import base64
import codecs
import contextlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs
import orjson

from socialapi.errors import (
    ApiError,
    DecodeError,
    NotFound,
    WebhookNotFound,
    WebhookRejected,
    WebhookUrlRejected,
    error_class,
    quoted,
    shown_path,
)
from socialapi.models.model import Items, Model
from socialapi.problems import OperationError, Problem, ServiceError
from socialapi.routes.route import Route
from socialapi.wire import scalars
from socialapi.wire.class_readers import is_tuple, join_path
from socialapi.wire.content_encoding import unsupported
from socialapi.wire.decode import (
    decode_json,
    is_problem,
    read_errors,
    read_partial_error,
    read_service_error,
    required_value,
    structure,
    wire_names,
)
from socialapi.wire.oauth1 import is_token
from socialapi.wire.paging import read_page

R = TypeVar("R")

REQUEST_ID_HEADERS: Final = ("x-transaction-id", "x-request-id", "x-amzn-requestid", "cf-ray")
"""The headers with the id of a request, the service's own before those of proxies."""


# Not frozen, because each field of a frozen class costs a call when an instance is made.
@attrs.define(eq=False, repr=False)
class Reply:
    """An HTTP response: status, headers with lower-case names, body.

    `content` is the complete body, or its first `max_bytes` bytes if that is set.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(repr=False)
    content: bytes = attrs.field(repr=False)
    max_bytes: int | None = attrs.field(default=None, kw_only=True)

    @property
    def ok(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def is_json(self) -> bool:
        """Whether the content type is JSON."""
        kind = self.content_type
        return kind == "application/json" or kind.endswith("+json")

    @property
    def content_type(self) -> str:
        """The content type without parameters, in lower case. If there are several, the first one."""
        return self.headers.get("content-type", "").partition(";")[0].partition(",")[0].strip().lower()

    @property
    def body(self) -> Any:
        """The decoded body if it is JSON, otherwise its bytes. JSON objects and arrays are decoded with any content
        type.
        """
        if self.is_json and self.content:
            with contextlib.suppress(orjson.JSONDecodeError):
                return decode_json(self.content)
        found = _json_body(self.content)
        return found if isinstance(found, dict | list) else self.content

    def check_complete(self, *, executed: bool) -> None:
        """Raises DecodeError for a successful response that was read only in part.

        `executed`, which is True if the request was an executed write, becomes an attribute of the error.
        """
        if self.max_bytes is None or not self.ok:
            return
        error = DecodeError("", f"is larger than the {self.max_bytes:,} bytes that Config.max_response_bytes allows")
        error.executed, error.status = executed, self.status
        raise error

    def __repr__(self) -> str:
        return f"Reply({self.status}, {len(self.content)} bytes)"


def decode(content: bytes) -> Any:
    """Returns JSON bytes as Python data; accepts a byte order mark and lone surrogates. Raises DecodeError."""
    try:
        return decode_json(content)
    except orjson.JSONDecodeError as problem:
        error = DecodeError("", f"is not JSON ({problem.msg} at byte {problem.pos})")
    # Raised outside the handler, because orjson's error contains the complete document and must not be the context.
    raise error


def _decode_tokens(content: bytes) -> Any:
    """Returns the fields of a response with tokens, which is JSON or a form.

    The response may contain the only valid token, so invalid JSON after the object or in other fields, such as NaN, is
    tolerated.
    """
    text = content.decode(json.detect_encoding(content), "replace").strip()
    if text[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            return _TOLERANT.raw_decode(text)[0]
        return decode(content)
    pairs = dict(parse_qsl(text))
    # The only value that is not a string. A screen name may be "true".
    return pairs | {name: pairs[name] == "true" for name in ("oauth_callback_confirmed",) if name in pairs}


_TOLERANT: Final = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < 1_000 else math.inf, strict=False
)
"""Accepts every number, and control characters in strings."""


def read_result(route: Route[R], reply: Reply) -> R:
    """Returns the result of a successful call, with its errors.

    Raises ApiError for any other status, for errors without data, for a response that gives a reason instead of the
    documented fields, and for operation errors with any status. Raises DecodeError if the response does not match its
    documentation; after a write, its `executed` is True.
    """
    if not reply.ok:
        raise read_error(reply)
    try:
        reply.check_complete(executed=False)
        return _read_success(route, reply)
    except DecodeError as problem:
        error = DecodeError(problem.path, problem.reason)
    body = _json_body(reply.content)
    if route.family.envelope and _gives_reason(route, body):
        raise read_error(reply)
    if (encodings := unsupported(reply.headers.get("content-encoding"))) and body is None:
        error = DecodeError("", f"is encoded as {encodings}, which is not supported")
    elif reply.max_bytes is None and reply.content.lstrip()[:1] == b"<" and (said := _markup_or_text(reply)):
        error = DecodeError("", f"is not JSON but {said[0]!r}")
    error.status, error.executed, error.request_id = reply.status, route.method != "GET", request_id(reply.headers)
    if route.family.envelope and reply.max_bytes is None:  # responses without an envelope contain tokens
        error.body = reply.content
    raise error


def _read_success(route: Route[R], reply: Reply) -> R:
    if not route.family.envelope:
        return _read_tokens(route.result, reply)
    body = decode(reply.content)
    if route.is_paged:
        if body.__class__ is dict and body.get("data").__class__ is list and _ERRORS.isdisjoint(body):
            return cast("R", read_page(route.result, body))  # as nearly always
        if _is_refusal(_refusal(body), names=frozenset()):
            raise read_error(reply)
        page: Any = read_page(route.result, body)
        if (
            body.__class__ is dict
            and body.get("data", ()) is None
            and not page.meta
            and any(_texts(page.extra, _TELLING))
        ):
            raise read_error(reply)
        return cast("R", page)
    if not isinstance(body, dict):
        return _read_object(route, body, "")
    if _is_refusal(body, wire_names(cast("Any", route.result))):
        raise read_error(reply)
    if "data" not in body:
        return with_partial_errors(_read_object(route, _without_envelope(body), ""), body)
    return with_partial_errors(_read_object(route, body["data"], "data"), body)


def _read_tokens(result: type[R], reply: Reply) -> R:
    """Returns the tokens in a response.

    Only the fields that a token needs must be valid. They may be nested under another name. The documentation of the
    token endpoints mentions JSON but shows form pairs, so the content decides the format, not the content type. Raises
    ApiError if a response with status 200 is an error.
    """
    from socialapi.models.oauth import InvalidatedToken  # already imported by the caller

    body, _ = _unwrapped(result, scalars.only(_decode_tokens(reply.content)))
    found: R
    if not isinstance(body, dict):
        raise DecodeError("", "expected an object")
    if not any(body.get(name) for name in _TOKENS) and (
        not _ERRORS.isdisjoint(_refusal(body)) or any(_texts(body, _TELLING))
    ):
        raise read_error(reply)
    if isinstance(body.get("scope"), list):
        body["scope"] = " ".join(each for each in body["scope"] if isinstance(each, str))
    fields = attrs.fields_dict(cast("Any", result))
    needed = {name for name, field in fields.items() if field.default is attrs.NOTHING}
    if result is not InvalidatedToken:  # which is never sent
        _clean_tokens(body, needed)
    unread = {}
    while True:
        try:
            found = structure({name: value for name, value in body.items() if name not in unread}, result)
        except DecodeError as problem:
            if problem.path in needed or problem.path not in body:
                raise
            unread[problem.path] = body[problem.path]
        else:
            found.extra = found.extra | unread  # type: ignore[attr-defined]  # they are models
            return found


_TOKENS: Final = ("access_token", "refresh_token", "oauth_token", "oauth_token_secret")
UNUSABLE: Final = "is not a token: it is empty, or contains spaces, control characters or non-ASCII letters"


def _clean_tokens(body: dict[str, Any], needed: AbstractSet[str]) -> None:
    """Removes whitespace around tokens. Raises DecodeError, without showing the token, if a required token cannot be
    sent. Drops an optional token that cannot be sent.
    """
    for name in _TOKENS:
        if not isinstance(body.get(name), str | float):
            continue
        body[name] = "" if isinstance(body[name], float) else body[name].strip()
        if is_token(body[name]):
            continue
        if name in needed:
            raise DecodeError(name, UNUSABLE)
        del body[name]


_ENVELOPE: Final = frozenset({"data", "errors", "request"})
"""The envelope fields that are not stored elsewhere."""


def _without_envelope(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _ENVELOPE}


def _is_refusal(body: Any, names: AbstractSet[str]) -> bool:
    """Returns whether a response with a successful status is an error: it has operation errors, or only errors."""
    if not isinstance(body, dict) or _ERRORS.isdisjoint(body):
        return False
    if body.get("operation_errors"):
        return True
    is_error = bool(body.get("errors") or body.get("error"))
    return is_error and not body.get("data") and names.isdisjoint(_without_envelope(body))


_ERRORS: Final = frozenset({"operation_errors", "errors", "error"})


def _gives_reason(route: Route[Any], body: Any) -> bool:
    """Returns whether an unreadable response is an error: it has a reason and no documented field."""
    kind: Any = route.result
    names = wire_names(kind.__args__[0] if route.is_paged else kind) - _TELLING
    objects = [each for each in scalars.as_list(_refusal(body)) or () if isinstance(each, dict)]
    return any(next(_texts(each, _TELLING), None) for each in objects) and all(
        names.isdisjoint(each) and not each.get("data") and each.get("success") is not True for each in objects
    )


def _refusal(body: Any) -> Any:
    """Returns the object with the errors of a response. It may be the data of the response."""
    data = body.get("data") if isinstance(body, dict) and _ERRORS.isdisjoint(body) else None
    return data if isinstance(data, dict) and not _ERRORS.isdisjoint(data) else body


def _read_object(route: Route[R], data: Any, path: str) -> R:
    """Returns the object in a response, which may be nested under another name."""
    result = route.result
    inner, beside = _unwrapped(result, data)
    try:
        if not route.open_answer:
            _check_shape(result, inner)
        found: R = required_value(result, inner)
    except DecodeError as problem:
        if route.open_answer and isinstance(data, dict | list):
            # Its fields are undocumented, so an unexpected type must not lose the response to a write.
            return cast("Any", result)(extra=data if isinstance(data, dict) else {"data": data})  # type: ignore[no-any-return]
        error = DecodeError(join_path(path, problem.path) if path else problem.path, problem.reason)
    else:
        if beside and isinstance(found, Model):
            found.extra = beside | found.extra
        return found
    raise error


def _check_shape(result: Any, data: Any) -> None:
    """Raises DecodeError for a single value instead of a list, and for an object without documented fields."""
    if is_tuple(result) and not isinstance(data, list):
        raise DecodeError("", "expected an array")
    names = wire_names(result)
    data = data[0] if isinstance(data, list) and len(data) == 1 else data
    if names and isinstance(data, dict) and names.isdisjoint(data):
        raise DecodeError("", "has none of the documented fields")


def _unwrapped(result: Any, data: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the nested object of an object without documented fields, and the fields next to it."""
    names = wire_names(result)
    outer = data[0] if isinstance(data, list) and len(data) == 1 else data
    if not names or not isinstance(outer, dict) or not names.isdisjoint(outer):
        return data, {}
    for name, value in outer.items():
        inner = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(inner, dict) and not names.isdisjoint(inner):
            return inner, {other: beside for other, beside in outer.items() if other != name}
    return data, {}


def with_partial_errors(result: R, body: Mapping[str, Any]) -> R:
    """Returns the result, with the response's errors and other fields if the result has attributes for them."""
    errors = read_errors(body.get("errors"))
    if isinstance(result, tuple):
        return cast("R", Items.of(result, errors))
    if isinstance(result, Model):
        if errors:
            result.partial_errors = errors
        if "data" in body and not body.keys() <= _ENVELOPE:
            result.extra = _without_envelope(body) | result.extra
    return result


def read_error(reply: Reply) -> ApiError:
    """Returns the error for a reply. Never raises: even for an HTML page or an empty body, the error has the status."""
    body = _refusal(_json_body(reply.content))
    found = [read_partial_error(item) for item in _listed_errors(body)[:MAX_ERRORS]]
    problems = [each for each in found if isinstance(each, Problem)]
    errors = [each for each in found if isinstance(each, ServiceError)]
    reason = _webhook_failure(body if body is not None else reply.content[:MAX_SEARCHED].decode("utf-8", "replace"))
    operation_errors = _operation_errors(body)
    has_reason = bool(problems or operation_errors or any(e.message or e.code is not None for e in errors))
    error = _class_of(reply.status, reason, problems, errors)(
        reply.status,
        headers=reply.headers,
        problems=problems,
        errors=errors,
        operation_errors=operation_errors,
        request_id=request_id(reply.headers),
        summary=_summary(reply, body, has_reason=has_reason),
    )
    if isinstance(error, WebhookRejected) and reason:
        error.reason = reason
    return error


def hide_secrets(reply: Reply, authorization: str, form: str | None) -> None:
    """Replaces the secrets of a request with `***` in its rejection. Gateways echo the header that they reject, and
    errors quote what they say.
    """
    for kind, value in _SENT_SECRETS.findall(f"{authorization}\n{form or ''}"):
        found = {value, unquote(value)}
        if kind == "Basic ":
            found.add(unquote(base64.b64decode(value).decode().partition(":")[2]))
        for secret in (each for each in found if len(each) >= _LEAST_SECRET):
            for shown in (secret, secret.replace("/", r"\/")):
                reply.content = reply.content.replace(shown.encode(), b"***")


_SENT_SECRETS: Final = re.compile(
    r'(^Bearer |^Basic |\boauth_(?:consumer_key|signature|token|verifier)="'
    r'|\b(?:access_token|client_secret|code|code_verifier|refresh_token)=)([^"&\s]+)',
    re.MULTILINE,
)
"""The secrets of an `Authorization` header and a form."""
_LEAST_SECRET: Final = 8
"""The number of characters of a secret. A shorter value may be part of an ordinary word."""


def request_id(headers: Mapping[str, str]) -> str | None:
    """Returns the service's id of a request, or None."""
    return next((headers[name] for name in REQUEST_ID_HEADERS if headers.get(name)), None)


def _json_body(content: bytes) -> Any:
    text = content.removeprefix(codecs.BOM_UTF8).lstrip()
    if text[:1] not in (b"{", b"[", b'"'):
        return None
    with contextlib.suppress(orjson.JSONDecodeError):
        return decode_json(text)
    return None


MAX_ERRORS: Final = 250
"""The maximum number of errors read from a response: more than the service documents, but few enough not to block the
event loop.
"""


def _listed_errors(body: Any) -> list[Any]:
    """Returns all errors of an error response, from any place in it: problems, coded errors, plain strings."""
    if isinstance(body, list):
        return [item for item in body[:MAX_ERRORS] if isinstance(item, dict | str)]
    if not isinstance(body, dict):
        return []
    listed = body.get("errors")
    items = listed if isinstance(listed, list) else [] if listed is None else [listed]
    if is_problem(body) or (not items and not {"code", "message", "detail", "reason"}.isdisjoint(body)):
        items = [body]  # the errors of a problem belong to the problem
    if isinstance(body.get("error"), str):
        message = body.get("error_description") or body.get("description")
        return [*items, {"code": body["error"], "message": message}]  # RFC 6749, section 5.2
    return [*items, body["error"]] if isinstance(body.get("error"), dict) else items


def _class_of(
    status: int, reason: str | None, problems: Sequence[Problem], errors: Sequence[ServiceError]
) -> type[ApiError]:
    """Returns the error class. A response that says "not found" is NotFound, whatever its status."""
    says_not_found = [each.says_not_found for each in problems]
    says_not_found += [str(each.code).endswith(NOT_FOUND) for each in errors]
    found = error_class(status)
    if found is ApiError and says_not_found and all(says_not_found):
        found = NotFound
    if reason is None:
        return found
    if reason == "UrlValidationFailed":
        return WebhookUrlRejected
    return WebhookNotFound if found is NotFound or reason == "WebhookIdInvalid" else WebhookRejected


NOT_FOUND: Final = "NOT_FOUND"
"""The suffix of the advertising API's error codes for objects that do not exist."""


def _webhook_failure(body: Any) -> str | None:
    """Returns the reason for a webhook failure, from any string of a response."""
    from socialapi.models.webhooks import WEBHOOK_FAILURES

    pattern = re.compile(rf"\b(?:{'|'.join(WEBHOOK_FAILURES)})\b")
    texts = itertools.islice(_texts(body, _TELLING | {"data", "parameters", "type"}), MAX_ERRORS)
    found = (pattern.search(text, 0, MAX_SEARCHED) for text in texts)
    return next((match.group() for match in found if match), None)


def _texts(body: Any, telling: AbstractSet[str], depth: int = 0) -> Iterator[str]:
    """Yields the strings of a response that may contain a reason: fields with such names, and all strings of errors
    that are grouped by field.
    """
    if isinstance(body, str):
        yield body
    if depth > MAX_DEPTH or not isinstance(body, dict | list):
        return
    parts = body[:MAX_ERRORS] if isinstance(body, list) else []
    if isinstance(body, dict):
        named = list(itertools.islice(body.items(), MAX_ERRORS))
        others = [(name, part) for name, part in named if name not in _ECHOED]
        parts = _named(named, telling)
        if not parts and depth:
            parts = [part for _, part in others if isinstance(part, str | list)]
        elif not parts:
            inner = (itertools.islice(part.items(), MAX_ERRORS) for _, part in others if isinstance(part, dict))
            parts = _named(itertools.chain.from_iterable(inner), telling)
    for part in parts:
        yield from _texts(part, telling, depth + 1)


def _named(members: Iterable[tuple[str, Any]], names: AbstractSet[str]) -> list[Any]:
    return [part for name, part in members if "".join(filter(str.isalpha, name)).lower() in names]


_TELLING: Final = frozenset({"title", "detail", "details", "reason", "code", "message", "msg", "description"}) | {
    *("error", "errors", "errormsg", "errormessage", "errordescription", "fault", "faultstring", "exception")
}
_ECHOED: Final = frozenset({"parameters", "parameter", "value", "values", "input", "data", "request", "loc", "path"})
"""The names of fields in which an error echoes the request. They may contain personal data."""
MAX_DEPTH: Final = 4
MAX_SEARCHED: Final = 10_000
"""How many characters of a string are searched for a reason."""
MAX_OPERATION_ERRORS: Final = 2_500
"""The maximum number of operations in a request."""


def _operation_errors(body: Any) -> Sequence[OperationError]:
    """Returns the operation errors of either form: objects with an `index`, or a list with one entry per operation.

    An entry may be empty. An object without an index, in a list without empty entries, could have either form; its
    index stays None.
    """
    given = body.get("operation_errors") if isinstance(body, dict) else None
    listed = given if isinstance(given, list) else []
    positional = any(not entry or isinstance(entry, list) for entry in listed)
    found: list[OperationError] = []
    for position, entry in enumerate(listed[:MAX_OPERATION_ERRORS]):
        for item in entry[:MAX_ERRORS] if isinstance(entry, list) else (entry,):
            if not isinstance(item, dict) or not item:
                continue
            index = scalars.read_or_none(scalars.whole_number, item.get("index"))
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


def _summary(reply: Reply, body: Any, *, has_reason: bool) -> str:
    """Returns the reason in a response without errors, or else the kind of response; for a redirect, its target."""
    if location := reply.headers.get("location") if 300 <= reply.status < 400 else None:
        return (
            f"it redirects to {_shown_url(location)}, and redirects are not followed: is the host in the Config right?"
        )
    if has_reason:
        return ""
    if not reply.content:
        return "an empty answer"
    texts = _markup_or_text(reply) if body is None else map(quoted, _texts(body, _TELLING))
    if said := "; ".join(itertools.islice(filter(None, texts), 3)):
        return said
    if encodings := unsupported(reply.headers.get("content-encoding")):
        return f"an answer encoded as {encodings}, which is not supported"
    return f"an answer of type {quoted(reply.content_type) or 'unknown'} with no reason in it"


def _markup_or_text(reply: Reply) -> list[str]:
    """Returns the reason in a response that is not JSON: the title of HTML, the messages of XML, or plain text."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(reply.content[:MAX_SEARCHED])
    except UnicodeDecodeError:
        if not reply.content_type.startswith(("text/", "application/x")):
            return []
        text = reply.content[:MAX_SEARCHED].decode("latin-1")
    text = text.removeprefix("\ufeff").strip()
    if "\0" in text or text.startswith(("{", "[")):
        return []
    if not text.startswith("<"):
        return [quoted(text)]
    import html

    is_page = _PAGE.search(text) is not None
    found = [(each[1].lower(), html.unescape(each[2] or each[3])) for each in _ELEMENT.finditer(text)]
    said = [shown for name, each in found if (name in ("title", "h1") or not is_page) and (shown := quoted(each))]
    return said[:1] if is_page else [": ".join(said[:3])]


_PAGE: Final = re.compile(r"<(?:!doctype )?html|<(?:head|body|h1)\b", re.IGNORECASE)
_ELEMENT: Final = re.compile(
    r"<(?:[\w-]{1,20}:)?(title|h1|code|message|faultstring|text|detail|reason|description|error)\b[^<>]*>\s*"
    r"(?:<!\[CDATA\[([^\]]*)\]\]>|([^<]*))",
    re.IGNORECASE,
)


def _shown_url(location: str) -> str:
    """Returns a URL without its secret or personal parts."""
    try:
        parts = urlsplit(location)
        host = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}" if parts.hostname else ""
    except ValueError:
        return "an address that cannot be read"
    path = shown_path(parts.path)
    return quoted(f"{host}{path}")
