"""How models are read."""

import datetime
from collections.abc import Callable
from typing import Annotated, Any, Literal

import attrs
import pytest
from annotated_types import Ge
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import DecodeError
from socialapi.models.accounts import CampaignSnapshot, ChangedBy, HistoryEntry
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.models.validation import Tagged
from socialapi.wire.class_readers import join_path
from socialapi.wire.decode import structure
from socialapi.wire.paging import read_page
from socialapi.wire.scalars import moment


@attrs.define(kw_only=True)
class Leaf:
    name: str
    size: int = 0


@attrs.define(kw_only=True)
class Tree:
    id: str
    leaf: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()
    tags: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    kind: Literal["oak", "elm"] | str | None = None
    strict: Literal["a"] = "a"
    height: float | None = None
    alive: bool | None = None
    planted_at: datetime.datetime | None = None
    rings: Annotated[int, Ge(0)] | None = None
    anything: Any = None
    counts: dict[str, int] = attrs.field(factory=dict)
    bag: dict = attrs.field(factory=dict)  # type: ignore[type-arg]  # a mapping of which nothing is declared
    renamed: str | None = attrs.field(default=None, metadata={"name": "re-named"})
    extra: dict[str, Any] = attrs.field(factory=dict)


def read(**data: Any) -> Tree:
    tree: Tree = structure({"id": "t", **data}, Tree)
    return tree


def test_every_kind_of_field_is_read() -> None:
    found = read(
        leaf={"name": "a", "size": 2},
        leaves=[{"name": "b"}, {"name": "c", "size": None}],
        tags=["x", "y"],
        kind="yew",
        height=3,
        alive=False,
        planted_at="2026-01-31T09:00:00.250Z",
        rings=7,
        anything=[1, {"a": None}],
        counts={"a": 1},
        bag={"b": "c"},
        **{"re-named": "new", "soil": "clay"},
    )
    assert found == Tree(
        id="t",
        leaf=Leaf(name="a", size=2),
        leaves=(Leaf(name="b"), Leaf(name="c")),
        tags=("x", "y"),
        kind="yew",
        height=3,
        alive=False,
        planted_at=datetime.datetime(2026, 1, 31, 9, 0, 0, 250_000, tzinfo=datetime.UTC),
        rings=7,
        anything=[1, {"a": None}],
        counts={"a": 1},
        bag={"b": "c"},
        renamed="new",
        extra={"soil": "clay"},
    )


def test_what_is_missing_or_null_gets_its_default() -> None:
    assert read() == Tree(id="t")
    nulls = {
        field.metadata.get("name", field.name): None
        for field in attrs.fields(Tree)
        if field.name not in ("id", "extra")
    }
    assert read(**nulls) == Tree(id="t")


