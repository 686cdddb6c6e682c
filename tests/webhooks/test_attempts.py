"""Events that are handed out again and again, and those that are put aside."""

import asyncio
import logging
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from socialapi.streams import Dispatcher
from socialapi.webhooks import DeadLetter, Receiver
from socialapi.webhooks import inbox as module
from tests.support.clock import turns
from tests.support.waiting import until
from tests.webhooks.posting import SECRET, event, numbers, rest, take

DYING = Path(__file__).with_name("dying.py")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inbox.sqlite"


async def store(path: Path, *ids: int) -> None:
    async with Receiver(SECRET, inbox=path) as receiver:
        added = await asyncio.gather(*(receiver._store.add(b"%d" % number, event(number)) for number in ids))
        assert set(added) == {"new"}


def had_in_hand(path: Path, *ids: int, attempts: int = 1) -> None:
    """Leaves the file as a process does that is killed while it has these events in hand."""
    with sqlite3.connect(path) as connection:
        for number in ids:
            connection.execute("INSERT INTO attempts VALUES (?, ?, 'a process of before')", (number, attempts))
    connection.close()


def counts(path: Path) -> list[tuple[int, int]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT number, count FROM attempts ORDER BY number").fetchall()
    finally:
        connection.close()


async def letters(path: Path) -> list[DeadLetter]:
    async with Receiver(SECRET, inbox=path) as receiver:
        return await receiver.dead_letters()


@pytest.mark.slow
async def test_of_fifty_events_the_one_that_kills_its_process_five_times_is_put_aside(path: Path) -> None:
    await store(path, *range(1, 51))
    handled: list[str] = []
    statuses = []
    for _ in range(6):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(DYING), str(path), "20"), stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        output, _ = await asyncio.wait_for(process.communicate(), 30)
        handled += output.decode().split()
        statuses.append(process.returncode)
        if process.returncode == 0:
            break
    assert sorted(set(handled), key=int) == [str(number) for number in range(1, 51) if number != 20]
    assert statuses == [-9] * 5 + [0]
    (letter,) = await letters(path)
    assert (letter.event.event_id, letter.attempts) == ("20", 5)  # type: ignore[union-attr]


async def test_ten_rolling_restarts_put_nothing_aside(path: Path) -> None:
    await store(path, *range(1, 6))

    async def hold(receiver: Receiver) -> None:
        async for _ in receiver:
            await asyncio.Event().wait()

    for _ in range(10):
        async with Receiver(SECRET, inbox=path).handled_by(hold) as receiver:
            async with asyncio.timeout(10):
                while receiver.counters.handed_out < 1:
                    await turns(10)
    assert counts(path) == []
    async with Receiver(SECRET, inbox=path) as receiver:
        assert numbers(await take(receiver, 5)) == ["1", "2", "3", "4", "5"]
        assert await receiver.dead_letters() == []


async def test_an_event_that_its_handler_fails_on_is_put_aside_after_the_attempts(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await store(path, 1)
    for attempt in (1, 2, 3):
        with pytest.raises(ZeroDivisionError):  # noqa: PT012
            async with Receiver(SECRET, inbox=path, max_attempts=3) as receiver:
                async for _ in receiver:
                    raise ZeroDivisionError
        assert counts(path) == [(1, attempt)]
    with caplog.at_level(logging.ERROR, "socialapi"):
        async with Receiver(SECRET, inbox=path, max_attempts=3) as receiver:
            assert receiver.waiting == 1
            (letter,) = await receiver.dead_letters()
            assert (letter.number, letter.attempts, letter.event.content) == (1, 3, event(1))
            receiver.stop()
            assert await rest(receiver) == []
    assert "put aside 1 of the events" in caplog.text
    assert "event_id" not in caplog.text


async def test_a_handler_of_a_task_or_a_dispatcher_that_fails_counts_too(path: Path) -> None:
    await store(path, 1, 2)
    async with Receiver(SECRET, inbox=path) as receiver:
        failing = asyncio.create_task(_fail_on_the_next(receiver))
        await asyncio.wait({failing})
        assert numbers(await take(receiver.unfinished(), 1)) == ["2"]
    assert isinstance(failing.exception(), ZeroDivisionError)
    assert counts(path) == [(1, 1)]  # the other one was in hand, and nothing failed
    dispatcher = Dispatcher()

    @dispatcher.on("*")
    def fail(event: object) -> None:
        raise ZeroDivisionError

    async with Receiver(SECRET, inbox=path) as receiver:
        running = asyncio.create_task(dispatcher.run(receiver))
        async with asyncio.timeout(10):
            while dispatcher.counters.failed < 2:
                await turns(10)
        running.cancel()
        await asyncio.wait({running})
    assert counts(path) == [(1, 2), (2, 1)]


async def _fail_on_the_next(receiver: Receiver) -> None:
    async for _ in receiver.unfinished():
        raise ZeroDivisionError


async def test_what_a_killed_process_had_comes_last_and_those_with_fewer_attempts_first(path: Path) -> None:
    await store(path, 1, 2, 3, 4)
    had_in_hand(path, 1, attempts=2)
    had_in_hand(path, 3)
    async with Receiver(SECRET, inbox=path) as receiver:
        assert numbers(await take(receiver, 4)) == ["2", "4", "3", "1"]
        assert receiver.waiting == 1


async def test_while_others_are_ready_it_waits_for_a_bounded_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SUSPECT_SECONDS", 0.0)
    await store(path, *range(1, 400))
    had_in_hand(path, 1)
    async with Receiver(SECRET, inbox=path) as receiver:
        first = numbers(await take(receiver, 300))
    assert "1" in first


@pytest.fixture
async def alone(path: Path) -> AsyncIterator[Receiver]:
    """A receiver of two events that a killed process had in hand."""
    await store(path, 1, 2)
    had_in_hand(path, 1, 2)
    async with Receiver(SECRET, inbox=path) as receiver:
        yield receiver


async def test_an_event_that_a_killed_process_had_is_handed_out_alone(alone: Receiver, path: Path) -> None:
    events = alone.unfinished()
    busy = asyncio.Event()

    async def handle() -> None:
        event = await anext(events)
        await busy.wait()
        await alone.finish(event)

    first = asyncio.create_task(handle())
    await until(lambda: alone.counters.handed_out == 1)
    other = asyncio.create_task(handle())
    assert await alone._store.add(b"3", event(3)) == "new"
    await turns(50)
    assert alone.counters.handed_out == 1
    assert counts(path)[:2] == [(1, 2), (2, 1)]  # if it ends the process again, only its own count has risen
    busy.set()
    await asyncio.wait_for(asyncio.gather(first, other), 10)
    assert alone.counters.handed_out == 2


async def test_a_taker_that_asks_for_another_gets_it_after_a_while(
    alone: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ALONE_SECONDS", 0.05)
    assert numbers(await take(alone.unfinished(), 2)) == ["1", "2"]


async def test_a_file_of_an_earlier_version_is_shared_with_it(path: Path) -> None:
    """The earlier version knows neither table, and its statements ignore them."""
    await store(path, 1, 2)
    connection = sqlite3.connect(path)
    connection.executescript("DROP TABLE attempts; DROP TABLE dead_letters")
    connection.close()
    async with Receiver(SECRET, inbox=path) as receiver:
        assert numbers(await take(receiver.unfinished(), 2)) == ["1", "2"]
        connection = sqlite3.connect(path)
        connection.execute("DELETE FROM waiting WHERE number = 1")  # as an earlier version finishes an event
        connection.commit()
        connection.close()
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (2,)
    assert counts(path) == []
