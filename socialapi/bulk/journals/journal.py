"""The interface of journals, which let a job resume where it stopped."""

import asyncio
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, Protocol, runtime_checkable

import attrs
import orjson

from socialapi.bulk.inputs.addresses import is_address
from socialapi.bulk.inputs.columns import ColumnMapping, looks_personal
from socialapi.bulk.inputs.reader import FileVersion
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord

HEAD_BYTES: Final = 65_536
DIFFERENCES_SHOWN: Final = 8

Setting = str | int | float | bool | None
State = Literal["finished", "stopped", "interrupted"]
"""How a run ended: finished (every row was settled), stopped (by an error), or interrupted (cancelled)."""


@attrs.frozen(kw_only=True)
class JobIdentity(FrozenRecord):
    """The identity of a job, which is the same when a call is repeated. It contains no personal data and no secrets."""

    kind: str
    """The kind of job, for example `catalog load`."""
    target: Mapping[str, str]
    """The destination: host, documented path and its arguments."""
    source: Mapping[str, str | int]
    """The fingerprint of the input, from `fingerprint`."""
    settings: Mapping[str, Setting]
    """All options that affect what is sent."""

    def differences(self, now: "JobIdentity") -> list[str]:
        """Returns a line with both values for each property that differs from another identity."""
        found = [_difference("kind", self.kind, now.kind)] if self.kind != now.kind else []
        for then, current in ((self.target, now.target), (self.source, now.source), (self.settings, now.settings)):
            pairs = {name: (then.get(name), current.get(name)) for name in (*then, *current)}
            found += [_difference(name, *pair) for name, pair in pairs.items() if _listed(pair[0]) != _listed(pair[1])]
        return found


@attrs.frozen
class Outcome(FrozenRecord):
    """The outcome of a row: `accepted`, `rejected`, or an outcome of the job. `digest` is a `digest64`.

    `field` and `reason` describe a rejection, and `warnings` are pairs of field and reason. None of them contains a
    value from the row.
    """

    row: int
    outcome: str
    field: str = ""
    reason: str = ""
    digest: int | None = None
    warnings: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class RecordedBatch(FrozenRecord):
    """A batch: its first and last row, its number of rows, a digest, and all outcomes except `accepted`."""

    number: int
    first_row: int
    last_row: int
    rows: int
    digest: bytes
    confirmed: bool = False
    outcomes: tuple[Outcome, ...] = ()


@attrs.frozen(kw_only=True)
class Opened(FrozenRecord):
    """The state of a journal when it is opened.

    `started_at` is the start of the first run, with which times in the input are compared. `is_finished` is true if an
    earlier run settled every row, and `last_batch` is the highest number of a confirmed batch.
    """

    job_id: str
    started_at: datetime
    is_new: bool
    is_finished: bool = False
    runs: int = 1
    last_batch: int = 0


@runtime_checkable
class Journal(Protocol):
    """The recorded progress of a job. When a method returns, its changes are durable.

    A journal belongs to one job between `open` and `aclose`. Every method raises ConfigurationError if the journal
    cannot be read or written, and the job then stops sending.
    """

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        """Starts a run. Raises InvalidInput with the differences if the journal belongs to another job."""

    async def recall(self, number: int) -> RecordedBatch | None:
        """Returns the batch with this number, or None if it was never begun."""

    async def begin(self, batch: RecordedBatch) -> None:
        """Records that the batch is about to be sent. An unconfirmed batch may be begun again."""

    async def confirm(self, number: int, outcomes: Sequence[Outcome]) -> None:
        """Records that every row of a batch has its outcome; `outcomes` are the outcomes other than `accepted`."""

    async def outcomes(self, first_row: int, last_row: int) -> Mapping[int, Outcome]:
        """Returns the recorded outcomes of a range of rows, by row number."""

    async def note(self, outcomes: Sequence[Outcome]) -> None:
        """Records outcomes of rows that belong to no batch, or whose batch is not complete yet."""

    async def keep(self, name: str, number: int) -> int:
        """Stores a number under a name unless one is stored there already. Returns the stored number."""

    async def kept(self, name: str) -> int | None:
        """Returns the number stored under a name, or None."""

    async def last_row(self) -> int:
        """Returns the number of the last row that has an outcome or is in a recorded batch, or 0."""

    async def finish(self, state: State, counts: Mapping[str, int]) -> None:
        """Records the end of the run and its counts. A finished job stays finished if this run recorded nothing."""

    async def aclose(self) -> None:
        """Closes the journal. Idempotent."""


