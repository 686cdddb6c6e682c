"""Posts and what they carry: what comes back, and what is created (platform documentation, sections 2.4, 2.5 and 4.4)."""

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import attrs
from annotated_types import MaxLen

from socialapi.models.model import Model
from socialapi.models.validation import AnyId, ListOf
from socialapi.unset import UNSET, Unset


@attrs.define(kw_only=True)
class MediaMetrics(Model):
    """Public counts of a video."""

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
    """A poll; its fields are not documented and stand in `extra`."""

    id: str


@attrs.define(kw_only=True)
class Place(Model):
    """A place; its fields are not documented and stand in `extra`."""

    id: str


@attrs.define(kw_only=True)
class Space(Model):
    """An audio space; its fields are not documented and stand in `extra`."""

    id: str


@attrs.define(kw_only=True)
class UserList(Model):
    """A list of users; its fields are not documented and stand in `extra`."""

    id: str
    name: str | None = None


MAX_TEXT_LENGTH: Final = 25_000


@attrs.define(kw_only=True)
class Attachments(Model):
    """What a post carries, by key."""

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
    """What a context annotation is about."""

    id: str | None = None
    name: str | None = None


@attrs.define(kw_only=True)
class ContextAnnotation(Model):
    """A subject that the service found in a post."""

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
    """A link in a text; `start` and `end` are offsets in characters."""

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
    """A user named in a text."""

    start: int
    end: int
    username: str | None = None
    id: str | None = None


@attrs.define(kw_only=True)
class TagEntity(Model):
    """A hashtag in a text, without its sign."""

    start: int
    end: int
    tag: str | None = None


@attrs.define(kw_only=True)
class AnnotationEntity(Model):
    """Something the service recognised in a text."""

    start: int
    end: int
    type: str | None = None
    normalized_text: str | None = None
    probability: float | None = None


@attrs.define(kw_only=True)
class Entities(Model):
    """What stands in a text, each with its offsets."""

    urls: tuple[UrlEntity, ...] = ()
    mentions: tuple[MentionEntity, ...] = ()
    hashtags: tuple[TagEntity, ...] = ()
    annotations: tuple[AnnotationEntity, ...] = ()


@attrs.define(kw_only=True)
class PostMetrics(Model):
    """Public counts of a post."""

    retweet_count: int | None = None
    reply_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None
    impression_count: int | None = None


@attrs.define(kw_only=True)
class ReferencedPost(Model):
    """Another post that a post answers, quotes or repeats."""

    type: Literal["replied_to", "quoted", "retweeted"] | str
    id: str


@attrs.define(kw_only=True)
class EditControls(Model):
    """Whether and until when a post can be edited."""

    edits_remaining: int | None = None
    is_edit_eligible: bool | None = None
    editable_until: datetime.datetime | None = None


@attrs.define(kw_only=True)
class Post(Model):
    """A post. Only `id` and `text` come unasked; the others are selected with `Fields(post=…)`."""

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
class PostReply:
    """The post that is answered."""

    in_reply_to_tweet_id: AnyId
    exclude_reply_user_ids: ListOf[AnyId] | Unset = UNSET


@attrs.define(kw_only=True)
class PostMedia:
    """Uploaded media that the post shows."""

    media_ids: ListOf[AnyId]
    tagged_user_ids: ListOf[AnyId] | Unset = UNSET


@attrs.define(kw_only=True)
class EditOptions:
    """The post that the new one replaces: an own one, created within the last hour, by a premium author."""

    previous_post_id: AnyId


@attrs.define(kw_only=True)
class PostDraft:
    """A post to create. What is not named here goes into `extra` and is sent as it is."""

    text: Annotated[str, MaxLen(MAX_TEXT_LENGTH)] | Unset = UNSET
    community_id: AnyId | Unset = UNSET
    share_with_followers: bool | Unset = UNSET
    paid_partnership: bool | Unset = UNSET
    reply: PostReply | Unset = UNSET
    quote_tweet_id: AnyId | Unset = UNSET
    media: PostMedia | Unset = UNSET
    edit_options: EditOptions | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)
