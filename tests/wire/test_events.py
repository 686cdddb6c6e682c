"""Reading what streams and webhooks deliver: every documented event, and whatever else there may be."""

import datetime
import json
from collections.abc import Callable
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import InvalidInput
from socialapi.models.events import DEPRECATED_EVENT_TYPES, EVENT_TYPE_ALIASES, EventType
from socialapi.problems import OperationalDisconnect, ServiceError
from socialapi.streams import ActivityEvent, DirectMessage, MatchedPost, MatchingRule, StreamNotice, Undecoded
from socialapi.wire.events import (
    checked_paths,
    identity_of,
    identity_of_item,
    read_activity,
    read_delivery,
    read_post,
)

READERS: list[Callable[[bytes], Any]] = [read_post, read_activity, read_delivery]
SECRET = "something personal"


def event(body: Any) -> ActivityEvent:
    found = read_activity(orjson.dumps(body))
    assert isinstance(found, ActivityEvent)
    return found


# Events


@pytest.mark.parametrize("name", get_args(EventType))
def test_every_documented_event_is_read(name: str) -> None:
    body = {
        "event_type": name,
        "event_id": "7",
        "created_at": "2026-03-18T12:00:00.000Z",
        "tag": "mine",
        "filter": {"user_id": "1"},
        "payload": {"id": "5"},
        "further": [1],
    }
    for content in (body, {"data": body}):
        found = event(content)
        assert (found.event_type, found.event_id, found.tag) == (name, "7", "mine")
        assert found.created_at == datetime.datetime(2026, 3, 18, 12, tzinfo=datetime.UTC)
        assert (found.filter, found.payload, found.extra) == ({"user_id": "1"}, {"id": "5"}, {"further": [1]})
        assert (found.message is not None) == name.startswith(("dm.", "chat."))


@pytest.mark.parametrize(("sent", "today"), [*DEPRECATED_EVENT_TYPES.items(), *EVENT_TYPE_ALIASES.items()])
def test_deprecated_names_and_aliases_become_those_of_today(sent: str, today: str) -> None:
    found = event({"data": {"event_type": sent}})
    assert (found.event_type, found.wire_type) == (today, sent)
    assert today in get_args(EventType)
    assert event({"data": {"event_type": today}}).wire_type == today


def test_an_event_of_an_unknown_type_stands_as_it_came() -> None:
    assert event({"event_type": "post.sing", "payload": {"x": 1}}).payload == {"x": 1}
    assert event({"event_type": "post.sing"}).event_type == "post.sing"
    odd = event({"event_type": 5, "x": 1})
    assert (odd.event_type, odd.wire_type) == (None, None)


def test_an_event_as_it_is_published_is_read() -> None:
    user = {"data": {"id": "2244994945", "username": "ada"}}
    found = event(
        {
            "data": {
                "event_uuid": "-2781149976877970683",
                "filter": {"user_id": "2244994945"},
                "event_type": "post.delete",
                "tag": "mine",
                "payload": {"id": "5"},
                "includes": {"users": [user]},
            }
        }
    )
    assert (found.event_id, found.event_type, found.tag) == ("-2781149976877970683", "post.delete", "mine")
    assert (found.filter, found.payload) == ({"user_id": "2244994945"}, {"id": "5"})
    assert found.extra == {"includes": {"users": [user]}}


def test_of_two_ids_the_other_one_is_kept() -> None:
    found = event({"data": {"event_uuid": "1", "event_id": "2"}})
    assert (found.event_id, found.extra) == ("1", {"event_id": "2"})


def test_what_stands_beside_the_data_is_kept_too() -> None:
    found = event({"data": {"event_type": "post.create"}, "event_id": 9, "includes": {"users": []}})
    assert found.event_id == "9"
    assert found.extra == {"includes": {"users": []}}


@pytest.mark.parametrize("kind", ["ParticipantsJoin", "ParticipantsLeave"])
def test_joins_and_leaves_name_who_joined_or_left(kind: str) -> None:
    payload = {"event_type": kind, "id": "1", "participant_ids": ["5", "6"], "dm_conversation_id": "c"}
    message = event({"event_type": "dm.received", "payload": payload}).message
    assert message == DirectMessage(kind=kind, id="1", participant_ids=("5", "6"), dm_conversation_id="c")


def test_a_message_names_no_participants() -> None:
    payload = {"event_type": "MessageCreate", "id": "1", "sender_id": "5", "text": SECRET, "new": True}
    message = event({"event_type": "dm.sent", "payload": payload}).message
    assert message == DirectMessage(kind="MessageCreate", id="1", sender_id="5", text=SECRET, extra={"new": True})
    assert message is not None
    assert message.participant_ids is None
    assert SECRET not in repr(message)


