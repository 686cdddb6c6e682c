"""The job as a whole: what stops it and how, what it reports, and what it never holds at once."""

import asyncio
import datetime
import itertools
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi.bulk.audiences import job as audience_job
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.bulk.audiences.job import UploadJob, UploadOptions
from socialapi.bulk.audiences.prepare import PreparedBlock
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK, ROWS_PER_STEP
from socialapi.config import Config
from socialapi.errors import (
    ApiError,
    BulkError,
    ConfigurationError,
    InvalidInput,
    OutcomeUnknown,
    ServerError,
    TransportError,
)
from socialapi.internal import fairness
from socialapi.models.audiences import DO_NOT_REACH_KINDS
from socialapi.reports import Progress
from socialapi.session.options import CallOptions
from socialapi.wire.response import Reply
from tests.bulk.model_service import DESTINATION, ModelService, Operation, counted, job_of, people, users_of
from tests.bulk.model_transport import answer, refusal, session_of
from tests.support.clock import START, VirtualClock

TEN: Final = [f"p{number}" for number in range(10)]
ONE_EACH: Final = {"max_operations": 1}


async def stopped(job: UploadJob) -> BulkError:
    with pytest.raises(BulkError) as caught:
        await asyncio.wait_for(job.run(), 10)
    assert caught.value.report.adds_up
    assert not asyncio.all_tasks() - {asyncio.current_task()}
    return caught.value


def names(service: ModelService) -> set[str]:
    return {value for _, value in service.members}


# What stops a job --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
async def test_any_other_refusal_stops_the_job_at_once(status: int) -> None:
    service = ModelService([refusal(status)] * 100)
    error = await stopped(job_of(service, people(*TEN), settings=ONE_EACH, concurrency=1))
    assert len(service.requests) == 1
    assert isinstance(error.__cause__, ApiError)
    assert error.__cause__.status == status
    assert (error.report.read, error.report.pending) == (10, 10)
    text = re.sub(" POST /[^ ]*:|; is the account one of yours.*lists them", "", str(error))
    assert text == (
        f"the upload stopped: {status} SOMETHING: no (of 10 rows read: 0 accepted, 0 rejected, 0 duplicate, 10 pending)"
    )


async def test_an_error_without_data_in_a_success_stops_it_too() -> None:
    service = ModelService([answer({"errors": [{"code": "ODD", "message": "something"}]})])
    error = await stopped(job_of(service, people(*TEN)))
    assert "the service refused: ODD: something" in str(error)


async def test_when_the_job_stops_batches_on_their_way_finish_and_nothing_new_starts() -> None:
    service = ModelService()
    service.gate = asyncio.Event()
    service._script = iter([None, lambda _: refusal(403), None])
    job = job_of(service, people(*TEN), settings=ONE_EACH, concurrency=3)
    running = asyncio.create_task(job.run())
    await service.until_in_flight(3)
    service.gate.set()
    with pytest.raises(BulkError) as caught:
        await running
    report = caught.value.report
    assert report.accepted == len(service.members) >= 2
    assert report.pending == 10 - report.accepted
    assert len(service.requests) <= 4


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (refusal(503), ServerError),
        (refusal(500), ServerError),
        (TransportError("no connection", "ads.example.com"), TransportError),
        (OutcomeUnknown("the answer broke off", "ads.example.com"), OutcomeUnknown),
    ],
)
async def test_what_may_pass_is_repeated_for_the_time_configured_and_at_least_twelve_times(
    failure: Any, kind: type[Exception]
) -> None:
    for seconds, least in ((90.0, 13), (0.001, 12)):
        clock = VirtualClock()
        service = ModelService(itertools.repeat(failure))
        job = job_of(service, people("a"), clock=clock, settings={"max_elapsed_seconds": seconds})
        error = await stopped(job)
        assert isinstance(error.__cause__, kind)
        assert len(service.requests) >= least
        assert clock.monotonic() >= seconds
        assert error.report.requests == len(service.requests)
        assert error.report.retries == len(service.requests) - 1
    assert len(service.requests) == 12


async def test_eleven_failures_of_every_kind_do_not_stop_it() -> None:
    html = attrs.evolve(refusal(502), headers={"content-type": "text/html"}, content=b"<html>")
    failures = [
        *(refusal(503), refusal(500), html, counted(0, 1), TransportError("no"), OutcomeUnknown("lost")),
        *(refusal(429), counted(0, 1), OutcomeUnknown("lost"), refusal(504), html),
    ]
    service = ModelService(failures)
    report = await job_of(service, people("a")).run()
    assert (report.accepted, report.requests, report.retries) == (1, 12, 11)


async def test_the_same_mismatch_twelve_times_stops_it() -> None:
    service = ModelService([counted(0, 1)] * 100)
    error = await stopped(job_of(service, people("a")))
    assert len(service.requests) == 12
    assert "the service counted 0 successes of 1, but 1 user was sent (after 12 attempts)" in str(error)


