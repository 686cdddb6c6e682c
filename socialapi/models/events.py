"""What streams and webhooks deliver (platform documentation, sections 4.1, 6 and 7.1).

The documentation does not show a single payload. What it names has a field here; everything else is kept in `payload`
and `extra`, and `content` holds every event exactly as it was sent.
"""

import datetime
from collections.abc import Mapping
from typing import Any, Final, Generic, Literal, TypeVar

import attrs

from socialapi.models.activity import EventType
from socialapi.models.model import Model
from socialapi.models.pages import Includes
from socialapi.models.posts import Post
from socialapi.problems import Problem, ServiceError

T = TypeVar("T")

DirectMessageKind = Literal["MessageCreate", "ParticipantsJoin", "ParticipantsLeave"]

MEMBERSHIP_KINDS: Final[frozenset[str]] = frozenset({"ParticipantsJoin", "ParticipantsLeave"})
"""The kinds of direct-message events that name participants: those who joined or left, and nobody else."""


class Streamed(Generic[T]):
    """The result of a route that never ends its answer: one `T` on every line. It has no instances."""


@attrs.define(kw_only=True)
class DirectMessage(Model):
    """A direct-message event; `participant_ids` is None but for those who joined or left."""

    kind: DirectMessageKind | str | None = attrs.field(default=None, metadata={"name": "event_type"})
    id: str | None = None
    sender_id: str | None = None
    dm_conversation_id: str | None = None
    text: str | None = attrs.field(default=None, repr=False)
    participant_ids: tuple[str, ...] | None = None
    created_at: datetime.datetime | None = None


@attrs.define(kw_only=True)
class ActivityEvent(Model):
    """Something that happened on the platform (section 6.2).

    `event_type` is the present name, also where the service sent a deprecated one or an alias, which `wire_type` keeps;
    one that this version does not know stands as it came. `event_id` is the first id at `data.event_uuid`, `event_uuid`,
    `data.event_id`, `event_id` and `id`, or at the `event_id_paths` that were given in their place. `filter` says by what
    part of a subscription it was found, `payload` what happened. `message` is the payload of events about one direct
    message, typed. A field that cannot be read is None or empty, and stands in `extra` as it came.
    """

    event_type: EventType | str | None = None
    wire_type: str | None = attrs.field(default=None, eq=False)
    event_id: str | None = None
    created_at: datetime.datetime | None = None
    tag: str | None = None
    filter: Mapping[str, Any] = attrs.field(factory=dict)
    payload: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    message: DirectMessage | None = attrs.field(init=False, default=None)
    content: bytes = attrs.field(init=False, default=b"", eq=False, repr=False)


@attrs.define(kw_only=True)
class MatchingRule(Model):
    """A rule of the app that a post matches."""

    id: str | None = None
    tag: str | None = None


@attrs.define(kw_only=True)
class MatchedPost(Model):
    """A post that matches rules of the app's filtered stream, with what was selected beside it."""

    data: Post
    includes: Includes = attrs.field(factory=Includes)
    matching_rules: tuple[MatchingRule, ...] = ()
    errors: tuple[Problem | ServiceError, ...] = attrs.field(init=False, default=())
    content: bytes = attrs.field(init=False, default=b"", eq=False, repr=False)


@attrs.frozen
class StreamNotice:
    """What the service says on a stream beside events, and goes on."""

    problems: tuple[Problem | ServiceError, ...]
    content: bytes = attrs.field(default=b"", eq=False, repr=False)
