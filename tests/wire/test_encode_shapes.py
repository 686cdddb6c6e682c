"""Arguments in the shape of their declarations."""

import datetime
import enum
from collections import deque
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

import attrs
import numpy as np
import pytest
from annotated_types import MaxLen
from hypothesis import given
from hypothesis import strategies as st

from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.cards import CardDraft
from socialapi.models.queries import Ids, Long
from socialapi.models.streams import RulesChange
from socialapi.models.validation import AnyId, broken_rules
from socialapi.routes import platform as routes
from socialapi.routes.route import PLATFORM, Route
from socialapi.types import CardMedia, Details, PostDraft, PostMedia, RuleDraft, Website
from socialapi.wire.encode import shaped, shaped_query
from tests.support.requests import build_request

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
CONFIG = Config(base_url="https://api.example.com")


class Colour(str, enum.Enum):  # noqa: UP042  # whose str() is not its value
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


# Lists


@pytest.mark.parametrize(
    ("declared", "given", "shape"),
    [
        (tuple[str, ...], "lang", ["lang"]),
        (Annotated[tuple[str, ...], MaxLen(5)], "lang", ["lang"]),
        (tuple[str, ...] | None, "lang", ["lang"]),
        (tuple[str, ...] | Unset, "lang", ["lang"]),
        (tuple[Literal["a", "b"], ...], "a", ["a"]),
        (list[str], ("a", "b"), ["a", "b"]),
        (tuple[str, ...], deque(["a", "b"]), ["a", "b"]),
        (tuple[str, ...], (each for each in "ab"), ["a", "b"]),
        (tuple[str, ...], {"a": 1, "b": 2}.keys(), ["a", "b"]),
        (tuple[str, ...], frozenset({"a"}), ["a"]),
        (Ids, 5, ["5"]),
        (Ids, ["1", 2, np.int64(3)], ["1", "2", "3"]),
        (Ids, range(3), ["0", "1", "2"]),
        (Ids, np.array([1, 2]), ["1", "2"]),
        (tuple[tuple[str, ...], ...], ["a", ["b"]], [["a"], ["b"]]),
        (tuple[RuleDraft, ...], RuleDraft("cat"), [{"value": "cat"}]),
        (tuple[RuleDraft, ...], {"value": "cat"}, [{"value": "cat"}]),
    ],
)
def test_one_value_is_a_list_of_one_and_any_iterable_is_a_list(declared: Any, given: Any, shape: Any) -> None:
    assert shaped(declared, given) == shape


@given(st.lists(st.text(), min_size=1))
def test_a_list_stays_what_it_is(texts: list[str]) -> None:
    assert shaped(tuple[str, ...], texts) == shaped(tuple[str, ...], tuple(texts)) == texts
    assert shaped(tuple[str, ...], texts[0]) == [texts[0]]


# Ids and numbers


@pytest.mark.parametrize("given", [12345, np.int64(12345), Level(3)])
def test_a_whole_number_is_the_text_of_an_id(given: Any) -> None:
    assert shaped(AnyId, given) == str(int(given))
    assert shaped(AnyId | Unset, given) == str(int(given))
    assert shaped(Long, given) == int(given)
    assert shaped(int, given) == int(given)


@pytest.mark.parametrize("given", [True, 1.0, None, b"1", [1], np.bool_(True), np.array([1, 2])])
def test_nothing_else_is_an_id(given: Any) -> None:
    assert broken_rules(AnyId, shaped(AnyId, given), now=NOW)


@pytest.mark.parametrize(
    ("given", "shape"), [(Colour.RED, "red"), (Level.HIGH, 3), (Loud("really"), "really"), (np.str_("a"), "a")]
)
def test_scalars_of_classes_of_their_own_are_what_they_stand_for(given: Any, shape: Any) -> None:
    result = shaped(Any, given)
    assert (result, type(result)) == (shape, type(shape))


# Objects


def test_a_mapping_stands_for_an_object_of_a_class() -> None:
    draft = PostDraft(text="Grüße", media=PostMedia(media_ids="1"), extra={"odd": 1})
    mapping = {"text": "Grüße", "media": {"media_ids": 1}, "odd": 1}
    assert shaped(PostDraft, draft) == shaped(PostDraft, mapping)
    assert shaped(PostDraft, draft) == {"text": "Grüße", "media": {"media_ids": ["1"]}, "odd": 1}
    assert shaped(PostDraft, {"text": "a", "extra": {"odd": 1}, "reply": UNSET}) == {"text": "a", "odd": 1}


def test_one_component_is_a_list_of_one_and_a_mapping_is_known_by_its_type() -> None:
    media, details = (
        CardMedia("3_1"),
        {"type": "DETAILS", "title": "Boots", "destination": Website("https://x.example")},
    )
    assert shaped(CardDraft, {"name": "n", "components": media})["components"] == [
        {"media_key": "3_1", "type": "MEDIA"}
    ]
    both = shaped(CardDraft, {"name": "n", "components": (media, details)})
    assert broken_rules(CardDraft, both, now=NOW) == []
    assert both == shaped(
        CardDraft, {"name": "n", "components": [media, Details("Boots", Website("https://x.example"))]}
    )


