"""Scripted faults: their declarations, the requests to which they apply, and their simulation."""

import asyncio
import collections
import contextlib
import datetime
import json
import random
import socket
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, get_args

import attrs
from aiohttp import web
from annotated_types import Ge, Gt, Le

from socialapi.emulator.responses import Answer, ApiStyle, Refusal, code_of, phrase, refused
from socialapi.errors import InvalidInput
from socialapi.models.validation import Pattern, broken_rules
from socialapi.problems import BrokenRule


class Pauses:
    """The pauses of faults in progress. `end` ends them all and allows no further ones."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()
        self.end: Callable[[], None] = self._ended.set

    @property
    def ended(self) -> bool:
        """Whether `end` was called."""
        return self._ended.is_set()

    async def pause(self, seconds: float) -> None:
        """Waits for this number of real seconds, or until the emulator closes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()


FaultKind = Literal[
    "status",
    "reset_before",
    "reset_after",
    "stall",
    "truncate",
    "slow",
    "html",
    "joined_headers",
    "decimal_headers",
    "odd_token",
    "count_mismatch",
    "operation_error",
    "product_missing",
    "product_error",
    "link_error",
    "latency",
    "stream_close",
    "stream_drop",
    "stream_silence",
    "stream_long_line",
    "stream_garbage",
    "stream_drip",
    "stream_disconnect",
    "delivery_duplicate",
    "delivery_tampered",
    "delivery_forged",
    "delivery_unsigned",
]

BATCH_FAULTS: Final = ("count_mismatch", "operation_error")
"""Faults that apply to uploads only."""
PRODUCT_FAULTS: Final = ("product_missing", "product_error")
"""Faults that apply to PUT requests for products only."""
LINK_FAULTS: Final = ("link_error",)
"""Faults that apply to stream links only."""
STREAM_FAULTS: Final = tuple(kind for kind in get_args(FaultKind) if kind.startswith("stream_"))
"""Faults that apply to streams only."""
DELIVERY_FAULTS: Final = tuple(kind for kind in get_args(FaultKind) if kind.startswith("delivery_"))
"""Faults that apply to webhook deliveries only, not to requests."""

SPENT_KEPT: Final = 100
"""The maximum number of spent faults that are listed."""

_DAY: Final = 86_400.0
_Seconds = Annotated[float, Ge(0.0), Le(_DAY)]
_Name = Annotated[str, Pattern("[A-Za-z]+", "must contain only letters")]


_RESOURCE: Final = {"resource_id": "1", "resource_type": "tweet"}

_PROBLEMS: Final[Mapping[str, tuple[int, Mapping[str, Any]]]] = {
    "client-disconnected": (503, {}),
    "client-forbidden": (
        403,
        {"reason": "official-client-forbidden", "registration_url": "https://developer.example/enrol"},
    ),
    "conflict": (409, {}),
    "disallowed-resource": (403, {**_RESOURCE, "section": "data"}),
    "duplicate-rules": (409, {"id": "1", "value": "cats"}),
    "invalid-request": (400, {"errors": [{"message": "a scripted fault", "parameters": {"ids": ["1"]}}]}),
    "invalid-rules": (400, {}),
    "noncompliant-rules": (403, {}),
    "rule-cap": (400, {}),
    "unsupported-authentication": (403, {}),
    "not-authorized-for-field": (403, {"field": "confirmed_email", "resource_type": "user", "section": "data"}),
    "not-authorized-for-resource": (403, {**_RESOURCE, "value": "1", "section": "data", "parameter": "ids"}),
    "operational-disconnect": (503, {"disconnect_type": "OperationalDisconnect"}),
    "resource-not-found": (404, {**_RESOURCE, "parameter": "ids", "value": "1"}),
    "resource-unavailable": (503, {**_RESOURCE, "parameter": "ids"}),
    "streaming-connection": (429, {"connection_issue": "TooManyConnections"}),
    "usage-capped": (429, {"period": "Monthly", "scope": "Product"}),
}
"""The documented problem types, each with its usual status, which the documentation does not specify, and with the
fields that a fault sends by default.
"""
PROBLEM_FIELDS: Final = {slug: fields for slug, (_, fields) in _PROBLEMS.items()}


