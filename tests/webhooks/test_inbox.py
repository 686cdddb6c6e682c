"""A receiver with an inbox, and the inbox itself."""

import asyncio
import logging
import os
import re
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from socialapi.errors import ConfigurationError
from socialapi.webhooks import Receiver
from socialapi.webhooks import inbox as module
from socialapi.webhooks.inbox import Inbox
from tests.support.clock import turns
from tests.support.waiting import until
from tests.webhooks.posting import SECRET, event, numbers, rest, running, take


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inbox.sqlite"


@pytest.fixture
async def inbox(path: Path) -> AsyncIterator[Inbox]:
    inbox = Inbox(path, dedup_window=100, max_waiting=1_000)
    await inbox.open()
    yield inbox
    await inbox.aclose()


async def statements_of(inbox: Inbox) -> list[str]:
    """What its connection executes from now on."""
    executed: list[str] = []
    await inbox._database.run(lambda connection: connection.set_trace_callback(executed.append))
    executed.clear()
    return executed


def stored(path: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def holds(path: Path, content: bytes) -> bool:
    return content in path.read_bytes()


# A receiver that is started again -----------------------------------------------------------------------------------


async def test_after_a_restart_unfinished_events_come_first_and_in_order(path: Path) -> None:
    first = Receiver(SECRET, inbox=path)
    async with running(first) as sender:
        for number in range(6):
            assert (await sender.post(event(number))).status == 200
        held = await take(first.unfinished(), 4)
        for done in (held[1], held[2]):
            await first.finish(done)
    assert await rest(first) == []  # what is unfinished comes out after the next start, not now
    second = Receiver(SECRET, inbox=path)
    async with running(second) as sender:
        assert (await sender.post(event(6))).status == 200
        assert numbers(await take(second, 5)) == ["0", "3", "4", "5", "6"]
        for number in range(7):  # each of them is known from before
            assert (await sender.post(event(number))).status == 200
        assert second.counters.duplicates == 7
    assert stored(path, "SELECT count(*) FROM waiting") == [(1,)]


async def test_events_in_the_loop_are_finished_and_the_last_one_too(path: Path) -> None:
    receiver = Receiver(SECRET, inbox=path)
    async with running(receiver) as sender:
        for number in range(3):
            await sender.post(event(number))
        count = 0
        async for _ in receiver:
            count += 1
            if count == 3:
                receiver.stop()  # what was handed out can still be finished
    assert receiver.counters.finished == 3
    assert stored(path, "SELECT count(*) FROM waiting") == [(0,)]


async def test_a_finished_event_leaves_no_body_behind(path: Path) -> None:
    receiver = Receiver(SECRET, inbox=path)
    async with running(receiver) as sender:
        await sender.post(event(1, text="a private message"))
        assert holds(path.with_name(f"{path.name}-wal"), b"a private message")
        await receiver.finish((await take(receiver.unfinished(), 1))[0])
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208  # names are all that matters
    assert not holds(path, b"private")
    assert not holds(path, b"post.create")


async def test_what_is_finished_does_not_wait_while_it_is_erased(inbox: Inbox) -> None:
    for number in range(3):
        await inbox.add(b"%d" % number, b"{}")
    taken = [await inbox.take() for _ in range(2)]
    may_write = threading.Event()
    blocking = asyncio.create_task(inbox._database.run(lambda _: may_write.wait(60)))
    seen = []
    for each in taken:
        assert each is not None
        inbox.finish(each.number)
        await turns()
        seen.append(inbox.waiting)
    may_write.set()
    assert await blocking
    await until(lambda: not inbox._finished and not inbox._erasing)
    assert (seen, inbox.waiting) == ([2, 1], 1)


async def test_of_duplicates_at_once_one_is_stored_and_all_wait_for_it(path: Path) -> None:
    receiver = Receiver(SECRET, inbox=path)
    async with running(receiver) as sender:
        answers = await asyncio.gather(*(sender.post(event(number % 3)) for number in range(60)))
        assert {answer.status for answer in answers} == {200}
        assert (receiver.counters.accepted, receiver.counters.duplicates) == (3, 57)
        assert sorted(numbers(await take(receiver, 3))) == ["0", "1", "2"]


async def test_who_comes_before_the_start_waits_for_it(path: Path) -> None:
    receiver = Receiver(SECRET, inbox=path)
    waiting = asyncio.ensure_future(take(receiver, 1))
    await turns()
    assert await receiver._store.add(None, event(1)) == "full"
    async with running(receiver) as sender:
        await sender.post(event(1))
        assert numbers(await waiting) == ["1"]


async def test_without_room_on_the_disk_events_are_refused(path: Path) -> None:
    receiver = Receiver(SECRET, inbox=path, max_waiting=2, max_queue=1)
    async with running(receiver) as sender:
        assert [(await sender.post(event(number))).status for number in range(3)] == [200, 200, 503]
        (held,) = await take(receiver.unfinished(), 1)
        assert (await sender.post(event(2))).status == 503  # it is handed out, and still waits
        await receiver.finish(held)
        await until(lambda: vars(receiver._store)["_waiting"] == 1)
        assert (await sender.post(event(2))).status == 200
    assert receiver.counters.refused_full == 2


# The inbox ---------------------------------------------------------------------------------------------------------


async def test_what_arrives_at_once_shares_a_commit(inbox: Inbox) -> None:
    executed = await statements_of(inbox)
    assert set(await asyncio.gather(*(inbox.add(b"%d" % n, b"{}") for n in range(500)))) == {"new"}
    assert executed.count("COMMIT") <= 6  # a first one, a second one with all others, and the reading


async def test_a_cancelled_request_does_not_take_others_with_it(inbox: Inbox) -> None:
    first = asyncio.ensure_future(inbox.add(b"a", b"{}"))
    await turns(1)
    second = asyncio.ensure_future(inbox.add(b"a", b"{}"))
    await turns(1)
    first.cancel()
    assert await second == "duplicate"
    assert await inbox.add(b"a", b"{}") == "duplicate"


async def test_identities_are_kept_for_the_window_also_across_restarts(path: Path) -> None:
    async def add(*identities: bytes) -> list[str]:
        inbox = Inbox(path, dedup_window=3, max_waiting=1_000)
        await inbox.open()
        try:
            return [await inbox.add(each, b"{}") for each in identities]
        finally:
            await inbox.aclose()

    assert await add(b"a", b"b", b"c") == ["new", "new", "new"]
    assert await add(b"a", b"d", b"b", b"a") == ["duplicate", "new", "duplicate", "new"]
    assert stored(path, "SELECT count(*) FROM seen") == [(3,)]


async def test_only_a_slice_of_what_waits_is_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_BYTES", 1_000)
    large = b'{"a": "' + b"x" * 500 + b'"}'
    inbox = Inbox(path, dedup_window=100, max_waiting=10_000)
    await inbox.open()
    await asyncio.gather(*(inbox.add(None, b"%d" % n + large) for n in range(400)))
    held: list[int] = []
    async with asyncio.timeout(10):
        for number in range(400):
            got = await inbox.take()
            assert got is not None
            held.append(len(inbox._ready))
            assert got.content.startswith(b"%d{" % number)
    assert max(held) <= 4
    await inbox.aclose()


async def test_a_full_disk_refuses_events_and_is_said_once(
    inbox: Inbox, path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    large = b'{"private": "' + b"x" * 5_000 + b'"}'
    assert await inbox.add(b"before", b"{}") == "new"
    taken = await inbox.take()
    assert taken is not None
    (pages,) = await inbox._database.run(lambda connection: connection.execute("PRAGMA page_count").fetchone())
    await inbox._database.run(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}"))
    with caplog.at_level(logging.INFO):
        assert [await inbox.add(b"%d" % n, large) for n in range(3)] == ["full"] * 3
        assert await inbox.add(b"before", large) == "duplicate"  # for which no room is needed
        assert await inbox.add(b"0", large) == "full"  # it is not remembered
        inbox.finish(taken.number)
        await inbox._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 100000"))
        assert await inbox.add(b"0", large) == "new"
    assert "private" not in caplog.text
    said = [record.getMessage() for record in caplog.records if record.name == "socialapi"]
    assert said[0].endswith("and events are refused until it works again: database or disk is full")
    facts = [vars(record).get("socialapi_error") for record in caplog.records if record.name == "socialapi"]
    assert facts == ["OperationalError", None]
    assert len(said) == 2
    assert said[-1].endswith("works again")


async def test_what_could_not_be_finished_is_when_the_disk_works_again(
    inbox: Inbox, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    await inbox.add(None, b"1")
    await inbox.add(None, b"2")
    first = await inbox.take()
    assert first is not None
    fails = [True, True]
    change, read = module._change, module._slice

    def change_or_fail(*arguments: Any, **bounds: Any) -> Any:
        if fails:
            fails.pop()
            raise sqlite3.OperationalError("disk I/O error")
        return change(*arguments, **bounds)

    monkeypatch.setattr(module, "_change", change_or_fail)
    inbox.finish(first.number)
    await until(lambda: not fails)
    monkeypatch.setattr(module, "_slice", read)
    await inbox.aclose()
    assert stored(path, "SELECT content FROM waiting") == [(b"2",)]


async def test_reading_goes_on_when_the_disk_works_again(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    fails = [True, True]
    read = module._slice

    def read_or_fail(*arguments: Any) -> Any:
        if fails:
            fails.pop()
            raise sqlite3.OperationalError("disk I/O error")
        return read(*arguments)

    monkeypatch.setattr(module, "_slice", read_or_fail)
    assert await inbox.add(None, b"1") == "new"
    async with asyncio.timeout(10):
        got = await inbox.take()
    assert got is not None
    assert not fails


async def test_closing_does_not_wait_for_a_disk_that_fails(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(path, dedup_window=100, max_waiting=1_000)
    await inbox.open()
    await inbox.add(None, b"1")
    got = await inbox.take()
    assert got is not None

    def fail(*arguments: Any, **bounds: Any) -> Any:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(module, "_change", fail)
    inbox.finish(got.number)
    async with asyncio.timeout(10):
        await inbox.aclose()
    assert stored(path, "SELECT content FROM waiting") == [(b"1",)]


async def test_a_disk_that_takes_too_long_has_no_room(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STORE_TIMEOUT_SECONDS", 0.0)
    assert await inbox.add(b"a", b"{}") == "full"
    monkeypatch.setattr(module, "STORE_TIMEOUT_SECONDS", 10.0)
    assert await inbox.add(b"a", b"{}") == "duplicate"  # it was stored after all, and is handed out once
    got = await inbox.take()
    assert got is not None
    assert got.number == 1


async def test_the_number_of_events_on_the_disk_is_exact(path: Path) -> None:
    inbox = Inbox(path, dedup_window=100, max_waiting=7)
    await inbox.open()
    first = await asyncio.gather(*(inbox.add(b"%d" % (n % 4), b"{}") for n in range(10)))
    assert (first.count("new"), first.count("duplicate")) == (4, 6)
    second = await asyncio.gather(*(inbox.add(None, b"{}") for _ in range(5)))
    assert sorted(second) == ["full", "full", "new", "new", "new"]
    await inbox.aclose()
    assert stored(path, "SELECT count(*) FROM waiting") == [(7,)]


async def test_a_bug_ends_the_iteration_and_is_raised_there_and_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox(path, dedup_window=100, max_waiting=1_000)
    await inbox.open()

    def bug(*arguments: Any, **bounds: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "_change", bug)
    taking = asyncio.ensure_future(inbox.take())
    assert await inbox.add(b"a", b"{}") == "full"
    with pytest.raises(ZeroDivisionError):
        await taking
    with pytest.raises(ZeroDivisionError):
        await inbox.take()
    assert await inbox.add(b"a", b"{}") == "full"
    with pytest.raises(ZeroDivisionError):
        await inbox.aclose()


async def test_opening_and_closing_again_changes_nothing(inbox: Inbox) -> None:
    await inbox.open()
    assert await inbox.add(None, b"{}") == "new"
    await inbox.aclose()
    await inbox.aclose()
    with pytest.raises(RuntimeError, match="the inbox is closed"):
        await inbox.open()
    assert await inbox.add(None, b"{}") == "full"
    assert not inbox.finish(1)


async def test_all_who_open_it_at_once_are_told_why_it_cannot_be_used(path: Path) -> None:
    inbox = Inbox(path.parent, dedup_window=100, max_waiting=1_000)
    found = await asyncio.gather(*(inbox.open() for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in found] == [ConfigurationError] * 3
    assert await inbox.take() is None


async def test_no_more_than_so_many_bytes_wait_to_be_stored(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ARRIVING_BYTES", 50)
    assert await inbox.add(None, b"x" * 60) == "new"  # one alone has room
    outcomes = await asyncio.gather(*(inbox.add(None, b"x" * 20) for _ in range(4)))
    assert outcomes == ["new", "new", "full", "full"]
    assert await inbox.add(None, b"x" * 50) == "new"
    assert inbox._arriving_bytes == 0


def files_hold(path: Path, content: bytes) -> bool:
    return any(content in each.read_bytes() for each in path.parent.iterdir())


@pytest.mark.parametrize(("name", "value"), [("UNERASED_SECONDS", 0.0), ("MAX_UNERASED", 1)])
async def test_a_finished_body_leaves_the_files_while_the_inbox_is_open(
    name: str, value: float, inbox: Inbox, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stayed in the log for as long as that was not written over."""
    monkeypatch.setattr(module, "UNERASED_SECONDS", 1_000.0)
    monkeypatch.setattr(module, name, value)
    await inbox.add(b"a", b'{"text": "a private message"}')
    await inbox.add(b"b", b'{"text": "not yet done"}')
    got = await inbox.take()
    assert got is not None
    assert files_hold(path, b"private")
    inbox.finish(got.number)
    await until(lambda: not files_hold(path, b"private"))
    assert files_hold(path, b"not yet done")
    await until(lambda: not inbox._unerased)


async def test_a_log_that_cannot_be_emptied_is_tried_again_and_events_are_stored_meanwhile(
    inbox: Inbox, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNERASED_SECONDS", 0.0)
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    erase, fails = inbox._database.erase, [True, True]

    async def erase_or_fail() -> None:
        if fails:
            fails.pop()
            raise sqlite3.OperationalError("disk I/O error")
        await erase()

    monkeypatch.setattr(inbox._database, "erase", erase_or_fail)
    await inbox.add(None, b"private")
    got = await inbox.take()
    assert got is not None
    inbox.finish(got.number)
    assert await inbox.add(None, b"{}") == "new"
    await until(lambda: not files_hold(path, b"private"))
    assert not fails


# Files that cannot be used -----------------------------------------------------------------------------------------


async def refused(path: Path) -> str:
    """What a receiver says about the file when it is started."""
    receiver = Receiver(SECRET, inbox=path)  # which opens nothing yet
    with pytest.raises(ConfigurationError) as caught:
        async with running(receiver):
            raise AssertionError
    assert caught.value.__cause__ is None
    assert await rest(receiver) == []
    return str(caught.value).replace(str(path), "FILE")


async def test_an_inbox_that_was_cut_off_within_its_last_page_is_refused(path: Path) -> None:
    """SQLite reads zeros behind the end, and would not miss the event that was there."""
    async with Receiver(SECRET, inbox=path) as receiver:
        await receiver._store.add(b"1", event(1))
    content = await asyncio.to_thread(path.read_bytes)
    await asyncio.to_thread(path.write_bytes, content[:-5])
    assert await refused(path) == "the inbox FILE is damaged, or was never one: restore it, or choose another path"


async def test_damage_that_is_found_while_events_are_read_ends_the_receiver_with_an_error(path: Path) -> None:
    """The index names an event that is not in its table. The receiver used to wait for ever."""
    async with Receiver(SECRET, inbox=path) as receiver:
        for number in range(2):
            await receiver._store.add(b"%d" % number, event(number))
    ((page,),) = stored(path, "SELECT rootpage FROM sqlite_master WHERE name = 'waiting_by_queue'")
    ((size,),) = stored(path, "PRAGMA page_size")
    content = bytearray(await asyncio.to_thread(path.read_bytes))
    content[page * size - 5] += 13
    await asyncio.to_thread(path.write_bytes, content)
    says = "the inbox FILE is damaged, or was never one: restore it, or choose another path"
    receiver = Receiver(SECRET, inbox=path)
    for _ in range(2):
        with pytest.raises(ConfigurationError) as caught:
            async with asyncio.timeout(10), running(receiver):
                await anext(aiter(receiver))
        assert str(caught.value).replace(str(path), "FILE") == says
    assert await receiver._store.add(None, b"{}") == "full"


async def test_an_inbox_with_a_relative_path_stays_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    receiver = Receiver(SECRET, inbox="inbox.sqlite")
    await receiver._store.open()
    monkeypatch.chdir("/")
    assert await receiver._store.add(b"1", event(1)) == "new"
    await receiver.aclose()
    assert stored(tmp_path / "inbox.sqlite", "SELECT content FROM waiting") == [(event(1),)]


@pytest.mark.parametrize("how", ["deleted", "replaced", "folder deleted"])
async def test_no_event_is_accepted_into_a_file_that_the_next_run_cannot_find(tmp_path: Path, how: str) -> None:
    """SQLite continues to write to a deleted file, so events were accepted, said to be kept, and lost."""
    path = tmp_path / "folder" / "inbox.sqlite"
    path.parent.mkdir()
    receiver = Receiver(SECRET, inbox=path)
    await receiver._store.open()
    assert await receiver._store.add(b"1", event(1)) == "new"
    for file in path.parent.iterdir():
        file.unlink()
    if how == "replaced":
        path.touch()
    elif how == "folder deleted":
        path.parent.rmdir()
    assert await receiver._store.add(b"2", event(2)) == "full"
    says = f"the inbox {path} was deleted or replaced while it was open: start the program again"
    for ending in (anext(aiter(receiver)), receiver.aclose()):
        with pytest.raises(ConfigurationError, match=f"^{re.escape(says)}$"):
            await ending
    path.parent.mkdir(exist_ok=True)
    async with Receiver(SECRET, inbox=path) as receiver:
        assert await receiver._store.add(b"2", event(2)) == "new"
    assert stored(path, "SELECT content FROM waiting") == [(event(2),)]
