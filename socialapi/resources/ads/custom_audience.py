"""Custom audiences (advertising documentation, sections 4.8 and 4.9)."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from socialapi.bulk.audiences.upload_options import Destination
from socialapi.bulk.linting.linter import lint_records
from socialapi.bulk.reading.readers import Records
from socialapi.models.audiences import IDENTIFIER_KINDS, Operation, TargetingCampaign, UploadCounts
from socialapi.reports import LintReport, SyncReport, UploadReport
from socialapi.resources.ads.uploads import (
    AudienceUploadKeywords,
    LintKeywords,
    SyncKeywords,
    check_options,
    run_upload,
    send_operations,
)
from socialapi.resources.arguments import check_argument
from socialapi.resources.resource import Resource
from socialapi.routes import ads as routes
from socialapi.session.calls import CallOptions
from socialapi.session.pager import Pager
from socialapi.session.session import Session
from socialapi.unset import UNSET, Unset
from socialapi.wire.request import path_id


class _KnownToSync(SyncKeywords, total=False):
    """The options of a sync, and one of which it says itself why it does not take it."""

    journal: object


class CustomAudience(Resource):
    """One custom audience, by id."""

    def __init__(
        self, session: Session, options: CallOptions, account_id: str | int, custom_audience_id: str | int
    ) -> None:
        super().__init__(session, options)
        self._path = {
            "account_id": path_id("account_id", account_id),
            "custom_audience_id": path_id("custom_audience_id", custom_audience_id),
        }
        self._destination = Destination(
            kind="audience upload",
            target=routes.CUSTOM_AUDIENCE_USERS.at(**self._path),
            kinds=IDENTIFIER_KINDS,
            takes_effective_at=True,
        )

    async def send(
        self,
        operations: Operation | Mapping[str, Any] | Iterable[Operation | Mapping[str, Any]],
        *,
        default_region: str | None = None,
    ) -> UploadCounts:
        """Sends up to 2,500 operations in one request, which succeeds or fails as a whole (section 4.9).

        Identifiers may be raw or hashed: raw ones are normalised and hashed here. Returns the counts, both equal to
        the number of users sent; other counts are retried. Raises InvalidInput, with every broken rule, before
        anything is sent; ApiError with `operation_errors` when the service refuses single operations.
        """
        return await send_operations(self._session, self._options, self._destination, operations, default_region)

    async def upload(self, records: Records, **options: Unpack[AudienceUploadKeywords]) -> UploadReport:
        """Uploads any number of rows as a job, and reports what became of every one (section 4.9).

        `records` is the path of a file (CSV, JSON Lines or Parquet, packed or not), a pattern or a list of paths, an open
        binary file, a table (pandas, Polars, pyarrow, DuckDB), or an iterable or async iterable of `AudienceUser`,
        `Operation` or mappings. Identifiers are normalised and hashed, packed into requests of at most 2,500 operations and
        5,000,000 bytes, and sent as fast as the rate limit allows; failures are repeated, and rows that the service
        refuses are isolated from the others of their batch.

        Raises InvalidInput for options and input that cannot be used at all, BulkError with the report so far when
        the service refuses the whole job, cannot be reached for `Config.max_elapsed_seconds`, or the input breaks.
        """
        check_options(AudienceUploadKeywords, options)
        return await run_upload(self._session, self._options, self._destination, records, options)

    async def sync(
        self, desired: Records, *, snapshot: str | os.PathLike[str], **options: Unpack[SyncKeywords]
    ) -> SyncReport:
        """Brings the audience from what was synced last to what is desired, by additions and removals (section 4.9).

        `desired` is what `upload` takes, except for operations: every row belongs to the audience. `snapshot` is a file
        of this audience, made by the first sync, that holds a digest of each identifier and nothing else. Rows with an
        identifier that is not in it are added, whole; then the identifiers in it that are in no row are removed. It is
        brought up to date from what the service accepted, so that a sync after a crash is right whatever was lost.

        Raises what `upload` raises, ConfigurationError for a snapshot of another audience, and BulkError before anything
        is sent when the input breaks, or when more than `max_removal_share` of the identifiers would be removed.
        """
        from socialapi.bulk.sync.sync_job import SyncOptions, sync

        check_argument("snapshot", str | os.PathLike[str], snapshot)
        check_options(_KnownToSync, options)
        settings = SyncOptions(snapshot=snapshot, **options)
        return await sync(self._session, self._destination, desired, settings, self._options)

    async def lint(self, records: Records, **options: Unpack[LintKeywords]) -> LintReport:
        """Reads what `upload` would be given, and says what it has to expect of it; nothing is sent.

        Which columns hold identifiers, how many of their values can be used, how many rows would be rejected or repeat
        others, what is hashed and what is hashed wrongly, and how likely it is that few of them are matched. Memory stays
        flat, and no value is in the report. Raises InvalidInput as `upload` does.
        """
        check_options(LintKeywords, options)
        return await lint_records(
            records,
            kinds=self._destination.kinds,
            takes_effective_at=self._destination.takes_effective_at,
            now=self._session.now(),
            **options,
        )

    def targeted(self, *, with_active: bool | Unset = UNSET, start: str | None = None) -> Pager[TargetingCampaign]:
        """The campaigns and line items that target the audience (section 4.8).

        `with_active=False` also lists line items that cannot be served; without it they are left out. `start` is a stored
        position.
        """
        query = {"with_active": with_active}
        return self._session.pages(routes.TARGETED.at(**self._path), options=self._options, query=query, start=start)
