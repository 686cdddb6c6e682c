"""Normalizes and hashes identifiers.

A normalizer takes the raw value and returns the string to send and a remark. The string to send is the SHA-256 of the
normalized value in lower-case hexadecimal digits (UTF-8, no salt), or the value itself for `partner_user_id`. It is
empty for a blank value, which is not an error. The remark, which is usually empty, reports the characters removed
around an e-mail address or phone number, or that a spreadsheet may have altered an id. A normalizer raises `Unusable`,
with a reason that never quotes the value, if the value cannot be an identifier of its kind.

A SHA-256 digest in any notation (see `digest_in`) is returned in lower-case hexadecimal digits. A placeholder for a
missing value (see `null_words`) is unusable.
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
from socialapi.bulk.audiences.countries import Country, UnclearCountry, is_plain_calling_code, region_of
from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.audiences.phone_starts import load_starts
from socialapi.bulk.inputs.columns import is_value
from socialapi.bulk.inputs.leftovers import BLANKS, ZERO_WIDTH, in_words, is_mojibake, unwrapped
from socialapi.bulk.inputs.null_words import NAMES, is_null_word, null_digests, phone_digests
from socialapi.bulk.inputs.numbers import looks_like_float
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from socialapi.models.validation import invalid
from socialapi.reports import LOOKS_LIKE_FLOAT, LOOKS_WRAPPED, MOJIBAKE, NULL_DIGEST, NULL_WORD

NORMALIZER_VERSION: Final = 4
"""A version that must increase whenever the string sent for any value changes. Journals and snapshots store it."""

Normalized = tuple[str, str]
"""The string to send, and a remark about how the value was changed."""
Normalizer = Callable[[str], Normalized]

NOT_UTF8: Final = "is not valid UTF-8"
BLANK_INSIDE: Final = "contains a blank or an invisible character"
IMPLAUSIBLE_EMAIL: Final = "is not a plausible e-mail address"
COMMENTED_OUT: Final = "begins with #, as if the row were commented out: delete the row, or remove the # to use it"
SEVERAL_EMAILS: Final = "has more than one e-mail address"
NOT_A_HANDLE: Final = "is not a handle (at most 15 letters A to Z, digits and _)"
A_FLAG: Final = "is a word for yes or no: write it with an @ if it is a handle"
NOT_A_DEVICE_ID: Final = "is not a device id (a UUID, or 32 or 16 hexadecimal digits)"
NOT_DECIMAL: Final = "is not a decimal number"
LONG_FLOAT: Final = (
    "ends in .0 like a number from a spreadsheet, and has more digits than spreadsheets keep: export the column as text"
)
MAX_IDENTIFIER_CHARACTERS: Final = 1_000
TOO_LONG: Final = f"has more than {MAX_IDENTIFIER_CHARACTERS:,} characters"
NOT_TAKEN: Final = "is a kind of identifier that is not accepted here"
NOT_HASHED: Final = "is not a SHA-256 digest, but its column name or require_hashed=True requires one"


class Unusable(Exception):
    """Raised for a value that is not an identifier of its kind. `reason` explains why, without quoting the value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _members(ranges: str) -> str:
    spans = re.findall(r"(.)(?:-(.))?", ranges, re.DOTALL)
    return "".join(chr(code) for first, last in spans for code in range(ord(first), ord(last or first) + 1))


_STRAY: Final = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85" + _members(BLANKS) + _members(ZERO_WIDTH)

_find_invisible: Final = re.compile(f"[{INVISIBLE}{SURROGATES}]").search
_find_surrogate: Final = re.compile(f"[{SURROGATES}]").search
# Numbers ending in .0: a spreadsheet keeps only fifteen digits of a number.
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
"""Pages of the service whose URLs look like profile URLs."""
_FLAGS: Final = frozenset(
    (
        *("yes", "no", "y", "n", "x", "on", "off", "ok", "ja", "nein", "j", "oui", "non", "si", "sim", "nao"),
        *("nee", "tak", "nie", "1", "t", "f", "wahr", "falsch", "vrai", "faux", "verdadero", "falso", "vero"),
        *("verdadeiro", "waar", "onwaar", "prawda"),
    )
)
"""Words that show, in a column for a service, whether a person uses that service; also as databases and spreadsheets
write them.
"""
_full_width: Final = re.compile("[\uff01\uff03-\uff06\uff08-\uff5e]")
"""Matches full-width forms of ASCII letters, digits and signs, except quotation marks."""
UNKNOWN: Final = ""
"""The region of rows with an unknown country."""
_REGIONS_KEPT: Final = 256
_LONGEST_WORD: Final = 15
"""The maximum length of a registered placeholder. Longer placeholders contain a space, and `hash_column` never hashes a
value that contains a space.
"""

