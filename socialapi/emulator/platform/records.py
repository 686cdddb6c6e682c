"""What the core platform API keeps: posts, webhooks, rules and the rest. Plain records, by id."""

from typing import Any, Final

import attrs

from socialapi.emulator.platform.post_store import PostStore
from socialapi.models.streams import MAX_RULES

Fields = dict[str, Any]
"""An object as the service would show all of it."""

DEFAULT_MAX_WEBHOOKS: Final = 5
"""How many webhooks an app may have; no number is documented."""
DEFAULT_MAX_CONNECTIONS: Final = 5
"""How many streaming connections an app may have open to one endpoint; no number is documented."""
PAST_CONNECTIONS: Final = 1_000
"""How many connections that ended are remembered."""

_ID_SHIFT: Final = 22
_EPOCH_MS: Final = 1_262_304_000_000  # 2010-01-01


def id_at(milliseconds: int) -> int:
    """The first id of a millisecond: ids grow with time."""
    return (milliseconds - _EPOCH_MS) << _ID_SHIFT


@attrs.define(kw_only=True)
class Webhook:
    """A registered webhook of an app (section 2.1)."""

    id: str
    url: str
    app_key: str
    valid: bool
    created_at: float
    checked_at: float


@attrs.frozen(kw_only=True)
class StreamLink:
    """A link from an app's filtered-stream rules to a webhook, with the field parameters of what is delivered."""

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
    """A streaming connection of an app; active until it is `disconnected_at`."""

    id: str
    app_key: str
    endpoint_id: str
    connected_at: float
    disconnected_at: float | None = None
    disconnect_reason: str | None = None


@attrs.define(kw_only=True)
class StoredArticle:
    """An article; a draft until it has a `post_id`."""

    id: str
    author_id: str
    title: str
    content_state: Any
    cover_media: Any = None
    post_id: str | None = None


@attrs.frozen(kw_only=True)
class StoredNote:
    """A submitted community note; `writer` is a user id, or an app's key."""

    id: str
    writer: str
    fields: Fields


@attrs.frozen(kw_only=True)
class ActivitySubscription:
    """An activity subscription of an app (section 6.2)."""

    id: str
    app_key: str
    event_type: str
    filter: Fields
    extra: Fields


@attrs.define
class Platform:
    """Everything of the platform API; what belongs to an app is by its key."""

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
        """One connection more; of too many, the one that began first of those that ended is forgotten."""
        self.connections.append(connection)
        if len(self.connections) > PAST_CONNECTIONS:
            past = (key for key, each in enumerate(self.connections) if each.disconnected_at is not None)
            if (oldest := next(past, None)) is not None:
                del self.connections[oldest]
                self.connections_forgotten += 1

    def new_id(self, now: float) -> int:
        """An id that is larger than every one before."""
        self.last_id = max(self.last_id + 1, id_at(int(now * 1000)))
        return self.last_id