# Broken input ------------------------------------------------------------------------------------------------------


async def test_what_was_read_before_the_input_broke_is_delivered() -> None:
    def rows() -> Iterator[dict[str, str]]:
        yield from people(*TEN)
        raise ZeroDivisionError("planted@example.com")

    service = ModelService()
    error = await stopped(job_of(service, rows()))
    assert names(service) == set(TEN)
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert (error.report.read, error.report.accepted, error.report.pending) == (10, 10, 0)
    assert str(error).startswith("the input broke off: ZeroDivisionError (of 10 rows read: 10 accepted")


async def test_an_input_that_also_fails_as_it_is_closed_does_not_hide_what_stopped_the_job() -> None:
    def rows() -> Iterator[dict[str, str]]:
        try:
            yield from people(*map(str, range(10_000)))
        finally:
            raise ZeroDivisionError

    error = await stopped(job_of(ModelService([refusal(403)] * 10), rows(), settings=ONE_EACH, concurrency=1))
    assert re.match("the upload stopped: POST /.*: 403", str(error))


async def test_others_get_their_turn_while_a_block_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []
    prepared = 0

    async def count() -> None:
        while True:
            turns.append(prepared)
            await asyncio.sleep(0)

    def prepare(block: UserBlock) -> Iterator[PreparedBlock]:
        nonlocal prepared
        for found in unwatched(block):
            prepared += sum(map(len, found.blocks))
            yield found

    monkeypatch.setattr(fairness, "BUDGET_SECONDS", -1.0)  # as if every step took too long
    rows = people(*[f"person {number}" for number in range(2 * ROWS_PER_BLOCK)])  # a blank within takes a closer look
    job: Any = job_of(ModelService(), rows, dry_run=True)
    unwatched, job.stage._prepare = job.stage._prepare_at(job.stage._sender.session.now()), prepare
    counting = asyncio.create_task(count())
    await job.run()
    counting.cancel()
    assert turns[-1] == 2 * ROWS_PER_BLOCK
    assert max(after - before for before, after in itertools.pairwise(turns)) == ROWS_PER_STEP


