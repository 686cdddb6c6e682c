"""Normalises and hashes identifiers.

A normaliser takes the raw text and returns the text to send and a remark. The text is the SHA-256
of the normalised value in lower-case hexadecimal digits (UTF-8, no salt), or for `partner_user_id`
the value itself; it is empty for a blank value, which is no error. The remark says what was removed
around an e-mail address or phone number, or that an id may have been altered; it is empty if there
is none. A text that cannot be an identifier of its kind raises `Unusable`, whose reason never
quotes it.

64 hexadecimal digits are taken for a digest and are passed through in lower case.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from socialapi._speedups import Digests, hash_column
from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.cleanup import (
    BLANKS,
    INVISIBLE,
    SURROGATES,
    ZERO_WIDTH,
    cleaned_email,
    cleaned_phone_number,
    has_marks,
    holds_several_emails,
    is_ascii_email,
    is_digest,
    is_email,
    is_plain_phone_number,
)
from socialapi.bulk.inputs.numbers import looks_like_float
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import LOOKS_LIKE_FLOAT, MENDED

NORMALIZER_VERSION: Final = 2
"""Raised whenever the text that is sent for some value is another one than before: journals and
snapshots have it.
"""

Normalized = tuple[str, str]
"""The text to send, and a remark about what was made of the value."""
Normalizer = Callable[[str], Normalized]

NOT_UTF8: Final = "is not valid UTF-8"
BLANK_INSIDE: Final = "contains a blank or an invisible character"
IMPLAUSIBLE_EMAIL: Final = "is not a plausible e-mail address"
SEVERAL_EMAILS: Final = "holds more than one e-mail address"
NOT_A_HANDLE: Final = "is not a handle: it contains @ or /"
NOT_DECIMAL: Final = "is not a decimal number"
LONG_FLOAT: Final = (
    "ends in .0 as numbers from a spreadsheet do, and has more digits than these keep: export the column as text"
)
NOT_TAKEN: Final = "is of a kind that is not taken here"


class Unusable(Exception):
    """The text is not an identifier of its kind. `reason` says why, without quoting it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _members(ranges: str) -> str:
    spans = re.findall(r"(.)(?:-(.))?", ranges, re.DOTALL)
    return "".join(chr(code) for first, last in spans for code in range(ord(first), ord(last or first) + 1))


_STRAY: Final = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85" + _members(BLANKS) + _members(ZERO_WIDTH)

_find_invisible: Final = re.compile(f"[{INVISIBLE}{SURROGATES}]").search
_find_surrogate: Final = re.compile(f"[{SURROGATES}]").search
# A spreadsheet keeps fifteen digits of a number.
_float: Final = re.compile("([0-9]+)[.]0+").fullmatch
_MAX_DIGITS_KEPT: Final = 15
_scientific: Final = re.compile("[+-]?[0-9]+(?:[.,][0-9]*)?[eE][+-]?[0-9]+").fullmatch

_sha256: Final = hashlib.sha256


def trimmed(text: str) -> str:
    """Returns the text without blanks at its ends, among them no-break and zero-width ones and the
    byte order mark.
    """
    text = text.strip()
    return text if text.isascii() else text.strip(_STRAY)


def email(text: str) -> Normalized:
    """Normalises an e-mail address: trimmed and in lower case. It needs one @ and a domain of at least
    two labels; non-ASCII is fine.

    Removes what exports leave around an address if one address is all that is left.
    """
    text = text.strip()
    address = text.lower()
    removed: tuple[str, ...] = ()
    if is_ascii_email(address) is None and not is_email(address):
        cleaned = cleaned_email(text)
        address, removed = cleaned.text.lower(), cleaned.removed
        if not is_email(address):
            if holds_several_emails(text):
                raise Unusable(SEVERAL_EMAILS)
            return _digest_or(trimmed(cleaned.text), IMPLAUSIBLE_EMAIL, removed)
    return _sha256(address.encode()).hexdigest(), _in_words(removed)


def device_id(text: str) -> Normalized:
    """Normalises a device identifier: trimmed. Its case is part of it."""
    text = trimmed(text)
    if not text or is_digest(text) or _find_invisible(text):
        return _digest_or(text, BLANK_INSIDE)
    return _sha256(text.encode()).hexdigest(), ""


def handle(text: str) -> Normalized:
    """Normalises a handle: trimmed, without its leading @ and in lower case."""
    text = trimmed(text).lower()
    name = text.removeprefix("@")
    if not name or "@" in name or "/" in name or is_digest(name) or _find_invisible(name):
        return _digest_or(name if name or not text else text, NOT_A_HANDLE)
    return _sha256(name.encode()).hexdigest(), ""