@attrs.frozen(kw_only=True)
class Fault:
    """A scripted fault. Fields that its kind does not use are ignored.

    - `status`: answer `status` (503) at once, with `Retry-After` if `retry_after_seconds` is given.
      The platform API sends a problem, of the type `problem` if it is given. In that case `status`
      defaults to a usual status of that type, and `problem_fields` replace fields of the problem.
    - `html`: the same, with an HTML page as the body.
    - `joined_headers`, `decimal_headers`: process the request, but alter the rate-limit headers as some
      proxies do: `20, 20` instead of 20, or `20.0`. With `status`, do not process the request, but
      answer as the fault `status` does.
    - `odd_token`: process the request, but return a token with an array of scopes and its lifetime as a
      string.
    - `reset_before`, `reset_after`: reset the connection before or after processing.
    - `stall`: send nothing for `delay_seconds` or until the client disconnects, then reset the
      connection; nothing is processed.
    - `truncate`: process the request, but cut the response after `after_bytes` of its body (by default
      in the middle).
    - `slow`: process the request, but spread the response over `delay_seconds` (1).
    - `count_mismatch`: accept an upload, apply nothing, and return a `success_count` that is one too
      low.
    - `operation_error`: refuse an upload because of its operation `index` (0); nothing is processed.
    - `product_missing`: lose the product `index` (0) of a request, and omit it from the response.
    - `product_error`: refuse the product `index` (0) of a request; the others are accepted.
    - `link_error`: do not link the stream; answer 200 with `provisioned` false and a problem of the
      type `problem` (`about:blank`) in `errors`.
    - `latency`: wait `delay_seconds` (1) first. It is added to other faults and does not use them up.

    Stream faults begin after `after_lines` (0) lines on the connection, not counting keep-alives:

    - `stream_close`: end the response normally, without a notice.
    - `stream_drop`: cut the connection in the middle of a line.
    - `stream_silence`: send nothing more, not even keep-alives.
    - `stream_long_line`: send one line of 600 KB, then continue.
    - `stream_garbage`: send one line that is not JSON, then continue.
    - `stream_drip`: send each subsequent line in pieces, over `delay_seconds` (1).
    - `stream_disconnect`: send a problem with `disconnect_type` (OperationalDisconnect) or
      `connection_issue`, or of the type `problem`, then end the response.

    Delivery faults send an extra delivery to a webhook before the real one:

    - `delivery_duplicate`: an identical one.
    - `delivery_tampered`: one with a different body but the same signature.
    - `delivery_forged`: one that is signed with a secret other than the app's.
    - `delivery_unsigned`: one without a signature.
    """

    fault: FaultKind
    method: Annotated[str, Pattern("[A-Za-z]+", "must be an HTTP method")] | None = None
    """Only requests with this method, or None for any method."""
    path: Annotated[str, Pattern("/[^?#]*", "must be an undecoded path that starts with / and has no query")] | None = (
        None
    )
    """Only requests with this path, in which `*` matches any single segment. Without a path, the fault applies to all
    requests except token requests.
    """
    headers: Mapping[str, str] | None = None
    """Only requests with these header values, for example `{"x-emulator-scope": "checkout"}`. This keeps tests that
    share an emulator from affecting each other. Header values do not apply to webhook deliveries.
    """
    times: Annotated[int, Ge(1)] | None = None
    """The maximum number of affected requests. The default is 1, or no limit if there is a probability or the fault is
    `latency`.
    """
    after_requests: Annotated[int, Ge(0)] | None = None
    """The number of matching requests or deliveries that pass before the fault applies. The default is 0."""
    probability: Annotated[float, Gt(0.0), Le(1.0)] | None = None
    """The probability with which the fault applies to each matching request."""
    seed: int | None = None
    """The random seed, which makes the draws repeatable. The default is the number of faults added before this one."""
    status: Annotated[int, Ge(200), Le(599)] | None = None
    retry_after_seconds: _Seconds | None = None
    delay_seconds: _Seconds | None = None
    after_bytes: Annotated[int, Ge(0)] | None = None
    index: Annotated[int, Ge(0)] | None = None
    after_lines: Annotated[int, Ge(0)] | None = None
    disconnect_type: _Name | None = None
    connection_issue: _Name | None = None
    """A field of the problem that `stream_disconnect` sends. With `status`, it makes the response a problem of the type
    `streaming-connection`.
    """
    problem: Annotated[str, Pattern("|".join(PROBLEM_FIELDS), "must be a documented problem type")] | None = None
    problem_fields: Mapping[str, Any] | None = None

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation if any header value is not a string."""
        if not all(isinstance(value, str) for value in data.get("headers", {}).values()):
            yield BrokenRule(path="headers", reason="values must be strings")


class _ScriptedFault:
    """A fault with two counts: the requests to let through first, and the requests to affect after that."""

    def __init__(self, fault: Fault, ordinal: int) -> None:
        self.fault = fault
        self.left = fault.times
        self._passing = fault.after_requests or 0
        self._segments = None if fault.path is None else fault.path.split("/")
        self._random = random.Random(ordinal if fault.seed is None else fault.seed)  # noqa: S311 - a script, no secret

    def hits(self, method: str, segments: list[str], headers: Mapping[str, str]) -> bool:
        """Returns whether the fault applies to the request. If the request matches, the call updates the counts and may
        draw a random number.
        """
        return self.left != 0 and self._matches(method, segments, headers) and self.draws()

    def draws(self) -> bool:
        """Returns whether the fault applies to a matching request or delivery. Each call updates the counts and may
        draw a random number.
        """
        if self._passing:
            self._passing -= 1
            return False
        if self.fault.probability is not None and self._random.random() >= self.fault.probability:
            return False
        if self.left is not None:
            self.left -= 1
        return True

    def _matches(self, method: str, segments: list[str], headers: Mapping[str, str]) -> bool:
        wanted = self.fault.method
        if wanted is not None and wanted.upper() != method:
            return False
        if any(headers.get(name) != value for name, value in (self.fault.headers or {}).items()):
            return False
        if self._segments is None:
            return True
        return len(segments) == len(self._segments) and all(
            expected in ("*", given) for expected, given in zip(self._segments, segments, strict=True)
        )


@attrs.frozen
class Picked:
    """The faults of one request: a delay, and at most one other fault."""

    delay_seconds: float = 0.0
    fault: Fault | None = None
    name: str | None = None
    """The fault name for the log: the other fault if there is one, or `latency`."""


class Faults:
    """The scripted faults, in the order they were added. The first fault that matches a request applies."""

    def __init__(self) -> None:
        self._scripted: list[_ScriptedFault] = []
        self._spent: collections.deque[_ScriptedFault] = collections.deque(maxlen=SPENT_KEPT)
        self._added = 0

    def add(self, fault: FaultKind | str, **options: Any) -> Fault:
        """Adds a fault with these options as its fields. Raises InvalidInput if the options cannot be combined."""
        return self.script({"fault": fault, **options})

    def script(self, declared: Mapping[str, Any]) -> Fault:
        """Adds a fault with these fields; None means a missing field."""
        given = {name: value for name, value in declared.items() if value is not None}
        if broken := broken_rules(Fault, given, now=datetime.datetime.now(datetime.UTC)):
            raise InvalidInput("invalid fault", broken)
        fault = Fault(**given)
        if fault.times is None and fault.probability is None and fault.fault != "latency":
            fault = attrs.evolve(fault, times=1)
        self._scripted.append(_ScriptedFault(fault, self._added))
        self._added += 1
        return fault

    def to_wire(self) -> dict[str, list[dict[str, Any]]]:
        """Returns the faults that can still apply, each with the number of times left, or null if unlimited, and the
        most recent spent faults.
        """
        lists = {"faults": self._scripted, "spent": self._spent}
        return {
            name: [{**attrs.asdict(each.fault), "left": each.left} for each in kept] for name, kept in lists.items()
        }

    def clear(self) -> None:
        """Removes all faults; faults in progress continue to their end."""
        self._scripted.clear()
        self._spent.clear()
        self._added = 0

    def pick(
        self,
        method: str,
        path: str,
        own: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
        *,
        is_token_request: bool = False,
    ) -> Picked:
        """Returns the faults of a request. `own` are the faults that its endpoint declares. A fault without a path
        skips token requests, which clients send before the request under test.
        """
        if not self._scripted:
            return _NOTHING
        about = method, path.split("/"), headers or {}
        delay, hit, name = 0.0, None, None
        for each in self._scripted:
            kind = each.fault.fault
            if is_token_request and each.fault.path is None:
                continue
            if kind == "latency":
                if each.hits(*about):
                    delay += 1.0 if each.fault.delay_seconds is None else each.fault.delay_seconds
                    name = name or "latency"
            elif hit is None and (kind not in _ENDPOINT_FAULTS or kind in own) and each.hits(*about):
                hit, name = each.fault, kind
        self._drop_used()
        return Picked(delay, hit, name)

    def pick_for_delivery(self) -> Fault | None:
        """Returns the fault for the next webhook delivery. Deliveries have no path, so every delivery fault matches."""
        if not self._scripted:
            return None
        hit = next((each for each in self._scripted if each.fault.fault in DELIVERY_FAULTS and each.draws()), None)
        self._drop_used()
        return None if hit is None else hit.fault

    def _drop_used(self) -> None:
        self._spent.extend(each for each in self._scripted if each.left == 0)
        self._scripted = [each for each in self._scripted if each.left != 0]


_ENDPOINT_FAULTS: Final = frozenset((*BATCH_FAULTS, *PRODUCT_FAULTS, *LINK_FAULTS, *STREAM_FAULTS, *DELIVERY_FAULTS))
"""Faults that apply only to endpoints that declare them."""

_NOTHING: Final = Picked()


LONGEST_STALL_SECONDS: Final = 600.0
"""The time after which a stall without `delay_seconds` ends, unless the client disconnects first."""

_CHECK_INTERVAL_SECONDS: Final = 0.05
_DRIPS: Final = 20


def scripted_problem(fault: Fault) -> tuple[str, dict[str, Any]]:
    """Returns the slug of the problem type that a fault specifies (empty if it specifies none), and the fields of the
    problem.
    """
    slug = fault.problem or ("streaming-connection" if fault.connection_issue else "")
    fields = dict(PROBLEM_FIELDS.get(slug, {}))
    if fault.connection_issue is not None:
        fields["connection_issue"] = fault.connection_issue
    if fault.disconnect_type is not None:
        fields["disconnect_type"] = fault.disconnect_type
    return slug, fields | dict(fault.problem_fields or {})


_ALTERING: Final = ("joined_headers", "decimal_headers", "odd_token")
"""Faults that change the headers or the body of a response."""


def answer_instead(
    fault: Fault, style: ApiStyle, parameters: Mapping[str, str], problem_base_url: str
) -> Answer | None:
    """Returns the response that replaces the service's own, before authentication, or None if the request is to be
    processed.
    """
    again = fault.retry_after_seconds
    headers = {} if again is None else {"Retry-After": f"{again:.15g}"}
    if fault.fault == "html":
        status = fault.status or 503
        title = f"{status} {phrase(status)}"
        page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
        return Answer(status, page.encode(), headers, "text/html; charset=utf-8")
    refusal = Refusal(400, "INVALID_PARAMETER", "a scripted fault")
    if fault.fault == "operation_error":
        about = {"index": fault.index or 0, "parameter": "params.users"}
        refusal.operation_errors = [about | {"code": refusal.code, "message": refusal.message}]
    elif fault.fault == "status" or (fault.fault in _ALTERING and fault.status is not None):
        slug, fields = scripted_problem(fault)
        status = fault.status or (_PROBLEMS[slug][0] if slug else 503)
        refusal = Refusal(status, code_of(status), "a scripted fault", headers=headers, problem=slug, extra=fields)
    else:
        return None
    return refused(refusal, style, parameters, problem_base_url)


def altered(fault: Fault, headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    """Returns the headers and the body of a response, as the fault changes them."""
    match fault.fault:
        case "joined_headers":
            return _with_limits(headers, lambda value: f"{value}, {value}"), body
        case "decimal_headers":
            return _with_limits(headers, lambda value: value if "." in value else f"{value}.0"), body
        case "odd_token":
            return headers, _odd_token(body)
    return headers, body


_OF_LIMITS: Final = ("-limit", "-remaining", "-reset", "retry-after")


def _with_limits(headers: Mapping[str, str], write: Callable[[str], str]) -> dict[str, str]:
    """Returns the headers, with the rate-limit values formatted by `write`."""
    return {name: write(value) if name.lower().endswith(_OF_LIMITS) else value for name, value in headers.items()}


def _odd_token(body: bytes) -> bytes:
    try:
        answer = json.loads(body)
    except ValueError:
        return body
    if not isinstance(answer, dict) or "access_token" not in answer:
        return body
    odd = {"scope": str(answer.get("scope", "")).split(), "expires_in": f"{answer.get('expires_in', 7200)} seconds"}
    return json.dumps(answer | odd).encode()


SILENT: Final = ("reset_before", "stall")
"""Faults that end a connection without a response, before authentication."""
BADLY_SENT: Final = ("reset_after", "truncate", "slow")
"""Faults that process the request and mishandle its response."""


async def end_silently(request: web.BaseRequest, fault: Fault, pauses: Pauses) -> None:
    """Resets the connection. A stall first waits until the client has disconnected or the stall is over. aiohttp
    reveals a disconnected client only by its missing transport.
    """
    clock = asyncio.get_running_loop().time
    seconds = LONGEST_STALL_SECONDS if fault.delay_seconds is None else fault.delay_seconds
    ends_at = clock() + (seconds if fault.fault == "stall" else 0.0)
    while request.transport is not None and not pauses.ended and (left := ends_at - clock()) > 0:
        await pauses.pause(min(left, _CHECK_INTERVAL_SECONDS))
    _reset(request)


async def send_badly(
    request: web.BaseRequest, response: web.StreamResponse, body: bytes, fault: Fault, pauses: Pauses
) -> None:
    """Sends a response in pieces, without its end, or not at all. A truncated response lacks at least one byte, so that
    it is never complete.
    """
    if fault.fault == "reset_after":
        _reset(request)
        return
    await response.prepare(request)
    if fault.fault == "truncate":
        wanted = len(body) // 2 if fault.after_bytes is None else fault.after_bytes
        await response.write(body[: min(wanted, len(body) - 1)])
        if request.transport is not None:
            request.transport.close()
        return
    seconds = 1.0 if fault.delay_seconds is None else fault.delay_seconds
    size = max(1, -(-len(body) // _DRIPS))
    for start in range(0, len(body), size):
        await pauses.pause(seconds * size / len(body))
        await response.write(body[start : start + size])


def _reset(request: web.BaseRequest) -> None:
    """Closes the connection with RST: unsent data is lost, and the client sees an error instead of the end of the
    response.
    """
    transport = request.transport
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
