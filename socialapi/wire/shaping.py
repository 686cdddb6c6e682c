"""Arguments as their declarations have them: what a caller may write in several ways becomes one JSON shape.

One value where a list is expected is a list of one, any iterable is a list, a whole number is the text of an id, and a
mapping stands for an object of a class. Everything else stays as it is, and is refused by the rules that stand beside
the fields. What has no shape at all (a time without a time zone, the name of a field with a slip in it) is `Unfit`, which
those rules refuse as well. Only the client does this: the service, and so the emulator, takes JSON of the declared types
and no other.
"""

import datetime
import functools
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs

from socialapi.errors import InvalidInput
from socialapi.models.spelling import near_name
from socialapi.models.validation import IsId, Tagged, Unfit, members_by_tag, value_type, wire_name
from socialapi.unset import UNSET, Unset
from socialapi.wire.encoding import json_shape, mapping_of_further

Shape = Callable[[Any], Any]

_NOT_LISTS: Final = (str, bytes, bytearray, memoryview, Mapping)
_EMPTY: Final = (Unset, type(None))
_NO_ID: Final = "must be an id: a text or a whole number"
_NO_IDS: Final = "must be an id or a list of ids"
_LARGEST_ID: Final = 10**40
"""Beyond any id. Python refuses to write out numbers of some thousand digits."""


def shaped(declared: Any, value: Any) -> Any:
    """The value as `dict`, `list` and scalars, as `declared` (None where nothing is declared) has it."""
    return _undeclared(value) if declared is None else shaper(declared)(value)


def shaped_query(declared: Any, query: Mapping[str, Any] | None) -> dict[str, Any]:
    """The query parameters as `declared` has them. `None` is not sent, nor is what is `UNSET`."""
    values: dict[str, Any] = shaped(declared, query or {})
    return {name: value for name, value in values.items() if value is not None}


def _undeclared(value: Any) -> Any:
    """As `json_shape`, where nothing more is declared; a time that cannot be written is `Unfit` in its place."""
    try:
        return json_shape(value)
    except InvalidInput as problem:
        says = problem.message
    if isinstance(value, datetime.datetime):
        return Unfit(says)
    if isinstance(value, Mapping):
        return {name: _undeclared(each) for name, each in value.items() if each is not UNSET}
    if isinstance(value, list | tuple):
        return [_undeclared(each) for each in value]
    raise InvalidInput(says)


def _refuse_slips(given: dict[Any, Any], known: Mapping[str, Any]) -> None:
    """Makes what has a name that is nearly a known one `Unfit`."""
    for name in given:
        if name not in known and isinstance(name, str) and (meant := near_name(name, tuple(known))) is not None:
            given[name] = Unfit(f"is not a field of this object: did you mean {meant!r}?")


@functools.cache
def shaper(declared: Any) -> Shape:
    """The function that shapes values of a type."""
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is typing.Annotated:
        return _annotated(*arguments)
    if attrs.has(origin or declared):
        return _object(origin or declared)
    if origin in (typing.Union, types.UnionType):
        return _union(tuple(member for member in arguments if member not in _EMPTY))
    if origin in (tuple, list):
        return _array(arguments[0])
    if typing.is_typeddict(declared):
        return _parameters(declared)
    return _whole if declared is int or (origin is typing.Literal and int in map(type, arguments)) else _undeclared


def _annotated(base: Any, *metadata: Any) -> Shape:
    if isinstance(metadata[0], Tagged):
        return _tagged(base, metadata[0].field)
    return _id if base is str and any(isinstance(rule, IsId) for rule in metadata) else shaper(base)


def _is_id(declared: Any) -> bool:
    return any(isinstance(rule, IsId) for rule in getattr(declared, "__metadata__", ()))


def _whole(value: Any) -> Any:
    """A whole number of any kind (that of a table, say) as one of Python's."""
    if value.__class__ is int or isinstance(value, bool) or not hasattr(value, "__index__"):
        return _undeclared(value)
    try:
        return operator.index(value)
    except TypeError:  # an array of several
        return value


