"""`socialapi jobs`: the jobs that were started with a journal, and how to resume them."""

import contextlib
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import App, Parameter

from socialapi.bulk.inputs.addresses import is_address, name_of_address
from socialapi.bulk.journals.journal import JobIdentity, Opened
from socialapi.bulk.journals.journal_view import JournalView, is_journal, look
from socialapi.bulk.journals.sqlite_journal import SqliteJournal
from socialapi.cli import output
from socialapi.cli.app import call
from socialapi.cli.formats import Column, ListKind, json_line, shown_json
from socialapi.cli.listing import ALL, AsJson, ListFlags, print_items
from socialapi.cli.options import DATE_CODES, NOT_READ_AGAIN, STANDARD_INPUT, undated
from socialapi.cli.output import moment, printable
from socialapi.config import user_folder
from socialapi.errors import ConfigurationError, InvalidInput

FORGET_HELP: Final = """Delete what a job has left: its journal and its rejects file, with everything
beside them, and its line in the list.

What the job has done stays done. One that is not finished is deleted with --yes, or after a
question at a terminal; one that is running is not. A digest file stays, as later loads need it:
name its path to delete it, as with a snapshot, whose folder of scratch files goes as well.

Exit status: 0 deleted, 1 deleted, but for a rejects file that another job uses, that was changed
after the job, or that holds something else by now, 2 there is no such job, it is running, or it is not finished.
"""

app: Final = App(name="jobs")

DATED: Final = frozenset({"journal", "rejects", "outcomes"})
"""Options whose files may have the date of the run in their names."""


@attrs.frozen(kw_only=True)
class Registration:
    """A registered job. `arguments` are those of `socialapi`, with absolute paths.

    Hosts and credentials are not stored. `rejects_stamp` tells the rejects file as the last run left
    it; it is empty before a run has ended.
    """

    id: str
    journal: str
    arguments: tuple[str, ...]
    kind: str
    target: str
    started_at: str
    rejects_stamp: str = ""

    def file_of(self, option: str) -> Path | None:
        """Returns the path that an option of the command gives, such as `rejects`; None without
        it.
        """
        start = f"--{option}="
        named = [each.removeprefix(start) for each in self.arguments if each.startswith(start)]
        return Path(named[-1].replace("%%", "%") if option in DATED else named[-1]) if named else None

    def has_left(self, rejects: Path) -> bool:
        """Returns whether a rejects file is as the last run left it, as far as is known.

        Of a run that was killed there is no stamp. It wrote nothing after its journal.
        """
        if self.rejects_stamp:
            return stamp_of(rejects) == self.rejects_stamp
        written_at = (
            each.stat().st_mtime for each in map(Path, (self.journal, f"{self.journal}-wal")) if each.is_file()
        )
        return rejects.stat().st_mtime <= max(written_at, default=0.0) + KILLED_WITHIN_SECONDS


KILLED_WITHIN_SECONDS: Final = 60.0
"""How long after the last entry of its journal a run may have rejected rows before it was killed."""


