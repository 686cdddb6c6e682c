"""Custom audiences, tailored audiences and do-not-reach lists: requests, uploads and syncs."""

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, Unpack, get_args

import attrs

from socialapi.bulk.audiences.batches import Packing
from socialapi.bulk.audiences.job import Destination, UploadJob, UploadOptions, default_expiry
from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.audiences.prepare import prepare_user
from socialapi.bulk.audiences.sender import send_until_counted
from socialapi.bulk.inputs.addresses import with_hidden_addresses
from socialapi.bulk.inputs.formats import Records
from socialapi.bulk.job import OutcomeKeywords
from socialapi.bulk.journals.journal import Journal
from socialapi.bulk.progress import OnProgress, shown
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due
from socialapi.models.audiences import (
    DEFAULT_EXPIRY_MONTHS,
    DO_NOT_REACH_KINDS,
    IDENTIFIER_KINDS,
    AudiencePermission,
    AudiencePermissionsFilter,
    AudienceUser,
    DoNotReachList,
    DoNotReachUser,
    Operation,
    OperationType,
    PermissionLevel,
    TargetingCampaign,
    UploadCounts,
    made_from,
)
from socialapi.models.validation import Faults, broken_rules, invalid
from socialapi.problems import BrokenRule
from socialapi.reports import LintReport, SyncReport, UploadReport
from socialapi.resources.arguments import right_arguments
from socialapi.resources.resource import Resource, as_iterable
from socialapi.routes import audiences as routes
from socialapi.session.options import CallOptions
from socialapi.session.pager import Pager
from socialapi.session.session import Session
from socialapi.wire.encode import json_bytes, shaped
from socialapi.wire.request import refuse


class ReadingKeywords(TypedDict, total=False):
    """The options for reading users from an input. All are optional."""

    columns: Mapping[str, str | int | Sequence[str | int]] | None
    """Maps each identifier kind to its column or columns, for names that are not recognized. The key `region` stands
    for the column with the country of the row. An empty string disables a kind.
    """
    header: bool
    """False if a CSV or TSV file has no header. `columns` must then contain column numbers, counted from 1: `{"email":
    1}`.
    """
    header_line: int | None
    """The number of the header line in a CSV or TSV file. By default, it is the first line, or one of the first twenty
    if a title or comments come first.
    """
    layout: str | os.PathLike[str] | None
    """A file from `lint(…, write_layout=)` that defines how to read the input. With a layout, the job does not guess,
    and rejects an input that no longer matches before it sends anything. It replaces `columns`, `header`,
    `header_line`, `default_region` and `phone_format`.
    """
    default_region: str | None
    """Two-letter country of phone numbers without a country code, for example `US`. A `country` column overrides it for
    each row.
    """
    phone_format: PhoneFormat
    """How to read digits without a plus sign. `auto` (the default): as a valid number of the region or with a country
    code. `international`: with a country code. `national`: as a number of the region.
    """
    require_hashed: bool
    """If True, accepts only SHA-256 digests and `partner_user_id`, and hashes, stores and sends no raw value."""


class RowKeywords(OutcomeKeywords, ReadingKeywords, total=False):
    """The options of every job that reads users. All are optional."""

    packing: Packing
    """`single` (the default): one operation per row, so that an error names the row. `packed`: many
    users in one operation, which takes 12 to 25 times fewer requests.
    """
    expires_at: datetime.datetime | str | None
    """When the operation ends: an aware datetime or an ISO 8601 string."""
    concurrency: int | Literal["auto"]
    """Requests in flight at once. `auto` (the default) sends as many as the rate limit allows at
    the measured latency.
    """
    rejects: str | os.PathLike[str] | None
    """File for the rejected rows, with row number, field and reason."""
    max_reject_share: float | None
    """The largest share of the rows read that may be rejected, by the SDK or the service; no limit by default. It is
    checked after 10,000 rows and at the end, and by a sync before it sends anything. If it is exceeded, no new requests
    start, and the job raises BulkError.
    """
    dry_run: bool
    """If True, the job reads and validates everything, sends nothing, and forecasts requests, bytes and time in the
    report.
    """
    on_progress: OnProgress | None
    """Called with a `Progress` after each slice of the input and each completed request."""
    progress: bool
    """If True, shows the progress on standard error: a bar on a terminal or in a notebook, otherwise an occasional
    line.
    """


class UploadKeywords(RowKeywords, total=False):
    """The options of an upload job. All are optional."""

    operation: OperationType | Literal["update", "delete"]
    """`Update` (the default) adds the users, `Delete` removes them. A row may override it."""
    journal: str | os.PathLike[str] | Journal | None
    """A file that makes the job resumable, even if the process is killed: repeat the call with the same journal. The
    job creates it if it is missing. A job with a different input or settings is rejected. It can also be an object with
    the methods of `Journal`.
    """
    allow_empty: bool
    """If True (the default), an input without rows results in an empty report; if False, in InvalidInput."""
    flush_after_seconds: float | None
    """For an async iterable: how long a row waits for its request to fill up, 5 seconds by default. With None, rows
    always wait for a full request. With a journal, None is the default and the only valid value.
    """


