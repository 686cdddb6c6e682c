"""The jobs that were started here with a journal: a small file for each, which says how to run it again."""

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import attrs

from socialapi.bulk.journals.journal import JobIdentity, Opened
from socialapi.bulk.journals.sqlite_journal import SqliteJournal
from socialapi.cli import output as exits
from socialapi.cli.options import STANDARD_INPUT
from socialapi.errors import InvalidInput


@attrs.frozen(kw_only=True)
class Registration:
    """A job. `arguments` are those of `socialapi`, with absolute paths; hosts and credentials are not among them."""

    id: str
    journal: str
    arguments: tuple[str, ...]
    kind: str
    target: str
    started_at: str


class Registry:
    """A folder of JSON files, each for its owner alone."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Registry":
        """Below the folder that `SOCIALAPI_STATE_DIR` names, or below the user's folder for such things."""
        named = environ.get("SOCIALAPI_STATE_DIR")
        if named:
            return cls(Path(named) / "jobs")
        import platformdirs

        return cls(platformdirs.user_state_path("socialapi") / "jobs")

    def all(self) -> list[Registration]:
        """Every job, the latest first. What cannot be read is passed over."""
        found = [self._read(path) for path in self.folder.glob("*.json")] if self.folder.is_dir() else []
        return sorted((each for each in found if each is not None), key=lambda job: job.started_at, reverse=True)

    def find(self, job: str) -> Registration | None:
        """The job with the id, or else with the journal at the path."""
        jobs, path = self.all(), str(Path(job).absolute())
        named = [each for each in jobs if each.id == job] or [each for each in jobs if each.journal == path]
        return named[0] if named else None

    def save(self, job: Registration) -> None:
        """Keeps a job, in the place of another one with its journal. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes the file with mode 0600.
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(attrs.asdict(job), file, indent=1)
            Path(name).replace(self.folder / f"{job.id}.json")
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        for other in self.all():
            if other.journal == job.journal and other.id != job.id:
                self.forget(other)

    def forget(self, job: Registration) -> None:
        """Removes the file of a job. Raises OSError."""
        (self.folder / f"{job.id}.json").unlink(missing_ok=True)

    def _read(self, path: Path) -> Registration | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            content = json.loads(path.read_text(encoding="utf-8"))
            job = Registration(**{**content, "arguments": tuple(content["arguments"])})
            texts = (job.id, job.journal, *job.arguments, job.kind, job.target, job.started_at)
            return job if all(isinstance(each, str) for each in texts) and job.id == path.stem else None
        return None


class RegisteredJournal(SqliteJournal):
    """A journal of which the registry knows as soon as it is open."""

    def __init__(self, path: Path, arguments: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
        super().__init__(path)
        self._arguments = tuple(arguments)
        self._registry = Registry.of(os.environ if environ is None else environ)
        self.how_to_go_on: str | None = None
        """What to run after a stop, once the journal is open."""

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        """Opens the file, or makes it, and registers the job. One that cannot be registered runs all the same."""
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
        except OSError as problem:
            exits.say(f"the job does not get into the list of jobs: {exits.sentence(problem)}")
            self.how_to_go_on = "the same command again"
        return opened


def target_of(identity: JobIdentity) -> str:
    """What the job goes to, without the host: the ids."""
    return "/".join(value for name, value in identity.target.items() if name not in ("host", "path"))


def command_line(command: Sequence[str], files: Sequence[str], options: Mapping[str, object]) -> list[str]:
    """The arguments that run a command again, from wherever that is done; files may be patterns.

    Raises InvalidInput for standard input, which cannot be read again.
    """
    if STANDARD_INPUT in files:
        raise InvalidInput(
            "standard input cannot be read again, so it takes no journal: give a file, or leave out --journal"
        )
    words = [*command, *map(os.path.abspath, files)]
    for name, value in options.items():
        flag = f"--{name.strip('_').replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag] * value
        elif value is not None:
            values = value if isinstance(value, list) else [value]
            words += [f"{flag}={each.absolute() if isinstance(each, Path) else each}" for each in values]
    return words
