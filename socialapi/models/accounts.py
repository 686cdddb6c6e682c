"""Ad accounts, their apps, features and history."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

import attrs
from annotated_types import MinLen

from socialapi.models.model import Model
from socialapi.models.queries import TOTAL_OR_CURSOR, CollectionQuery, CountQuery, Element, Id, Ids, Long
from socialapi.models.validation import Conditions, ListOf, Pattern, parse_timestamp
from socialapi.problems import BrokenRule

IndustryType = Literal[
    "AGENCY",
    "BUSINESS_TO_BUSINESS",
    "ONLINE_SERVICES",
    "EDUCATION",
    "FINANCIAL",
    "HEALTH",
    "GOVERNMENT",
    "MEDIA",
    "MOBILE",
    "RESTAURANT",
    "RETAIL",
    "TECHNOLOGY",
    "TRAVEL",
    "OTHER",
]
FeatureKey = Literal["REACH_AND_FREQUENCY_ANALYTICS", "REACH_FREQUENCY_CAP", "WEBSITE_CLICKS_CPM_BILLING"]
AnyFeatureKey = Annotated[str, Pattern("[A-Z][A-Z0-9_]*", "must be a feature key, for example REACH_FREQUENCY_CAP")]
"""A feature key. The emulator checks only its form. The client sends any key, because the complete list is not
documented.
"""


@attrs.define(kw_only=True)
class Account(Model):
    """An ad account. `industry_type` is set only if a single account was read."""

    id: str
    name: str | None = None
    business_name: str | None = None
    business_id: str | None = None
    timezone: str | None = None
    timezone_switch_at: datetime.datetime | None = None
    approval_status: Literal["ACCEPTED"] | str | None = None
    industry_type: IndustryType | str | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


@attrs.define(kw_only=True)
class AccountApp(Model):
    """A mobile app of an account."""

    id: str
    app_store_identifier: str | None = None
    conversion_tracking_enabled: bool | None = None
    deep_link_pattern: str | None = None
    os_type: str | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class AccountsFilter(CollectionQuery, total=False):
    """Parameters that select accounts."""

    account_ids: Ids
    q: str
    """The start of the name; case does not matter."""


AccountsQuery = Annotated[AccountsFilter, TOTAL_OR_CURSOR]
AccountAppsQuery = Annotated[CollectionQuery, TOTAL_OR_CURSOR]


class AccountChanges(TypedDict, total=False):
    """The fields of an account that can be changed."""

    name: Annotated[str, MinLen(1)]
    industry_type: IndustryType


class FeaturesQuery(TypedDict, total=False):
    """Features to query; by default all features of the account."""

    feature_keys: ListOf[FeatureKey]


class FeaturesAdded(TypedDict):
    """Features to add to a sandbox account. The complete list of keys is not documented."""

    feature_keys: Annotated[ListOf[Element], MinLen(1)]


EntityType = Literal["CAMPAIGN", "LINE_ITEM", "PROMOTED_TWEET", "TARGETING_CRITERIA", "PROMOTED_ACCOUNT"]

WholeHour = Annotated[
    datetime.datetime,
    Pattern(r".*T\d\d(:?00(:?00([.,]0+)?)?)?(Z|\+00(:?00)?)", "must be a whole hour in UTC: no minutes, no seconds"),
]


@attrs.define(kw_only=True)
class CampaignSnapshot(Model):
    """The past state of a campaign. Amounts are millionths of the currency unit."""

    name: str | None = None
    start_time: datetime.datetime | None = None
    end_time: datetime.datetime | None = None
    purchase_order_number: str | None = None
    daily_budget_amount_local_micro: int | None = None
    total_budget_amount_local_micro: int | None = None
    duration_in_days: int | None = None
    standard_delivery: bool | None = None
    entity_status: str | None = None
    frequency_cap: int | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


@attrs.define(kw_only=True)
class ChangedBy(Model):
    """The user who made a change, and the platform on which it was made."""

    user_id: str | None = None
    platform: str | None = None


@attrs.define(kw_only=True)
class HistoryEntry(Model):
    """A change of an entity.

    `entity_data` is the entity's state at that time, as a CampaignSnapshot if it is a campaign.
    """

    entity: EntityType | str | None = None
    entity_id: str | None = None
    entity_data: CampaignSnapshot | Mapping[str, Any] = attrs.field(
        factory=dict, metadata={"read_as": Mapping[str, Any]}
    )
    change_type: Literal["CREATE"] | str | None = None
    change_time: datetime.datetime | None = None
    changes: Mapping[str, Any] = attrs.field(factory=dict)
    change_by: ChangedBy | None = None

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "HistoryEntry":
        entry: HistoryEntry = read(data, cls)
        if entry.entity == "CAMPAIGN":
            entry.entity_data = read(entry.entity_data, CampaignSnapshot, "entity_data")
        return entry


class HistoryFilter(CountQuery, total=False):
    """Parameters that select the changes of one entity in a time range."""

    entity_type: Required[EntityType]
    entity_id: Required[Id]
    start_time: Required[WholeHour]
    end_time: Required[WholeHour]
    user_id: Long
    """Selects the changes by this user."""


def _time_runs_forward(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    start, end = parse_timestamp(data["start_time"]), parse_timestamp(data["end_time"])
    if start is not None and end is not None and end <= start:
        yield BrokenRule(path="end_time", reason="must be later than start_time")


HistoryQuery = Annotated[HistoryFilter, Conditions(_time_runs_forward)]