def stamp_of(path: Path) -> str:
    """Returns the size of a file and when it was last changed, as a text; empty if there is none."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


class Registry:
    """A folder with one JSON file per job, readable only by its owner."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder: Path = Path(folder)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Registry":
        """Returns the registry in the folder that `SOCIALAPI_STATE_DIR` names.

        By default it is in the user's state folder. Raises ConfigurationError if neither is there.
        """
        return cls(state_folder(environ) / "jobs")

    def all(self) -> list[Registration]:
        """Returns all jobs, the latest first. Files that cannot be read are skipped."""
        found = [self._read(path) for path in self.folder.glob("*.json")] if self.folder.is_dir() else []
        return sorted((each for each in found if each is not None), key=lambda job: job.started_at, reverse=True)

    def find(self, job: str) -> Registration | None:
        """Returns the job with this id, or else the one whose journal is at this path, or else the
        only one whose journal has this name.
        """
        jobs, path = self.all(), str(Path(job).absolute())
        named = [each for each in jobs if each.id == job] or [each for each in jobs if each.journal == path]
        if not named and Path(job).name == job and not Path(job).exists():  # the name of one in another folder
            alike = [each for each in jobs if Path(each.journal).name == job]
            named = alike if len(alike) == 1 else []
        return named[0] if named else None

    def save(self, job: Registration) -> None:
        """Stores a job and replaces another one with the same journal. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with output.replacing(self.folder / f"{job.id}.json") as file:
            file.write(json.dumps(attrs.asdict(job), indent=1).encode())
        for other in self.all():
            if other.journal == job.journal and other.id != job.id:
                self.forget(other)

    def forget(self, job: Registration) -> None:
        """Deletes the file of a job. Raises OSError."""
        (self.folder / f"{job.id}.json").unlink(missing_ok=True)

    def _read(self, path: Path) -> Registration | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            content = json.loads(path.read_text(encoding="utf-8"))
            job = Registration(**{**content, "arguments": tuple(content["arguments"])})
            texts = (job.id, job.journal, *job.arguments, job.kind, job.target, job.started_at, job.rejects_stamp)
            return job if all(isinstance(each, str) for each in texts) and job.id == path.stem else None
        return None


def state_folder(environ: Mapping[str, str]) -> Path:
    """Returns the folder of what commands keep for later ones.

    Raises ConfigurationError if `SOCIALAPI_STATE_DIR` is not set and the user has no home folder.
    """
    named = environ.get("SOCIALAPI_STATE_DIR")
    return Path(named) if named else user_folder("state", "SOCIALAPI_STATE_DIR")


class RegisteredJournal(SqliteJournal):
    """A journal that is entered in the registry when it is opened."""

    def __init__(self, path: Path, arguments: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
        super().__init__(path)
        self._arguments = tuple(arguments)
        self._registry = Registry.of(os.environ if environ is None else environ)
        self._job: Registration | None = None
        self.how_to_go_on: str | None = None
        """The command to run after a stop; set once the journal is open."""

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        """Opens or creates the journal and registers the job, which runs even if that fails."""
        opened = await super().open(identity, now)
        job = Registration(
            id=opened.job_id,
            journal=str(self.path.absolute()),
            arguments=self._arguments,
            kind=identity.kind,
            target=target_of(identity),
            started_at=opened.started_at.isoformat(),
        )
        self.how_to_go_on = f"`socialapi jobs resume {job.id}`"
        try:
            self._registry.save(job)
            self._job = job
        except OSError as problem:
            output.say(f"the job could not be added to the list of jobs: {output.sentence(problem)}")
            self.how_to_go_on = "the same command again"
        return opened

    async def aclose(self) -> None:
        """Closes the journal, and registers how the run leaves its rejects file, which is closed
        before.
        """
        await super().aclose()
        rejects = None if self._job is None else self._job.file_of("rejects")
        if self._job is None or rejects is None:
            return
        with contextlib.suppress(OSError):  # then it is told from later files by its time
            self._registry.save(attrs.evolve(self._job, rejects_stamp=stamp_of(rejects)))


def target_of(identity: JobIdentity) -> str:
    """Returns the ids of the job's target, without the host."""
    return "/".join(value for name, value in identity.target.items() if name not in ("host", "path"))


def command_line(command: Sequence[str], files: Sequence[str], options: Mapping[str, object]) -> list[str]:
    """Returns the arguments that run a command again, from any folder. Files may be patterns, and addresses,
    which are kept without a query.

    Raises InvalidInput for standard input, which cannot be read again.
    """
    if STANDARD_INPUT in files:
        raise InvalidInput(NOT_READ_AGAIN)
    paths = (name_of_address(each) if is_address(each) else os.path.abspath(each) for each in files)  # noqa: PTH100 - which keeps links
    words = [*command, *paths]
    for name, value in options.items():
        flag = f"--{name.strip('_').replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag] * value
        elif value is not None:
            values = value if isinstance(value, list) else [value]
            absolute = [each.absolute() if isinstance(each, Path) else each for each in values]
            words += [
                f"{flag}={undated(each) if isinstance(each, Path) and name in DATED else each}" for each in absolute
            ]
    return words


GONE: Final = "gone"
RUNNING: Final = "running"
UNREADABLE: Final = "unreadable"

JobArgument = Annotated[
    str, Parameter(help="Id of a job, as `socialapi jobs list` shows it, or the path or name of its journal.")
]


