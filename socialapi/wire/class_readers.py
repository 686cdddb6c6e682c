"""The functions that read models from decoded JSON: their text, written from the fields of a class, and what it costs.

Every class has one that reads whatever comes, name by name. Objects of a collection mostly have the same names in the
same order, and for names that keep coming another one is written, which knows what is there, what is not, and what is
left over: it takes the values all at once. Both do the same with a value. That saves a quarter of the time.
"""

import datetime
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

COMES_OFTEN: Final = 16
"""So often have the same names to come before a function is written for them, which takes a millisecond."""
MAX_SHAPES: Final = 64
"""So many of these functions does a class have at most; names that come later are read by the one for all."""
MAX_COUNTED: Final = 1024
"""So many sets of names are counted at a time."""
MAX_LEFT_OVER: Final = 16
"""Objects with more unknown names than this are not counted: each may have others, and they may be long."""

ODD: Final[Mapping[Any, str]] = {
    str: "{v}.__class__ is not str",
    bool: "{v}.__class__ is not bool",
    int: "{v}.__class__ is not int",
    float: "{v}.__class__ is not float and {v}.__class__ is not int",
}
"""When a value of a kind has to be looked at: any other is taken as it is."""


UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError, DecodeError)
"""What the functions raise for data that are not what they should be."""


def without_none(annotation: Any) -> Any:
    """The type that a value has when there is one: `Literal[…] | str | None` is a str, `int | None` an int."""
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
    """Whether this is a union of classes of which a field of the object says which it is."""
    return any(isinstance(each, Tagged) for each in getattr(declared, "__metadata__", ()))


def kind_of(field: "attrs.Attribute[Any]") -> Any:
    """What a field is read as: its type, unless that depends on other fields and a hook of the class sees to it."""
    return field.metadata.get("read_as") or without_none(field.type)


def is_tuple(declared: Any) -> bool:
    """Whether this is read from an array."""
    return typing.get_origin(declared) is tuple


def item_kind(declared: Any) -> Any:
    """What the items of an array are read as."""
    return without_none(typing.get_args(declared)[0])


def scalar_reader(kind: Any, field_name: str = "") -> Read | None:
    """What reads a single value of the kind, however it is written; None for a kind that is no single value.

    Texts under the name of an id are read as ids.
    """
    if kind is str and _names_an_id(field_name):
        return scalars.identifier
    return scalars.READERS.get(kind)


_names_an_id: Final = re.compile(r"(?:.*_)?(?:id|ids|key|keys|uuid|uuids|token)").fullmatch


def required(value: Any) -> Any:
    """A value that has to be there. Raises DecodeError for one that says nothing."""
    if value is None:
        raise DecodeError("", "is empty")
    return value


