"""Estimates the progress and the remaining time of a job, and shows both on standard error."""

import asyncio
import contextlib
import inspect
import io
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import attrs

from socialapi.bulk.inputs.addresses import name_of_address
from socialapi.bulk.inputs.reader import Reader
from socialapi.internal.logs import printable
from socialapi.reports import Progress, UploadReport
from socialapi.session.clock import Clock, SystemClock

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live

OnProgress = Callable[[Progress], None]


class Pace:
    """An estimator of a job's remaining time.

    `seconds_until(n)` returns how long the rate limit delays the last of the next `n` requests. Time spent waiting for
    the rate limit does not count, because the estimated speed would otherwise remain too low.
    """

    def __init__(self, clock: Clock, seconds_until: Callable[[int], float] = lambda _: 0.0) -> None:
        self._clock = clock
        self._seconds_until = seconds_until
        self._started = self._last_update = clock.monotonic()
        self._sending_seconds = 0.0
        self._is_held = False

    def progress(
        self,
        report: UploadReport,
        *,
        fraction_read: float | None,
        total: int | None = None,
        in_flight: int = 0,
        note: str | None = None,
    ) -> Progress:
        """Returns the progress of a job with this report. `total` is the number of rows, if known."""
        now = self._clock.monotonic()
        self._sending_seconds += 0.0 if self._is_held else now - self._last_update
        self._last_update, self._is_held = now, in_flight > 0 and self._seconds_until(in_flight) > 0
        is_estimate = total is None and fraction_read != 1.0
        if total is None and fraction_read:
            total = round(report.read / fraction_read)
        done = report.read if report.forecast is not None else report.read - report.pending
        new = done - report.resumed
        return Progress(
            report=report,
            fraction_read=fraction_read,
            in_flight=in_flight,
            note=note or ("waiting for the rate limit" if self._is_held else None),
            rows_done=done,
            rows_total=total,
            is_total_estimated=is_estimate,
            rows_per_second=new / (now - self._started) if now > self._started else 0.0,
            seconds_left=None if total is None else self._seconds_left(max(0, total - done), new, report),
        )

    def _seconds_left(self, rows: int, done: int, report: UploadReport) -> float | None:
        if not rows:
            return 0.0
        if done <= 0:
            return None
        held = self._seconds_until(math.ceil(rows * report.requests / done))
        return max(rows * self._sending_seconds / done, held) if math.isfinite(held) else None


class ReadingPace:
    """The progress of a lint, which reads all of the input or only a sample."""

    def __init__(self, reader: Reader[Any], sample: int | None, on_progress: OnProgress | None) -> None:
        self._reader = reader
        self._sample = sample
        self._on_progress = on_progress
        self._pace = Pace(SystemClock())

    def show(self, rows: int, rejected: int) -> None:
        """Passes the progress to `on_progress`, if it was given."""
        if self._on_progress is None:
            return
        report = UploadReport(read=rows, accepted=rows - rejected, rejected=rejected)
        found = self._pace.progress(report, fraction_read=self._reader.fraction_read, total=self._reader.total_rows)
        if self._sample is not None and found.rows_total is not None:
            found = attrs.evolve(found, rows_total=min(found.rows_total, self._sample))
        self._on_progress(found)


LINE_EVERY_SECONDS: Final = 10.0
LATER_LINE_EVERY_SECONDS: Final = 30.0
CELL_EVERY_SECONDS: Final = 0.5
"""The seconds between updates of the display. Without a terminal, the first value applies in the first half minute, and
the second later. The third applies in a notebook.
"""
LEAST_BAR: Final = 8
MOST_BAR: Final = 60
COLUMNS_SHOWN: Final = 50
CELL_COLUMNS: Final = 100


