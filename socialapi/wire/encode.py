"""Encodes Python values as JSON, query strings and form bodies."""

import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import attrs
import orjson

from socialapi.errors import InvalidInput
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.spelling import near_name
from socialapi.models.validation import (
    NO_TIME,
    IsId,
    Tagged,
    Unshapeable,
    format_timestamp,
    is_several,
    members_by_tag,
    moment_in_utc,
    printable_name,
    value_type,
    wire_name,
)
from socialapi.problems import BrokenRule

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_LISTS: Final = (tuple, list, set, frozenset)
_LARGEST: Final = 2**64 - 1
_SMALLEST: Final = -(2**63)
NOT_UNICODE: Final = "is not valid Unicode text: it contains an unpaired surrogate"


def json_shape(value: Any) -> Any:
    """Returns the value as dicts, lists and scalars with their JSON names. Omits `UNSET`."""
    kind = value.__class__
    if kind in _SCALARS:
        return value
    if isinstance(value, (list, tuple)):  # a tuple of types: a union would be created on every call
        return [json_shape(each) for each in value]
    if kind is not dict and attrs.has(kind):
        fields = ((name, getattr(value, attribute)) for name, attribute in _sent(kind))
        shape = {name: json_shape(each) for name, each in fields if each is not UNSET}
        # Callers can put fields that the class lacks in `extra`; they are sent along with the others.
        further = shape.pop("extra", {})
        return {**shape, **extra_parameters(further)}
    if kind is dict or isinstance(value, Mapping):  # the isinstance test for the abstract class is slow
        return {name: json_shape(each) for name, each in value.items() if each is not UNSET}
    if isinstance(value, datetime.datetime):
        return format_timestamp(value)
    return _plain(value)


@functools.cache
def _sent(cls: Any) -> tuple[tuple[str, str], ...]:
    """Returns the fields of a class that are sent: their JSON names and their attributes."""
    return tuple((wire_name(field), field.name) for field in attrs.fields(cls) if field.init)


def extra_parameters(further: Any) -> Mapping[str, Any]:
    """Returns the mapping in `extra`. Raises InvalidInput if it is not a mapping."""
    if not isinstance(further, Mapping):
        raise InvalidInput("extra must be a mapping of names to values")
    return further


