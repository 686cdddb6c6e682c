"""Responses and rejections, in the format of each API style."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal, get_args

import attrs
import orjson

from socialapi.problems import BrokenRule, ResourceType
from socialapi.routes.route import Family


def packed_json(value: Any, *, sort_keys: bool = False) -> bytes:
    """Returns the value as JSON. The JSON is copied, because the bytes that orjson returns occupy kilobytes more than
    they need.
    """
    return memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)).tobytes()


ApiStyle = Literal["ads", "control", "oauth", "platform"]
"""The response format of an API. The advertising API returns `request` and cursors, and the platform API returns
problems and page tokens. The control plane and OAuth return plain values, and OAuth's codes are integers.
"""


def style_of(family: Family) -> ApiStyle:
    """Returns the style of an API's responses."""
    if not family.envelope:
        return "oauth"
    return "platform" if family.host == "base_url" else "ads"


JSON: Final = "application/json; charset=utf-8"
NDJSON: Final = "application/x-ndjson; charset=utf-8"
PROBLEM: Final = "application/problem+json"
RESOURCE_TYPES: Final = frozenset(get_args(ResourceType))


@attrs.frozen
class Answer:
    """A complete response, before it is sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = attrs.field(factory=dict)
    content_type: str = JSON


@attrs.define(eq=False, repr=False, slots=False)
class Refusal(Exception):
    """Raised to refuse a request; `refused` words it in the style of the API.

    A numeric `code` is a token error, which looks the same in every API. `broken` lists the violations, and `given`
    returns the request's values at the path of a violation. `problem` is the slug of the problem type (`about:blank` if
    empty), and `extra` holds its other fields. `missing` holds the parameters that refer to something nonexistent, with
    their values if the response does not echo them anyway.
    """

    status: int
    code: str | int
    message: str
    parameter: str | None = attrs.field(default=None, kw_only=True)
    broken: Sequence[BrokenRule] = attrs.field(default=(), kw_only=True)
    given: Callable[[str], Sequence[str]] = attrs.field(default=lambda _: (), kw_only=True)
    operation_errors: Sequence[Mapping[str, Any]] = attrs.field(default=(), kw_only=True)
    headers: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    problem: str = attrs.field(default="", kw_only=True)
    extra: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    missing: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)


class InvalidRequest(Refusal):
    """A request that breaks one or more rules. The response lists every broken rule."""

    def __init__(self, broken: Sequence[BrokenRule], given: Callable[[str], Sequence[str]] = lambda _: ()) -> None:
        message = str(broken[0]) if len(broken) == 1 else f"the request breaks {len(broken)} rules"
        super().__init__(400, broken[0].code, message, broken=broken, given=given, problem="invalid-request")


def invalid(path: str, reason: str, *given: str) -> InvalidRequest:
    """Returns the error for a request with an invalid value at one path. `given` are the values at this path."""
    return InvalidRequest([BrokenRule(path=path, reason=reason)], lambda _: given)


def ads_not_found(*parameters: str, **given: Any) -> Refusal:
    """Returns the error for objects that do not exist or do not belong to the caller, with the parameters that identify
    them. Parameters without a `given` value use the value that the response echoes.
    """
    missing = dict.fromkeys(parameters) | given
    return Refusal(404, "NOT_FOUND", "the object does not exist", missing=missing)


def forbidden(message: str, parameter: str | None = None) -> Refusal:
    """Returns the error for an action that the caller may not perform."""
    return Refusal(403, "FORBIDDEN", message, parameter=parameter)


def platform_not_found(kind: str, parameter: str, value: str) -> Refusal:
    """Returns the platform's error for an object that does not exist or does not belong to the caller."""
    slug, about = _resource(kind, parameter, value)
    return Refusal(404, "NOT_FOUND", f"there is no {kind} {value}", problem=slug, extra=about)


def answer(data: Any, status: int = 200) -> Answer:
    """Returns a response that is the plain JSON value."""
    return Answer(status, orjson.dumps(data))


def data(value: Any, status: int = 200, **beside: Any) -> Answer:
    """Returns a result of the platform API, with `data` and the nonempty fields of `beside`."""
    return answer({"data": value} | {name: each for name, each in beside.items() if each}, status)


def ads_data(data: Any, parameters: Mapping[str, Any], **beside: Any) -> Answer:
    """Returns a result of the advertising API, with the echoed parameters and the fields of `beside`."""
    return answer({"request": {"params": dict(parameters)}, "data": data, **beside})