@attrs.frozen(kw_only=True)
class JobStatus:
    """What is known of a job: its journal, and its registration if there is one."""

    path: Path
    state: str
    view: JournalView | None = None
    registration: Registration | None = None
    problem: str = ""

    @property
    def id(self) -> str:
        """The id of the job; a dash if unknown."""
        if self.view is not None and self.view.job_id:
            return self.view.job_id
        return self.registration.id if self.registration is not None else "-"

    @property
    def kind(self) -> str:
        """The kind of the job."""
        if self.view is not None and self.view.identity is not None:
            return self.view.identity.kind
        return self.registration.kind if self.registration is not None else "-"

    @property
    def target(self) -> str:
        """The ids of what the job uploads to or loads."""
        if self.view is not None and self.view.identity is not None:
            return target_of(self.view.identity)
        return self.registration.target if self.registration is not None else "-"

    @property
    def last_run_at(self) -> str:
        """When the job last ran, in ISO 8601, as far as is known; empty if nothing is."""
        if self.view is not None and self.view.last_run_at:
            return self.view.last_run_at
        return self.registration.started_at if self.registration is not None else ""

    @property
    def command(self) -> str | None:
        """The command that started the job; None if unknown."""
        return None if self.registration is None else shlex.join(["socialapi", *self.registration.arguments])

    def to_dict(self) -> dict[str, Any]:
        """Returns the job as JSON-ready values."""
        seen = {} if self.view is None else self.view.to_dict()
        head = {"id": self.id, "kind": self.kind, "target": self.target, "state": self.state, "path": str(self.path)}
        rest = {name: value for name, value in seen.items() if name not in (*head, "job_id")}
        return head | rest | {"command": self.command} | ({"problem": self.problem} if self.problem else {})


@app.command(name="list")
def list_(
    *journals: Annotated[
        Path, Parameter(help="Journals to list; by default those of all jobs that this user started.")
    ],
    flags: ListFlags = ALL,
) -> int:
    """Print jobs that were started with --journal: id, kind, target, state, what is confirmed, last
    run, journal.

    For example `socialapi jobs list --output json`, or `socialapi jobs list nightly.journal` for
    one journal. A job is running, finished (everything has its outcome), stopped (the service or the input ended
    it) or interrupted (also by a kill); `socialapi jobs resume` goes on with it. A running job
    shows only its state.

    Exit status: 0 done, 2 not a journal.
    """
    registry = Registry.of(os.environ)
    if journals:
        found = [job_at(path, registry.find(str(path.absolute()))) for path in journals]
        for job in found:
            if job.state in (GONE, UNREADABLE):
                raise ConfigurationError(job.problem)
    else:
        found = [job_at(Path(each.journal), each) for each in registry.all()]
    print_items(found, _JOBS, flags, if_none="there are no jobs; those that are started with --journal are listed")
    return output.DONE


@attrs.frozen(kw_only=True)
class JobRecord:
    """A job as a row of CSV or Parquet; what is not known of it is None."""

    id: str
    kind: str
    target: str
    state: str
    path: str
    started_at: datetime | None
    last_run_at: datetime | None
    runs: int | None
    rows: int | None
    batches: int | None
    unconfirmed: int | None
    command: str | None
    problem: str | None


def _record_of(job: JobStatus) -> JobRecord:
    view, registration = job.view, job.registration
    started = view.started_at if view is not None else registration.started_at if registration is not None else ""
    return JobRecord(
        id=job.id,
        kind=job.kind,
        target=job.target,
        state=job.state,
        path=str(job.path),
        started_at=_time(started),
        last_run_at=_time(job.last_run_at),
        runs=None if view is None else view.runs,
        rows=None if view is None else view.rows,
        batches=None if view is None else view.batches,
        unconfirmed=None if view is None else view.unconfirmed,
        command=job.command,
        problem=job.problem or None,
    )


def _time(text: str) -> datetime | None:
    """Returns the time of a text that may be anything, if a file was changed; None for no time."""
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text)
    return None


def _confirmed(job: JobStatus) -> str | None:
    return None if job.view is None else f"{job.view.rows:,} rows in {job.view.batches:,} batches"


_JOBS: Final = ListKind[JobStatus](
    name="job",
    record=JobRecord,
    columns=(
        Column("id", lambda job: job.id, is_whole=True),
        Column("kind", lambda job: job.kind),
        Column("target", lambda job: job.target, is_whole=True),
        Column("state", lambda job: job.state, is_whole=True),
        Column("confirmed", _confirmed),
        Column("last run", lambda job: None if job.view is None else _time(job.view.last_run_at), is_whole=True),
        Column("journal", lambda job: job.path.name),
    ),
    to_json=JobStatus.to_dict,
    to_record=_record_of,
)


