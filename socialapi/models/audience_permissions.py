"""Who else may use an audience, and what targets it (advertising documentation, sections 4.7 and 4.8)."""

import datetime
from typing import Annotated, Literal, TypedDict

import attrs

from socialapi.models.collections import TOTAL_OR_CURSOR, CountQuery, CursorQuery, Id, Ids, SortBy
from socialapi.models.model import Model

PermissionLevel = Literal["READ_ONLY", "READ_WRITE"]


@attrs.define(kw_only=True)
class AudiencePermission(Model):
    """That another account may use a tailored audience."""

    id: str
    tailored_audience_id: str | None = None
    granted_account_id: str | None = None
    permission_level: PermissionLevel | str | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class AudiencePermissionsFilter(CountQuery, total=False):
    """Which permissions of an audience."""

    granted_account_ids: Ids
    sort_by: SortBy
    tailored_audience_permission_ids: Ids
    with_total_count: bool


AudiencePermissionsQuery = Annotated[AudiencePermissionsFilter, TOTAL_OR_CURSOR]


class AudiencePermissionDraft(TypedDict):
    """Which account may do what."""

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
    """A campaign with those of its line items that target an audience."""

    campaign_id: str = attrs.field(metadata={"key": True})
    campaign_name: str | None = None
    line_items: tuple[TargetingLineItem, ...] = ()


class TargetedQuery(CursorQuery, total=False):
    """`with_active` false also lists line items that cannot be served."""

    with_active: bool
