"""Turns decoded JSON into models and problems, with one generated reader per class in cattrs."""

import dataclasses
import functools
import json
import math
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
import orjson
from cattrs import StructureHandlerNotFoundError, transform_error
from cattrs.preconf.orjson import make_converter

from socialapi.errors import DecodeError, InvalidInput
from socialapi.models.pages import Page
from socialapi.models.undecoded import Undecoded
from socialapi.models.validation import Tagged, members_by_tag, wire_name
from socialapi.problems import PROBLEM_TYPES, Problem, ServiceError
from socialapi.wire import scalars
from socialapi.wire.class_readers import (
    Reader,
    Structure,
    default_of,
    is_tagged,
    is_tuple,
    item_kind,
    join_path,
    kind_of,
    read_array,
    read_value,
    scalar_reader,
    without_none,
)


def decode_json(content: bytes) -> Any:
    """Returns JSON bytes as Python data. A byte order mark and lone surrogates are accepted.

    Raises orjson.JSONDecodeError for invalid JSON, invalid UTF-8, excessive nesting, and numbers outside the range of
    floats, including NaN and Infinity. The error does not quote the content.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        message, position = problem.msg, problem.pos
    # The standard library is much slower but accepts lone surrogates, which some servers write as \ud83d.
    try:
        return _LENIENT.decode(content.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        error = orjson.JSONDecodeError(message, "", position)
    raise error  # raised outside the handler, so that its context does not contain the data


def _finite(digits: str) -> float:
    """Returns a number, as orjson does. Raises ValueError for a number outside the range of floats, and for a string
    that is not a number.
    """
    if math.isfinite(number := float(digits)):
        return number
    raise ValueError("the number is out of range")


def _whole_number(digits: str) -> int | float:
    """Returns an integer of up to 64 bits, or a larger one as a float, as orjson does."""
    number = int(digits) if len(digits) <= _MAX_DIGITS else None
    return number if number is not None and -(2**63) <= number < 2**64 else _finite(digits)


_MAX_DIGITS: Final = 20
_LENIENT: Final = json.JSONDecoder(parse_int=_whole_number, parse_float=_finite, parse_constant=_finite)
"""A decoder that accepts lone surrogates and everything that orjson accepts."""


def structure(data: Any, cls: Any) -> Any:
    """Returns `data` as an instance of `cls`. Raises DecodeError with the path of the first field
    that cannot be read.
    """
    try:
        return _cached_hook(cls)(data, cls)
    except DecodeError as problem:
        error = DecodeError(problem.path, problem.reason)
    # A new error outside the handler, because the context of the caught error may contain the data.
    raise error


def structure_each(items: list[Any], cls: Any, path: str) -> tuple[tuple[Any, ...], tuple[Undecoded, ...]]:
    """Returns the items as instances of `cls`, and the unreadable items.

    `path` is the path of the array; the path of each error starts with it. Replaces the items of the list with
    instances.
    """
    hook = _cached_hook(cls)
    count = hook.replace_each(items) if isinstance(hook, Reader) else 0
    if count == len(items):
        return tuple(items), ()
    read: list[Any] = items[:count]
    undecoded: list[Undecoded] = []
    for index in range(count, len(items)):
        try:
            read.append(required_value(cls, items[index]))
        except DecodeError as problem:
            at = join_path(f"{path}[{index}]", problem.path)
            undecoded.append(Undecoded(items[index], at, problem.reason))
    return tuple(read), tuple(undecoded)


@functools.cache
def wire_names(cls: Any) -> frozenset[str]:
    """Returns the names of a class's fields on the wire; an empty set for any other type."""
    if not attrs.has(cls):
        return frozenset()
    return frozenset(wire_name(field) for field in attrs.fields(cls) if field.init and field.name != "extra")


def required_value(kind: Any, value: Any) -> Any:
    """Returns a value of the kind. Raises DecodeError for a null or empty value."""
    found = read_value(kind, _hook_of(kind, ""), value)
    if found is None and kind is not Any:
        raise DecodeError("", _missing(kind))
    return found


def _missing(kind: Any) -> str:
    """Returns why a null or empty value is rejected if a value of the kind is required."""
    if scalar_reader(kind) is not None:
        return "is empty"
    return "expected an array" if is_tuple(kind) or _is_list(kind) else "expected an object"


def _tagged_fn(declared: Any) -> Structure:
    """Returns a reader that chooses the class by the tag field.

    An object with an unknown tag, or one that does not fit its tag's class, becomes a dict.
    """
    field = next(each.field for each in declared.__metadata__ if isinstance(each, Tagged))
    members = members_by_tag(declared.__origin__, field)

    def read(data: Any, _: Any) -> Any:
        data = scalars.only_object(data)
        kind = None if data is None else members.get(str(data.get(field)))
        if kind is None:
            return data
        try:
            return CONVERTER.structure(data, kind)
        except DecodeError:
            return data

    return read


