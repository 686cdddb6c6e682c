"""A batch until every row has its outcome: refused rows are isolated, the others arrive."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.errors import ApiError, BulkError
from socialapi.internal import fairness
from socialapi.reports import RowIssue, UploadReport
from socialapi.wire.response import Reply
from tests.bulk.model_service import BAD, ModelService, job_of, operation_errors, people
from tests.bulk.model_transport import answer, refusal


async def uploaded(service: ModelService, *names: str, **options: Any) -> UploadReport:
    return await asyncio.wait_for(job_of(service, people(*names), **options).run(), 10)


def names(service: ModelService) -> set[str]:
    return {value for _, value in service.members}


async def test_an_operation_error_names_the_very_row_and_the_others_are_sent_again_without_it() -> None:
    service = ModelService()
    report = await uploaded(service, "a", "b", f"{BAD} c", "d")
    assert service.values == [[["a"], ["b"], [f"{BAD} c"], ["d"]], [["a"], ["b"], ["d"]]]
    assert report.rejects == (RowIssue(3, "params", "INVALID_PARAMETER: is refused"),)
    assert (report.accepted, report.rejected, report.requests, report.retries) == (3, 1, 2, 0)
    assert names(service) == {"a", "b", "d"}


async def test_a_success_with_operation_errors_is_no_success() -> None:
    service = ModelService(
        [answer({"data": {"success_count": 3, "total_count": 3}, "operation_errors": [{"index": 1}]})]
    )
    report = await uploaded(service, "a", "b", "c")
    assert service.values == [[["a"], ["b"], ["c"]], [["a"], ["c"]]]
    assert report.rejects == (RowIssue(2, "", "refused by the service without a reason"),)
    assert names(service) == {"a", "c"}


async def test_a_list_with_an_entry_for_each_operation_is_understood_too() -> None:
    service = ModelService([answer({"operation_errors": [{}, {"message": "is odd"}, {}]}, 400)])
    report = await uploaded(service, "a", "b", "c")
    assert report.rejects == (RowIssue(2, "", "is odd"),)


async def test_in_a_packed_operation_the_bad_row_is_found_by_halving() -> None:
    service = ModelService()
    people_ = [f"{BAD} x" if number == 5 else f"p{number}" for number in range(16)]
    report = await uploaded(service, *people_, packing="packed")
    assert [issue.row for issue in report.rejects] == [6]
    assert (report.accepted, report.rejected) == (15, 1)
    assert [len(operation) for request in service.values for operation in request] == [16, 8, 4, 4, 2, 1, 1, 2, 8]
    assert names(service) == {name for name in people_ if BAD not in name}


async def test_operations_that_are_not_named_travel_together_while_the_named_one_is_halved() -> None:
    rows = [
        {"partner_user_id": "a", "operation_type": "update"},
        {"partner_user_id": f"{BAD} b", "operation_type": "delete"},
        {"partner_user_id": "c", "operation_type": "update"},
        {"partner_user_id": "d", "operation_type": "delete"},
        {"partner_user_id": "e", "expires_at": "2090-01-01T00:00:00Z"},
    ]
    service = ModelService()
    report = await job_of(service, rows, packing="packed").run()
    assert service.values == [[["a", "c"], [f"{BAD} b", "d"], ["e"]], [["a", "c"], ["e"]], [[f"{BAD} b"]], [["d"]]]
    assert [issue.row for issue in report.rejects] == [2]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.booleans(), max_size=40), st.sampled_from(("single", "packed")), st.integers(1, 10))
def test_exactly_the_bad_rows_are_refused_however_many(good: Sequence[bool], packing: str, most: int) -> None:
    service = ModelService()
    wanted = [f"{'good' if fine else BAD} {number}" for number, fine in enumerate(good)]

    async def run() -> UploadReport:
        return await job_of(service, people(*wanted), packing=packing, settings={"max_operations": most}).run()

    report = asyncio.run(run())
    assert {issue.row for issue in report.rejects} == {row for row, fine in enumerate(good, 1) if not fine}
    assert names(service) == {name for name in wanted if BAD not in name}
    assert report.accepted == sum(good)


@pytest.mark.parametrize("indexes", [[7], [-1], [3, 99]])
@pytest.mark.parametrize("status", [200, 400])
async def test_an_index_that_was_not_sent_stops_the_job_rather_than_repeating_forever(
    indexes: list[int], status: int
) -> None:
    service = ModelService([operation_errors(indexes, status)] * 100)
    with pytest.raises(BulkError) as caught:
        await uploaded(service, "a", "b", "c")
    assert len(service.requests) == 1
    assert (caught.value.report.pending, caught.value.report.read) == (3, 3)
    assert isinstance(caught.value.__cause__, ApiError)


def without_indexes(number: int) -> Reply:
    return answer({"operation_errors": [{"code": "X", "message": "no"}] * number}, 400)


async def test_errors_without_an_index_reject_no_row_by_guess() -> None:
    service = ModelService([without_indexes(1)])
    with pytest.raises(BulkError) as caught:
        await uploaded(service, "a", "b", "c")
    assert (caught.value.report.rejected, caught.value.report.pending) == (0, 3)
    assert len(service.requests) == 1


async def test_as_many_errors_as_operations_are_taken_in_their_order() -> None:
    report = await uploaded(ModelService([without_indexes(3)]), "a", "b", "c")
    assert [issue.row for issue in report.rejects] == [1, 2, 3]


async def test_an_index_may_be_a_text_of_digits() -> None:
    error = answer({"operation_errors": [{"index": "1", "code": "X", "message": "no"}]}, 400)
    report = await uploaded(ModelService([error]), "a", "b", "c")
    assert [issue.row for issue in report.rejects] == [2]
    assert report.accepted == 2


async def test_when_one_of_the_batches_fails_its_repeats_stay_pending() -> None:
    def forbid_a(operations: Any) -> Any:
        """Once the others are there: a slow machine may read their rows after the first answers."""
        users = operations[0]["params"]["users"]
        if users != [{"partner_user_id": ["a"]}]:
            return service.process(operations)
        return refusal(403 if names(service) == {"b", "c"} else 503)

    service = ModelService([forbid_a] * 20)
    rows = [*people("a", "b"), {"partner_user_id": ["a", "b"]}, *people("c"), {"partner_user_id": ["a", "c"]}]
    with pytest.raises(BulkError) as caught:
        await job_of(service, rows, settings={"max_operations": 1}, concurrency=5).run()
    report = caught.value.report
    assert names(service) == {"b", "c"}
    assert (report.accepted, report.pending, report.duplicate) == (2, 3, 0)


async def test_requests_are_taken_by_the_event_loop_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a body of many rows is encoded, others get their turn."""
    monkeypatch.setattr(fairness, "BUDGET_SECONDS", -1.0)  # as if every step took too long
    service = ModelService()
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while not service.requests:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await uploaded(service, *(f"p{number}" for number in range(20_000)), packing="packed")
    await counting
    assert len(service.requests) == 1
    assert turns > 16  # 8 slices are read, 8 are encoded