def legacy(*messages: Any) -> ActivityEvent:
    payload = {"direct_message_events": list(messages), "users": {"5": {"id": "5"}}}
    return event({"data": {"event_uuid": "9", "event_type": "dm.received", "payload": payload}})


def test_a_message_of_the_legacy_shape_is_typed_too() -> None:
    created = {"target": {"recipient_id": "6"}, "sender_id": "5", "message_data": {"text": SECRET}}
    sent = {"type": "message_create", "id": "7", "created_timestamp": "1767225600000", "message_create": created}
    found = legacy(sent)
    assert found.message == DirectMessage(
        kind="MessageCreate",
        id="7",
        sender_id="5",
        text=SECRET,
        created_at=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        extra={"message_create": created},
    )
    assert SECRET not in repr(found)
    assert found.payload["direct_message_events"] == [sent]


@pytest.mark.parametrize(
    "messages",
    [[], [{}, {}], [None], ["x"]],
)
def test_a_list_that_is_not_of_one_message_stays_in_the_payload(messages: list[Any]) -> None:
    found = legacy(*messages)
    assert found.message is None
    assert found.payload["direct_message_events"] == messages


@pytest.mark.parametrize("odd", [{"type": 5}, {"message_create": None}, {"message_create": {"message_data": []}},
                                 {"created_timestamp": "soon"}, {"created_timestamp": 10**18}, {"id": None}])  # fmt: skip
def test_a_legacy_message_of_an_odd_shape_has_what_can_be_read(odd: dict[str, Any]) -> None:
    message = legacy({"id": "7", **odd}).message
    assert message is not None
    assert (message.id, message.text, message.created_at) == (odd.get("id", "7"), None, None)
    assert message.extra == {name: value for name, value in odd.items() if value is not None or name != "id"}


def test_a_message_of_another_shape_leaves_the_event_as_it_is() -> None:
    found = event({"event_type": "dm.sent", "payload": {"id": {}, "text": SECRET}})
    assert found.message is None
    assert found.payload == {"id": {}, "text": SECRET}
    assert event({"event_type": "dm.sent", "payload": {"event_type": "Reaction"}}).message == DirectMessage(
        kind="Reaction"
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"created_at": 1_700_000_000},
        {"created_at": "soon"},
        {"created_at": True},
        {"tag": True},
        {"tag": {"a": 1}},
        {"filter": "user"},
        {"filter": [{}, {}]},
        {"payload": [1]},
        {"payload": "x"},
        {"event_type": 5},
        {"event_type": {}},
        {"event_id": {}},
        {"event_uuid": True},
        {"event_uuid": 0.5},
        {"event_id": [1, 2]},
    ],
)
def test_a_field_that_cannot_be_read_stays_beside_those_that_can(odd: dict[str, Any]) -> None:
    content = orjson.dumps({"data": {"further": 1, **odd}})
    for read in (read_activity, read_delivery):
        found = read(content)
        assert found == ActivityEvent(extra={"further": 1, **odd})
        assert isinstance(found, ActivityEvent)
        assert found.content == content


# Posts


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"tag": 7}, {"tag": "7"}),
        ({"tag": ["mine"]}, {"tag": "mine"}),
        ({"filter": [{"user_id": "1"}]}, {"filter": {"user_id": "1"}}),
        ({"payload": [{"id": "5"}]}, {"payload": {"id": "5"}}),
        ({"event_type": ["post.create"]}, {"event_type": "post.create"}),
        ({"event_uuid": [7]}, {"event_id": "7"}),
        ({"created_at": "20260318T12:00:00Z"}, {"created_at": datetime.datetime(2026, 3, 18, 12, tzinfo=datetime.UTC)}),
        ({"payload": [], "filter": "", "tag": [], "created_at": " ", "event_id": ""}, {}),
    ],
)
def test_fields_are_read_however_the_service_writes_them(sent: dict[str, Any], read: dict[str, Any]) -> None:
    assert event({"data": sent}) == ActivityEvent(**read)


def test_a_post_is_read_with_what_goes_with_it() -> None:
    content = orjson.dumps(
        {
            "data": {"id": "1", "text": "x"},
            "includes": {"users": [{"id": "5", "name": "n", "username": "u"}]},
            "matching_rules": [{"id": "9", "tag": "mine"}],
            "errors": [{"code": 1, "message": "partial"}, 17],
            "new": 1,
        }
    )
    for read in (read_post, read_delivery):
        found = read(content)
        assert isinstance(found, MatchedPost)
        assert (found.data.id, found.data.text, found.includes.users[0].id) == ("1", "x", "5")
        assert found.matching_rules == (MatchingRule(id="9", tag="mine"),)
        assert found.errors == (ServiceError(code=1, message="partial"),)
        assert found.extra == {"new": 1}
        assert found.content == content


