"""The inbox of a receiver: what was acknowledged is handed out, once while its process lives, and
again after its end: what a process had when it was killed comes last then, because it may have
ended it.

The emulator delivers over a socket, and so does a sender of the test. One or two processes have the
inbox open; they end, or are killed while something is written.
"""

import asyncio
import contextlib
import functools
import itertools
import shutil
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs
import pytest
from hypothesis import strategies as st

from socialapi.errors import WebhookRejected
from socialapi.streams import ActivityEvent
from socialapi.webhooks import Receiver
from socialapi.webhooks import inbox as module
from tests.machines.machine import Machine, check, copy_files, hold_floor, run_machine, step, tasks_of_package
from tests.machines.worlds import Worlds
from tests.support.waiting import until
from tests.webhooks.posting import HEADER, Sender, event, running, signature

WINDOW: Final = 3
MAX_WAITING: Final = 4
MAX_ATTEMPTS: Final = 1_000
"""So many that nothing is put aside."""
URL: Final = "https://app.example/hooks"
HOUR_SECONDS: Final = 3_600
WRONG: Final = "of nobody"

Posted = tuple[int | None, int]
"""The id of an event, which may have none, and the number of the body that was posted."""

ids = st.none() | st.integers(0, 5)
some_ids = st.lists(ids, min_size=1, max_size=4)
either = st.integers(0, 1)


@attrs.define
class Held:
    """What the inbox holds. Numbers are those of bodies, and processes are known by their names."""

    accepted: list[int | None] = attrs.field(factory=list)
    """The ids of all events that were ever accepted."""
    queues: dict[int, list[int]] = attrs.field(factory=dict)
    """What is on the disk, by the process that has accepted it."""
    attempts: dict[int, int] = attrs.field(factory=dict)
    """How often what processes had in hand when they were killed was handed out: each of it comes
    when nothing else is left, the least often handed out first.
    """
    done: dict[int, list[int]] = attrs.field(factory=dict)
    """What processes have finished, and what may nevertheless still be on the disk."""
    answers: dict[int, Counter[str]] = attrs.field(factory=dict)
    """What became of the last posts, by the process that they went to."""

    @property
    def waiting(self) -> int:
        return sum(map(len, self.queues.values())) - sum(map(len, self.done.values()))

    def waiting_for(self, owners: Iterable[int]) -> int:
        """How much of theirs waits, or was handed out and is not finished."""
        done = set(itertools.chain.from_iterable(self.done.values()))
        return sum(number not in done for owner in owners for number in self.queues.get(owner, ()))

    def post(self, owner: int, posted: Posted, remembered: int = WINDOW) -> str:
        """Returns what is answered, and holds the event if it is new and there is room."""
        event_id, number = posted
        if event_id is not None and event_id in self.accepted[-remembered:]:
            return "duplicate"
        if self.waiting >= MAX_WAITING:
            return "full"
        self.accepted.append(event_id)
        self.queues.setdefault(owner, []).append(number)
        self.write(owner)
        return "new"

    def post_all(self, posts: Iterable[tuple[int, Posted]], commits: Sequence[int]) -> None:
        """Posts what arrives at once; a commit begins before each of these positions.

        What is older than the window is forgotten at the end of a commit.
        """
        self.answers = defaultdict(Counter)
        before = len(self.accepted)
        for index, (owner, posted) in enumerate(posts):
            before = len(self.accepted) if index in commits else before
            self.answers[owner][self.post(owner, posted, WINDOW + len(self.accepted) - before)] += 1

    def write(self, name: int, count: int | None = None) -> None:
        """Erases what the process has finished, or the first part of it."""
        done = self.done.pop(name, [])
        gone = done[:count]
        self.queues = {owner: [each for each in queue if each not in gone] for owner, queue in self.queues.items()}
        self.queues = {owner: queue for owner, queue in self.queues.items() if queue}
        left = set(itertools.chain.from_iterable(self.queues.values()))
        self.attempts = {number: count for number, count in self.attempts.items() if number in left}
        if len(gone) < len(done):
            self.done[name] = done[len(gone) :]

    def kill(self, name: int, numbers: Iterable[int], erased: int) -> None:
        """Counts what the process had in hand: these numbers, and what it has finished and did not
        erase.
        """
        in_hand = {*numbers, *self.done.get(name, ())[erased:]}
        self.write(name, erased)
        for number in in_hand.intersection(itertools.chain.from_iterable(self.queues.values())):
            self.attempts[number] = self.attempts.get(number, 0) + 1

    def read_ahead(self, owner: int, count: int) -> None:
        """Counts the first of a queue that are new: the process that was killed had read so many
        ahead.
        """
        new = [each for each in self.queues.get(owner, ()) if each not in self.attempts]
        self.attempts |= dict.fromkeys(new[:count], 1)

    def next_of(self, owners: Iterable[int], handed_out: AbstractSet[int]) -> set[int]:
        """What a process may hand out next: the first of a queue that is new. If there is none, one
        that was handed out least often.
        """
        queues = [[each for each in self.queues.get(owner, ()) if each not in handed_out] for owner in owners]
        least = min((self.attempts.get(each, 0) for queue in queues for each in queue), default=0)
        firsts = (next((each for each in queue if self.attempts.get(each, 0) == least), None) for queue in queues)
        return {each for each in firsts if each is not None}


