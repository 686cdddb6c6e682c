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
from socialapi.bulk.inputs.columns import looks_personal
from socialapi.bulk.journals.journal import JobIdentity, Opened
from socialapi.bulk.journals.journal_view import JournalView, is_journal, look
from socialapi.bulk.journals.sqlite_journal import SqliteJournal
from socialapi.cli import output
from socialapi.cli.app import call
from socialapi.cli.formats import Column, ListKind, print_json
from socialapi.cli.listing import ALL, AsJson, ListFlags, print_items
from socialapi.cli.options import DATE_CODES, STANDARD_INPUT, undated
from socialapi.cli.output import moment
from socialapi.config import user_folder
from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.internal.private_files import make_private_folder

FORGET_HELP: Final = """Delete the files of a job: its journal and its rejects file, with the helper files
next to them, and its line in the list.

For example: `socialapi jobs forget nightly.journal`, or `socialapi jobs forget --gone`. The effects of the job remain. An unfinished job is deleted only with --yes, or after you confirm at
a terminal; a running job is not deleted. A digest file is kept, because later loads need it: give its
path to delete it. Give the path of a snapshot to delete it with its folder of scratch files.

Exit status: 0 deleted, 1 deleted except for a rejects file that another job uses, that was changed
after the job, or that is no longer a rejects file, 2 there is no such job, it is running, or it is not finished.
"""

app: Final = App(name="jobs")

DATED: Final = frozenset({"journal", "rejects", "outcomes"})
"""Options whose files may have the date of the run in their names."""


KILLED_WITHIN_SECONDS: Final = 60.0
"""How long after its last journal entry a killed run may still have written rejected rows."""
_COMMAND: Final = "command"
_REJECTS: Final = "rejects as the run left them"
_NAMES_A_COLUMN: Final = re.compile("--(?:column=[^=]*|key)=(.*)", re.DOTALL)


def stamp_of(path: Path) -> str:
    """Returns the size and modification time of a file in one string, which is empty if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


def file_of(command: Sequence[str], option: str) -> Path | None:
    """Returns the path in an option of a command, such as `rejects`; None without the option."""
    start = f"--{option}="
    named = [each.removeprefix(start) for each in command if each.startswith(start)]
    return Path(named[-1].replace("%%", "%") if option in DATED else named[-1]) if named else None


def state_folder(environ: Mapping[str, str]) -> Path:
    """Returns the folder for the state of commands. Raises ConfigurationError without a home folder."""
    named = environ.get("SOCIALAPI_STATE_DIR")
    return Path(named) if named else user_folder("state", "SOCIALAPI_STATE_DIR")


def _links() -> list[Path]:
    """Returns the links to the journals of this user's jobs, latest first. A link is named after the job's id."""
    folder = state_folder(os.environ) / "jobs"
    links = [each for each in folder.iterdir() if each.is_symlink()] if folder.is_dir() else []
    return sorted(links, key=lambda link: link.lstat().st_mtime_ns, reverse=True)


def unlink(journal: Path) -> None:
    """Removes a journal from the list of jobs. Raises OSError if that fails."""
    for link in _links():
        if link.readlink() == journal.absolute():
            link.unlink(missing_ok=True)


class CommandJournal(SqliteJournal):
    """A journal that stores the command of its job, and that `jobs list` finds from any folder.

    `arguments` are the arguments of `socialapi` with absolute paths, and without hosts and
    credentials. A command is not stored if a column name in it may be a person's address or number.
    """

    def __init__(self, path: Path, arguments: Sequence[str]) -> None:
        super().__init__(path)
        self._arguments = tuple(arguments)
        self._is_open = False
        self.how_to_resume: str | None = None
        """The command to run after a stop; set once the journal is open."""

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        """Opens or creates the journal, and adds the job to the list. The job runs even if it cannot be listed."""
        opened = await super().open(identity, now)
        columns = [found[1] for word in self._arguments if (found := _NAMES_A_COLUMN.fullmatch(word))]
        is_known = not any(map(looks_personal, columns))
        await self.remember(_COMMAND, json.dumps(self._arguments if is_known else []))
        await self.remember(_REJECTS, "")
        self._is_open = True
        job = opened.job_id
        try:
            unlink(self.path)
            folder = state_folder(os.environ) / "jobs"
            make_private_folder(folder)
            (folder / job).symlink_to(self.path.absolute())
        except (OSError, ConfigurationError) as problem:
            output.say(f"the job could not be added to the list of jobs: {output.sentence(problem)}")
            job = shlex.quote(str(self.path))
        self.how_to_resume = f"`socialapi jobs resume {job}`" if is_known else "the same command again"
        return opened

    async def aclose(self) -> None:
        """Records the state of the rejects file, which is closed by now, and closes the journal."""
        rejects = file_of(self._arguments, "rejects")
        if self._is_open and rejects is not None:
            with contextlib.suppress(ConfigurationError):  # so that its time distinguishes it from later files
                await self.remember(_REJECTS, stamp_of(rejects))
        self._is_open = False
        await super().aclose()


def command_line(command: Sequence[str], files: Sequence[str], options: Mapping[str, object]) -> list[str]:
    """Returns the arguments that run a command again from any folder. Files may be patterns or addresses. The query
    of an address is removed.

    Raises InvalidInput for standard input, which cannot be read again.
    """
    if STANDARD_INPUT in files:
        raise InvalidInput(
            "--journal does not work with standard input, which cannot be read again: pass a file, or omit --journal"
        )
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
    """The known state of a job."""

    path: Path
    state: str
    view: JournalView = attrs.field(factory=lambda: JournalView(path=Path(), state=""))
    """The content of the job's journal; empty while the job runs."""
    listed_as: str = ""
    """The id under which the job is in this user's list."""
    problem: str = ""

    @property
    def id(self) -> str:
        """The id of the job; a dash if unknown."""
        return self.view.job_id or self.listed_as or "-"

    @property
    def kind(self) -> str:
        """The kind of the job."""
        return "-" if self.view.identity is None else self.view.identity.kind

    @property
    def target(self) -> str:
        """The ids of the job's target, without the host."""
        if self.view.identity is None:
            return "-"
        return "/".join(value for name, value in self.view.identity.target.items() if name not in ("host", "path"))

    @property
    def arguments(self) -> list[str]:
        """The arguments of `socialapi` that started the job; empty if unknown."""
        found: list[str] = json.loads(self.view.texts.get(_COMMAND, "[]"))
        return found

    @property
    def command(self) -> str | None:
        """The command that started the job; None if unknown."""
        return shlex.join(["socialapi", *self.arguments]) if self.arguments else None

    def has_left(self, rejects: Path) -> bool:
        """Returns whether a rejects file is unchanged since the last run. A killed run cannot have written anything long
        after its last journal entry.
        """
        if stamp := self.view.texts.get(_REJECTS):
            return stamp_of(rejects) == stamp
        written_at = (each.stat().st_mtime for each in (self.path, Path(f"{self.path}-wal")) if each.is_file())
        return rejects.stat().st_mtime <= max(written_at, default=0.0) + KILLED_WITHIN_SECONDS

    def to_dict(self) -> dict[str, Any]:
        """Returns the job as JSON-ready values."""
        seen = self.view.to_dict() if self.view.state else {}
        head = {"id": self.id, "kind": self.kind, "target": self.target, "state": self.state, "path": str(self.path)}
        rest = {name: value for name, value in seen.items() if name not in (*head, "job_id", "texts")}
        return head | rest | {"command": self.command} | ({"problem": self.problem} if self.problem else {})


