"""Custom audiences and do-not-reach lists: single requests, uploads and syncs (advertising documentation, sections 4.7 to 4.10)."""

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, Unpack, get_args

import attrs

from socialapi.bulk.audiences.batches import Packing
from socialapi.bulk.audiences.job import Destination, UploadJob, UploadOptions, default_expiry
from socialapi.bulk.audiences.prepare import prepare_user
from socialapi.bulk.audiences.sender import send_until_counted
from socialapi.bulk.inputs.formats import Records
from socialapi.bulk.job import OnProgress
from socialapi.bulk.journals.journal import Journal
from socialapi.bulk.linting.linter import lint_records
from socialapi.errors import InvalidInput
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
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.reports import LintReport, SyncReport, UploadReport
from socialapi.resources.arguments import check_argument, check_arguments
from socialapi.resources.resource import Resource, several
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager
from socialapi.session.session import CallOptions, Session
from socialapi.unset import UNSET, Unset
from socialapi.wire.encode import json_bytes, shaped
from socialapi.wire.request import assemble, refuse

USERS_PER_SLICE: Final = 250
"""Users prepared before other tasks get their turn."""


class RowKeywords(TypedDict, total=False):
    """What every job that reads users takes; each can be left out."""

    packing: Packing
    """`single` (the default): an operation for each row, so that an error names the row. `packed`: many users in one
    operation, which takes 12 to 25 times fewer requests."""
    columns: Mapping[str, str | Sequence[str]] | None
    """Identifier kind to the column or columns that hold it, where the names do not say it; an empty text switches
    a kind off."""
    default_region: str | None
    """Two-letter country of phone numbers that have no country code, for example `US`."""
    expires_at: datetime.datetime | str | None
    """When the operation ends: an aware time or ISO 8601 text."""
    concurrency: int | Literal["auto"]
    """Requests on their way at once; `auto` (the default) is as many as fill the rate limit at the measured latency."""
    rejects: str | os.PathLike[str] | None
    """File for the rejected rows: row, field and reason."""
    max_reject_share: float | None
    """Largest share of the rows read that may be rejected, here or by the service; any share unless given. It is judged
    once 10,000 rows are read and at the end, and by a sync before anything is sent: beyond it nothing new starts, and
    the job ends with BulkError."""
    dry_run: bool
    """Reads and checks everything, sends nothing, and forecasts requests, bytes and time in the report."""
    on_progress: OnProgress | None
    """Called with a `Progress` after every slice that was read and every request that was settled."""


class UploadKeywords(RowKeywords, total=False):
    """The options of an upload job; each can be left out."""

    operation: OperationType
    """`Update` (the default) adds the users, `Delete` removes them; a row can say otherwise."""
    journal: str | os.PathLike[str] | Journal | None
    """File that makes the job resumable: the same call with the same journal goes on where it was, also after a kill.
    Made if missing; a job with another input or other settings is refused. Or an object with its methods."""
    allow_empty: bool
    """True (the default) gives an empty report for an input without rows, False raises InvalidInput."""


class AudienceUploadKeywords(UploadKeywords, total=False):
    """The options of an audience upload; each can be left out."""

    effective_at: datetime.datetime | str | None
    """When the operation takes effect: an aware time or ISO 8601 text; now unless given."""


class SyncKeywords(RowKeywords, total=False):
    """The options of a sync; each can be left out. Times hold for what is added."""

    effective_at: datetime.datetime | str | None
    """When what is added takes effect: an aware time or ISO 8601 text; now unless given."""
    max_removal_share: float
    """Largest share of the identifiers in the snapshot that may be removed, 0.1 by default; beyond it nothing is sent, and
    the sync fails."""


class LintKeywords(TypedDict, total=False):
    """The options of a look at an input; each can be left out."""

    columns: Mapping[str, str | Sequence[str]] | None
    """As for an upload."""
    default_region: str | None
    """As for an upload."""
    sample: int | None
    """Looks at so many rows at most, the first ones."""


def check_options(declared: Any, options: Mapping[str, Any]) -> None:
    """Raises InvalidInput for options of other names or types, and for a region that could be anything."""
    check_arguments(declared, options)
    check_region(options.get("default_region"))


def check_region(region: object) -> None:
    """Raises InvalidInput, which does not show it, for what nobody could have meant as a region."""
    check_argument("default_region", str | None, region)
    if isinstance(region, str) and not _LIKE_A_REGION.fullmatch(region):
        raise InvalidInput("default_region must be the two letters of a country in ISO 3166, for example US")


_LIKE_A_REGION: Final = re.compile("[A-Za-z0-9 _-]{0,8}")


