"""Generates the functions that read models from decoded JSON, one set per class.

Every class has a general function that reads any object, name by name. Objects of a collection
mostly have the same names in the same order, so names that keep coming get a specialised function.
It knows which fields are present, missing or unknown and takes all values at once, which saves a
quarter of the time. Both functions convert a value in the same way.
"""

import datetime
import functools
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import attrs

from socialapi.errors import DecodeError
from socialapi.models.validation import Tagged, wire_name
from socialapi.unset import Unset
from socialapi.wire import scalars

Structure = Callable[[Any, Any], Any]
Read = Callable[[Any], Any]
Explain = Callable[[Any, Any, Exception], DecodeError]
Names = tuple[str, ...]

MIN_OCCURRENCES: Final = 16
"""How often the same names must come before a function is generated for them, which takes a
millisecond.
"""
MAX_SHAPES: Final = 64
"""The most specialised functions of a class. Later names are read by the general function."""
MAX_COUNTED: Final = 1024
"""The most sets of names that are counted at a time."""
MAX_LEFT_OVER: Final = 16
"""Objects with more unknown names than this are not counted: their names may all differ, and be
long.
"""

NEEDS_CONVERSION: Final[Mapping[Any, str]] = {
    str: "{v}.__class__ is not str",
    bool: "{v}.__class__ is not bool",
    int: "{v}.__class__ is not int",
    float: "{v}.__class__ is not float and {v}.__class__ is not int",
}
"""For each kind, the expression that is true if a value needs conversion. Any other value is used
as it is.
"""


UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError, DecodeError)
"""What the generated functions raise for data of an unexpected shape."""


