"""Account media, the media library, poll and conversation cards, and advertiser posts."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Required, TypedDict

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.models.cards import CardName
from socialapi.models.model import Model
from socialapi.models.queries import TOTAL_OR_CURSOR, CollectionQuery, CursorQuery, Element, Ids, Long
from socialapi.models.validation import Conditions, ListOf, Pattern
from socialapi.problems import BrokenRule

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
    """Parameters that select account media."""

    account_media_ids: Ids
    creative_types: Annotated[ListOf[CreativeType], MinLen(1)]


AccountMediaQuery = Annotated[AccountMediaFilter, TOTAL_OR_CURSOR]


MediaType = Literal["GIF", "IMAGE", "VIDEO"]
MediaCategory = Literal["TWEET_IMAGE", "TWEET_VIDEO", "TWEET_GIF", "AMPLIFY_VIDEO"]

VIDEO_FIELDS: Final = ("description", "title", "poster_media_key")
"""The fields that only videos have."""


@attrs.define(kw_only=True)
class LibraryMedia(Model):
    """A media object of the media library. `duration` is in milliseconds."""

    media_key: str
    media_type: MediaType | str | None = None
    media_category: MediaCategory | str | None = None
    media_url: str | None = None
    media_status: Literal["TRANSCODE_COMPLETED"] | str | None = None
    name: str | None = None
    file_name: str | None = None
    title: str | None = None
    description: str | None = None
    duration: int | None = None
    aspect_ratio: str | None = None
    poster_media_key: str | None = None
    poster_media_url: str | None = None
    tweeted: bool | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class MediaLibraryQuery(CursorQuery, total=False):
    """Parameters that select media of the library."""

    count: Annotated[int, Ge(1), Le(50)]
    """The page size, 1 to 50; 20 by default."""
    media_type: MediaType
    q: Annotated[str, MinLen(1), MaxLen(255)]
    """A term in the name, title, file name or description."""


class LibraryMediaChanges(TypedDict, total=False):
    """The metadata of a media object. Title, description and poster are for videos only."""

    description: Annotated[str, MaxLen(200)] | None
    file_name: Annotated[str, MaxLen(255)] | None
    name: Annotated[str, MaxLen(100)] | None
    poster_media_key: str | None
    """The key of the image shown for a video; by default its first frame."""
    title: Annotated[str, MaxLen(70)] | None


class LibraryMediaDraft(LibraryMediaChanges, total=False):
    """A media object to add to the library. It must have been uploaded with a media category."""

    media_key: Required[Annotated[str, MinLen(1)]]


Choice = Annotated[str, MinLen(1), MaxLen(25)]


@attrs.define(kw_only=True)
class PollCard(Model):
    """A poll, open from its creation to `end_time`. It cannot be changed."""

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


class _CardIds(CollectionQuery, total=False):
    card_ids: Ids


class PollCardsFilter(_CardIds, total=False):
    """Parameters that select poll cards."""

    q: Annotated[str, MaxLen(80)]
    """The start of the name."""


PollCardsQuery = Annotated[PollCardsFilter, TOTAL_OR_CURSOR]


class VideoConversationCardsFilter(_CardIds, total=False):
    """Parameters that select video conversation cards."""

    q: str
    """The start of the name, of any length."""


VideoConversationCardsQuery = Annotated[VideoConversationCardsFilter, TOTAL_OR_CURSOR]


class PollCardFields(TypedDict, total=False):
    """A poll card to create."""

    name: Required[CardName]
    duration_in_minutes: Required[Annotated[int, Ge(5), Le(10_080)]]
    first_choice: Required[Choice]
    second_choice: Required[Choice]
    third_choice: Choice
    fourth_choice: Choice
    media_key: str
    """The key of an image or video of the media library. In beta: needs the feature PROMOTED_MEDIA_POLLS. Responses
    contain URLs instead.
    """


def _poll_conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    if "fourth_choice" in data and "third_choice" not in data:
        yield BrokenRule(path="third_choice", reason="is required with fourth_choice", code="MISSING_PARAMETER")


PollCardDraft = Annotated[PollCardFields, Conditions(_poll_conditions)]


MAX_CALL_LENGTH: Final = 20
ORDINALS: Final = ("first", "second", "third", "fourth")

Call = Annotated[str, Pattern(r"#?[^#][\s\S]{0,19}", f"must have 1 to {MAX_CALL_LENGTH} characters besides the hash")]


@attrs.define(kw_only=True)
class VideoConversationCard(Model):
    """A video with up to four calls to action (`cta`), each a hashtag with the text to post."""

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
    """Optional fields of a video conversation card. None clears a value."""

    title: Annotated[str, MaxLen(23)] | None
    """Required if there is no second call to action."""
    second_cta: Call | None
    second_cta_tweet: str | None
    """Required with its call to action, as are the third and fourth texts."""
    third_cta: Call | None
    third_cta_tweet: str | None
    fourth_cta: Call | None
    fourth_cta_tweet: str | None
    poster_media_key: str | None
    thank_you_url: str | None
    unlocked_image_media_key: str | None
    """Shown after the user has posted. Not included in responses."""
    unlocked_video_media_key: str | None


class VideoConversationCardFields(_Further, total=False):
    """A video conversation card to create."""

    first_cta: Required[Call]
    """Up to 20 characters without the hash sign."""
    first_cta_tweet: Required[Annotated[str, MinLen(1)]]
    media_key: Required[str]
    """The key of a 16:9 video of the media library."""
    name: Required[CardName]
    thank_you_text: Required[Annotated[str, MinLen(1), MaxLen(23)]]


class VideoConversationCardChanges(_Further, total=False):
    """The fields of a video conversation card to change."""

    first_cta: Call
    first_cta_tweet: Annotated[str, MinLen(1)]
    media_key: str
    name: CardName
    thank_you_text: Annotated[str, MinLen(1), MaxLen(23)]


def conversation_rules(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    """Yields the violations in a complete card, either new or after a change."""
    if not data.get("title") and not data.get("second_cta"):
        yield BrokenRule(path="title", reason="or second_cta is required", code="MISSING_PARAMETER")
    for ordinal in ORDINALS[1:]:
        if data.get(f"{ordinal}_cta") and not data.get(f"{ordinal}_cta_tweet"):
            reason = f"is required with {ordinal}_cta"
            yield BrokenRule(path=f"{ordinal}_cta_tweet", reason=reason, code="MISSING_PARAMETER")


VideoConversationCardDraft = Annotated[
    VideoConversationCardFields, Conditions(lambda data, _: conversation_rules(data))
]


PostName = Annotated[str, MaxLen(80)]
MAX_MEDIA: Final = 4


@attrs.define(kw_only=True)
class AdvertiserPost(Model):
    """A post of an advertiser. Most of its fields are undocumented and stored in `extra`."""

    id: str
    name: str | None = None
    text: str | None = None
    card_uri: str | None = None
    nullcast: bool | None = None


class AdvertiserPostFields(TypedDict, total=False):
    """A post to create for an advertiser."""

    as_user_id: Required[Long]
    """The advertiser, who must have granted the caller access to the ad account."""
    text: str
    """Required if there is no media."""
    card_uri: str
    conversation_settings: Literal["EVERYONE", "FOLLOWING", "MENTIONED_USERS"]
    """Who may reply. Returned by version 8 and later of the API."""
    media_keys: Annotated[ListOf[Element], MaxLen(MAX_MEDIA)]
    """Up to four images, one GIF, or one video."""
    name: PostName
    nullcast: bool
    """True by default: the post is shown only as an ad. For an organic post, the advertiser must be the authenticated
    user.
    """
    trim_user: bool
    tweet_mode: Literal["compat", "extended"]
    video_cta: Literal["VISIT_SITE", "WATCH_NOW"]
    video_cta_value: str
    video_description: Annotated[str, MaxLen(200)]
    video_title: Annotated[str, MaxLen(70)]


def _post_conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    if not data.get("text") and not data.get("media_keys"):
        yield BrokenRule(path="text", reason="is required without media_keys", code="MISSING_PARAMETER")


AdvertiserPostDraft = Annotated[AdvertiserPostFields, Conditions(_post_conditions)]


class AdvertiserPostName(TypedDict):
    """A new name for a post in the account."""

    name: PostName