def _plain(value: Any) -> Any:
    """Returns the plain value of a dataclass, an enumeration member, or an instance of a scalar's subclass."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_shape(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum) and value is not UNSET:
        return json_shape(value.value)
    if isinstance(value, str):
        return str.__str__(value)  # not str(value), which a subclass may override
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def unsendable(shape: Any) -> list[BrokenRule]:
    """Returns why JSON-shaped data cannot be sent as JSON. Never quotes a value."""
    found = rules_of_values(shape, _why_not_sent)
    return [attrs.evolve(each, reason=f"cannot be sent as JSON: {each.reason}") for each in found]


def rules_of_values(shape: Any, why_not: Callable[[Any], str | None]) -> list[BrokenRule]:
    """Returns the reasons that `why_not` gives for scalars in JSON-shaped data, with their paths. Never quotes a
    value.
    """
    try:
        return list(_rules_of_values(shape, why_not, ""))
    except RecursionError:
        return [BrokenRule(path="", reason="it is nested too deeply")]


def _rules_of_values(shape: Any, why_not: Callable[[Any], str | None], path: str) -> Iterator[BrokenRule]:
    if isinstance(shape, dict):
        for name, each in shape.items():
            if name.__class__ is not str:
                yield BrokenRule(path=path, reason=f"a name in it is not a string, but {type(name).__name__}")
            elif why_not(name) is not None:
                yield BrokenRule(path=path, reason="a name in it is not valid Unicode")
            else:
                at = f"{path}.{printable_name(name)}" if path else printable_name(name)
                yield from _rules_of_values(each, why_not, at)
    elif isinstance(shape, list):
        for index, each in enumerate(shape):
            yield from _rules_of_values(each, why_not, f"{path}[{index}]")
    elif (reason := why_not(shape)) is not None:
        yield BrokenRule(path=path, reason=reason)


def _why_not_sent(value: Any) -> str | None:
    if isinstance(value, str):
        return "it contains an unpaired surrogate" if has_lone_surrogate(value) else None
    if isinstance(value, float):
        return None if math.isfinite(value) else "it is not a finite number"
    if isinstance(value, int):
        return None if _SMALLEST <= value <= _LARGEST else "it has more than 64 bits"
    # orjson also writes dates, times, dataclasses and enumerations; UNSET is a member of an enumeration.
    with contextlib.suppress(orjson.JSONEncodeError):
        if value is not UNSET and orjson.dumps(value):
            return None
    return f"JSON has no equivalent of {type(value).__name__}"


def json_bytes(shape: Any) -> bytes:
    """Returns JSON-shaped data as bytes. Raises InvalidInput for data that JSON cannot represent."""
    try:
        return orjson.dumps(shape)
    except orjson.JSONEncodeError as problem:
        reason = str(problem)
    raise InvalidInput(f"the body cannot be sent as JSON: {reason}")


def query_string(values: Mapping[str, Any]) -> str:
    """Returns query or form parameters percent-encoded per RFC 3986, so that the bytes signed are the bytes sent.

    Joins lists with commas, writes None as an empty value, and omits `UNSET`. Raises InvalidInput for names that are
    not strings, for values that are neither scalars nor lists of scalars, and for invalid Unicode.
    """
    pairs: list[str] = []
    for name, value in values.items():
        if not isinstance(name, str):
            raise InvalidInput(f"the name of a parameter must be a string, not {type(name).__name__}")
        if value is UNSET:
            continue
        text = value if value.__class__ is str else _text(value)
        if text is None:
            raise InvalidInput(
                f"the value of {printable_name(name)!r} must be a string, a number, true or false, a time or a list of these"
            )
        if _is_unreserved(name + text):
            pairs.append(f"{name}={text}")
        elif has_lone_surrogate(name + text):
            raise InvalidInput(f"the value of {printable_name(name)!r} {NOT_UNICODE}")
        else:
            pairs.append(f"{quote(name, safe='')}={quote(text, safe='')}")
    return "&".join(pairs)


def unsendable_parameters(values: Mapping[str, Any]) -> list[BrokenRule]:
    """Returns why query or form parameters cannot be sent. Never quotes a value."""
    broken = []
    for name, value in values.items():
        try:
            query_string({name: value})
        except InvalidInput as problem:
            shown = printable_name(name)
            broken.append(BrokenRule(path=shown, reason=problem.message.removeprefix(f"the value of {shown!r} ")))
    return broken


_is_unreserved: Final = re.compile("[A-Za-z0-9._~-]*").fullmatch
"""Matches a string that percent-encoding (RFC 3986) leaves unchanged, in a tenth of the time of `quote`."""


def has_lone_surrogate(text: str) -> bool:
    """Returns whether a string contains an unpaired surrogate, which cannot be encoded."""
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def _text(value: Any) -> str | None:
    """Returns the value as text for a query string, or None if it cannot be one."""
    if value.__class__ is str:
        text: str = value
        return text
    if value.__class__ is list:
        return _joined(value)
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    return None


_TEXT: Final = frozenset((str,))


def _joined(values: Iterable[Any]) -> str | None:
    if _TEXT.issuperset(map(type, values)):
        return ",".join(values)
    texts = [None if isinstance(each, _LISTS) else _text(each) for each in values]
    return None if None in texts else ",".join(map(str, texts))


_WRITERS: Final[Sequence[tuple[type | tuple[type, ...], Callable[[Any], str | None]]]] = (
    (type(None), lambda _: ""),
    (bool, lambda value: "true" if value else "false"),
    (datetime.datetime, format_timestamp),
    (_LISTS, _joined),
    (float, lambda value: str(value) if math.isfinite(value) else None),
    (decimal.Decimal, lambda value: str(value) if value.is_finite() else None),
    ((str, int, datetime.date), str),
)
"""Maps types to functions that write values in a query. The first match counts."""


Shape = Callable[[Any], Any]

_EMPTY: Final = (Unset, type(None))
_NO_ID: Final = "must be an id: a string or a whole number"
_NO_IDS: Final = "must be an id or a list of ids"
_LARGEST_ID: Final = 10**40
"""A bound larger than any id. Python does not format numbers with several thousand digits."""


def shaped(declared: Any, value: Any) -> Any:
    """Returns the value as dicts, lists and scalars of the declared type, or unchanged if `declared` is None."""
    return _undeclared(value) if declared is None else shaper(declared)(value)


def shaped_query(declared: Any, query: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the query parameters in their declared types, without None and `UNSET`."""
    if not query:
        return {}
    values: dict[str, Any] = shaped(declared, query)
    for value in values.values():
        if value is None:
            return {name: each for name, each in values.items() if each is not None}
    return values


def _undeclared(value: Any) -> Any:
    """Returns the result of `json_shape`, with `Unshapeable` for times that cannot be written."""
    try:
        return json_shape(value)
    except InvalidInput as problem:
        says = problem.message
    if isinstance(value, datetime.datetime):
        return Unshapeable(says)
    if isinstance(value, Mapping):
        return {name: _undeclared(each) for name, each in value.items() if each is not UNSET}
    if isinstance(value, list | tuple):
        return [_undeclared(each) for each in value]
    raise InvalidInput(says)


