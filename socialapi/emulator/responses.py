"""Answers and refusals, in the formats of each API."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import attrs
import orjson


def packed_json(value: Any, *, sort_keys: bool = False) -> bytes:
    """The value as JSON. Copied, because what orjson returns holds kilobytes that it did not need."""
    return memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)).tobytes()


Shape = Literal["ads", "oauth", "platform"]

JSON: Final = "application/json; charset=utf-8"
NDJSON: Final = "application/x-ndjson; charset=utf-8"


@attrs.frozen
class Answer:
    """A complete response, before it is sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = attrs.field(factory=dict)
    content_type: str = JSON


class Refusal(Exception):
    """Raised to refuse a request; `refused` formats it for the API.

    A numeric `code` is a token error, which looks the same in every API. `problem` is the slug of
    the problem type (`about:blank` if empty), and `extra` its further fields, for the platform API.
    """

    def __init__(
        self,
        status: int,
        code: str | int,
        message: str,
        *,
        parameter: str | None = None,
        operation_errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
        problem: str = "",
        **extra: Any,
    ) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message
        self.parameter = parameter
        self.operation_errors = operation_errors
        self.headers: Mapping[str, str] = headers or {}
        self.problem = problem
        self.extra = extra


def answer(data: Any, status: int = 200) -> Answer:
    """The bare JSON value."""
    return Answer(status, orjson.dumps(data))


def data(value: Any, status: int = 200, **beside: Any) -> Answer:
    """A result of the platform API; what stands beside `data` and is empty is left out (platform section 2.6)."""
    return answer({"data": value} | {name: each for name, each in beside.items() if each}, status)


def problem(problem_base_url: str, slug: str, title: str, detail: str, **extra: Any) -> dict[str, Any]:
    """A problem beside data (platform section 7.1)."""
    return {"type": f"{problem_base_url}/{slug}", "title": title, "detail": detail, **extra}


def invalid_request(message: str, parameters: Mapping[str, Sequence[str]]) -> Refusal:
    """The refusal of a request for one thing, with the values given for the parameters at fault."""
    errors = [{"message": message, "parameters": {name: list(values) for name, values in parameters.items()}}]
    return Refusal(400, "INVALID_PARAMETER", message, problem="invalid-request", errors=errors)


def not_found(kind: str, parameter: str, value: str) -> Refusal:
    """The refusal of a request about something that is not there, or not the caller's."""
    return Refusal(
        404, "NOT_FOUND", f"there is no such {kind}", problem="resource-not-found", **_missing(kind, parameter, value)
    )


def missing(problem_base_url: str, kind: str, parameter: str, value: str) -> dict[str, Any]:
    """The problem, beside data, of something that is not there."""
    detail = f"no {kind} was found for {parameter}: {value}"
    return problem(problem_base_url, "resource-not-found", "Not Found", detail, **_missing(kind, parameter, value))


def _missing(kind: str, parameter: str, value: str) -> dict[str, Any]:
    return {"parameter": parameter, "value": value, "resource_id": value, "resource_type": kind}


def ads_data(data: Any, parameters: Mapping[str, Any], **beside: Any) -> Answer:
    """A result of the advertising API with the echo of what was asked (section 1), and what stands beside it."""
    return answer({"request": {"params": dict(parameters)}, "data": data, **beside})


def refused(refusal: Refusal, shape: Shape, parameters: Mapping[str, Any], problem_base_url: str) -> Answer:
    """The refusal as the API it belongs to words it. Of the advertising API, `errors` may list several."""
    if shape == "platform" and isinstance(refusal.code, str):
        body = _problem(refusal, problem_base_url)
    elif refusal.operation_errors:
        body = {"operation_errors": list(refusal.operation_errors), "request": {"params": dict(parameters)}}
    else:
        error = {"code": refusal.code, "message": refusal.message}
        if refusal.parameter:
            error["parameter"] = refusal.parameter
        body = {"errors": list(refusal.extra.get("errors") or [error])}
        if shape == "ads":
            body["request"] = {"params": dict(parameters)}
    return Answer(refusal.status, orjson.dumps(body), refusal.headers)


def _problem(refusal: Refusal, problem_base_url: str) -> dict[str, Any]:
    return {
        "type": f"{problem_base_url}/{refusal.problem}" if refusal.problem else "about:blank",
        "title": phrase(refusal.status),
        "detail": refusal.message,
        "status": refusal.status,
        **({"parameter": refusal.parameter} if refusal.parameter else {}),
        **refusal.extra,
    }


_CODES: Final[Mapping[int, str]] = {
    400: "INVALID_PARAMETER",
    401: "UNAUTHORIZED_ACCESS",
    429: "TOO_MANY_REQUESTS",
    500: "INTERNAL_ERROR",
}


def code_of(status: int) -> str:
    """The advertising API's code for a status that nothing more is known about."""
    return _CODES.get(status) or phrase(status).upper().replace(" ", "_").replace("-", "_")


def phrase(status: int) -> str:
    """What HTTP calls the status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Status {status}"