_sha256: Final = hashlib.sha256

_WORDS: Final = (*NAMES, *("0" * length for length in range(1, _LONGEST_WORD + 1)))


@functools.cache
def add_null_words() -> Sequence[str]:
    """Registers placeholders and their digests, and returns them. `hash_column` leaves these values to the normalizers."""
    words = [word for word in (*_WORDS, *_FLAGS) if word.isascii() and len(word) <= _LONGEST_WORD]
    found = (*null_digests(), *phone_digests(), *words)
    for word in found:
        add_null_word(word)
    return found


def trimmed(text: str) -> str:
    """Removes whitespace at both ends, including no-break and zero-width spaces and the byte order mark."""
    text = text.strip()
    return text if text.isascii() else text.strip(_STRAY)


def email(text: str) -> Normalized:
    """Normalizes an e-mail address: trims it and converts it to lower case. The address needs one @ and a domain of
    at least two labels; non-ASCII characters are allowed.

    Removes the characters that exports leave around an address if exactly one address is left.
    """
    text = text.strip()
    removed, remark = tuple[str, ...](), ""
    if not text.isascii():
        plain = _full_width.sub(lambda found: chr(ord(found[0]) - 0xFEE0), text)
        removed, text = () if plain == text else ("full-width forms",), plain
        if "\u0130" in text or "i\u0307" in text:  # in lower case, a Turkish İ would keep its dot as a second character
            removed, text = (*removed, "dots of İ"), text.replace("\u0130", "i").replace("i\u0307", "i")
        remark = MOJIBAKE if is_mojibake(text) or is_mojibake(text.upper()) else ""
    address = text.lower()
    if is_ascii_email(address) is None and not is_email(address):
        cleaned = cleaned_email(text)
        address, removed = cleaned.text.lower(), (*removed, *cleaned.removed)
        if not is_email(address):
            if holds_several_emails(text):
                raise Unusable(SEVERAL_EMAILS)
            return _digest_or(trimmed(cleaned.text), IMPLAUSIBLE_EMAIL, removed)
    if is_null_word(address) or address[0] == "#":
        raise Unusable(COMMENTED_OUT if address[0] == "#" else NULL_WORD)
    return _sha256(address.encode()).hexdigest(), remark or in_words(removed)


def device_id(text: str) -> Normalized:
    """Normalizes a device id (a UUID, or 32 or 16 hexadecimal digits): trims it and converts it to lower case."""
    cleaned = unwrapped(trimmed(text))
    text = cleaned.text.strip("{}") or cleaned.text
    is_one_digit = len({*text.lower()} - {"-"}) == 1
    if not _is_device_id(text) or is_one_digit:
        return _digest_or(text, NULL_WORD if _is_device_id(text) else NOT_A_DEVICE_ID, cleaned.removed)
    return _sha256(text.lower().encode()).hexdigest(), in_words(cleaned.removed)


def handle(text: str) -> Normalized:
    """Normalizes a handle: trims it, removes a leading @ or profile URL, and converts it to lower case."""
    cleaned = unwrapped(trimmed(text))
    text = cleaned.text
    is_flag = text.lower() in _FLAGS
    if (profile := _profile(text)) is not None and profile[1].lower() not in _NO_PROFILES:
        text = profile[1]
    name = text.removeprefix("@").removeprefix("\uff20")
    is_zero = name != "" and not name.strip("0")
    if is_zero or is_flag or not _is_handle(name) or is_null_word(name):
        reason = NULL_WORD if is_zero else A_FLAG if is_flag else NOT_A_HANDLE
        return _digest_or(name or text, reason, cleaned.removed)
    return _sha256(name.lower().encode()).hexdigest(), in_words(cleaned.removed)


