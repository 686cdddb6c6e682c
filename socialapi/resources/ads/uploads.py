"""What custom audiences and do-not-reach lists share: one request of operations, and the job."""

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, get_args

import attrs

from socialapi.bulk.audiences.audience_job import UploadJob
from socialapi.bulk.audiences.batches import Packing
from socialapi.bulk.audiences.preparing import prepare_user
from socialapi.bulk.audiences.upload_options import Destination, UploadOptions, default_expiry
from socialapi.bulk.audiences.uploading import send_until_counted
from socialapi.bulk.job_options import OnProgress
from socialapi.bulk.journals.journal import Journal
from socialapi.bulk.reading.readers import Records
from socialapi.errors import InvalidInput
from socialapi.models.audiences import AudienceUser, DoNotReachUser, Operation, OperationType, UploadCounts, made_from
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.reports import UploadReport
from socialapi.resources.arguments import check_argument, check_arguments
from socialapi.resources.resource import several
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.wire.encoding import json_bytes
from socialapi.wire.request import assemble, refuse
from socialapi.wire.shaping import shaped

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
                await session.turns.wait()
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
