"""Runs a job with its progress on standard error: a bar on a terminal, otherwise occasional lines."""

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

import orjson

from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.options import telling_how_to_allow_nothing
from socialapi.client import Client
from socialapi.config import Config
from socialapi.errors import BulkError, InvalidInput
from socialapi.reports import (
    CLEANED,
    EMPTY_KEY,
    HOLDS_IDENTIFIERS,
    LOOKS_LIKE_FLOAT,
    MAY_BE_FOREIGN,
    UNKNOWN_COUNTRY,
    LoadForecast,
    RowIssue,
    SyncReport,
    UploadReport,
    UpsertReport,
)
from socialapi.reports import Progress as JobProgress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from socialapi.cli.jobs import CommandJournal

LINE_EVERY_SECONDS: Final = 10.0
COLUMNS_SHOWN: Final = 50


class ProgressDisplay:
    """Shows the progress of a job; pass it as `on_progress`. `last` is the last progress received."""

    def __init__(self, title: str) -> None:
        self.last: JobProgress | None = None
        self._title = title
        self._next_line = time.monotonic() + LINE_EVERY_SECONDS
        self._columns_shown: set[str] = set()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._is_quiet = output.is_quiet()
        if sys.stderr.isatty() and not self._is_quiet:
            from rich import progress

            from socialapi.cli.console import Output

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.TextColumn("{task.percentage:>3.0f} %"),
                progress.TimeElapsedColumn(),
                progress.TextColumn("{task.fields[counts]}"),
                console=Output(stderr=True),
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
        """Shows the progress of the running job, and which columns are read as what once they are known."""
        self.last = progress
        self._show_columns(progress.report)
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, completed=_fraction_done(progress), counts=_counts(progress.report, progress.note)
            )
        elif time.monotonic() >= self._next_line and not self._is_quiet:
            self._next_line = time.monotonic() + LINE_EVERY_SECONDS
            print(f"{self._title}: {_counts(progress.report, progress.note)}", file=sys.stderr, flush=True)

    def _show_columns(self, report: UploadReport) -> None:
        """Prints new columns and what they are read as, unless all are called so."""
        new = {name: read_as for name, read_as in report.columns.items() if name not in self._columns_shown}
        if report.read:
            self._columns_shown.update(new)
        called = {name: re.sub("[ .-]", "_", name.strip().lower()) for name in new}
        if self._is_quiet or not report.read or called == new:
            return
        read = "; ".join(
            f"{'column ' * name.isdecimal()}{name} as {read_as}" for name, read_as in islice(new.items(), COLUMNS_SHOWN)
        )
        more = f"; and {len(new) - COLUMNS_SHOWN} more" if len(new) > COLUMNS_SHOWN else ""
        text = output.printable(f"reading {read}{more}")
        if self._bar is None:
            print(text, file=sys.stderr)
        else:
            self._bar.console.print(text, markup=False, soft_wrap=True)


def _fraction_done(progress: JobProgress) -> float | None:
    """Returns the share of the input that has been read and has an outcome."""
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


ISSUES_SHOWN: Final = 5

P = TypeVar("P", bound=UploadReport)
RunJob = Callable[[Client, ProgressDisplay], Awaitable[UploadReport]]

_COUNTS: Final = ("read", "accepted", "rejected", "duplicate", "pending", "warnings", "requests", "retries")
_OF_ACCEPTED: Final[Mapping[type[UploadReport], Sequence[str]]] = {
    UpsertReport: ("created", "updated", "unchanged", "skipped"),
    SyncReport: ("unchanged", "added"),
}
_OF_THE_FEED: Final = ("vanished", "deleted", "unconfirmed")
_AGAIN: Final[Mapping[type[UploadReport], str]] = {UpsertReport: "loading", SyncReport: "syncing"}


async def run_job(
    job: RunJob,
    title: str,
    *,
    dry_run: bool,
    as_json: bool,
    journal: "CommandJournal | None" = None,
    snapshot: Path | None = None,
) -> int:
    """Runs a job, prints its report, even if it stops early, and returns the exit status.

    With a journal or a snapshot, prints how to continue after a stop, unless the input caused it and
    has to change.
    """
    display = ProgressDisplay(title)
    try:
        with telling_how_to_allow_nothing(), display:
            # A dry run sends nothing, so incomplete credentials do not matter.
            async with Client(Config.from_env()) if dry_run else open_client() as client:
                report = await job(client, display)
    except BulkError as stopped:
        _show_so_far(stopped.report, as_json=as_json)
        if not isinstance(stopped.__cause__, InvalidInput):
            _say_how_to_resume(journal, snapshot, dry_run=dry_run)
        raise
    except asyncio.CancelledError:
        if display.last is not None:
            _show_so_far(display.last.report, as_json=as_json)
        _say_how_to_resume(journal, snapshot, dry_run=dry_run)
        raise
    show(report, as_json=as_json)
    not_removed = report.removals.rejected + report.held_back if isinstance(report, SyncReport) else 0
    return output.SOME_REJECTED if report.rejected or not_removed else output.DONE


def _show_so_far(report: UploadReport, *, as_json: bool) -> None:
    """Prints the report of a stopped job. An output that fails does not replace the error."""
    try:
        show(report, as_json=as_json)
    except OSError as problem:
        output.say_problem(problem)


def _say_how_to_resume(journal: "CommandJournal | None", snapshot: Path | None, *, dry_run: bool) -> None:
    if snapshot is not None and not dry_run:
        output.say(f"what was accepted is saved in {snapshot}. To continue, run the same command again")
    if journal is not None and journal.how_to_resume is not None:
        output.say(f"progress is saved in {journal.path}. To resume, run {journal.how_to_resume}")


