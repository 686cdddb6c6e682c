"""How events come out of a receiver, and when they are finished."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from socialapi.internal import fairness
from socialapi.webhooks import Receiver
from tests.support.clock import turns
from tests.support.rounds import counted_rounds
from tests.webhooks.posting import SECRET, Sender, event, numbers, rest, running, take


@pytest.fixture
def receiver() -> Receiver:
    return Receiver(SECRET)


@pytest.fixture
async def sender(receiver: Receiver) -> AsyncIterator[Sender]:
    async with running(receiver) as sender:
        yield sender


@pytest.mark.parametrize("how", ["cancel", "timeout", "wait_for"])
async def test_an_event_is_not_lost_with_who_waited_for_it(sender: Sender, receiver: Receiver, how: str) -> None:
    if how == "cancel":
        waiting = asyncio.ensure_future(take(receiver, 1))
        await turns()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    elif how == "timeout":
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anext(receiver)
    else:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(receiver), 0)
    await sender.post(event(1))
    assert numbers(await take(receiver, 1)) == ["1"]


async def test_an_event_is_not_lost_with_who_is_cancelled_while_it_arrives(receiver: Receiver) -> None:
    first, second = (asyncio.ensure_future(take(receiver, 1)) for _ in range(2))
    await turns()
    await receiver._store.add(None, event(1))  # both are woken up by it
    first.cancel()
    assert numbers(await second) == ["1"]
    assert first.cancelled() or await asyncio.gather(first, return_exceptions=True)


async def test_each_event_goes_to_one_of_several_tasks(sender: Sender, receiver: Receiver) -> None:
    tasks = [asyncio.ensure_future(rest(receiver)) for _ in range(3)]
    for number in range(20):
        await sender.post(event(number))
    receiver.stop()
    got = [number for task in tasks for number in numbers(await task)]
    assert sorted(got, key=int) == [str(number) for number in range(20)]
    assert receiver.counters.finished == 20


@pytest.mark.parametrize("end", ["stop", "aclose"])
async def test_what_is_queued_comes_out_before_the_end(sender: Sender, receiver: Receiver, end: str) -> None:
    for number in (1, 2):
        await sender.post(event(number))
    if end == "stop":
        receiver.stop()
    else:
        await receiver.aclose()
    assert (await sender.post(event(3))).status == 503
    assert numbers(await rest(receiver)) == ["1", "2"]
    assert await rest(receiver) == []
    assert await rest(receiver.unfinished()) == []


async def test_the_end_ends_those_who_wait(receiver: Receiver) -> None:
    async with receiver:
        tasks = [asyncio.ensure_future(rest(receiver)) for _ in range(3)]
        await turns()
    assert await asyncio.gather(*tasks) == [[], [], []]


async def test_an_event_is_finished_when_its_task_asks_for_the_next(sender: Sender, receiver: Receiver) -> None:
    for number in range(3):
        await sender.post(event(number))
    receiver.stop()
    counts = [(receiver.counters.handed_out, receiver.counters.finished) async for _ in receiver]
    assert counts == [(1, 0), (2, 1), (3, 2)]
    assert receiver.counters.finished == 3


async def test_an_event_is_finished_too_where_a_time_limit_waits_in_another_task(
    sender: Sender, receiver: Receiver
) -> None:
    for number in range(2):
        await sender.post(event(number))
        await asyncio.wait_for(anext(receiver), 10)
    assert receiver.counters.finished == 1


async def test_an_event_whose_handler_fails_is_not_finished(sender: Sender, receiver: Receiver) -> None:
    async def handle() -> None:
        async for _ in receiver:
            raise ValueError

    await sender.post(event(1))
    with pytest.raises(ValueError):  # noqa: PT011  # it has no words
        await asyncio.create_task(handle())
    assert receiver.counters.finished == 0
    await sender.post(event(2))
    await take(receiver, 1)
    assert receiver.counters.finished == 0


async def test_unfinished_events_are_finished_by_hand(sender: Sender, receiver: Receiver) -> None:
    for number in range(3):
        await sender.post(event(number))
    first, second, third = await take(receiver.unfinished(), 3)
    assert receiver.counters.finished == 0
    await receiver.finish(third)
    await receiver.finish(first)
    await receiver.finish(first)
    assert receiver.counters.finished == 2
    await receiver.finish(second)
    assert receiver.counters.finished == 3


async def test_only_what_was_handed_out_here_can_be_finished(sender: Sender, receiver: Receiver) -> None:
    other = Receiver(SECRET)
    await other._store.add(None, event(1))
    await receiver.finish((await take(other, 1))[0])
    assert (receiver.counters.finished, other.counters.finished) == (0, 0)


async def test_events_that_nobody_has_any_more_take_no_memory(receiver: Receiver) -> None:
    for number in range(100):
        await receiver._store.add(None, event(number))
    async with asyncio.timeout(10):
        for _ in range(100):
            await anext(receiver.unfinished())
    gc.collect()
    assert receiver._numbers == {}


async def test_a_cancelled_wait_does_not_end_the_iteration_by_hand(sender: Sender, receiver: Receiver) -> None:
    events = receiver.unfinished()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await anext(events)
    await sender.post(event(1))
    assert numbers(await take(events, 1)) == ["1"]
    assert aiter(events) is events


async def test_many_events_that_wait_leave_others_their_turns(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fairness, "BUDGET_SECONDS", -1.0)  # as if every event took too long
    for number in range(1_000):
        assert await receiver._store.add(None, event(number)) == "new"
    async with counted_rounds() as rounds:
        before = rounds.now
        assert len(await take(receiver.unfinished(), 1_000)) == 1_000
        assert rounds.now - before >= 1_000


async def test_of_several_who_take_many_none_loses_any(receiver: Receiver) -> None:
    tasks = [asyncio.ensure_future(rest(receiver)) for _ in range(3)]
    for number in range(500):
        assert await receiver._store.add(None, event(number)) == "new"
    receiver.stop()
    got = [number for each in await asyncio.gather(*tasks) for number in numbers(each)]
    assert sorted(got, key=int) == [str(number) for number in range(500)]