def refuse_other(journal: str, then: JobIdentity, now: JobIdentity) -> None:
    """Raises InvalidInput if the journal belongs to another job."""
    different = then.differences(now)
    if not different:
        return
    hidden = len(different) - DIFFERENCES_SHOWN
    shown = "; ".join(different[:DIFFERENCES_SHOWN]) + (f"; and {hidden} more" if hidden > 0 else "")
    advice = "choose another path"
    whose = "another input" if then.kind == now.kind and then.target == now.target else "another job"
    if then.source == now.source and whose == "another input":
        whose, advice = "the same job with different settings", "use the earlier settings, choose another path"
    raise InvalidInput(
        f"the {journal} belongs to {whose}: {shown}; {advice}, or delete it with `socialapi jobs forget`"
    )


def impersonal(name: str) -> str:
    """Returns the column name to store in a journal, or its digest if the name may be personal data."""
    if not looks_personal(name):
        return name
    return f"digest {hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def columns_setting(columns: ColumnMapping) -> str:
    """Returns the column mapping for a journal, with digests in place of names that may be personal data."""
    mapping = {
        kind: impersonal(str(names)) if isinstance(names, str | int) else [impersonal(str(name)) for name in names]
        for kind, names in columns.items()
    }
    return orjson.dumps(mapping).decode()


def _listed(setting: Setting) -> object:
    """Returns a column mapping with a list of names for each kind, and any other setting unchanged."""
    if not (isinstance(setting, str) and setting.startswith("{")):
        return setting
    found = orjson.loads(setting)
    return {kind: [names] if isinstance(names, str) else names for kind, names in found.items()}


def digest64(content: bytes) -> int:
    """Returns a digest as a signed 64-bit integer."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big", signed=True)


class Files(Protocol):
    """A reader that knows the files of its input."""

    def find(self) -> Sequence[str]:
        """Returns the paths of the files if the input has several."""

    def version_of(self, address: str) -> FileVersion:
        """Returns the version of the file at an address."""


async def fingerprint(source: object, files: Files) -> dict[str, str | int]:
    """Returns the properties that identify an input: for a file, its path, its size and a digest of its beginning; for
    a remote file, its address, its size and its ETag or modification time; for any other input, its type.

    Raises InvalidInput for a file that cannot be read.
    """
    return await asyncio.to_thread(_fingerprint, source, files)


def _fingerprint(source: object, files: Files) -> dict[str, str | int]:
    paths = files.find() or ([os.fsdecode(source)] if isinstance(source, str | os.PathLike) else [])
    if not paths:
        return {"type": type(source).__name__}
    if len(paths) == 1:
        return _of_file(paths[0], "", files)
    found: dict[str, str | int] = {"files": len(paths)}
    for number, path in enumerate(paths, 1):
        found |= _of_file(path, f" of file {number}", files)
    return found


def _of_file(path: str | os.PathLike[str], which: str, files: Files) -> dict[str, str | int]:
    from socialapi.bulk.inputs.files import name_of, why  # late, because it imports the readers of all formats

    text = os.fsdecode(path)
    if is_address(text):
        version = files.version_of(text)
        if (stamp := version.etag or version.changed_at) is None:
            raise InvalidInput(
                f"{name_of(text)}: its server sends neither an ETag nor a Last-Modified time, so a journal could not "
                "detect a different file: download it first, or run without a journal"
            )
        return {f"path{which}": name_of(text), f"size{which}": version.size or "unknown", f"version{which}": stamp}
    try:
        shown = str(Path(text).absolute())
        found = Path(text).stat()
        if not stat.S_ISREG(found.st_mode):  # reading a pipe would consume the job's input
            return {f"path{which}": shown, f"type{which}": "not a regular file"}
        with Path(text).open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, ValueError) as problem:
        reason = why(problem) if isinstance(problem, OSError) else "this is not a path"
        raise InvalidInput(f"{name_of(text)}: {reason}") from None
    digest = hashlib.sha256(head).hexdigest()
    return {f"path{which}": shown, f"size{which}": found.st_size, f"digest of the beginning{which}": digest[:32]}


def _difference(name: str, then: Setting, now: Setting) -> str:
    return f"{name} {_shown(name, then)} then, {_shown(name, now)} now"


def _shown(name: str, value: Setting) -> str:
    """Returns a value for a message. Hides strings with an @, which may be e-mail addresses, unless they are paths
    or URLs of inputs.
    """
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,} bytes" if name.startswith("size") else f"{value:,}"
    text = str(value) or "nothing"
    is_place = name.startswith("path") or Path(text).is_absolute()
    return "<hidden>" if "@" in text and not is_place else text
