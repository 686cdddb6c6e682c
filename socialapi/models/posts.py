"""Posts, as returned and as created."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.internal.records import Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.models.validation import AnyId, ListOf, ObjectOf
from socialapi.problems import BrokenRule


@attrs.define(kw_only=True)
class MediaMetrics(Model):
    """The public metrics of a video."""

    view_count: int | None = None


@attrs.define(kw_only=True)
class MediaVariant(Model):
    """One encoding of a video."""

    url: str | None = None
    content_type: str | None = None
    bit_rate: int | None = None


@attrs.define(kw_only=True)
class Media(Model):
    """An image or video of a post; `duration_ms` is in milliseconds."""

    media_key: str = attrs.field(metadata={"key": True})
    type: Literal["photo", "video", "animated_gif"] | str | None = None
    duration_ms: int | None = None
    public_metrics: MediaMetrics | None = None
    variants: tuple[MediaVariant, ...] = ()


@attrs.define(kw_only=True)
class Poll(Model):
    """A poll. Its fields are undocumented and stored in `extra`."""

    id: str


@attrs.define(kw_only=True)
class Place(Model):
    """A place. Its fields are undocumented and stored in `extra`."""

    id: str


@attrs.define(kw_only=True)
class Space(Model):
    """An audio space. Its fields are undocumented and stored in `extra`."""

    id: str


@attrs.define(kw_only=True)
class UserList(Model):
    """A list of users. Its other fields are undocumented and stored in `extra`."""

    id: str
    name: str | None = None


MAX_TEXT_LENGTH: Final = 25_000


@attrs.define(kw_only=True)
class Attachments(Model):
    """The keys of the media and polls of a post."""

    media_keys: tuple[str, ...] = ()
    poll_ids: tuple[str, ...] = ()


@attrs.define(kw_only=True)
class ContextDomain(Model):
    """The subject area of a context annotation."""

    id: str | None = None
    name: str | None = None
    description: str | None = None


@attrs.define(kw_only=True)
class ContextEntity(Model):
    """The subject of a context annotation."""

    id: str | None = None
    name: str | None = None


@attrs.define(kw_only=True)
class ContextAnnotation(Model):
    """A subject that the service recognized in a post."""

    domain: ContextDomain | None = None
    entity: ContextEntity | None = None


@attrs.define(kw_only=True)
class UrlImage(Model):
    """A preview image of a linked page."""

    url: str | None = None
    width: int | None = None
    height: int | None = None


@attrs.define(kw_only=True)
class UrlEntity(Model):
    """A link in a text. `start` and `end` are offsets in characters."""

    start: int
    end: int
    url: str | None = None
    expanded_url: str | None = None
    display_url: str | None = None
    status: int | None = None
    title: str | None = None
    description: str | None = None
    unwound_url: str | None = None
    images: tuple[UrlImage, ...] = ()


@attrs.define(kw_only=True)
class MentionEntity(Model):
    """A mention of a user in a text."""

    start: int
    end: int
    username: str | None = None
    id: str | None = None


@attrs.define(kw_only=True)
class TagEntity(Model):
    """A hashtag in a text, without the hash sign."""

    start: int
    end: int
    tag: str | None = None


@attrs.define(kw_only=True)
class AnnotationEntity(Model):
    """An entity that the service recognized in a text."""

    start: int
    end: int
    type: str | None = None
    normalized_text: str | None = None
    probability: float | None = None


@attrs.define(kw_only=True)
class Entities(Model):
    """The entities in a text, each with its offsets."""

    urls: tuple[UrlEntity, ...] = ()
    mentions: tuple[MentionEntity, ...] = ()
    hashtags: tuple[TagEntity, ...] = ()
    annotations: tuple[AnnotationEntity, ...] = ()


@attrs.define(kw_only=True)
class PostMetrics(Model):
    """The public metrics of a post."""

    retweet_count: int | None = None
    reply_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None
    impression_count: int | None = None


@attrs.define(kw_only=True)
class ReferencedPost(Model):
    """Another post that a post replies to, quotes or reposts."""

    type: Literal["replied_to", "quoted", "retweeted"] | str
    id: str


@attrs.define(kw_only=True)
class EditControls(Model):
    """Whether, and until when, a post can be edited."""

    edits_remaining: int | None = None
    is_edit_eligible: bool | None = None
    editable_until: datetime.datetime | None = None


@attrs.define(kw_only=True)
class Post(Model):
    """A post. Fields other than `id` and `text` must be selected with `Fields(post=…)`."""

    id: str
    text: str | None = None
    attachments: Attachments | None = None
    author_id: str | None = None
    community_id: str | None = None
    context_annotations: tuple[ContextAnnotation, ...] = ()
    conversation_id: str | None = None
    created_at: datetime.datetime | None = None
    edit_controls: EditControls | None = None
    edit_history_tweet_ids: tuple[str, ...] = ()
    entities: Entities | None = None
    in_reply_to_user_id: str | None = None
    lang: str | None = None
    paid_partnership: bool | None = None
    possibly_sensitive: bool | None = None
    public_metrics: PostMetrics | None = None
    referenced_tweets: tuple[ReferencedPost, ...] = ()


@attrs.define(kw_only=True)
class PostReply(Record):
    """The post to reply to."""

    in_reply_to_tweet_id: AnyId
    auto_populate_reply_metadata: bool | Unset = UNSET
    exclude_reply_user_ids: ListOf[AnyId] | Unset = UNSET


@attrs.define(kw_only=True)
class PostMedia(Record):
    """Uploaded media to show in a post."""

    media_ids: ListOf[AnyId]
    tagged_user_ids: ListOf[AnyId] | Unset = UNSET


ReplySettings = Literal["following", "mentionedUsers", "subscribers", "verified"]
"""Who may reply, in addition to mentioned users. The default is everyone."""


@attrs.define(kw_only=True)
class PostPoll(Record):
    """A poll of two to four options, open for 5 minutes to 7 days."""

    options: Annotated[ListOf[Annotated[str, MinLen(1), MaxLen(25)]], MinLen(2), MaxLen(4)]
    duration_minutes: Annotated[int, Ge(5), Le(10_080)]
    reply_settings: ReplySettings | Unset = UNSET


@attrs.define(kw_only=True)
class PostGeo(Record):
    """The place of a post."""

    place_id: AnyId


@attrs.define(kw_only=True)
class EditOptions(Record):
    """The post that an edit replaces. It must be the author's own and at most an hour old, and the author must be a
    premium user.
    """

    previous_post_id: AnyId


@attrs.define(kw_only=True)
class PostDraft(Record):
    """A post to create. The documented and published fields are typed; others go into `extra` and are sent as given.

    `share_with_followers` also shows a post in a community to the author's followers. `reply_settings` controls who may
    reply. A `nullcast` post does not appear in any timeline.
    """

    text: Annotated[str, MaxLen(MAX_TEXT_LENGTH)] | Unset = UNSET
    community_id: AnyId | Unset = UNSET
    share_with_followers: bool | Unset = UNSET
    paid_partnership: bool | Unset = UNSET
    reply: ObjectOf[PostReply] | Unset = UNSET
    quote_tweet_id: AnyId | Unset = UNSET
    media: ObjectOf[PostMedia] | Unset = UNSET
    edit_options: ObjectOf[EditOptions] | Unset = UNSET
    poll: ObjectOf[PostPoll] | Unset = UNSET
    geo: ObjectOf[PostGeo] | Unset = UNSET
    reply_settings: ReplySettings | Unset = UNSET
    card_uri: str | Unset = UNSET
    direct_message_deep_link: str | Unset = UNSET
    for_super_followers_only: bool | Unset = UNSET
    made_with_ai: bool | Unset = UNSET
    nullcast: bool | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation if a post outside a community is to be shared with followers."""
        if data.get("share_with_followers") and "community_id" not in data:
            yield BrokenRule(path="share_with_followers", reason="is for posts with a community_id")