def service_id(text: str) -> Normalized:
    """Normalizes a user id of the service: trims the decimal digits, and removes the `.0` that spreadsheets add."""
    cleaned = unwrapped(trimmed(text))
    text = cleaned.text
    if (number := _float(text)) is not None and text.isascii():
        if len(number[1]) > _MAX_DIGITS_KEPT:
            raise Unusable(LONG_FLOAT)
        text = number[1]
    if not (text.isascii() and text.isdigit()) or digest_in(text) or not text.strip("0"):
        is_zero = text != "" and not text.strip("0")
        reason = NULL_WORD if is_zero else phone_numbers.SCIENTIFIC if _scientific(text) else NOT_DECIMAL
        return _digest_or(text, reason, cleaned.removed)
    return _sha256(text.encode()).hexdigest(), in_words(cleaned.removed)


def phone_number(
    text: str, region: str | None = None, phone_format: PhoneFormat = "auto", *, if_invalid: str = ""
) -> Normalized:
    """Normalizes a phone number to E.164. `region` (see `phone_numbers.check_region`) applies to numbers without a
    country code. If the region is uncertain, a number that is not valid there is unusable, and `if_invalid` is the
    reason. `phone_format` decides which numbers have no country code.

    Removes the characters and words that exports leave around a number if exactly one number is left.
    """
    text = text.strip()
    removed: tuple[str, ...] = ()
    is_plain = is_plain_phone_number(text) is not None and len(text) != DIGEST_DIGITS
    if not is_plain:
        cleaned = cleaned_phone_number(text)
        text, removed = trimmed(cleaned.text), cleaned.removed
        is_text = text.isascii() or not _find_surrogate(text)
        if not text or digest_in(text) or is_null_word(text) or why_no_digest(text) or not is_text:
            return _digest_or(text, phone_numbers.NOT_POSSIBLE, removed)
        if has_marks(text):
            raise Unusable(phone_numbers.why_not(text, region))
        # The library reads an x as 9, and skips other signs.
        if text[0] == "#" or phone_numbers.is_masked(phone_numbers.without_footnote_mark(text)):
            raise Unusable(COMMENTED_OUT if text[0] == "#" else phone_numbers.MASKED)
    if (not is_plain or "/" in text) and phone_numbers.holds_several(text, region):
        raise Unusable(phone_numbers.SEVERAL)
    number, remark = phone_numbers.number_in(text, region, phone_format, if_invalid=if_invalid)
    if phone_numbers.has_one_digit(text, number):
        raise Unusable(NULL_WORD)
    if number is None:
        raise Unusable(remark)
    if not is_plain and (ambiguity := phone_numbers.ambiguity(text, region)) is not None:
        raise Unusable(ambiguity)
    return _sha256(number.encode()).hexdigest(), in_words(removed) or remark


def _phone_number_of_unclear_country(
    country: UnclearCountry, default_region: str | None, phone_format: PhoneFormat, text: str
) -> Normalized:
    """Normalizes a phone number of an unclear country. The number must not depend on the country or the area code: it
    must contain them, or be valid in only one of the countries.
    """
    candidates: Sequence[str | None] = country.regions
    if country.area_code:
        digits, region = "".join(filter(str.isdecimal, text)), candidates[0] if candidates else default_region
        is_complete = region is not None and phone_numbers.needs_no_area_code(digits, region, country.area_code)
        candidates = [region if is_complete else None]
    found, why = dict[str, str](), phone_numbers.NO_REGION
    if_invalid = "" if country.area_code else phone_numbers.NOT_IN_REGION
    for region in candidates:
        try:
            found.update([phone_number(text, region, phone_format, if_invalid=if_invalid)])
        except Unusable as problem:
            why = problem.reason
    if len(found) == 1:
        return found.popitem()
    raise Unusable(country.reason if found or why in (phone_numbers.NO_REGION, phone_numbers.NOT_IN_REGION) else why)


def partner_user_id(text: str) -> Normalized:
    """Trims a partner user id. The id is never hashed or otherwise changed, even if it looks like a digest."""
    if is_null_word(trimmed(text)):
        raise Unusable(NULL_WORD)
    return partner_user_id_of_model(text)