@app.command
def show(job: JobArgument, /, *, json: AsJson = False) -> int:
    """Print everything that a journal says about its job: what it is, how far it is, how it was
    started.

    Exit status: 0 done, 2 there is no such job.
    """
    found = found_job(job)
    if json:
        output.print_line(shown_json(json_line(found.to_dict())))
        return output.DONE
    lines = list(_lines(found))
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        output.print_line(printable(f"{name:<{width}}  {value}"))
    return output.DONE


def arguments_to_resume(job: str) -> list[str]:
    """Returns the command line that a job was started with. Raises InvalidInput if it cannot go on."""
    found = found_job(job)
    if found.registration is None:
        raise InvalidInput(
            f"how the job of the journal {found.path} was started is not known here: run its command, or its program, again "
            "with the same journal"
        )
    if found.state == RUNNING:
        raise InvalidInput(f"the job {found.id} is running")
    if found.state == GONE:
        raise InvalidInput(
            f"{found.problem} any more, so the job {found.id} cannot go on; to begin anew, run its command itself: "
            f"{found.command}"
        )
    return list(found.registration.arguments)


# In a module of its own, which imports what every kind of file that jobs leave is made of.
app.command("socialapi.cli.forget:forget", help=FORGET_HELP)


def found_job(job: str, *, may_be_unreadable: bool = False) -> JobStatus:
    """Returns the job with this id or journal.

    Raises InvalidInput if there is none, and ConfigurationError for a file that is no journal. A
    journal that cannot be read is refused too, unless `may_be_unreadable` is true.
    """
    registration = Registry.of(os.environ).find(job)
    if registration is not None:
        return job_at(Path(registration.journal), registration)
    if not Path(job).is_file():
        dated = ": its name has the date of a run in place of the % codes" if re.search(f"%[{DATE_CODES}]", job) else ""
        raise InvalidInput(f"there is neither a job {job} (see `socialapi jobs list`) nor a file of that name{dated}")
    found = job_at(Path(job), None)
    if found.state == UNREADABLE and not (may_be_unreadable and is_journal(found.path)):
        raise ConfigurationError(found.problem)
    return found


def job_at(path: Path, registration: Registration | None) -> JobStatus:
    """Returns what the journal at the path says of its job. Raises nothing: `problem` says it."""
    if not path.exists():
        return JobStatus(path=path, state=GONE, registration=registration, problem=f"there is no journal {path}")
    try:
        view = look(path)
    except ConfigurationError as problem:
        return JobStatus(path=path, state=UNREADABLE, registration=registration, problem=str(problem))
    state = RUNNING if view is None else view.state
    return JobStatus(path=path, state=state, view=view, registration=registration)


def _lines(job: JobStatus) -> list[tuple[str, str]]:
    lines = [
        ("id", job.id),
        ("kind", job.kind),
        ("target", job.target),
        ("state", job.state),
        ("journal", str(job.path)),
    ]
    if job.problem:
        lines.append(("problem", job.problem))
    if job.view is not None:
        lines += _of_view(job.view)
    if job.command is not None:
        lines.append(("command", job.command))
    return lines


def _of_view(view: JournalView) -> list[tuple[str, str]]:
    lines = [
        ("started", _moment(view.started_at)),
        ("latest run", f"{_moment(view.last_run_at)}, of {view.runs:,}"),
        ("confirmed", f"{view.rows:,} rows in {view.batches:,} batches; {view.unconfirmed:,} batches are not"),
    ]
    if view.outcomes:
        lines.append(("rows noted", _counts(view.outcomes)))
    if view.counts:
        lines.append(("its report", _counts({name: count for name, count in view.counts.items() if count})))
    if view.identity is not None:
        for label, part in (("", view.identity.target), ("input ", view.identity.source), ("", view.identity.settings)):
            lines += [(f"{label}{name}", str(value)) for name, value in part.items() if value is not None]
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _moment(text: str) -> str:
    return moment(datetime.fromisoformat(text), seconds=False) if text else "-"


@app.command
def resume(job: JobArgument, /) -> int:
    """Go on with a job: run its command again, with the same journal. What is confirmed there is
    not sent again.

    Hosts and credentials are not kept with a job: they come from the environment, or from
    `socialapi auth login`, as they did the first time. A job that is finished sends nothing, and
    reports once more what it did.

    Exit status: that of the command, or 2 when there is no such job or it is running.
    """
    result = call(arguments_to_resume(job))
    return result if isinstance(result, int) else output.DONE
