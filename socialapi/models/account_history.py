"""What was changed in an account, when and by whom (advertising documentation, sections 2 and 4.2)."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Required

import attrs

from socialapi.models.collections import CountQuery, Id, Long
from socialapi.models.model import Model
from socialapi.models.rules import Conditions, Pattern, parse_timestamp
from socialapi.problems import BrokenRule

EntityType = Literal["CAMPAIGN", "LINE_ITEM", "PROMOTED_TWEET", "TARGETING_CRITERIA", "PROMOTED_ACCOUNT"]

WholeHour = Annotated[
    datetime.datetime,
    Pattern(r".*T\d\d(:00(:00(\.0+)?)?)?(Z|\+00:00)", "must be a whole hour in UTC: no minutes, no seconds"),
]


@attrs.define(kw_only=True)
class CampaignSnapshot(Model):
    """A campaign as it was; amounts are millionths of the currency unit."""

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
    """Who made a change, and by what."""

    user_id: str | None = None
    platform: str | None = None


@attrs.define(kw_only=True)
class HistoryEntry(Model):
    """A change of an entity; `entity_data` is what it was then, typed where it is a campaign."""

    entity: EntityType | str | None = None
    entity_id: str | None = None
    entity_data: CampaignSnapshot | Mapping[str, Any] = attrs.field(
        factory=dict, metadata={"read_as": Mapping[str, Any]}
    )
    change_type: Literal["CREATE"] | str | None = None
    change_time: datetime.datetime | None = None
    changes: Mapping[str, Any] = attrs.field(factory=dict)
    change_by: ChangedBy | None = None


class HistoryFilter(CountQuery, total=False):
    """The changes of one entity in a time."""

    entity_type: Required[EntityType]
    entity_id: Required[Id]
    start_time: Required[WholeHour]
    end_time: Required[WholeHour]
    user_id: Long
    """Changes of this user alone."""


def _time_runs_forward(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    start, end = parse_timestamp(data["start_time"]), parse_timestamp(data["end_time"])
    if start is not None and end is not None and end <= start:
        yield BrokenRule(path="end_time", reason="must be later than start_time")


HistoryQuery = Annotated[HistoryFilter, Conditions(_time_runs_forward)]