def _structure_fn(cls: Any) -> Structure:
    """Returns the reader of a class.

    A class whose responses differ from its fields has a class method `_from_wire(data, read)`. Its argument `read(data,
    kind, path="")` reads data as any type. It reads the class itself by its fields. A class with `IS_READ_IN_PARTS`
    keeps unreadable items in `undecoded`.
    """
    by_fields = Reader(cls, CONVERTER.get_structure_hook, _explain)
    if getattr(cls, "IS_READ_IN_PARTS", False):
        return _in_parts(cls, by_fields)
    from_wire: Callable[[Any, Any], Any] | None = getattr(cls, "_from_wire", None)
    if from_wire is None:
        return by_fields

    def read(data: Any, kind: Any, path: str = "") -> Any:
        try:
            return (
                by_fields(data if isinstance(data, dict) else scalars.only_object(data))
                if kind is cls
                else structure(data, kind)
            )
        except DecodeError as problem:
            error = DecodeError(join_path(path, problem.path), problem.reason)
        raise error

    return lambda data, _: from_wire(data, read)


def _in_parts(cls: Any, by_fields: Callable[[Any], Any]) -> Structure:
    def read(data: Any, _: Any) -> Any:
        given = scalars.only_object(data)
        if given is None:
            return None
        try:
            return by_fields(given)
        except DecodeError:
            found = cls()
        undecoded: list[Undecoded] = []
        for field in attrs.fields(cls):
            name = wire_name(field)
            if not field.init or name not in given:
                continue
            items = scalars.as_list(given[name]) or []
            objects, odd = structure_each(items, item_kind(field.type), name)
            setattr(found, field.name, objects)
            undecoded += odd
        found.extra = {name: value for name, value in given.items() if name not in wire_names(cls)}
        found.undecoded = tuple(undecoded)
        return found

    return read


def _explain(cls: Any, data: Any, problem: Exception) -> DecodeError:
    """Returns the error, which names the field. Slow, so it is called only after a failure."""
    if not isinstance(data, Mapping):
        return DecodeError("", "expected an object")
    for field in attrs.fields(cls):
        name, kind = wire_name(field), kind_of(field)
        if field.name == "extra" or not field.init:
            continue
        if name not in data:
            if default_of(field) is attrs.NOTHING:
                return DecodeError(name, "is missing")
        elif data[name] is not None or default_of(field) is attrs.NOTHING:
            try:
                found = read_value(kind, _hook_of(kind, field.name), data[name])
            except DecodeError as inner:
                return DecodeError(join_path(name, inner.path), inner.reason)
            if found is None and default_of(field) is attrs.NOTHING:
                return DecodeError(name, _missing(kind))
    return DecodeError("", f"expected an object of type {cls.__name__} ({type(problem).__name__})")


def _hook_of(kind: Any, field_name: str) -> Any:
    return scalar_reader(kind, field_name) or (None if kind is Any else CONVERTER.get_structure_hook(kind))


def _tuple_fn(declared: Any) -> Structure:
    kind = item_kind(declared)
    hook = _hook_of(kind, "")
    return lambda data, _: read_array(kind, hook, data)


def _mapping_fn(declared: Any) -> Structure:
    arguments = typing.get_args(declared)
    kind = without_none(arguments[1]) if arguments else Any
    hook = _hook_of(kind, "")

    def read(data: Any, _: Any) -> dict[str, Any] | None:
        found = scalars.only_object(data)
        return found if found is None or kind is Any else {n: read_value(kind, hook, v) for n, v in found.items()}

    return read


def _scalar_fn(read: Callable[[Any], Any]) -> Structure:
    return lambda value, _: read(value)


def _is_mapping(declared: Any) -> bool:
    return declared is dict or typing.get_origin(declared) in (dict, Mapping)


def is_custom(declared: Any) -> bool:
    """Returns whether a type is a dataclass or a TypedDict, which callers write for endpoints that this package does
    not cover. attrs classes are read like the package's own models.
    """
    return dataclasses.is_dataclass(declared) or typing.is_typeddict(declared)


def _is_list(declared: Any) -> bool:
    return declared is list or typing.get_origin(declared) is list


def _custom_fn(declared: Any) -> Structure:
    """Returns the reader of a dataclass, a TypedDict, or a list of anything."""
    hook, is_array = _CUSTOM.get_structure_hook(declared), _is_list(declared)

    def read(data: Any, _: Any) -> Any:
        data = scalars.as_list(data) if is_array else scalars.only_object(data)
        if data is None:
            return None
        try:
            return hook(data, declared)
        except Exception as problem:  # noqa: BLE001  # whatever the class itself raises
            # cattrs joins the message and the path. Its own messages quote the unreadable value.
            reason, _, path = transform_error(problem, "", _custom_reason)[0].rpartition(" @ ")
        error = DecodeError(path.removeprefix("."), reason)
        raise error

    return read


def _custom_reason(problem: BaseException, kind: type | None) -> str:
    if isinstance(problem, DecodeError):
        return problem.reason
    return "is missing" if isinstance(problem, KeyError) else f"cannot be read as {getattr(kind, '__name__', kind)}"


