"""Whatever happens on the way, the members are those of the accepted rows one after another."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences import job as audience_job
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.reports import UploadReport
from tests.bulk.model_service import BAD, FAULTS, ModelService, job_of, members_after

DOING: Final = ("operation_type", "expires_at")
TIMES: Final = (None, "2090-01-01T00:00:00Z", "2091-01-01T00:00:00Z")

MOODY: Final = ("503", "reset_before", "count_mismatch", "operation_error", "operation_error", "operation_error")
"""A service that refuses rows at random must not have executed them before, or nobody could say what it holds."""

ROW: Final = st.fixed_dictionaries(
    {
        "operation_type": st.sampled_from(("Update", "Update", "Delete")),
        "expires_at": st.sampled_from(TIMES),
        "partner_user_id": st.lists(
            st.sampled_from(("a", "b", "c", "d", "e", "f", f"{BAD} g")), min_size=0, max_size=3
        ),
    }
)


@attrs.frozen
class Setting:
    packing: str
    concurrency: int
    max_operations: int
    max_bytes: int
    remembered: int
    waiting_duplicates: int
    likely: float
    faults: tuple[str, ...]
    seed: int


SETTING: Final = st.builds(
    Setting,
    packing=st.sampled_from(("single", "packed")),
    concurrency=st.integers(1, 6),
    max_operations=st.integers(1, 5),
    max_bytes=st.sampled_from((300, 600, 5_000_000)),
    remembered=st.sampled_from((1, 2, 5, 1_000)),
    waiting_duplicates=st.sampled_from((1, 3, 1_000)),
    likely=st.sampled_from((0.0, 0.3)),
    faults=st.sampled_from((FAULTS, MOODY)),
    seed=st.integers(0, 10_000),
)


def uploaded(rows: Sequence[Mapping[str, Any]], chosen: Setting) -> tuple[UploadReport, ModelService]:
    async def run() -> tuple[UploadReport, ModelService]:
        service = ModelService(rng=random.Random(chosen.seed), likely=chosen.likely, faults=chosen.faults)
        job = job_of(
            service,
            rows,
            settings={"max_operations": chosen.max_operations, "max_batch_bytes": chosen.max_bytes},
            packing=chosen.packing,
            concurrency=chosen.concurrency,
        )
        job.stage._recent = RecentIdentifiers(chosen.remembered)
        report = await asyncio.wait_for(job.run(), 10)
        assert not asyncio.all_tasks() - {asyncio.current_task()}
        assert all(len(operations) <= chosen.max_operations for operations in service.requests)
        assert all(len(body) <= chosen.max_bytes for body in service.bodies)
        return report, service

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audience_job, "MAX_WAITING_DUPLICATES", chosen.waiting_duplicates)
        return asyncio.run(run())


@settings(max_examples=300, deadline=None)
@given(st.lists(ROW, max_size=40), SETTING)
def test_the_members_are_those_of_the_accepted_rows_in_their_order(
    rows: list[Mapping[str, Any]], chosen: Setting
) -> None:
    report, service = uploaded(rows, chosen)
    assert report.read == len(rows) == report.accepted + report.rejected + report.duplicate
    assert report.pending == 0
    assert service.members == members_after(rows, {issue.row for issue in report.rejects})


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, max_size=40), SETTING)
def test_no_row_is_rejected_that_the_service_would_take(rows: list[Mapping[str, Any]], chosen: Setting) -> None:
    report, _ = uploaded(rows, attrs.evolve(chosen, faults=FAULTS))
    expected = {
        number
        for number, row in enumerate(rows, 1)
        if not row["partner_user_id"] or f"{BAD} g" in row["partner_user_id"]
    }
    rejected = {issue.row: issue.reason.split() for issue in report.rejects}
    repeats = {row: int(words[2].removesuffix(",")) for row, words in rejected.items() if words[0] == "repeats"}
    assert rejected.keys() - repeats.keys() <= expected <= rejected.keys()
    for row, original in repeats.items():
        repeat, repeated = rows[row - 1], rows[original - 1]
        assert original in expected
        assert set(repeat["partner_user_id"]) & set(repeated["partner_user_id"])
        assert [repeat[name] for name in DOING] == [repeated[name] for name in DOING]


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, max_size=40), SETTING)
def test_a_dry_run_forecasts_what_the_real_run_then_needs(rows: list[Mapping[str, Any]], chosen: Setting) -> None:
    good = [row for row in rows if f"{BAD} g" not in row["partner_user_id"]]
    # As long as no repeat is so far behind that the window has forgotten it, which depends on what is settled when.
    chosen = attrs.evolve(chosen, likely=0.0, waiting_duplicates=1_000, remembered=1_000)

    async def forecast() -> UploadReport:
        job = job_of(
            ModelService(),
            good,
            settings={"max_operations": chosen.max_operations, "max_batch_bytes": chosen.max_bytes},
            packing=chosen.packing,
            dry_run=True,
        )
        job.stage._recent = RecentIdentifiers(chosen.remembered)
        return await job.run()

    planned = asyncio.run(forecast())
    report, service = uploaded(good, chosen)
    assert planned.forecast is not None
    assert (planned.forecast.requests, planned.forecast.bytes) == (report.requests, report.bytes_sent)
    assert planned.forecast.bytes == sum(map(len, service.bodies))
    assert (planned.read, planned.rejected, planned.duplicate) == (report.read, report.rejected, report.duplicate)
    assert planned.pending == report.accepted
