"""The reader of the extension and the one in Python, which must agree on every model and anything it may come as."""

import copy
import ctypes
import datetime
import functools
import gc
import importlib
import itertools
import pickle
import pkgutil
import sys
import weakref
from collections.abc import Callable
from typing import Any

import attrs
import orjson
import pytest
from cattrs import StructureHandlerNotFoundError
from hypothesis import given, settings
from hypothesis import strategies as st

import socialapi.models
from socialapi._speedups import IS_ENABLED, reference
from socialapi.errors import DecodeError
from socialapi.models.model import Model
from socialapi.models.posts import Post
from socialapi.wire import class_readers
from socialapi.wire.class_readers import UNREADABLE, ClassPlan, FieldPlan, Reader, plan_of
from socialapi.wire.decode import CONVERTER, _explain, structure

if not IS_ENABLED:
    pytest.skip("the extension is not used here", allow_module_level=True)

_native: Any = importlib.import_module("socialapi._speedups._native")


def _models() -> list[Any]:
    """Every class of the models that objects of answers are read as."""
    modules = [each.name for each in pkgutil.iter_modules(socialapi.models.__path__, "socialapi.models.")]
    modules.remove("socialapi.models.queries")  # which are only sent
    found = {
        each
        for name in [*modules, "socialapi.problems"]
        for each in vars(importlib.import_module(name)).values()
        if isinstance(each, type) and each.__module__ == name and attrs.has(each) and _is_read(each)
    }
    return sorted(found, key=lambda cls: (cls.__module__, cls.__name__))


def _is_read(cls: Any) -> bool:
    try:
        plan = plan_of(cls, CONVERTER.get_structure_hook)
    except (StructureHandlerNotFoundError, TypeError, NameError):
        return False  # a request, with fields of types that no answer has, or a page
    return all(_is_read(field.kind) for field in plan.fields if field.nested is not None)


class Twins:
    """Readers of classes, all of them of one implementation."""

    def __init__(self, implementation: Any) -> None:
        self._implementation = implementation
        self._readers: dict[Any, Reader] = {}

    def of(self, cls: Any) -> Reader:
        """The reader of a class."""
        if cls not in self._readers:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(class_readers, "ObjectReader", self._implementation)
                self._readers[cls] = Reader(cls, self.hook_of, _explain)
        return self._readers[cls]

    def hook_of(self, kind: Any) -> Any:
        """The reader of a kind."""
        hook = CONVERTER.get_structure_hook(kind)
        return self.of(kind) if isinstance(hook, Reader) else hook


NATIVE, PLAIN = Twins(_native.ObjectReader), Twins(reference.ObjectReader)
MODELS = _models()


def parts(value: Any) -> Any:
    """All that a value is made of, its types included."""
    if isinstance(value, datetime.datetime):
        return (value, value.tzinfo, value.fold, id(value.tzinfo) == id(datetime.UTC))
    if attrs.has(type(value)):
        return (type(value), [parts(getattr(value, field.name)) for field in attrs.fields(type(value))])
    if isinstance(value, list | tuple):
        return (type(value), [parts(each) for each in value])
    if isinstance(value, dict):
        return (type(value), [(name, parts(each)) for name, each in value.items()])
    return (type(value), repr(value))


def outcome(reader: Reader, data: Any) -> Any:
    """The parts of what is read, or the path and the reason of the refusal."""
    try:
        return parts(reader(data))
    except DecodeError as problem:
        return (problem.path, problem.reason)


# What an answer may hold -----------------------------------------------------------------------------------------------

