"""`socialapi audience lint` and `socialapi do-not-reach lint`: a look at an input before it is uploaded."""

from collections.abc import Sequence
from typing import Annotated, Final

import attrs
import orjson
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from socialapi.bulk.linting.linter import lint_records
from socialapi.cli import exits
from socialapi.cli.inputs import Column, Files, Region, mapping_of, records_of, telling_how_to_allow_nothing
from socialapi.cli.options import AllowEmpty, whole_number
from socialapi.cli.output import Output
from socialapi.models.audiences import DO_NOT_REACH_KINDS, IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import LintReport

_COUNTS: Final = ("present", "usable", "digests", "placeholders")


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class LintFlags:
    """What both looks take."""

    column: Column = None
    default_region: Region = None
    sample: Annotated[int | None, whole_number(help="Look at so many rows at most, the first ones.", least=1)] = None
    allow_empty: AllowEmpty = False
    json: Annotated[
        bool, Parameter(help="Print the report as one JSON object, the last line of the output.", negative=())
    ] = False


NO_FLAGS: Final = LintFlags()


async def lint_audience(files: Files, /, *, flags: LintFlags = NO_FLAGS) -> int:
    """Look at an input for a custom audience before it is uploaded, and say what to expect; nothing is sent.

    Exit status: 0 fine, 1 rows or values that are of no use, 2 wrong usage or unusable file.
    """
    return await _lint(files, IDENTIFIER_KINDS, flags, takes_effective_at=True)


async def lint_do_not_reach(files: Files, /, *, flags: LintFlags = NO_FLAGS) -> int:
    """Look at an input for a do-not-reach list before it is uploaded, and say what to expect; nothing is sent.

    Exit status: 0 fine, 1 rows or values that are of no use, 2 wrong usage or unusable file.
    """
    return await _lint(files, DO_NOT_REACH_KINDS, flags, takes_effective_at=False)


async def _lint(
    files: Sequence[str], kinds: Sequence[IdentifierKind], flags: LintFlags, *, takes_effective_at: bool
) -> int:
    with telling_how_to_allow_nothing():
        report = await lint_records(
            records_of(files),
            columns=mapping_of(flags.column),
            kinds=kinds,
            default_region=flags.default_region,
            sample=flags.sample,
            takes_effective_at=takes_effective_at,
            allow_empty=flags.allow_empty,
        )
    if flags.json:
        print(orjson.dumps(report.to_dict()).decode(), flush=True)
    else:
        _show(report)
    if report.broken_off is not None:
        exits.say(f"the input broke off: {report.broken_off}")
        return exits.USAGE
    return exits.SOME_REJECTED if report.has_errors else exits.DONE


def _show(report: LintReport) -> None:
    console = Output()
    console.print(_rows(report))
    if report.kinds:
        console.print()
        console.print(_kinds(report))
    _say(console, "")
    for column in report.columns:
        _say(console, f"column {column.name}: {column.kind}")
    if report.ignored_columns:
        _say(console, f"ignored: {', '.join(report.ignored_columns)}")
    for finding in report.findings:
        _say(console, f"{'error' if finding.is_error else 'note'}: {finding.text}")
    _say(console, f"risk of few matches: {report.match_risk}")


def _rows(report: LintReport) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("rows", f"{report.rows:,}")
    table.add_row("  without a usable identifier", f"{report.unusable_rows:,}")
    table.add_row("  with several", f"{report.rows_with_several:,}")
    table.add_row("duplicates", f"{'' if report.duplicates_are_exact else '~ '}{report.duplicates:,}")
    return table


def _kinds(report: LintReport) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("kind")
    for name in _COUNTS:
        table.add_column(name, justify="right")
    for kind in report.kinds:
        table.add_row(kind.kind, *(f"{getattr(kind, name):,}" for name in _COUNTS))
    return table


def _say(console: Console, text: str) -> None:
    console.print(exits.printable(text), markup=False, soft_wrap=True)
