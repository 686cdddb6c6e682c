"""Progress of a job on standard error: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from socialapi.reports import Progress as JobProgress
from socialapi.reports import UploadReport

LINE_EVERY_SECONDS: Final = 10.0


class ProgressDisplay:
    """Shows a job while it runs; an instance is the `on_progress` of a job. `last` is the last thing it was told."""

    def __init__(self, title: str) -> None:
        self.last: JobProgress | None = None
        self._title = title
        self._console = Console(stderr=True)
        self._next_line = time.monotonic() + LINE_EVERY_SECONDS
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[counts]}"),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task(title, total=1.0, counts="")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: JobProgress) -> None:
        """Takes a look at the running job."""
        self.last = progress
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, completed=_fraction_done(progress), counts=_counts(progress.report, progress.note)
            )
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EVERY_SECONDS
            print(f"{self._title}: {_counts(progress.report, progress.note)}", file=sys.stderr, flush=True)


def _fraction_done(progress: JobProgress) -> float | None:
    """How much of the input is read and settled."""
    report = progress.report
    if progress.fraction_read is None or not report.read:
        return None
    return progress.fraction_read * (report.read - report.pending) / report.read


def _counts(report: UploadReport, note: str | None) -> str:
    text = (
        f"{report.read:,} read, {report.accepted:,} accepted, {report.rejected:,} rejected, "
        f"{report.duplicate:,} duplicate, {report.requests:,} requests"
    )
    return f"{text} ({note})" if note else text