TIMES = st.one_of(
    st.datetimes().map(lambda time: time.isoformat(timespec="milliseconds") + "Z"),
    st.datetimes(timezones=st.just(datetime.UTC)).map(datetime.datetime.isoformat),
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{3})?Z", fullmatch=True),
    st.from_regex(r"[0-9٣]{4}.[0-9]{2}.[0-9]{2}.[0-9]{2}.[0-9]{2}.[0-9]{2}(.[0-9]{3})?.", fullmatch=True),
    st.sampled_from(["", " ", "2026-01-31", "2026-01-31T09:00.5", "2026-01-31T24:00:00.000Z", "2026-02-29T09:00:00Z"]),
)
ODD = st.one_of(
    st.sampled_from([None, True, False, 0, 1, -1, 10**40, 2**63, 1.0, 1.5, 1e300, "", " ", "7", "7.0", "true", "x"]),
    st.sampled_from(["\ud800", "\0", "ß" * 300, [], {}, [None], [[]], [[["deep"]]], [1, None], ["a", 1], [{}, {}]]),
    TIMES,
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=5,
    ),
)
REGULAR: dict[Any, st.SearchStrategy[Any]] = {
    object: ODD,
    str: st.text(max_size=8),
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(allow_nan=False) | st.integers(),
    datetime.datetime: TIMES,
}
OTHER = ODD | st.fixed_dictionaries({"type": st.sampled_from(["MEDIA", "WEBSITE", "APP", "BUTTON"])})


def values_of(field: FieldPlan) -> st.SearchStrategy[Any]:
    """Regular values of a field, and now and then any other."""
    is_object = field.nested is not None
    item = st.deferred(lambda: objects_of(field.kind)) if is_object else REGULAR.get(field.kind, OTHER)
    regular = st.lists(item, max_size=3) if field.is_array else item
    return st.one_of(regular, regular, regular, regular, item, ODD)


