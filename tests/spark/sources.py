"""What the tasks of the tests run: tasks that fail on purpose, and a data source that logs every request.

The tasks import it by its name.
"""

import functools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from socialapi.integrations.spark import PartWritten, SocialApiDataSource, SocialApiWriter
from socialapi.integrations.spark_options import WriteSettings
from socialapi.session.transport import Transport

MIDWAY = "fails midway, on purpose"


class LoggedDataSource(SocialApiDataSource):
    """The data source, which notes every request in the folder for reports, if there is one."""

    def writer(self, schema: Any, overwrite: bool) -> "LoggedWriter":
        return LoggedWriter(super().writer(schema, overwrite).settings)


class LoggedWriter(SocialApiWriter):
    """Notes partition, task, and when each request began and ended."""

    def write(self, iterator: Iterator[Any]) -> PartWritten:
        if self.settings.report is None:
            return super().write(iterator)
        send = Transport.send
        Transport.send = functools.partialmethod(_noted, send, note_of(self.settings))  # type: ignore[method-assign, assignment]
        try:
            return super().write(iterator)
        finally:
            Transport.send = send  # type: ignore[method-assign]


def note_of(settings: WriteSettings) -> Path:
    context = TaskContext.get()
    folder = Path(settings.report or "", "requests")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{context.partitionId()}-{context.taskAttemptId()}.log"


async def _noted(self: Any, send: Any, note: Path, *arguments: Any, **options: Any) -> Any:
    began = time.time()
    _append(note, f"begin {began:.6f}")
    try:
        return await send(self, *arguments, **options)
    finally:
        _append(note, f"end {time.time():.6f}")


def _append(note: Path, line: str) -> None:
    handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, f"{line}\n".encode())
    finally:
        os.close(handle)


class FailsMidway:
    """Hands record batches on, and fails the first attempts at every so-manieth partition after half of its rows.

    With the folder for reports it fails only when the attempt has begun to send.
    """

    def __init__(self, rows: int, *, every: int = 3, attempts: int = 1, folder: str | None = None) -> None:
        self.rows = rows
        self.every = every
        self.attempts = attempts
        self.folder = folder

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        fails = context.partitionId() % self.every == 0 and context.attemptNumber() < self.attempts
        seen = 0
        for batch in batches:
            yield batch
            seen += batch.num_rows
            if fails and seen >= self.rows // 2:
                if self.folder is not None:
                    wait_for_file(
                        Path(self.folder, "requests", f"{context.partitionId()}-{context.taskAttemptId()}.log")
                    )
                raise RuntimeError(MIDWAY)


def wait_for_file(path: Path) -> None:
    """Returns when another process has made the file, or after half a minute."""
    ends = time.monotonic() + 30
    while not path.exists() and time.monotonic() < ends:
        time.sleep(0.02)