def problem(problem_base_url: str, slug: str, title: str, detail: str, **extra: Any) -> dict[str, Any]:
    """Returns a problem to be listed next to data or sent in a stream."""
    kind = f"{problem_base_url}/{slug}" if slug else "about:blank"
    return {"type": kind, "title": title, "detail": detail, **extra}


def not_found_problem(problem_base_url: str, kind: str, parameter: str, value: str) -> dict[str, Any]:
    """Returns a problem about something that does not exist, to be listed next to data."""
    slug, about = _resource(kind, parameter, value)
    detail = f"no {kind} was found for {parameter}: {value}"
    return problem(problem_base_url, slug, "Not Found", detail, **about, **({} if slug else {"status": 404}))


def _resource(kind: str, parameter: str, value: str) -> tuple[str, dict[str, Any]]:
    """Returns the slug and fields of a problem about something that does not exist."""
    about = {"parameter": parameter, "value": value}
    if kind not in RESOURCE_TYPES:
        return "", about
    return "resource-not-found", {**about, "resource_id": value, "resource_type": kind}


def refused(refusal: Refusal, style: ApiStyle, echo: Mapping[str, Any], problem_base_url: str) -> Answer:
    """Returns the refusal in the style of its API. `echo` holds the parameters that an advertising response echoes."""
    if style == "platform" and isinstance(refusal.code, str):
        made = problem(
            problem_base_url, refusal.problem, phrase(refusal.status), refusal.message, status=refusal.status
        )
        if refusal.broken:
            made["errors"] = [
                {"message": str(rule), "parameters": {rule.path or "body": list(refusal.given(rule.path))}}
                for rule in refusal.broken
            ]
        body = made | ({"parameter": refusal.parameter} if refusal.parameter else {}) | dict(refusal.extra)
    elif style in ("platform", "oauth"):
        body = {"errors": [_token_error(refusal)]}
    else:
        operation_errors = list(refusal.operation_errors)
        body = {"operation_errors": operation_errors} if operation_errors else {"errors": _ads_errors(refusal, echo)}
        body |= {"request": {"params": dict(echo)}} if style == "ads" else {}
    return Answer(refusal.status, orjson.dumps(body), refusal.headers, PROBLEM if "type" in body else JSON)


LONGEST_ECHO: Final = 100
"""The maximum number of characters of an invalid value that the response echoes."""


def _ads_errors(refusal: Refusal, echo: Mapping[str, Any]) -> list[dict[str, Any]]:
    if refusal.broken:
        return [_ads_error(rule.code, f"{rule.path or 'the body'} {rule.reason}", rule.path) for rule in refusal.broken]
    if refusal.missing:
        found = {**echo, **{name: value for name, value in refusal.missing.items() if value is not None}}
        return [_ads_error(refusal.code, _not_there(name, found.get(name)), name) for name in refusal.missing]
    return [_ads_error(refusal.code, refusal.message, refusal.parameter)]


def _not_there(parameter: str, value: Any) -> str:
    kind = parameter.rpartition(".")[2].removesuffix("_id").replace("_", " ")
    return f"there is no such {kind}" + ("" if value is None else f": {value}"[:LONGEST_ECHO])


def _ads_error(code: str | int, message: str, parameter: str | None) -> dict[str, Any]:
    return {"code": code, "message": message} | ({"parameter": parameter} if parameter else {})


_TOKEN_CODES: Final[Mapping[int, int]] = {400: 215, 401: 32, 403: 87, 404: 34, 415: 215, 429: 88, 503: 130}
_OTHER_TOKEN_CODE: Final = 131


def _token_error(refusal: Refusal) -> dict[str, Any]:
    """Returns the body of a token error. Its codes are integers; only 89 and 99 are documented."""
    code = refusal.code
    if not isinstance(code, int):
        code = _TOKEN_CODES.get(refusal.status, _OTHER_TOKEN_CODE)
    message = str(refusal.broken[0]) if refusal.broken else refusal.message
    return {"code": code, "message": message}


_CODES: Final[Mapping[int, str]] = {
    400: "INVALID_PARAMETER",
    401: "UNAUTHORIZED_ACCESS",
    429: "TOO_MANY_REQUESTS",
    500: "INTERNAL_ERROR",
}


def code_of(status: int) -> str:
    """Returns the advertising API's code for a status without a more specific one."""
    return _CODES.get(status) or phrase(status).upper().replace(" ", "_").replace("-", "_")


def phrase(status: int) -> str:
    """Returns the HTTP reason phrase of the status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Status {status}"
