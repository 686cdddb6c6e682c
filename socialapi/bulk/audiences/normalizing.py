"""From an identifier as somebody wrote it to the text that is sent (advertising documentation, section 4.9).

A normaliser takes the raw text and returns the text to send: the SHA-256 of the normalised value in lower-case
hexadecimal digits (UTF-8, no salt), or for `partner_user_id` the value itself. A text of nothing but blanks gives
`""`: there is no such identifier, which is no error. A text that cannot be an identifier of its kind raises
`Unusable`, whose reason never quotes it.

64 hexadecimal digits are a digest that somebody made before; they pass through in lower case.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from socialapi.bulk.audiences import phone_numbers
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

Normalizer = Callable[[str], str]

NOT_UTF8: Final = "is not valid UTF-8"
BLANK_INSIDE: Final = "contains a blank or an invisible character"
IMPLAUSIBLE_EMAIL: Final = "is not a plausible e-mail address"
NOT_A_HANDLE: Final = "is not a handle: it contains @ or /"
NOT_DECIMAL: Final = "is not a decimal number"
NOT_TAKEN: Final = "is of a kind that is not taken here"


class Unusable(Exception):
    """The text is not an identifier of its kind; `reason` says why, without quoting it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# Characters that show nothing, as ranges for a character class: blanks and format characters, which exports leave at
# the ends of values, and control characters, which have no business anywhere.
_FORMAT: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\u3164\ufeff\uffa0\ufff9-\ufffb"
)
_INVISIBLE: Final = "\x00-\x20\x7f-\xa0" + _FORMAT
_SURROGATES: Final = "\ud800-\udfff"


def _members(ranges: str) -> str:
    spans = re.findall(r"(.)(?:-(.))?", ranges, re.DOTALL)
    return "".join(chr(code) for first, last in spans for code in range(ord(first), ord(last or first) + 1))


_STRAY: Final = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0" + _members(_FORMAT)

_find_invisible: Final = re.compile(f"[{_INVISIBLE}{_SURROGATES}]").search
_find_surrogate: Final = re.compile(f"[{_SURROGATES}]").search
is_digest: Final = re.compile("[0-9a-fA-F]{64}").fullmatch
# Possessive: no text, however long or odd, is looked at more than once.
_LOCAL: Final = rf"[^@,<>{_INVISIBLE}{_SURROGATES}]++"
_LABEL: Final = rf"[^@,<>.{_INVISIBLE}{_SURROGATES}]++"
EMAIL: Final = rf"{_LOCAL}@(?:{_LABEL}\.)++{_LABEL}"
"""Matches a plausible e-mail address."""
_is_email: Final = re.compile(EMAIL).fullmatch

_sha256: Final = hashlib.sha256


def trimmed(text: str) -> str:
    """The text without blanks at its ends, among them no-break and zero-width ones and the byte order mark."""
    text = text.strip()
    return text if text.isascii() else text.strip(_STRAY)


def email(text: str) -> str:
    """Trimmed and in lower case: something, one @, and a domain of at least two labels; non-ASCII is fine."""
    text = trimmed(text).lower()
    if _is_email(text) is None:
        return _digest_or(text, IMPLAUSIBLE_EMAIL)
    return _sha256(text.encode()).hexdigest()


def device_id(text: str) -> str:
    """Trimmed, and otherwise as it is: the case of a device identifier is its own."""
    text = trimmed(text)
    if not text or is_digest(text) or _find_invisible(text):
        return _digest_or(text, BLANK_INSIDE)
    return _sha256(text.encode()).hexdigest()


def handle(text: str) -> str:
    """Trimmed, without its leading @ and in lower case."""
    text = trimmed(text).lower()
    name = text.removeprefix("@")
    if not name or "@" in name or "/" in name or is_digest(name) or _find_invisible(name):
        return _digest_or(name if name or not text else text, NOT_A_HANDLE)
    return _sha256(name.encode()).hexdigest()


def service_id(text: str) -> str:
    """Trimmed: decimal digits, kept as they are written."""
    text = trimmed(text)
    if not (text.isascii() and text.isdigit()) or is_digest(text):
        return _digest_or(text, NOT_DECIMAL)
    return _sha256(text.encode()).hexdigest()


def phone_number(text: str, region: str | None = None) -> str:
    """E.164; `region` (see `phone_numbers.check_region`) says what a number without a country code means."""
    text = trimmed(text)
    if not text or is_digest(text) or (not text.isascii() and _find_surrogate(text)):
        return _digest_or(text, phone_numbers.NOT_POSSIBLE)
    number = phone_numbers.e164(text, region)
    if number is None:
        raise Unusable(phone_numbers.why_not(text, region))
    return _sha256(number.encode()).hexdigest()


def partner_user_id(text: str) -> str:
    """Trimmed, and never hashed nor changed otherwise, whatever it looks like."""
    text = trimmed(text)
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    return text


def _digest_or(text: str, reason: str) -> str:
    """What becomes of a text that is not hashed here: nothing, a digest already, or unusable for the best reason."""
    if not text:
        return ""
    if is_digest(text):
        return text.lower()
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    raise Unusable(BLANK_INSIDE if _find_invisible(text) else reason)


def _not_taken(text: str) -> str:
    if trimmed(text):
        raise Unusable(NOT_TAKEN)
    return ""


def normalizers(
    kinds: Iterable[IdentifierKind], default_region: str | None = None
) -> Mapping[IdentifierKind, Normalizer]:
    """A normaliser for every kind there is; those of a kind that is not among `kinds` find every value unusable.

    Raises InvalidInput for an unknown `default_region`.
    """
    taken = frozenset(kinds)
    every: dict[IdentifierKind, Normalizer] = {
        "email": email,
        "device_id": device_id,
        "handle": handle,
        "service_id": service_id,
        "phone_number": functools.partial(phone_number, region=phone_numbers.check_region(default_region)),
        "partner_user_id": partner_user_id,
    }
    return {kind: every[kind] if kind in taken else _not_taken for kind in IDENTIFIER_KINDS}
