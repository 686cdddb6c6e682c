"""Syncs of an audience: rows appear, change and vanish, answers get lost, and syncs are cancelled
and killed.

Whatever ended the syncs before, one that comes to its end makes the audience what is desired.
"""

import asyncio
import csv
import datetime
import functools
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from socialapi import Client
from socialapi.bulk.erasure import erase
from socialapi.bulk.sync import members as members_module
from socialapi.bulk.sync import snapshot as module
from socialapi.bulk.sync.scratch import scratch_folder
from socialapi.bulk.sync.snapshot import Snapshot
from socialapi.emulator.ledger import RequestRecord
from socialapi.errors import BulkError
from socialapi.reports import SyncReport, UploadReport
from tests.machines.faults import cancellations, trouble
from tests.machines.machine import Asked, Machine, copy_files, hold_floor, run_machine, step
from tests.support.digests import sha256 as digest

DAY: Final = 86_400
WEEK: Final = 7 * DAY
DEFAULT: Final = 390 * DAY
"""Less than 13 months, and more than an example lasts."""
USERS: Final = "/custom_audiences/{custom_audience_id}/users"
PHASES: Final = ("stage", "compare", "announce", "additions", "accept", "confirm_additions", "removals", "finish")
"""Where a sync is killed: methods of its snapshot."""

Identifier = tuple[str, str]
"""A kind and a digest."""
People = dict[int, int]
"""The version of each person: without an e-mail address, with one of two, or with one that others
have as well.
"""

people = st.dictionaries(st.integers(0, 11), st.integers(0, 3), min_size=1, max_size=8)
of_a_job = trouble(
    {"fault": "count_mismatch"},
    {"fault": "count_mismatch"},
    {"fault": "operation_error", "index": 0},
    {"fault": "operation_error", "index": 1},
) | cancellations(1_500)


def raw_of(person: int, version: int) -> dict[str, str]:
    """A row, as a table has it."""
    email = {
        0: "",
        1: f"person.{person}@example.com",
        2: f"second.{person}@example.org",
        3: f"shared.{person % 3}@example.net",
    }
    return {"handle": f"@Person_{person}", "email": email[version]}


def identifiers_of(person: int, version: int) -> set[Identifier]:
    row = raw_of(person, version)
    found = {("handle", digest(row["handle"].removeprefix("@").lower()))}
    return found | ({("email", digest(row["email"]))} if row["email"] else set())


@attrs.frozen(kw_only=True)
class Order:
    """What a sync is asked for."""

    people: People
    bad_rows: int
    share: float
    lasts: int | None
    """The seconds until what is added expires."""
    packing: Literal["single", "packed"]
    is_file: bool
    dry_run: bool = False

    @property
    def identifiers(self) -> set[Identifier]:
        return set().union(*(identifiers_of(*each) for each in self.people.items()))


orders = st.builds(
    Order,
    people=people,
    bad_rows=st.sampled_from([0, 0, 0, 1]),
    share=st.sampled_from([1.0, 1.0, 0.3, 0.0]),
    lasts=st.sampled_from([None, None, 2 * DAY, 30 * DAY]),
    packing=st.sampled_from(["single", "packed"]),
    is_file=st.booleans(),
    dry_run=st.sampled_from([False, False, False, True]),
)


@attrs.define
class Known:
    """What the snapshot has to say: when each identifier expires."""

    ends: dict[Identifier, float] = attrs.field(factory=dict)

    def plan(self, order: Order, now: float) -> "Plan":
        """Compares, as the page about syncs says."""
        held = {each: end for each, end in self.ends.items() if end > now}
        lasts_until = now + (order.lasts or DEFAULT)

        def is_due(identifier: Identifier) -> bool:
            end = held.get(identifier)
            return end is None or (end < now + WEEK and lasts_until > end)

        rows = [row for row in order.people.items() if any(map(is_due, identifiers_of(*row)))]
        removals = held.keys() - order.identifiers
        share = len(removals) / len(held) if held else 0.0
        doubtful = min(1.0, (len(removals) + order.bad_rows) / len(held)) if held else 0.0
        return Plan(
            known=len(held),
            rows=rows,
            removals=removals,
            is_refused=bool(removals) and share > order.share,
            is_held_back=bool(removals) and order.bad_rows > 0 and doubtful > order.share,
            until=lasts_until,
        )

    def carry_out(self, plan: "Plan", now: float) -> None:
        self.ends = {each: end for each, end in self.ends.items() if end > now}
        for row in plan.rows:
            self.ends |= dict.fromkeys(identifiers_of(*row), plan.until)
        if not plan.is_held_back:
            for each in plan.removals:
                del self.ends[each]


