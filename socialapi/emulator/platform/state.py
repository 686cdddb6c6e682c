"""The state of the platform API."""

import datetime
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, Self

import attrs
import orjson

from socialapi.emulator.platform.rule_matching import Matcher
from socialapi.emulator.responses import packed_json
from socialapi.models.streams import MAX_RULES

PUBLISHED_POSTS: Final = 100_000
"""The maximum number of posts from the control plane that are kept. If there are more, the oldest are dropped."""


@attrs.frozen(kw_only=True)
class PostRecord:
    """A post. To change a post, create another record, which `PostStore.put` stores in its place.

    Timelines do not list `nullcast` posts, which are only shown as ads, or `replaced` posts, which have a later
    version.
    """

    id: str
    author_id: str
    created_at: float
    content: bytes = attrs.field(repr=False)
    """The fields that can be shown, as JSON to save memory."""
    nullcast: bool = False
    replaced: bool = False
    shared_with_followers: bool = False

    @classmethod
    def of(cls, fields: Mapping[str, Any], created_at: float, **flags: bool) -> Self:
        """Returns a post with these fields."""
        return cls(
            id=fields["id"], author_id=fields["author_id"], created_at=created_at, content=packed_json(fields), **flags
        )

    @property
    def fields(self) -> dict[str, Any]:
        """A copy of the fields that can be shown."""
        fields: dict[str, Any] = orjson.loads(self.content)
        return fields

    @property
    def is_listed(self) -> bool:
        """Whether the post is in the timeline of its author."""
        return not (self.nullcast or self.replaced)


class Generated(Protocol):
    """Posts of one author that are generated when they are read."""

    author_id: str
    ids: Sequence[int]
    """In ascending order."""

    def record(self, post_id: str) -> PostRecord | None:
        """Returns the post with the id, if it is one of these posts."""


class PostStore:
    """Posts by id, and the timelines of their authors, which are derived from the posts."""

    def __init__(self) -> None:
        self._posts: dict[str, PostRecord] = {}
        self._timelines: dict[str, list[int]] = {}
        self._published: deque[str] = deque()
        self._generated: Generated | None = None

    def generate(self, generated: Generated) -> None:
        """Creates an author's timeline from generated posts."""
        self._generated = generated
        self._timelines[generated.author_id] = list(generated.ids)

    @property
    def total(self) -> int:
        """The number of posts in all timelines."""
        return sum(map(len, self._timelines.values()))

    def get(self, post_id: str) -> PostRecord | None:
        """Returns the post, or None if there is none."""
        found = self._posts.get(post_id)
        return self._generated.record(post_id) if found is None and self._generated is not None else found

    def time_of(self, number: int) -> float:
        """Returns the `created_at` time of a post in epoch seconds. For generated posts it is derived from the id. The
        control plane may have set any string, so this falls back to the time of creation.
        """
        post = self._posts.get(str(number))
        if post is None:
            return time_of_id(number)
        try:
            moment = datetime.datetime.fromisoformat(post.fields["created_at"])
        except ValueError:
            return post.created_at
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()

    def known(self, ids: Iterable[int | str]) -> list[PostRecord]:
        """Returns the existing posts among these ids."""
        return [found for post_id in ids if (found := self.get(str(post_id))) is not None]

    def timeline(self, author_id: str) -> Sequence[int]:
        """Returns the ids of the author's listed posts in ascending order, that is, oldest first."""
        return self._timelines.get(author_id, ())

    def put(self, post: PostRecord) -> None:
        """Stores a post, which replaces any post with the same id."""
        self._unlist(self.get(post.id))
        self._posts[post.id] = post
        if post.is_listed:
            insort(self._timelines.setdefault(post.author_id, []), int(post.id))

    def put_published(self, post: PostRecord) -> None:
        """Stores a post from the control plane. Drops the oldest such post if there are too many."""
        if self.get(post.id) is None:
            self._published.append(post.id)
        self.put(post)
        if len(self._published) > PUBLISHED_POSTS:
            self._unlist(self._posts.pop(self._published.popleft()))

    def count(self, post_id: str, metric: str) -> None:
        """Adds one to a public count of an existing post."""
        post = self.get(post_id)
        assert post is not None
        fields = post.fields
        fields["public_metrics"][metric] += 1
        self.put(attrs.evolve(post, content=packed_json(fields)))

    def _unlist(self, post: PostRecord | None) -> None:
        if post is not None and post.is_listed:
            timeline = self._timelines[post.author_id]
            del timeline[bisect_left(timeline, int(post.id))]


Fields = dict[str, Any]
"""An object with all fields that the service can show."""