# Before anything is sent -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"packing": "loose"}, "packing must be one of single, packed"),
        ({"concurrency": 0}, 'concurrency must be "auto" or a number of at least 1'),
        ({"concurrency": "many"}, 'concurrency must be "auto" or a number of at least 1'),
        ({"operation": "Upsert"}, "invalid upload options"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at: is not in the future"),
        ({"columns": {"shoe_size": "size"}}, '"shoe_size" is not a kind of identifier'),
        ({"default_region": "Atlantis"}, "region"),
    ],
)
async def test_options_that_make_no_sense_are_invalid_input(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        job_of(ModelService(), people("a"), **options)


async def test_what_is_not_configured_is_said_before_anything_is_read() -> None:
    def untouched() -> Iterator[dict[str, str]]:
        raise AssertionError("was read")
        yield {}

    session = session_of(ModelService())
    without_host = session_of(ModelService())
    without_host.config = Config()
    call = CallOptions.interactive(session.config)
    with pytest.raises(ConfigurationError, match="no ads_url is configured"):
        UploadJob(without_host, DESTINATION, untouched(), UploadOptions(), call)
    session.authenticators._by_kind.clear()
    with pytest.raises(ConfigurationError, match="the ads API takes OAuth1"):
        UploadJob(session, DESTINATION, untouched(), UploadOptions(), call)


async def test_a_rejects_file_that_cannot_be_written_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    service = ModelService()
    with pytest.raises(InvalidInput, match="cannot be written: No such file or directory"):
        await job_of(service, people("a"), rejects=tmp_path / "missing" / "rejects.csv").run()
    path = tmp_path / "people.csv"
    path.write_text("partner_user_id\na\n", "utf-8")
    with pytest.raises(InvalidInput, match="is the input itself"):
        await job_of(service, path, rejects=str(path)).run()
    assert path.read_text("utf-8") == "partner_user_id\na\n"
    assert not service.requests


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("content", [None, "", "name\nBob\n", "email\n"])
async def test_without_a_usable_input_the_rejects_file_stays_as_it_was(
    tmp_path: Path, content: str | None, *, exists: bool
) -> None:
    path, rejects = tmp_path / "people.csv", tmp_path / "rejects.csv"
    if content is not None:
        path.write_text(content, "utf-8")
    if exists:
        rejects.write_text("of an earlier job", "utf-8")
    with pytest.raises(InvalidInput):
        await job_of(ModelService(), path, rejects=rejects, allow_empty=False).run()
    assert rejects.exists() == exists
    assert not exists or rejects.read_text("utf-8") == "of an earlier job"


# Reports -----------------------------------------------------------------------------------------------------------


async def test_every_row_has_one_outcome_and_the_rejects_file_every_rejected_row(tmp_path: Path) -> None:
    service = ModelService()
    rows = [
        {"email": "a@example.com"},
        {"email": "not an address"},
        {"email": "A@Example.com "},
        {},
        {"email": "b@example.com", "phone_number": "12"},
        {"partner_user_id": "bad one"},
    ]
    report = await job_of(service, rows, rejects=tmp_path / "rejects.csv").run()
    assert report.summary() | {"elapsed_seconds": 0.0, "quota_used": 0.0} == {
        "read": 6,
        "accepted": 2,
        "rejected": 3,
        "duplicate": 1,
        "pending": 0,
        "warnings": 1,
        "requests": 2,
        "retries": 0,
        "repeated": 0,
        "resumed": 0,
        "bytes_sent": sum(map(len, service.bodies)),
        "elapsed_seconds": 0.0,
        "quota_used": 0.0,
        "rejects_path": str(tmp_path / "rejects.csv"),
        "ignored_columns": (),
    }
    assert (tmp_path / "rejects.csv").read_text("utf-8").splitlines() == [
        "row,field,reason",
        "2,email,contains a blank or an invisible character",
        "4,,has no identifier",
        "6,params,INVALID_PARAMETER: is refused",
    ]


async def test_a_row_too_large_for_any_request_is_rejected_and_the_others_arrive() -> None:
    for packing in ("single", "packed"):
        service = ModelService()
        rows = people("a", "x" * 500, "b")
        report = await job_of(service, rows, packing=packing, settings={"max_batch_bytes": 400}).run()
        assert [(issue.row, issue.reason) for issue in report.rejects] == [(2, "does not fit into a request")]
        assert names(service) == {"a", "b"}


async def test_counts_that_do_not_add_up_are_a_bug_that_is_said() -> None:
    job = job_of(ModelService(), people("a"))
    job.counters.read = 7
    with pytest.raises(RuntimeError, match="the rows of the job do not add up, which is a bug in this package"):
        await job.run()


async def test_expiry_by_default_and_limits_of_ones_own() -> None:
    destination = attrs.evolve(
        DESTINATION, default_expiry_months=13, takes_effective_at=False, kinds=DO_NOT_REACH_KINDS
    )
    service = ModelService()
    settings = {"rate_limits": {"custom_audience_uploads": (10, 1.0)}}
    started = datetime.datetime.fromtimestamp(START, datetime.UTC)
    report = await job_of(service, [{"email": "a@example.com"}], destination=destination, settings=settings).run()
    expiry = datetime.datetime.fromisoformat(service.requests[0][0]["params"]["expires_at"])
    assert (started.isoformat(), expiry.isoformat()) == ("2027-01-15T08:00:00+00:00", "2028-02-15T08:00:00+00:00")
    assert report.quota_used == 0.1
    with pytest.raises(InvalidInput, match="effective_at: is not supported for this target"):
        job_of(service, [], destination=destination, effective_at="2090-01-01T00:00:00Z")


# Progress ----------------------------------------------------------------------------------------------------------


async def test_progress_is_told_while_the_job_runs_and_a_last_time_at_its_end() -> None:
    seen: list[Progress] = []
    service = ModelService([refusal(503)])
    report = await job_of(service, people(*TEN, *TEN), settings=ONE_EACH, concurrency=2, on_progress=seen.append).run()
    assert seen[-1].report == report
    assert seen[-1].fraction_read == 1.0
    assert max(each.in_flight for each in seen) == 2
    assert {each.note for each in seen} == {None, "retrying after: HTTP 503"}
    assert [each.report.accepted for each in seen] == sorted(each.report.accepted for each in seen)
    assert all(each.report.adds_up for each in seen)


@pytest.mark.parametrize("call", [1, 2, 3, 8])
async def test_progress_that_raises_ends_the_job_with_its_error(call: int) -> None:
    calls = 0

    def fail(progress: Progress) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise ZeroDivisionError("the bar broke")

    service = ModelService([refusal(503)])
    with pytest.raises(BulkError, match="ZeroDivisionError") as caught:
        await asyncio.wait_for(
            job_of(service, people(*TEN), settings=ONE_EACH, concurrency=2, on_progress=fail).run(), 10
        )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.report.adds_up
    assert calls == call
    assert not asyncio.all_tasks() - {asyncio.current_task()}


async def test_progress_that_raises_when_the_job_is_cancelled_does_not_hide_that() -> None:
    def fail(progress: Progress) -> None:
        if service.cancelled:
            raise ZeroDivisionError("the bar broke")

    service = ModelService()
    service.gate = asyncio.Event()
    running = asyncio.create_task(job_of(service, people(*TEN), on_progress=fail).run())
    await service.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


# Cancelling --------------------------------------------------------------------------------------------------------


async def test_cancelling_ends_at_once_leaves_rows_pending_and_tells_a_last_time() -> None:
    seen: list[Progress] = []
    service = ModelService()
    service.gate = asyncio.Event()
    job = job_of(service, people(*TEN), settings=ONE_EACH, concurrency=3, on_progress=seen.append)
    running = asyncio.create_task(job.run())
    await service.until_in_flight(3)
    running.cancel()
    async with asyncio.timeout(1):
        with pytest.raises(asyncio.CancelledError):
            await running
    assert service.cancelled == 3
    assert not asyncio.all_tasks() - {asyncio.current_task()}
    assert (seen[-1].report.read, seen[-1].report.pending, seen[-1].in_flight) == (10, 10, 0)
    assert seen[-1].report.adds_up

    assert not asyncio.all_tasks() - {asyncio.current_task()}


# Dry runs ----------------------------------------------------------------------------------------------------------


async def test_a_dry_run_sends_nothing_and_needs_neither_host_nor_credentials() -> None:
    service = ModelService()
    session = session_of(service)
    session.config = Config()
    session.authenticators._by_kind.clear()
    rows = [*people("a", "b", "a"), {}]
    options = UploadOptions(dry_run=True)
    report = await UploadJob(session, DESTINATION, rows, options, CallOptions.interactive(session.config)).run()
    assert not service.requests
    assert (report.read, report.pending, report.rejected, report.duplicate, report.accepted) == (4, 2, 1, 1, 0)
    assert report.forecast is not None
    assert (report.forecast.requests, report.forecast.bytes) == (1, 151)
    assert report.requests == 0
    assert report.to_dict()["forecast"] == {"requests": 1, "bytes": 151, "quota_minutes": pytest.approx(1 / 1_500)}


# Bounds ------------------------------------------------------------------------------------------------------------


async def test_concurrency_follows_the_latency_and_never_exceeds_the_most() -> None:
    async def most_at(latency_seconds: float, **settings: Any) -> int:
        clock = VirtualClock()
        service = ModelService(clock=clock, latency_seconds=latency_seconds)
        settings = {"rate_limits": {"custom_audience_uploads": (100_000, 4_000.0)}, **ONE_EACH, **settings}
        await job_of(service, people(*map(str, range(400))), clock=clock, settings=settings).run()
        return service.most_in_flight

    assert await most_at(0.0) <= 7
    assert await most_at(0.4) == 13
    assert await most_at(0.7) == 22
    assert await most_at(2.0) == 32
    assert await most_at(0.7, max_concurrency=5) == 5


async def test_rows_that_wait_for_the_fate_of_others_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audience_job, "MAX_WAITING_DUPLICATES", 2_000)
    service = ModelService()
    service.gate = asyncio.Event()
    duplicate_of = itertools.chain(people(*TEN), itertools.repeat({"partner_user_id": "p1"}, 5_000))
    job = job_of(service, duplicate_of, settings=ONE_EACH, concurrency=10)
    running = asyncio.create_task(job.run())
    await service.until_in_flight(9)  # the tenth waits for others to fill its request
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert not running.done()
    assert 0 < len(job.stage._duplicates) <= 2_000
    service.gate.set()
    report = await running
    assert (report.accepted, report.duplicate) == (10, 5_000)


