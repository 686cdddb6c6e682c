"""Restores the digits of IDs, codes, phone numbers and counts that were converted to floats.

pandas turns a column of integers with a missing value into a column of floats. Such a number is converted back to an
integer if no digit can have been lost.
"""

import math
import re
import struct
import uuid
from collections.abc import Iterator, Mapping
from decimal import Decimal
from numbers import Rational, Real
from typing import Any, Final, Self

from socialapi.internal.unset import UNSET

EXACT_LIMIT: Final = 2**53 - 1
"""The limit up to which a 64-bit float represents every integer exactly."""
_DIGEST_BYTES: Final = 32
_UUID_BYTES: Final = 16
_VERSION_OF_DEVICE_IDS: Final = 4
_MAX_DECIMALS: Final = 1_000
"""The maximum number of decimal places that are checked. Checking a million takes as long as reading a file."""
NOT_TEXT: Final = "is neither text nor a whole number"
NESTED: Final = 'contains an object: give the path of the value in it, as in columns={"<field>": "<column>.value"}'
INFINITE: Final = "is not a finite number"
INEXACT: Final = (
    "is a floating-point number so large that digits were lost before it was read: export the column as text"
)

looks_like_float: Final = re.compile(r"[+-]?[0-9]+(?:[.,]0+|(?:[.,][0-9]*)?[eE][+-]?[0-9]+)").fullmatch
"""Matches strings that are probably an ID or code rewritten as a float by a program."""
has_length_of_gtin: Final = re.compile(r"[0-9]{8}|[0-9]{12,14}").fullmatch
_MISSING_TYPES: Final = frozenset({"NAType", "UnsetType"})
"""The types of missing values in pandas and msgspec."""
_LIMITS_BY_BYTES: Final = {2: 2**11 - 1, 4: 2**24 - 1}
"""The limits up to which the smaller float types represent every integer exactly."""
_SHORT_FLOATS: Final = {2: ("e", (3, 4, 5)), 4: ("f", (6, 7, 8, 9))}
"""The codes of the smaller float types in the module `struct`, and the numbers of digits that they may need, by their
size in bytes.
"""


def is_gtin(text: str) -> bool:
    """Returns whether a string has the length and the check digit of a GTIN."""
    has_length = has_length_of_gtin(text) is not None
    return has_length and (sum(map(int, text[::-2])) + 3 * sum(map(int, text[-2::-2]))) % 10 == 0


class ShortFloat(float):
    """A number from a float type of 2 or 4 bytes. It has its size as an attribute, as NumPy's numbers do."""

    __slots__ = ("itemsize",)
    itemsize: int

    def __new__(cls, value: float, itemsize: int) -> Self:
        """Returns a number from a float type of this size in bytes."""
        found = super().__new__(cls, value)
        found.itemsize = itemsize
        return found

    def __str__(self) -> str:
        """Returns the shortest decimal number that the smaller type stores as this number, such as 249.99."""
        code, counts = _SHORT_FLOATS[self.itemsize]
        texts = (f"{float(self):.{count}g}" for count in counts)
        exact = (float(text) for text in texts if struct.unpack(code, struct.pack(code, float(text)))[0] == self)
        return repr(next(exact, float(self)))

    def __repr__(self) -> str:
        return "ShortFloat(<hidden>)"  # it may be a phone number


class Unreadable:
    """The replacement for a value that Python cannot represent, such as a time in the year 10,000."""

    __slots__ = ()


class NoDigits(Exception):
    """Raised if a value cannot be written as digits. `reason` explains why, without quoting the value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def is_missing(value: Any) -> bool:
    """Returns whether a value is missing: None, NaN of any type, and NA and NaT of pandas."""
    if value is None or value is UNSET or isinstance(value, str | int):
        return value is None or value is UNSET
    if isinstance(value, Decimal):
        return value.is_nan()
    if hasattr(value, "__len__"):
        return False
    if type(value).__name__ in _MISSING_TYPES:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  # only NaN differs from itself
    except Exception:  # noqa: BLE001  # any error of a user's object, including that of `bool(NA)`
        return False


def is_number(value: object) -> bool:
    """Returns whether a value is a number of any type except bool."""
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def texts_of(value: Any) -> Iterator[tuple[str, str]]:
    """Yields each string in a value, which may be an array, with an empty reason. A whole number becomes its digits,
    and a missing value an empty string. For any other value, yields an empty string and the reason.
    """
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, str):
            yield each, ""
        elif isinstance(each, uuid.UUID):
            yield str(each), ""
        elif isinstance(each, bytes | bytearray | memoryview):
            text = _text_of_bytes(bytes(each))
            yield text or "", "" if text is not None else NOT_TEXT
        elif is_missing(each):
            yield "", ""
        else:
            try:
                yield digits_of(each), ""
            except NoDigits as problem:
                yield "", problem.reason


def _text_of_bytes(data: bytes) -> str | None:
    """Returns the text of UTF-8 bytes, the hexadecimal digits of a 32-byte digest, or the UUID in 16 random bytes.
    Returns None for other bytes.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if len(data) == _DIGEST_BYTES and not (text and text.isprintable()):
        return data.hex()
    if len(data) == _UUID_BYTES and not (text and text.isprintable()):
        found = uuid.UUID(bytes=data)
        return str(found) if found.version == _VERSION_OF_DEVICE_IDS else None  # else it may be an MD5 digest
    return text if text or not data else None


def digits_of(value: Any) -> str:
    """Returns the digits of a whole number. Raises NoDigits for any other value, or if digits may have been lost."""
    if not is_number(value):
        raise NoDigits(NESTED if isinstance(value, Mapping) else NOT_TEXT)
    try:
        return str(_whole(value))
    except ValueError:  # Python refuses to convert integers of more than 4,300 digits
        raise NoDigits(NOT_TEXT) from None


def _whole(value: Any) -> int:
    if isinstance(value, Rational):
        if value.denominator != 1:
            raise NoDigits(NOT_TEXT)
        return int(value.numerator)
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if not math.isfinite(value):
        raise NoDigits(INFINITE)
    whole = int(value)
    if whole != value:
        raise NoDigits(NOT_TEXT)
    if abs(whole) > _LIMITS_BY_BYTES.get(getattr(value, "itemsize", 8), EXACT_LIMIT):
        raise NoDigits(INEXACT)
    return whole


def _of_decimal(value: Decimal) -> int:
    """Returns a decimal number as an integer. Raises NoDigits if digits may have been lost, as in 1E+20."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise NoDigits(INFINITE)
    if exponent > 0 and value.copy_abs() > EXACT_LIMIT:
        raise NoDigits(INEXACT)
    if -exponent > _MAX_DECIMALS or value != value.to_integral_value():
        raise NoDigits(NOT_TEXT)
    return int(value)
