"""Runs a lint and prints its report."""

from collections.abc import Awaitable, Sequence
from typing import Final

import orjson
from rich.console import Console
from rich.table import Table

from socialapi.cli import output
from socialapi.cli.options import telling_how_to_allow_nothing
from socialapi.cli.output import Output
from socialapi.reports import LintReport

KIND_COUNTS: Final = ("present", "usable", "digests", "placeholders")
FIELD_COUNTS: Final = ("present", "usable", "mended")


async def run_lint(lint: Awaitable[LintReport], *, as_json: bool, is_feed: bool = False) -> int:
    """Prints the report of a lint, and returns the exit status."""
    with telling_how_to_allow_nothing():
        report = await lint
    if as_json:
        print(orjson.dumps(report.to_dict()).decode(), flush=True)
    else:
        _show(report, is_feed=is_feed)
    if report.broken_off is not None:
        output.say(f"the input broke off: {report.broken_off}")
        return output.USAGE
    return output.SOME_REJECTED if report.has_errors else output.DONE


def _show(report: LintReport, *, is_feed: bool) -> None:
    console = Output()
    console.print(_rows(report, is_feed=is_feed))
    if report.kinds:
        console.print()
        console.print(_kinds(report, ("field", *FIELD_COUNTS) if is_feed else ("kind", *KIND_COUNTS)))
    _say(console, "")
    for column in report.columns:
        _say(console, f"column {column.name}: {column.kind}")
    if report.ignored_columns:
        _say(console, f"ignored: {output.listed(report.ignored_columns)}")
    for finding in report.findings:
        _say(console, f"{'error' if finding.is_error else 'note'}: {finding.text}")
    what = "rejected products" if is_feed else "few matches"
    _say(console, f"risk of {what}: {report.match_risk}")


def _rows(report: LintReport, *, is_feed: bool) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("rows", f"{report.rows:,}")
    table.add_row("  to be rejected" if is_feed else "  without a usable identifier", f"{report.unusable_rows:,}")
    if not is_feed:
        table.add_row("  with several", f"{report.rows_with_several:,}")
    table.add_row("duplicates", f"{'' if report.duplicates_are_exact else '~ '}{report.duplicates:,}")
    return table


def _kinds(report: LintReport, names: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    what, *counts = names
    table.add_column(what)
    for name in counts:
        table.add_column("understood" if name == "mended" else name, justify="right")
    for kind in report.kinds:
        table.add_row(kind.kind, *(f"{getattr(kind, name):,}" for name in counts))
    return table


def _say(console: Console, text: str) -> None:
    console.print(output.printable(text), markup=False, soft_wrap=True)
