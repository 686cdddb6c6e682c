"""Rows that repeat what the service refused are rejected with it, and no job waits for itself because of them."""

import asyncio
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import attrs
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences import job as audience_job
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.bulk.audiences.job import UploadJob
from socialapi.models.audiences import IdentifierKind
from socialapi.reports import RowIssue, UploadReport
from tests.bulk.blocks import user_block
from tests.bulk.feeding import SOME_TURNS, Feed, Wish, block_of, bounded, cut, replayed
from tests.bulk.model_service import ModelService, job_of, operation_errors
from tests.support.clock import VirtualClock

REFUSED: Final = operation_errors([0])


def wishes(*rows: str | Sequence[str]) -> list[Wish]:
    return [Wish((row,) if isinstance(row, str) else tuple(row)) for row in rows]


def job_with(service: ModelService, blocks: Iterable[UserBlock], turns: Iterable[int], **options: Any) -> UploadJob:
    job = job_of(service, [], **options)
    job.reader = Feed(blocks, turns)
    return job


async def uploaded(
    service: ModelService,
    rows: Sequence[Wish],
    *,
    before: Callable[[int], None] | None = None,
    turns: Iterable[int] = itertools.repeat(SOME_TURNS),
    **options: Any,
) -> UploadReport:
    """Uploads the rows one by one, each when nothing is left to happen because of those before it (or after `turns`)."""

    def blocks() -> Iterator[UserBlock]:
        for number, block in enumerate(cut(block_of(rows), [1]), 1):
            if before is not None:
                before(number)
            yield block

    job = job_with(service, blocks(), turns, **options)
    return await asyncio.wait_for(job.run(), 5)


def values(service: ModelService) -> list[list[str]]:
    """The values of each request."""
    return [[value for operation in request for value in operation] for request in service.values]


ONE_EACH: Final = {"max_operations": 1}
TWO_EACH: Final = {"max_operations": 2}


def rejects(report: UploadReport) -> list[tuple[int, str]]:
    return sorted((issue.row, issue.reason) for issue in report.rejects)


IS_REFUSED: Final = "INVALID_PARAMETER: is refused"


def repeats(row: int) -> str:
    return f"repeats row {row}, which the service refused: {IS_REFUSED}"


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_what_repeats_a_row_that_was_refused_long_ago_is_rejected_and_not_sent(concurrency: int) -> None:
    service = ModelService([REFUSED])
    rows = wishes("a", "b", "c", "d", "a", "e", "f", "g")
    report = await uploaded(service, rows, concurrency=concurrency, settings=TWO_EACH)
    assert values(service) == [["a", "b"], ["b"], ["c", "d"], ["e", "f"], ["g"]]
    assert rejects(report) == [(1, IS_REFUSED), (5, repeats(1))]
    assert (report.accepted, report.rejected, report.duplicate) == (6, 2, 0)


async def test_what_repeats_it_once_more_names_the_row_that_was_refused() -> None:
    service = ModelService([REFUSED])
    report = await uploaded(service, wishes("a", "b", "a", "c", "a"), concurrency=1, settings=ONE_EACH)
    assert values(service) == [["a"], ["b"], ["c"]]
    assert rejects(report) == [(1, IS_REFUSED), (3, repeats(1)), (5, repeats(1))]


async def test_that_is_so_too_when_they_are_read_before_the_refusal() -> None:
    service = ModelService([REFUSED])
    rows = wishes("a", "b", "a", "c", "a")
    report = await uploaded(service, rows, turns=itertools.repeat(0), concurrency=1, settings=TWO_EACH)
    assert rejects(report) == [(1, IS_REFUSED), (3, repeats(1)), (5, repeats(1))]
    assert (report.accepted, report.duplicate) == (2, 0)


async def test_who_does_something_else_is_sent_after_it() -> None:
    service = ModelService([REFUSED])
    rows = [*wishes("a", "b", "a"), Wish(("a",), "Delete"), *wishes("c")]
    report = await uploaded(service, rows, concurrency=3, settings=ONE_EACH)
    assert values(service) == [["a"], ["b"], ["a"], ["c"]]
    assert [request[0]["operation_type"] for request in service.requests] == ["Update", "Update", "Delete", "Update"]
    assert (report.accepted, report.rejected, report.duplicate) == (3, 2, 0)