DEFAULT_MAX_WEBHOOKS: Final = 5
"""The number of webhooks that an app may have. The documentation does not specify one."""
DEFAULT_MAX_CONNECTIONS: Final = 5
"""The number of streaming connections that an app may have open to one endpoint. The documentation does not specify
one.
"""
PAST_CONNECTIONS: Final = 1_000
"""The number of ended connections that are kept."""

_ID_SHIFT: Final = 22
_EPOCH_MS: Final = 1_262_304_000_000  # 2010-01-01


def id_at(milliseconds: int) -> int:
    """Returns the first id of a millisecond. Ids grow with time."""
    return (milliseconds - _EPOCH_MS) << _ID_SHIFT


def time_of_id(number: int) -> float:
    """Returns the time of an id, in epoch seconds."""
    return ((number >> _ID_SHIFT) + _EPOCH_MS) / 1_000


@attrs.define(kw_only=True)
class Webhook:
    """A registered webhook of an app."""

    id: str
    url: str
    app_key: str
    valid: bool
    created_at: float
    checked_at: float


@attrs.frozen(kw_only=True)
class Rule:
    """A filtered-stream rule. `matches` is its compiled value."""

    id: str
    value: str
    tag: str | None = None
    matches: Matcher = attrs.field(repr=False)


@attrs.define(kw_only=True)
class StreamConnection:
    """A streaming connection of an app, active until `disconnected_at` is set."""

    id: str
    app_key: str
    endpoint_id: str
    connected_at: float
    disconnected_at: float | None = None
    disconnect_reason: str | None = None


@attrs.define(kw_only=True)
class StoredArticle:
    """An article, which is a draft until it has a `post_id`."""

    id: str
    author_id: str
    title: str
    post_id: str | None = None


@attrs.frozen(kw_only=True)
class StoredNote:
    """A submitted community note. `writer` is a user id, or an app's key."""

    id: str
    writer: str
    fields: Fields


@attrs.frozen(kw_only=True)
class ActivitySubscription:
    """An activity subscription of an app."""

    id: str
    app_key: str
    event_type: str
    filter: Fields
    extra: Fields

    @property
    def webhook_id(self) -> str | None:
        """The webhook to which its events are sent, or None for every webhook of the app."""
        given = self.extra.get("webhook_id")
        return None if given is None else str(given)

    @property
    def identity(self) -> tuple[Any, ...]:
        """The combination of app, event type, filter and webhook, which is unique."""
        return self.app_key, self.event_type, self.filter, self.webhook_id


@attrs.define
class Platform:
    """All records of the platform API. Records that belong to apps are stored by app key."""

    posts: PostStore = attrs.field(factory=PostStore)
    media: dict[str, Fields] = attrs.field(factory=dict)
    polls: dict[str, Fields] = attrs.field(factory=dict)
    places: dict[str, Fields] = attrs.field(factory=dict)
    news: dict[int, Fields] = attrs.field(factory=dict)
    webhooks: dict[str, Webhook] = attrs.field(factory=dict)
    links: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """The field parameters of the webhooks to which an app's filtered stream is linked, by webhook id."""
    rules: dict[str, dict[int, Rule]] = attrs.field(factory=dict)
    powerstream_rules: dict[int, Fields] = attrs.field(factory=dict)
    connections: list[StreamConnection] = attrs.field(factory=list)
    articles: dict[str, StoredArticle] = attrs.field(factory=dict)
    notes: dict[int, StoredNote] = attrs.field(factory=dict)
    notable_posts: list[int] = attrs.field(factory=list)
    """Posts that a community note can be written on."""
    subscriptions: dict[str, ActivitySubscription] = attrs.field(factory=dict)
    max_webhooks: int = DEFAULT_MAX_WEBHOOKS
    max_rules: int = MAX_RULES
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    connections_forgotten: int = 0
    last_id: int = 0

    def forget_webhook(self, webhook_id: str) -> None:
        """Removes a webhook, its stream link, and the subscriptions that refer to it."""
        self.webhooks.pop(webhook_id, None)
        self.links.pop(webhook_id, None)
        self.subscriptions = {each.id: each for each in self.subscriptions.values() if each.webhook_id != webhook_id}

    def remember_connection(self, connection: StreamConnection) -> None:
        """Adds a connection. If there are too many, drops the oldest ended one."""
        self.connections.append(connection)
        if len(self.connections) > PAST_CONNECTIONS:
            past = (key for key, each in enumerate(self.connections) if each.disconnected_at is not None)
            if (oldest := next(past, None)) is not None:
                del self.connections[oldest]
                self.connections_forgotten += 1

    def new_id(self, now: float) -> int:
        """Returns an id that is larger than every earlier id."""
        self.last_id = max(self.last_id + 1, id_at(int(now * 1000)))
        return self.last_id