async def run_upload(
    session: Session, options: CallOptions, destination: Destination, records: Records, keywords: Mapping[str, Any]
) -> UploadReport:
    """The report of the job."""
    return await UploadJob(session, destination, records, UploadOptions(**keywords), options).run()


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


async def send_operations(
    session: Session,
    options: CallOptions,
    destination: Destination,
    operations: Operation | Mapping[str, Any] | Iterable[Operation | Mapping[str, Any]],
    default_region: str | None,
) -> UploadCounts:
    """Sends operations as one request; identifiers are normalised and hashed first, and a bad one stops everything."""
    check_region(default_region)
    now = session.now()
    expiry = default_expiry(destination, now)
    shapes: list[dict[str, Any]] = []
    broken: list[BrokenRule] = []
    users = 0
    for index, operation in enumerate(map(_operation, several(operations))):
        prepared = []
        for position, user in enumerate(map(_user, operation.params.users)):
            identifiers, rules = prepare_user(user, destination.kinds, default_region)
            prepared.append(identifiers)
            path = f"[{index}].params.users[{position}]"
            broken += [attrs.evolve(rule, path=f"{path}.{rule.path}" if rule.path else path) for rule in rules]
            users += 1
            if users % USERS_PER_SLICE == 0:
                await session.scheduler.yield_turn()
        times = shaped(type(operation.params), attrs.evolve(operation.params, users=()))
        params = ({} if expiry is None else {"expires_at": expiry}) | times | {"users": prepared}
        shapes.append({"operation_type": operation.operation_type, "params": params})
    if not shapes:
        raise InvalidInput("there are no operations to send")
    most = session.config.max_operations
    if most is not None and len(shapes) > most:
        raise InvalidInput(f"{len(shapes):,} operations are more than the {most:,} of Config.max_operations")
    body = destination.target.route.body
    declared = body if most is None else get_args(body)[0]  # without the documented number of operations
    refuse([*broken, *broken_rules(declared, shapes, now=now)])
    request = assemble(destination.target, session.config, {}, (json_bytes(shapes),))
    return await send_until_counted(session, request, users, options=options)


class _KnownToSync(SyncKeywords, total=False):
    """The options of a sync, and one of which it says itself why it does not take it."""

    journal: object


class CustomAudience(Resource):
    """One custom audience, by id."""

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
        from socialapi.bulk.sync.job import SyncOptions, sync

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
        return self._pages(routes.TARGETED, query=query, start=start)


class DoNotReachListResource(Resource):
    """One do-not-reach list, by id."""

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
        return await self._call(routes.DO_NOT_REACH_LIST_DELETE)


class TailoredAudience(Resource):
    """One tailored audience, by id."""

    @property
    def permissions(self) -> "AudiencePermissions":
        """Who else may use it."""
        return AudiencePermissions(self._session, self._options, **self._path)


class AudiencePermissions(Resource):
    """The permissions of one tailored audience; they are those of version 5 of the API."""

    def list(
        self, *, start: str | None = None, **query: Unpack[AudiencePermissionsFilter]
    ) -> Pager[AudiencePermission]:
        """Who may use the audience (section 4.7): all, or those of `granted_account_ids` or of
        `tailored_audience_permission_ids`.

        More than 200 ids of one filter are asked for in several requests, which go with neither `sort_by` nor
        `with_total_count`. `sort_by` is an attribute with its direction (`created_at-desc`), `with_total_count` has the
        first page count them, `count` is the size of a page (1 to 1,000), and `start` a stored position.
        """
        return self._pages(routes.AUDIENCE_PERMISSIONS, query=query, start=start)

    async def create(self, granted_account_id: str | int, permission_level: PermissionLevel) -> AudiencePermission:
        """Lets another account use the audience, READ_ONLY or READ_WRITE (section 4.7).

        The account must own the audience; sharing works within one business, or with the feature
        SHARE_AUDIENCE_OUTSIDE_BUSINESS. Not repeated when its outcome is unknown.
        """
        body = {"granted_account_id": granted_account_id, "permission_level": permission_level}
        return await self._call(routes.AUDIENCE_PERMISSION_CREATE, body=body)

    async def delete(self, tailored_audience_permission_id: str | int) -> AudiencePermission:
        """Takes a permission back, and returns its record with `deleted` true (section 4.7).

        The other account cannot target the audience in new campaigns any more; running ones go on and keep it, and
        cannot be copied.
        """
        return await self._call(
            routes.AUDIENCE_PERMISSION_DELETE,
            tailored_audience_permission_id=tailored_audience_permission_id,
        )
