"""What the reader of a class makes of objects, whatever makes its instances."""

import datetime
from typing import Any

import attrs
import pytest

from socialapi.errors import DecodeError
from socialapi.models.model import Model
from socialapi.wire.class_readers import Reader
from socialapi.wire.decode import CONVERTER, structure


@attrs.define(kw_only=True)
class Point(Model):
    x: int
    y: float = 0.0


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
    """A reader that has seen nothing yet, but for the classes within."""
    return Reader(kind, CONVERTER.get_structure_hook, _explain)


def _explain(cls: Any, data: Any, problem: Exception) -> DecodeError:
    return DecodeError("", type(problem).__name__)


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [(Sealed, {"id": "s"}, Sealed(id="s")), (Counted, {"number": 4}, Counted(4)), (Point, {"x": 1}, Point(x=1))],
)
def test_what_a_class_does_when_an_object_is_made_is_done(kind: Any, data: Any, expected: Any) -> None:
    assert structure(data, kind) == expected


def test_an_array_that_reads_like_the_names_of_an_object_is_no_object() -> None:
    with pytest.raises(DecodeError, match="expected an object"):
        structure(["x"], Point)
    with pytest.raises(DecodeError) as caught:
        structure({"id": "d", "points": [{"x": 1}, ["x"]]}, Drawing)
    assert (caught.value.path, caught.value.reason) == ("points[1]", "expected an object")


@pytest.mark.parametrize("empty", [[], "", ()])
def test_an_empty_array_or_text_is_no_object_without_names(empty: Any) -> None:
    reader = reader_of(Bag)
    assert reader({}) == Bag()
    with pytest.raises(DecodeError):
        reader(empty)


# What is made when it is asked for


def test_a_class_without_slots_is_read_as_well() -> None:
    @attrs.define(slots=False)
    class Loose:
        name: str
        extra: dict[str, Any] = attrs.field(factory=dict)

    assert structure({"name": "a"}, Loose) == Loose("a")
    assert structure({"name": "a", "b": 1}, Loose) == Loose("a", {"b": 1})
