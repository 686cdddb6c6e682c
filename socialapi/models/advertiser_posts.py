"""Posts of advertisers (creatives documentation, section 4.5)."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Required, TypedDict

import attrs
from annotated_types import MaxLen

from socialapi.models.collections import Element, Long
from socialapi.models.model import Model
from socialapi.models.rules import Conditions, ListOf
from socialapi.problems import BrokenRule

PostName = Annotated[str, MaxLen(80)]
MAX_MEDIA: Final = 4


@attrs.define(kw_only=True)
class AdvertiserPost(Model):
    """A post of an advertiser; the documentation names few of its fields, the others stand in `extra`."""

    id: str
    name: str | None = None
    text: str | None = None
    card_uri: str | None = None
    nullcast: bool | None = None


class AdvertiserPostFields(TypedDict, total=False):
    """A post to create for an advertiser."""

    as_user_id: Required[Long]
    """The advertiser, who has granted the caller access to the ads account."""
    text: str
    """Needed without media."""
    card_uri: str
    conversation_settings: Literal["EVERYONE", "FOLLOWING", "MENTIONED_USERS"]
    """Who may answer; comes back when the post is read, and needs version 8 or later."""
    media_keys: Annotated[ListOf[Element], MaxLen(MAX_MEDIA)]
    """Up to four images, or one GIF, or one video."""
    name: PostName
    nullcast: bool
    """True unless given: shown as an ad only. Organic posts are for the authenticated user alone."""
    trim_user: bool
    tweet_mode: Literal["compat", "extended"]
    video_cta: Literal["VISIT_SITE", "WATCH_NOW"]
    video_cta_value: str
    video_description: Annotated[str, MaxLen(200)]
    video_title: Annotated[str, MaxLen(70)]


def _conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    if not data.get("text") and not data.get("media_keys"):
        yield BrokenRule(path="text", reason="is required without media_keys", code="MISSING_PARAMETER")


AdvertiserPostDraft = Annotated[AdvertiserPostFields, Conditions(_conditions)]


class AdvertiserPostName(TypedDict):
    """What a post is called in the account."""

    name: PostName
