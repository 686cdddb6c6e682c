"""Converts single JSON values, and accepts the service's variants of them.

The documentation shows few responses. The service writes numbers as strings (`"10080"`), ids as
numbers, one object as an array of one, and missing values as empty strings. The functions accept
all of these. They reject ambiguous values: a boolean for a number, several values for one, a
fraction for a whole number, and a float too large for an exact id or number. Every function returns
None for null, an empty array, and an empty string unless a string is expected. It raises
DecodeError, which never quotes the value, for an unreadable value.
"""

import datetime
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from socialapi.errors import DecodeError

T = TypeVar("T")

MAX_EXACT: Final = 2**53 - 1
"""The largest integer up to which floats are exact."""

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}(?:\.0*)?", re.ASCII).fullmatch
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII).fullmatch


def read_or_none(read: Callable[[Any], T | None], value: Any) -> T | None:
    """Returns the value that one of these functions reads, or None if it cannot be read."""
    try:
        return read(value)
    except DecodeError:
        return None


def only(value: Any) -> Any:
    """Returns the item of an array of one; any other value unchanged. Raises DecodeError for several items."""
    while value.__class__ is list:
        if len(value) > 1:
            raise DecodeError("", "expected one value, not several")
        value = value[0] if value else None
    return value


def text(value: Any) -> str | None:
    """Returns a string; a number as its digits."""
    if value.__class__ is list:
        value = only(value)
    if value is None or value.__class__ is str:
        found: str | None = value
        return found
    if value.__class__ is float:
        return str(_unchanged(value)) if value.is_integer() else repr(value)
    if value.__class__ is int:
        return str(value)
    raise DecodeError("", "expected a string")


def identifier(value: Any) -> str | None:
    """Returns an id as a string. It may be a whole number, but not a fraction."""
    if value.__class__ is list:
        value = only(value)
    return str(_unchanged(value)) if value.__class__ is float else text(value)


def whole_number(value: Any) -> int | None:
    """Returns an integer, which may come as a string or with a fraction of zero."""
    value = only(value)
    if value.__class__ is float:
        return _unchanged(value)
    if value.__class__ is str:
        digits = value.strip()
        if not digits:
            return None
        if _WHOLE(digits):
            return int(digits.partition(".")[0])
    elif value is None or value.__class__ is int:
        found: int | None = value
        return found
    raise DecodeError("", "expected a whole number")


def number(value: Any) -> float | None:
    """Returns a number, which may come as a string."""
    value = only(value)
    if value.__class__ is str:
        digits = value.strip()
        if not digits:
            return None
        if _DECIMAL(digits) and math.isfinite(found := float(digits)):
            return found
    elif value is None or value.__class__ in (int, float):
        given: float | None = value
        return given
    raise DecodeError("", "expected a number")


def boolean(value: Any) -> bool | None:
    """Returns a boolean, which may come as a string but not as a number."""
    value = only(value)
    if value.__class__ is str:
        said = value.strip().lower()
        if said in _BOOLEANS:
            return _BOOLEANS[said]
    elif value is None or value.__class__ is bool:
        found: bool | None = value
        return found
    raise DecodeError("", "expected true or false")


_BOOLEANS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "": None}


def moment(value: Any) -> datetime.datetime | None:
    """Returns an aware datetime from ISO 8601 with any offset and precision; UTC without an
    offset. Returns an aware datetime, for example from a table row, unchanged.
    """
    try:
        found = datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return _unusual_moment(value)
    # The fraction may belong to a minute or an hour, but Python reads it as a fraction of a second.
    if found.microsecond and not found.second:
        return _unusual_moment(value)
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def _unusual_moment(value: Any) -> datetime.datetime | None:
    value = only(value)
    if value is None:
        return None
    if value.__class__ is datetime.datetime and value.utcoffset() is not None:
        aware: datetime.datetime = value
        return aware
    if value.__class__ is str:
        written = value.strip()
        if not written:
            return None
        if (found := _parsed(written)) is not None:
            return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
    raise DecodeError("", "expected an ISO 8601 time")


def _parsed(written: str) -> datetime.datetime | None:
    text, days = _MIDNIGHT.subn("00", written.upper(), count=1)
    if _IS_MISREAD(text):
        return None
    try:
        return datetime.datetime.fromisoformat(text) + datetime.timedelta(days=days)
    except (ValueError, OverflowError):
        return None


# Python reads a fraction of a minute or an hour as a fraction of a second. From 3.14 on, it accepts 24:00 with a
# nonzero fraction.
_IS_MISREAD: Final = re.compile(r"[T ](?:24|[0-9]{2}(?::?[0-9]{2})?[.,])", re.ASCII).search
_MIDNIGHT: Final = re.compile(r"(?<=[T ])24(?=(?::?00(?::?00(?:[.,]0+)?)?)?(?:[Z+-]|$))", re.ASCII)


def _unchanged(value: float) -> int:
    """Returns a float as an integer. Raises DecodeError if it is not whole or not exact."""
    if not value.is_integer():
        raise DecodeError("", "expected a whole number")
    if abs(value) > MAX_EXACT:
        raise DecodeError("", "expected an exact number: this one is too large for floating point")
    return int(value)


def only_object(value: Any) -> dict[str, Any] | None:
    """Returns an object, which may come as an array of one."""
    if value.__class__ is list:
        value = only(value)
    if value.__class__ is dict:
        found: dict[str, Any] = value
        return found
    if value is None or value == "":
        return None
    raise DecodeError("", "expected an object")


def as_list(value: Any) -> list[Any] | None:
    """Returns an array; a single value becomes an array of one."""
    if value.__class__ is list:
        found: list[Any] = value
        return found
    return None if value is None or value == "" else [value]


READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    str: text,
    bool: boolean,
    int: whole_number,
    float: number,
    datetime.datetime: moment,
}
"""The function that reads a value of each kind."""