@app.command(name="list")
def list_(
    *paths: Annotated[
        Path,
        Parameter(help="Journals, or folders with journals; by default this folder and all jobs that you started."),
    ],
    flags: ListFlags = ALL,
) -> int:
    """Print jobs that have a journal: id, kind, target, state, confirmed rows, last run, journal.

    For example: `socialapi jobs list --output json`, or `socialapi jobs list nightly.journal` for one journal. A job is
    running, finished (every row has its outcome), stopped (by the service or the input) or interrupted (for example by
    Ctrl-C or a kill); `socialapi jobs resume` continues it. A running job shows only its state.

    Exit status: 0 done, 2 not a journal.
    """
    links = {link.readlink(): link.name for link in _links()}
    journals = [each for path in paths for each in (_journals_in(path) if path.is_dir() else [path])]
    found = [job_at(path, links.get(path.absolute(), "")) for path in journals if paths]
    for job in found:
        if job.state in (GONE, UNREADABLE):
            raise ConfigurationError(job.problem)
    if not paths:
        here: list[Path] = []
        with contextlib.suppress(OSError):  # an unreadable folder lists no journals
            here = [path for path in _journals_in(Path.cwd()) if path not in links]
        found = [*all_jobs(), *map(job_at, here)]
    print_items(found, _JOBS, flags, if_none="there are no jobs; only jobs started with --journal are listed")
    if any(job.state == GONE for job in found):
        output.say(
            "a job whose journal is gone cannot be resumed: run its command again to start over; `socialapi jobs forget --gone` "
            "removes all of these from the list"
        )
    return output.DONE


def _journals_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and is_journal(path)]


@attrs.frozen(kw_only=True)
class JobRecord:
    """A job as a CSV or Parquet row. Unknown values are None."""

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
    found = job.to_dict()
    values: dict[str, Any] = {field.name: found.get(field.name) for field in attrs.fields(JobRecord)}
    times = {"started_at": _time(job.view.started_at), "last_run_at": _time(job.view.last_run_at)}
    return JobRecord(**values | times)


def _time(text: str) -> datetime | None:
    """Returns the time in a string. Returns None if the string is not a time: the file may have been changed."""
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text)
    return None