def _not_null_fn(scalar: Any, read: Callable[[Any], Any]) -> Structure:
    def required(value: Any, kind: Any) -> Any:
        found = read(value)
        if found is None:
            raise DecodeError("", "is empty")
        return found if kind is scalar else kind(found)  # such as an enumeration of strings

    return required


_CUSTOM: Final = make_converter()
"""The converter of dataclasses and TypedDicts. It rejects a null unless the field may be None."""
_CUSTOM.register_structure_hook_factory(attrs.has, lambda kind: lambda data, _: structure(data, kind))
for _kind, _read in scalars.READERS.items():
    _CUSTOM.register_structure_hook(_kind, _not_null_fn(_kind, _read))


def check_model(name: str, kind: Any) -> None:
    """Raises InvalidInput, which names the argument, for a type that cannot describe a response."""
    one = typing.get_args(kind)[0] if typing.get_origin(kind) is Page else kind
    is_readable = one is not Page and (attrs.has(one) or is_custom(one) or _is_list(one) or _is_mapping(one))
    try:
        CONVERTER.get_structure_hook(one)
    except (StructureHandlerNotFoundError, TypeError, NameError):
        is_readable = False
    if not is_readable:
        shown = getattr(kind, "__name__", type(kind).__name__)
        raise InvalidInput(
            f"{name} must be an attrs class, a dataclass, a TypedDict, dict, or a list or Page of one, not {shown}"
        )


CONVERTER: Final = make_converter()
CONVERTER.register_structure_hook_factory(attrs.has, _structure_fn)
CONVERTER.register_structure_hook_factory(is_tagged, _tagged_fn)
CONVERTER.register_structure_hook_factory(is_tuple, _tuple_fn)
CONVERTER.register_structure_hook_factory(_is_mapping, _mapping_fn)
for _kind, _read in scalars.READERS.items():
    CONVERTER.register_structure_hook(_kind, _scalar_fn(_read))
CONVERTER.register_structure_hook_factory(lambda kind: is_custom(kind) or _is_list(kind), _custom_fn)
_cached_hook: Final = functools.cache(CONVERTER.get_structure_hook)
"""Returns the hook for a class, from a cache that is twice as fast as the converter. Requires that all hooks are
registered.
"""


NOT_AN_OBJECT_MESSAGE: Final = "an error that is not an object"
MAX_CODE_DIGITS: Final = 10


def read_problem(data: Mapping[str, Any]) -> Problem:
    """Returns the problem as the documented type named by the last segment of `type`.

    A problem that does not fit that type becomes a plain Problem.
    """
    slug = str(data.get("type", "")).rstrip("/").rpartition("/")[2]
    for cls in (PROBLEM_TYPES.get(slug, Problem), Problem):
        try:
            problem: Problem = _read_untyped(data) if cls is Problem else structure(data, cls)
        except DecodeError:
            continue
        return problem
    texts = {name: data[name] for name in ("type", "title", "detail") if isinstance(data.get(name), str)}
    return Problem(**texts, extra={name: value for name, value in data.items() if name not in texts})


def _problem(data: Any, _: Any) -> Problem | None:
    given = scalars.only_object(data)
    return None if given is None else read_problem(given)


_read_untyped: Final = Reader(Problem, CONVERTER.get_structure_hook, _explain)
# Registered with a function, because a hook for a class would also apply to its subclasses.
CONVERTER.register_structure_hook_factory(lambda declared: declared is Problem, lambda _: _problem)


def read_service_error(item: Mapping[str, Any]) -> ServiceError:
    """Returns a coded error from the platform API or the ads API."""
    code = item.get("code")
    return ServiceError(
        code=_code(code),
        message=_text(item.get("message") or item.get("detail") or item.get("reason")),
        parameter=_text(item.get("parameter")),
    )


def _code(given: Any) -> int | str | None:
    """Returns a code. Digits in a string become a number, as documented."""
    if isinstance(given, str):
        return int(given) if given.isascii() and given.isdecimal() and len(given) < MAX_CODE_DIGITS else given
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def read_errors(listed: Any) -> tuple[Problem | ServiceError, ...]:
    """Returns all errors of a response; null means no errors. Raises DecodeError if they are not an array."""
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise DecodeError("errors", "expected an array")
    return tuple(read_partial_error(each) for each in listed)


def read_partial_error(data: Any) -> Problem | ServiceError:
    """Returns an error that arrived with data: a typed problem, a coded error, or one made from a plain string or
    number.
    """
    if not isinstance(data, Mapping):
        is_code = isinstance(data, int) and not isinstance(data, bool)
        return ServiceError(
            code=data if is_code else None, message=_text(data) or (None if is_code else NOT_AN_OBJECT_MESSAGE)
        )
    return read_problem(data) if is_problem(data) else read_service_error(data)


def is_problem(data: Mapping[str, Any]) -> bool:
    """Returns whether an error is a typed problem rather than a coded error."""
    return "title" in data or "type" in data


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