def service_id(text: str) -> Normalized:
    """Normalises an id of the service: trimmed decimal digits, without the `.0` that a spreadsheet adds."""
    text = trimmed(text)
    if (number := _float(text)) is not None and text.isascii():
        if len(number[1]) > _MAX_DIGITS_KEPT:
            raise Unusable(LONG_FLOAT)
        text = number[1]
    if not (text.isascii() and text.isdigit()) or is_digest(text):
        return _digest_or(text, phone_numbers.SCIENTIFIC if _scientific(text) else NOT_DECIMAL)
    return _sha256(text.encode()).hexdigest(), ""


def phone_number(text: str, region: str | None = None) -> Normalized:
    """Normalises a phone number to E.164; `region` (see `phone_numbers.check_region`) is that of a
    number without a country code.

    Removes what exports leave around a number if one number is all that is left.
    """
    text = text.strip()
    if is_plain_phone_number(text) and (number := phone_numbers.e164(text, region)) is not None:
        return _sha256(number.encode()).hexdigest(), ""
    cleaned = cleaned_phone_number(text)
    text = trimmed(cleaned.text)
    if not text or is_digest(text) or (not text.isascii() and _find_surrogate(text)):
        return _digest_or(text, phone_numbers.NOT_POSSIBLE, cleaned.removed)
    number = None if has_marks(text) else phone_numbers.e164(text, region)
    if number is None:
        raise Unusable(phone_numbers.why_not(text, region))
    if (doubt := phone_numbers.doubt(text, region)) is not None:
        raise Unusable(doubt)
    return _sha256(number.encode()).hexdigest(), _in_words(cleaned.removed)


def partner_user_id(text: str) -> Normalized:
    """Trims an id of the partner, which is never hashed nor changed otherwise, whatever it looks like."""
    text = trimmed(text)
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    return text, LOOKS_LIKE_FLOAT if looks_like_float(text) else ""


def _digest_or(text: str, reason: str, removed: tuple[str, ...] = ()) -> Normalized:
    """Returns nothing for an empty text, and a digest as it is. Raises Unusable for any other text,
    with the best reason.
    """
    if not text:
        return "", ""
    if is_digest(text):
        return text.lower(), _in_words(removed)
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    raise Unusable(BLANK_INSIDE if _find_invisible(text) else reason)


def _in_words(removed: tuple[str, ...]) -> str:
    return f"{MENDED}: {', '.join(removed)} removed" if removed else ""


def _not_taken(text: str) -> Normalized:
    if trimmed(text):
        raise Unusable(NOT_TAKEN)
    return "", ""


def normalizers(
    kinds: Iterable[IdentifierKind], default_region: str | None = None
) -> Mapping[IdentifierKind, Normalizer]:
    """Returns a normaliser for every kind. Those of kinds that are not among `kinds` find every value
    unusable.

    Raises InvalidInput for an unknown `default_region`.
    """
    taken = frozenset(kinds)
    region = None if default_region is None else phone_numbers.check_region(default_region)
    every: dict[IdentifierKind, Normalizer] = {
        "email": email,
        "device_id": device_id,
        "handle": handle,
        "service_id": service_id,
        "phone_number": functools.partial(phone_number, region=region),
        "partner_user_id": partner_user_id,
    }
    return {kind: every[kind] if kind in taken else _not_taken for kind in IDENTIFIER_KINDS}


_MANY: Final = 8
"""Phone numbers that are worth being read together."""


def hashed_column(kind: IdentifierKind, cells: Sequence[Any], region: str | None = None) -> Digests:
    """Returns the digests of the plain cells of a kind that is hashed; None for each other cell. Phone
    numbers are plain, too, that are written with punctuation or as they are dialled in the region.
    """
    cells = cells if isinstance(cells, list | tuple) else list(cells)
    values = hash_column(cells, kind)
    if kind != "phone_number" or not (undecided := values.undecided()):
        return values
    others = [cells[index] for index in undecided]
    if len(others) >= _MANY and any(numbers := phone_numbers.in_e164(others, region)):
        cells = list(cells)
        for index, number in zip(undecided, numbers, strict=True):
            cells[index] = number or cells[index]
        others = [cells[index] for index in undecided]
        values = hash_column(cells, kind)
    if phone_numbers.load_plans(each for each in others if isinstance(each, str)):
        return hash_column(cells, kind)
    return values


def plain_value(normalize: Normalizer, text: str) -> str | None:
    """Returns the value of a text, "" for blanks. Returns None if there is a remark about the text, or it
    cannot be used.
    """
    if not text:
        return ""
    try:
        value, remark = normalize(text)
    except Unusable:
        return None
    return None if remark else value
