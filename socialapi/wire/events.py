"""Decodes the items of streams and webhooks.

Nothing here raises: undecodable items are returned unchanged, with the reason. The payloads of
events are undocumented, so all their fields are optional. Posts are decoded as strictly as
everywhere else.
"""

import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import orjson

from socialapi.errors import DecodeError
from socialapi.models.events import ActivityEvent, DirectMessage, MatchedPost, StreamNotice, canonical_event_type
from socialapi.models.undecoded import Undecoded
from socialapi.models.validation import invalid
from socialapi.problems import Problem, ServiceError
from socialapi.wire.class_readers import UNREADABLE, Reader
from socialapi.wire.decode import CONVERTER, decode_json, read_partial_error, structure
from socialapi.wire.scalars import identifier, moment, only, only_object, read_or_none, text, whole_number

T = TypeVar("T")

EVENT_ID_PATHS: Final = ("data.event_uuid", "event_uuid", "data.event_id", "event_id", "id")
"""The paths of an event's id, in order of preference. `data.id` is not one of them: it may be the id of the event's
subject, which can have several events.
"""
POST_ID_PATHS: Final = ("data.id",)
"""The path of the id of a matched post."""

NO_OBJECT: Final = "is not a JSON object"
NO_EVENT_ID: Final = (
    "an event has no id: it is delivered, but duplicates of such events cannot be recognized "
    "(set event_id_paths to the paths of ids)"
)
"""Logged once by a receiver or a stream."""

_MESSAGE_TYPES: Final = ("dm.", "chat.")
_ID_FIELDS: Final = ("event_uuid", "event_id")
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LEGACY_MESSAGES: Final = "direct_message_events"
_LEGACY_MESSAGE_KINDS: Final[Mapping[Any, str]] = {
    "message_create": "MessageCreate",
    "participants_join": "ParticipantsJoin",
    "participants_leave": "ParticipantsLeave",
}


Paths = Sequence[str] | None
"""The paths of ids that replace the defaults; None for the defaults."""


def read_post(content: bytes, paths: Paths = None) -> MatchedPost | StreamNotice | Undecoded:
    """Returns the item in a line of the filtered stream. `paths` is ignored: the id of a post is always `data.id`."""
    try:
        # Not `decode_json` and `structure`: they would take a tenth longer for every post.
        body = orjson.loads(content)
        post: MatchedPost = _post_reader().read(body)
    except UNREADABLE:
        return _read_other(content)
    if "errors" in body:
        return _with_the_rest(post, body, content)
    post.content = content
    return post


@functools.cache
def _post_reader() -> Reader:
    reader = CONVERTER.get_structure_hook(MatchedPost)
    assert isinstance(reader, Reader)
    return reader


def _read_other(content: bytes) -> MatchedPost | StreamNotice | Undecoded:
    """Returns the item in a line that has no post or that orjson rejects."""
    try:
        body = decode_json(content)
        if body.__class__ is not dict:
            return Undecoded(content, reason=NO_OBJECT)
        if body.get("data") is None and ("data" not in body or _has_problems(body)):
            return _notice(body, content)
        return matched_post(body, content)
    except (DecodeError, orjson.JSONDecodeError) as problem:
        return Undecoded(content, reason=_reason(problem))


def read_activity(content: bytes, paths: Paths = None) -> ActivityEvent | StreamNotice | Undecoded:
    """Returns the item in a line of the activity stream."""
    try:
        body = decode_json(content)
    except orjson.JSONDecodeError as problem:
        return Undecoded(content, reason=_reason(problem))
    if not isinstance(body, dict):
        return Undecoded(content, reason=NO_OBJECT)
    if body.get("data") is None and _has_problems(body):
        return _notice(body, content)
    return _activity(body, content, paths)


def read_delivery(content: bytes, paths: Paths = None) -> ActivityEvent | MatchedPost | Undecoded:
    """Returns the item in the body of a webhook request: a post if the body lists matching rules, else an activity
    event.
    """
    try:
        body = decode_json(content)
        if not isinstance(body, dict):
            return Undecoded(content, reason=NO_OBJECT)
        if _is_post(body):
            return matched_post(body, content)
    except (DecodeError, orjson.JSONDecodeError) as problem:
        return Undecoded(content, reason=_reason(problem))
    return _activity(body, content, paths)


