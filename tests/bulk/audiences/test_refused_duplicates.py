"""Rows that repeat what the service refused are rejected with it, and no job waits for itself because of them."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.bulk.audiences.job import UploadJob
from socialapi.models.audiences import IdentifierKind
from socialapi.reports import UploadReport
from tests.bulk.blocks import user_block
from tests.bulk.feeding import SOME_TURNS, Feed, Wish, block_of, bounded, cut
from tests.bulk.model_service import ModelService, job_of, operation_errors

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