def test_a_delivery_without_rules_is_an_event() -> None:
    assert isinstance(read_delivery(b'{"data":{"id":"1","text":"x"}}'), ActivityEvent)
    assert isinstance(read_delivery(b'{"matching_rules":[]}'), ActivityEvent)


# Notices


@pytest.mark.parametrize("read", [read_post, read_activity])
def test_problems_without_data_are_a_notice(read: Callable[[bytes], Any]) -> None:
    listed = {"type": "https://x/operational-disconnect", "title": "t", "disconnect_type": "SlowReader"}
    for body in ({"errors": [listed]}, listed):
        found = read(orjson.dumps(body))
        assert isinstance(found, StreamNotice)
        (problem,) = found.problems
        assert isinstance(problem, OperationalDisconnect)
        assert problem.disconnect_type == "SlowReader"


# Whatever else there may be


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>", "is not JSON (at byte 0)"),
        (b'{"a":"something personal', "is not JSON (at byte 24)"),
        (b"\xff", "is not JSON (at byte 0)"),
        (b"[]", "is not a JSON object"),
        (b'["data"]', "is not a JSON object"),
        (b'"data"', "is not a JSON object"),
        (b'"something personal"', "is not a JSON object"),
        (b"17", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b"true", "is not a JSON object"),
    ],
)
@pytest.mark.parametrize("read", READERS)
def test_what_is_no_object_is_handed_over_as_it_came(read: Callable[[bytes], Any], content: bytes, reason: str) -> None:
    found = read(content)
    assert found == Undecoded(content, reason=reason)
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "has neither data nor errors"),
        ({"errors": []}, "has neither data nor errors"),
        ({"errors": 5}, "has neither data nor errors"),
        ({"errors": {"title": "x"}}, "has neither data nor errors"),
        ({"errors": ["x"]}, "has neither data nor errors"),
        ({"data": None}, "cannot read the answer at data: expected an object"),
        ({"data": {"text": "x"}}, "cannot read the answer at data.id: is missing"),
        ({"data": {"id": "1", "text": "x"}, "matching_rules": 5}, "cannot read the answer at matching_rules[0]: expected an object"),
    ],
)  # fmt: skip
def test_a_post_that_cannot_be_read_says_where(body: Any, reason: str) -> None:
    content = orjson.dumps(body)
    assert read_post(content) == Undecoded(content, reason=reason)


def test_errors_of_another_shape_are_kept_beside_the_post() -> None:
    body = {"data": {"id": "1", "text": "x"}, "matching_rules": [], "errors": 5}
    for read in (read_post, read_delivery):
        found = read(orjson.dumps(body))
        assert isinstance(found, MatchedPost)
        assert (found.errors, found.extra) == ((), {"errors": 5})


MARK = "\ufeff".encode()


@pytest.mark.parametrize("read", READERS)
def test_a_byte_order_mark_is_no_obstacle(read: Callable[[bytes], Any]) -> None:
    content = MARK + b' {"data": {"id": "5", "text": "t", "event_id": "7"}, "matching_rules": []}'
    found = read(content)
    assert not isinstance(found, Undecoded)
    assert found.content == content