async def test_repeats_of_a_row_that_is_not_sent_yet_make_it_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audience_job, "MAX_WAITING_DUPLICATES", 3)
    service = ModelService()
    report = await asyncio.wait_for(job_of(service, people("a", "a", "a", "a", "a", "b")).run(), 10)
    assert service.values == [[["a"]], [["b"]]]
    assert (report.accepted, report.duplicate) == (2, 4)


class Forgetful(ModelService):
    """Takes everything and keeps nothing, so that what is measured is the job."""

    def process(self, operations: list[Operation]) -> Reply:
        self.requests.clear()
        self.bodies.clear()
        return counted(sum(len(users_of(operation)) for operation in operations))


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["single", "packed"])
async def test_memory_does_not_grow_with_the_rows(packing: str) -> None:
    async def peak(count: int) -> int:
        rows = ({"partner_user_id": f"person number {number}"} for number in range(count))
        job = job_of(Forgetful(), rows, packing=packing, concurrency=2, settings={"max_batch_bytes": 100_000})
        job.stage._recent = RecentIdentifiers(2_000)
        tracemalloc.start()
        try:
            report = await job.run()
            found = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert report.accepted == count
        return found

    # How many batches of 1 MB are there in the same moment is chance, and a third of the whole. What stays is there
    # every time: one string for each row would be 3 MB more.
    small, large = [[await peak(count) for _ in range(rounds)] for count, rounds in ((30_000, 2), (90_000, 2))]
    assert min(large) < 1.5 * max(small)