@attrs.frozen(kw_only=True)
class Plan:
    """What a sync has to do."""

    known: int
    rows: list[tuple[int, int]]
    removals: set[Identifier]
    is_refused: bool
    is_held_back: bool
    until: float


class Syncs(Machine):
    """One audience and its snapshot."""

    emulator_options: ClassVar[Mapping[str, Any]] = {}
    max_examples: ClassVar[int] = 30

    async def open(self) -> None:
        await super().open()
        self.account_id = self.emulator.seed["account_ids"][0]
        self.audience_id = self.emulator.seed["custom_audience_ids"][-1]
        self.folder = Path(tempfile.mkdtemp(prefix="sync-"))
        self.copies = 0
        self.path = self.folder / "0" / "snapshot"
        self.path.parent.mkdir()
        self.known: Known | None = Known()
        """None where it is not known what the snapshot says, after something went wrong."""
        self.strangers = set(self.truth())
        """Members that no snapshot knows."""
        self.uses_times = True
        self.is_dead = False
        self.harness.secrets |= {raw_of(person, version)["email"] for person in range(12) for version in (1, 2, 3)}

    @initialize(uses_times=st.booleans())
    def choose(self, uses_times: bool) -> None:
        self.uses_times = uses_times

    async def close(self) -> None:
        await super().close()
        shutil.rmtree(self.folder)

    def new_client(self) -> Client:
        """One whose requests take two operations, and that sends nothing any more once it is
        killed.
        """
        client = self.harness.client(settings={"max_operations": 2})
        transport: Any = client._session._transport
        send = transport.send

        async def send_unless_dead(*arguments: Any, **options: Any) -> Any:
            if self.is_dead:
                await asyncio.Event().wait()
            return await send(*arguments, **options)

        transport.send = send_unless_dead
        return client

    # The service ------------------------------------------------------------------------------------------------------

    def truth(self) -> dict[Identifier, float]:
        """When each member ceases to be one, as the emulator has it."""
        # The emulator rounds a time to microseconds, so that "now" may be one of them later.
        now = self.clock.time() + 0.000_001
        held = self.emulator.state.audiences[self.account_id, self.audience_id].members._by_kind
        ends = {(kind, value): times for kind, values in held.items() for value, times in values.items()}
        return {each: times[-1] for each, times in ends.items() if times[0] <= now < times[-1]}

    # Syncs ------------------------------------------------------------------------------------------------------------

    async def carry_out(self, order: Order) -> SyncReport:
        audience = self.client.ads.account(self.account_id).custom_audience(self.audience_id)
        until = (
            None
            if order.lasts is None
            else datetime.datetime.fromtimestamp(int(self.clock.time()) + order.lasts, datetime.UTC)
        )
        return await audience.sync(
            self.records(order),
            snapshot=self.path,
            max_removal_share=order.share,
            packing=order.packing,
            expires_at=until,
            dry_run=order.dry_run,
        )

    def records(self, order: Order) -> Any:
        rows = [raw_of(*each) for each in order.people.items()]
        rows += [{"handle": "", "email": f"no address {number}"} for number in range(order.bad_rows)]
        if not order.is_file:
            return rows
        file = self.folder / "desired.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, ["handle", "email"])
            writer.writeheader()
            writer.writerows(rows)
        return file

    def chosen(self, order: Order) -> Order:
        return order if self.uses_times else attrs.evolve(order, lasts=None)

    @step(trouble=of_a_job, order=orders)
    async def run_sync(self, order: Order) -> None:
        order = self.chosen(order)
        before, now = self.truth(), self.clock.time()
        plan = self.known.plan(order, int(now)) if self.known is not None else None
        asked = await self.ask(self.carry_out(order))
        report = self.report_of(asked)
        if report is not None:
            self.hold_report(report, order)
        if asked.is_undisturbed and plan is not None:
            self.judge(asked, order, plan, int(now))
        elif not order.dry_run:
            self.known = None
        self.hold_members(asked, order, before)

    def report_of(self, asked: Asked[SyncReport]) -> SyncReport | None:
        if asked.is_done:
            return asked.value
        if isinstance(asked.error, BulkError):
            assert isinstance(asked.error.report, SyncReport)
            return asked.error.report
        assert not asked.is_undisturbed
        return None

    def judge(self, asked: Asked[SyncReport], order: Order, plan: Plan, now: int) -> None:
        """A sync that nothing disturbs does what the plan says, and nothing else."""
        report = self.report_of(asked)
        assert report is not None
        assert report.identifiers_before == plan.known
        if plan.is_refused:
            assert isinstance(asked.error, BulkError)
            assert self.is_nothing_sent(asked)
            return
        assert asked.is_done
        removals = 0 if plan.is_held_back else len(plan.removals)
        assert report.unchanged == len(order.people) - len(plan.rows)
        assert report.held_back == (len(plan.removals) if plan.is_held_back else 0)
        if order.dry_run:
            assert self.is_nothing_sent(asked)
            assert (report.additions.pending, report.removals.pending) == (len(plan.rows), removals)
            return
        assert (report.additions.accepted, report.removals.accepted) == (len(plan.rows), removals)
        assert sum(record.users or 0 for record in asked.requests if is_upload(record)) == len(plan.rows) + removals
        assert self.known is not None
        self.known.carry_out(plan, now)
        assert report.identifiers_after == len(self.known.ends)

    def hold_report(self, report: SyncReport, order: Order) -> None:
        """Every row has one outcome, and the parts add up to the whole."""
        for part in (report, report.additions, report.removals):
            hold_sum(part)
        if order.bad_rows <= report.rejected and report.read:
            assert report.read == len(order.people) + order.bad_rows
            assert report.accepted == report.unchanged + report.additions.accepted
            assert report.rejected == order.bad_rows + report.additions.rejected

    def hold_members(self, asked: Asked[SyncReport], order: Order, before: Mapping[Identifier, float]) -> None:
        """Who is desired and was a member stays one; nobody comes who is not desired; after the end
        all are as desired.
        """
        members, now = self.truth(), self.clock.time()
        if order.dry_run:
            assert members.keys() == {each for each, end in before.items() if end > now}
            return
        stay = {each for each, end in before.items() if each in order.identifiers and end > now}
        assert stay <= members.keys()
        assert members.keys() <= before.keys() | order.identifiers
        if asked.is_done and self.is_complete(asked.value):
            self.strangers -= order.identifiers
            self.strangers &= members.keys()
            assert members.keys() == order.identifiers | self.strangers
            if not self.uses_times:
                self.known = Known(dict.fromkeys(order.identifiers, now + DEFAULT))
            self.hold_no_trace(order)

    def is_complete(self, report: SyncReport) -> bool:
        return not (report.held_back or report.removals.rejected or report.additions.rejected)

    def hold_no_trace(self, order: Order) -> None:
        """Who was left out of a sync is gone from the files when it ends, and there is one file."""
        assert {file.name for file in self.path.parent.iterdir()} == {"snapshot"}
        content = b"".join(file.read_bytes() for file in self.path.parent.rglob("*") if file.is_file())
        for person in range(12):
            for version in range(4):
                for kind, value in identifiers_of(person, version) - order.identifiers:
                    assert bytes.fromhex(value) not in content, (kind, person, version)

    @staticmethod
    def is_nothing_sent(asked: Asked[SyncReport]) -> bool:
        return not any(is_upload(record) for record in asked.requests)

    @step(
        trouble=of_a_job, order=orders, phase=st.sampled_from(PHASES), count=st.integers(0, 2), is_after=st.booleans()
    )
    async def run_sync_and_be_killed(self, order: Order, phase: str, count: int, is_after: bool) -> None:
        """The process ends at some point: what is then on the disk is all that is left."""
        order = self.chosen(order)
        before = self.truth()
        self.copies += 1
        path = self.folder / str(self.copies) / "snapshot"
        with killing(phase, count, is_after=is_after, kill=functools.partial(self.kill, path)):
            asked = await self.ask(self.carry_out(order))
        # Rows that were handed out may have been sent, and are in the snapshot before they are.
        is_handed_out = self.is_dead and phase == "additions" and (is_after or count > 0)
        if self.is_dead:
            self.path, self.is_dead = path, False
        if not order.dry_run and (is_handed_out or not self.is_nothing_sent(asked)):
            self.known = None
        self.hold_members(asked, order, before)

    def kill(self, path: Path, snapshot: Snapshot) -> None:
        """Copies what is on the disk while nothing is written. Nothing is sent from here on."""
        executor = snapshot._database._executor
        if executor is not None and not self.is_dead:
            self.is_dead = True
            executor.submit(copy, self.path.parent, path.parent).result()
            assert self.asking is not None
            self.asking.cancel()

    @step(trouble=None)
    def the_snapshot_is_forgotten(self) -> None:
        """Without the snapshot everybody is added again, and who has left stays."""
        if self.path.exists() or scratch_folder(self.path).exists():
            assert erase(self.path, "snapshot")
        assert not any(self.path.parent.iterdir())
        self.known = Known()
        self.strangers = set(self.truth())

    @step(trouble=None, days=st.sampled_from([1, 3, 25]))
    def time_passes(self, days: int) -> None:
        if self.uses_times:
            self.clock.advance(days * DAY)


