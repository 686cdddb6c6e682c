"""Normalises and hashes identifiers.

A normaliser takes the raw text and returns the text to send and a remark. The text is the SHA-256
of the normalised value in lower-case hexadecimal digits (UTF-8, no salt), or for `partner_user_id`
the value itself; it is empty for a blank value, which is no error. The remark says what was removed
around an e-mail address or phone number, or that an id may have been altered; it is empty if there
is none. A text that cannot be an identifier of its kind raises `Unusable`, whose reason never
quotes it.

A SHA-256 digest is passed through in lower-case hexadecimal digits, however it is written (see
`digest_in`). A word for no value (see `null_words`) is unusable.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from socialapi._speedups import Digests, add_null_word, hash_column
from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.cleanup import (
    DIGEST_DIGITS,
    INVISIBLE,
    SURROGATES,
    cleaned_email,
    cleaned_phone_number,
    digest_in,
    has_marks,
    holds_several_emails,
    is_ascii_email,
    is_email,
    is_plain_phone_number,
    why_no_digest,
)
from socialapi.bulk.audiences.countries import region_of
from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.inputs.columns import is_value
from socialapi.bulk.inputs.leftovers import BLANKS, ZERO_WIDTH, in_words, unwrapped
from socialapi.bulk.inputs.null_words import NAMES, NULL_DIGESTS, PHONE_DIGESTS, is_null_word
from socialapi.bulk.inputs.numbers import looks_like_float
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from socialapi.models.validation import invalid
from socialapi.reports import LOOKS_LIKE_FLOAT, MOJIBAKE, NULL_DIGEST, NULL_WORD

NORMALIZER_VERSION: Final = 4
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
NOT_A_HANDLE: Final = "is not a handle (at most 15 of A to Z and 0 to 9 and _)"
NOT_A_DEVICE_ID: Final = "is not the id of a device (a UUID, or 32 or 16 hexadecimal digits)"
NOT_DECIMAL: Final = "is not a decimal number"
LONG_FLOAT: Final = (
    "ends in .0 as numbers from a spreadsheet do, and has more digits than these keep: export the column as text"
)
NOT_TAKEN: Final = "is of a kind that is not taken here"
NOT_HASHED: Final = "is not a SHA-256 digest, and require_hashed (--require-hashed) takes nothing else"


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

_is_device_id: Final = re.compile(
    "[0-9a-fA-F]{8}(?:(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{8}|[0-9a-fA-F]{24})"
).fullmatch
_is_handle: Final = re.compile("[A-Za-z0-9_]{1,15}").fullmatch
_profile: Final = re.compile(
    r"(?:https?://)?(?:(?:www|m|mobile)\.)?(?:twitter|x)\.com/(?:#!/)?@?([A-Za-z0-9_]{1,15})/?(?:[?#].*)?",
    re.IGNORECASE,
).fullmatch
_NO_PROFILES: Final = frozenset(
    (
        *("home", "i", "intent", "search", "explore", "share", "hashtag", "login", "settings", "messages"),
        *("notifications", "privacy", "tos", "compose", "signup", "logout", "oauth", "bookmarks", "lists", "topics"),
        *("moments", "trends", "communities", "jobs", "about", "help", "download", "account", "rules"),
    )
)
"""Pages of the service whose addresses look like those of profiles."""
_full_width: Final = re.compile("[\uff01\uff03-\uff06\uff08-\uff5e]")
"""Letters, digits and signs of ASCII in the width of Chinese characters, but quotation marks."""
UNKNOWN: Final = ""
"""The region of rows whose country is not known."""
_REGIONS_KEPT: Final = 256
_LONGEST_WORD: Final = 15
"""Longer words have blanks, which no identifier has that a column hashes itself."""

_sha256: Final = hashlib.sha256

_WORDS: Final = (*NAMES, *("0" * length for length in range(1, _LONGEST_WORD + 1)))
NOT_PLAIN: Final = (
    *NULL_DIGESTS,
    *PHONE_DIGESTS,
    *(word for word in _WORDS if word.isascii() and len(word) <= _LONGEST_WORD),
)
"""Words and digests that a column leaves to the normalisers."""
for _word in NOT_PLAIN:
    add_null_word(_word)


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
    removed, remark = tuple[str, ...](), ""
    if not text.isascii():
        plain = _full_width.sub(lambda found: chr(ord(found[0]) - 0xFEE0), text)
        removed, text = () if plain == text else ("the width of Chinese characters",), plain
        remark = MOJIBAKE if _is_mojibake(text) or _is_mojibake(text.upper()) else ""
    address = text.lower()
    if is_ascii_email(address) is None and not is_email(address):
        cleaned = cleaned_email(text)
        address, removed = cleaned.text.lower(), (*removed, *cleaned.removed)
        if not is_email(address):
            if holds_several_emails(text):
                raise Unusable(SEVERAL_EMAILS)
            return _digest_or(trimmed(cleaned.text), IMPLAUSIBLE_EMAIL, removed)
    if is_null_word(address):
        raise Unusable(NULL_WORD)
    return _sha256(address.encode()).hexdigest(), remark or in_words(removed)


def _is_mojibake(text: str) -> bool:
    """Returns whether a text that is not ASCII was UTF-8 before it was read in another encoding."""
    try:
        return text.encode("cp1252").decode() != text
    except UnicodeError:
        return False


def device_id(text: str) -> Normalized:
    """Normalises the id of a device, which is a UUID or 32 or 16 hexadecimal digits: trimmed and in lower
    case.
    """
    cleaned = unwrapped(trimmed(text))
    text = cleaned.text.strip("{}")
    is_one_digit = len({*text.lower()} - {"-"}) == 1
    if not _is_device_id(text) or is_one_digit:
        return _digest_or(text, NULL_WORD if _is_device_id(text) else NOT_A_DEVICE_ID, cleaned.removed)
    return _sha256(text.lower().encode()).hexdigest(), in_words(cleaned.removed)


def handle(text: str) -> Normalized:
    """Normalises a handle: trimmed, without the address of a profile or the @ before it, and in lower
    case.
    """
    cleaned = unwrapped(trimmed(text))
    text = cleaned.text
    if (profile := _profile(text)) is not None and profile[1].lower() not in _NO_PROFILES:
        text = profile[1]
    name = text.removeprefix("@").removeprefix("\uff20")
    is_zero = name != "" and not name.strip("0")
    if is_zero or not _is_handle(name) or is_null_word(name):
        return _digest_or(name or text, NULL_WORD if is_zero else NOT_A_HANDLE, cleaned.removed)
    return _sha256(name.lower().encode()).hexdigest(), in_words(cleaned.removed)


def service_id(text: str) -> Normalized:
    """Normalises an id of the service: trimmed decimal digits, without the `.0` that a spreadsheet adds."""
    cleaned = unwrapped(trimmed(text))
    text = cleaned.text
    if (number := _float(text)) is not None and text.isascii():
        if len(number[1]) > _MAX_DIGITS_KEPT:
            raise Unusable(LONG_FLOAT)
        text = number[1]
    if not (text.isascii() and text.isdigit()) or digest_in(text) or not text.strip("0"):
        reason = (
            NULL_WORD
            if text and not text.strip("0")
            else phone_numbers.SCIENTIFIC
            if _scientific(text)
            else NOT_DECIMAL
        )
        return _digest_or(text, reason, cleaned.removed)
    return _sha256(text.encode()).hexdigest(), in_words(cleaned.removed)


def phone_number(
    text: str, region: str | None = None, phone_format: PhoneFormat = "auto", *, is_region_sure: bool = True
) -> Normalized:
    """Normalises a phone number to E.164. `region` (see `phone_numbers.check_region`) is that of a
    number without a country code, which has to be valid there unless `is_region_sure`; `phone_format`
    says which numbers have none.

    Removes what exports leave around a number if one number is all that is left.
    """
    text = text.strip()
    removed: tuple[str, ...] = ()
    is_plain = is_plain_phone_number(text) and len(text) != DIGEST_DIGITS
    if not is_plain:
        cleaned = cleaned_phone_number(text)
        text, removed = trimmed(cleaned.text), cleaned.removed
        is_text = text.isascii() or not _find_surrogate(text)
        if not text or digest_in(text) or is_null_word(text) or why_no_digest(text) or not is_text:
            return _digest_or(text, phone_numbers.NOT_POSSIBLE, removed)
        if has_marks(text):
            raise Unusable(phone_numbers.why_not(text, region))
    if (not is_plain or "/" in text) and phone_numbers.holds_several(text, region):
        raise Unusable(phone_numbers.SEVERAL)
    number, remark = phone_numbers.number_in(text, region, phone_format, is_region_sure=is_region_sure)
    if phone_numbers.has_one_digit(text, number):
        raise Unusable(NULL_WORD)
    if number is None:
        raise Unusable(remark)
    if not is_plain and (doubt := phone_numbers.doubt(text, region)) is not None:
        raise Unusable(doubt)
    return _sha256(number.encode()).hexdigest(), in_words(removed) or remark


def partner_user_id(text: str) -> Normalized:
    """Trims an id of the partner, which is never hashed nor changed otherwise, whatever it looks like."""
    if is_null_word(trimmed(text)):
        raise Unusable(NULL_WORD)
    return partner_user_id_of_model(text)


def partner_user_id_of_model(text: str) -> Normalized:
    """As `partner_user_id`, for one that a program has put into a model: no word stands for no value
    there.
    """
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
    if digest := digest_in(text):
        if digest in NULL_DIGESTS or (digest in PHONE_DIGESTS and reason not in (NOT_A_HANDLE, NOT_DECIMAL)):
            raise Unusable(NULL_DIGEST)
        return digest, in_words(removed)
    if is_null_word(text):
        raise Unusable(NULL_WORD)
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    raise Unusable(BLANK_INSIDE if _find_invisible(text) else why_no_digest(text) or reason)


def _not_taken(text: str) -> Normalized:
    if trimmed(text):
        raise Unusable(NOT_TAKEN)
    return "", ""


def _digest_only(text: str) -> Normalized:
    """Returns a digest as it is sent. Raises Unusable for any other text."""
    cleaned = unwrapped(trimmed(text))
    return _digest_or(cleaned.text, NOT_HASHED, cleaned.removed)


class Normalizers(dict[IdentifierKind, Normalizer]):
    """The normaliser of each kind, as they are for rows of no particular country."""

    def __init__(
        self, found: Mapping[IdentifierKind, Normalizer], in_region: Callable[[str], Normalizer] | None = None
    ) -> None:
        super().__init__(found)
        self._in_region = None if in_region is None else functools.lru_cache(_REGIONS_KEPT)(self._of(in_region))

    def _of(self, in_region: Callable[[str], Normalizer]) -> Callable[[str], Mapping[IdentifierKind, Normalizer]]:
        return lambda region: {**self, "phone_number": in_region(region)}

    def in_country(self, country: str) -> Mapping[IdentifierKind, Normalizer]:
        """Returns the normalisers of rows of a country, as its cell has it; these for an empty cell."""
        return self if not country or self._in_region is None else self._in_region(region_of(country) or UNKNOWN)


def normalizers(
    kinds: Iterable[IdentifierKind],
    default_region: str | None = None,
    phone_format: PhoneFormat = "auto",
    *,
    require_hashed: bool = False,
    of_models: bool = False,
) -> Normalizers:
    """Returns a normaliser for every kind. Those of kinds that are not among `kinds` find every value
    unusable; with `require_hashed`, those of hashed kinds every value that is no digest. `of_models`
    says whether the values come from models of a program.

    Raises InvalidInput for an unknown `default_region` or `phone_format`.
    """
    if phone_format not in phone_numbers.PHONE_FORMATS:
        raise invalid("phone_format", f"must be one of {', '.join(phone_numbers.PHONE_FORMATS)}")
    taken = frozenset(kinds)
    region = None if default_region is None else phone_numbers.check_region(default_region)

    def phone_number_in(of_row: str | None) -> Normalizer:
        is_known = of_row != UNKNOWN
        return functools.partial(
            phone_number, region=of_row if is_known else region, phone_format=phone_format, is_region_sure=is_known
        )

    every: dict[IdentifierKind, Normalizer] = {
        "email": email,
        "device_id": device_id,
        "handle": handle,
        "service_id": service_id,
        "phone_number": phone_number_in(region),
    }
    if require_hashed:
        every = dict.fromkeys(every, _digest_only)
    every["partner_user_id"] = partner_user_id_of_model if of_models else partner_user_id
    found = {kind: every[kind] if kind in taken else _not_taken for kind in IDENTIFIER_KINDS}
    return Normalizers(found, phone_number_in if "phone_number" in taken and not require_hashed else None)


_MANY: Final = 8
"""Phone numbers that are worth being read together."""


def hashed_column(
    kind: IdentifierKind,
    cells: Sequence[Any],
    region: str | None = None,
    countries: Sequence[str] = (),
    *,
    require_hashed: bool = False,
) -> Digests:
    """Returns the digests of the plain cells of a kind that is hashed; None for each other cell. Phone
    numbers are plain, too, that are written with punctuation or as they are dialled in the region, or in
    the country of their row, if there are any. With `require_hashed`, cells are plain only if they are digests.
    """
    cells = cells if isinstance(cells, list | tuple) else list(cells)
    if require_hashed:
        return hash_column(cells, "digest")
    values = hash_column(cells, kind)
    if kind != "phone_number" or not (undecided := values.undecided()):
        return values
    groups = {"": undecided}
    if countries:
        groups = {}
        for index in undecided:
            groups.setdefault(countries[index], []).append(index)
    cells, is_changed = list(cells), False
    for country, indexes in groups.items():
        home = region_of(country) if country else region
        if len(indexes) < _MANY or (country and home is None):  # an unknown country is a warning of its row
            continue
        for index, number in zip(indexes, phone_numbers.in_e164([cells[at] for at in indexes], home), strict=True):
            if number:
                cells[index], is_changed = number, True
    others = [cell for cell in (cells[index] for index in undecided) if isinstance(cell, str)]
    values = hash_column(cells, kind) if is_changed else values
    return hash_column(cells, kind) if phone_numbers.load_plans(others) else values


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


_SHORTEST_TOLD: Final = 6
"""Characters of an identifier that is told from a word or a number in other text."""
_OF_NO_REGION: Final = normalizers(IDENTIFIER_KINDS)


def is_identifier(kind: IdentifierKind, text: str) -> bool | None:
    """Returns whether a text is usable as an identifier of a kind; None if any other word would be, too."""
    try:
        value, _ = _OF_NO_REGION[kind](text)
    except Unusable as unusable:
        return unusable.reason == phone_numbers.NO_REGION and len(text) > _SHORTEST_TOLD and is_value(text)
    if not value:
        return False
    is_told = (
        kind in ("email", "phone_number") or (kind == "handle" and "/" in text) or is_value(text) or digest_in(text)
    )
    if is_told and len(text) >= _SHORTEST_TOLD:
        return True
    return False if any(map(str.isspace, text)) else None
