"""Runs a lint and prints its report."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from socialapi.bulk.progress import ProgressDisplay
from socialapi.cli import output
from socialapi.cli.options import records_of, telling_how_to_allow_nothing, title_of
from socialapi.reports import LintReport

KIND_COUNTS: Final = ("present", "usable", "digests", "placeholders")
FIELD_COUNTS: Final = ("present", "usable", "cleaned")


async def run_lint(
    lint: Callable[..., Awaitable[LintReport]],
    files: Sequence[str],
    options: Mapping[str, Any],
    *,
    as_json: bool,
    is_feed: bool = False,
) -> int:
    """Lints the files, prints the report, and returns the exit status."""
    with telling_how_to_allow_nothing(), ProgressDisplay(title_of(files), is_quiet=output.is_quiet()) as display:
        report = await lint(records_of(files), on_progress=display, **options)
    if as_json:
        output.print_line(orjson.dumps(report.to_dict()).decode())
    else:
        _show(report, is_feed=is_feed, sample=options["sample"])
    if report.broken_off is not None:
        output.say(f"the input broke off: {output.in_options(report.broken_off)}")
        return output.USAGE
    if options.get("write_layout") is not None:
        output.say(f"the layout was written to {options['write_layout']}")
    return output.SOME_REJECTED if report.has_errors else output.DONE


def _show(report: LintReport, *, is_feed: bool, sample: int | None) -> None:
    lines = [
        ("rows", f"{report.rows:,}"),
        ("  to be rejected" if is_feed else "  without a usable identifier", f"{report.unusable_rows:,}"),
        *([] if is_feed else [("  with several", f"{report.rows_with_several:,}")]),
        ("duplicates", f"{'' if report.duplicates_are_exact else '~ '}{report.duplicates:,}"),
    ]
    output.print_pairs(lines, are_numbers=True)
    if report.kinds:
        output.print_line("")
        _show_kinds(report, ("field", *FIELD_COUNTS) if is_feed else ("kind", *KIND_COUNTS))
    output.print_line("")
    for column in report.columns:
        output.print_text(f"column {column.name}: {column.kind}")
    if report.ignored_columns:
        output.print_text(f"ignored: {output.listed(report.ignored_columns)}")
    for finding in report.findings:
        output.print_text(f"{'error' if finding.is_error else 'note'}: {output.in_options(finding.text)}")
    output.print_text(
        f"risk of {'rejected products' if is_feed else 'few matches'}: {report.match_risk} ({_basis(report, is_feed, sample)})"
    )


def _basis(report: LintReport, is_feed: bool, sample: int | None) -> str:
    """Returns the basis of the estimated risk."""
    usable = report.rows - report.unusable_rows
    of = (
        f"of {report.rows:,} rows"
        if report.rows != sample
        else f"of the first {report.rows:,} rows, which are the only rows read,"
    )
    if is_feed:
        return f"counted: {report.unusable_rows:,} {of} would be rejected by the rules that lint checks"
    return (
        f"a rule of thumb: {usable:,} {of} have a usable identifier; how many of them the service can match is unknown"
    )


def _show_kinds(report: LintReport, names: Sequence[str]) -> None:
    what, *counts = names
    rows = [[what, *("understood" if name == "cleaned" else name for name in counts)]]
    rows += [[kind.kind, *(f"{getattr(kind, name):,}" for name in counts)] for kind in report.kinds]
    first, *widths = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    for name, *numbers in rows:
        output.print_line("  ".join((f"{name:<{first}}", *map(str.rjust, numbers, widths))))