def is_upload(record: RequestRecord) -> bool:
    return (record.route or "").endswith(USERS)


def hold_sum(report: UploadReport) -> None:
    assert report.read == report.accepted + report.rejected + report.duplicate + report.pending


def copy(folder: Path, to: Path) -> None:
    """Copies what is on the disk, without the locks, which end with their processes."""
    copy_files([file for file in folder.iterdir() if not file.name.endswith((".lock", "-shm"))], to)


class killing:  # noqa: N801  # it is used as a function
    """Kills a sync at a call of a method of its snapshot, while the block runs."""

    def __init__(self, phase: str, count: int, *, is_after: bool, kill: Callable[[Snapshot], None]) -> None:
        self._phase, self._left, self._is_after, self._kill = phase, count, is_after, kill
        self._method = getattr(Snapshot, phase)

    def __enter__(self) -> None:
        method = self._method

        @functools.wraps(method)
        async def watched(snapshot: Snapshot, *arguments: Any, **options: Any) -> Any:
            self._left -= 1
            is_now = self._left == -1
            result = await method(snapshot, *arguments, **options) if not is_now or self._is_after else None
            if is_now:
                self._kill(snapshot)
                await asyncio.Event().wait()
            return result

        setattr(Snapshot, self._phase, watched)

    def __exit__(self, *error: object) -> None:
        setattr(Snapshot, self._phase, self._method)


@pytest.fixture(autouse=True)
def parts_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few people fill several pages, transactions and buckets."""
    monkeypatch.setattr(module, "ROWS_PER_PAGE", 3)
    monkeypatch.setattr(module, "BYTES_PER_TRANSACTION", 64)
    monkeypatch.setattr(members_module, "DIGESTS_AT_ONCE", 4)


def test_a_sync_makes_the_audience_what_is_desired_whatever_came_before() -> None:
    counts = run_machine(Syncs)
    hold_floor(counts.steps["run_sync_and_be_killed"], 20, "syncs that are killed")