def test_a_lone_surrogate_is_read() -> None:
    found = read_delivery(rb'{"event_id": "\ud800", "event_type": "post.create", "payload": {"text": "\udfff!"}}')
    assert isinstance(found, ActivityEvent)
    assert (found.event_id, found.payload) == ("\ud800", {"text": "\udfff!"})
    matched = read_post(rb'{"data": {"id": "5", "text": "a \ud83d"}, "matching_rules": []}')
    assert isinstance(matched, MatchedPost)
    assert matched.data.text == "a \ud83d"


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a":' * 100_000, MARK, MARK * 2 + b"{}", b"{\xed\xa0", b"{" + b"1" * 9_999]
)
@pytest.mark.parametrize("read", READERS)
def test_what_neither_decoder_reads_is_handed_over(read: Callable[[bytes], Any], content: bytes) -> None:
    found = read(content)
    assert isinstance(found, Undecoded)
    assert found.reason.startswith("is not JSON (at byte ")


@pytest.mark.parametrize("name", ["payload", "filter", "tag", "created_at", "event_type", "includes", "event_uuid"])
def test_null_says_nothing(name: str) -> None:
    body = {"data": {"event_uuid": "1", "event_type": "post.create", name: None}}
    found, bare = (
        event(body),
        event({"data": {each: value for each, value in body["data"].items() if value is not None}}),
    )
    found.extra.pop("includes", None)
    assert found == bare


def test_null_in_place_of_what_goes_with_a_post_is_as_if_there_was_none() -> None:
    body = {"data": {"id": "1", "text": "x"}, "matching_rules": None, "includes": None}
    found = read_delivery(orjson.dumps(body))
    assert isinstance(found, MatchedPost)
    assert (found.matching_rules, found.includes.users) == ((), ())


@pytest.mark.parametrize("read", [read_post, read_activity])
def test_problems_beside_null_are_a_notice_too(read: Callable[[bytes], Any]) -> None:
    found = read(b'{"data": null, "errors": [{"type": "about:blank", "title": "t"}]}')
    assert isinstance(found, StreamNotice)
    bare = read(b'{"errors": null, "title": "t", "type": "about:blank"}')
    assert isinstance(bare, StreamNotice)


NAMES = st.sampled_from(
    ["data", "errors", "title", "type", "matching_rules", "includes", "event_type", "event_id", "id", "text", "payload",
     "filter", "created_at", "tag", "users", "participant_ids", "status", "code", "message"]
)  # fmt: skip
VALUES = st.sampled_from(["", "x", "dm.sent", "MessageCreate", "2026-01-01", "https://x/usage-capped", "\ud7ff"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | VALUES | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=5),
    max_leaves=20,
)


@given(JSON)
def test_nothing_raises_and_nothing_is_lost(body: Any) -> None:
    content = orjson.dumps(body)
    for read in READERS:
        assert read(content).content == content


@given(st.text(st.characters(codec=None)))
def test_any_text_that_json_can_write_is_read(text: str) -> None:
    found = read_delivery(b'{"event_type": "a", "payload": {"text": %b}}' % json.dumps(text).encode())
    assert isinstance(found, ActivityEvent)
    assert found.payload == {"text": text}


@given(st.binary(max_size=40))
def test_bytes_of_any_kind_are_handed_over(content: bytes) -> None:
    for read in READERS:
        assert read(content).content == content


@given(JSON)
def test_the_shown_form_of_an_event_holds_nothing_of_its_payload(body: Any) -> None:
    marked = {"data": {"event_type": "dm.sent", "payload": {"text": SECRET, "x": body}, "new": SECRET}, "other": SECRET}
    found = event(marked)
    assert SECRET not in repr(found)
    assert SECRET.encode() in found.content


@pytest.mark.parametrize(
    ("body", "identity"),
    [
        ({"event_id": "1", "event_type": "a"}, "a:1"),
        ({"data": {"event_id": "1", "event_type": "a"}}, "a:1"),
        ({"data": {"id": "1", "event_type": "a"}}, None),
        ({"data": {"id": "1"}, "matching_rules": []}, ":1"),
        ({"data": {"id": "1"}, "matching_rules": [], "event_id": "2", "id": "3"}, ":1"),
        ({"data": {"id": "1"}, "id": "3"}, ":3"),
        ({"id": "1"}, ":1"),
        ({"id": 1}, ":1"),
        ({"event_type": "a", "data": {"event_id": "1"}}, "a:1"),
        ({"event_id": "1", "data": {"event_id": "2", "id": "3"}, "id": "4"}, ":2"),
        ({"data": {"event_uuid": "-7", "event_type": "a", "event_id": "2"}, "event_uuid": "3"}, "a:-7"),
        ({"data": {"event_uuid": -7, "event_type": "a"}}, "a:-7"),
        ({"data": {"event_uuid": 7.0, "event_type": "a"}}, "a:7"),
        ({"data": {"event_uuid": 1e300, "event_id": 0.5}}, None),
        ({"data": {"event_uuid": None, "event_id": " "}, "event_uuid": "8"}, ":8"),
        ({"data": None, "event_uuid": "8"}, ":8"),
        ({"data": [{"event_uuid": "8", "event_type": "a"}]}, "a:8"),
        ({"data": [{"event_uuid": "8"}, {"event_uuid": "9"}]}, None),
        ({"data": {"event_type": "ProfileBioUpdate", "event_uuid": "8"}}, "profile.update.bio:8"),
        ({"data": {"event_type": "profile.update.verified_badge", "event_uuid": 8}}, "profile.update.verified:8"),
        ({"data": {"event_type": None, "event_uuid": "8"}, "event_type": "a"}, "a:8"),
        ({"for_user_id": "2244994945", "tweet_create_events": [{"id": 5}]}, None),
        ({"data": {"id": 5}, "matching_rules": None}, ":5"),
        ([], None),
        (None, None),
        ({"event_id": "", "data": {"event_id": "3"}}, ":3"),
        ({"event_id": True, "data": "id", "id": [1]}, ":1"),
        ({"event_id": True, "data": "id", "id": [1, 2]}, None),
        ({"event_id": None, "event_type": "a"}, None),
        ({"event_type": 5, "id": "1"}, ":1"),
        ({}, None),
    ],
)
def test_what_tells_an_event_from_others(body: Any, identity: str | None) -> None:
    assert identity_of(body) == identity


def test_the_places_of_the_id_can_be_chosen() -> None:
    body = {"id": "1", "payload": {"message": {"id": "5"}}}
    assert identity_of(body, ["payload.message.id"]) == ":5"
    assert identity_of(body, ["payload.message.id.x", "nowhere"]) is None
    assert identity_of({"data": {"id": "5"}, "matching_rules": []}, ["id"]) is None
    listed = {"payload": {"direct_message_events": [{"id": "5"}, {"id": "6"}]}}
    assert identity_of(listed, ["payload.direct_message_events.1.id"]) == ":6"
    assert identity_of(listed, ["payload.direct_message_events.2.id"]) is None
    assert identity_of(listed, ["payload.direct_message_events.id"]) is None


def test_one_path_is_a_list_of_one() -> None:
    assert checked_paths("data.uid") == ("data.uid",)
    assert checked_paths(["a", "b.c"]) == ("a", "b.c")
    assert checked_paths(None) is None


@pytest.mark.parametrize("given", ["", [], [""], [5], 5, {"a": 1}, [None]])
def test_what_is_no_path_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput, match="event_id_paths must be dotted paths"):
        checked_paths(given)


