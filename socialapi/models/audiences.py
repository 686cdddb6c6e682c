"""Custom audiences, audience permissions and do-not-reach lists."""

import calendar
import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypedDict, TypeVar, get_args

import attrs
from annotated_types import MaxLen

from socialapi.errors import DecodeError, InvalidInput
from socialapi.internal.records import Exported, Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.models.queries import TOTAL_OR_CURSOR, CountQuery, CursorQuery, Id, Ids, SortBy
from socialapi.models.spelling import near_name
from socialapi.models.validation import Pattern, is_several, parse_timestamp
from socialapi.problems import BrokenRule

OperationType = Literal["Update", "Delete"]
IdentifierKind = Literal["email", "device_id", "handle", "service_id", "phone_number", "partner_user_id"]

IDENTIFIER_KINDS: Final[tuple[IdentifierKind, ...]] = get_args(IdentifierKind)
DO_NOT_REACH_KINDS: Final[tuple[IdentifierKind, ...]] = ("email", "phone_number")

MAX_OPERATIONS: Final = 2_500
MAX_BATCH_BYTES: Final = 5_000_000
DEFAULT_EXPIRY_MONTHS: Final = 13

Sha256 = Annotated[str, Pattern("[0-9a-f]{64}", "must be a SHA-256 digest: 64 lower-case hexadecimal digits")]


NO_IDENTIFIER: Final = "has no identifier"
PartnerId = Annotated[str, Pattern(r"\s*\S[\s\S]*", "must not be blank")]


def _identified(user: Mapping[str, Any]) -> Iterator[BrokenRule]:
    """Yields a violation for a user without any identifier."""
    if not any(user.values()):
        yield BrokenRule(path="", reason=NO_IDENTIFIER, code="MISSING_PARAMETER")


def _texts(value: str | int | Iterable[str | int] | None) -> tuple[str, ...]:
    """Returns a tuple of identifiers. A single string is one identifier. Types are validated when sent."""
    several: Any = value
    if not is_several(value):
        several = () if value is None else (value,)
    return tuple(several)


@attrs.define(repr=False)
class AudienceUser(Exported):
    """One person, identified by any number of identifiers of six kinds.

    Each kind takes one string or several, raw or already hashed. Raw identifiers are normalized and hashed before they
    leave the process. The repr shows their number, never their values.
    """

    email: tuple[Sha256, ...] = attrs.field(default=(), converter=_texts, repr=False)
    device_id: tuple[Sha256, ...] = attrs.field(default=(), converter=_texts, repr=False)
    handle: tuple[Sha256, ...] = attrs.field(default=(), converter=_texts, repr=False)
    service_id: tuple[Sha256, ...] = attrs.field(default=(), converter=_texts, repr=False)
    phone_number: tuple[Sha256, ...] = attrs.field(default=(), converter=_texts, repr=False)
    partner_user_id: tuple[PartnerId, ...] = attrs.field(default=(), converter=_texts, repr=False)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation for a user without any identifier."""
        return _identified(data)

    def __repr__(self) -> str:
        counts = {kind: len(getattr(self, kind)) for kind in IDENTIFIER_KINDS}
        return f"AudienceUser({', '.join(f'{kind}=<{count}>' for kind, count in counts.items() if count)})"


def _users(value: "AudienceUser | Mapping[str, Any] | Iterable[AudienceUser | Mapping[str, Any]]") -> "Users":
    """Returns a tuple of users. The items are validated when they are used."""
    several: Any = value
    if isinstance(value, AudienceUser | DoNotReachUser | Mapping):
        several = (value,)
    elif not is_several(value):
        raise InvalidInput(f"users must be AudienceUser or a list of them, not {type(value).__name__}")
    return tuple(several)


@attrs.define(kw_only=True)
class OperationParams(Record):
    """The users of an operation, and the time for which it applies.

    It applies from `effective_at` (default: now) until `expires_at` (default: in 13 months).
    """

    users: tuple[AudienceUser, ...] = attrs.field(converter=_users)
    effective_at: datetime.datetime | Unset = UNSET
    expires_at: datetime.datetime | Unset = UNSET

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation unless `expires_at` (by default in 13 months) is later than `effective_at` (by default
        now).
        """
        expires_at = parse_timestamp(data.get("expires_at", ""))
        effective_at = parse_timestamp(data.get("effective_at", "")) or now
        if expires_at is not None and expires_at <= effective_at:
            yield BrokenRule(path="expires_at", reason="must be later than effective_at, which defaults to now")
        if expires_at is None and is_beyond_default_expiry(effective_at, now):
            yield BrokenRule(path="effective_at", reason=f"must be {BEFORE_DEFAULT_EXPIRY}")