_is_plain_partner_user_id: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9_-]{0,60}[0-9]|[1-9][0-9]{0,14}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{11}[1-9A-Fa-f]"
).fullmatch


def plain_partner_user_ids(cells: Sequence[Any]) -> list[str | None]:
    """Returns the ids that `partner_user_id` leaves unchanged, such as `C-1234`, 1234 or a UUID; None for other cells.
    This takes a twentieth of the time of the normalizer.
    """
    return [cell if cell.__class__ is str and _is_plain_partner_user_id(cell) else None for cell in cells]


def partner_user_id_of_model(text: str) -> Normalized:
    """Removes the whitespace around a partner user id that a model contains. Unlike in a file, a word such as "null" is
    a valid id.
    """
    text = trimmed(text)
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    is_float = len(text) <= MAX_IDENTIFIER_CHARACTERS and looks_like_float(text)
    return text, LOOKS_LIKE_FLOAT if is_float else LOOKS_WRAPPED if unwrapped(text).removed else ""


def _digest_or(text: str, reason: str, removed: tuple[str, ...] = ()) -> Normalized:
    """Returns the digest in a string, or an empty string if the string is empty. Raises Unusable, with the most
    specific reason, for any other string. Also raises it for an empty string if the value consisted only of the
    `removed` characters.
    """
    if not text:
        if removed:
            raise Unusable(NULL_WORD)
        return "", ""
    if digest := digest_in(text):
        if digest in null_digests() or (digest in phone_digests() and reason not in (NOT_A_HANDLE, NOT_DECIMAL)):
            raise Unusable(NULL_DIGEST)
        return digest, in_words(removed)
    if is_null_word(text):
        raise Unusable(NULL_WORD)
    if _find_surrogate(text):
        raise Unusable(NOT_UTF8)
    raise Unusable(BLANK_INSIDE if _find_invisible(text) else why_no_digest(text) or reason)


def _bounded(normalize: Normalizer, text: str) -> Normalized:
    """Normalizes a string unless it is too long. Searching a long string would block the event loop."""
    if len(text) > MAX_IDENTIFIER_CHARACTERS and len(text := trimmed(text)) > MAX_IDENTIFIER_CHARACTERS:
        raise Unusable(TOO_LONG)
    return normalize(text)


def _not_taken(text: str) -> Normalized:
    if trimmed(text):
        raise Unusable(NOT_TAKEN)
    return "", ""


def digest_only(text: str) -> Normalized:
    """Returns the digest in a string, or an empty string if the string is blank. Raises Unusable for any other string."""
    cleaned = unwrapped(trimmed(text))
    return _digest_or(cleaned.text, NOT_HASHED, cleaned.removed)


class Normalizers(dict[IdentifierKind, Normalizer]):
    """The normalizer of each kind, for rows without a country."""

    def __init__(
        self, found: Mapping[IdentifierKind, Normalizer], in_region: Callable[[Country, bool], Normalizer] | None = None
    ) -> None:
        super().__init__(found)
        self._in_region = None if in_region is None else functools.lru_cache(_REGIONS_KEPT)(in_region)

    def in_country(self, country: Country) -> Mapping[IdentifierKind, Normalizer]:
        """Returns the normalizers for rows with this country, or this object if the country is empty."""
        if not country or self._in_region is None:
            return self
        is_code = isinstance(country, str) and is_plain_calling_code(country)
        region = (region_of(country) or UNKNOWN) if isinstance(country, str) else country
        return {**self, "phone_number": self._in_region(region, is_code)}


