"""From values to what travels: JSON-shaped data, query strings, form bodies, path segments."""

import datetime
import decimal
import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import attrs
import orjson

from socialapi.errors import InvalidInput
from socialapi.models.validation import format_timestamp, shown, wire_name
from socialapi.problems import BrokenRule
from socialapi.unset import UNSET

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_LISTS: Final = (tuple, list, set, frozenset)
_LARGEST: Final = 2**64 - 1
_SMALLEST: Final = -(2**63)
NOT_UNICODE: Final = "is not valid Unicode text: it has half of a surrogate pair"


def json_shape(value: Any) -> Any:
    """The value as `dict`, `list` and scalars, named as the service names it; what is `UNSET` is left out."""
    kind = value.__class__
    if kind in _SCALARS:
        return value
    if isinstance(value, (list, tuple)):  # a tuple of types, because a union is made anew at each call
        return [json_shape(each) for each in value]
    if kind is not dict and attrs.has(kind):
        fields = ((wire_name(f), getattr(value, f.name)) for f in attrs.fields(type(value)) if f.init)
        shape = {name: json_shape(each) for name, each in fields if each is not UNSET}
        # What a class has no field for, a caller may give in `extra`; it stands beside the fields.
        further = shape.pop("extra", {})
        return {**shape, **mapping_of_further(further)}
    if kind is dict or isinstance(value, Mapping):  # asking the abstract class is slow
        return {name: json_shape(each) for name, each in value.items() if each is not UNSET}
    if isinstance(value, datetime.datetime):
        return format_timestamp(value)
    return _plain(value)


def mapping_of_further(further: Any) -> Mapping[str, Any]:
    """What a caller gives in `extra`. Raises InvalidInput for what is no mapping."""
    if not isinstance(further, Mapping):
        raise InvalidInput("extra must be a mapping of names to values")
    return further


def _plain(value: Any) -> Any:
    """A member of an enumeration, or a scalar of a class of its own, as what it stands for."""
    if isinstance(value, enum.Enum) and value is not UNSET:
        return json_shape(value.value)
    if isinstance(value, str):
        return str.__str__(value)  # not str(value), as which a class of its own may show something else
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def unsendable(shape: Any) -> list[BrokenRule]:
    """What of JSON-shaped data JSON has no form for, or another than Python. No value is quoted."""
    try:
        return list(_unsendable(shape, ""))
    except RecursionError:
        return [BrokenRule(path="", reason="cannot be sent as JSON: it is nested too deeply")]


def _unsendable(shape: Any, path: str) -> Iterator[BrokenRule]:
    if isinstance(shape, dict):
        for name, each in shape.items():
            if isinstance(name, str) and not has_lone_surrogate(name):
                yield from _unsendable(each, f"{path}.{shown(name)}" if path else shown(name))
            else:
                yield BrokenRule(path=path, reason="cannot be sent as JSON: a name in it is no valid text")
    elif isinstance(shape, list):
        for index, each in enumerate(shape):
            yield from _unsendable(each, f"{path}[{index}]")
    elif (reason := _why_not_json(shape)) is not None:
        yield BrokenRule(path=path, reason=f"cannot be sent as JSON: {reason}")


def _why_not_json(value: Any) -> str | None:
    if isinstance(value, str):
        return "it has half of a surrogate pair" if has_lone_surrogate(value) else None
    if isinstance(value, float):
        return None if math.isfinite(value) else "it is not a finite number"
    if isinstance(value, int):
        return None if _SMALLEST <= value <= _LARGEST else "it has more than 64 bits"
    # Besides these, orjson writes dates, times and data classes, and members of enumerations, of which UNSET is one.
    return (
        None
        if value is None or (value is not UNSET and _is_written(value))
        else f"there is no form for {type(value).__name__}"
    )


def _is_written(value: Any) -> bool:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def json_bytes(shape: Any) -> bytes:
    """JSON-shaped data as bytes. Raises InvalidInput for what JSON has no form for."""
    try:
        return orjson.dumps(shape)
    except orjson.JSONEncodeError as problem:
        reason = str(problem)
    raise InvalidInput(f"the body cannot be sent as JSON: {reason}")


def parameters(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Query or form parameters: lists are joined with commas, booleans are `true` and `false`, None is empty.

    Raises InvalidInput for names that are no texts, and for values that are neither scalars nor lists of them.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        if not isinstance(name, str):
            raise InvalidInput(f"the name of a parameter must be a text, not {type(name).__name__}")
        if value is UNSET:
            continue
        text = _text(value)
        if text is None:
            raise InvalidInput(
                f"the value of {shown(name)!r} must be a text, a number, true or false, a time or a list of these"
            )
        pairs.append((name, text))
    return pairs


def query_string(values: Mapping[str, Any]) -> str:
    """The parameters percent-encoded as RFC 3986 has it, so that what is signed is byte for byte what is sent.

    Raises InvalidInput as `parameters`, and for text that is not Unicode.
    """
    pairs = parameters(values)
    broken = [name for name, value in pairs if has_lone_surrogate(name + value)]
    if broken:
        raise InvalidInput(f"the value of {shown(broken[0])!r} {NOT_UNICODE}")
    return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)


def _quoted(text: str) -> str:
    return text if text.isascii() and text.isalnum() else quote(text, safe="")


def has_lone_surrogate(text: str) -> bool:
    """Whether a text has half of a surrogate pair, for which no encoding has bytes."""
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def _text(value: Any) -> str | None:
    """The value as it is written in a query; None if it has no such form."""
    if value.__class__ is str:
        text: str = value
        return text
    return next((write(value) for kinds, write in _WRITERS if isinstance(value, kinds)), None)


def _joined(values: Iterable[Any]) -> str | None:
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
"""How values are written in a query, by their types; the first one that fits counts."""