_JOBS: Final = ListKind[JobStatus](
    name="job",
    record=JobRecord,
    columns=(
        Column("id", lambda job: job.id, is_whole=True),
        Column("kind", lambda job: job.kind),
        Column("target", lambda job: job.target, is_whole=True),
        Column("state", lambda job: job.state, is_whole=True),
        Column("confirmed", lambda job: f"{job.view.rows:,} rows" if job.view.state else None),
        Column("last run", lambda job: _time(job.view.last_run_at), is_whole=True),
        Column("journal", lambda job: str(job.path) if job.state == GONE else job.path.name),
    ),
    to_json=JobStatus.to_dict,
    to_record=_record_of,
)


@app.command
def show(job: JobArgument, /, *, json: AsJson = False) -> int:
    """Print the content of a job's journal: its kind and target, its progress, and its command.

    For example: `socialapi jobs show nightly.journal`. Exit status: 0 done, 2 there is no such job.
    """
    found = found_job(job)
    if json:
        print_json(found.to_dict())
        return output.DONE
    output.print_pairs(_lines(found))
    return output.DONE


# In a separate module, which imports the modules of all kinds of files that jobs write.
app.command("socialapi.cli.forget:forget", help=FORGET_HELP)


def find(job: str) -> tuple[Path, str] | None:
    """Returns the journal, and the id in the list, of the job with this id, journal path or journal name."""
    links, path = _links(), Path(job).absolute()
    named = [link for link in links if link.name == job] or [link for link in links if link.readlink() == path]
    if not named and Path(job).name == job and not path.exists():  # the name may belong to a journal in another folder
        alike = [link for link in links if link.readlink().name == job]
        named = alike if len(alike) == 1 else []
    if named:
        return named[0].readlink(), named[0].name
    return (Path(job), "") if path.is_file() else None


def found_job(job: str, *, may_be_unreadable: bool = False) -> JobStatus:
    """Returns the job with this id or journal.

    Raises InvalidInput if there is none, and ConfigurationError if the file is not a journal. Also raises
    ConfigurationError if the journal cannot be read, unless the job is listed or `may_be_unreadable` is true.
    """
    where = find(job)
    if where is None:
        dated = ": the date of a run replaces the % codes in the name" if re.search(f"%[{DATE_CODES}]", job) else ""
        raise InvalidInput(f"there is neither a job {job} (see `socialapi jobs list`) nor a file of that name{dated}")
    found = job_at(*where)
    if found.state == UNREADABLE and not found.listed_as and not (may_be_unreadable and is_journal(found.path)):
        raise ConfigurationError(found.problem)
    return found


def all_jobs() -> list[JobStatus]:
    """Returns the jobs that this user started, latest first."""
    return [job_at(link.readlink(), link.name) for link in _links()]


def job_at(path: Path, listed_as: str = "") -> JobStatus:
    """Returns the state of the job with this journal. Raises no error: `problem` contains the message instead."""
    if not path.exists():
        return JobStatus(path=path, state=GONE, listed_as=listed_as, problem=f"there is no journal {path}")
    try:
        view = look(path)
    except ConfigurationError as problem:
        return JobStatus(path=path, state=UNREADABLE, listed_as=listed_as, problem=str(problem))
    if view is None:
        return JobStatus(path=path, state=RUNNING, listed_as=listed_as)
    return JobStatus(path=path, state=view.state, view=view, listed_as=listed_as)


def _lines(job: JobStatus) -> list[tuple[str, str]]:
    head = {"id": job.id, "kind": job.kind, "target": job.target, "state": job.state, "journal": str(job.path)}
    return [
        *head.items(),
        *([("problem", job.problem)] if job.problem else []),
        *(_of_view(job.view) if job.view.state else []),
        *([("command", job.command)] if job.command else []),
    ]


def _of_view(view: JournalView) -> list[tuple[str, str]]:
    lines = [
        ("started", _moment(view.started_at)),
        ("latest run", f"{_moment(view.last_run_at)}, of {view.runs:,}"),
        ("confirmed", f"{view.rows:,} rows in {view.batches:,} batches; {view.unconfirmed:,} batches are unconfirmed"),
    ]
    if view.outcomes:
        lines.append(("rows recorded", _counts(view.outcomes)))
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
    """Resume a job by running its command again with the same journal. Confirmed rows are not sent again.

    For example: `socialapi jobs resume nightly.journal`. Hosts and credentials are not stored with a job: they come
    from the environment or from `socialapi auth login`, as in the first run. A finished job sends nothing, and prints
    its report again.

    Exit status: the status of the command, or 2 if there is no such job or it is running.
    """
    found = found_job(job)
    if found.state == RUNNING:
        raise InvalidInput(f"the job {found.id} is running")
    if found.state == GONE:
        raise InvalidInput(
            f"{found.problem}, so the job {found.id} cannot be resumed; to start over, run its command again"
        )
    if not found.arguments:
        raise InvalidInput(
            f"the command that started the job of {found.path} is unknown: run the command or program again "
            "with the same journal"
        )
    result = call(found.arguments)
    return result if isinstance(result, int) else output.DONE