def read_items(items: Sequence[Any], kind: Any, hook: Any) -> tuple[Any, ...]:
    """The items of an array, one by one; `hook` is what reads the kind. Raises DecodeError with the index of the fault.

    A null is no item, except among numbers: there the place of an item may say what it is about.
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
    """A value of the kind, by what reads it; None for one that says nothing. Raises DecodeError."""
    if kind is Any or value is None:
        return value
    if scalar_reader(kind) is not None:
        return hook(value)
    if isinstance(hook, Reader):
        value = scalars.only_object(value)
    return None if value is None else hook(value, kind)


def join_path(name: str, rest: str) -> str:
    """The path of a field and, within it, of what could not be read: `a` and `b` are `a.b`, `a` and `[0]` are `a[0]`."""
    return name + rest if rest.startswith("[") else f"{name}.{rest}" if rest else name


class Reader(dict[Names, Read]):
    """What reads objects of an attrs class: the function for their names, by these names.

    `hook_of` finds what reads the kind of a field, `explain` says what is wrong with data that cannot be read. The
    functions for objects within call one another without coming here: who asked for the outermost gets the error.
    """

    def __init__(self, cls: Any, hook_of: Callable[[Any], Structure], explain: Explain) -> None:
        self._cls = cls
        self._explain = explain
        self._writer = _Writer(cls, hook_of)
        self._for_all = self._writer.function(None)
        self._counts: dict[Names, int] = {}

    def __call__(self, data: Any, _: Any = None) -> Any:
        """The object that the data are. Raises DecodeError."""
        try:
            return self[tuple(data)](data)
        except UNREADABLE as problem:
            error = self.explain(data, problem)
        raise error

    def explain(self, data: Any, problem: Exception) -> DecodeError:
        """Which field is at fault, after a function has failed; slow."""
        return self._explain(self._cls, data, problem)

    def __missing__(self, names: Names) -> Read:
        """The function for all names, until these have come often enough."""
        if len(self) >= MAX_SHAPES or not self._writer.takes(names):
            return self._for_all
        if len(self._counts) >= MAX_COUNTED:
            self._counts.clear()
        self._counts[names] = self._counts.get(names, 0) + 1
        if self._counts[names] < COMES_OFTEN:
            return self._for_all
        del self._counts[names]
        self[names] = self._writer.function(names)
        return self[names]


class _Writer:
    """Writes and compiles the functions of a class. What is read never becomes part of their text."""

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
        self._scope |= {"only_object": scalars.only_object, "several": scalars.several, "required": required}
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
        """Whether a function for these names is worth its while: what lacks a required one cannot be read."""
        return len(names) <= len(self._fields) + MAX_LEFT_OVER and self._required.issubset(names)

    def function(self, names: Names | None) -> Read:
        """The function for objects that have exactly these names in this order, or for any object."""
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
        """What makes the value of a field of what came; a missing one, and one that says nothing, get the default."""
        kind = kind_of(field)
        if kind is Any:
            lines = []
        elif kind in ODD:
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
        """One question where all is well, so the type is asked first."""
        is_odd, hook = ODD[kind_of(field)].format(v=v), f"hook_{field.name}"
        if field.default is attrs.NOTHING:
            return [f"if {is_odd}: {v} = required({hook}({v}))"]
        rest = [f"if {v} is not None: {v} = {hook}({v})", *self._or_default(field, v)]
        return [f"if {is_odd}:", *(f"    {line}" for line in rest)]

    def _or_default(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        if field.default is None or field.name in self._late:
            return []
        return [f"if {v} is None: {v} = {_default(field)}"]

    def _object(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        """What reads an object; an array of one stands for what is in it."""
        hook = f"hook_{field.name}"
        if not isinstance(self._scope[hook], Reader):
            return [f"{v} = {hook}({v}, kind_{field.name})"]
        return [
            f"if {v}.__class__ is not dict: {v} = only_object({v})",
            f"if {v} is not None: {v} = {hook}[tuple({v})]({v})",
        ]

    def _array(self, field: "attrs.Attribute[Any]", v: str) -> list[str]:
        """What reads an array: all items at once as long as nothing is odd about them, else one by one."""
        item, hook = self._scope[f"kind_{field.name}"], f"hook_{field.name}"
        lines = [f"if {v}.__class__ is not list: {v} = several({v})", f"if {v} is not None:"]
        one_by_one = f"{v} = read_items({v}, kind_{field.name}, {hook})"
        if item in ODD:
            is_odd = ODD[item].format(v="item")
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
        """What makes the object of the values of its fields."""
        of_fields = {field.name: values[name] for name, field in self._fields.items()}
        if self._has_extra:
            of_fields["extra"] = extra if "extra" in self._late else f"{extra} or {{}}" if extra else "{}"
        if not self._is_bare:
            given = ((field.alias, of_fields[field.name]) for field in self._every if field.name in of_fields)
            return [f"return cls({', '.join(f'{alias}={value}' for alias, value in given)})"]
        # Attributes are set where `__init__` would take as many arguments by keyword and do just this.
        lines = ["self = new(cls)"]
        for field in self._every:
            value = of_fields.get(field.name, "")
            if field.name not in self._late:
                lines.append(f"self.{field.name} = {value or _default(field)}")
            elif value:
                lines.append(f"if {value} is not None: set_{field.name}(self, {value})")
        return [*lines, "return self"]


class _Late:
    """An attribute that is made when it is first asked for: most objects have nothing unknown, and nobody looks.

    An empty dictionary for each costs as much as the fields of a small object, and the garbage collector more.
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
    """Whether an attribute is made when it is asked for, which is so where its default is made anew for each object."""
    make, slot = getattr(field.default, "factory", None), getattr(cls, field.name, None)
    if make is not None and isinstance(slot, types.MemberDescriptorType):
        setattr(cls, field.name, _Late(slot, make))
    return isinstance(getattr(cls, field.name, None), _Late)


def _default(field: "attrs.Attribute[Any]") -> str:
    """The default of a field as an expression; a factory is called anew for every object."""
    factory = getattr(field.default, "factory", None)
    return "{}" if factory is dict else f"default_{field.name}()" if factory else f"default_{field.name}"


def _is_bare(cls: Any) -> bool:
    """Whether making an object does nothing but to set its attributes."""
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
