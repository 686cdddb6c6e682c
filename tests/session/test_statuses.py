"""What each status from 300 to 599 says about a request, and that everybody who asks for something goes by it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi import errors
from socialapi.internal.statuses import executed_after
from socialapi.streams.backoff import disconnect_of_refusal
from socialapi.wire.response import Reply, read_error
from socialapi.wire.retry import Failure, GiveUp, RetryPolicy, Wait, decide, failure_of_status
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.server import Server, answer

PAGE: Final = Path(__file__).parents[2] / "docs" / "errors.md"
STATUSES: Final = range(300, 600)

# By what CDNs and RFCs say of each: a CDN answers 521, 523 and 525 to 527 when it did not reach the service.
NOT_EXECUTED: Final = {420, 425, 429, 503, 521, 523, 525, 526, 527}
FINAL_5XX: Final = {501, 505}


def expected(status: int) -> str:
    if status in NOT_EXECUTED:
        return "no"
    return "unknown" if status == 408 or (status >= 500 and status not in FINAL_5XX) else "yes"


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_says_whether_the_request_was_executed(status: int) -> None:
    executed = expected(status)
    assert executed_after(status) == executed
    assert failure_of_status(status, 7.0).executed == executed
    error = read_error(Reply(status, {}, b""))
    assert error.is_lasting is (executed == "yes")
    assert isinstance(error, errors.RateLimited) is (status in (420, 429))
    assert isinstance(error, errors.ServerError) is (status >= 500)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("repeatable", [True, False])
def test_a_call_and_a_job_are_repeated_where_that_is_safe(status: int, repeatable: bool) -> None:
    is_repeated = expected(status) == "no" or (expected(status) == "unknown" and repeatable)
    for policy in (
        RetryPolicy(max_attempts=5, max_wait_seconds=120.0),
        RetryPolicy(max_attempts=12, max_wait_seconds=960.0, max_elapsed_seconds=90.0),
    ):
        decision = decide(
            policy,
            repeatable=repeatable,
            attempt=1,
            failure=failure_of_status(status, None),
            elapsed_seconds=0.0,
            jitter=1.0,
        )
        assert isinstance(decision, Wait if is_repeated else GiveUp)


@pytest.mark.parametrize("status", STATUSES)
def test_a_stream_connects_again_after_what_may_pass(status: int) -> None:
    disconnect = disconnect_of_refusal(read_error(Reply(status, {}, b"")), None, left_behind=False)
    kind = "final" if expected(status) == "yes" else "rate_limit" if status in (420, 429) else "http"
    assert disconnect.kind == kind


@pytest.mark.parametrize("status", [420, 425, 429, 503, 521, 522, 524, 408, 500])
async def test_a_token_request_and_a_read_are_repeated_by_the_table(status: int, clock: VirtualClock) -> None:
    async with (
        Server(answer(status=status), then=answer({"data": [], "meta": {}})) as server,
        client_of(server, clock) as client,
    ):
        await client.request("GET", "/2/tweets")
    assert len(server.requests) == 2


def table() -> Iterator[str]:
    """The rows of the page: statuses in a row that are alike together."""
    yield "| Status | Executed |"
    yield "|---|---|"
    words = {"no": "no", "unknown": "unknown", "yes": "final: the same request would get the same response"}
    first = STATUSES[0]
    for status in STATUSES:
        if status + 1 not in STATUSES or expected(status + 1) != expected(first):
            shown = str(first) if first == status else f"{first} to {status}"
            yield f"| {shown} | {words[expected(first)]} |"
            first = status + 1


def test_the_page_has_the_table() -> None:
    begin, end = "<!-- statuses -->\n", "<!-- end of statuses -->\n"
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    page = f"{before}{begin}\n" + "\n".join(table()) + f"\n\n{end}" + rest.partition(end)[2]
    if os.environ.get("SOCIALAPI_WRITE_PAGES"):
        PAGE.write_text(page, "utf-8")
    assert PAGE.read_text("utf-8") == page, "run this test with SOCIALAPI_WRITE_PAGES=1"


def test_the_program_on_the_page_checks_first_where_the_outcome_is_unknown() -> None:
    source = next(each for each in PAGE.read_text("utf-8").split("```python\n")[1:] if "def is_undecided" in each)
    scope: dict[str, Any] = {}
    exec(source.partition("async def")[0], scope)
    for status in STATUSES:
        assert scope["is_undecided"](read_error(Reply(status, {}, b""))) is (expected(status) == "unknown"), status
    assert scope["is_undecided"](errors.OutcomeUnknown("lost"))
    assert not scope["is_undecided"](errors.TransportError("refused"))


def test_a_wait_that_a_call_may_not_use_up_is_what_is_left_of_it() -> None:
    policy = RetryPolicy(max_attempts=5, max_wait_seconds=10.0)
    said: dict[str, Any] = {"repeatable": True, "attempt": 1, "elapsed_seconds": 0.0, "jitter": 0.0}
    refused = Failure("no", "HTTP 429", 429, 4.0)
    assert decide(policy, failure=refused, waited_seconds=5.0, **said) == Wait(4.0)
    assert decide(policy, failure=refused, waited_seconds=7.0, **said) == GiveUp("wait too long")
    of_job = RetryPolicy(max_attempts=12, max_wait_seconds=10.0, max_elapsed_seconds=90.0)
    assert decide(of_job, failure=refused, waited_seconds=70.0, **said) == Wait(4.0)