async def test_a_dry_run_refuses_nothing_and_repeats_nothing() -> None:
    report = await uploaded(ModelService(), wishes("a", "b", "a", "c", "a"), dry_run=True, settings=ONE_EACH)
    assert (report.pending, report.duplicate) == (3, 2)


# Rows of several identifiers, each of which may be somewhere else -----------------------------------------------------


async def test_a_row_of_several_identifiers_waits_until_all_that_it_repeats_is_settled() -> None:
    """The first row that it repeats is settled long before the second one, which is refused."""
    service = ModelService([None, REFUSED])
    report = await uploaded(service, wishes("a", ["p", "q"], "b", ["q", "a"], "c"), concurrency=5, settings=ONE_EACH)
    assert rejects(report) == [(2, IS_REFUSED), (4, repeats(2))]
    assert (report.accepted, report.duplicate) == (3, 0)


async def test_two_batches_on_their_way_never_wait_for_each_other() -> None:
    service = ModelService([REFUSED, REFUSED])

    def hold(row: int) -> None:
        if row == 4:
            service.gate = asyncio.Event()
        if row == 9 and service.gate is not None:
            service.gate.set()

    rows = wishes("a", ["p", "q"], "z", "a", ["p", "q"], ["z", "p"], "y", ["z", "q"], "x")
    report = await uploaded(service, rows, before=hold, concurrency=5, settings=ONE_EACH)
    assert (report.accepted, report.rejected, report.duplicate) == (3, 6, 0)


@pytest.mark.parametrize("turns", [0, SOME_TURNS])
async def test_a_row_that_no_request_can_hold_is_a_duplicate_like_others(turns: int) -> None:
    """Its identifiers came in two rows, each of which does fit; the first is refused."""
    first, second = "x" * 60, "y" * 60
    service = ModelService([REFUSED])
    rows = block_of(wishes(first, second, [first, second]))
    job = job_with(service, cut(rows, [1]), [turns] * 3, concurrency=1, settings={"max_batch_bytes": 150})
    bounded(job)
    report = await asyncio.wait_for(job.run(), 5)
    assert rejects(report) == [(1, IS_REFUSED), (3, repeats(1))]
    assert (report.accepted, report.duplicate) == (1, 0)


# Any rows in any order ------------------------------------------------------------------------------------------------


@attrs.frozen
class Setting:
    concurrency: int
    max_operations: int
    packing: str
    remembered: int
    waiting_duplicates: int
    likely: float
    latency_seconds: float
    seed: int
    sizes: Sequence[int]
    turns: Sequence[int]


SETTING: Final = st.builds(
    Setting,
    concurrency=st.integers(1, 3),
    max_operations=st.integers(1, 3),
    packing=st.sampled_from(("single", "packed")),
    remembered=st.sampled_from((1, 3, 1_000)),
    waiting_duplicates=st.sampled_from((1, 3, 1_000)),
    likely=st.sampled_from((0.3, 0.6)),
    latency_seconds=st.sampled_from((0.0, 0.5)),
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    turns=st.lists(st.sampled_from((0, 0, 5, SOME_TURNS)), max_size=40),
)
OPERATION: Final = st.sampled_from(("Update", "Update", "Delete"))
SINGLE: Final = st.builds(Wish, st.tuples(st.sampled_from("abcd")), OPERATION)
SEVERAL: Final = st.builds(Wish, st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(tuple), OPERATION)


def outcome(rows: Sequence[Wish], chosen: Setting) -> tuple[UploadReport, ModelService]:
    async def run() -> tuple[UploadReport, ModelService]:
        clock = VirtualClock()
        service = ModelService(
            rng=random.Random(chosen.seed),
            likely=chosen.likely,
            faults=("operation_error",),
            clock=clock,
            latency_seconds=chosen.latency_seconds,
        )
        job = job_of(
            service,
            [],
            clock=clock,
            settings={"max_operations": chosen.max_operations},
            packing=chosen.packing,
            concurrency=chosen.concurrency,
        )
        job.reader = Feed(cut(block_of(rows), chosen.sizes), chosen.turns)
        job.stage._recent = RecentIdentifiers(chosen.remembered)
        bounded(job)
        report = await asyncio.wait_for(job.run(), 5)
        assert not asyncio.all_tasks() - {asyncio.current_task()}
        return report, service

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audience_job, "MAX_WAITING_DUPLICATES", chosen.waiting_duplicates)
        return asyncio.run(run())