Users = tuple[AudienceUser, ...]
C = TypeVar("C", bound=attrs.AttrsInstance)


def made_from(cls: type[C], value: Mapping[str, Any]) -> C:
    """Returns an instance of the class from a mapping with its field names. Raises InvalidInput for any other name."""
    names = [field.name for field in attrs.fields(cls)]
    if unknown := [name for name in value if name not in names]:
        meant = near_name(str(unknown[0]), tuple(names))
        hint = f"; did you mean {meant}?" if meant is not None else ""
        raise InvalidInput(f"{cls.__name__} has no such field; its fields are {', '.join(names)}{hint}")
    if missing := [f.name for f in attrs.fields(cls) if f.default is attrs.NOTHING and f.name not in value]:
        raise InvalidInput(f"{cls.__name__} needs {' and '.join(missing)}")
    return cls(**value)


def _operation_type(value: OperationType | Literal["update", "delete"]) -> OperationType:
    """Returns the name in the form that is sent. Invalid values are rejected when sent."""
    given: Any = value
    named: Any = given.capitalize() if isinstance(given, str) else None
    sent: OperationType = named if named in get_args(OperationType) else given
    return sent


def _params(value: "OperationParams | Mapping[str, Any]") -> OperationParams:
    if isinstance(value, Mapping):
        return made_from(OperationParams, value)
    if isinstance(value, OperationParams):
        return value
    raise InvalidInput(
        f"Operation.params must be OperationParams(users=[…]), not {type(value).__name__}; Operation.update([…]) and "
        "Operation.delete([…]) create it from users"
    )


@attrs.define
class Operation(Record):
    """Adds or removes some users: one element of an upload request, or one row for `upload`."""

    operation_type: OperationType = attrs.field(converter=_operation_type)
    params: OperationParams = attrs.field(converter=_params)

    @classmethod
    def update(
        cls,
        users: AudienceUser | Mapping[str, Any] | Iterable[AudienceUser | Mapping[str, Any]],
        *,
        effective_at: datetime.datetime | Unset = UNSET,
        expires_at: datetime.datetime | Unset = UNSET,
    ) -> "Operation":
        """Returns an operation that adds the users."""
        return cls("Update", OperationParams(users=users, effective_at=effective_at, expires_at=expires_at))

    @classmethod
    def delete(
        cls,
        users: AudienceUser | Mapping[str, Any] | Iterable[AudienceUser | Mapping[str, Any]],
        *,
        effective_at: datetime.datetime | Unset = UNSET,
        expires_at: datetime.datetime | Unset = UNSET,
    ) -> "Operation":
        """Returns an operation that removes the users."""
        return cls("Delete", OperationParams(users=users, effective_at=effective_at, expires_at=expires_at))


Operations = Annotated[tuple[Operation, ...], MaxLen(MAX_OPERATIONS)]
"""The type of the body of a custom audience upload."""


@attrs.define(repr=False)
class DoNotReachUser(Exported):
    """One person on a do-not-reach list, identified by e-mail addresses and phone numbers only."""

    email: tuple[Sha256, ...] = attrs.field(default=(), converter=_texts, repr=False)
    phone_number: tuple[Sha256, ...] = attrs.field(default=(), converter=_texts, repr=False)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation for a user without any identifier."""
        return _identified(data)

    def __repr__(self) -> str:
        return f"DoNotReachUser(email=<{len(self.email)}>, phone_number=<{len(self.phone_number)}>)"


@attrs.define(kw_only=True)
class DoNotReachParams(Record):
    """The users of a do-not-reach operation and its expiry. It takes effect immediately."""

    users: tuple[DoNotReachUser, ...]
    expires_at: datetime.datetime | Unset = UNSET

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation unless the expiry is in the future."""
        expires_at = parse_timestamp(data.get("expires_at", ""))
        if expires_at is not None and expires_at <= now:
            yield BrokenRule(path="expires_at", reason="must be later than now")


