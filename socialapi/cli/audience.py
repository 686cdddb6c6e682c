"""`socialapi audience` and `socialapi do-not-reach`: uploads, syncs and lints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs
from cyclopts import App, Parameter, validators

from socialapi.bulk.progress import OnProgress
from socialapi.cli.options import (
    AllowEmpty,
    AsReport,
    Column,
    DryRun,
    EffectiveAt,
    ExpiresAt,
    Files,
    HeaderLine,
    JournalOption,
    KeyOption,
    LayoutOption,
    MaxRejectShare,
    NoHeader,
    OutcomesOption,
    PhoneFormatOption,
    Region,
    RequireHashed,
    WriteLayout,
    dated_path,
    keywords_of,
    lasting,
    records_of,
    title_of,
    whole_number,
)
from socialapi.cli.run_job import run_job
from socialapi.cli.run_lint import run_lint
from socialapi.client import Client
from socialapi.models.audiences import DO_NOT_REACH_KINDS, IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import DEFAULT_REMOVAL_SHARE, SyncReport, UploadReport

app: Final = App(name="audience")
do_not_reach_app: Final = App(name="do-not-reach")


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ReadingFlags:
    """The options of every command that reads people from files."""

    column: Column = None
    no_header: NoHeader = False
    header_line: HeaderLine = None
    layout: LayoutOption = None
    default_region: Region = None
    phone_format: PhoneFormatOption = "auto"
    require_hashed: RequireHashed = False
    json: AsReport = False


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class RowFlags(ReadingFlags):
    """The options shared by uploads and syncs."""

    account: Annotated[str, Parameter(help="Id of the advertising account.")]
    packing: Annotated[
        Literal["single", "packed"],
        Parameter(help="One user per operation, or many: 12 to 25 times fewer requests, but slower to find bad rows."),
    ] = "single"
    expires_at: ExpiresAt = None
    concurrency: Annotated[
        int | None,
        whole_number(help="Requests in flight at the same time; by default as many as the limit allows.", least=1),
    ] = None
    rejects: Annotated[
        Path | None,
        Parameter(
            help="Write rejected rows here: row (the first below the header is 1), field, reason; no values. Do not "
            "open it in a spreadsheet, which would run cells such as =… as formulas. %Y-%m-%d in the name becomes the date.",
            converter=dated_path,
        ),
    ] = None
    key: KeyOption = None
    outcomes: OutcomesOption = None
    max_reject_share: MaxRejectShare = None
    dry_run: DryRun = False


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class UploadFlags(RowFlags):
    """The options shared by both uploads."""

    operation: Annotated[
        Literal["update", "delete"], Parameter(help="Operation for the users; an operation_type column overrides it.")
    ] = "update"

    journal: JournalOption = None
    allow_empty: AllowEmpty = False

    def keywords(self, command: str, files: Sequence[str], **more: str | None) -> dict[str, Any]:
        """Returns the options of the job. Its journal stores the command, with the options in `more`, for resuming."""
        found = keywords_of(self, "account") | {"operation": self.operation.capitalize(), "flush_after_seconds": None}
        if self.journal is not None:
            from socialapi.cli.jobs import CommandJournal, command_line

            again = command_line((command, "upload"), files, {**more, **attrs.asdict(self)})
            found["journal"] = CommandJournal(self.journal, again)
        return found


@app.command(name="upload")
async def upload_audience(
    files: Files,
    /,
    *,
    audience: Annotated[str, Parameter(help="Id of the custom audience.")],
    effective_at: EffectiveAt = None,
    flags: UploadFlags,
) -> int:
    """Upload one or more files to a custom audience.

    For example: `socialapi audience upload crm.csv --account 18ce54d4x5t --audience 1nmth
    --default-region US --journal crm.journal`. Identifiers are found by the column names (email,
    phone_number, device_id, handle, service_id, partner_user_id and many synonyms), and normalized and
    hashed locally. Exit status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage or unusable
    file, 3 refused by the service or unreachable, 130 interrupted. With --journal, `socialapi jobs
    resume` continues after 3, 130 and a kill.
    """
    keywords = flags.keywords("audience", files, audience=audience, effective_at=effective_at)
    records = records_of(files)

    async def job(client: Client, display: OnProgress) -> UploadReport:
        target = client.ads.account(flags.account).custom_audience(audience)
        return await target.upload(records, effective_at=effective_at, on_progress=display, **keywords)

    return await run_job(job, title_of(files), dry_run=flags.dry_run, as_json=flags.json, journal=keywords["journal"])


@do_not_reach_app.command(name="upload")
async def upload_do_not_reach(
    files: Files,
    /,
    *,
    list_: Annotated[str, Parameter(name="--list", help="Id of the do-not-reach list.")],
    flags: UploadFlags,
) -> int:
    """Upload one or more files to a do-not-reach list: only e-mail addresses and phone numbers.

    For example: `socialapi do-not-reach upload optouts.csv --account 18ce54d4x5t --list 7b2f1`. Exit
    status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage or unusable file, 3 refused by
    the service or unreachable, 130 interrupted. With --journal, `socialapi jobs resume` continues
    after 3, 130 and a kill.
    """
    keywords, records = flags.keywords("do-not-reach", files, list_=list_), records_of(files)

    async def job(client: Client, display: OnProgress) -> UploadReport:
        target = client.ads.account(flags.account).do_not_reach_list(list_)
        return await target.upload(records, on_progress=display, **keywords)

    return await run_job(job, title_of(files), dry_run=flags.dry_run, as_json=flags.json, journal=keywords["journal"])


@app.command(name="sync")
async def sync_audience(
    files: Files,
    /,
    *,
    audience: Annotated[str, Parameter(help="Id of the custom audience.")],
    snapshot: Annotated[
        Path,
        Parameter(
            help="File with the digests of the last sync. The first sync creates it; keep it for the next one.",
            validator=lasting("--snapshot"),
        ),
    ],
    max_removal_share: Annotated[
        float,
        Parameter(
            help="Largest share of the snapshot that may be removed; above it, nothing is sent. 1 allows any.",
            validator=validators.Number(gte=0, lte=1),
        ),
    ] = DEFAULT_REMOVAL_SHARE,
    effective_at: EffectiveAt = None,
    flags: RowFlags,
) -> int:
    """Make a custom audience match a file of all its members: add new users, remove missing ones.

    For example: `socialapi audience sync members.csv --account 18ce54d4x5t --audience 1nmth --snapshot
    members.snapshot`. The file is compared with the snapshot of the last sync, because the service cannot list the
    members of an audience. Additions are sent first. A rejected row or unusable value may belong to a member who only
    seems to have left. If the removals plus these rows and values exceed --max-removal-share, nobody is removed. The
    next sync completes an interrupted one.

    Exit status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage, unusable file, or too many
    removals, 3 refused by the service or unreachable, 130 interrupted.
    """
    keywords, records = keywords_of(flags, "account"), records_of(files)

    async def job(client: Client, display: OnProgress) -> SyncReport:
        target = client.ads.account(flags.account).custom_audience(audience)
        return await target.sync(
            records,
            snapshot=snapshot,
            max_removal_share=max_removal_share,
            effective_at=effective_at,
            on_progress=display,
            **keywords,
        )

    return await run_job(job, title_of(files), dry_run=flags.dry_run, as_json=flags.json, snapshot=snapshot)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class LintFlags(ReadingFlags):
    """The options shared by both lint commands."""

    write_layout: WriteLayout = None
    sample: Annotated[int | None, whole_number(help="Check at most this many rows, from the start.", least=1)] = None
    allow_empty: AllowEmpty = False


NO_FLAGS: Final = LintFlags()


@app.command(name="lint")
async def lint_audience(files: Files, /, *, flags: LintFlags = NO_FLAGS) -> int:
    """Check a file for a custom audience before you upload it. Nothing is sent.

    For example: `socialapi audience lint crm.csv --default-region US`. Exit status: 0 no problems,
    1 unusable rows or values, 2 wrong usage or unusable file.
    """
    return await _lint(files, IDENTIFIER_KINDS, flags, takes_effective_at=True)


@do_not_reach_app.command(name="lint")
async def lint_do_not_reach(files: Files, /, *, flags: LintFlags = NO_FLAGS) -> int:
    """Check a file for a do-not-reach list before you upload it. Nothing is sent.

    For example: `socialapi do-not-reach lint optouts.csv`. Exit status: 0 no problems, 1 unusable
    rows or values, 2 wrong usage or unusable file.
    """
    return await _lint(files, DO_NOT_REACH_KINDS, flags, takes_effective_at=False)


async def _lint(
    files: Sequence[str], kinds: Sequence[IdentifierKind], flags: LintFlags, *, takes_effective_at: bool
) -> int:
    from socialapi.bulk.linting.linter import lint_records

    options = {"kinds": kinds, "takes_effective_at": takes_effective_at, **keywords_of(flags)}
    return await run_lint(lint_records, files, options, as_json=flags.json)
