"""From values to what travels: JSON-shaped data, query strings, form bodies, path segments."""

import datetime
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import attrs
import orjson

from socialapi.errors import InvalidInput
from socialapi.models.rules import format_timestamp, wire_name
from socialapi.unset import UNSET

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


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
        return shape | shape.pop("extra", {})
    if kind is dict or isinstance(value, Mapping):  # asking the abstract class is slow
        return {name: json_shape(each) for name, each in value.items() if each is not UNSET}
    if isinstance(value, datetime.datetime):
        return format_timestamp(value)
    return value


def json_bytes(shape: Any) -> bytes:
    """JSON-shaped data as bytes. Raises InvalidInput for what JSON has no form for."""
    try:
        return orjson.dumps(shape)
    except orjson.JSONEncodeError as problem:
        raise InvalidInput(f"the body cannot be sent as JSON: {problem}") from None


def parameters(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Query or form parameters: lists are joined with commas, booleans are `true` and `false`, None is empty."""
    return [(name, _text(value)) for name, value in values.items() if value is not UNSET]


def query_string(values: Mapping[str, Any]) -> str:
    """The parameters percent-encoded as RFC 3986 has it, so that what is signed is byte for byte what is sent.

    Raises InvalidInput for text that is not Unicode.
    """
    pairs = parameters(values)
    broken = [name for name, value in pairs if _has_lone_surrogate(name + value)]
    if broken:
        raise InvalidInput(f"the value of {broken[0]!r} is not valid Unicode text: it has half of a surrogate pair")
    return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)


def _quoted(text: str) -> str:
    return text if text.isascii() and text.isalnum() else quote(text, safe="")


def _has_lone_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def _text(value: Any) -> str:
    if value.__class__ is str:
        text: str = value
        return text
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return format_timestamp(value)
    if isinstance(value, tuple | list | set | frozenset):
        return ",".join(_text(each) for each in value)
    return str(value)
