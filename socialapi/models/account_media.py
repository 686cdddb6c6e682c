"""Account media (creatives documentation, sections 2 and 4.1)."""

import datetime
from typing import Annotated, Literal

import attrs
from annotated_types import MinLen

from socialapi.models.collections import TOTAL_OR_CURSOR, CollectionQuery, Ids
from socialapi.models.model import Model
from socialapi.models.rules import ListOf

CreativeType = Literal[
    "BANNER",
    "BANNER_TABLET",
    "INTERSTITIAL",
    "INTERSTITIAL_LANDSCAPE",
    "INTERSTITIAL_LANDSCAPE_TABLET",
    "INTERSTITIAL_TABLET",
    "MEDIUM_RECTANGLE",
    "PREROLL",
    "VAST_PREROLL",
]


@attrs.define(kw_only=True)
class AccountMedia(Model):
    """A creative of an account, made from a video or an image at a URL."""

    id: str
    video_id: str | None = None
    media_url: str | None = None
    creative_type: CreativeType | str | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class AccountMediaFilter(CollectionQuery, total=False):
    """Which account media."""

    account_media_ids: Ids
    creative_types: Annotated[ListOf[CreativeType], MinLen(1)]


AccountMediaQuery = Annotated[AccountMediaFilter, TOTAL_OR_CURSOR]
