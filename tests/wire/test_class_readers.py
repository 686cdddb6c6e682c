"""The function for all names, and those for names that keep coming, which must never differ in what they read."""

import copy
import datetime
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.errors import DecodeError
from socialapi.wire.class_readers import MAX_COUNTED, MAX_LEFT_OVER, MAX_SHAPES, MIN_OCCURRENCES, Reader
from socialapi.wire.decode import CONVERTER, structure


@attrs.define(kw_only=True)
class Point:
    x: int
    y: float = 0.0
    extra: dict[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Bag:
    extra: dict[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Drawing:
    id: str
    at: datetime.datetime | None = None
    points: tuple[Point, ...] = ()
    centre: Point | None = None
    tags: tuple[str, ...] = ("none",)
    open: bool = True
    anything: Any = None
    everything: Any = 7
    sizes: dict[str, int] = attrs.field(factory=dict)
    renamed: str | None = attrs.field(default=None, metadata={"name": "class"})
    seen: list[str] = attrs.field(init=False, factory=list)
    noted: str = attrs.field(init=False, default="nothing")
    extra: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Sealed:
    id: str
    size: int = 1


def _one_more(value: int) -> int:
    return value + 1


@attrs.define
class Counted:
    number: int = attrs.field(converter=_one_more)


def reader_of(kind: Any) -> Reader:
    """A reader by generated functions that has seen nothing yet, but for the classes within."""
    return Reader(kind, CONVERTER.get_structure_hook, _explain, is_native=False)


def _explain(cls: Any, data: Any, problem: Exception) -> DecodeError:
    return DecodeError("", type(problem).__name__)


def outcome(data: Any, kind: Any) -> Any:
    try:
        return structure(data, kind)
    except DecodeError as problem:
        return (problem.path, problem.reason)


def test_names_that_keep_coming_get_a_function_of_their_own() -> None:
    reader, data = reader_of(Drawing), {"id": "d", "tags": ["a"], "soil": "clay"}
    expected = Drawing(id="d", tags=("a",), extra={"soil": "clay"})
    for _ in range(MIN_OCCURRENCES - 1):
        assert reader(data) == expected
    assert not reader.keys()
    assert [reader(data), reader(data)] == [expected, expected]
    assert list(reader) == [("id", "tags", "soil")]


def test_the_same_names_in_another_order_are_other_names() -> None:
    reader = reader_of(Point)
    for _ in range(MIN_OCCURRENCES):
        assert reader({"x": 1, "y": 2}) == reader({"y": 2, "x": 1}) == Point(x=1, y=2)
    assert list(reader) == [("x", "y"), ("y", "x")]


def test_objects_made_by_such_a_function_share_nothing_that_can_change() -> None:
    for _ in range(MIN_OCCURRENCES):
        structure({"id": "d"}, Drawing)
    one, other = structure({"id": "d"}, Drawing), structure({"id": "d"}, Drawing)
    one.extra["a"], one.sizes["b"] = 1, 2
    one.seen.append("c")
    assert (other.extra, other.sizes, other.seen, other.noted) == ({}, {}, [], "nothing")


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [(Sealed, {"id": "s"}, Sealed(id="s")), (Counted, {"number": 4}, Counted(4)), (Point, {"x": 1}, Point(x=1))],
)
def test_what_a_class_does_when_an_object_is_made_is_done_every_time(kind: Any, data: Any, expected: Any) -> None:
    assert [structure(data, kind) for _ in range(3 * MIN_OCCURRENCES)] == [expected] * 3 * MIN_OCCURRENCES


POINTS = ({"x": 1}, {"x": 1, "y": 2.5, "z": 3}, {"y": 1}, {"x": "1"}, [{"x": 1}, {"y": None, "x": 2}], [{"x": 1}, {}])
TIMES = ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00", "yesterday")
VALUES = st.sampled_from([None, True, 3, 2.5, [], ["a"], ["a", 1], {}, {"a": 1}, *TIMES, *POINTS])
KNOWN = ("at", "points", "centre", "tags", "open", "anything", "everything", "sizes", "class")
NAMES = st.sampled_from([*KNOWN, "renamed", "extra", "new", "\ud800"])


@given(st.dictionaries(NAMES, VALUES, max_size=6), st.booleans())
@settings(max_examples=300, deadline=None)
def test_both_functions_read_the_same_or_refuse_the_same(data: dict[str, Any], has_id: bool) -> None:
    if has_id:
        data["id"] = "d"
    found = [outcome(data, Drawing) for _ in range(MIN_OCCURRENCES + 2)]
    assert found[1:] == found[:-1]


def test_a_number_of_functions_and_of_counted_names_is_never_exceeded() -> None:
    reader = reader_of(Point)
    for number in range(MAX_COUNTED + 10):
        assert reader({"x": 1, f"once_{number}": 2}).extra == {f"once_{number}": 2}
    for number in range(MAX_SHAPES + 10):
        for _ in range(MIN_OCCURRENCES):
            assert reader({"x": 1, f"often_{number}": 2}).extra == {f"often_{number}": 2}
    assert len(reader) == MAX_SHAPES


def test_names_that_lack_a_required_one_or_have_too_many_unknown_ones_are_not_counted() -> None:
    reader, many = reader_of(Point), {"x": 1} | {str(number): 0 for number in range(MAX_LEFT_OVER + 5)}
    for _ in range(2 * MIN_OCCURRENCES):
        assert len(reader(many).extra) == MAX_LEFT_OVER + 5
        with pytest.raises(DecodeError):
            reader({"y": 1})
    assert not reader.keys()


def test_an_array_that_reads_like_the_names_of_an_object_is_no_object() -> None:
    for _ in range(MIN_OCCURRENCES + 1):
        structure({"x": 1}, Point)
    with pytest.raises(DecodeError, match="expected an object"):
        structure(["x"], Point)
    with pytest.raises(DecodeError) as caught:
        structure({"id": "d", "points": [{"x": 1}, ["x"]]}, Drawing)
    assert (caught.value.path, caught.value.reason) == ("points[1]", "expected an object")


@pytest.mark.parametrize("empty", [[], "", ()])
def test_an_empty_array_or_text_is_no_object_without_names(empty: Any) -> None:
    reader = reader_of(Bag)
    for _ in range(MIN_OCCURRENCES + 1):
        assert reader({}) == Bag()
    with pytest.raises(DecodeError):
        reader(empty)


# What is made when it is asked for


@pytest.mark.parametrize("times", [1, MIN_OCCURRENCES + 1])
def test_what_is_made_late_is_there_for_whoever_looks(times: int) -> None:
    for _ in range(times):
        point: Point = structure({"x": 1}, Point)
    assert (copy.copy(point), pickle.loads(pickle.dumps(point)), attrs.evolve(point)) == (point, point, point)
    assert attrs.asdict(point) == {"x": 1, "y": 0.0, "extra": {}}
    point.extra["z"] = 3
    assert point == Point(x=1, extra={"z": 3})
    assert pickle.loads(pickle.dumps(point)).extra == {"z": 3}
    point.extra = {"w": 4}
    assert point.extra == {"w": 4}
    del point.extra
    assert point.extra == {}


def test_objects_that_the_caller_makes_are_as_they_were() -> None:
    structure({"x": 1}, Point)
    given = {"z": 3}
    assert Point(x=1, extra=given).extra is given
    assert Point(x=1).extra == {}


def test_a_class_without_slots_is_read_as_well() -> None:
    @attrs.define(slots=False)
    class Loose:
        name: str
        extra: dict[str, Any] = attrs.field(factory=dict)

    for _ in range(MIN_OCCURRENCES + 1):
        assert structure({"name": "a"}, Loose) == Loose("a")
        assert structure({"name": "a", "b": 1}, Loose) == Loose("a", {"b": 1})