def test_defaults_that_can_change_are_not_shared_between_objects() -> None:
    one, other = read(), read()
    one.counts["a"] = 1
    one.extra["b"] = 2
    assert (other.counts, other.extra) == ({}, {})


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        ({"id": True}, "id", "expected a string"),
        ({"id": {}}, "id", "expected a string"),
        ({"id": 5.5}, "id", "expected a whole number"),
        ({"id": 2.0**53}, "id", "expected an exact number: this one is too large for floating point"),
        ({"id": None}, "id", "is empty"),
        ({"id": []}, "id", "is empty"),
        ({"id": ["a", "b"]}, "id", "expected one value, not several"),
        ({"leaf": "oak"}, "leaf", "expected an object"),
        ({"leaf": [{"name": "a"}, {"name": "b"}]}, "leaf", "expected one value, not several"),
        ({"leaf": {}}, "leaf.name", "is missing"),
        ({"leaf": {"name": "a", "size": "two"}}, "leaf.size", "expected a whole number"),
        ({"leaf": {"name": "a", "size": True}}, "leaf.size", "expected a whole number"),
        ({"leaves": {"size": 1}}, "leaves[0].name", "is missing"),
        ({"leaves": [{"name": "b"}, {"name": "c", "size": 1.5}]}, "leaves[1].size", "expected a whole number"),
        ({"leaves": [{"name": "b"}, 5]}, "leaves[1]", "expected an object"),
        ({"tags": ["x", {}]}, "tags[1]", "expected a string"),
        ({"sizes": [1, None]}, "sizes[1]", "is empty"),
        ({"kind": False}, "kind", "expected a string"),
        ({"strict": {}}, "strict", "expected a string"),
        ({"height": "tall"}, "height", "expected a number"),
        ({"height": "nan"}, "height", "expected a number"),
        ({"height": True}, "height", "expected a number"),
        ({"alive": 1}, "alive", "expected true or false"),
        ({"alive": "yes"}, "alive", "expected true or false"),
        ({"rings": 7.5}, "rings", "expected a whole number"),
        ({"rings": "7.5"}, "rings", "expected a whole number"),
        ({"planted_at": "yesterday"}, "planted_at", "expected an ISO 8601 time"),
        ({"planted_at": 1_800_000_000}, "planted_at", "expected an ISO 8601 time"),
        ({"counts": [{}, {}]}, "counts", "expected one value, not several"),
        ({"counts": {"a": "one"}}, "counts", "expected a whole number"),
    ],
)
def test_a_field_of_another_kind_is_named_with_its_path_and_without_its_value(
    data: dict[str, Any], path: str, reason: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        structure({"id": "t", **data}, Tree)
    assert (caught.value.path, caught.value.reason) == (path, reason)


@pytest.mark.parametrize(
    ("data", "field", "value"),
    [
        ({"id": 5}, "id", "5"),
        ({"id": 5.0}, "id", "5"),
        ({"id": ["5"]}, "id", "5"),
        ({"leaf": [{"name": "a"}]}, "leaf", Leaf(name="a")),
        ({"leaf": []}, "leaf", None),
        ({"leaf": ""}, "leaf", None),
        ({"leaf": {"name": 7, "size": "2"}}, "leaf", Leaf(name="7", size=2)),
        ({"leaves": {"name": "b"}}, "leaves", (Leaf(name="b"),)),
        ({"leaves": [None, {"name": "b"}, [{"name": "c"}]]}, "leaves", (Leaf(name="b"), Leaf(name="c"))),
        ({"leaves": ""}, "leaves", ()),
        ({"tags": "x"}, "tags", ("x",)),
        ({"tags": ["x", None, 7, 8.0]}, "tags", ("x", "7", "8")),
        ({"sizes": ["1", 2.0, 3]}, "sizes", (1, 2, 3)),
        ({"kind": 5}, "kind", "5"),
        ({"strict": ""}, "strict", ""),
        ({"height": "3"}, "height", 3.0),
        ({"height": ""}, "height", None),
        ({"alive": "true"}, "alive", True),
        ({"alive": "False"}, "alive", False),
        ({"rings": 7.0}, "rings", 7),
        ({"rings": " 10080 "}, "rings", 10080),
        ({"rings": "7.00"}, "rings", 7),
        ({"rings": ""}, "rings", None),
        ({"planted_at": ""}, "planted_at", None),
        ({"counts": []}, "counts", {}),
        ({"counts": [{"a": "1"}]}, "counts", {"a": 1}),
        ({"counts": ""}, "counts", {}),
        ({"bag": [{"a": "1"}]}, "bag", {"a": "1"}),
    ],
)
def test_the_forms_in_which_services_write_the_same_are_the_same(data: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(structure({"id": "t", **data}, Tree), field) == value


def test_the_top_must_be_an_object() -> None:
    for data in ("text", 5, None, ["a"]):
        with pytest.raises(DecodeError, match="cannot read the answer at its top: expected an object"):
            structure(data, Tree)


def test_a_missing_required_field_is_named() -> None:
    with pytest.raises(DecodeError, match="at id: is missing"):
        structure({}, Tree)


def test_a_class_that_refuses_its_values_is_named() -> None:
    @attrs.define
    class Even:
        number: int = attrs.field()

        @number.validator
        def _check(self, attribute: "attrs.Attribute[int]", value: int) -> None:
            if value % 2:
                raise ValueError("planted 5")

    assert structure({"number": 4}, Even) == Even(4)
    with pytest.raises(DecodeError, match=r"expected an object of type Even \(ValueError\)") as caught:
        structure({"number": 5}, Even)
    assert "planted" not in str(caught.value)


def test_members_of_a_union_that_cannot_be_told_apart_are_refused_when_the_model_is_first_used() -> None:
    @attrs.define
    class Vague:
        either: int | str

    with pytest.raises(TypeError, match="no way to tell the members"):
        structure({"either": 5}, Vague)


@given(
    st.dictionaries(
        st.sampled_from(["id", "leaf", "leaves", "tags", "height", "planted_at", "counts", "name", "size"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "size"]), inner),
        ),
    )
)
def test_any_json_is_read_or_refused_with_a_decode_error(data: dict[str, Any]) -> None:
    try:
        found = structure(data, Tree)
    except DecodeError:
        return
    assert isinstance(found, Tree)


@pytest.mark.parametrize(("name", "rest", "path"), [("a", "b", "a.b"), ("a", "[0].b", "a[0].b"), ("a", "", "a")])
def test_paths_are_written_as_people_write_them(name: str, rest: str, path: str) -> None:
    assert join_path(name, rest) == path


