"""The load as a whole: what stops it and how, what it reports, and what it never holds at once."""

import asyncio
import itertools
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from socialapi.bulk.products import job as upsert_job
from socialapi.bulk.products.job import UpsertJob
from socialapi.errors import ApiError, BulkError, InvalidInput, OutcomeUnknown, TransportError
from socialapi.internal import fairness
from socialapi.reports import Progress
from tests.bulk.model_transport import refusal, session_of
from tests.bulk.products.model_catalog import (
    WARNED,
    ModelCatalog,
    csv_file,
    job_of,
    line,
    numbered,
    product,
    products,
)
from tests.support.clock import VirtualClock
from tests.support.rounds import counted_rounds


async def stopped(job: UpsertJob) -> BulkError:
    with pytest.raises(BulkError) as caught:
        await asyncio.wait_for(job.run(), 10)
    assert caught.value.report.adds_up
    assert not asyncio.all_tasks() - {asyncio.current_task()}
    return caught.value


# What stops a load -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
async def test_a_refusal_of_the_whole_request_stops_the_load_at_once(status: int) -> None:
    service = ModelCatalog([refusal(status)] * 100)
    error = await stopped(job_of(service, numbered(60), concurrency=1))
    assert len(service.requests) == 1
    assert isinstance(error.__cause__, ApiError)
    assert (error.report.read, error.report.pending) == (60, 60)
    text = re.sub(" PUT /[^ ]*:", "", str(error))
    assert text == (
        f"the load stopped: {status} SOMETHING: no (of 60 rows read: 0 accepted, 0 rejected, 0 duplicate, 60 pending)"
    )


async def test_when_it_stops_requests_on_their_way_finish_and_what_is_held_back_stays_pending() -> None:
    service = ModelCatalog([None, None, lambda _: refusal(403)])
    service.gate = asyncio.Event()
    rows = [*numbered(100), *products("p1", "p2", title="New")]
    running = asyncio.create_task(job_of(service, rows, concurrency=3).run())
    await service.until_in_flight(3)
    service.gate.set()
    with pytest.raises(BulkError) as caught:
        await running
    report = caught.value.report
    assert report.adds_up
    assert report.accepted == len(service.products) == 75
    assert report.pending == 27


@pytest.mark.parametrize(
    "failure", [refusal(503), refusal(500), TransportError("no connection", "host"), OutcomeUnknown("lost", "host")]
)
async def test_what_may_pass_is_repeated_for_the_time_configured_and_at_least_twelve_times(failure: Any) -> None:
    for seconds, least in ((90.0, 13), (0.001, 12)):
        clock = VirtualClock()
        service = ModelCatalog(itertools.repeat(failure))
        error = await stopped(job_of(service, numbered(3), clock=clock, settings={"max_elapsed_seconds": seconds}))
        assert len(service.requests) >= least
        assert clock.monotonic() >= seconds
        assert error.report.requests == len(service.requests) == error.report.retries + 1


