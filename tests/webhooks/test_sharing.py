"""Several who have one inbox open: each hands out what it received, and what others left behind."""

import asyncio
import contextlib
import copy
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.errors import ConfigurationError
from socialapi.webhooks import Receiver
from socialapi.webhooks import inbox as module
from socialapi.webhooks.inbox import Inbox
from socialapi.webhooks.inbox_owner import InboxOwner
from tests.support.waiting import until
from tests.webhooks.posting import SECRET, Sender, event, numbers, rest, running, take
from tests.webhooks.serving import another_process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inbox.sqlite"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those who have looked for what others left behind; they do so all the time."""
    looked: list[str] = []
    others = module._abandoned_owners

    def look(owner: InboxOwner, connection: sqlite3.Connection) -> Any:
        looked.append(owner.name)
        return others(owner, connection)

    monkeypatch.setattr(module, "CLAIM_SECONDS", 0.001)
    monkeypatch.setattr(module, "_abandoned_owners", look)
    return looked


@contextlib.asynccontextmanager
async def two(path: Path, **options: Any) -> AsyncIterator[tuple[Receiver, Sender, Receiver, Sender]]:
    first, second = (Receiver(SECRET, inbox=path, **options) for _ in range(2))
    async with running(first) as to_first, running(second) as to_second:
        yield first, to_first, second, to_second