@attrs.define
class DoNotReachOperation(Record):
    """One element of a do-not-reach upload request."""

    operation_type: OperationType
    params: DoNotReachParams


DoNotReachOperations = Annotated[tuple[DoNotReachOperation, ...], MaxLen(MAX_OPERATIONS)]
"""The type of the body of a do-not-reach upload."""


@attrs.define(kw_only=True)
class UploadCounts(Model):
    """The counts in the response to an upload request.

    If the upload succeeded, both counts equal the number of user objects sent. Otherwise, the client retries the
    upload.
    """

    success_count: int
    total_count: int

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "UploadCounts":
        """Reads the pair of counts for an audience. For a do-not-reach list, adds up the pairs, one per operation."""
        if not isinstance(data, list):
            counts: UploadCounts = read(data, cls)
            return counts
        if not data:
            raise DecodeError("", "expected an object")
        parts: tuple[UploadCounts, ...] = read(data, tuple[UploadCounts, ...])
        return cls(
            success_count=sum(part.success_count for part in parts), total_count=sum(part.total_count for part in parts)
        )


@attrs.define(kw_only=True)
class DoNotReachList(Model):
    """A list of people whom no campaign of the account reaches."""

    id: str
    name: str | None = None
    description: str | None = None
    targetable: bool | None = None
    reasons_not_targetable: tuple[Literal["PROCESSING", "TOO_SMALL"] | str, ...] = ()
    list_size: int | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


def months_later(start: datetime.datetime, months: int) -> datetime.datetime:
    """Returns the same day and time some months later, or the last day of a shorter month."""
    year, month0 = divmod(start.year * 12 + start.month - 1 + months, 12)
    _, days = calendar.monthrange(year, month0 + 1)
    return start.replace(year=year, month=month0 + 1, day=min(start.day, days))


BEFORE_DEFAULT_EXPIRY: Final = (
    f"earlier than expires_at, which defaults to {DEFAULT_EXPIRY_MONTHS} months from now: pass a later expires_at"
)


def is_beyond_default_expiry(effective_at: datetime.datetime, now: datetime.datetime) -> bool:
    """Returns whether an operation without `expires_at` would expire before it takes effect."""
    return effective_at >= months_later(now, DEFAULT_EXPIRY_MONTHS)


PermissionLevel = Literal["READ_ONLY", "READ_WRITE"]


@attrs.define(kw_only=True)
class AudiencePermission(Model):
    """The permission of a different account to use a tailored audience."""

    id: str
    tailored_audience_id: str | None = None
    granted_account_id: str | None = None
    permission_level: PermissionLevel | str | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class AudiencePermissionsFilter(CountQuery, total=False):
    """Parameters that select permissions of an audience."""

    granted_account_ids: Ids
    sort_by: SortBy
    tailored_audience_permission_ids: Ids
    with_total_count: bool


AudiencePermissionsQuery = Annotated[AudiencePermissionsFilter, TOTAL_OR_CURSOR]


class AudiencePermissionDraft(TypedDict):
    """A permission to grant: the account and its level."""

    granted_account_id: Id
    permission_level: PermissionLevel


@attrs.define(kw_only=True)
class TargetingLineItem(Model):
    """A line item that targets an audience."""

    id: str
    name: str | None = None
    servable: bool | None = None


@attrs.define(kw_only=True)
class TargetingCampaign(Model):
    """A campaign, with its line items that target an audience."""

    campaign_id: str = attrs.field(metadata={"key": True})
    campaign_name: str | None = None
    line_items: tuple[TargetingLineItem, ...] = ()


class TargetedQuery(CursorQuery, total=False):
    """Parameters for listing the campaigns that target an audience.

    `with_active=False` also lists line items that cannot be served.
    """

    with_active: bool