def show(report: UploadReport, *, as_json: bool) -> None:
    """Prints a report on standard output, unless that is closed: the job is done all the same."""
    if sys.stdout is None:
        return
    if as_json:
        output.print_line(orjson.dumps(report.summary()).decode())
        return
    output.print_pairs(_counted(report), are_numbers=True)
    removals = report.removals.pending if isinstance(report, SyncReport) else 0
    if (report.pending or removals) and report.forecast is None:
        again = _AGAIN.get(type(report), "uploading")
        _print(f"Pending rows, and what was not read, have no outcome yet; {again} the same file again is safe.")
    for issue in report.rejects[:ISSUES_SHOWN]:
        _print(f"row {issue.row}{_who(issue)}: {_what(issue)}")
    if report.rejected > ISSUES_SHOWN:
        where = f"all of them in {report.rejects_path}" if report.rejects_path else "list all with --rejects FILE"
        _print(f"… {report.rejected - ISSUES_SHOWN:,} more rejected rows; {where}")
    _show_warnings(report)
    if report.ignored_columns:
        _print(f"columns that were not read: {output.listed(report.ignored_columns)}")
    if isinstance(report, SyncReport):
        _show_removals(report)
    if isinstance(report, UpsertReport):
        _show_vanished(report)


def _show_warnings(report: UploadReport) -> None:
    is_load = isinstance(report, UpsertReport)
    for issue in report.warning_details[:ISSUES_SHOWN]:
        if issue.reason.startswith(HOLDS_IDENTIFIERS):
            _print(f"column {issue.field}{_who(issue)} {issue.reason}")
        elif issue.reason.startswith((CLEANED, LOOKS_LIKE_FLOAT, MAY_BE_FOREIGN, UNKNOWN_COUNTRY, EMPTY_KEY)):
            _print(f"row {issue.row}{_who(issue)}: {issue.field} {issue.reason}")
        elif not issue.row and issue.product_id is None:
            _print(f"{issue.file}: {issue.reason}" if issue.file else issue.reason)
        elif not is_load:
            _print(f"row {issue.row}{_who(issue)}, sent without {_what(issue)}")
        elif issue.row:
            _print(f"row {issue.row}{_who(issue)}, with a warning: {_what(issue)}")
        else:
            _print(f"product {issue.product_id} {issue.reason}")
    if report.warnings > ISSUES_SHOWN:
        _print(f"… {report.warnings - ISSUES_SHOWN:,} more warnings; `lint` counts faults of values by their reason")


def _show_removals(report: SyncReport) -> None:
    for issue in report.removals.rejects[:ISSUES_SHOWN]:
        _print(f"an identifier {_what(issue)}")
    if report.held_back and report.rejected:
        _print(
            f"{report.held_back:,} identifiers that are not desired any more were kept, as rejected rows may mean them: "
            "correct these, or allow it with --max-removal-share 1"
        )


def _show_vanished(report: UpsertReport) -> None:
    for product_id in report.vanished_ids[:ISSUES_SHOWN]:
        _print(f"not in the feed any more: {product_id}")
    if report.vanished > ISSUES_SHOWN:
        _print(f"… {report.vanished - ISSUES_SHOWN:,} more products are not; list 1,000 with --json")


def _print(text: str) -> None:
    output.print_line(output.printable(text))


def _who(issue: RowIssue) -> str:
    if issue.file is not None:
        return f" ({issue.file}, row {issue.file_row})" if issue.row else f" of {issue.file}"
    return f" ({issue.product_id})" if issue.product_id else ""


def _what(issue: RowIssue) -> str:
    return f"{issue.field}: {issue.reason}" if issue.field else issue.reason


def _counted(report: UploadReport) -> Iterator[tuple[str, str]]:
    """Yields the counts of a report, with their names."""
    for name in _COUNTS:
        yield name, f"{getattr(report, name):,}"
        if name == "accepted":
            for part in _OF_ACCEPTED.get(type(report), ()):
                of_sync = report.additions.accepted if isinstance(report, SyncReport) else 0
                yield f"  {part}", f"{of_sync if part == 'added' else getattr(report, part):,}"
    for name, count in (("repeated", report.repeated), ("of earlier runs", report.resumed)):
        if count:
            yield name, f"{count:,}"
    if isinstance(report, UpsertReport):
        yield from ((name, f"{getattr(report, name):,}") for name in _OF_THE_FEED)
    if isinstance(report, SyncReport):
        removed = report.removals.accepted + (report.removals.pending if report.forecast else 0)
        yield "identifiers before", f"{report.identifiers_before:,}"
        yield "  to remove" if report.forecast else "  removed", f"{removed:,}"
        yield "  held back", f"{report.held_back:,}"
        yield "identifiers after", f"{report.identifiers_after:,}"
    yield from _rates(report)


def _rates(report: UploadReport) -> Iterator[tuple[str, str]]:
    """Yields how fast the job was, or what it will take."""
    has_quota = not isinstance(report, UpsertReport)
    if (forecast := report.forecast) is None:
        yield "rows/s", f"{report.rows_per_second:,.0f}"
        yield "seconds", f"{report.elapsed_seconds:,.1f}"
        if has_quota:
            yield "quota used", f"{report.quota_used:.1%}"
        return
    yield "requests needed", f"{forecast.requests:,}"
    yield "bytes needed", f"{forecast.bytes:,}"
    if isinstance(forecast, LoadForecast):
        names = ("new", "changed", "unchanged", "vanished")
        yield from ((f"  {name}", f"{getattr(forecast, name):,}") for name in names)
    if has_quota:
        yield "minutes of quota", f"{forecast.quota_minutes:,.2f}"
