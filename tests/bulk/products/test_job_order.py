"""Whatever the interleaving of answers and faults: the catalog is that of the products one after another."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any, Final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.bulk.products import batcher
from socialapi.reports import RowIssue, UpsertReport
from tests.bulk.products.model_catalog import FAULTS, REFUSED, ModelCatalog, Shape, job_of, numbered, product, products
from tests.support.clock import VirtualClock

ROW: Final = st.builds(
    lambda name, group, version, label: product(
        name, item_group_id=group, title=f"Version {version}", custom_label_0=label
    ),
    st.sampled_from("abcdefghijklmnopqrstuvwxyz"),
    st.sampled_from((None, None, None, "g", "h")),
    st.integers(1, 5),
    st.sampled_from((None, None, None, None, REFUSED)),
)


@attrs.frozen
class Setting:
    concurrency: int
    held: int
    likely: float
    seed: int


SETTING: Final = st.builds(
    Setting,
    concurrency=st.integers(1, 6),
    held=st.sampled_from((1, 3, 500)),
    likely=st.sampled_from((0.0, 0.3)),
    seed=st.integers(0, 10_000),
)
ROWS: Final = st.one_of(
    st.lists(ROW, max_size=60),
    st.integers(1, 400).flatmap(lambda n: st.just(numbered(n)).map(lambda many: [*many, *many[::7], *many[::3]])),
)


def one_by_one(rows: Sequence[Shape]) -> dict[str, Shape]:
    return {row["id"]: row for row in rows if row.get("custom_label_0") != REFUSED}


def loaded(rows: Sequence[Any], chosen: Setting) -> tuple[UpsertReport, ModelCatalog]:
    async def run() -> tuple[UpsertReport, ModelCatalog]:
        clock = VirtualClock()
        service = ModelCatalog(rng=random.Random(chosen.seed), likely=chosen.likely, faults=FAULTS)
        report = await asyncio.wait_for(job_of(service, rows, clock=clock, concurrency=chosen.concurrency).run(), 20)
        assert not asyncio.all_tasks() - {asyncio.current_task()}
        assert service.most_in_flight <= chosen.concurrency
        return report, service

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batcher, "MAX_HELD", chosen.held)
        return asyncio.run(run())


@settings(max_examples=200, deadline=None)
@given(ROWS, SETTING)
def test_the_catalog_is_that_of_the_products_one_after_another(rows: list[Shape], chosen: Setting) -> None:
    report, service = loaded(rows, chosen)
    assert service.products == one_by_one(rows)
    assert (report.read, report.pending, report.duplicate) == (len(rows), 0, 0)
    refused = sum(row.get("custom_label_0") == REFUSED for row in rows)
    assert (report.accepted, report.rejected) == (len(rows) - refused, refused)
    if not chosen.likely:
        assert report.created == len(service.products)
        assert report.retries == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, max_size=60), SETTING)
def test_variants_are_submitted_in_the_order_of_the_input(rows: list[Shape], chosen: Setting) -> None:
    _, service = loaded(rows, attrs.evolve(chosen, likely=0.0))
    expected: dict[str, list[str]] = {}
    for row in rows:
        if "item_group_id" in row and row.get("custom_label_0") != REFUSED:
            members = expected.setdefault(row["item_group_id"], [])
            if row["id"] not in members:
                members.append(row["id"])
    assert service.submitted == expected


async def test_products_whose_id_came_before_are_counted_and_one_warning_names_the_first_ids() -> None:
    service = ModelCatalog()
    rows = [*products("a", "b", "c"), *products("b", "a", title="New"), *products("b", custom_label_0=REFUSED)]
    report = await job_of(service, rows).run()
    assert (report.accepted, report.rejected, report.duplicate, report.repeated) == (5, 1, 0, 2)
    reason = "3 products have the same id as an earlier product; each replaces its predecessor, in input order: b, a"
    assert report.warning_details == (RowIssue(4, "id", reason),)
    assert report.warnings == 1
    assert {name: each["title"] for name, each in service.products.items()} == {"a": "New", "b": "New", "c": "Boots c"}


async def test_requests_are_full_and_a_repeated_id_comes_in_a_later_one() -> None:
    service = ModelCatalog()
    rows = [*numbered(30), product("p3", title="New"), *products(*(f"q{number}" for number in range(20)))]
    report = await job_of(service, rows, concurrency=1).run()
    assert [len(request) for request in service.requests] == [25, 25, 1]
    assert service.products["p3"]["title"] == "New"
    assert (report.created, report.updated) == (50, 1)


async def test_groups_one_after_another_do_not_hold_up_the_others() -> None:
    """Groups of four lie across the borders of requests: all places stay in use all the same."""
    rows = [product(f"p{number}", item_group_id=f"g{number // 4}") for number in range(4_000)]
    clock = VirtualClock()
    service = ModelCatalog(clock=clock, latency_seconds=0.3)
    report = await job_of(service, rows, clock=clock, concurrency=8).run()
    assert report.accepted == 4_000
    assert service.most_in_flight == 8
    assert clock.monotonic() < 1.15 * 4_000 / (8 * 25 / 0.3)


async def test_one_group_alone_is_submitted_request_by_request() -> None:
    rows = [product(f"p{number}", item_group_id="g") for number in range(2_000)]
    service = ModelCatalog()
    report = await job_of(service, rows).run()
    assert report.accepted == 2_000
    assert service.most_in_flight == 1
    assert service.submitted["g"] == [f"p{number}" for number in range(2_000)]


async def test_products_that_are_held_back_are_bounded() -> None:
    service = ModelCatalog()
    service.gate = asyncio.Event()
    read = 0

    def rows() -> Any:
        nonlocal read
        yield from numbered(25)
        for _ in range(10_000):
            read += 1
            yield product("p1", title=f"Version {read}")

    job = job_of(service, rows(), concurrency=4)
    running = asyncio.create_task(job.run())
    await service.until_in_flight(1)
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert len(job.stage._batcher._held) == batcher.MAX_HELD
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_nobody_overtakes_a_product_with_the_same_id_that_is_held_back_for_its_group() -> None:
    service = ModelCatalog()
    first = [product(f"p{number}", item_group_id="g" if number == 0 else None) for number in range(25)]
    rows = [*first, product("a", item_group_id="g"), product("a", title="New")]
    await job_of(service, rows).run()
    assert service.products["a"] == product("a", title="New")
