"""`socialapi audience sync`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from socialapi.bulk.sync.job import DEFAULT_REMOVAL_SHARE
from socialapi.cli.inputs import Files, records_of, title_of
from socialapi.cli.jobs import run_job
from socialapi.cli.progress import ProgressDisplay
from socialapi.cli.upload import RowFlags
from socialapi.client import Client
from socialapi.reports import SyncReport


async def sync_audience(
    files: Files,
    /,
    *,
    audience: Annotated[str, Parameter(help="Id of the custom audience.")],
    snapshot: Annotated[
        Path, Parameter(help="What was synced last, as digests: made by the first sync, to be kept for the next.")
    ],
    max_removal_share: Annotated[
        float,
        Parameter(help="Largest share of the snapshot that may be removed; beyond it nothing is sent. 1 allows all."),
    ] = DEFAULT_REMOVAL_SHARE,
    effective_at: Annotated[str | None, Parameter(help="Start of membership, ISO 8601 with a time zone.")] = None,
    flags: RowFlags,
) -> int:
    """Bring a custom audience to what a file says, with everybody who belongs to it: add who is new, remove who is not there.

    Compared is with the snapshot of the last sync, not with the service, which cannot be asked. Additions are sent
    first. With rejected rows or unusable values nobody is removed if they could make up more than --max-removal-share, as
    each may mean somebody who seems to have left. What is interrupted is made good by the next sync.

    Exit status: 0 nothing rejected, 1 some rows rejected, 2 wrong usage, unusable file, or too many removals, 3
    refused by the service or unreachable, 130 interrupted.
    """
    records = records_of(files)

    async def job(client: Client, display: ProgressDisplay) -> SyncReport:
        target = client.ads.account(flags.account).custom_audience(audience)
        return await target.sync(
            records,
            snapshot=snapshot,
            max_removal_share=max_removal_share,
            effective_at=effective_at,
            **flags.row_keywords(display),
        )

    title = f"{title_of(files)} → audience {audience}"
    return await run_job(job, title, dry_run=flags.dry_run, as_json=flags.json)