def commits_of(count: int) -> list[tuple[int, ...]]:
    """The ways in which so many events that arrive at once are divided into commits, by where each
    begins.
    """
    later = range(1, count)
    return [(0, *cut) for size in range(count or 1) for cut in itertools.combinations(later, size)]


@attrs.define(eq=False)
class Process:
    """One that has the inbox open."""

    name: int
    receiver: Receiver
    sender: Sender
    ending: contextlib.AsyncExitStack
    events: list[tuple[int, Any]] = attrs.field(factory=list)
    """What it has handed out, in order, and not finished."""
    finished: int = 0
    owns: set[int] = attrs.field(factory=set)
    """The processes whose events it hands out."""
    posts: int = 0

    @property
    def numbers(self) -> set[int]:
        return {number for number, _ in self.events}


class InboxMachine(Machine):
    """Two processes share an inbox; one of them is the webhook that the service knows."""

    max_examples: ClassVar[int] = 45
    emulator_options: ClassVar[Mapping[str, Any]] = {
        "empty": True,
        "rate_limits": {"GET /2/webhooks": (100_000, 900.0)},
    }

    async def open(self) -> None:
        await super().open()
        self.secret = self.emulator.ready["api_key_secret"]
        self.root = Path(tempfile.mkdtemp(prefix="inbox-"))
        self.copies = 0
        self.path = self.root / "0" / "inbox.sqlite"
        self.path.parent.mkdir()
        self.posted = self.started = 0
        self.worlds = Worlds(Held())
        self.is_registered: Worlds[dict[str, bool | None]] = Worlds({"valid": None})
        self.processes: list[Process | None] = [None, None]
        await self.start(0)

    async def close(self) -> None:
        for process in self.alive:
            await process.ending.aclose()
        await super().close()
        shutil.rmtree(self.root)

    def tasks_left(self) -> set["asyncio.Task[Any]"]:
        return {task for task in tasks_of_package() if "socialapi-webhook" not in task.get_name()}

    # Processes --------------------------------------------------------------------------------------------------------

    async def start(self, which: int) -> None:
        """Opens the inbox. What nobody hands out is handed out by this process."""
        receiver = Receiver(
            self.secret, inbox=self.path, dedup_window=WINDOW, max_waiting=MAX_WAITING, max_attempts=MAX_ATTEMPTS
        )
        stack = contextlib.AsyncExitStack()
        sender = await stack.enter_async_context(running(receiver))
        self.started += 1
        self.processes[which] = Process(self.started, receiver, sender, stack, owns={self.started})
        self.emulator.webhook_targets[URL] = sender.url
        await self.leftovers_are_claimed()

    async def end(self, process: Process) -> None:
        self.hold_counters(process)
        await process.ending.aclose()

    @property
    def alive(self) -> list[Process]:
        return [process for process in self.processes if process is not None]

    @property
    def is_served(self) -> bool:
        """Whether requests of the service arrive."""
        target = self.emulator.webhook_targets.get(URL)
        return any(process.sender.url == target for process in self.alive)

    async def leftovers_are_claimed(self) -> None:
        """Waits until the one process that is there hands out what others have left."""
        if not self.alive:
            return
        owned = set().union(*(process.owns for process in self.alive))
        self.alive[0].owns |= {owner for held in self.worlds.states for owner in held.queues} - owned
        possible = {held.waiting for held in self.worlds.states}
        await until(lambda: sum(process.receiver.waiting for process in self.alive) in possible, seconds=10)

    @step(trouble=None, which=either)
    async def restart_process(self, which: int) -> None:
        """Ends a process, or starts it. What it had comes out again."""
        process, self.processes[which] = self.processes[which], None
        if process is None:
            await self.start(which)
        else:
            await self.end(process)
            self.worlds.change("yes", lambda held: held.write(process.name))
            await self.leftovers_are_claimed()

    @step(trouble=None, wanted=st.lists(ids, max_size=3), turns=st.integers(0, 40))
    async def kill(self, wanted: list[int | None], turns: int) -> None:
        """Both processes are killed while one stores events: what is then on the disk is all that
        is left.
        """
        victims = self.alive
        if not victims:
            return
        posted = [self.new_post(event_id) for event_id in wanted]
        storing = [asyncio.ensure_future(self.handle(victims[0], each)) for each in posted]
        for _ in range(turns):
            await asyncio.sleep(0)
        least = max((index + 1 for index, task in enumerate(storing) if task.done()), default=0)
        self.copies += 1
        path = self.root / str(self.copies) / "inbox.sqlite"
        store: Any = victims[0].receiver._store
        # In a transaction that locks the file, so that the other process writes nothing meanwhile.
        await store._database.run(lambda _: copy(self.path.parent, path.parent))
        if storing:
            await asyncio.wait(storing)
        victims[0].posts += len(posted)
        self.processes = [None, None]
        for victim in victims:
            await self.end(victim)
        self.path = path
        self.note_kill(victims, posted, least)
        await self.start(0)

    def note_kill(self, victims: Sequence[Process], posted: Sequence[Posted], least: int) -> None:
        """Of what was being stored a first part is there, and of what was finished a first part is
        not.
        """
        most = max((len(done) for held in self.worlds.states for done in held.done.values()), default=0)

        def killed(stored: int, erased: Sequence[int], commits: Sequence[int]) -> Callable[[Held], None]:
            def kill(held: Held) -> None:
                done = dict(held.done)
                held.post_all([(victims[0].name, each) for each in posted[:stored]], commits)
                held.answers.clear()
                held.done = done
                for victim, count in zip(victims, erased, strict=True):
                    held.kill(victim.name, victim.numbers, count)
                held.done.clear()

            return kill

        counts = itertools.product(range(most + 1), repeat=len(victims))
        stored = range(least, len(posted) + 1)
        self.worlds.split(*itertools.starmap(killed, itertools.product(stored, counts, commits_of(len(posted)))))
        for owner in set().union(*(victim.owns for victim in victims)):
            longest = max(len(held.queues.get(owner, ())) for held in self.worlds.states)
            self.worlds.split(
                *(functools.partial(Held.read_ahead, owner=owner, count=count) for count in range(longest + 1))
            )

    # Deliveries -------------------------------------------------------------------------------------------------------

    def new_post(self, event_id: int | None) -> Posted:
        self.posted += 1
        return event_id, self.posted

    async def handle(self, process: Process, posted: Posted) -> int:
        body = event(posted[0], body=posted[1])
        return (await process.receiver.handle("POST", "", {HEADER: signature(body, self.secret)}, body)).status

    async def post(self, process: Process, posted: Posted) -> int:
        process.posts += 1
        body = event(posted[0], body=posted[1])
        return (await process.sender.post(body, signature(body, self.secret))).status

    def note(self, before: Mapping[int, Counter[str]], made: Sequence[tuple[Process, Posted]]) -> None:
        """Leaves the states in which the posts, in any order, come to what the processes have
        counted.
        """
        answered = {process.name: counted(process) - before[process.name] for process in self.alive}

        def posted_in(order: Sequence[tuple[Process, Posted]], commits: Sequence[int]) -> Callable[[Held], None]:
            return lambda held: held.post_all(((process.name, posted) for process, posted in order), commits)

        orders = itertools.permutations(made)
        self.worlds.split(*itertools.starmap(posted_in, itertools.product(orders, commits_of(len(made)))))
        self.worlds.see(lambda held: dict(held.answers), {name: counts for name, counts in answered.items() if counts})
        self.worlds.change("yes", lambda held: held.answers.clear())

    @step(trouble=None, which=either, wanted=some_ids)
    async def deliver_at_once(self, which: int, wanted: list[int | None]) -> None:
        """Each is answered with 200 where it is held, and with 503 where it is not."""
        if not self.alive:
            return
        before = {process.name: counted(process) for process in self.alive}
        made = [
            (self.alive[(which + index) % len(self.alive)], self.new_post(event_id))
            for index, event_id in enumerate(wanted)
        ]
        statuses = await asyncio.gather(*(self.post(process, posted) for process, posted in made))
        self.note(before, made)
        full = sum(counted(process)["full"] - before[process.name]["full"] for process in self.alive)
        assert sorted(statuses) == [200] * (len(made) - full) + [503] * full

    @step(trouble=None, which=either, event_id=ids, is_signed=st.booleans())
    async def post_a_forgery(self, which: int, event_id: int | None, is_signed: bool) -> None:
        if not self.alive:
            return
        process = self.alive[which % len(self.alive)]
        process.posts += 1
        body = event(event_id, body=0)
        assert (await process.sender.post(body, signature(body, WRONG) if is_signed else None)).status == 401

    @step(
        trouble=None,
        event_id=st.integers(0, 5),
        fault=st.sampled_from(
            [None, "delivery_duplicate", "delivery_tampered", "delivery_forged", "delivery_unsigned"]
        ),
    )
    async def service_delivers(self, event_id: int, fault: str | None) -> None:
        """The service delivers to a valid webhook only; what comes twice is held once, and
        forgeries are not.
        """
        if fault is not None:
            self.emulator.faults.add(fault)
        target = self.emulator.webhook_targets[URL]
        process = next((each for each in self.alive if each.sender.url == target), None)
        before = {each.name: counted(each) for each in self.alive}
        refused = process.receiver.counters.refused_signature if process else 0
        posted = self.new_post(event_id)
        await self.emulator.publish(published(posted))
        await self.emulator.settle()
        self.emulator.faults.clear()
        if self.is_registered.only["valid"] and process is not None:
            copies = 2 if fault == "delivery_duplicate" else 1
            forgeries = 1 if fault not in (None, "delivery_duplicate") else 0
            process.posts += copies + forgeries
            self.note(before, [(process, posted)] * copies)
            assert process.receiver.counters.refused_signature == refused + forgeries
        else:
            self.note(before, [])
        # An hour may have passed, after which the service challenges it first.
        if not self.is_served and self.is_registered.only["valid"]:
            self.is_registered.change("unknown", lambda webhook: webhook.update(valid=False))
        for webhook in self.emulator.ledger()["deliveries"].values():
            assert webhook["forgeries"]["accepted"] == 0

    # Events -----------------------------------------------------------------------------------------------------------

    @step(trouble=None, which=either, count=st.integers(1, 4), finished=st.integers(0, 4), is_waited=st.booleans())
    async def handle_events(self, which: int, count: int, finished: int, is_waited: bool) -> None:
        """Events come out in the order of each process that has accepted them, and once; those that
        one had when it was killed come last. Some are then finished.
        """
        if not self.alive:
            return
        process = self.alive[which % len(self.alive)]
        count = min(count, process.receiver.waiting - len(process.events))
        iterator = process.receiver.unfinished()
        for _ in range(count):
            async with asyncio.timeout(10):
                taken = await anext(iterator)
            assert isinstance(taken, ActivityEvent)
            number = (taken.payload or {})["body"]
            assert number not in process.numbers
            self.worlds.keep(lambda held: self.is_next(held, process, number))  # noqa: B023  # called at once
            process.events.append((number, taken))
        await self.finish(process, process.events[:finished], is_waited=is_waited)

    def is_next(self, held: Held, process: Process, number: int) -> bool:
        """Whether the process may hand out the number next."""
        return number in held.next_of(process.owns, process.numbers.union(held.done.get(process.name, ())))

    @step(trouble=None, which=either, first=st.integers(0, 4), count=st.integers(1, 3), is_waited=st.booleans())
    async def handle_late(self, which: int, first: int, count: int, is_waited: bool) -> None:
        if not self.alive:
            return
        process = self.alive[which % len(self.alive)]
        await self.finish(process, process.events[first : first + count], is_waited=is_waited)

    async def finish(self, process: Process, done: Sequence[tuple[int, Any]], *, is_waited: bool) -> None:
        for _, taken in done:
            await process.receiver.finish(taken)
            await process.receiver.finish(taken)  # twice is as once
        process.finished += len(done)
        process.events = [each for each in process.events if each not in done]

        def note(held: Held) -> None:
            held.done.setdefault(process.name, []).extend(number for number, _ in done)

        self.worlds.change("yes", note)
        if done and (is_waited or len(self.alive) > 1):
            waiting = self.worlds.states[0].waiting
            await until(lambda: stored(self.path) == waiting)
            self.worlds.change("yes", lambda held: held.write(process.name))

    # The webhook ------------------------------------------------------------------------------------------------------

    @step()
    async def webhook_is_ensured(self) -> None:
        """The webhook is there and valid afterwards, if it can be."""
        was = self.is_registered.only["valid"]
        asked = await self.ask(self.client.webhooks.ensure(URL), repeatable=True)
        may_pass = self.is_served or was
        if asked.is_done:
            assert may_pass
            assert asked.value.valid
        elif asked.is_undisturbed:
            assert isinstance(asked.error, WebhookRejected)
            assert asked.error.reason == "CrcValidationFailed"
            assert not may_pass
        if may_pass:
            self.is_registered.change("yes" if asked.is_done else "unknown", lambda webhook: webhook.update(valid=True))

    @step()
    async def webhook_is_deleted(self) -> None:
        if self.is_registered.only["valid"] is None:
            return
        (webhook,) = await self.look(lambda: self.client.webhooks.list().collect())
        asked = await self.ask(self.client.webhooks.delete(webhook.id))
        assert asked.is_done or not asked.is_undisturbed
        self.is_registered.change(asked.executed, lambda webhook: webhook.update(valid=None))

    @step(trouble=None)
    async def service_challenges(self) -> None:
        """The service repeats its challenge. A webhook that does not answer is invalid until it is
        validated.
        """
        self.clock.advance(HOUR_SECONDS + 1)
        self.emulator.advance(0)
        await self.emulator.settle()
        if not self.is_served and self.is_registered.only["valid"]:
            self.is_registered.change("yes", lambda webhook: webhook.update(valid=False))

    # What holds always ------------------------------------------------------------------------------------------------

    @check
    async def the_webhook_is_what_it_should_be(self) -> None:
        found = await self.look(lambda: self.client.webhooks.list().collect())
        assert len(found) <= 1
        self.is_registered.see(lambda webhook: webhook["valid"], found[0].valid if found else None)

    @check
    def as_much_waits_as_was_accepted(self) -> None:
        for process in self.alive:
            self.hold_counters(process)
            self.worlds.see(lambda held: held.waiting_for(process.owns), process.receiver.waiting)  # noqa: B023  # at once

    def hold_counters(self, process: Process) -> None:
        """Every request is counted once, but for challenges."""
        counters = process.receiver.counters
        assert counted(process).total() + counters.refused_signature + counters.refused_body == process.posts
        assert counters.handed_out - counters.finished == len(process.events)
        assert counters.finished == process.finished