def objects_of(cls: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some members of a class, in any order, and some that it does not know."""
    named = {field.name: field for field in plan_of(cls, NATIVE.hook_of).fields if field.name is not None}
    required = [name for name, field in named.items() if field.is_required]
    known = st.lists(st.sampled_from([*named, "extra"]), max_size=8)
    unknown = st.sampled_from([[], [], [], ["new"], ["\ud800", "new", ""], [*map(str, range(20))]])
    kept = st.sampled_from([required] * 9 + [[]])
    names = st.tuples(known, unknown, kept).map(lambda lists: list(dict.fromkeys(itertools.chain(*lists))))

    @st.composite
    def members(draw: st.DrawFn) -> dict[str, Any]:
        chosen = draw(names.flatmap(st.permutations))
        return {name: draw(values_of(named[name]) if name in named else ODD) for name in chosen}

    return members()


@pytest.mark.slow
@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)
def test_both_read_a_model_alike_or_refuse_it_alike(cls: Any) -> None:
    native, plain = NATIVE.of(cls), PLAIN.of(cls)

    @given(objects_of(cls) | ODD)
    @settings(max_examples=30, deadline=None)
    def check(data: Any) -> None:
        given = copy.deepcopy(data)
        assert outcome(native, data) == outcome(plain, data)
        assert parts(data) == parts(given)

    check()


@given(st.lists(objects_of(Post) | ODD, max_size=4))
@settings(max_examples=200, deadline=None)
def test_both_replace_the_items_of_a_list_up_to_the_same(items: list[Any]) -> None:
    found = []
    for reader in (NATIVE.of(Post), PLAIN.of(Post)):
        replaced = copy.deepcopy(items)
        found.append((reader.replace_each(replaced), parts(replaced)))
    assert found[0] == found[1]


@given(TIMES)
@settings(max_examples=500)
def test_both_read_a_time_alike_or_refuse_it_alike(text: str) -> None:
    data = {"id": "1", "created_at": text}
    assert outcome(NATIVE.of(Post), data) == outcome(PLAIN.of(Post), data)


# What the package reads is as it was ----------------------------------------------------------------------------------


def post() -> Any:
    """A post as the decoder of JSON gives it."""
    return orjson.loads(
        b'{"id":"1","text":"hut","created_at":"2026-01-31T09:00:00.250Z","edit_history_tweet_ids":["1","0"],"soil":"clay",'
        b'"public_metrics":{"like_count":3},"entities":{"urls":[{"start":0,"end":1,"url":"u"},null]},"lang":null}'
    )


def test_what_is_read_can_be_compared_copied_pickled_and_shown() -> None:
    native, plain = NATIVE.of(Post)(post()), PLAIN.of(Post)(post())
    assert native == plain
    assert repr(native) == repr(plain)
    assert attrs.asdict(native) == attrs.asdict(plain)
    for copied in (copy.copy(native), copy.deepcopy(native), pickle.loads(pickle.dumps(native)), attrs.evolve(native)):
        assert copied == plain
        assert copied.extra == {"soil": "clay"}


def test_what_is_made_late_is_not_shared() -> None:
    one, other = NATIVE.of(Post)({"id": "1"}), NATIVE.of(Post)({"id": "1"})
    one.extra["a"] = 1
    assert (one.extra, other.extra, other.partial_errors) == ({"a": 1}, {}, ())


class Text(str):
    """A key that is no plain string."""

    __slots__ = ()


@pytest.mark.parametrize(
    "data",
    [
        {Text("id"): "1", Text("new"): 2},
        {"id": "1", 2: 3},
        {"new": 1, "id": "1", ("a", "b"): 3},
        Text("id"),
        [("id", "1")],
        ["id"],
        None,
        type("Dict", (dict,), {})(id="1", new=2),
    ],
    ids=repr,
)
def test_what_is_no_plain_object_of_json_is_read_by_python(data: Any) -> None:
    assert outcome(NATIVE.of(Post), data) == outcome(PLAIN.of(Post), data)


def test_keys_that_are_equal_but_other_objects_are_the_same_names() -> None:
    for _ in range(3):
        data = {"".join(name): name for name in ("id", "text", "lang")}
        read: Post = NATIVE.of(Post)(data)
        assert (read.id, read.text, read.lang, read.extra) == ("id", "text", "lang", {})


def test_the_depth_of_calls_is_limited() -> None:
    def dive() -> Any:
        NATIVE.of(Post)(post())
        return dive()

    with pytest.raises(RecursionError):
        dive()
    assert NATIVE.of(Post)(post()) == PLAIN.of(Post)(post())


def test_an_error_that_says_nothing_about_the_data_is_raised_as_it_is() -> None:
    @attrs.define
    class Leaf:
        name: str

    @attrs.define
    class Tree:
        leaves: tuple[Leaf, ...] = ()

    def fail(value: Any, _: Any) -> Any:
        raise InterruptedError

    reader = Reader(Tree, lambda _: fail, _explain)
    with pytest.raises(InterruptedError):
        reader({"leaves": [{"name": "a"}]})


# Memory ---------------------------------------------------------------------------------------------------------------


def refused(data: Any) -> None:
    """Reads what cannot be read."""
    with pytest.raises(DecodeError):
        NATIVE.of(Post)(data)


@pytest.mark.parametrize(
    "work",
    [
        lambda: NATIVE.of(Post)(post()),
        lambda: NATIVE.of(Post).replace_each([post(), {}, post()]),
        lambda: refused({"text": "no id"}),
        lambda: refused({"id": "1", "soil": "clay", "public_metrics": {"like_count": "many"}}),
        lambda: refused({"id": "1", "entities": {"urls": [{"start": 0, "end": 1, "url": "u"}, {"start": "x"}]}}),
        lambda: NATIVE.of(Post)({"id": ["1"], "created_at": "2026-01-31", 2: 3}),
        lambda: Reader(Model, CONVERTER.get_structure_hook, _explain)({"a": 1}),
    ],
    ids=["object", "list", "without an id", "odd within", "odd in a list", "by Python", "reader"],
)
def test_nothing_is_left_behind(work: Callable[[], Any]) -> None:
    def blocks() -> int:
        for _ in range(200):
            work()
        gc.collect()
        return sys.getallocatedblocks()

    blocks()
    counted = [blocks() for _ in range(4)]
    # Each leak would add 200 every time; what another thread allocates in between comes once.
    assert min(after - before for before, after in itertools.pairwise(counted)) < 100


def test_references_are_counted_right() -> None:
    text, key = "a text of its own".upper(), "a key of its own".upper()
    data = {"id": "1", "text": text, key: text}

    def held() -> list[int]:
        return [sys.getrefcount(each) for each in (text, key, Post, data)]

    NATIVE.of(Post)({"id": "0"})  # the first one makes the plan of the class
    before = held()
    read = NATIVE.of(Post)(data)
    # The text is also in `extra`; the key is a key there.
    assert [now - then for now, then in zip(held(), before, strict=True)] == [2, 1, 1, 0]
    del read
    gc.collect()
    assert held() == before


def test_an_object_in_a_circle_is_collected() -> None:
    read = NATIVE.of(Post)(post())
    read.extra["self"] = read.partial_errors = [read]
    watched = weakref.ref(read)
    assert gc.is_tracked(read)
    del read
    gc.collect()
    assert watched() is None


def test_a_reader_is_collected_with_its_class() -> None:
    @attrs.define(kw_only=True)
    class Passing(Model):
        at: datetime.datetime | None = None
        inner: Post | None = None

    reader = Reader(Passing, CONVERTER.get_structure_hook, _explain)
    read = reader({"at": "2026-01-31T09:00:00Z", "inner": {"id": "1"}})
    assert read.inner.id == "1"
    watched = [weakref.ref(each) for each in (reader, Passing)]
    del reader, Passing, read
    gc.collect()
    assert watched[0]() is None


def test_readers_of_classes_that_refer_to_themselves_are_collected() -> None:
    def convert(value: Any) -> Any:
        return value

    readers: list[Any] = []
    for nested in (0, 0, 1):  # the first reader has itself within, the second one the first, the third the second
        slot = Holder.__dict__["a"]
        describe = functools.partial(describe_late, readers, nested, holder_field(slot), convert)
        readers.append(_native.ObjectReader(describe, UNREADABLE))
    watched = weakref.ref(convert)
    assert readers[2].read({"a": {"a": {"a": {"a": None}}}}) == Holder(Holder(Holder(Holder(None))))
    readers.clear()
    del convert, describe
    gc.collect()
    assert watched() is None


def describe_late(readers: list[Any], nested: int, field: FieldPlan, convert: Any) -> Any:
    return ClassPlan(Holder, (field._replace(nested=readers[nested], convert=convert),), -1, {}, fills_slots=True)


def test_a_reader_that_is_being_collected_raises_an_error() -> None:
    found: list[str] = []

    class Last:
        """What is dropped while the reader is cleared: the collector does not look into code."""

        def __del__(self) -> None:
            reader = ctypes.cast(address, ctypes.py_object).value
            for use in (reader.read, lambda data: reader.replace_each([data])):
                try:
                    use({"a": None})
                except ReferenceError as problem:
                    found.append(str(problem))

    readers: list[Any] = []
    fallback = describe_late.__code__.replace(co_consts=(Last(),))
    field = holder_field(Holder.__dict__["a"])._replace(default=fallback)
    readers.append(_native.ObjectReader(lambda: describe_late(readers, 0, field, int), UNREADABLE))
    readers[0].read({})
    address = id(readers[0])
    readers.clear()
    field = fallback = None  # type: ignore[assignment]
    gc.collect()
    assert found == ["the reader is being collected"] * 2


# What the extension refuses to make a reader of -----------------------------------------------------------------------


@attrs.define
class Holder:
    a: Any


def holder_field(slot: Any) -> FieldPlan:
    """The plan of the field of a holder, made by hand."""
    return FieldPlan(
        name="a",
        attribute="a",
        alias="a",
        kind=Holder,
        is_array=False,
        is_required=False,
        default=None,
        make_default=None,
        slot=slot,
        is_late=False,
        nested=None,
        convert=None,
    )


def native_reader(model: Any, slot: Any, nested: Any = None, name: Any = "a", convert: Any = int) -> Any:
    """A reader of one field that is a whole number."""
    field = holder_field(slot)._replace(kind=int, is_required=True, nested=nested, name=name, convert=convert)
    return _native.ObjectReader(lambda: ClassPlan(model, (field,), -1, {}, fills_slots=True), UNREADABLE)


def test_a_reader_is_made_of_slots_of_the_class_alone() -> None:
    slot = Holder.__dict__["a"]
    assert native_reader(Holder, slot).read({"a": 3}) == Holder(3)
    for wrong in (None, Post.__dict__["text"], property()):
        with pytest.raises(SystemError, match="no slot of Holder"):
            native_reader(Holder, wrong).read({"a": 3})


def test_a_reader_asks_for_its_class_with_the_first_object_until_it_is_told() -> None:
    told = [
        OSError("not now"),
        (Holder, ((3,),), -1, {}, True),
        (Holder, (), -1, {}, True),
        AssertionError("told already"),
    ]

    def describe() -> Any:
        if isinstance(found := told.pop(0), Exception):
            raise found
        return found

    reader = _native.ObjectReader(describe, UNREADABLE)
    with pytest.raises(OSError, match="not now"):
        reader.read({})
    with pytest.raises(SystemError, match="plan of a class is wrong"):
        reader.read({})
    assert [type(reader.read({})), type(reader.read({}))] == [Holder, Holder]


def test_a_class_that_does_more_than_to_fill_its_slots_is_read_by_python() -> None:
    plan = ClassPlan(Holder, (holder_field(None)._replace(kind=int, convert=int),), -1, {"a": None}, fills_slots=False)
    reader = _native.ObjectReader(lambda: plan, UNREADABLE)
    items: list[Any] = [{}, {"a": 1, "b": 2}]
    assert reader.read({"a": 1}) == Holder(1)
    assert (reader.replace_each(items), items) == (2, [Holder(None), Holder(1)])


def test_a_reader_refuses_what_it_cannot_make_objects_of() -> None:
    slot = Holder.__dict__["a"]
    with pytest.raises(SystemError, match="creates its objects itself"):
        native_reader(tuple, slot).read({})
    with pytest.raises(SystemError, match="plan of a class is wrong"):
        native_reader(3, slot).read({})
    with pytest.raises(SystemError, match="must be an ObjectReader"):
        native_reader(Holder, slot, nested=3).read({})
    with pytest.raises(SystemError, match="a name must be a str"):
        native_reader(Holder, slot, name=3).read({})
    with pytest.raises(TypeError, match="expected a list, not tuple"):
        native_reader(Holder, slot).replace_each(())
    with pytest.raises(KeyError, match="a"):
        native_reader(Holder, slot).read({})


@pytest.mark.parametrize("arguments", [(), (print,), (print, []), (print, (), 1)], ids=len)
def test_a_reader_is_made_of_two_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        _native.ObjectReader(*arguments)
    with pytest.raises(TypeError):
        _native.ObjectReader(print, (), describe=print)


def test_a_faulty_plan_does_not_look_like_faulty_data() -> None:
    items = [{"a": 3}]
    with pytest.raises(SystemError, match="no slot of Holder"):
        native_reader(Holder, None).replace_each(items)
    assert items == [{"a": 3}]


def test_data_that_change_while_they_are_read_do_no_harm() -> None:
    data: dict[str, Any] = {}

    def convert(value: Any) -> Any:
        data.clear()
        data.update({f"later {number}": [number] for number in range(100)})
        return len(value)

    def empty(value: Any) -> Any:
        items.clear()
        return len(value)

    reader = native_reader(Holder, Holder.__dict__["a"], convert=convert)
    for _ in range(20):
        data.clear()
        data.update({"new": [1], "a": ["a"] * 3, "b": ["b"] * 3})
        assert reader.read(data) == Holder(3)
    items = [{"a": "aaa"}, {"a": 4}]
    with pytest.raises(IndexError):
        native_reader(Holder, Holder.__dict__["a"], convert=empty).replace_each(items)


def test_the_package_reads_by_the_extension() -> None:
    hook = CONVERTER.get_structure_hook(Post)
    assert isinstance(hook, Reader)
    assert type(hook.objects) is _native.ObjectReader
    assert structure(post(), Post) == PLAIN.of(Post)(post())