def _id(value: Any) -> Any:
    if value.__class__ is str:
        return value
    number = _whole(value)
    if number.__class__ is int and abs(number) <= _LARGEST_ID:
        return str(number)
    return number if number is None or isinstance(number, str | Unfit) else Unfit(_NO_ID)


def _union(members: tuple[Any, ...]) -> Shape:
    """Several members are scalars, which look alike but for numbers."""
    if len(members) == 1:
        return shaper(members[0])
    return _whole if any(int in _kinds(member) for member in members) else _undeclared


def _array(item: Any) -> Shape:
    one, alone, is_id = shaper(item), _kinds(item), _is_id(item)

    def shape(value: Any) -> Any:
        if isinstance(value, (list, tuple)):  # a tuple of types, because a union is made anew at each call
            return [one(each) for each in value]
        if isinstance(value, alone) and not isinstance(value, bool):
            return [one(value)]
        if isinstance(value, _NOT_LISTS) or not isinstance(value, Iterable) or attrs.has(type(value)):
            return Unfit(_NO_IDS) if is_id and value is not None else _undeclared(value)
        return [one(each) for each in value]

    return shape


def _kinds(item: Any) -> tuple[type, ...]:
    """What stands for a list of one where a list of such items is expected."""
    origin, arguments = typing.get_origin(item), typing.get_args(item)
    if origin is typing.Annotated:
        return (str, int) if _is_id(item) else _kinds(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return tuple({kind for member in arguments for kind in _kinds(member)})
    if origin is typing.Literal:
        return tuple({type(value) for value in arguments})
    if attrs.has(origin or item):
        return (Mapping, origin or item)
    return (item,) if item in (str, int) else ()


def _fields(cls: Any) -> Mapping[str, tuple[str, Any]]:
    """The declared fields of a class by their names on the wire: the attribute and its type."""
    attrs.resolve_types(cls, include_extras=True)
    return {wire_name(field): (field.name, field.type) for field in attrs.fields(cls) if field.name != "extra"}


def _object(cls: Any) -> Shape:
    """An object of the class, or a mapping with the names of its fields. One of another class is left to the rules."""
    fields: dict[str, tuple[str, Shape]] = {}  # made when it is needed: a class may hold itself
    is_open = "extra" in attrs.fields_dict(cls)

    def shape(value: Any) -> Any:
        if not fields:
            fields.update({name: (attribute, shaper(kind)) for name, (attribute, kind) in _fields(cls).items()})
        if isinstance(value, cls):
            given = {name: getattr(value, attribute) for name, (attribute, _) in fields.items()}
            further = getattr(value, "extra", {}) if is_open else {}
        elif isinstance(value, Mapping):
            given = dict(value)
            further = given.pop("extra", {}) if is_open else {}
            _refuse_slips(given, fields)
        else:
            return value
        known = {
            name: fields[name][1](each) if name in fields else _undeclared(each)
            for name, each in given.items()
            if each is not UNSET
        }
        # What a class has no field for, a caller may give in `extra`; it stands beside the fields.
        return known | _undeclared(mapping_of_further(further))

    return shape


def _tagged(union: Any, field: str) -> Shape:
    members = members_by_tag(union, field)

    def shape(value: Any) -> Any:
        if isinstance(value, Mapping):
            tag = value.get(field)
            member = members.get(tag) if isinstance(tag, str) else None
            return _undeclared(value) if member is None else shaper(member)(value)
        kind: Any = type(value)
        return shaper(kind)(value) if kind in members.values() else value

    return shape


def _parameters(declared: Any) -> Shape:
    hints = typing.get_type_hints(declared, include_extras=True)
    shapes = {name: shaper(value_type(kind)) for name, kind in hints.items()}

    def shape(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = dict(value)
        _refuse_slips(given, shapes)
        return {
            name: shapes[name](each) if name in shapes else _undeclared(each)
            for name, each in given.items()
            if each is not UNSET
        }

    return shape