@pytest.mark.parametrize("foreign", [Website("https://x.example"), object(), "a", 5])
def test_an_object_of_another_class_is_refused_though_a_class_is_open(foreign: Any) -> None:
    """What is in it could be personal, and would be sent as further fields."""
    (rule,) = broken_rules(PostDraft, shaped(PostDraft, foreign), now=NOW)
    assert rule.reason == "must be an object"
    listed = broken_rules(RulesChange, shaped(RulesChange, {"add": [foreign]}), now=NOW)
    assert [str(rule) for rule in listed] == ["add[0]: must be an object"]


@pytest.mark.parametrize("extra", [5, None, ["a"], "a"])
def test_what_stands_beside_the_fields_has_names(extra: Any) -> None:
    with pytest.raises(InvalidInput, match="extra must be a mapping"):
        shaped(PostDraft, PostDraft(text="a", extra=extra))


# Queries


class Query(TypedDict, total=False):
    ids: Required[Ids]
    count: int


def test_none_is_not_sent_in_a_query_and_is_missing_where_it_is_required() -> None:
    assert shaped_query(Query, {"ids": "1", "count": None}) == {"ids": ["1"]}
    assert shaped_query(None, {"a": None, "b": UNSET, "c": 0}) == {"c": 0}
    assert [str(rule) for rule in broken_rules(Query, shaped_query(Query, {"ids": None}), now=NOW)] == [
        "ids: is required"
    ]


def test_none_clears_in_the_changes_of_a_write() -> None:
    rename = Route("PUT", PLATFORM, "/2/things", dict, Any, "query")
    assert build_request(rename.at(), CONFIG, now=NOW, body={"name": None}).url.endswith("/2/things?name=")


@pytest.mark.parametrize("odd", [b"a", object(), {"a": 1}, [["a"]], [{}], float("nan"), float("inf"), int])
def test_a_parameter_has_a_form_in_a_query_or_is_refused_by_its_name(odd: Any) -> None:
    with pytest.raises(InvalidInput, match="the value of 'odd' must be a string, a number, true or false"):
        build_request(routes.CONNECTIONS.at(), CONFIG, now=NOW, query={"odd": odd})


@pytest.mark.parametrize("name", [5, None, b"a", ("a",)])
def test_the_name_of_a_parameter_is_a_text(name: Any) -> None:
    with pytest.raises(InvalidInput, match="the name of a parameter must be a string"):
        build_request(routes.CONNECTIONS.at(), CONFIG, now=NOW, query={name: "1"})


@given(st.text(), st.characters(categories=["Cs"]), st.booleans())
def test_half_of_a_surrogate_pair_is_refused_in_names_and_values(text: str, half: str, in_name: bool) -> None:
    query = {text + half: "1"} if in_name else {"q": text + half}
    with pytest.raises(InvalidInput) as caught:
        build_request(routes.CONNECTIONS.at(), CONFIG, now=NOW, query=query)
    assert caught.value.__context__ is None


# Bodies


POST = Route("POST", PLATFORM, "/2/anything", dict, None, "json")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"a": [1, float("nan")]}, "a[1]"),
        ({"a": {"b": float("-inf")}}, "a.b"),
        ({"a": {1, 2}}, "a"),
        ({"a": "x\ud800"}, "a"),
        ({"a": {"\udfff": 1}}, "a"),
        ({"a": {5: 1}}, "a"),
        ({"a": 2**64}, "a"),
        ({"a": object()}, "a"),
        ({"a": b"x"}, "a"),
        ({"a": [UNSET]}, "a[0]"),
    ],
)
def test_what_json_has_no_form_for_is_refused_with_its_path(body: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        build_request(POST.at(), CONFIG, now=NOW, body=body)
    (rule,) = caught.value.broken_rules
    assert rule.path == path
    assert rule.reason.startswith("cannot be sent as JSON: ")
    assert caught.value.__context__ is None


def test_what_is_nested_too_deeply_is_refused() -> None:
    body: Any = "a"
    for _ in range(260):
        body = [body]
    with pytest.raises(InvalidInput, match="cannot be sent as JSON") as caught:
        build_request(POST.at(), CONFIG, now=NOW, body=body)
    assert caught.value.__context__ is None


def test_a_number_of_thousands_of_digits_is_no_id() -> None:
    for odd in (10**5_000, -(10**5_000)):
        with pytest.raises(InvalidInput, match="ids"):
            build_request(routes.POSTS.at(), CONFIG, now=NOW, query={"ids": odd})
        with pytest.raises(InvalidInput, match="id must be a string or a whole number"):
            build_request(routes.USER_POSTS.at(id=odd), CONFIG, now=NOW)


def test_arguments_that_hold_themselves_are_refused() -> None:
    body: dict[str, Any] = {}
    body["body"] = body
    with pytest.raises(InvalidInput, match="nested too deeply, or contain themselves") as caught:
        build_request(POST.at(), CONFIG, now=NOW, body=body)
    assert caught.value.__context__ is None


@attrs.define
class Anything:
    value: Any


def test_what_python_writes_as_json_is_sent() -> None:
    body: Mapping[str, Any] = {"day": datetime.date(2026, 1, 1), "level": Level.HIGH, "any": Anything("a")}
    request = build_request(POST.at(), CONFIG, now=NOW, body=body)
    assert b"".join(request.body) == b'{"day":"2026-01-01","level":3,"any":{"value":"a"}}'