class ProgressDisplay:
    """A display of a job's progress; pass it as `on_progress`. `last` is the last progress received.

    A terminal shows a bar. A notebook shows one line, which is updated. Any other output gets a new
    line from time to time. If `stays` is true, the last state remains visible.
    """

    def __init__(self, title: str, *, is_quiet: bool = False, stays: bool = False) -> None:
        self.last: Progress | None = None
        self._title = title
        self._is_quiet = is_quiet or sys.stderr is None
        self._stays = stays
        self._columns_shown: set[str] = set()
        self._live: Live | None = None
        self._cell: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._started = self._received = 0.0

    def __enter__(self) -> Self:
        if self._is_quiet:
            return self
        loop = asyncio.get_running_loop()
        self._started = self._received = loop.time()
        self._now = loop.time
        if sys.stderr.isatty() or "IPython" in sys.modules:  # nothing else needs rich, which is slow to import
            self._open()
        if self._live is None:
            self._timer = loop.call_later(CELL_EVERY_SECONDS if self._cell else LINE_EVERY_SECONDS, self._tick)
        return self

    def _open(self) -> None:
        """Opens the bar of a terminal or the cell of a notebook."""
        from rich.file_proxy import FileProxy  # replaces standard error during another display

        from socialapi.internal.console import Output

        self._console = Output(stderr=True)
        if sys.stderr.isatty() and not isinstance(sys.stderr, FileProxy):
            from rich.live import Live

            self._live = Live(self, console=self._console, transient=not self._stays, refresh_per_second=4)
            self._live.start()
        elif self._console.is_jupyter:
            from IPython.display import display

            self._cell = display({"text/plain": self._title}, raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        is_begun = self.last is not None and self.last.report.read > 0
        if self._live is not None:
            self._live.transient = not (self._stays and is_begun)
            self._live.stop()
        if self._timer is not None:
            self._timer.cancel()
            if is_begun and (self._stays or self._now() - self._started >= LINE_EVERY_SECONDS):
                self._print()

    def __call__(self, progress: Progress) -> None:
        """Shows the progress of the running job, and how each column is read once that is known."""
        self.last = progress
        if not self._is_quiet:
            self._received = self._now()
            self._show_columns(progress.report)

    def _show_columns(self, report: UploadReport) -> None:
        """Prints how the new columns are read. Prints nothing if each of them has the name of its field."""
        new = {name: read_as for name, read_as in report.columns.items() if name not in self._columns_shown}
        called = {name: re.sub("[ .-]", "_", name.strip().lower()) for name in new}
        if not report.read:
            return
        self._columns_shown.update(new)
        if called == new:
            return
        read = "; ".join(
            f"{'column ' * name.isdecimal()}{name} as {read_as}" for name, read_as in islice(new.items(), COLUMNS_SHOWN)
        )
        more = f"; and {len(new) - COLUMNS_SHOWN} more" if len(new) > COLUMNS_SHOWN else ""
        self._write(f"reading {read}{more}")

    def _write(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # the job continues without the display
            if self._live is not None:
                self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
                return
            sys.stderr.write(f"{printable(text)}\n")
            sys.stderr.flush()

    def _tick(self) -> None:
        self._print()
        loop = asyncio.get_running_loop()
        is_young = loop.time() - self._started < LATER_LINE_EVERY_SECONDS
        seconds = LINE_EVERY_SECONDS if is_young else LATER_LINE_EVERY_SECONDS
        self._timer = loop.call_later(CELL_EVERY_SECONDS if self._cell else seconds, self._tick)

    def _print(self) -> None:
        if self._cell is None:
            self._write(f"{self._name}: {', '.join(self._parts(_in_full))}{self._note}")
            return
        from rich.console import Console

        text = Console(file=io.StringIO(), width=CELL_COLUMNS, force_jupyter=False, color_system=None)
        text.print(self)
        self._cell.update({"text/plain": text.file.getvalue()}, raw=True)  # type: ignore[attr-defined]  # it is a StringIO

    @property
    def _name(self) -> str:
        phase = self.last.phase if self.last is not None else ""
        return f"{self._title}, {phase}" if phase else self._title

    @property
    def _note(self) -> str:
        return f" ({self.last.note})" if self.last is not None and self.last.note else ""

    def _parts(self, number: Callable[[float], str]) -> Sequence[str]:
        """Returns the known figures of the progress, each with its unit."""
        if self.last is None:
            return ["no rows yet"]
        done, total, left = self.last.rows_done, self.last.rows_total, self.last.seconds_left
        fraction = self._fraction
        about = "~" if self.last.is_total_estimated else ""
        left = None if left is None else max(0.0, left - (self._now() - self._received))
        parts = (
            None if fraction is None else f"{math.floor(100 * fraction)} %",
            f"{number(done)} rows" if total is None else f"{number(done)} of {about}{number(total)} rows",
            f"{number(self.last.rows_per_second)} rows/s",
            None if left is None or done == total else f"{_clock_time(left)} left",
            f"{number(self.last.report.rejected)} rejected" if self.last.report.rejected else None,
        )
        return [*filter(None, parts)]

    @property
    def _fraction(self) -> float | None:
        if self.last is None or not self.last.rows_total:
            return None
        return min(1.0, self.last.rows_done / self.last.rows_total)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Yields the line for a terminal. If the line is too long, shortens the numbers, and then puts the name above
        it.
        """
        from rich.cells import cell_len
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        name, width, bar = Text(self._name), options.max_width, 0
        for number, gap, is_below in (
            (_in_full, "  ", False),
            (_in_full, " ", False),
            (_three_digits, " ", False),
            (_in_full, "  ", True),
            (_three_digits, " ", True),
        ):
            rest = gap.join(self._parts(number))
            bar = width - cell_len(rest) - len(gap) - (0 if is_below else name.cell_len + len(gap))
            if bar >= LEAST_BAR:
                break
        cells = [
            ProgressBar(1.0, self._fraction or 0.0, width=max(1, min(bar, MOST_BAR)), pulse=self._fraction is None)
        ]
        line = Table.grid(padding=(0, len(gap), 0, 0), pad_edge=False)
        if is_below:
            yield name
        line.add_row(*([] if is_below else [name]), *cells, Text(rest, no_wrap=True))
        yield line
        if self._note:
            yield Text(self._note.strip(" ()"), no_wrap=True, overflow="ellipsis")


def _in_full(value: float) -> str:
    """Returns a whole number with commas."""
    return f"{value:,.0f}"


def _three_digits(value: float) -> str:
    """Returns a number with at most three digits: 12.3k, 1.23M."""
    for unit in ("", "k", "M"):
        if value < 999.5:
            return f"{value:#.3g}".rstrip(".") + unit if unit else f"{value:.0f}"
        value /= 1_000
    return f"{value:,.1f}G"


def _clock_time(seconds: float) -> str:
    minutes, second = divmod(math.ceil(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:,}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


@contextlib.contextmanager
def shown(options: Mapping[str, Any], records: object) -> Iterator[dict[str, Any]]:
    """Yields a job's options without `progress`, and shows the progress if that option is true."""
    others = dict(options)
    is_shown, also = others.pop("progress", False), others.get("on_progress")
    if not is_shown or inspect.iscoroutinefunction(also):  # the job rejects it
        yield others
        return
    with ProgressDisplay(title_of(records), stays=True) as display:

        def show(progress: Progress) -> None:
            display(progress)
            if also is not None:
                also(progress)

        yield {**others, "on_progress": show}


def title_of(records: object) -> str:
    """Returns a short name for an input, such as a file name without its folder."""
    if isinstance(records, list | tuple) and len(records) == 1:
        records = records[0]
    if isinstance(records, str | os.PathLike):
        return Path(name_of_address(os.fsdecode(records))).name
    is_files = isinstance(records, list | tuple) and records and isinstance(records[0], str | os.PathLike)
    return f"{len(records):,} files" if is_files else "rows"  # type: ignore[arg-type]  # a list
