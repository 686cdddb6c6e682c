"""Audiences and do-not-reach lists: requests, and uploads that are ended and resumed, beside who
has to be a member when.
"""

import asyncio
import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import attrs
from hypothesis import strategies as st

from socialapi import AudienceUser, Operation
from socialapi.errors import BulkError, InvalidInput, NotFound
from socialapi.internal.unset import UNSET
from socialapi.reports import UploadReport
from tests.machines.advertising import ANSWERED_WELL, End, JobMachine, Run, runs
from tests.machines.faults import trouble
from tests.machines.machine import Asked, check, run_machine, step
from tests.machines.worlds import Executed
from tests.support.digests import sha256 as digest

Identifier = tuple[str, str]
Type = Literal["Update", "Delete"]


# Who is a member (advertising sections 4.9 and 4.10) ------------------------------------------------------------------


@attrs.frozen
class Change:
    """From when on somebody is a member, or is none. A default time is known only to lie between
    two.
    """

    at: float
    at_latest: float
    is_member: bool


Schedule = tuple[Change, ...]


@attrs.frozen
class Action:
    """What an operation says, and between which times it was carried out. It decides from its start
    on.
    """

    type: Type
    effective_at: float | None
    expires_at: float | None

    def on(self, held: Schedule, asked: tuple[float, float]) -> Schedule:
        begins = asked if self.effective_at is None else (self.effective_at, self.effective_at)
        before = tuple(each for each in held if each.at < begins[0])
        if self.type == "Delete":
            return (*before, Change(*begins, is_member=False))
        default = (months_later(asked[0], 13), months_later(asked[1], 13))
        ends = default if self.expires_at is None else (self.expires_at, self.expires_at)
        return (*before, Change(*begins, is_member=True), Change(*ends, is_member=False))


