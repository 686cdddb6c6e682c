"""Classes that derive from `Record` are what attrs would have made of them."""

import copy
import importlib
import pickle
import pkgutil
import sys
from typing import Any

import attrs
import pytest

import socialapi.models
from socialapi import problems
from socialapi.internal.records import FrozenRecord, Record
from socialapi.models.pages import Page
from socialapi.models.posts import Post, PostMetrics
from socialapi.problems import Problem

for _module in pkgutil.iter_modules(socialapi.models.__path__):
    importlib.import_module(f"socialapi.models.{_module.name}")
importlib.import_module("socialapi.reports")


def derived(cls: type) -> list[type]:
    """Every class below one that a module of the package has: the one that attrs made of it with slots."""
    direct: list[type] = cls.__subclasses__()
    below = [each for one in direct for each in (one, *derived(one))]
    return [each for each in below if getattr(sys.modules[each.__module__], each.__name__, None) is each]


RECORDS = sorted({*derived(Record), *derived(FrozenRecord)}, key=lambda cls: (cls.__module__, cls.__qualname__))


def generated(cls: Any) -> Any:
    """A class with the same fields, of which attrs generates everything."""
    fields = {
        each.name: attrs.field(default=None, eq=each.eq, repr=each.repr, hash=each.hash) for each in attrs.fields(cls)
    }
    return attrs.make_class(cls.__name__, fields, frozen=issubclass(cls, FrozenRecord))


def filled(cls: Any, **values: Any) -> Any:
    """An object with these values; each other field has its name for a value."""
    made = cls.__new__(cls)
    for each in attrs.fields(cls):
        object.__setattr__(made, each.name, values.get(each.name, each.name))
    return made


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__qualname__)
def test_a_record_is_shown_compared_and_hashed_like_a_class_of_attrs(cls: Any) -> None:
    twin = generated(cls)
    assert repr(filled(cls)) == repr(filled(twin)).replace(twin.__qualname__, cls.__qualname__, 1)
    assert filled(cls) == filled(cls)
    assert filled(cls) != filled(twin)
    assert not filled(cls) != filled(cls)  # noqa: SIM202  # the other operator
    for field in attrs.fields(cls):
        changed = {field.name: "another"}
        assert (filled(cls) == filled(cls, **changed)) is (filled(twin) == filled(twin, **changed)), field.name
    if issubclass(cls, FrozenRecord):
        assert hash(filled(cls)) == hash(filled(cls))
    else:
        assert cls.__hash__ is None


def test_a_record_is_not_equal_to_one_of_a_class_below_it() -> None:
    assert Problem(title="t") != problems.RuleCap(title="t")
    assert Problem(title="t").__eq__(object()) is NotImplemented


def test_a_record_that_holds_itself_is_shown() -> None:
    post = Post(id="1")
    post.extra["self"] = post
    page = Page(data=(post,))
    page.data = (page,)  # type: ignore[assignment]
    assert repr(page).startswith("Page(data=(...,), ")


def test_records_can_be_copied_pickled_and_evolved() -> None:
    post = Post(id="1", public_metrics=PostMetrics(like_count=2), extra={"new": [1]})
    for other in (copy.copy(post), copy.deepcopy(post), pickle.loads(pickle.dumps(post)), attrs.evolve(post)):
        assert other == post
        assert other is not post
    assert attrs.evolve(post, text="t") != post
    assert attrs.asdict(PostMetrics(like_count=2), filter=lambda _, value: bool(value)) == {"like_count": 2}


def test_a_method_that_a_record_has_itself_is_kept() -> None:
    @attrs.define
    class Own(Record):
        number: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None

    assert repr(Own(1)) == "own"
    assert Own(1) == Own(2)
