"""Reading what streams and webhooks deliver (platform documentation, sections 4.1 and 6).

Nothing raises here: what cannot be read is handed over as it came, with the reason. The payloads of events are not
documented, so their reading asks for little; posts are read as strictly as everywhere.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from socialapi.errors import DecodeError
from socialapi.models.activity import DEPRECATED_EVENT_TYPES
from socialapi.models.events import ActivityEvent, DirectMessage, MatchedPost, StreamNotice
from socialapi.models.pages import Undecoded
from socialapi.problems import Problem, ServiceError
from socialapi.wire.converter import structure
from socialapi.wire.problems import read_partial_error

EVENT_ID_PATHS: Final = ("event_id", "data.event_id", "id")
"""Where the id of an event is looked for; no place is documented. What is at `data.id` may be the object that the event
is about, of which there can be more than one.
"""
POST_ID_PATHS: Final = ("data.id",)
"""Where that of a post that matches rules is."""

NO_OBJECT: Final = "is no JSON object"

_MESSAGE_TYPES: Final = ("dm.", "chat.")
_ACTIVITY_FIELDS: Final = frozenset({"event_type", "event_id", "created_at", "tag", "filter", "payload"})


def read_post(content: bytes) -> MatchedPost | StreamNotice | Undecoded:
    """A line of the filtered stream."""
    try:
        body = orjson.loads(content)
        if body.__class__ is not dict:
            return Undecoded(content, reason=NO_OBJECT)
        if "data" not in body:
            return _notice(body, content)
        return _matched_post(body, content)
    except (DecodeError, orjson.JSONDecodeError) as problem:
        return Undecoded(content, reason=_reason(problem))


def read_activity(content: bytes) -> ActivityEvent | StreamNotice | Undecoded:
    """A line of the activity stream."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        return Undecoded(content, reason=_reason(problem))
    if not isinstance(body, dict):
        return Undecoded(content, reason=NO_OBJECT)
    if "data" not in body and ("errors" in body or "title" in body):
        return _notice(body, content)
    return _activity(body, content)


def read_delivery(content: bytes) -> ActivityEvent | MatchedPost | Undecoded:
    """The body of a request to a webhook: a post where rules say that they match it, else an activity event."""
    try:
        body = orjson.loads(content)
        if not isinstance(body, dict):
            return Undecoded(content, reason=NO_OBJECT)
        if _is_post(body):
            return _matched_post(body, content)
    except (DecodeError, orjson.JSONDecodeError) as problem:
        return Undecoded(content, reason=_reason(problem))
    return _activity(body, content)


LINE_READERS: Final[Mapping[Any, Callable[[bytes], Any]]] = {MatchedPost: read_post, ActivityEvent: read_activity}
"""How a line of a stream is read, by what it holds."""


def identity_of(body: Mapping[str, Any], paths: Sequence[str] | None = None) -> str | None:
    """What tells an event from all others: its id behind its type, since one object may have several kinds of events.

    None for an event without an id at any of the dotted paths, which by default are those of posts for a post, else
    those of events.
    """
    if paths is None:
        paths = POST_ID_PATHS if _is_post(body) else EVENT_ID_PATHS
    for path in paths:
        value: Any = body
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            inner = body.get("data")
            kind = (inner if isinstance(inner, Mapping) else body).get("event_type", body.get("event_type"))
            return f"{kind if isinstance(kind, str) else ''}:{value}"
    return None


def identity_of_item(item: ActivityEvent | MatchedPost) -> str | None:
    """What tells something that a stream brought from all else that it brings, by the same rule."""
    if isinstance(item, MatchedPost):
        return f":{item.data.id}"
    return identity_of(orjson.loads(item.content))


def _is_post(body: Mapping[str, Any]) -> bool:
    return "matching_rules" in body and "data" in body


def _matched_post(body: Mapping[str, Any], content: bytes) -> MatchedPost:
    post: MatchedPost = structure(body, MatchedPost)
    if "errors" in body and isinstance(post.extra.get("errors"), list):
        post.errors = _errors(post.extra.pop("errors"))
    post.content = content
    return post


def _notice(body: Mapping[str, Any], content: bytes) -> StreamNotice | Undecoded:
    """Problems without data; a bare one is tolerated."""
    listed = body.get("errors", [body] if "title" in body else None)
    problems = _errors(listed) if isinstance(listed, list) else ()
    return StreamNotice(problems, content) if problems else Undecoded(content, reason="has neither data nor errors")


def _errors(listed: Sequence[Any]) -> tuple[Problem | ServiceError, ...]:
    return tuple(read_partial_error(each) for each in listed if isinstance(each, Mapping))


def _activity(body: Mapping[str, Any], content: bytes) -> ActivityEvent:
    wrapped = body.get("data")
    inner: Mapping[str, Any] = body
    if isinstance(wrapped, Mapping):
        inner = {**{name: value for name, value in body.items() if name != "data"}, **wrapped}
    given = inner.get("event_type")
    event = ActivityEvent(
        event_type=DEPRECATED_EVENT_TYPES.get(given, given) if isinstance(given, str) else None,
        event_id=_id(inner.get("event_id")),
        created_at=_time(inner.get("created_at")),
        tag=inner["tag"] if isinstance(inner.get("tag"), str) else None,
        filter=_object(inner.get("filter")),
        payload=_object(inner.get("payload")),
        extra={name: value for name, value in inner.items() if name not in _ACTIVITY_FIELDS},
    )
    if event.event_type is not None and event.event_type.startswith(_MESSAGE_TYPES):
        event.message = _message(event.payload)
    event.content = content
    return event


def _message(payload: Mapping[str, Any]) -> DirectMessage | None:
    try:
        message: DirectMessage = structure(payload, DirectMessage)
    except DecodeError:
        return None
    return message


def _id(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _time(value: Any) -> datetime.datetime | None:
    try:
        found = datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def _reason(problem: Exception) -> str:
    """Why, without what: the bytes are beside it, and messages of decoders may quote them."""
    if isinstance(problem, orjson.JSONDecodeError):
        return f"is not JSON (at byte {problem.pos})"
    return str(problem)