def months_later(seconds: float, months: int) -> float:
    start = moment(seconds)
    years, month0 = divmod(start.month - 1 + months, 12)
    last = (
        datetime.date(start.year + years + (month0 + 1) // 12, (month0 + 1) % 12 + 1, 1) - datetime.timedelta(1)
    ).day
    return start.replace(year=start.year + years, month=month0 + 1, day=min(start.day, last)).timestamp()


def moment(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def is_member(held: Schedule, now: float) -> bool | None:
    """None if it cannot be known."""
    found: bool | None = False
    for change in held:
        if change.at <= now:
            # The service keeps times in microseconds, and may round them up.
            found = change.is_member if change.at_latest + 0.000_001 <= now else None
    return found


@attrs.define
class Members:
    """The schedules that each identifier may have: several after an unknown outcome, until one is
    seen to be wrong.
    """

    held: dict[Identifier, frozenset[Schedule]] = attrs.field(factory=dict)

    def of(self, identifier: Identifier) -> frozenset[Schedule]:
        return self.held.get(identifier, frozenset({()}))

    def act(
        self, identifiers: Iterable[Identifier], action: Action, asked: tuple[float, float], executed: Executed
    ) -> None:
        for each in identifiers if executed != "no" else ():
            before = self.of(each)
            after = frozenset(action.on(held, asked) for held in before)
            self.held[each] = after if executed == "yes" else before | after

    def see(self, members: set[Identifier], now: float) -> None:
        assert members <= self.held.keys(), "members whom nobody has added"
        for each, schedules in self.held.items():
            agreeing = frozenset(held for held in schedules if is_member(held, now) in (each in members, None))
            assert agreeing, (each, each in members, schedules, now)
            self.held[each] = agreeing


# What is asked for ----------------------------------------------------------------------------------------------------


@attrs.frozen
class Spelled:
    """A way to write an identifier, and how it has to arrive."""

    kind: str
    text: str
    value: str


SPELLED: Final = (
    Spelled("email", "ada@example.com", digest("ada@example.com")),
    Spelled("email", " Ada@Example.COM ", digest("ada@example.com")),
    Spelled("email", digest("ada@example.com").upper(), digest("ada@example.com")),
    Spelled("email", "grace@example.com", digest("grace@example.com")),
    Spelled("email", "linus@example.com", digest("linus@example.com")),
    Spelled("phone_number", "+14155552671", digest("+14155552671")),
    Spelled("phone_number", "+1 (415) 555-2671", digest("+14155552671")),
    Spelled("phone_number", "+447911123456", digest("+447911123456")),
    Spelled("handle", "@AdsAPI", digest("adsapi")),
    Spelled("device_id", " 9774D56D682E549C ", digest("9774d56d682e549c")),
    Spelled("service_id", "918273645546", digest("918273645546")),
    Spelled("partner_user_id", " crm-Seven ", "crm-Seven"),
)
LIST_KINDS: Final = ("email", "phone_number")
UNUSABLE: Final = "planted no address"
Fault = Literal["", "blank", "unusable", "type"]


@attrs.frozen
class Row:
    """A row of an upload, or an operation of a request. Times are seconds from when it was made."""

    user: Sequence[Spelled]
    type: Type | None
    effective_in: int | None
    expires_in: int | None
    fault: Fault

    def identifiers(self, target: "Target") -> list[Identifier]:
        return [(each.kind, each.value) for each in self.user if target.is_audience or each.kind in LIST_KINDS]

    def action(self, default: Type, base: float) -> Action:
        effective_at, expires_at = (
            None if seconds is None else base + seconds for seconds in (self.effective_in, self.expires_in)
        )
        return Action(self.type or default, effective_at, expires_at)

    def is_refused(self, target: "Target") -> bool:
        """Whether the SDK says that the row cannot be sent."""
        is_late = self.expires_in is not None and self.expires_in <= (self.effective_in or 0)
        is_timed = not target.is_audience and self.effective_in is not None
        return bool(self.fault) or is_late or is_timed or not self.identifiers(target)

    def fitting(self, target: "Target") -> "Row":
        """As the target takes it, as far as that does not leave it without users."""
        if target.is_audience:
            return self
        user = [each for each in self.user if each.kind in LIST_KINDS]
        return attrs.evolve(self, user=user or [SPELLED[0]], effective_in=None)

    def to_mapping(self, base: float) -> Mapping[str, str | None]:
        if self.fault == "blank":
            return {"email": " ", "handle": None}
        names = {"email": UNUSABLE} if self.fault == "unusable" else {each.kind: each.text for each in self.user}
        type_ = "Upsert" if self.fault == "type" else self.type
        times = {"effective_at": self.effective_in, "expires_at": self.expires_in}
        cells = {name: None if cell is None else moment(base + cell).isoformat() for name, cell in times.items()}
        return {**names, "operation_type": type_, **cells}

    def to_operation(self, base: float) -> Operation:
        users = [AudienceUser() if self.fault == "blank" else self._user()]
        given = (
            UNSET if seconds is None else moment(base + seconds) for seconds in (self.effective_in, self.expires_in)
        )
        effective_at, expires_at = given
        make = Operation.delete if self.type == "Delete" else Operation.update
        return make(users, effective_at=effective_at, expires_at=expires_at)

    def _user(self) -> AudienceUser:
        names: dict[str, Any] = {each.kind: each.text for each in self.user}
        return AudienceUser(**names | ({"email": UNUSABLE} if self.fault else {}))


def rows_of(*faults: Fault) -> st.SearchStrategy[Row]:
    return st.builds(
        Row,
        st.lists(st.sampled_from(SPELLED), min_size=1, max_size=3, unique_by=lambda each: each.kind),
        st.sampled_from([None, None, "Update", "Delete"]),
        st.sampled_from([None, None, None, 2_000]),
        st.sampled_from([*[None] * 8, *[5_000, 3_000_000] * 3, -5_000]),
        st.sampled_from(faults),
    )


ROW: Final = rows_of("", "", "", "", "", "", "blank", "unusable", "type")
OPERATION: Final = rows_of(*("",) * 20, "blank", "unusable")


def apart(rows: Iterable[Row], target: "Target") -> list[Row]:
    """The rows without those that repeat an identifier: what that does within a request is not
    specified.
    """
    seen: set[Identifier] = set()
    found = []
    for row in rows:
        identifiers = row.identifiers(target)
        if seen.isdisjoint(identifiers):
            found.append(row)
        seen.update(identifiers)
    return found


@attrs.define
class Target:
    """An audience or a list, and who is on it."""

    account_id: str
    id: str
    is_audience: bool
    members: Members = attrs.field(factory=Members)
    may_be_there: bool = True
    may_be_gone: bool = False


@attrs.define
class Job:
    """An upload, which may be run several times with its journal."""

    target: Target
    rows: Sequence[Row]
    options: Mapping[str, Any]
    base: float
    began: float
    before: Members
    """Who was on it before the first run."""
    is_alone: bool = True
    """Whether nobody else has changed the members since."""
    was_cancelled: bool = False
    refusals: int = 0
    """How many operations the service was told to refuse."""
    users_taken: int = 0
    """How many users were in requests that were answered well."""
    report: UploadReport | None = None

    @property
    def operation(self) -> Type:
        type_: Type = self.options["operation"]
        return type_

    def expired(self, now: float) -> set[int]:
        """Rows whose time is over, so that they are refused now. Of lists the default is that of
        the first run.
        """
        default = None if self.target.is_audience else months_later(self.began, 13)
        ends = {
            number: default if row.expires_in is None else self.base + row.expires_in
            for number, row in enumerate(self.rows, 1)
        }
        return {number for number, end in ends.items() if end is not None and end <= now}

    def outcomes(self) -> tuple[set[int], int]:
        """Which rows the SDK has to reject by itself, and how many of the others are duplicates."""
        last: dict[Identifier, Action] = {}
        rejected, duplicates = set(), 0
        for number, row in enumerate(self.rows, 1):
            if row.is_refused(self.target):
                rejected.add(number)
                continue
            action, identifiers = row.action(self.operation, self.base), row.identifiers(self.target)
            duplicates += all(last.get(each) == action for each in identifiers)
            last |= dict.fromkeys(identifiers, action)
        return rejected, duplicates


@attrs.frozen
class Drawn:
    """An upload that is to be done."""

    number: int
    rows: Sequence[Row]
    options: Mapping[str, Any]
    has_journal: bool


UPLOADS: Final = st.builds(
    Drawn,
    st.integers(0, 2),
    st.lists(ROW, min_size=6, max_size=20),
    st.fixed_dictionaries(
        {
            "operation": st.sampled_from(["Update", "Update", "Delete"]),
            "packing": st.sampled_from(["single", "packed"]),
            "concurrency": st.integers(1, 3),
        }
    ),
    st.sampled_from([True, True, True, False]),
)


UPLOAD_TROUBLE: Final = trouble(
    {"fault": "count_mismatch"},
    *({"fault": "operation_error", "index": index} for index in range(3)),
    *({"fault": "status", "status": status} for status in (403, 403, 401)),
)
RUNS: Final = runs(UPLOAD_TROUBLE)

COUNTS: Final = ("read", "accepted", "rejected", "duplicate", "pending", "warnings")
MAX_OPERATIONS: Final = 3


class Audiences(JobMachine):
    max_examples = 30
    max_steps = 40
    settings: ClassVar[Mapping[str, Any]] = {"max_operations": MAX_OPERATIONS}

    async def open(self) -> None:
        seed = self.emulator.seed
        account_id = seed["account_ids"][0]
        self.targets = [
            Target(account_id, seed["custom_audience_ids"][0], is_audience=True),
            *(Target(account_id, each, is_audience=False) for each in seed["do_not_reach_list_ids"]),
        ]
        self.harness.secrets |= {each.text.strip() for each in SPELLED} | {UNUSABLE}
        self.jobs: list[Job] = []
        self.finished: list[Job] = []
        await super().open()

    def resource(self, target: Target) -> Any:
        account = self.client.ads.account(target.account_id)
        return account.custom_audience(target.id) if target.is_audience else account.do_not_reach_list(target.id)

    @property
    def base(self) -> float:
        """The present, in whole seconds as times are written."""
        return float(int(self.clock.time()))

    # Single requests --------------------------------------------------------------------------------------------------

    @step(
        trouble=UPLOAD_TROUBLE,
        number=st.integers(0, 2),
        rows=st.lists(OPERATION, min_size=1, max_size=MAX_OPERATIONS + 1),
        is_fit=st.sampled_from([True, True, True, False]),
    )
    async def send(self, number: int, rows: list[Row], *, is_fit: bool) -> None:
        target, base, began = self.targets[number], self.base, self.clock.time()
        if is_fit:
            rows = [row.fitting(target) for row in rows]
        rows = apart(rows, target)
        operations = [row.to_operation(base) for row in rows]
        asked = await self.ask(self.resource(target).send(operations), repeatable=True)
        if not 1 <= len(rows) <= MAX_OPERATIONS or any(self._cannot_be_sent(row, target) for row in rows):
            assert isinstance(asked.error, InvalidInput | asyncio.CancelledError)
            assert not asked.requests
            return
        assert not isinstance(asked.error, InvalidInput)
        self._note_absence(target, asked)
        if asked.is_done:
            users = len(rows)
            assert (asked.value.success_count, asked.value.total_count) == (users, users)
        before = self._members(target)
        self._disturb(target)
        for row in rows:
            action = row.action("Update", base)
            target.members.act(row.identifiers(target), action, (began, self.clock.time()), asked.executed)
        assert before == self._members(target)

    send_twice_as_often = send

    def _cannot_be_sent(self, row: Row, target: Target) -> bool:
        of_other_kind = not target.is_audience and any(each.kind not in LIST_KINDS for each in row.user)
        return row.is_refused(target) or of_other_kind

    @step(trouble=UPLOAD_TROUBLE)
    async def delete_list(self) -> None:
        target = self.targets[-1]
        if len(self.finished) < 2:
            return
        asked = await self.ask(self.resource(target).delete())
        if asked.is_done:
            assert (asked.value.id, asked.value.deleted, asked.value.targetable) == (target.id, True, False)
            assert target.may_be_there
        if isinstance(asked.error, NotFound):
            self._note_absence(target, asked)
        elif asked.executed != "no":
            target.may_be_gone, target.may_be_there = True, asked.executed == "unknown"

    def _note_absence(self, target: Target, asked: Asked[Any]) -> None:
        """What an answer says of whether the list is there."""
        error = asked.error.__cause__ if isinstance(asked.error, BulkError) else asked.error
        if isinstance(error, NotFound):
            assert target.may_be_gone
            target.may_be_there = False
        elif any(each.status == 200 and each.fault in ANSWERED_WELL for each in asked.requests):
            assert target.may_be_there
            target.may_be_gone = False

    # Uploads ----------------------------------------------------------------------------------------------------------

    @step(trouble=UPLOAD_TROUBLE, drawn=UPLOADS, runs=RUNS)
    async def upload(self, drawn: Drawn, runs: list[Run]) -> None:
        target = self.targets[drawn.number]
        journal = self.new_file("journal") if drawn.has_journal else None
        options = {**drawn.options, "journal": journal}
        job = Job(target, drawn.rows, options, self.base, self.clock.time(), Members(dict(target.members.held)))
        await self._run_often(job, runs)

    @step(trouble=UPLOAD_TROUBLE, index=st.integers(0, 2), runs=RUNS)
    async def resume(self, index: int, runs: list[Run]) -> None:
        if self.jobs:
            await self._run_often(self.jobs.pop(index % len(self.jobs)), runs)

    # Hypothesis chooses each name as often as any other.
    upload_twice_as_often = upload

    async def _run_often(self, job: Job, runs: list[Run]) -> None:
        """Runs the job until it is done, but not more often than that."""
        for run in self.runs_of(runs):
            if job in self.jobs:
                self.jobs.remove(job)
                if run.has_new_client:
                    await self.restart()
            await self._run(job, run.end)
            if job not in self.jobs:
                return

    @step(index=st.integers(0, 2), number=st.integers(0, 2))
    async def use_a_journal_again(self, index: int, number: int) -> None:
        """A finished job sends nothing, and no journal is one of another target."""
        begun = [job for job in (*self.finished, *self.jobs) if job.users_taken and job.options["journal"]]
        if not begun:
            return
        job, target = begun[index % len(begun)], self.targets[number]
        if job.target is target and job.report is None:
            return
        asked = await self.ask(self._upload(attrs.evolve(job, target=target), **job.options))
        assert not asked.requests
        if job.target is not target:
            assert isinstance(asked.error, InvalidInput | asyncio.CancelledError)
        elif asked.is_done:
            assert [getattr(asked.value, name) for name in COUNTS] == [getattr(job.report, name) for name in COUNTS]

    @step(number=st.integers(0, 2), rows=st.lists(ROW, min_size=1, max_size=16))
    async def forecast(self, number: int, rows: list[Row]) -> None:
        target = self.targets[number]
        job = Job(target, rows, {"operation": "Update"}, self.base, self.clock.time(), Members())
        asked = await self.ask(self._upload(job, dry_run=True))
        assert not asked.requests
        if asked.is_done:
            rejected, duplicates = job.outcomes()
            report = asked.value
            assert (report.read, report.rejected, report.duplicate) == (len(rows), len(rejected), duplicates)
            assert (report.accepted, report.pending) == (0, len(rows) - len(rejected) - duplicates)

    async def _upload(self, job: Job, **options: Any) -> UploadReport:
        rows = [row.to_mapping(job.base) for row in job.rows]
        report: UploadReport = await self.resource(job.target).upload(rows, **options)
        return report

    async def _run(self, job: Job, end: End | None) -> None:
        asked = await self.ask_until(end, lambda: self._upload(job, **job.options))
        job.was_cancelled |= isinstance(asked.error, asyncio.CancelledError)
        job.refusals += sum(each.fault == "operation_error" for each in asked.requests)
        job.users_taken += sum(
            each.users or 0 for each in asked.requests if each.status == 200 and each.fault in ANSWERED_WELL
        )
        self._note_absence(job.target, asked)
        if asked.error is None:
            self._finish(job, asked.value)
        else:
            assert isinstance(asked.error, BulkError | asyncio.CancelledError), repr(asked.error)
            self._stop(job, asked.error)
        if job.options["journal"] is not None:
            self._journal_tells_nothing(job)

    def _stop(self, job: Job, error: BaseException) -> None:
        """Any of the rows that are sent may have been taken."""
        if isinstance(error, BulkError):
            assert error.report.adds_up
            assert not isinstance(error.__cause__, InvalidInput)
        self._disturb(job.target, but=job)
        self._act(job, "unknown")
        if job.options["journal"] is not None:
            self.jobs.append(job)

    def _finish(self, job: Job, report: UploadReport) -> None:
        rejected, duplicates = job.outcomes()
        named = {issue.row for issue in report.rejects}
        expired = job.expired(self.clock.time())
        assert report.adds_up
        assert (report.read, report.rejected, report.pending) == (len(job.rows), len(named), 0)
        assert rejected <= named
        repeats = {issue.row for issue in report.rejects if issue.reason.startswith("repeats row ")}
        assert len(named - rejected - expired - repeats) <= job.refusals
        if named == rejected:
            assert report.duplicate == duplicates
        if job.was_cancelled:
            assert job.users_taken >= report.accepted
        else:
            assert job.users_taken == report.accepted, "users that were taken once and counted"
        self._disturb(job.target, but=job)
        if job.is_alone:
            job.target.members = Members(dict(job.before.held))
        self._act(job, "yes" if job.is_alone else "unknown", but=named)
        self._act(job, "unknown", only=named - rejected - repeats)
        job.report = report
        self.harness.counts.outcomes[f"finished {'alone' if job.is_alone else 'disturbed'} job"] += 1
        if job.options["journal"] is not None:
            self.finished.append(job)

    def _act(self, job: Job, executed: Executed, *, but: set[int] | None = None, only: set[int] | None = None) -> None:
        for number, row in enumerate(job.rows, 1):
            if row.is_refused(job.target) or number in (but or ()) or (only is not None and number not in only):
                continue
            action = row.action(job.operation, job.base)
            job.target.members.act(row.identifiers(job.target), action, (job.began, self.clock.time()), executed)

    def _disturb(self, target: Target, *, but: Job | None = None) -> None:
        for job in self.jobs:
            if job.target is target and job is not but:
                job.is_alone = False

    def _journal_tells_nothing(self, job: Job) -> None:
        path: Path = job.options["journal"]
        content = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
        for each in SPELLED:
            assert each.text.strip().encode() not in content
            assert each.value.encode() not in content

    # What must hold ---------------------------------------------------------------------------------------------------

    def _members(self, target: Target) -> set[Identifier]:
        find = self.emulator.members if target.is_audience else self.emulator.do_not_reach_members
        return find(target.account_id, target.id)

    @step(trouble=None, days=st.sampled_from([1, 40, 390, 400]))
    def let_days_pass(self, days: int) -> None:
        self.clock.advance(86_400.0 * days)

    @check
    def the_members_are_those_of_the_model(self) -> None:
        for target in self.targets:
            target.members.see(self._members(target), self.clock.time())


def test_audiences_and_lists_have_the_members_of_the_model() -> None:
    run_machine(Audiences)