async def test_a_file_that_breaks_midway_is_delivered_up_to_there(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", *(line(f"p{number}") for number in range(3_000)), '"never closed')
    service = ModelCatalog()
    error = await stopped(job_of(service, file))
    assert error.report.accepted == len(service.products) == 3_000
    assert "line 3002, column 1: a quotation mark is not closed" in str(error)


# Before anything is sent -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"delete_vanished": True}, "delete_vanished needs digests"),
        ({"max_vanished_share": 0}, "max_vanished_share must be a number above 0 and at most 1"),
        ({"max_vanished_share": 1.01}, "max_vanished_share must be a number above 0 and at most 1"),
        ({"max_vanished_share": float("nan")}, "max_vanished_share must be a number above 0 and at most 1"),
    ],
)
def test_options_that_make_no_sense_are_invalid_input(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        job_of(ModelCatalog(), numbered(1), **options)


async def test_progress_that_is_a_coroutine_function_is_refused() -> None:
    async def show(progress: Progress) -> None: ...

    with pytest.raises(InvalidInput, match="on_progress is called, not awaited"):
        job_of(ModelCatalog(), numbered(1), on_progress=show)


# Reports -----------------------------------------------------------------------------------------------------------


async def test_every_product_has_one_outcome() -> None:
    service = ModelCatalog()
    service.products = {"b": product("b"), "c": product("c")}
    rows = [
        product("a", custom_label_0=WARNED),
        product("b"),
        product("c", title="New"),
        product("d", custom_label_0="refuse me"),
        product("e", title=""),
    ]
    report = await job_of(service, rows).run()
    assert report.summary() | {"elapsed_seconds": 0.0} == {
        "read": 5,
        "accepted": 3,
        "rejected": 2,
        "duplicate": 0,
        "pending": 0,
        "warnings": 1,
        "requests": 1,
        "retries": 0,
        "repeated": 0,
        "resumed": 0,
        "bytes_sent": len(service.bodies[0]),
        "elapsed_seconds": 0.0,
        "quota_used": 0.0,
        "rejects_path": None,
        "ignored_columns": (),
        "created": 1,
        "updated": 1,
        "unchanged": 1,
        "skipped": 0,
        "vanished": 0,
        "deleted": 0,
        "unconfirmed": 0,
        "vanished_ids": (),
    }
    assert [(each.row, each.reason, each.product_id) for each in report.warning_details] == [(1, "looks odd", "a")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
async def test_a_disk_that_fills_up_stops_the_load_with_its_report() -> None:
    error = await stopped(job_of(ModelCatalog(), [*numbered(10), {"id": "x"}], rejects="/dev/full"))
    assert "the load stopped: the rejects file /dev/full cannot be written: No space left on device" in str(error)
    assert (error.report.accepted, error.report.rejected) == (10, 1)


# Progress, cancelling, dry runs ------------------------------------------------------------------------------------


async def test_a_dry_run_sends_nothing_and_forecasts_what_the_real_one_takes() -> None:
    service = ModelCatalog()
    session = session_of(service)
    rows = [*numbered(60), {"id": "x"}]
    planned = await job_of(service, rows, dry_run=True).run()
    assert not service.requests
    assert (planned.read, planned.pending, planned.rejected, planned.accepted) == (61, 60, 1, 0)
    report = await job_of(service, rows, session=session).run()
    assert planned.forecast is not None
    assert (
        (planned.forecast.requests, planned.forecast.bytes)
        == (report.requests, report.bytes_sent)
        == (
            3,
            sum(map(len, service.bodies)),
        )
    )
    assert planned.forecast.quota_minutes == 0


# Bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 5, 8])
async def test_concurrency_is_used_to_the_full_and_never_exceeded(concurrency: int) -> None:
    clock = VirtualClock()
    service = ModelCatalog(clock=clock, latency_seconds=0.3)
    await job_of(service, numbered(4_000), clock=clock, concurrency=concurrency).run()
    assert service.most_in_flight == concurrency
    assert clock.monotonic() < 1.1 * 4_000 / (concurrency * 25 / 0.3)


async def test_eight_requests_are_on_their_way_unless_said_otherwise() -> None:
    service = ModelCatalog()
    await job_of(service, numbered(2_000)).run()
    assert service.most_in_flight == 8


async def test_others_get_their_turn_while_products_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairness, "BUDGET_SECONDS", -1.0)  # as if every step took too long
    async with counted_rounds() as rounds:
        await job_of(ModelCatalog(), numbered(2_000), dry_run=True).run()
    assert rounds.now >= 2_000 // upsert_job.ROWS_AT_ONCE


@pytest.mark.slow
async def test_memory_does_not_grow_with_the_products() -> None:
    class Forgetful(ModelCatalog):
        def process(self, sent: Any) -> Any:
            reply = super().process(sent)
            for kept in (self.requests, self.bodies, self.products, self.submitted):
                kept.clear()
            return reply

    async def peak(count: int) -> int:
        rows = (product(f"p{number}", item_group_id=f"g{number // 3}") for number in range(count))
        job = job_of(Forgetful(), rows)
        tracemalloc.start()
        try:
            assert (await job.run()).accepted == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    small, large = await peak(5_000), await peak(12_500)
    assert large < 1.3 * small