def without_none(annotation: Any) -> Any:
    """Returns the type without None and annotations: `Literal[…] | str | None` gives str, `int |
    None` gives int.

    Raises TypeError for a union of several types.
    """
    if is_tagged(annotation):
        return annotation
    if typing.get_origin(annotation) is typing.Annotated:
        return without_none(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        kinds = {without_none(m) for m in typing.get_args(annotation) if m not in (type(None), Unset)}
        if len(kinds) != 1:
            raise TypeError(f"no way to tell the members of {annotation} apart")
        return kinds.pop()
    return str if typing.get_origin(annotation) is Literal else annotation


def is_tagged(declared: Any) -> bool:
    """Returns whether this is a union of classes told apart by the value of a field."""
    return any(isinstance(each, Tagged) for each in getattr(declared, "__metadata__", ()))


def kind_of(field: "attrs.Attribute[Any]") -> Any:
    """Returns what a field is read as: its type, or its `read_as` metadata if the type depends on
    other fields.
    """
    return field.metadata.get("read_as") or without_none(field.type)


def is_tuple(declared: Any) -> bool:
    """Returns whether this type is read from an array."""
    return typing.get_origin(declared) is tuple


def item_kind(declared: Any) -> Any:
    """Returns what the items of an array are read as."""
    return without_none(typing.get_args(declared)[0])


def scalar_reader(kind: Any, field_name: str = "") -> Read | None:
    """Returns the function that reads a single value of the kind; None if the kind is no scalar.

    Strings in fields named like an id are read as ids.
    """
    if kind is str and _names_an_id(field_name):
        return scalars.identifier
    return scalars.READERS.get(kind)


_names_an_id: Final = re.compile(r"(?:.*_)?(?:id|ids|key|keys|uuid|uuids|token)").fullmatch


def required(value: Any) -> Any:
    """Returns the value. Raises DecodeError if it is None."""
    if value is None:
        raise DecodeError("", "is empty")
    return value


def read_items(items: Sequence[Any], kind: Any, hook: Any) -> tuple[Any, ...]:
    """Returns the items of an array, each read by `hook`. Raises DecodeError with the index of the
    item at fault.

    A null is skipped, but refused among numbers, where the index of an item may carry meaning.
    """
    found: list[Any] = []
    for index, item in enumerate(items):
        try:
            value = read_value(kind, hook, item)
            if value is None and kind not in _TEXTS_AND_OBJECTS and scalar_reader(kind) is not None:
                required(value)
        except DecodeError as problem:
            error = DecodeError(join_path(f"[{index}]", problem.path), problem.reason)
        else:
            if value is not None:
                found.append(value)
            continue
        raise error
    return tuple(found)


_TEXTS_AND_OBJECTS: Final = (str, Any)


def read_value(kind: Any, hook: Any, value: Any) -> Any:
    """Returns a value of the kind, read by `hook`; None for a null or empty one. Raises
    DecodeError.
    """
    if kind is Any or value is None:
        return value
    if scalar_reader(kind) is not None:
        return hook(value)
    if isinstance(hook, Reader):
        value = scalars.only_object(value)
    return None if value is None else hook(value, kind)


def join_path(name: str, rest: str) -> str:
    """Returns the path of a field within another: `a` and `b` give `a.b`, `a` and `[0]` give
    `a[0]`.
    """
    return f"{name}.{rest}" if name and rest and not rest.startswith("[") else name + rest


class Reader(dict[Names, Read]):
    """Reads objects of an attrs class. Maps the names of an object to the function that reads it.

    `hook_of` returns the reader of a field's kind, `explain` the error for data that cannot be
    read. The functions for nested objects call one another directly; only the outermost caller
    turns a failure into a DecodeError.

    The first object has the functions generated. A class that occurs in no answer costs nothing.
    """

    def __init__(self, cls: Any, hook_of: Callable[[Any], Structure], explain: Explain) -> None:
        self._cls = cls
        self._hook_of = hook_of
        self._explain = explain
        self._counts: dict[Names, int] = {}

    @functools.cached_property
    def _writer(self) -> "_Writer":
        return _Writer(self._cls, self._hook_of)

    @functools.cached_property
    def _for_all(self) -> Read:
        return self._writer.function(None)

    def __call__(self, data: Any, _: Any = None) -> Any:
        """Returns the model instance for the data. Raises DecodeError."""
        try:
            return self[tuple(data)](data)
        except UNREADABLE as problem:
            error = self.explain(data, problem)
        raise error

    def explain(self, data: Any, problem: Exception) -> DecodeError:
        """Returns the error that names the field at fault. Slow: it reads the data again."""
        return self._explain(self._cls, data, problem)

    def __missing__(self, names: Names) -> Read:
        """Returns the general function until the names have come often enough for one of
        their own.
        """
        if len(self) >= MAX_SHAPES or not self._writer.takes(names):
            return self._for_all
        if len(self._counts) >= MAX_COUNTED:
            self._counts.clear()
        self._counts[names] = self._counts.get(names, 0) + 1
        if self._counts[names] < MIN_OCCURRENCES:
            return self._for_all
        del self._counts[names]
        self[names] = self._writer.function(names)
        return self[names]


class _Writer:
    """Generates and compiles the functions of a class. Data that are read never become part of
    their source.
    """

    def __init__(self, cls: Any, hook_of: Callable[[Any], Structure]) -> None:
        attrs.resolve_types(cls, include_extras=True)
        self._cls = cls
        self._every: Sequence[attrs.Attribute[Any]] = attrs.fields(cls)
        given = {wire_name(field): field for field in self._every if field.init}
        self._has_extra = any(field.name == "extra" for field in given.values())
        self._fields = {name: field for name, field in given.items() if field.name != "extra"}
        self._is_bare = _is_bare(cls)
        self._late = {field.name for field in self._every if self._is_bare and _is_made_late(cls, field)}
        self._scope: dict[str, Any] = {"cls": cls, "new": cls.__new__, "known": frozenset(self._fields)}
        self._scope |= {"fromisoformat": datetime.datetime.fromisoformat, "UTC": datetime.UTC, "moment": scalars.moment}
        self._scope |= {"only_object": scalars.only_object, "several": scalars.as_list, "required": required}
        self._scope |= {"unreadable": UNREADABLE, "read_items": read_items}
        self._scope |= {f"set_{name}": getattr(cls, name).slot.__set__ for name in self._late}
        for field in self._every:
            self._scope[f"default_{field.name}"] = getattr(field.default, "factory", field.default)
        for field in self._fields.values():
            kind = kind_of(field)
            self._scope[f"kind_{field.name}"] = kind = item_kind(kind) if is_tuple(kind) else kind
            read = scalar_reader(kind, field.name)
            self._scope[f"hook_{field.name}"] = read or (None if kind is Any else hook_of(kind))
        self._required = frozenset(name for name, field in self._fields.items() if field.default is attrs.NOTHING)

    def takes(self, names: Names) -> bool:
        """Returns whether to generate a function for these names. Not if a required one is missing:
        then nothing can be read.
        """
        return len(names) <= len(self._fields) + MAX_LEFT_OVER and self._required.issubset(names)

    def function(self, names: Names | None) -> Read:
        """Returns the function for objects with exactly these names in this order, or for any
        object if None.
        """
        scope, lines = dict(self._scope), ["def read(data):"]
        values = {name: f"v{index}" for index, name in enumerate(self._fields if names is None else names)}
        if names is None:
            lines.append("    get = data.get")
        elif names:
            lines.append(f"    {', '.join(values.values())}, = data.values()")
        for name, field in self._fields.items():
            v = values.get(name)
            if v is None:
                values[name] = "" if field.name in self._late else _default(field)
                continue
            if names is None:
                fetch = "data[{!r}]" if field.default is attrs.NOTHING else "get({!r})"
                lines.append(f"    {v} = {fetch.format(name)}")
            lines += [f"    {line}" for line in self._conversion(field, v)]
        left_over = [name for name in names or () if name not in self._fields]
        scope |= {f"name_{values[name]}": name for name in left_over}
        extra = "None if known.issuperset(data) else {k: data[k] for k in data if k not in known}"
        if names is not None:
            extra = (
                f"{{{', '.join(f'name_{values[name]}: {values[name]}' for name in left_over)}}}" if left_over else ""
            )
        if extra and self._has_extra:
            lines.append(f"    extra = {extra}")
        lines += [f"    {line}" for line in self._making(values, extra and "extra")]
        exec("\n".join(lines), scope)  # noqa: S102  # the text is made of field names and types of our own classes
        read: Read = scope["read"]
        return read

    def _conversion(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        """Returns the lines that convert the value of a field. Missing, null and empty values get
        the default.
        """
        kind = kind_of(field)
        if kind is Any:
            lines = []
        elif kind in NEEDS_CONVERSION:
            return self._scalar(field, v)
        elif kind is datetime.datetime:
            lines = [
                f"try: {v} = fromisoformat({v})",
                f"except (TypeError, ValueError): {v} = moment({v})",
                f"if {v} is not None and {v}.tzinfo is None: {v} = {v}.replace(tzinfo=UTC)",
            ]
        else:
            lines = self._array(field, v) if is_tuple(kind) else self._object(field, v)
        if field.default is attrs.NOTHING:
            return [*lines, f"required({v})"] if lines else []
        if lines:
            lines = [f"if {v} is not None:", *(f"    {line}" for line in lines)]
        return lines + self._or_default(field, v)

    def _scalar(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        """Returns the lines for a scalar. The type is tested first, so that a regular value costs
        one test.
        """
        is_odd, hook = NEEDS_CONVERSION[kind_of(field)].format(v=v), f"hook_{field.name}"
        if field.default is attrs.NOTHING:
            return [f"if {is_odd}: {v} = required({hook}({v}))"]
        rest = [f"if {v} is not None: {v} = {hook}({v})", *self._or_default(field, v)]
        return [f"if {is_odd}:", *(f"    {line}" for line in rest)]

    def _or_default(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        if field.default is None or field.name in self._late:
            return []
        return [f"if {v} is None: {v} = {_default(field)}"]

    def _object(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        """Returns the lines for an object, which may also come as an array of one."""
        hook = f"hook_{field.name}"
        if not isinstance(self._scope[hook], Reader):
            return [f"{v} = {hook}({v}, kind_{field.name})"]
        return [
            f"if {v}.__class__ is not dict: {v} = only_object({v})",
            f"if {v} is not None: {v} = {hook}[tuple({v})]({v})",
        ]

    def _array(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        """Returns the lines for an array: all items at once, or one by one if any needs
        conversion.
        """
        item, hook = self._scope[f"kind_{field.name}"], f"hook_{field.name}"
        lines = [f"if {v}.__class__ is not list: {v} = several({v})", f"if {v} is not None:"]
        one_by_one = f"{v} = read_items({v}, kind_{field.name}, {hook})"
        if item in NEEDS_CONVERSION:
            is_odd = NEEDS_CONVERSION[item].format(v="item")
            return [
                *lines,
                f"    for item in {v}:",
                f"        if {is_odd}: {one_by_one}; break",
                f"    {v} = tuple({v})",
            ]
        if isinstance(self._scope[hook], Reader):
            read = f"{v} = tuple([{hook}[tuple(item)](item) for item in {v}])"
            return [*lines, f"    try: {read}", f"    except unreadable: {one_by_one}"]
        return [*lines, f"    {v} = tuple({v})" if item is Any else f"    {one_by_one}"]

    def _making(self, values: Mapping[str, str], extra: str) -> list[str]:
        """Returns the lines that create the object from the values of its fields."""
        of_fields = {field.name: values[name] for name, field in self._fields.items()}
        if self._has_extra:
            of_fields["extra"] = extra if "extra" in self._late else f"{extra} or {{}}" if extra else "{}"
        if not self._is_bare:
            given = ((field.alias, of_fields[field.name]) for field in self._every if field.name in of_fields)
            return [f"return cls({', '.join(f'{alias}={value}' for alias, value in given)})"]
        # Setting the attributes does the same as `__init__` without passing as many keyword
        # arguments.
        lines = ["self = new(cls)"]
        for field in self._every:
            value = of_fields.get(field.name, "")
            if field.name not in self._late:
                lines.append(f"self.{field.name} = {value or _default(field)}")
            elif value:
                lines.append(f"if {value} is not None: set_{field.name}(self, {value})")
        return [*lines, "return self"]


class _LazyAttribute:
    """An attribute whose default is created on first access.

    Most objects have no unknown fields. An empty dictionary for each would cost as much as the
    fields of a small object, and more in the garbage collector.
    """

    __slots__ = ("make", "slot")

    def __init__(self, slot: types.MemberDescriptorType, make: Callable[[], Any]) -> None:
        self.slot = slot
        self.make = make

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            return self.slot.__get__(instance, owner)
        except AttributeError:
            made = self.make()
            self.slot.__set__(instance, made)
            return made

    def __set__(self, instance: Any, value: Any) -> None:
        self.slot.__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        self.slot.__delete__(instance)


def _is_made_late(cls: Any, field: "attrs.Attribute[Any]") -> bool:
    """Returns whether the default of an attribute is created on access; true if it has a
    factory.
    """
    make, slot = getattr(field.default, "factory", None), getattr(cls, field.name, None)
    if make is not None and isinstance(slot, types.MemberDescriptorType):
        setattr(cls, field.name, _LazyAttribute(slot, make))
    return isinstance(getattr(cls, field.name, None), _LazyAttribute)


def _default(field: "attrs.Attribute[Any]") -> str:
    """Returns the default of a field as an expression. A factory is called for every object."""
    factory = getattr(field.default, "factory", None)
    return "{}" if factory is dict else f"default_{field.name}()" if factory else f"default_{field.name}"


def _is_bare(cls: Any) -> bool:
    """Returns whether creating an object does nothing but set its attributes."""
    return (
        cls.__setattr__ is object.__setattr__
        and cls.__new__ is object.__new__
        and not hasattr(cls, "__attrs_init__")
        and not any(hasattr(cls, f"__attrs_{when}_init__") for when in ("pre", "post"))
        and not any(
            field.converter or field.validator or getattr(field.default, "takes_self", False)
            for field in attrs.fields(cls)
        )
    )