class AudienceUploadKeywords(UploadKeywords, total=False):
    """The options of an audience upload. All are optional."""

    effective_at: datetime.datetime | str | None
    """When the operation takes effect: an aware datetime or an ISO 8601 string. Default: now."""


class SyncKeywords(RowKeywords, total=False):
    """The options of a sync. All are optional. Times apply to additions."""

    effective_at: datetime.datetime | str | None
    """When additions take effect: an aware datetime or an ISO 8601 string. Default: now."""
    max_removal_share: float
    """The largest share of the identifiers in the snapshot that may be removed, 0.1 by default. If more would be
    removed, the sync sends nothing and raises BulkError.
    """


class LintKeywords(ReadingKeywords, total=False):
    """The options of `lint`. All are optional."""

    write_layout: str | os.PathLike[str] | None
    """Output file for the layout of the input: its format, and the kind of each column."""
    sample: int | None
    """Read at most this many rows, from the start."""
    progress: bool
    """The same as for an upload."""


def right_options(declared: Any, options: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """Returns the declared options whose values have the right type. A region must also look like a country code."""
    right = right_arguments(declared, options, faults)
    if (region := right.get("default_region")) is not None and not _LIKE_A_REGION.fullmatch(region):
        del right["default_region"]  # so that no other message shows the value
        faults.append(invalid("default_region", "must be a two-letter country code from ISO 3166, for example US"))
    return right


_LIKE_A_REGION: Final = re.compile("[A-Za-z0-9 _-]{0,8}")


def _operation(given: Any) -> Operation:
    if isinstance(given, Mapping):
        return made_from(Operation, given)
    if isinstance(given, Operation):
        return given
    raise InvalidInput(
        f"send takes Operation, not {type(given).__name__}: wrap users in Operation.update([…]), or use upload"
    )


def _user(given: Any) -> AudienceUser | DoNotReachUser:
    if isinstance(given, Mapping):
        return made_from(AudienceUser, given)
    if isinstance(given, AudienceUser | DoNotReachUser):
        return given
    raise InvalidInput(f"users must be AudienceUser, as in AudienceUser(email=…), not {type(given).__name__}")


class _KnownToSync(SyncKeywords, total=False):
    """All options of a sync, and the options that the sync rejects with its own errors."""

    snapshot: str | os.PathLike[str]
    journal: object
    flush_after_seconds: float | None


class UploadResource(Resource):
    """A collection of users that takes uploads: a custom audience or a do-not-reach list."""

    _destination: Destination

    async def send(
        self,
        operations: Operation | Mapping[str, Any] | Iterable[Operation | Mapping[str, Any]],
        *,
        default_region: str | None = None,
        phone_format: PhoneFormat = "auto",
        require_hashed: bool = False,
    ) -> UploadCounts:
        """Sends up to 2,500 operations in one request, which succeeds or fails completely (`POST
        accounts/:account_id/custom_audiences/:custom_audience_id/users`, or `POST
        batch/accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id/users`).

        Identifiers may be raw or hashed; raw ones are normalized and hashed here. A do-not-reach list accepts only
        e-mail addresses and phone numbers, and no `effective_at`. Returns the counts of received and of accepted
        operations, both equal to the number of users sent. If the service returns different counts, sends the request
        again. Raises InvalidInput with all errors before it sends anything, and ApiError with `operation_errors` if the
        service rejects individual operations.
        """
        faults, now = Faults(), self._session.now()
        given = {"default_region": default_region, "phone_format": phone_format, "require_hashed": require_hashed}
        right_options(LintKeywords, given, faults)
        faults.refuse()
        shapes, broken, users = await self._prepared(operations, given, now)
        if not shapes:
            raise InvalidInput("there are no operations to send")
        most = self._session.config.max_operations
        if most is not None and len(shapes) > most:
            raise InvalidInput(f"{len(shapes):,} operations are more than the {most:,} of Config.max_operations")
        target = self._destination.target
        body = target.route.body
        # With `max_operations`, the documented maximum number of operations does not apply.
        declared = body if most is None else get_args(body)[0]
        refuse([*broken, *broken_rules(declared, shapes, now=now)])
        request = self._session.plan(target.route).assemble(target, {}, (json_bytes(shapes),))
        return await send_until_counted(self._session, request, users, options=self._options)

    async def _prepared(
        self, operations: Any, reading: Mapping[str, Any], now: datetime.datetime
    ) -> tuple[list[dict[str, Any]], list[BrokenRule], int]:
        """Returns the operations in JSON with normalized and hashed identifiers, the errors, and the number of users."""
        expiry = default_expiry(self._destination, now)
        shapes: list[dict[str, Any]] = []
        broken: list[BrokenRule] = []
        users = 0
        for index, operation in enumerate(map(_operation, as_iterable(operations))):
            prepared = []
            for position, user in enumerate(map(_user, operation.params.users)):
                identifiers, rules = prepare_user(user, self._destination.kinds, **reading)
                if identifiers:  # otherwise, `rules` has the reason
                    prepared.append(identifiers)
                path = f"[{index}].params.users[{position}]"
                broken += [attrs.evolve(rule, path=f"{path}.{rule.path}" if rule.path else path) for rule in rules]
                users += 1
                await yield_if_due()
            times = shaped(type(operation.params), attrs.evolve(operation.params, users=()))
            params = ({} if expiry is None else {"expires_at": expiry}) | times | {"users": prepared}
            shapes.append({"operation_type": operation.operation_type, "params": params})
        return shapes, broken, users

    async def _upload(self, records: Records, declared: Any, keywords: Mapping[str, Any]) -> UploadReport:
        """Runs an upload job and returns its report."""
        faults = Faults()
        right = right_options(declared, keywords, faults)
        with shown(right, records) as shown_options:
            with faults:
                settings = UploadOptions(**shown_options)
                job = UploadJob(self._session, self._destination, records, settings, self._options)
            faults.refuse()
            return await job.run()

    async def lint(self, records: Records, **options: Unpack[LintKeywords]) -> LintReport:
        """Reads the input as `upload` would, and reports what to expect.

        Sends nothing. The report lists the columns with identifiers, and counts usable values, rejected rows,
        duplicates, and correctly or wrongly hashed values. It also estimates the risk of a low match rate. It contains
        no values, and memory use stays constant. Raises InvalidInput as `upload` does.
        """
        from socialapi.bulk.linting.linter import lint_records

        records, faults = with_hidden_addresses(records), Faults()
        right = right_options(LintKeywords, options, faults)
        right |= {"kinds": self._destination.kinds, "takes_effective_at": self._destination.takes_effective_at}
        right |= {"now": self._session.now(), "network": self._session.network}
        with shown(right, records) as shown_options:
            if faults:
                with faults:  # adds the errors of the other options
                    await lint_records((), **shown_options | {"layout": None, "write_layout": None})
                faults.refuse()
            return await lint_records(records, **shown_options)


class CustomAudience(UploadResource):
    """One custom audience."""

    def __init__(
        self, session: Session, options: CallOptions, account_id: str | int, custom_audience_id: str | int
    ) -> None:
        super().__init__(session, options, account_id=account_id, custom_audience_id=custom_audience_id)
        self._destination = Destination(
            kind="audience upload",
            target=routes.CUSTOM_AUDIENCE_USERS.at(**self._path),
            kinds=IDENTIFIER_KINDS,
            takes_effective_at=True,
        )

    async def upload(self, records: Records, **options: Unpack[AudienceUploadKeywords]) -> UploadReport:
        """Uploads any number of rows as a job
        (`POST accounts/:account_id/custom_audiences/:custom_audience_id/users`). Returns a report that
        accounts for every row.

        `records` is the path of a file (CSV, TSV, JSON Lines, a JSON array or Parquet, optionally compressed), a
        pattern or a list of paths, an open binary file, a table (pandas, Polars, pyarrow, DuckDB), or an iterable or
        async iterable of `AudienceUser`, `Operation`, mappings or rows with named fields, such as database rows.
        Identifiers are normalized and hashed, batched into requests of at most 2,500 operations and 5,000,000 bytes,
        and sent as fast as the rate limit allows. Rows of a slow async iterable are sent after `flush_after_seconds`.
        Failed requests are retried. If the service rejects single rows, the other rows of their batch are sent again.

        Raises InvalidInput for unusable options or input. Raises BulkError, with the report so far, if the service
        rejects the job, if it cannot be reached for `Config.max_elapsed_seconds`, or if reading the input fails.
        """
        records = with_hidden_addresses(records)
        return await self._upload(records, AudienceUploadKeywords, options)

    async def sync(
        self, desired: Records, *, snapshot: str | os.PathLike[str], **options: Unpack[SyncKeywords]
    ) -> SyncReport:
        """Makes the audience match the desired rows, by additions and removals
        (`POST accounts/:account_id/custom_audiences/:custom_audience_id/users`).

        `desired` is what `upload` accepts, except for operations: every row belongs to the audience. `snapshot` is the
        file of this audience, created by the first sync. It contains only a digest of each identifier. A row with an
        identifier that is not in the snapshot is added with all its identifiers. Then identifiers that are no longer in
        any row are removed. The snapshot records the accepted changes, so the next sync after a crash is correct.
        Returns a report of additions and removals.

        Raises the same errors as `upload`, and ConfigurationError for a snapshot of a different audience. Raises
        BulkError before it sends anything if reading the input fails, or if the removals exceed `max_removal_share` of
        the identifiers.
        """
        from socialapi.bulk.sync.job import sync
        from socialapi.bulk.sync.reading import SyncOptions

        faults = Faults()
        right = right_options(_KnownToSync, {"snapshot": snapshot, **options}, faults)
        desired = with_hidden_addresses(desired)
        with shown({"snapshot": "", **right}, desired) as shown_options:
            settings = SyncOptions(**shown_options)
            return await sync(self._session, self._destination, desired, settings, self._options, faults)

    def targeted(self, *, with_active: bool | None = None, start: str | None = None) -> Pager[TargetingCampaign]:
        """Returns the campaigns and line items that target the audience
        (`GET accounts/:account_id/custom_audiences/:custom_audience_id/targeted`).

        `with_active=False` also lists line items that cannot be served. `start` is a stored `Pager.position`.
        """
        query = {"with_active": with_active}
        return self._pages(routes.TARGETED, query=query, start=start)


class DoNotReachListResource(UploadResource):
    """One do-not-reach list."""

    def __init__(
        self, session: Session, options: CallOptions, account_id: str | int, do_not_reach_list_id: str | int
    ) -> None:
        super().__init__(session, options, account_id=account_id, do_not_reach_list_id=do_not_reach_list_id)
        self._destination = Destination(
            kind="do-not-reach upload",
            target=routes.DO_NOT_REACH_USERS.at(**self._path),
            kinds=DO_NOT_REACH_KINDS,
            takes_effective_at=False,
            default_expiry_months=DEFAULT_EXPIRY_MONTHS,
        )

    async def upload(self, records: Records, **options: Unpack[UploadKeywords]) -> UploadReport:
        """Uploads any number of rows as a job
        (`POST batch/accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id/users`). Returns a report
        that accounts for every row.

        Works like `CustomAudience.upload`, but accepts only e-mail addresses and phone numbers, and no `effective_at`.
        `expires_at` is always sent: by default 13 months after the start of the job, or after the first row that
        follows a flush (`flush_after_seconds`).
        """
        records = with_hidden_addresses(records)
        return await self._upload(records, UploadKeywords, options)

    async def delete(self) -> DoNotReachList:
        """Deletes the list (`DELETE accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id`).
        Returns its last record, with `deleted` true.

        Raises NotFound if it does not exist or was deleted before. Not retried if its outcome is
        unknown.
        """
        return await self._call(routes.DO_NOT_REACH_LIST_DELETE)


class TailoredAudience(Resource):
    """One tailored audience."""

    @property
    def permissions(self) -> "AudiencePermissions":
        """The permissions of other accounts to use the audience."""
        return AudiencePermissions(self._session, self._options, **self._path)


class AudiencePermissions(Resource):
    """The permissions of one tailored audience. They use version 5 of the API."""

    def list(
        self, *, start: str | None = None, **query: Unpack[AudiencePermissionsFilter]
    ) -> Pager[AudiencePermission]:
        """Returns the permissions of the audience
        (`GET accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions`).

        `granted_account_ids` or `tailored_audience_permission_ids` select some of them. `sort_by` is an attribute with
        a direction (`created_at-desc`), `with_total_count` adds the total to the first page, `count` is the page size
        (1 to 1,000), and `start` is a stored `Pager.position`. More than 200 ids of one filter are split into several
        requests, and then `sort_by` and `with_total_count` are not allowed.
        """
        return self._pages(routes.AUDIENCE_PERMISSIONS, query=query, start=start)

    async def create(self, granted_account_id: str | int, permission_level: PermissionLevel) -> AudiencePermission:
        """Grants another account READ_ONLY or READ_WRITE access
        (`POST accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions`). Returns the
        permission.

        The account must own the audience. Both accounts must belong to one business, or the feature
        SHARE_AUDIENCE_OUTSIDE_BUSINESS is needed. Not retried if its outcome is unknown.
        """
        body = {"granted_account_id": granted_account_id, "permission_level": permission_level}
        return await self._call(routes.AUDIENCE_PERMISSION_CREATE, body=body)

    async def delete(self, tailored_audience_permission_id: str | int) -> AudiencePermission:
        """Revokes a permission
        (`DELETE accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions/:tailored_audience_permission_id`).
        Returns its record, with `deleted` true.

        The other account can no longer target the audience in new campaigns. Its running campaigns
        keep the audience but cannot be copied.
        """
        return await self._call(
            routes.AUDIENCE_PERMISSION_DELETE,
            tailored_audience_permission_id=tailored_audience_permission_id,
        )
