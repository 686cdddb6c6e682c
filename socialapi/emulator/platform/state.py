"""The state of the platform API."""

import itertools
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, overload

import attrs
import orjson

from socialapi.models.streams import MAX_RULES

PACKED_POSTS: Final = 100_000
"""The number of posts given through the control plane that are kept; the oldest of
more are dropped.
"""
_FORGOTTEN_AT_ONCE: Final = 10_000


@attrs.define(kw_only=True)
class PostRecord:
    """A post. `fields` holds all that can be shown; `shared_with_followers` is set when it is
    created.
    """

    id: str
    author_id: str
    created_at: float
    fields: dict[str, Any] = attrs.field(repr=False)
    shared_with_followers: bool = False


class Generated(Protocol):
    """Generated posts of one author, older than any stored ones."""

    author_id: str

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> int:
        """Returns the id of a post, the oldest first."""

    def record(self, post_id: int) -> PostRecord | None:
        """Returns the post, if it is one of these."""


class Timeline(Sequence[int]):
    """The ids of an author's posts, ascending, so oldest first."""

    def __init__(self, generated: Generated | None = None) -> None:
        self._generated = generated
        self._older = 0 if generated is None else len(generated)
        self.kept: list[int] = []

    def __len__(self) -> int:
        return self._older + len(self.kept)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        if self._generated is not None and position < self._older:
            return self._generated[position]
        return self.kept[position - self._older]


class PostStore:
    """Posts by id and by author. Changes to a generated or packed post must be stored with
    `keep`.
    """

    def __init__(self) -> None:
        self._packed: dict[str, tuple[str, float, bytes]] = {}
        self._kept: dict[str, PostRecord] = {}
        self._timelines: dict[str, Timeline] = {}
        self._generated: Generated | None = None

    def generate(self, generated: Generated) -> None:
        """Starts an author's timeline with generated posts."""
        self._generated = generated
        self._timelines[generated.author_id] = Timeline(generated)

    @property
    def total(self) -> int:
        """Returns the number of posts in all timelines."""
        return sum(map(len, self._timelines.values()))

    def get(self, post_id: str) -> PostRecord | None:
        """Returns the post, or None if there is none."""
        if (found := self._kept.get(post_id)) is not None:
            return found
        if (packed := self._packed.get(post_id)) is not None:
            author_id, created_at, content = packed
            return PostRecord(id=post_id, author_id=author_id, created_at=created_at, fields=orjson.loads(content))
        if self._generated is None or not (post_id.isascii() and post_id.isdigit() and len(post_id) < 20):
            return None
        return self._generated.record(int(post_id)) if str(int(post_id)) == post_id else None

    def known(self, ids: Iterable[int]) -> list[PostRecord]:
        """Returns the posts with ids that are known to exist."""
        return [found for post_id in ids if (found := self.get(str(post_id))) is not None]

    def timeline(self, author_id: str) -> Timeline:
        """Returns the ids of the author's posts; an edited post is there only in
        its latest version.
        """
        return self._timelines.get(author_id) or Timeline()

    def add(self, record: PostRecord, *, in_place_of: str | None = None) -> None:
        """Adds a post as the newest of its author; the version that it replaces
        leaves the timeline.
        """
        self._kept[record.id] = record
        kept = self._timelines.setdefault(record.author_id, Timeline()).kept
        if in_place_of is not None:
            del kept[bisect_left(kept, int(in_place_of))]
        kept.append(int(record.id))

    def add_packed(self, post_id: str, author_id: str, created_at: float, content: bytes) -> None:
        """Adds a post as the JSON of its fields, which takes little memory; the oldest of too
        many are dropped.
        """
        kept = self._timelines.setdefault(author_id, Timeline()).kept
        number = int(post_id)
        if not kept or kept[-1] < number:
            kept.append(number)
        elif self.get(post_id) is None:
            insort(kept, number)
        self._kept.pop(post_id, None)
        self._packed[post_id] = author_id, created_at, content
        if len(self._packed) > PACKED_POSTS:
            self._forget()

    def count(self, record: PostRecord, metric: str) -> None:
        """Adds one to a public count."""
        record.fields["public_metrics"][metric] += 1
        self.keep(record)

    def keep(self, record: PostRecord) -> None:
        """Stores a post that has been changed."""
        self._packed.pop(record.id, None)
        self._kept[record.id] = record

    def _forget(self) -> None:
        gone: dict[str, set[int]] = defaultdict(set)
        for post_id in list(itertools.islice(self._packed, _FORGOTTEN_AT_ONCE)):
            author_id, _, _ = self._packed.pop(post_id)
            gone[author_id].add(int(post_id))
        for author_id, ids in gone.items():
            timeline = self._timelines[author_id]
            timeline.kept = [post_id for post_id in timeline.kept if post_id not in ids]