def stored(path: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


# Living together ---------------------------------------------------------------------------------------------------


async def test_whoever_receives_an_event_hands_it_out(path: Path, looks: list[str]) -> None:
    async with two(path) as (first, to_first, second, to_second):
        for number in range(20):
            assert (await (to_first, to_second)[number % 2].post(event(number))).status == 200
        await until(lambda: len(set(looks)) == 2 and len(looks) > 20)
        assert numbers(await take(first.unfinished(), 10)) == [str(number) for number in range(0, 20, 2)]
        assert numbers(await take(second.unfinished(), 10)) == [str(number) for number in range(1, 20, 2)]
        assert (first.waiting, second.waiting) == (10, 10)


async def test_duplicates_are_recognised_whoever_gets_them(path: Path) -> None:
    async with two(path) as (first, to_first, second, to_second):
        for number in range(10):
            for sender in (to_first, to_second):
                assert (await sender.post(event(number))).status == 200
        answers = await asyncio.gather(*(sender.post(event(10)) for sender in (to_first, to_second) * 10))
        assert {answer.status for answer in answers} == {200}
        accepted, duplicates = (
            [getattr(each.counters, name) for each in (first, second)] for name in ("accepted", "duplicates")
        )
    assert (sum(accepted), sum(duplicates)) == (11, 29)


async def test_an_identity_is_forgotten_after_the_window_of_all_together(path: Path) -> None:
    async with two(path, dedup_window=2) as (_, to_first, second, to_second):
        for sender, number in ((to_first, 1), (to_second, 2), (to_first, 3), (to_second, 1)):
            assert (await sender.post(event(number))).status == 200
        assert numbers(await take(second, 2)) == ["2", "1"]
    assert stored(path, "SELECT count(*) FROM seen") == [(2,)]


async def test_the_bound_holds_for_all_together(path: Path) -> None:
    async with two(path, max_waiting=5) as (first, to_first, _, to_second):
        answers = await asyncio.gather(*((to_first, to_second)[n % 2].post(event(n)) for n in range(20)))
        assert sorted(answer.status for answer in answers) == [200] * 5 + [503] * 15
        assert stored(path, "SELECT count(*), (SELECT waiting FROM state) FROM waiting") == [(5, 5)]
        if not first.waiting:
            return
        (held,) = await take(first.unfinished(), 1)
        assert (await to_second.post(event(100))).status == 503
        await first.finish(held)
        await until(lambda: stored(path, "SELECT waiting FROM state") == [(4,)])
        assert (await to_second.post(event(100))).status == 200


async def test_processes_that_make_one_at_the_same_instant_have_it(path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        entering = (stack.enter_async_context(another_process(path)) for _ in range(4))
        entered = [await each for each in [asyncio.ensure_future(each) for each in entering]]
        for number, (_, sender) in enumerate(entered):
            assert (await sender.post(event(number))).status == 200
    assert stored(path, "SELECT count(*) FROM waiting") == [(4,)]


# What others leave behind ------------------------------------------------------------------------------------------


async def test_what_one_leaves_behind_at_its_end_another_one_hands_out(path: Path, looks: list[str]) -> None:
    second = Receiver(SECRET, inbox=path)
    async with running(second) as to_second:
        first = Receiver(SECRET, inbox=path)
        async with running(first) as to_first:
            for number in range(300):
                assert (await to_first.post(event(number))).status == 200
            held = await take(first.unfinished(), 3)
            await first.finish(held[1])
            assert (await to_second.post(event(300))).status == 200
            assert numbers(await take(second, 1)) == ["300"]
        expected = [str(number) for number in range(300) if number != 1]
        assert numbers(await take(second, 299)) == expected
        assert (await to_second.post(event(301))).status == 200
        assert numbers(await take(second, 1)) == ["301"]
        assert second.counters.finished == 300
        await until(lambda: len(stored(path, "SELECT id FROM queues")) == 1)
        assert (second.waiting, stored(path, "SELECT waiting FROM state")) == (1, [(1,)])
    assert names(path) == [path.name]


async def test_what_a_killed_process_had_is_handed_out_while_another_one_runs(path: Path, looks: list[str]) -> None:
    receiver = Receiver(SECRET, inbox=path)
    async with running(receiver) as sender, another_process(path) as (process, to_process):
        for number in range(50):
            assert (await to_process.post(event(number))).status == 200
        seen = len(looks)
        await until(lambda: len(looks) > seen + 10)
        assert receiver.counters.handed_out == 0  # it lives, and does its own work
        process.kill()
        await process.wait()
        assert sorted(numbers(await take(receiver, 50)), key=int) == [str(number) for number in range(50)]
        assert (await sender.post(event(7))).status == 200
        assert receiver.counters.duplicates == 1
    assert names(path) == [path.name]


async def test_who_is_slow_is_not_taken_for_dead(path: Path, looks: list[str]) -> None:
    receiver = Receiver(SECRET, inbox=path)
    async with running(receiver) as sender, another_process(path) as (process, to_process):
        assert (await to_process.post(event(1))).status == 200
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"handling ")  # so that it holds no lock of the file
        process.send_signal(signal.SIGSTOP)
        seen = len(looks)
        await until(lambda: len(looks) > seen + 50)
        assert receiver.counters.handed_out == 0
        assert (await sender.post(event(2))).status == 200
        assert numbers(await take(receiver, 1)) == ["2"]
        process.send_signal(signal.SIGCONT)
        assert (await to_process.post(event(2))).status == 200
    assert receiver.counters.handed_out == 1


async def test_what_several_left_behind_comes_in_its_order_and_before_what_is_new(path: Path) -> None:
    for number in range(3):
        async with running(Receiver(SECRET, inbox=path)) as sender:
            for each in range(2):
                assert (await sender.post(event(10 * number + each))).status == 200
    receiver = Receiver(SECRET, inbox=path)
    async with running(receiver) as sender:
        assert receiver.waiting == 6
        assert (await sender.post(event(99))).status == 200
        assert numbers(await take(receiver, 7)) == ["0", "1", "10", "11", "20", "21", "99"]


async def test_who_was_stopped_takes_nothing_over(path: Path, looks: list[str]) -> None:
    first, second = (Receiver(SECRET, inbox=path) for _ in range(2))
    async with running(first) as to_first:
        async with running(second) as to_second:
            first.stop()
            assert (await to_first.post(event(1))).status == 503
            assert (await to_second.post(event(2))).status == 200
        assert await rest(first) == []
        assert stored(path, "SELECT holder FROM queues WHERE id IN (SELECT queue FROM waiting)") == [(None,)]


async def test_the_lock_of_a_living_one_cannot_be_taken(path: Path) -> None:
    inbox = Inbox(path, dedup_window=100, max_waiting=1_000)
    await inbox.open()
    assert not InboxOwner(path, inbox._owner.name).hold()
    assert not InboxOwner(path, inbox._owner.name).is_gone()
    (lock,) = [each for each in path.parent.iterdir() if each.suffix == ".lock"]
    assert lock.stat().st_mode & 0o777 == 0o600
    await inbox.aclose()
    assert InboxOwner(path, inbox._owner.name).is_gone()
    assert names(path) == [path.name]


async def test_each_process_has_a_lock_of_its_own_also_where_they_have_forked(path: Path) -> None:
    """A server that loads an application and forks has the object in every worker."""
    first = Inbox(path, dedup_window=100, max_waiting=1_000)
    second = copy.copy(first)
    second._owner = copy.copy(first._owner)
    second._database = copy.copy(first._database)
    second._queues, second._work = [], asyncio.Event()
    for inbox in (first, second):
        await inbox.open()
    assert first._owner.name != second._owner.name
    assert not InboxOwner(path, first._owner.name).hold()
    assert not InboxOwner(path, second._owner.name).hold()
    await first.aclose()
    await second.aclose()


async def test_nobody_is_taken_for_dead_whose_lock_cannot_be_looked_at(path: Path) -> None:
    path.with_name(f"{path.name}.name.lock").mkdir()
    assert not InboxOwner(path, "name").is_gone()


async def test_an_inbox_of_the_layout_before_is_refused_with_what_to_do(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE seen (number INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE)")
    connection.execute("CREATE TABLE waiting (number INTEGER PRIMARY KEY, content BLOB NOT NULL)")
    connection.execute("INSERT INTO waiting VALUES (1, '{}')")
    connection.execute(f"PRAGMA application_id = {module.SCHEMA.application_id}")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    with pytest.raises(
        ConfigurationError, match=r"its format is 1, this version uses 2\): use that version, or choose"
    ):
        await Inbox(path, dedup_window=100, max_waiting=1_000).open()
    assert stored(path, "SELECT count(*) FROM waiting") == [(1,)]


# Whatever happens --------------------------------------------------------------------------------------------------


async def crash(inbox: Inbox) -> None:
    """What the end of its process leaves behind: the file as it is, and a lock that is free."""
    worker = inbox._worker
    assert worker is not None
    await inbox._database.aclose()
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "again", "take", "finish", "close", "crash", "look"]), st.integers(0, 2)),
    max_size=20,
)


