"""One upload request, sent until the service has counted every user in it."""

import itertools
from typing import Any, Final

import attrs
import pytest

from socialapi.bulk.audiences.sender import send_until_counted
from socialapi.errors import ApiError
from socialapi.models.audiences import UploadCounts
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.response import Reply
from socialapi.wire.retry import RetryPolicy
from tests.bulk.model_service import DESTINATION, ModelService, counted
from tests.bulk.model_transport import answer, session_of
from tests.support.clock import VirtualClock
from tests.support.requests import assemble

BODY: Final = (b'[{"operation_type":"Update","params":{"users":[{"partner_user_id":["a"]}]}}]',)
PATIENT: Final = RetryPolicy(max_attempts=12, max_wait_seconds=60.0, max_elapsed_seconds=90.0)


async def sent(session: Session, policy: RetryPolicy = PATIENT, users: int = 1) -> UploadCounts:
    options = attrs.evolve(CallOptions.interactive(session.config), policy=policy)
    request = assemble(DESTINATION.target, session.config, {}, BODY)
    return await send_until_counted(session, request, users, options=options)


@pytest.mark.parametrize("wrong", [counted(0, 1), counted(1, 2), counted(2, 2), counted(1, 0)])
async def test_any_other_counts_are_sent_again(wrong: Reply) -> None:
    service = ModelService([wrong, wrong])
    clock = VirtualClock()
    assert await sent(session_of(service, clock)) == UploadCounts(success_count=1, total_count=1)
    assert len(service.bodies) == 3
    assert len(clock.sleeps) == 2


async def test_counts_that_are_wrong_in_turns_are_sent_again_until_the_time_is_up() -> None:
    service = ModelService(counted(0, total) for total in itertools.cycle((1, 2)))
    clock = VirtualClock()
    with pytest.raises(ApiError, match="but 1 user was sent"):
        await sent(session_of(service, clock))
    assert clock.monotonic() >= 90
    assert len(service.bodies) > 12


async def test_a_call_that_may_not_be_repeated_often_is_not() -> None:
    service = ModelService([counted(0, 1)] * 20)
    with pytest.raises(ApiError, match="after 2 attempts"):
        await sent(session_of(service), RetryPolicy(max_attempts=2, max_wait_seconds=60.0))
    assert len(service.bodies) == 2


async def test_counts_of_several_operations_are_summed() -> None:
    service = ModelService([answer({"data": [{"success_count": 2, "total_count": 2}] * 3})])
    assert await sent(session_of(service), users=6) == UploadCounts(success_count=6, total_count=6)


async def test_an_answer_without_counts_is_an_error() -> None:
    service = ModelService([answer({"data": {"total_count": 1}})] * 12)
    with pytest.raises(ApiError, match=r"data\.success_count: is missing \(after 12 attempts\)"):
        await sent(session_of(service))


@pytest.mark.parametrize(
    "odd",
    [
        answer({"data": {"success_count": 1, "total_count": 1}, "errors": [{"code": "X", "message": "half"}]}),
        answer({"data": {"success_count": "1", "total_count": 1}}),
    ],
)
async def test_an_answer_that_is_not_as_documented_is_sent_again(odd: Any) -> None:
    assert (await sent(session_of(ModelService([odd, odd])))).success_count == 1


async def test_right_counts_under_another_content_type_are_right() -> None:
    plain = Reply(200, {"content-type": "text/plain"}, b'{"data": {"success_count": 1, "total_count": 1}}')
    service = ModelService([plain])
    assert (await sent(session_of(service))).success_count == 1
    assert len(service.bodies) == 1