@pytest.mark.parametrize("read", [read_activity, read_delivery])
def test_the_id_of_an_event_is_at_the_chosen_places_alone(read: Callable[..., Any]) -> None:
    paths = ("meta.uid",)
    body = {"event_type": "a", "event_id": "1", "meta": {"uid": 7}}
    found = read(orjson.dumps(body), paths)
    assert (found.event_id, found.extra) == ("7", {"event_id": "1", "meta": {"uid": 7}})
    assert identity_of_item(found, paths) == identity_of(body, paths) == "a:7"
    without = read(b'{"event_type": "a", "event_id": "1"}', paths)
    assert (without.event_id, without.extra) == (None, {"event_id": "1"})
    assert identity_of_item(without, paths) is None


def test_a_post_without_an_id_at_the_chosen_places_cannot_be_told_apart() -> None:
    matched = read_post(b'{"data":{"id":"5","text":"t"},"matching_rules":[]}', ("meta.uid",))
    assert isinstance(matched, MatchedPost)
    assert (matched.data.id, identity_of_item(matched, ("meta.uid",))) == ("5", None)


def test_two_events_about_one_object_are_two() -> None:
    """By the id of the object the second change of somebody's profile was taken for the first."""
    first, second = (
        {"data": {"event_type": "profile.update.bio", "id": "12", "created_at": f"2026-01-0{day}T00:00:00Z"}}
        for day in (1, 2)
    )
    assert identity_of(first) is identity_of(second) is None


def test_what_a_stream_brings_is_told_apart_by_the_same_rule() -> None:
    content = b'{"data":{"event_type":"post.create","event_id":"7"}}'
    found = read_activity(content)
    assert isinstance(found, ActivityEvent)
    assert identity_of_item(found) == "post.create:7"
    matched = read_post(b'{"data":{"id":"5","text":"t"},"matching_rules":[]}')
    assert isinstance(matched, MatchedPost)
    assert identity_of_item(matched) == ":5"


@given(st.dictionaries(NAMES, JSON, max_size=5), st.lists(st.text(max_size=10), max_size=3))
def test_no_body_and_no_path_raises(body: Any, paths: list[str]) -> None:
    assert identity_of(body, paths) is None or isinstance(identity_of(body, paths), str)


def test_a_time_with_thousands_of_digits_is_that_of_its_event() -> None:
    """It raised ValueError, which ended a stream and the iteration over a receiver."""
    content = b'{"data":{"event_uuid":"1","created_at":"2026-01-31T24:00:00.%s"}}' % (b"0" * 5_000)
    for read in (read_activity, read_delivery):
        event = read(content)
        assert isinstance(event, ActivityEvent)
        assert event.created_at == datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)
    post = read_post(content.replace(b"event_uuid", b"id"))
    assert isinstance(post, MatchedPost)
    assert post.data.created_at == datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)