def normalizers(
    kinds: Iterable[IdentifierKind],
    default_region: str | None = None,
    phone_format: PhoneFormat = "auto",
    *,
    require_hashed: bool = False,
    of_models: bool = False,
) -> Normalizers:
    """Returns a normalizer for every kind. The normalizer of a kind that is not in `kinds` rejects every value. With
    `require_hashed`, hashed kinds accept only digests. `of_models` is true if the values come from models.

    Raises InvalidInput for an unknown `default_region` or `phone_format`.
    """
    if phone_format not in phone_numbers.PHONE_FORMATS:
        raise invalid("phone_format", f"must be one of {', '.join(phone_numbers.PHONE_FORMATS)}")
    taken = frozenset(kinds)
    region = phone_numbers.check_region(default_region)

    def phone_number_in(of_row: Country, is_code: bool) -> Normalizer:
        if isinstance(of_row, UnclearCountry):
            found = functools.partial(_phone_number_of_unclear_country, of_row, region, phone_format)
        else:
            why = phone_numbers.NOT_IN_REGION if of_row == UNKNOWN else phone_numbers.NOT_WITH_CODE if is_code else ""
            found = functools.partial(phone_number, region=of_row or region, phone_format=phone_format, if_invalid=why)
        return functools.partial(_bounded, found)

    every: dict[IdentifierKind, Normalizer] = {
        "email": email,
        "device_id": device_id,
        "handle": handle,
        "service_id": service_id,
        "phone_number": functools.partial(phone_number, region=region, phone_format=phone_format),
    }
    if require_hashed:
        every = dict.fromkeys(every, digest_only)
    every = {kind: functools.partial(_bounded, normalize) for kind, normalize in every.items()}
    every["partner_user_id"] = partner_user_id_of_model if of_models else partner_user_id
    found = {kind: every[kind] if kind in taken else _not_taken for kind in IDENTIFIER_KINDS}
    return Normalizers(found, phone_number_in if "phone_number" in taken and not require_hashed else None)


def hashed_column(
    kind: IdentifierKind,
    cells: Sequence[Any],
    region: str | None = None,
    countries: Sequence[Country] = (),
    *,
    require_hashed: bool = False,
) -> Digests:
    """Returns the digest of each plain cell of a column, and None for all other cells. `kind` must be a hashed kind. A
    plain phone number may have punctuation. It may also be a national number in `region` or, with `countries`, in its
    row's country. With `require_hashed`, only digests are plain.
    """
    add_null_words()
    cells = cells if isinstance(cells, list | tuple) else list(cells)
    if require_hashed:
        return hash_column(cells, "digest")
    if kind != "phone_number":
        return hash_column(cells, kind)
    values = _hashed_numbers(cells, None if countries else region)
    groups: dict[str | None, list[int]] = {}
    for index in values.undecided() if countries else ():
        country = countries[index]
        if not isinstance(country, UnclearCountry):
            groups.setdefault(region_of(country) if country else region, []).append(index)
    for home, indexes in groups.items():  # the caller warns about an unknown country
        if home is not None:
            for index, value in zip(indexes, _hashed_numbers([cells[at] for at in indexes], home), strict=True):
                values[index] = value
    return values


def _hashed_numbers(cells: list[Any] | tuple[Any, ...], region: str | None) -> Digests:
    values = hash_column(cells, "phone_number", region or "")
    undecided = values.undecided()
    if undecided and load_starts([cells[index] for index in undecided], region):
        return hash_column(cells, "phone_number", region or "")
    return values


def plain_value(normalize: Normalizer, text: str) -> str | None:
    """Returns the normalized value, which is empty for a blank value; None if the value is unusable or has a remark."""
    if not text:
        return ""
    try:
        value, remark = normalize(text)
    except Unusable:
        return None
    return None if remark else value


_SHORTEST_DISTINCT: Final = 6
"""The minimum length at which an identifier can be distinguished from an ordinary word or number."""
_OF_NO_REGION: Final = normalizers(IDENTIFIER_KINDS)


def is_identifier(kind: IdentifierKind, text: str) -> bool | None:
    """Returns whether a string is an identifier of this kind; None if it may also be an ordinary word."""
    try:
        value, _ = _OF_NO_REGION[kind](text)
    except Unusable as unusable:
        is_number = unusable.reason == phone_numbers.NO_REGION and not any(map(str.isalpha, text))
        may_be_one = is_number or unusable.reason == COMMENTED_OUT
        return may_be_one and len(text) > _SHORTEST_DISTINCT and is_value(text)
    if not value:
        return False
    is_distinct = (
        kind in ("email", "phone_number") or (kind == "handle" and "/" in text) or is_value(text) or digest_in(text)
    )
    if is_distinct and len(text) >= _SHORTEST_DISTINCT:
        return True
    return False if any(map(str.isspace, text)) else None