LINE_READERS: Final[Mapping[Any, Callable[[bytes, Paths], Any]]] = {
    MatchedPost: read_post,
    ActivityEvent: read_activity,
}
"""The function that reads a line of a stream, by the type of its items."""


# Ids ---------------------------------------------------------------------------------------------------------------


def checked_paths(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Returns the dotted paths of event ids; a single string is one path. Raises InvalidInput for anything else."""
    if given is None:
        return None
    paths: Any = (given,) if isinstance(given, str) else given
    if not isinstance(paths, Sequence) or not paths or not all(isinstance(each, str) and each for each in paths):
        raise invalid("event_id_paths", "must be dotted paths, for example data.event_uuid")
    return tuple(paths)


def identity_of(body: Any, paths: Paths = None) -> str | None:
    """Returns the key that identifies an event: its type and id.

    The type is included because one object may have several kinds of events. Returns None for an event without an id at
    any of the dotted paths, which default to the paths of posts or events.
    """
    if not isinstance(body, Mapping):
        return None
    found = event_id_of(body, paths)
    wire_type = read_or_none(_name, _inner(body).get("event_type"))
    return None if found is None else f"{canonical_event_type(wire_type or '')}:{found}"


def event_id_of(body: Mapping[str, Any], paths: Paths = None) -> str | None:
    """Returns the first id at the paths: a string, or a whole number as digits; None if there is none."""
    if paths is None:
        paths = POST_ID_PATHS if _is_post(body) else EVENT_ID_PATHS
    return next((found for path in paths if (found := _id(_at(body, path))) is not None), None)


def identity_of_item(item: ActivityEvent | MatchedPost, paths: Paths = None) -> str | None:
    """Returns the key that identifies an item of a stream, as `identity_of` does.

    `paths` must be the paths with which the item was read.
    """
    if isinstance(item, MatchedPost):
        return f":{item.data.id}" if paths is None else identity_of(decode_json(item.content), paths)
    return None if item.event_id is None else f"{item.event_type or ''}:{item.event_id}"


def _at(body: Any, path: str) -> Any:
    """Returns the value at a dotted path.

    A number in the path is an array index. An array with one item counts as that item.
    """
    value = body
    for name in path.split("."):
        if isinstance(value, list):
            if name.isdecimal():
                value = value[int(name)] if len(name) < 10 and int(name) < len(value) else None
                continue
            value = value[0] if len(value) == 1 else None
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _id(value: Any) -> str | None:
    found = read_or_none(identifier, value)
    return found if found and found.strip() else None


def _name(value: Any) -> str | None:
    """Returns a string. Raises DecodeError for anything else; numbers are not converted."""
    if value.__class__ is list:
        value = only(value)
    if value is None or isinstance(value, str):
        return value
    raise DecodeError("", "expected a string")


def _inner(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the event merged with the fields next to `data`. A null in `data` does not hide such a field."""
    wrapped = body.get("data")
    if isinstance(wrapped, list) and len(wrapped) == 1:
        wrapped = wrapped[0]
    if not isinstance(wrapped, Mapping):
        return body
    beside = {name: value for name, value in body.items() if name != "data"}
    return beside | {name: value for name, value in wrapped.items() if value is not None or name not in beside}


# What is read ------------------------------------------------------------------------------------------------------


def _is_post(body: Mapping[str, Any]) -> bool:
    return "matching_rules" in body and "data" in body


def _has_problems(body: Mapping[str, Any]) -> bool:
    return body.get("errors") is not None or "title" in body


def matched_post(body: Mapping[str, Any], content: bytes) -> MatchedPost:
    """Returns the post in an object that arrived as these bytes. Raises DecodeError."""
    return _with_the_rest(structure(body, MatchedPost), body, content)


def _with_the_rest(post: MatchedPost, body: Mapping[str, Any], content: bytes) -> MatchedPost:
    """Returns the post with its errors and the bytes that arrived."""
    if "errors" in body and isinstance(post.extra.get("errors"), list):
        post.errors = _errors(post.extra.pop("errors"))
    post.content = content
    return post


def _notice(body: Mapping[str, Any], content: bytes) -> StreamNotice | Undecoded:
    """Returns a notice with the problems in a line without data. The line itself may be a single problem."""
    listed = body.get("errors")
    if listed is None and "title" in body:
        listed = [body]
    problems = _errors(listed) if isinstance(listed, list) else ()
    return StreamNotice(problems, content) if problems else Undecoded(content, reason="has neither data nor errors")


def _errors(listed: Sequence[Any]) -> tuple[Problem | ServiceError, ...]:
    return tuple(read_partial_error(each) for each in listed if isinstance(each, Mapping))


class _Fields:
    """Reads the fields of an object one after another. Unread fields stay in `left`."""

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.left = dict(source)

    def read(self, name: str, reader: Callable[[Any], T | None]) -> T | None:
        try:
            found = reader(self.left.get(name))
        except DecodeError:
            return None
        self.left.pop(name, None)
        return found

    def drop_ids(self, event_id: str | None) -> None:
        """Removes the id of the event, which was already read. An id with a different value stays."""
        for name in _ID_FIELDS:
            value = self.left.get(name)
            says_nothing = value is None or value == [] or (isinstance(value, str) and not value.strip())
            if says_nothing or (event_id is not None and _id(value) == event_id):
                self.left.pop(name, None)


def _activity(body: Mapping[str, Any], content: bytes, paths: Paths) -> ActivityEvent:
    event_id = event_id_of(body, EVENT_ID_PATHS if paths is None else paths)
    fields = _Fields(_inner(body))
    fields.drop_ids(event_id)
    wire_type = fields.read("event_type", _name)
    event = ActivityEvent(
        event_type=None if wire_type is None else canonical_event_type(wire_type),
        wire_type=wire_type,
        event_id=event_id,
        created_at=fields.read("created_at", moment),
        tag=fields.read("tag", text),
        filter=fields.read("filter", only_object) or {},
        payload=fields.read("payload", only_object) or {},
        extra=fields.left,
    )
    return with_message(event, content)


def with_message(event: ActivityEvent, content: bytes) -> ActivityEvent:
    """Returns the event with the bytes that arrived, and its message if it is about one."""
    if event.event_type is not None and event.event_type.startswith(_MESSAGE_TYPES):
        event.message = _message(event.payload)
    event.content = content
    return event


def _message(payload: Mapping[str, Any]) -> DirectMessage | None:
    try:
        if _LEGACY_MESSAGES in payload:
            # Several messages stay in the payload.
            listed = payload[_LEGACY_MESSAGES]
            if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], Mapping):
                return None
            created = read_or_none(only_object, listed[0].get("message_create")) or {}
            data = read_or_none(only_object, created.get("message_data")) or {}
            fields = _Fields(listed[0])
            kind = fields.read("type", _name)
            return DirectMessage(
                kind=None if kind is None else _LEGACY_MESSAGE_KINDS.get(kind, kind),
                id=fields.read("id", identifier),
                sender_id=_id(created.get("sender_id")),
                text=read_or_none(text, data.get("text")),
                created_at=fields.read("created_timestamp", _epoch_moment),
                extra=fields.left,  # with `message_create` unchanged
            )
        message: DirectMessage = structure(payload, DirectMessage)
    except DecodeError:
        return None
    return message


def _epoch_moment(value: Any) -> datetime.datetime | None:
    """Returns a time in the legacy format: milliseconds since 1970."""
    milliseconds = whole_number(value)
    try:
        return None if milliseconds is None else _EPOCH + datetime.timedelta(milliseconds=milliseconds)
    except OverflowError:
        pass
    raise DecodeError("", "expected milliseconds since 1970")


def _reason(problem: Exception) -> str:
    """Returns the reason without the content, which the messages of decoders may quote."""
    if isinstance(problem, orjson.JSONDecodeError):
        return f"is not JSON (at byte {problem.pos})"
    return str(problem)