def _shaped_fields(shapes: Mapping[str, Shape], given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns the fields that have a value. A misspelled field becomes `Unshapeable`, with a suggestion."""
    found: dict[Any, Any] = {}
    for name, value in given.items():
        shape = shapes.get(name)
        if shape is None and isinstance(name, str) and (meant := near_name(name, tuple(shapes))) is not None:
            found[name] = Unshapeable(f"is not a field of this object: did you mean {meant!r}?")
        elif value is not UNSET:
            found[name] = _undeclared(value) if shape is None else shape(value)
    return found


@functools.cache
def shaper(declared: Any) -> Shape:
    """Returns the function that shapes values of a type."""
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is typing.Annotated:
        return _annotated(*arguments)
    if attrs.has(origin or declared):
        return _object(origin or declared)
    if origin in (typing.Union, types.UnionType):
        members = tuple(member for member in arguments if member not in _EMPTY)
        # Unions of several types contain only scalars, and only integers need conversion.
        return shaper(members[0]) if len(members) == 1 else _whole
    if origin in (tuple, list):
        item = arguments[0]
        one, alone, is_id = shaper(item), _kinds(item), _is_id(item)

        def shape(value: Any) -> Any:
            # A tuple of types: a union would be created on every call.
            if isinstance(value, (list, tuple)):
                return list(map(one, value))
            if isinstance(value, alone) and not isinstance(value, bool):
                return [one(value)]
            if not is_several(value):
                return Unshapeable(_NO_IDS) if is_id and value is not None else _undeclared(value)
            return [one(each) for each in value]

        return shape
    if typing.is_typeddict(declared):
        hints = typing.get_type_hints(declared, include_extras=True)
        shapes = {name: shaper(value_type(kind)) for name, kind in hints.items()}

        return functools.partial(_shaped_fields, shapes)
    has_integers = origin is typing.Literal and int in map(type, arguments)
    return _BY_TYPE.get(int if has_integers else declared, _undeclared)


def _annotated(base: Any, *metadata: Any) -> Shape:
    if isinstance(metadata[0], Tagged):
        field = metadata[0].field
        members = members_by_tag(base, field)

        def shape(value: Any) -> Any:
            if isinstance(value, Mapping):
                tag = value.get(field)
                member = members.get(tag) if isinstance(tag, str) else None
                return _undeclared(value) if member is None else shaper(member)(value)
            kind: Any = type(value)
            return shaper(kind)(value) if kind in members.values() else value

        return shape
    return _id if base is str and any(isinstance(rule, IsId) for rule in metadata) else shaper(base)


def _is_id(declared: Any) -> bool:
    return any(isinstance(rule, IsId) for rule in getattr(declared, "__metadata__", ()))


def _whole(value: Any) -> Any:
    """Returns the integer types of other libraries, for example from table cells, as int."""
    if value.__class__ is int or isinstance(value, bool) or not hasattr(value, "__index__"):
        return _undeclared(value)
    try:
        return operator.index(value)
    except TypeError:  # an array of several items
        return value


def _moment(value: Any) -> Any:
    """Returns a time in UTC. The input may be a string with any offset, as in jobs."""
    if value is None or isinstance(value, Unshapeable):
        return value
    try:
        is_time = isinstance(value, str | datetime.datetime)
        return format_timestamp(moment_in_utc(value)) if is_time else Unshapeable(NO_TIME)
    except InvalidInput as problem:
        return Unshapeable(problem.message)


_BY_TYPE: Final[Mapping[Any, Shape]] = {int: _whole, datetime.datetime: _moment}


def _id(value: Any) -> Any:
    if value.__class__ is str:
        return value
    number = _whole(value)
    if number.__class__ is int and abs(number) <= _LARGEST_ID:
        return str(number)
    return number if number is None or isinstance(number, str | Unshapeable) else Unshapeable(_NO_ID)


def _kinds(item: Any) -> tuple[type, ...]:
    """Returns the types whose single values are accepted as a list of one."""
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


def _object(cls: Any) -> Shape:
    """Returns the shaper of a class, for instances and for mappings with its field names.

    Leaves instances of other classes to validation.
    """
    # Filled on first use, because a class may contain itself.
    attributes: dict[str, str] = {}
    shapes: dict[str, Shape] = {}
    is_open = "extra" in attrs.fields_dict(cls)
    filled = {wire_name(field): field.default for field in attrs.fields(cls) if field.metadata.get("required")}

    def shape(value: Any) -> Any:
        if not shapes:
            attrs.resolve_types(cls, include_extras=True)
            fields = {wire_name(field): field for field in attrs.fields(cls) if field.name != "extra"}
            attributes.update({name: field.name for name, field in fields.items()})
            shapes.update({name: shaper(field.type) for name, field in fields.items()})
        if isinstance(value, cls):
            given = {n: each for n, attribute in attributes.items() if (each := getattr(value, attribute)) is not UNSET}
            further = getattr(value, "extra", {}) if is_open else {}
        elif isinstance(value, Mapping):
            given = filled | dict(value)
            further = given.pop("extra", {}) if is_open else {}
        else:
            return value
        # Callers can put fields that the class lacks in `extra`; they are sent along with the others.
        return _shaped_fields(shapes, given) | _undeclared(extra_parameters(further))

    return shape