def check_outcome(rows: Sequence[Wish], chosen: Setting) -> None:
    report, service = outcome(rows, chosen)
    assert report.read == len(rows) == report.accepted + report.rejected + report.duplicate
    assert report.pending == 0
    assert service.most_in_flight <= chosen.concurrency
    assert service.members == replayed(rows, {issue.row for issue in report.rejects})
    refused = {issue.row for issue in report.rejects if issue.reason == IS_REFUSED}
    for issue in report.rejects:
        if issue.row not in refused:
            assert check_repeat(rows, issue) in refused


def check_repeat(rows: Sequence[Wish], issue: RowIssue) -> int:
    """The row that a rejected one repeats, which has an identifier in common and says the same."""
    words = issue.reason.split()
    assert words[:2] == ["repeats", "row"]
    original = int(words[2].removesuffix(","))
    repeat, repeated = rows[issue.row - 1], rows[original - 1]
    assert original < issue.row
    assert repeat.operation_type == repeated.operation_type
    assert set(repeat.values) & set(repeated.values)
    return original


@settings(max_examples=300)
@given(st.lists(SINGLE, max_size=30), SETTING)
def test_a_job_of_which_any_row_may_be_refused_ends_and_leaves_the_members_of_the_others(
    rows: list[Wish], chosen: Setting
) -> None:
    check_outcome(rows, chosen)


@pytest.mark.slow
@settings(max_examples=300, phases=(Phase.explicit, Phase.generate))
@given(st.lists(SEVERAL, max_size=30), SETTING)
def test_that_is_so_too_for_rows_of_several_identifiers(rows: list[Wish], chosen: Setting) -> None:
    check_outcome(rows, chosen)


# Rows that repeat a part of earlier ones ------------------------------------------------------------------------------

PARTS: Final = st.fixed_dictionaries(
    {
        "email": st.sampled_from(("", "a@x.example", "b@x.example", "c@x.example", "d@x.example")),
        "handle": st.sampled_from(("", "ada", "bob", "cid", "dee")),
        "partner_user_id": st.sampled_from(("", "", "ok", "bad 1", "bad 2")),
    }
)


def sent_of(rows: Sequence[dict[str, str]], sizes: Sequence[int], remembered: int, size: int) -> tuple[Any, ...]:
    async def run() -> tuple[Any, ...]:
        service = ModelService()
        kinds: tuple[IdentifierKind, ...] = ("email", "handle", "partner_user_id")
        block = user_block(*((kind, kind, [row[kind] for row in rows]) for kind in kinds), size=len(rows))
        job = job_of(service, [], settings={"max_operations": size}, concurrency=1)
        job.reader = Feed(cut(block, sizes), itertools.repeat(0))
        job.stage._recent = RecentIdentifiers(remembered)
        report = await asyncio.wait_for(job.run(), 5)
        return service.values, rejects(report), report.counts

    return asyncio.run(run())


def part(email: str = "", handle: str = "", partner_user_id: str = "") -> dict[str, str]:
    return {"email": email, "handle": handle, "partner_user_id": partner_user_id}


@settings(max_examples=150, deadline=None)
@example(
    rows=[
        part("a@x.example", "", "bad 1"),
        part("b@x.example"),
        part("c@x.example"),
        part("a@x.example"),
        part("a@x.example", "ada"),
    ],
    remembered=1_000,
    size=2,
)
@given(st.lists(PARTS, min_size=1, max_size=40), st.sampled_from((3, 8, 1_000)), st.integers(1, 6))
def test_rows_of_one_block_are_sent_and_refused_as_if_each_had_come_alone(
    rows: list[dict[str, str]], remembered: int, size: int
) -> None:
    assert sent_of(rows, [len(rows)], remembered, size) == sent_of(rows, [1], remembered, size)
