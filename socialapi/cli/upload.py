"""`socialapi audience upload` and `socialapi do-not-reach upload`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, Literal, cast

import attrs
import orjson
from cyclopts import Parameter
from rich.table import Table

from socialapi.bulk.audience_job import OnProgress
from socialapi.cli import exits
from socialapi.cli.connecting import open_client
from socialapi.cli.options import whole_number
from socialapi.cli.output import Output
from socialapi.cli.progress import ProgressDisplay
from socialapi.client import Client
from socialapi.config import Config
from socialapi.errors import BulkError, InvalidInput
from socialapi.models.audiences import OperationType
from socialapi.reports import RowIssue, UploadReport
from socialapi.resources.ads.uploads import UploadKeywords

ISSUES_SHOWN: Final = 5


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class UploadFlags:
    """What both uploads take."""

    account: Annotated[str, Parameter(help="Id of the advertising account.")]
    operation: Annotated[
        Literal["update", "delete"], Parameter(help="What to do with the users; a column operation_type overrides it.")
    ] = "update"
    packing: Annotated[
        Literal["single", "packed"],
        Parameter(help="One user per operation, or many: 12 to 25 times fewer requests, slower to find a bad row."),
    ] = "single"
    column: Annotated[
        list[str] | None,
        Parameter(
            help="Column that holds an identifier, as KIND=NAME (email=Contact); repeatable. KIND= ignores a kind.",
            negative=(),
        ),
    ] = None
    default_region: Annotated[
        str | None, Parameter(help="Country of phone numbers without a country code, as two letters (US).")
    ] = None
    expires_at: Annotated[str | None, Parameter(help="End of membership, ISO 8601 with a time zone.")] = None
    concurrency: Annotated[
        int | None, whole_number(help="Requests on their way at once; by default as many as fill the rate limit.")
    ] = None
    rejects: Annotated[
        Path | None,
        Parameter(help="Write rejected rows here: row (the first below the header is 1), field, reason; no values."),
    ] = None
    dry_run: Annotated[
        bool, Parameter(help="Read and check everything, send nothing, and forecast the job.", negative=())
    ] = False
    json: Annotated[
        bool, Parameter(help="Print the report as one JSON object, the last line of the output.", negative=())
    ] = False

    def keywords(self, on_progress: OnProgress) -> UploadKeywords:
        """The options of the job."""
        return UploadKeywords(
            operation=cast("OperationType", self.operation.capitalize()),
            packing=self.packing,
            columns=_mapping(self.column),
            default_region=self.default_region,
            expires_at=self.expires_at,
            concurrency="auto" if self.concurrency is None else self.concurrency,
            rejects=self.rejects,
            dry_run=self.dry_run,
            on_progress=on_progress,
        )


async def upload_audience(
    file: Annotated[Path, Parameter(help="CSV (any usual delimiter) or JSON Lines, in UTF-8.")],
    /,
    *,
    audience: Annotated[str, Parameter(help="Id of the custom audience.")],
    effective_at: Annotated[str | None, Parameter(help="Start of membership, ISO 8601 with a time zone.")] = None,
    flags: UploadFlags,
) -> int:
    """Upload a CSV or JSON Lines file to a custom audience.

    Identifiers are found by the column names (email, phone_number, device_id, handle, service_id, partner_user_id and
    many synonyms), normalised and hashed here. Exit status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage
    or unusable file, 3 refused by the service or unreachable, 130 interrupted.
    """

    async def job(client: Client, display: ProgressDisplay) -> UploadReport:
        target = client.ads.account(flags.account).custom_audience(audience)
        return await target.upload(file, effective_at=effective_at, **flags.keywords(display))

    return await _run(job, f"{file.name} → audience {audience}", flags)


async def upload_do_not_reach(
    file: Annotated[Path, Parameter(help="CSV (any usual delimiter) or JSON Lines, in UTF-8.")],
    /,
    *,
    list_: Annotated[str, Parameter(name="--list", help="Id of the do-not-reach list.")],
    flags: UploadFlags,
) -> int:
    """Upload a CSV or JSON Lines file to a do-not-reach list: e-mail addresses and phone numbers only.

    Exit status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage or unusable file, 3 refused by the service or
    unreachable, 130 interrupted.
    """

    async def job(client: Client, display: ProgressDisplay) -> UploadReport:
        target = client.ads.account(flags.account).do_not_reach_list(list_)
        return await target.upload(file, **flags.keywords(display))

    return await _run(job, f"{file.name} → do-not-reach list {list_}", flags)


async def _run(
    job: Callable[[Client, ProgressDisplay], Awaitable[UploadReport]], title: str, flags: UploadFlags
) -> int:
    display = ProgressDisplay(title)
    try:
        with display:
            # Nothing is sent in a dry run, so half a set of credentials is no obstacle.
            async with Client(Config.from_env()) if flags.dry_run else open_client() as client:
                report = await job(client, display)
    except BulkError as stopped:
        show(stopped.report, as_json=flags.json)
        raise
    except asyncio.CancelledError:
        if display.last is not None:
            show(display.last.report, as_json=flags.json)
        raise
    show(report, as_json=flags.json)
    return exits.SOME_REJECTED if report.rejected else exits.DONE


def show(report: UploadReport, *, as_json: bool) -> None:
    """Prints a report on standard output."""
    if as_json:
        print(orjson.dumps(report.to_dict()).decode(), flush=True)
        return
    console = Output()
    console.print(_table(report))
    if report.pending and report.forecast is None:
        console.print(
            "Pending rows, and what was not read, have no outcome yet; uploading the same file again is safe."
        )
    for issue in report.rejects[:ISSUES_SHOWN]:
        console.print(f"row {issue.row}: {_of(issue)}", markup=False)
    if report.rejected > ISSUES_SHOWN:
        where = f"all of them in {report.rejects_path}" if report.rejects_path else "list all with --rejects FILE"
        console.print(f"… {report.rejected - ISSUES_SHOWN:,} more rejected rows; {where}", markup=False)
    for issue in report.warning_details[:ISSUES_SHOWN]:
        console.print(f"row {issue.row}, sent without {_of(issue)}", markup=False)
    if report.warnings > ISSUES_SHOWN:
        console.print(f"… {report.warnings - ISSUES_SHOWN:,} more fields left out", markup=False)


def _of(issue: RowIssue) -> str:
    return f"{issue.field}: {issue.reason}" if issue.field else issue.reason


def _table(report: UploadReport) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for name in ("read", "accepted", "rejected", "duplicate", "pending", "warnings", "requests", "retries"):
        table.add_row(name, f"{getattr(report, name):,}")
    if report.forecast is not None:
        table.add_row("requests needed", f"{report.forecast.requests:,}")
        table.add_row("bytes needed", f"{report.forecast.bytes:,}")
        table.add_row("minutes of quota", f"{report.forecast.quota_minutes:,.2f}")
    else:
        table.add_row("rows/s", f"{report.rows_per_second:,.0f}")
        table.add_row("seconds", f"{report.elapsed_seconds:,.1f}")
        table.add_row("quota used", f"{report.quota_used:.1%}")
    return table


def _mapping(columns: list[str] | None) -> dict[str, list[str]] | None:
    mapping: dict[str, list[str]] = {}
    for text in columns or ():
        kind, equals, name = text.partition("=")
        if not equals or not kind:
            raise InvalidInput(f"--column takes KIND=NAME, for example --column email=Contact, not {text!r}")
        mapping.setdefault(kind, []).extend([name] if name else [])
    return mapping or None