def counted(process: Process) -> Counter[str]:
    counters = process.receiver.counters
    return Counter(new=counters.accepted, duplicate=counters.duplicates, full=counters.refused_full)


def stored(path: Path) -> int:
    """How much is on the disk."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        count: int = connection.execute("SELECT count(*) FROM waiting").fetchone()[0]
        return count


def published(posted: Posted) -> dict[str, Any]:
    return {"event_type": "post.create", "event_id": str(posted[0]), "payload": {"body": posted[1]}}


def copy(folder: Path, to: Path) -> None:
    """Copies what is on the disk, without the locks, which end with their processes."""
    copy_files([file for file in folder.iterdir() if file.name.endswith((".sqlite", "-wal"))], to)


@pytest.fixture(autouse=True)
def leftovers_are_looked_for_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLAIM_SECONDS", 0.005)


@pytest.fixture(autouse=True)
def others_soon_follow_an_unfinished_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process had when it was killed is handed out alone, and not finished by every step."""
    monkeypatch.setattr(module, "ALONE_SECONDS", 0.005)


def test_what_an_inbox_acknowledged_comes_out_until_it_is_finished() -> None:
    counts = run_machine(InboxMachine)
    hold_floor(counts.steps["kill"], 3, "kills")  # the sequences change with the code of the machine
