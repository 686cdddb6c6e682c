"""Ad accounts, their apps and features (advertising documentation, section 4.2)."""

import datetime
from typing import Annotated, Literal, TypedDict

import attrs
from annotated_types import MinLen

from socialapi.models.collections import TOTAL_OR_CURSOR, CollectionQuery, Element, Ids
from socialapi.models.model import Model
from socialapi.models.rules import ListOf

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


@attrs.define(kw_only=True)
class Account(Model):
    """An ad account. `industry_type` comes with a single account only."""

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
    """Which accounts."""

    account_ids: Ids
    q: str
    """The beginning of the name, upper or lower case alike."""


AccountsQuery = Annotated[AccountsFilter, TOTAL_OR_CURSOR]
AccountAppsQuery = Annotated[CollectionQuery, TOTAL_OR_CURSOR]


class AccountChanges(TypedDict, total=False):
    """What can be changed of an account."""

    name: Annotated[str, MinLen(1)]
    industry_type: IndustryType


class FeaturesQuery(TypedDict, total=False):
    """Which features; all that the account has unless named."""

    feature_keys: ListOf[FeatureKey]


class FeaturesAdded(TypedDict):
    """Features to add to a sandbox account; the complete list of keys is not documented."""

    feature_keys: Annotated[ListOf[Element], MinLen(1)]
