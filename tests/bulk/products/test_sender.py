"""One batch until each of its products has an outcome: what answers mean, however odd they are."""

from typing import Any

import pytest

from socialapi.bulk.products.sender import reason_of
from socialapi.errors import ApiError, BulkError, DecodeError
from socialapi.models.products import ProductResult
from socialapi.reports import UpsertReport
from socialapi.wire.response import Reply
from tests.bulk.model_transport import answer
from tests.bulk.products.model_catalog import ModelCatalog, job_of, numbered, products, result, results
from tests.support.clock import VirtualClock


async def loaded(*script: Any, count: int = 3) -> tuple[UpsertReport, ModelCatalog]:
    service = ModelCatalog(script)
    return await job_of(service, numbered(count)).run(), service


def ids(service: ModelCatalog) -> list[list[str]]:
    return [[each["id"] for each in request] for request in service.requests]


async def test_products_without_an_answer_are_sent_again_alone() -> None:
    report, service = await loaded(lambda sent: results(*(result(each["id"]) for each in sent if each["id"] != "p1")))
    assert ids(service) == [["p0", "p1", "p2"], ["p1"]]
    assert (report.accepted, report.created, report.requests, report.retries) == (3, 3, 2, 1)


async def test_answers_are_matched_by_id_whatever_their_order() -> None:
    answers = results(result("p2", "NO_CHANGE"), result("p0", "ERROR", errors=["no"]), result("p1", "UPDATE_SUCCESS"))
    report, _ = await loaded(answers)
    assert (report.updated, report.unchanged, report.rejected) == (1, 1, 1)
    assert [(each.row, each.reason) for each in report.rejects] == [(1, "no")]


async def test_answers_that_nobody_asked_for_and_repeated_ones_are_passed_over() -> None:
    answers = results(result("p0"), result("p0", "ERROR"), result("x"), result(None, "ERROR"), result("p1"))
    report, service = await loaded(answers)
    assert ids(service) == [["p0", "p1", "p2"], ["p2"]]
    assert report.created == 3


@pytest.mark.parametrize(
    "odd",
    [
        answer({}),
        answer({"data": None}),
        answer({"data": []}),
        answer({"data": {"products_response": {}}}),
        answer({"data": {"products_response": [{"id": 7}]}}),
        answer({"data": {"products_response": [None]}}),
        Reply(200, {"content-type": "text/html"}, b"<html>"),
        Reply(200, {"content-type": "application/json"}, b'{"data": {"pro'),
        Reply(200, {}, b""),
    ],
)
async def test_an_answer_that_cannot_be_read_is_asked_for_again(odd: Reply) -> None:
    report, service = await loaded(odd)
    assert len(service.requests) == 2
    assert (report.accepted, report.retries) == (3, 1)


async def test_one_that_never_can_be_read_stops_the_load() -> None:
    odd = answer({"data": {"products_response": "?"}})
    with pytest.raises(BulkError) as caught:
        await loaded(*[odd] * 200)
    assert isinstance(caught.value.__cause__, DecodeError | ApiError)
    assert caught.value.report.pending == 3


async def test_products_that_are_never_answered_stop_it_after_a_while_and_the_others_count() -> None:
    clock = VirtualClock()
    service = ModelCatalog([lambda sent: results(*(result(each["id"]) for each in sent if each["id"] != "p1"))] * 500)
    job = job_of(service, numbered(3), clock=clock)
    with pytest.raises(BulkError) as caught:
        await job.run()
    assert "the service returned no result for 1 products: p1" in str(caught.value)
    assert (caught.value.report.accepted, caught.value.report.pending) == (2, 1)
    assert clock.monotonic() >= 90
    assert len(service.requests) >= 12


async def test_of_many_that_are_not_answered_five_are_named() -> None:
    with pytest.raises(BulkError, match=r"the service returned no result for 7 products: p0, p1, p2, p3, p4, … \("):
        await loaded(*[results()] * 500, count=7)


async def test_as_long_as_some_are_answered_each_time_it_goes_on() -> None:
    one_at_a_time = [lambda sent: results(result(sent[0]["id"]))] * 100
    report, service = await loaded(*one_at_a_time, count=25)
    assert report.created == 25
    assert [len(request) for request in service.requests] == list(range(25, 0, -1))


async def test_an_error_that_comes_with_a_success_stops_it() -> None:
    with pytest.raises(BulkError, match="the service refused: ODD: something"):
        await loaded(answer({"errors": [{"code": "ODD", "message": "something"}]}))


@pytest.mark.parametrize(
    ("status", "more", "field", "reason"),
    [
        ("ERROR", {}, "", "refused by the service without a reason"),
        (None, {}, "", "refused by the service without a reason"),
        ("SOMETHING_NEW", {}, "", "the service returned the status SOMETHING_NEW"),
        ("ERROR", {"errors": ["too dear"]}, "", "too dear"),
        ("ERROR", {"errors": ["too dear", "too big"]}, "", "too dear; too big"),
        ("ERROR", {"errors": [{"code": "A", "message": "b", "field": "price"}]}, "price", "A: b"),
        ("ERROR", {"errors": [{"code": 7, "detail": "b", "parameter": "price"}]}, "price", "7: b"),
        ("ERROR", {"errors": [{"message": "b", "attribute": "price"}, {"code": "A", "field": "price"}]}, "price", "b; A"),
        ("ERROR", {"errors": [{"field": "x"}, {"field": "y", "message": "b"}]}, "x, y", "refused by the service without a reason; b"),
        ("ERROR", {"errors": [{"field": ["x"]}]}, "", "refused by the service without a reason"),
        ("ERROR", {"errors": [7, None, ["a"]]}, "", "7; None; ['a']"),
        ("ERROR", {"errors": ["x" * 700]}, "", "x" * 500),
    ],
)  # fmt: skip
def test_reasons_are_read_from_texts_and_objects(
    status: str | None, more: dict[str, Any], field: str, reason: str
) -> None:
    assert reason_of(ProductResult(id="a", status=status, **more)) == (field, reason)


async def test_warnings_of_every_shape_are_kept() -> None:
    warnings = ["odd", {"code": "W", "message": "strange", "field": "title"}]
    report, _ = await loaded(results(result("p0", warnings=warnings), result("p1", warnings=None), result("p2")))
    assert report.warnings == 2
    assert [(each.row, each.field, each.reason, each.product_id) for each in report.warning_details] == [
        (1, "", "odd", "p0"),
        (1, "title", "W: strange", "p0"),
    ]


async def test_a_reason_with_control_characters_stays_one_cell(tmp_path: Any) -> None:
    service = ModelCatalog([results(result("a", "ERROR", errors=['no,\n"no"\r\x1b[31m']))])
    report = await job_of(service, products("a"), rejects=tmp_path / "rejects.csv").run()
    assert report.rejects[0].reason == 'no,\n"no"\r\x1b[31m'
    assert (tmp_path / "rejects.csv").read_bytes().startswith(b"row,field,reason,id")
