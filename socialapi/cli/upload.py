"""`socialapi audience upload` and `socialapi do-not-reach upload`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

import attrs
from cyclopts import Parameter

from socialapi.bulk.job import OnProgress
from socialapi.bulk.journals.journal import Journal
from socialapi.cli.inputs import Column, Files, Region, mapping_of, records_of, title_of
from socialapi.cli.job_registry import RegisteredJournal, command_line
from socialapi.cli.jobs import run_job
from socialapi.cli.options import AllowEmpty, JournalOption, MaxRejectShare, whole_number
from socialapi.cli.progress import ProgressDisplay
from socialapi.client import Client
from socialapi.models.audiences import OperationType
from socialapi.reports import UploadReport
from socialapi.resources.audiences import RowKeywords, UploadKeywords


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class RowFlags:
    """What uploads and syncs take."""

    account: Annotated[str, Parameter(help="Id of the advertising account.")]
    packing: Annotated[
        Literal["single", "packed"],
        Parameter(help="One user per operation, or many: 12 to 25 times fewer requests, slower to find a bad row."),
    ] = "single"
    column: Column = None
    default_region: Region = None
    expires_at: Annotated[str | None, Parameter(help="End of membership, ISO 8601 with a time zone.")] = None
    concurrency: Annotated[
        int | None, whole_number(help="Requests on their way at once; by default as many as fill the rate limit.")
    ] = None
    rejects: Annotated[
        Path | None,
        Parameter(
            help="Write rejected rows here: row (the first below the header is 1), field, reason; no values. For programs: "
            "a spreadsheet takes cells such as =… for formulas."
        ),
    ] = None
    max_reject_share: MaxRejectShare = None
    dry_run: Annotated[
        bool, Parameter(help="Read and check everything, send nothing, and forecast the job.", negative=())
    ] = False
    json: Annotated[
        bool, Parameter(help="Print the report as one JSON object, the last line of the output.", negative=())
    ] = False

    def row_keywords(self, on_progress: OnProgress) -> RowKeywords:
        """The options of the job."""
        return RowKeywords(
            packing=self.packing,
            columns=mapping_of(self.column),
            default_region=self.default_region,
            expires_at=self.expires_at,
            concurrency="auto" if self.concurrency is None else self.concurrency,
            rejects=self.rejects,
            max_reject_share=self.max_reject_share,
            dry_run=self.dry_run,
            on_progress=on_progress,
        )


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class UploadFlags(RowFlags):
    """What both uploads take."""

    operation: Annotated[
        Literal["update", "delete"], Parameter(help="What to do with the users; a column operation_type overrides it.")
    ] = "update"

    journal: JournalOption = None
    allow_empty: AllowEmpty = False

    def kept(self, command: str, files: Sequence[str], **more: str | None) -> RegisteredJournal | None:
        """The journal, which knows how to run the command again; `more` are the options that only it has."""
        if self.journal is None:
            return None
        options = {**more, **attrs.asdict(self)}
        return RegisteredJournal(self.journal, command_line((command, "upload"), files, options))

    def keywords(self, on_progress: OnProgress, journal: Journal | None) -> UploadKeywords:
        """The options of the job."""
        operation = cast("OperationType", self.operation.capitalize())
        return UploadKeywords(
            operation=operation, journal=journal, allow_empty=self.allow_empty, **self.row_keywords(on_progress)
        )


async def upload_audience(
    files: Files,
    /,
    *,
    audience: Annotated[str, Parameter(help="Id of the custom audience.")],
    effective_at: Annotated[str | None, Parameter(help="Start of membership, ISO 8601 with a time zone.")] = None,
    flags: UploadFlags,
) -> int:
    """Upload CSV, JSON Lines or Parquet to a custom audience.

    Identifiers are found by the column names (email, phone_number, device_id, handle, service_id, partner_user_id and
    many synonyms), normalised and hashed here. Exit status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage
    or unusable file, 3 refused by the service or unreachable, 130 interrupted. With --journal, `socialapi jobs resume`
    goes on after 3, 130 and a kill.
    """
    journal, records = flags.kept("audience", files, audience=audience, effective_at=effective_at), records_of(files)

    async def job(client: Client, display: ProgressDisplay) -> UploadReport:
        target = client.ads.account(flags.account).custom_audience(audience)
        return await target.upload(records, effective_at=effective_at, **flags.keywords(display, journal))

    title = f"{title_of(files)} → audience {audience}"
    return await run_job(job, title, dry_run=flags.dry_run, as_json=flags.json, journal=journal)


async def upload_do_not_reach(
    files: Files,
    /,
    *,
    list_: Annotated[str, Parameter(name="--list", help="Id of the do-not-reach list.")],
    flags: UploadFlags,
) -> int:
    """Upload CSV, JSON Lines or Parquet to a do-not-reach list: e-mail addresses and phone numbers only.

    Exit status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage or unusable file, 3 refused by the service or
    unreachable, 130 interrupted. With --journal, `socialapi jobs resume` goes on after 3, 130 and a kill.
    """
    journal, records = flags.kept("do-not-reach", files, list_=list_), records_of(files)

    async def job(client: Client, display: ProgressDisplay) -> UploadReport:
        target = client.ads.account(flags.account).do_not_reach_list(list_)
        return await target.upload(records, **flags.keywords(display, journal))

    title = f"{title_of(files)} → do-not-reach list {list_}"
    return await run_job(job, title, dry_run=flags.dry_run, as_json=flags.json, journal=journal)
