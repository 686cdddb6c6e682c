"""Do-not-reach lists (advertising documentation, section 4.10)."""

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from socialapi.bulk.audiences.upload_options import Destination
from socialapi.bulk.linting.linter import lint_records
from socialapi.bulk.reading.readers import Records
from socialapi.models.audiences import (
    DEFAULT_EXPIRY_MONTHS,
    DO_NOT_REACH_KINDS,
    DoNotReachList,
    Operation,
    UploadCounts,
)
from socialapi.reports import LintReport, UploadReport
from socialapi.resources.ads.uploads import LintKeywords, UploadKeywords, check_options, run_upload, send_operations
from socialapi.resources.resource import Resource
from socialapi.routes import ads as routes
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.wire.request import path_id


class DoNotReachListResource(Resource):
    """One do-not-reach list, by id."""

    def __init__(
        self, session: Session, options: CallOptions, account_id: str | int, do_not_reach_list_id: str | int
    ) -> None:
        super().__init__(session, options)
        self._path = {
            "account_id": path_id("account_id", account_id),
            "do_not_reach_list_id": path_id("do_not_reach_list_id", do_not_reach_list_id),
        }
        self._destination = Destination(
            kind="do-not-reach upload",
            target=routes.DO_NOT_REACH_USERS.at(**self._path),
            kinds=DO_NOT_REACH_KINDS,
            takes_effective_at=False,
            default_expiry_months=DEFAULT_EXPIRY_MONTHS,
        )

    async def send(
        self,
        operations: Operation | Mapping[str, Any] | Iterable[Operation | Mapping[str, Any]],
        *,
        default_region: str | None = None,
    ) -> UploadCounts:
        """Sends up to 2,500 operations in one request, which succeeds or fails as a whole (section 4.10).

        As `CustomAudience.send`, with e-mail addresses and phone numbers only and without `effective_at`. Returns
        the sums of the counts of all operations.
        """
        return await send_operations(self._session, self._options, self._destination, operations, default_region)

    async def upload(self, records: Records, **options: Unpack[UploadKeywords]) -> UploadReport:
        """Uploads any number of rows as a job, and reports what became of every one (section 4.10).

        As `CustomAudience.upload`, with e-mail addresses and phone numbers only and without `effective_at`.
        `expires_at` is always sent: 13 months after the start of the job unless given.
        """
        check_options(UploadKeywords, options)
        return await run_upload(self._session, self._options, self._destination, records, options)

    async def lint(self, records: Records, **options: Unpack[LintKeywords]) -> LintReport:
        """Reads what `upload` would be given, and says what it has to expect of it, as `CustomAudience.lint`."""
        check_options(LintKeywords, options)
        return await lint_records(
            records,
            kinds=self._destination.kinds,
            takes_effective_at=self._destination.takes_effective_at,
            now=self._session.now(),
            **options,
        )

    async def delete(self) -> DoNotReachList:
        """Deletes the list and returns its last record, with `deleted` true (section 4.10).

        Raises NotFound when it does not exist or is deleted. An outcome that stays unknown is not repeated.
        """
        return await self._session.call(routes.DO_NOT_REACH_LIST_DELETE.at(**self._path), options=self._options)
