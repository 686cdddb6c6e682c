"""Video conversation cards (creatives documentation, sections 2 and 4.5)."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Required, TypedDict

import attrs
from annotated_types import MaxLen, MinLen

from socialapi.models.model import Model
from socialapi.models.rules import Conditions, Pattern
from socialapi.problems import BrokenRule

MAX_CALL_LENGTH: Final = 20
ORDINALS: Final = ("first", "second", "third", "fourth")

Call = Annotated[str, Pattern(r"#?[^#][\s\S]{0,19}", f"must have 1 to {MAX_CALL_LENGTH} characters beside the hash")]


@attrs.define(kw_only=True)
class VideoConversationCard(Model):
    """A video with up to four things to say about it. Each call to action (`cta`) is a hashtag with its text."""

    id: str
    name: str | None = None
    card_type: Literal["VIDEO_CONVERSATION"] | str | None = None
    card_uri: str | None = None
    title: str | None = None
    first_cta: str | None = None
    first_cta_tweet: str | None = None
    second_cta: str | None = None
    second_cta_tweet: str | None = None
    third_cta: str | None = None
    third_cta_tweet: str | None = None
    fourth_cta: str | None = None
    fourth_cta_tweet: str | None = None
    thank_you_text: str | None = None
    thank_you_url: str | None = None
    media_key: str | None = None
    media_url: str | None = None
    poster_media_url: str | None = None
    video_owner_id: str | None = None
    video_width: int | None = None
    video_height: int | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class _Further(TypedDict, total=False):
    """What a card may have; `None` clears it."""

    title: Annotated[str, MaxLen(23)] | None
    """Needed without a second call to action."""
    second_cta: Call | None
    second_cta_tweet: str | None
    """Needed with its call to action, as are the third and the fourth."""
    third_cta: Call | None
    third_cta_tweet: str | None
    fourth_cta: Call | None
    fourth_cta_tweet: str | None
    poster_media_key: str | None
    thank_you_url: str | None
    unlocked_image_media_key: str | None
    """Shown after the answer; it does not come back."""
    unlocked_video_media_key: str | None


class VideoConversationCardFields(_Further, total=False):
    """A card to create."""

    first_cta: Required[Call]
    """Up to 20 characters beside the hash."""
    first_cta_tweet: Required[Annotated[str, MinLen(1)]]
    media_key: Required[str]
    """A 16:9 video of the media library."""
    name: Required[Annotated[str, MinLen(1)]]
    thank_you_text: Required[Annotated[str, MinLen(1), MaxLen(23)]]


class VideoConversationCardChanges(_Further, total=False):
    """What to change of a card."""

    first_cta: Call
    first_cta_tweet: Annotated[str, MinLen(1)]
    media_key: str
    name: Annotated[str, MinLen(1)]
    thank_you_text: Annotated[str, MinLen(1), MaxLen(23)]


def conversation_rules(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    """The rules about a whole card: as it is created, or as it would be after a change."""
    if not data.get("title") and not data.get("second_cta"):
        yield BrokenRule(path="title", reason="or second_cta is required", code="MISSING_PARAMETER")
    for ordinal in ORDINALS[1:]:
        if data.get(f"{ordinal}_cta") and not data.get(f"{ordinal}_cta_tweet"):
            reason = f"is required with {ordinal}_cta"
            yield BrokenRule(path=f"{ordinal}_cta_tweet", reason=reason, code="MISSING_PARAMETER")


def _of_draft(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    yield from conversation_rules(data)


VideoConversationCardDraft = Annotated[VideoConversationCardFields, Conditions(_of_draft)]
