"""What the documentation promises of a fault, by the kind of the route: attempts, waits and the
error.

Written from docs/errors.md, docs/choices.md and docs/calls.md. Nothing here asks the SDK what it
would do.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, get_args

import attrs

from socialapi import errors
from socialapi.emulator.faults import PROBLEM_FIELDS, FaultKind
from tests.support.endpoint_table import Kind, Row

Happened = Literal["not executed", "refused", "unknown", "unreadable", "nothing"]
"""What the client can know of an attempt: it was not executed; it was refused for good; it may have
been executed or not; it succeeded with an answer that nobody can read; or nothing is wrong with it.
"""

RETRIES: Final = 4
MAX_WAIT_SECONDS: Final = 120.0
WHATEVER_COMES: Final = 1_000
"""How often a fault applies that meets every attempt."""

REPEATED: Final[Mapping[Happened, frozenset[Kind]]] = {
    "not executed": frozenset(get_args(Kind)),
    "refused": frozenset(),
    "unknown": frozenset({"read", "replace", "upload", "products", "token"}),
    "unreadable": frozenset({"upload", "products"}),
    "nothing": frozenset(),
}
"""Which kinds of routes are asked again (docs/errors.md, "Which requests are retried")."""

WRITES: Final = frozenset(get_args(Kind)) - {"read"}
"""Of these, an answer that cannot be read is an error that says that they were executed."""

CLASSES: Final[Mapping[int, type[errors.ApiError]]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    420: errors.RateLimited,
    429: errors.RateLimited,
}


@attrs.frozen
class Script:
    """A fault with its fields, and what the client can know once it has met it."""

    fault: FaultKind
    happened: Happened
    fields: Mapping[str, Any] = attrs.field(factory=dict)
    timeout_seconds: float | None = None
    only: str = ""
    """Routes of this API alone, or of these kinds."""

    @property
    def name(self) -> str:
        return " ".join([self.fault, *(f"{name}={value}" for name, value in self.fields.items())])

    @property
    def status(self) -> int | None:
        """What is answered in place of the service, if anything is."""
        if self.fault not in ("status", "html", "joined_headers", "decimal_headers"):
            return None
        given: int | None = self.fields.get("status", 503 if self.fault in ("status", "html") else None)
        return given

    @property
    def named_seconds(self) -> float | None:
        """The wait that the answer names, where it counts. Zero counts as none."""
        return self.fields.get("retry_after_seconds") or None if self.happened == "not executed" else None

    def applies_to(self, row: Row) -> bool:
        return self.only in ("", row.name, "platform" if row.is_of_platform else row.kind)


def what_happened(status: int) -> Happened:
    """What a refusal says (the table of docs/errors.md)."""
    if status in (420, 425, 429, 503, 521, 523, 525, 526, 527):
        return "not executed"
    return "unknown" if status == 408 or (status >= 500 and status not in (501, 505)) else "refused"


STATUSES: Final = (
    *(301, 302, 303, 307, 308),
    *(400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 420, 422, 425, 429, 451),
    *(500, 501, 502, 503, 504, 505, 520, 521, 522, 523, 524, 530, 599),
)
PROBLEM_STATUSES: Final = {
    "conflict": 409,
    "duplicate-rules": 409,
    "resource-not-found": 404,
    "client-disconnected": 503,
    "operational-disconnect": 503,
    "resource-unavailable": 503,
    "streaming-connection": 429,
    "usage-capped": 429,
}
"""Any other problem is sent with 403."""


def _answered() -> Iterator[Script]:
    for status in STATUSES:
        yield Script("status", what_happened(status), {"status": status})
        yield Script("html", what_happened(status), {"status": status})
    for fault in ("status", "html"):
        for status in (429, 503):
            for seconds in (0.0, 2.5, 119.0, 121.0, 86_400.0):
                yield Script(fault, "not executed", {"status": status, "retry_after_seconds": seconds})
        yield Script(fault, "unknown", {"status": 500, "retry_after_seconds": 60.0})
        yield Script(fault, "refused", {"status": 404, "retry_after_seconds": 1.0})
    yield Script("html", "unreadable", {"status": 200})
    for problem in PROBLEM_FIELDS:
        status = PROBLEM_STATUSES.get(problem, 403)
        yield Script("status", what_happened(status), {"status": status, "problem": problem}, only="platform")


def _through_proxies() -> Iterator[Script]:
    for fault in ("joined_headers", "decimal_headers"):
        yield Script(fault, "nothing")
        for status in (420, 429, 503, 522):
            yield Script(fault, what_happened(status), {"status": status, "retry_after_seconds": 3.0})
    yield Script("odd_token", "nothing")


def _broken() -> Iterator[Script]:
    yield Script("reset_before", "unknown")
    yield Script("reset_after", "unknown")
    yield Script("truncate", "unknown")
    yield Script("truncate", "unknown", {"after_bytes": 0})
    yield Script("stall", "unknown", {"delay_seconds": 0.01})
    yield Script("stall", "unknown", timeout_seconds=0.25)
    yield Script("slow", "nothing", {"delay_seconds": 0.02})
    yield Script("latency", "nothing", {"delay_seconds": 0.01})


SCRIPTS: Final = (
    *_answered(),
    *_through_proxies(),
    *_broken(),
    Script("count_mismatch", "unreadable", only="upload"),
    Script("operation_error", "refused", {"index": 0}, only="upload"),
    # An answer all the same, which says of each product what became of it.
    Script("product_missing", "nothing", {"index": 0}, only="products"),
    Script("product_error", "nothing", {"index": 0}, only="products"),
    # The link says that it is not provisioned.
    Script("link_error", "nothing", only="POST /2/tweets/search/webhooks/{webhook_id}"),
)

COVERING: Final = frozenset(
    {
        "status status=429",
        "status status=404",
        "status status=500",
        "html status=522",
        "html status=408",
        "html status=420",
        "joined_headers status=429 retry_after_seconds=3.0",
        "decimal_headers",
        "odd_token",
        "status status=503 retry_after_seconds=121.0",
        "html status=503 retry_after_seconds=2.5",
        "html status=200",
        "reset_after",
        "truncate",
        "stall delay_seconds=0.01",
        "latency delay_seconds=0.01",
        "slow delay_seconds=0.02",
        "reset_before",
        "count_mismatch",
        "operation_error index=0",
        "product_missing index=0",
        "product_error index=0",
        "link_error",
    }
)
"""The scripts of `make test-all`: each kind of fault, and each thing that can have happened, for every route."""


@attrs.frozen
class Promise:
    """What has to come of a call: how many attempts arrive, and the error of it, if there is one."""

    attempts: int
    error: type[errors.SocialApiError] | None = None
    status: int | None = None
    is_lasting: bool = False
    executed: bool | None = None
    """Of an answer that cannot be read."""


def promise(kind: Kind, script: Script, *, always: bool) -> Promise:
    """What is documented of a route of this kind whose first attempt, or every one, meets the fault."""
    if script.happened == "nothing":
        return Promise(1)
    named = script.named_seconds
    is_repeated = kind in REPEATED[script.happened] and (named is None or named <= MAX_WAIT_SECONDS)
    if is_repeated and not always:
        return Promise(2)
    return _failure(kind, script, 1 + RETRIES if is_repeated else 1)


def _failure(kind: Kind, script: Script, attempts: int) -> Promise:
    if script.fault == "operation_error":
        return Promise(attempts, errors.ApiError, 400, is_lasting=True)
    if script.happened == "unreadable" and kind in REPEATED["unreadable"]:
        return Promise(attempts, errors.ApiError, 200, is_lasting=True)
    if script.happened == "unreadable":
        return Promise(attempts, errors.DecodeError, 200, is_lasting=True, executed=kind in WRITES)
    status = script.status
    if status is None:
        return Promise(attempts, errors.OutcomeUnknown)
    if status in (420, 429) and script.named_seconds is not None and attempts == 1:
        return Promise(attempts, errors.RateLimitTooLong)
    kind_of_error = errors.ServerError if status >= 500 else CLASSES.get(status, errors.ApiError)
    return Promise(attempts, kind_of_error, status, is_lasting=script.happened == "refused")


def wait_bounds(script: Script, attempt: int) -> tuple[float, float]:
    """The shortest and the longest wait after this attempt (docs/errors.md), from 1."""
    if script.named_seconds is not None:
        return script.named_seconds, script.named_seconds + 1.0
    if script.status in (420, 429):
        longest = min(60.0, 2.0 ** (attempt - 1))
        return longest / 2, longest
    return 0.0, min(10.0, 0.25 * 2.0 ** (attempt - 1))