Fields = dict[str, Any]
"""An object with all fields that the service can show."""

DEFAULT_MAX_WEBHOOKS: Final = 5
"""The number of webhooks that an app may have; the documentation gives none."""
DEFAULT_MAX_CONNECTIONS: Final = 5
"""The number of streaming connections that an app may have open to one endpoint; the
documentation gives none.
"""
PAST_CONNECTIONS: Final = 1_000
"""The number of ended connections that are remembered."""

_ID_SHIFT: Final = 22
_EPOCH_MS: Final = 1_262_304_000_000  # 2010-01-01


def id_at(milliseconds: int) -> int:
    """Returns the first id of a millisecond: ids grow with time."""
    return (milliseconds - _EPOCH_MS) << _ID_SHIFT


@attrs.define(kw_only=True)
class Webhook:
    """A registered webhook of an app (platform section 2.1)."""

    id: str
    url: str
    app_key: str
    valid: bool
    created_at: float
    checked_at: float


@attrs.frozen(kw_only=True)
class StreamLink:
    """A link from an app's filtered stream to a webhook, with the field parameters of its
    deliveries.
    """

    webhook_id: str
    app_key: str
    parameters: dict[str, tuple[str, ...]]


@attrs.frozen(kw_only=True)
class Rule:
    """A filtered-stream rule."""

    id: str
    value: str
    tag: str | None = None


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
    content_state: Any
    cover_media: Any = None
    post_id: str | None = None


@attrs.frozen(kw_only=True)
class StoredNote:
    """A submitted community note. `writer` is a user id, or an app's key."""

    id: str
    writer: str
    fields: Fields


@attrs.frozen(kw_only=True)
class ActivitySubscription:
    """An activity subscription of an app (platform section 6.2)."""

    id: str
    app_key: str
    event_type: str
    filter: Fields
    extra: Fields


@attrs.define
class Platform:
    """All records of the platform API. Those of apps are stored by app key."""

    posts: PostStore = attrs.field(factory=PostStore)
    media: dict[str, Fields] = attrs.field(factory=dict)
    polls: dict[str, Fields] = attrs.field(factory=dict)
    places: dict[str, Fields] = attrs.field(factory=dict)
    news: dict[int, Fields] = attrs.field(factory=dict)
    webhooks: dict[str, Webhook] = attrs.field(factory=dict)
    links: dict[str, StreamLink] = attrs.field(factory=dict)
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

    def remember_connection(self, connection: StreamConnection) -> None:
        """Adds a connection. If too many are remembered, the oldest of those that
        ended is dropped.
        """
        self.connections.append(connection)
        if len(self.connections) > PAST_CONNECTIONS:
            past = (key for key, each in enumerate(self.connections) if each.disconnected_at is not None)
            if (oldest := next(past, None)) is not None:
                del self.connections[oldest]
                self.connections_forgotten += 1

    def new_id(self, now: float) -> int:
        """Returns an id that is larger than every one before."""
        self.last_id = max(self.last_id + 1, id_at(int(now * 1000)))
        return self.last_id