# What depends on another field


@attrs.define(kw_only=True)
class Circle:
    kind: Literal["circle"] = "circle"
    radius: float = 0.0


@attrs.define(kw_only=True)
class Square:
    kind: Literal["square"] = "square"
    side: int = 0


@attrs.define(kw_only=True)
class Drawing:
    shapes: tuple[Annotated[Circle | Square, Tagged("kind")], ...] = ()
    extra: dict[str, Any] = attrs.field(factory=dict)


def test_a_member_of_a_union_is_told_by_its_tag_and_an_unknown_one_stays_as_it_came() -> None:
    shapes = [{"kind": "square", "side": 2}, {"kind": "circle", "radius": 1.5}, {"kind": "star", "points": 5}, {}]
    found = structure({"shapes": shapes}, Drawing)
    assert found.shapes == (Square(side=2), Circle(radius=1.5), {"kind": "star", "points": 5}, {})


@pytest.mark.parametrize(
    ("shape", "path", "reason"),
    [
        ("square", "shapes[0]", "expected an object"),
        ([{"kind": "square"}, {"kind": "circle"}], "shapes[0]", "expected one value, not several"),
    ],
)
def test_a_member_that_is_no_object_is_named(shape: Any, path: str, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        structure({"shapes": [shape]}, Drawing)
    assert (caught.value.path, caught.value.reason) == (path, reason)


def test_a_member_unlike_what_its_tag_says_stays_as_it_came() -> None:
    shapes = [{"kind": "square", "side": "long"}, [{"kind": "square", "side": "2"}]]
    assert structure({"shapes": shapes}, Drawing).shapes == (shapes[0], Square(side=2))


SNAPSHOT = {"name": "Winter", "start_time": "2025-01-06T00:00:00Z", "daily_budget_amount_local_micro": 5_500_000}


def entry(**data: Any) -> HistoryEntry:
    found: HistoryEntry = structure(data, HistoryEntry)
    return found


def test_the_snapshot_of_a_campaign_is_typed() -> None:
    found = entry(entity="CAMPAIGN", entity_data=SNAPSHOT | {"currency": "EUR"}, change_by={"user_id": "17"})
    assert found.entity_data == CampaignSnapshot(
        name="Winter",
        start_time=datetime.datetime(2025, 1, 6, tzinfo=datetime.UTC),
        daily_budget_amount_local_micro=5_500_000,
        extra={"currency": "EUR"},
    )
    assert found.change_by == ChangedBy(user_id="17")


@pytest.mark.parametrize(
    ("odd", "path"),
    [
        ({"name": {}}, "entity_data.name"),
        ({"start_time": "soon"}, "entity_data.start_time"),
        ({"daily_budget_amount_local_micro": 5.5}, "entity_data.daily_budget_amount_local_micro"),
        ([SNAPSHOT, SNAPSHOT], "entity_data"),
        ("gone", "entity_data"),
        (5, "entity_data"),
    ],
)
def test_the_snapshot_of_a_campaign_that_is_none_is_an_error_that_says_where(odd: Any, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        entry(entity="CAMPAIGN", entity_id="8wku2", entity_data=odd)
    assert caught.value.path == path
    page = read_page(Page[HistoryEntry], {"data": [{"entity": "CAMPAIGN", "entity_data": odd}, {}]})
    assert [each.path for each in page.undecoded] == [f"data[0].{path}"]
    assert page.data == (HistoryEntry(),)


def test_an_entry_without_a_snapshot_is_read_all_the_same() -> None:
    assert entry(entity="CAMPAIGN", entity_data=None).entity_data == CampaignSnapshot()
    assert entry() == HistoryEntry()
    with pytest.raises(DecodeError, match="change_by: expected an object"):
        entry(change_by="somebody")


TIMES = st.one_of(
    st.datetimes().map(datetime.datetime.isoformat),
    st.from_regex(
        r"2026-1[0-2]-0[1-9][T ](2[0-4]|0[0-9])(:?[0-5][0-9](:?(00|59|60))?)?([.,][0-9]{0,6}[1-9])?(Z|[+-]0[0-9]:?30)?",
        fullmatch=True,
    ),
    st.sampled_from(
        ["2026-11-22T03:04.5Z", "2026-11-22T03.5Z", "2026-11-22T0304,5Z", "2026-11-22T03:04:00.5Z", "", "now"]
    ),
)


@given(TIMES)
def test_a_time_in_a_model_is_what_is_read_of_a_time_by_itself(text: str) -> None:
    def outcome(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except DecodeError:
            return DecodeError

    assert outcome(lambda: structure({"id": "1", "created_at": text}, Post).created_at) == outcome(lambda: moment(text))
