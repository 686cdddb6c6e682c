"""Poll cards (creatives documentation, sections 2 and 4.4)."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.models.collections import TOTAL_OR_CURSOR, CollectionQuery, Ids
from socialapi.models.model import Model
from socialapi.models.rules import Conditions
from socialapi.problems import BrokenRule

Choice = Annotated[str, MinLen(1), MaxLen(25)]


@attrs.define(kw_only=True)
class PollCard(Model):
    """A poll, which cannot be changed once it is made; it counts down from its creation to `end_time`."""

    id: str
    name: str | None = None
    card_type: Literal["TEXT_POLLS", "VIDEO_POLLS"] | str | None = None
    card_uri: str | None = None
    first_choice: str | None = None
    second_choice: str | None = None
    third_choice: str | None = None
    fourth_choice: str | None = None
    duration_in_minutes: int | None = None
    start_time: datetime.datetime | None = None
    end_time: datetime.datetime | None = None
    video_url: str | None = None
    video_hls_url: str | None = None
    video_width: int | None = None
    video_height: int | None = None
    video_poster_url: str | None = None
    video_poster_width: int | None = None
    video_poster_height: int | None = None
    content_duration_seconds: float | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class CreativeCardsFilter(CollectionQuery, total=False):
    """Which poll cards, or video conversation cards."""

    card_ids: Ids
    q: Annotated[str, MaxLen(80)]
    """The beginning of the name."""


CreativeCardsQuery = Annotated[CreativeCardsFilter, TOTAL_OR_CURSOR]


class PollCardFields(TypedDict, total=False):
    """A poll to create."""

    name: Required[Annotated[str, MinLen(1)]]
    duration_in_minutes: Required[Annotated[int, Ge(5), Le(10_080)]]
    first_choice: Required[Choice]
    second_choice: Required[Choice]
    third_choice: Choice
    fourth_choice: Choice
    media_key: str
    """An image or video of the media library; comes back as URLs. In beta: needs the feature PROMOTED_MEDIA_POLLS."""


def _conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    if "fourth_choice" in data and "third_choice" not in data:
        yield BrokenRule(path="third_choice", reason="is required with fourth_choice", code="MISSING_PARAMETER")


PollCardDraft = Annotated[PollCardFields, Conditions(_conditions)]
