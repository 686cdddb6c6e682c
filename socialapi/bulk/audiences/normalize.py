"""Normalises and hashes identifiers (advertising documentation, section 4.9).

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
from typing import TYPE_CHECKING, Any, Final

from socialapi._speedups import IS_ENABLED
from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.cleanup import (
    ASCII_EMAIL,
    BLANKS,
    EMAIL,
    INVISIBLE,
    SURROGATES,
    ZERO_WIDTH,
    bare_email,
    bare_phone_number,
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

if TYPE_CHECKING or IS_ENABLED:
    from socialapi._speedups._native import Digests, hash_column

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
    """The text without blanks at its ends, among them no-break and zero-width ones and the byte
    order mark.
    """
    text = text.strip()
    return text if text.isascii() else text.strip(_STRAY)


def email(text: str) -> Normalized:
    """Trimmed and in lower case: something, one @, and a domain of at least two labels; non-ASCII
    is fine.

    What exports leave around an address is removed, if one address is all that is left.
    """
    text = text.strip()
    address = text.lower()
    removed: tuple[str, ...] = ()
    if is_ascii_email(address) is None and not is_email(address):
        bare = bare_email(text)
        address, removed = bare.text.lower(), bare.removed
        if not is_email(address):
            if holds_several_emails(text):
                raise Unusable(SEVERAL_EMAILS)
            return _digest_or(trimmed(bare.text), IMPLAUSIBLE_EMAIL, removed)
    return _sha256(address.encode()).hexdigest(), _in_words(removed)


def device_id(text: str) -> Normalized:
    """Trimmed, and otherwise as it is: the case of a device identifier is its own."""
    text = trimmed(text)
    if not text or is_digest(text) or _find_invisible(text):
        return _digest_or(text, BLANK_INSIDE)
    return _sha256(text.encode()).hexdigest(), ""


def handle(text: str) -> Normalized:
    """Trimmed, without its leading @ and in lower case."""
    text = trimmed(text).lower()
    name = text.removeprefix("@")
    if not name or "@" in name or "/" in name or is_digest(name) or _find_invisible(name):
        return _digest_or(name if name or not text else text, NOT_A_HANDLE)
    return _sha256(name.encode()).hexdigest(), ""


def service_id(text: str) -> Normalized:
    """Trimmed: decimal digits, kept as they are written but for the `.0` that a spreadsheet adds."""
    text = trimmed(text)
    if (number := _float(text)) is not None and text.isascii():
        if len(number[1]) > _MAX_DIGITS_KEPT:
            raise Unusable(LONG_FLOAT)
        text = number[1]
    if not (text.isascii() and text.isdigit()) or is_digest(text):
        return _digest_or(text, phone_numbers.SCIENTIFIC if _scientific(text) else NOT_DECIMAL)
    return _sha256(text.encode()).hexdigest(), ""


def phone_number(text: str, region: str | None = None) -> Normalized:
    """E.164; `region` (see `phone_numbers.check_region`) says what a number without a country code
    means.

    What exports leave around a number is removed, if one number is all that is left.
    """
    text = text.strip()
    if is_plain_phone_number(text) and (number := phone_numbers.e164(text, region)) is not None:
        return _sha256(number.encode()).hexdigest(), ""
    bare = bare_phone_number(text)
    text = trimmed(bare.text)
    if not text or is_digest(text) or (not text.isascii() and _find_surrogate(text)):
        return _digest_or(text, phone_numbers.NOT_POSSIBLE, bare.removed)
    number = None if has_marks(text) else phone_numbers.e164(text, region)
    if number is None:
        raise Unusable(phone_numbers.why_not(text, region))
    if (doubt := phone_numbers.doubt(text, region)) is not None:
        raise Unusable(doubt)
    return _sha256(number.encode()).hexdigest(), _in_words(bare.removed)


def partner_user_id(text: str) -> Normalized:
    """Trimmed, and never hashed nor changed otherwise, whatever it looks like."""
    text = trimmed(text)
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    return text, LOOKS_LIKE_FLOAT if looks_like_float(text) else ""


def _digest_or(text: str, reason: str, removed: tuple[str, ...] = ()) -> Normalized:
    """What becomes of a text that is not hashed here: nothing, a digest already, or unusable for
    the best reason.
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
    """A normaliser for every kind there is; those of a kind that is not among `kinds` find every
    value unusable.

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


ColumnNormalizer = Callable[[Sequence[str]], list[str | None]]

_are_ascii_emails: Final = re.compile(rf"(?:(?:{ASCII_EMAIL})?+\n)*+").fullmatch
_are_digests: Final = re.compile(r"(?:(?:[0-9a-fA-F]{64})?+\n)*+").fullmatch


def column_normalizers(
    kinds: Iterable[IdentifierKind], default_region: str | None
) -> Mapping[IdentifierKind, ColumnNormalizer]:
    """A column normaliser for each kind. Raises InvalidInput for an unknown `default_region`."""
    taken = frozenset(kinds)
    fast: Mapping[IdentifierKind, Callable[[str], str | None]] = {"email": _emails, "phone_number": _phone_numbers}
    return {
        kind: functools.partial(
            _column,
            normalize,
            fast.get(kind, _nothing) if kind in taken else _nothing,
            kind in taken and kind != "partner_user_id",
        )
        for kind, normalize in normalizers(taken, default_region).items()
    }


def hashed_plain(kind: IdentifierKind, cells: Sequence[Any]) -> "Digests":
    """The digests of the plain cells of a kind that is hashed; None for each that takes a look of
    its own.

    As `column_normalizers`, in C, for cells of any type.
    """
    cells = cells if isinstance(cells, list | tuple) else list(cells)
    values = hash_column(cells, kind)
    if kind == "phone_number" and None in values:
        others = (cells[index] for index in values.odd())
        if phone_numbers.learn(each for each in others if isinstance(each, str)):
            return hash_column(cells, kind)
    return values


def _emails(lines: str) -> str | None:
    """What is hashed of the lines, if all of them are e-mail addresses without anything around
    them.
    """
    lines = lines.lower()
    are_emails = _are_ascii_emails if lines.isascii() and '"' not in lines else _other_emails().fullmatch
    return lines if are_emails(lines) else None


@functools.cache
def _other_emails() -> re.Pattern[str]:
    return re.compile(rf"(?:(?:{EMAIL})?+\n)*+")


def _phone_numbers(lines: str) -> str | None:
    return lines if phone_numbers.are_e164(lines) else None


def _nothing(lines: str) -> None:
    return None


def _column(
    normalize: Normalizer, together: Callable[[str], str | None], hashed: bool, cells: Sequence[str]
) -> list[str | None]:
    lines = "\n".join(cells) + "\n"
    if lines.count("\n") == len(cells):  # else a cell has a line end in it
        if hashed and cells and is_digest(cells[0]) and _are_digests(lines):
            return list(lines.lower()[:-1].split("\n"))
        if (found := together(lines)) is not None:
            texts = found[:-1].encode().split(b"\n")
            if found[0] == "\n" or "\n\n" in found:
                return [_sha256(each).hexdigest() if each else "" for each in texts]
            return [_sha256(each).hexdigest() for each in texts]
    return [_usable(normalize, cell) for cell in cells]


def _usable(normalize: Normalizer, cell: str) -> str | None:
    if not cell:
        return ""
    try:
        value, removed = normalize(cell)
    except Unusable:
        return None
    return None if removed else value or None  # a cell of blanks is no identifier, which takes another look
