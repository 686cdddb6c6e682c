"""Runs a job with its progress, and prints its report."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import orjson

from socialapi.bulk.job import LimitExceeded
from socialapi.bulk.progress import OnProgress, ProgressDisplay
from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.options import telling_how_to_allow_nothing
from socialapi.client import Client
from socialapi.config import Config
from socialapi.errors import BulkError, InvalidInput
from socialapi.reports import (
    ABOUT_VALUES,
    IS_NOT_READ,
    IssueGroup,
    LoadForecast,
    RowIssue,
    SyncReport,
    UploadReport,
    UpsertReport,
)

if TYPE_CHECKING:
    from socialapi.cli.jobs import CommandJournal

GROUPS_SHOWN: Final = 10
ROWS_SHOWN: Final = 5
PRODUCTS_SHOWN: Final = 5

RunJob = Callable[[Client, OnProgress], Awaitable[UploadReport]]

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

    If the job stops and has a journal or a snapshot, prints how to continue, unless an error in the input caused the
    stop.
    """
    display = ProgressDisplay(title, is_quiet=output.is_quiet())
    try:
        with telling_how_to_allow_nothing(), display:
            # A dry run sends nothing, so incomplete credentials do not matter.
            async with Client(Config.from_env()) if dry_run else open_client() as client:
                report = await job(client, display)
    except BulkError as stopped:
        did_nothing = isinstance(stopped.report, SyncReport) or not stopped.report.requests
        is_guard = did_nothing and isinstance(stopped.__cause__, LimitExceeded)
        if as_json or not is_guard:  # the row counts would hide why the job did nothing
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
    """Prints the report of a stopped job. If printing fails, the job's error is still raised."""
    try:
        show(report, as_json=as_json)
    except OSError as problem:
        output.say_problem(problem)


def _say_how_to_resume(journal: "CommandJournal | None", snapshot: Path | None, *, dry_run: bool) -> None:
    if snapshot is not None and not dry_run:
        output.say(f"the accepted changes are saved in {snapshot}. To continue, run the same command again")
    if journal is not None and journal.how_to_resume is not None:
        output.say(f"progress is saved in {journal.path}. To resume, run {journal.how_to_resume}")


def show(report: UploadReport, *, as_json: bool) -> None:
    """Prints a report to standard output. Ignores a closed standard output, because the job is done."""
    if sys.stdout is None:
        return
    if as_json:
        groups = {
            name: [
                {**attrs.asdict(each), "first": [issue.row for issue in each.first]} for each in getattr(report, name)
            ]
            for name in ("reject_groups", "warning_groups")
        }
        output.print_line(orjson.dumps(report.summary() | groups).decode())
        return
    output.print_pairs(_counted(report), are_numbers=True)
    removals = report.removals.pending if isinstance(report, SyncReport) else 0
    if (report.pending or removals) and report.forecast is None:
        again = _AGAIN.get(type(report), "uploading")
        output.print_text(f"Pending and unread rows have no outcome yet; {again} the same file again is safe.")
    for group in report.reject_groups[:GROUPS_SHOWN]:
        _show_group(group, ": ", _what(group))
    if more := report.rejected - sum(min(group.count, ROWS_SHOWN) for group in report.reject_groups[:GROUPS_SHOWN]):
        where = f"all of them in {report.rejects_path}" if report.rejects_path else "list all with --rejects FILE"
        output.print_text(f"… {more:,} more rejected rows; {where}")
    _show_warnings(report)
    if report.ignored_columns:
        output.print_text(f"columns that were not read: {output.listed(report.ignored_columns)}")
    if isinstance(report, SyncReport):
        _show_removals(report)
    if isinstance(report, UpsertReport):
        _show_vanished(report)


def _show_warnings(report: UploadReport) -> None:
    """Prints each warning reason once, with its rows."""
    is_load = isinstance(report, UpsertReport)
    for group in report.warning_groups[:GROUPS_SHOWN]:
        issue = group.first[0]
        if group.reason.startswith(IS_NOT_READ):
            output.print_text(f"column {group.field}{_who(issue)} {_reason(group)}")
        elif group.reason.startswith(ABOUT_VALUES):
            _show_group(group, ": ", f"{group.field} {_reason(group)}")
        elif not issue.row and issue.product_id is None:
            output.print_text(f"{issue.file}: {_reason(group)}" if issue.file else _reason(group))
        elif not issue.row:
            _show_group(group, ": ", _reason(group))
        else:
            _show_group(group, ", with a warning: " if is_load else ", sent without ", _what(group))
    if more := sum(group.count for group in report.warning_groups[GROUPS_SHOWN:]):
        output.print_text(f"… {more:,} more warnings, for {len(report.warning_groups) - GROUPS_SHOWN:,} other reasons")


def _show_group(group: IssueGroup, how: str, what: str) -> None:
    """Prints a reason with its row, or with the number of rows and the first few of them."""
    rows = [f"row {each.row}{_who(each)}" if each.row else f"product {each.product_id}" for each in group.first]
    if group.count == 1:
        output.print_text(f"{rows[0]}{how}{what}")
        return
    output.print_text(
        f"{group.count:,} rows{how}{what} ({', '.join(rows[:ROWS_SHOWN])}{', …' * (group.count > ROWS_SHOWN)})"
    )


def _show_removals(report: SyncReport) -> None:
    for group in report.removals.reject_groups[:GROUPS_SHOWN]:
        output.print_text(f"{'an identifier' if group.count == 1 else f'{group.count:,} identifiers'} {_what(group)}")
    if report.held_back and report.rejected:
        output.print_text(
            f"{report.held_back:,} identifiers that are missing from the input were kept, because rejected rows may contain "
            "them: correct these rows, or allow the removal with --max-removal-share 1"
        )


def _show_vanished(report: UpsertReport) -> None:
    for product_id in report.vanished_ids[:PRODUCTS_SHOWN]:
        output.print_text(f"no longer in the feed: {product_id}")
    if report.vanished > PRODUCTS_SHOWN:
        output.print_text(
            f"… {report.vanished - PRODUCTS_SHOWN:,} more products are not in the feed; --json lists up to 1,000"
        )


def _who(issue: RowIssue) -> str:
    if issue.file is not None:
        return f" ({issue.file}, row {issue.file_row})" if issue.row else f" of {issue.file}"
    return f" ({issue.product_id})" if issue.product_id else ""


def _what(issue: RowIssue | IssueGroup) -> str:
    return f"{issue.field}: {_reason(issue)}" if issue.field else _reason(issue)


def _reason(issue: RowIssue | IssueGroup) -> str:
    return output.in_options(issue.reason, calls_only=True)


def _counted(report: UploadReport) -> Iterator[tuple[str, str]]:
    """Yields the names and counts of a report."""
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
    """Yields the speed of the job, or its forecast."""
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