async def live(path: Path, steps: list[tuple[str, int]]) -> None:
    """Three who share an inbox, whatever they do: nothing is lost, nothing comes out twice in a life."""
    inboxes: list[Inbox | None] = [None] * 3
    held: list[list[Any]] = [[], [], []]
    waiting: set[bytes] = set()
    added = 0
    for step, who in steps:
        inbox = inboxes[who]
        if inbox is None:
            inboxes[who] = inbox = Inbox(path, dedup_window=100, max_waiting=1_000)
            await inbox.open()
        if step == "add":
            content = b"%d" % added
            assert await inbox.add(content, content) == "new"
            waiting.add(content)
            added += 1
        elif step == "again" and added:
            assert await inbox.add(b"%d" % (added - 1), b"again") == "duplicate"
        elif step == "take" and inbox._unread() is not None:
            got = await inbox.take()
            assert got is not None
            assert got.content in waiting
            assert got.content not in [each.content for held_by in held for each in held_by]
            held[who].append(got)
        elif step == "finish" and held[who]:
            done = held[who].pop()
            waiting.remove(done.content)
            assert inbox.finish(done.number)
            assert await inbox.add(done.content, b"again") == "duplicate"  # in the same commit or a later one
        elif step == "look":
            await inbox._claim_abandoned()
        elif step in ("close", "crash"):
            await (inbox.aclose() if step == "close" else crash(inbox))
            inboxes[who], held[who] = None, []
    for inbox in filter(None, inboxes):
        await inbox.aclose()
    last = Inbox(path, dedup_window=100, max_waiting=1_000)
    await last.open()
    assert last.waiting == len(waiting)
    assert {(await last.take()).content for _ in range(len(waiting))} == waiting  # type: ignore[union-attr]  # it is open
    await last.aclose()


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_whatever_they_do_nothing_is_lost_and_nothing_comes_twice(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    asyncio.run(live(tmp_path_factory.mktemp("shared") / "inbox.sqlite", steps))
