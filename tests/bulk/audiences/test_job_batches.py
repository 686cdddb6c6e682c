"""Which rows travel together follows from the rows alone."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences import job as audience_job
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.bulk.inputs import reader
from tests.bulk.feeding import SOME_TURNS, Feed, Wish, block_of, bounded, cut, watch_batches
from tests.bulk.model_service import FAULTS, ModelService, job_of, operation_errors, users_of


@attrs.frozen
class Rules:
    """What is the same however often an input is uploaded."""

    packing: str
    max_operations: int
    max_bytes: int
    remembered: int
    waiting_duplicates: int


@attrs.frozen
class Weather:
    """What is never the same twice: how the input is cut and when it comes, and what the service does."""

    sizes: Sequence[int] = (1_000,)
    turns: Sequence[int] = ()
    rows_per_turn: int = 250
    concurrency: int = 1
    likely: float = 0.0
    faults: Sequence[str] = FAULTS
    seed: int = 0


SLOW: Final = Weather(concurrency=5)
"""Nothing is settled before everything is read."""
PATIENT: Final = Weather(sizes=(1,), turns=(SOME_TURNS,) * 60)
"""Every row comes when all before it are settled, or wait to fill their batch."""


def weather(*moods: tuple[Sequence[str], float]) -> st.SearchStrategy[Weather]:
    """Any input, and a service with one of these faults, so likely; in a calm it has none."""
    return st.builds(
        lambda mood, **rest: Weather(faults=mood[0], likely=mood[1], **rest),
        st.sampled_from((*moods, (FAULTS, 0.0))),
        sizes=st.lists(st.integers(1, 20), min_size=1, max_size=6),
        turns=st.lists(st.sampled_from((0, 0, 5, SOME_TURNS)), max_size=40),
        rows_per_turn=st.sampled_from((1, 3, 250)),
        concurrency=st.integers(1, 5),
        seed=st.integers(0, 10_000),
    )


STORMY: Final = (FAULTS, 0.3)
REFUSING: Final = (("operation_error",), 0.6)


def wishes(most: int) -> st.SearchStrategy[list[Wish]]:
    """Rows of so many identifiers at most; half of the inputs always do the same."""
    values = st.sampled_from(("a", "b", "c", "d", "e", "f", "g", "h", "é" * 8, "x" * 100))
    identifiers = st.lists(values, max_size=most).map(tuple)
    operation, expires_at = (
        st.sampled_from(("Update", "Update", "Delete")),
        st.sampled_from((None, "2091-01-01T00:00:00Z")),
    )
    return st.lists(st.builds(Wish, identifiers), max_size=40) | st.lists(
        st.builds(Wish, identifiers, operation, expires_at), max_size=40
    )


def batches_of(
    rows: Sequence[Wish], rules: Rules, chosen: Weather, prepare: Callable[[ModelService], None] | None = None
) -> tuple[list[list[int]], ModelService]:
    async def run() -> tuple[list[list[int]], ModelService]:
        service = ModelService(rng=random.Random(chosen.seed), likely=chosen.likely, faults=chosen.faults)
        if prepare is not None:
            prepare(service)
        job = job_of(
            service,
            [],
            settings={"max_operations": rules.max_operations, "max_batch_bytes": rules.max_bytes},
            packing=rules.packing,
            concurrency=chosen.concurrency,
        )
        job.reader = Feed(cut(block_of(rows), chosen.sizes), chosen.turns)
        job.stage._recent = RecentIdentifiers(rules.remembered)
        bounded(job)
        batches = watch_batches(job)
        report = await asyncio.wait_for(job.run(), 5)
        assert report.read == len(rows)
        return batches, service

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audience_job, "MAX_WAITING_DUPLICATES", rules.waiting_duplicates)
        patch.setattr(reader, "ROWS_PER_STEP", chosen.rows_per_turn)
        return asyncio.run(run())


def rules_with(**bounds: st.SearchStrategy[int]) -> st.SearchStrategy[Rules]:
    usual: dict[str, st.SearchStrategy[int]] = {
        "max_operations": st.integers(1, 5),
        "max_bytes": st.sampled_from((600, 5_000_000)),
        "remembered": st.just(1_000),
        "waiting_duplicates": st.sampled_from((1, 3, 1_000)),
    }
    return st.builds(Rules, packing=st.sampled_from(("single", "packed")), **(usual | bounds))


@pytest.mark.slow
@settings(max_examples=200)
@given(wishes(3), rules_with(), weather(STORMY), weather(STORMY))
def test_the_batches_depend_neither_on_how_the_input_comes_nor_on_how_long_the_service_takes(
    rows: list[Wish], rules: Rules, one_day: Weather, another: Weather
) -> None:
    assert batches_of(rows, rules, one_day)[0] == batches_of(rows, rules, another)[0]


@pytest.mark.slow
@settings(max_examples=200)
@given(wishes(1), rules_with(), weather(STORMY, REFUSING), weather(STORMY, REFUSING))
def test_the_batches_do_not_depend_on_what_the_service_refuses_either(
    rows: list[Wish], rules: Rules, one_day: Weather, another: Weather
) -> None:
    assert batches_of(rows, rules, one_day)[0] == batches_of(rows, rules, another)[0]


@settings(max_examples=100)
@given(wishes(3), rules_with(max_bytes=st.sampled_from((200, 5_000_000)), remembered=st.integers(1, 12)), weather())
def test_without_faults_each_batch_is_a_request(rows: list[Wish], rules: Rules, fair: Weather) -> None:
    batches, service = batches_of(rows, rules, fair)
    sent = [
        sorted({tuple(user["partner_user_id"]) for op in request for user in users_of(op)})
        for request in service.requests
    ]
    expected = [sorted({tuple(dict.fromkeys(rows[number - 1].values)) for number in batch}) for batch in batches]
    assert sorted(sent) == sorted(expected)


ONE_ROW: Final = Rules("single", max_operations=1, max_bytes=5_000_000, remembered=1, waiting_duplicates=1_000)
TWO_SHORT_ROWS: Final = Rules("single", max_operations=2, max_bytes=200, remembered=1, waiting_duplicates=1_000)


def named(*rows: Sequence[str]) -> list[Wish]:
    return [Wish(tuple(row)) for row in rows]


def refusing_first(service: ModelService) -> None:
    service._script = iter([operation_errors([0])])


def test_a_repeat_is_remembered_as_long_whether_what_it_repeats_is_settled_or_not() -> None:
    rows = named("b", "e", "b", "c", "b")
    assert batches_of(rows, ONE_ROW, PATIENT)[0] == batches_of(rows, ONE_ROW, SLOW)[0]


def test_a_repeat_is_remembered_as_long_whether_what_it_repeats_was_refused_or_not() -> None:
    rows = named("b", "e", "b", "c", "b")
    taken = batches_of(rows, ONE_ROW, PATIENT)[0]
    assert batches_of(rows, ONE_ROW, PATIENT, refusing_first)[0] == taken


@pytest.mark.parametrize("other", [SLOW, attrs.evolve(PATIENT, sizes=(10,))])
def test_a_row_that_no_request_can_hold_ends_no_batch_or_always_does(other: Weather) -> None:
    rows = named("a", "b", "c", "d", "e", ["a", "x" * 60, "y" * 60], "f")
    assert batches_of(rows, TWO_SHORT_ROWS, PATIENT)[0] == batches_of(rows, TWO_SHORT_ROWS, other)[0]
