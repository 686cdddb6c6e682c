"""Converts phone numbers to E.164: a plus sign, the country calling code and the national number.

libphonenumber defines which numbers are possible and how a national number is read in a region. For most numbers,
this module needs only the library's metadata, which takes one or two microseconds. Numbers with letters, extensions,
international prefixes or carrier codes are passed to the library, which takes about ten times as long.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, get_args

import attrs

from socialapi.errors import InvalidInput
from socialapi.problems import BrokenRule
from socialapi.reports import MAY_BE_FOREIGN, NOT_VALID

PhoneFormat = Literal["auto", "international", "national"]
"""How digits without a plus sign are read. "auto": as a number in the region or with a country code, whichever is
valid. "international": always with a country code. "national": always as a number in the region.
"""
PHONE_FORMATS: Final[tuple[PhoneFormat, ...]] = get_args(PhoneFormat)

NO_REGION: Final = "has no country code: write it as +<country code>…, or set a default region"
NOT_POSSIBLE: Final = "is not a possible phone number"
SPREADSHEET: Final = "ends in .0 like a number from a spreadsheet: export the column as text"
SCIENTIFIC: Final = "is in scientific notation, like a long number from a spreadsheet, and may have lost digits: export the column as text"
WORDS_AFTER: Final = "has letters after a complete phone number"
WORDS_BEFORE: Final = "has words before the number, which may change its meaning: keep only the number"
CODE_TWICE: Final = (
    "begins with its region's country code, but is invalid both with and without it: write a plus sign before a "
    "country code, and the trunk prefix before a national number"
)
SEVERAL: Final = "has more than one phone number"
NO_NUMBER: Final = "is a date, an amount or an IP address, not a phone number"
MASKED: Final = "has x, * or other signs in place of digits"
NOT_IN_REGION: Final = "is not valid in the default region, and the country of the row is unknown"
NOT_WITH_CODE: Final = (
    "is not valid with the calling code of the row, which may be an ISO 3166 number: write two letters (DE), or a plus "
    "sign before a calling code (+49)"
)
TWO_CODES: Final = "is valid both with its country code once and with the code repeated: write the country code once"
WITH_TRUNK: Final = (
    "begins with a 0 that numbers of its country do not have: write a plus sign, the country code and the rest of the "
    "number, or add the country to the row"
)
FOREIGN: Final = (
    "has no plus sign, and is valid only with the country code of another country: write the plus sign, add a country "
    'column, or set phone_format="international"'
)

OLD_PREFIX: Final = "begins with 01, 044 or 045, which are no longer dialed in Mexico: write +52 and the ten digits"

_PLUS_SIGNS: Final = ("+", "\uff0b")
_ABROAD: Final = "(?:00|011(?=[1-9][0-9]{9}))"
"""The prefixes dialed before a country code: 00 in most countries, 011 in North America."""
_has_country_code: Final = re.compile(f"[ (]*0[ ()-]*0|.*[{''.join(_PLUS_SIGNS)}]").match
_starts_abroad: Final = re.compile(_ABROAD).match
PUNCTUATION: Final = str.maketrans("", "", " -.()/")
# Shorter strings follow special rules, and longer strings are not phone numbers. Both are passed to the library.
_SHORTEST_PLAIN: Final = 5
_LONGEST_PLAIN: Final = 32
# Matches dates, amounts, IP addresses, and numbers that a spreadsheet changed (.0 or ,0 at the end, or an exponent). An IP
# address whose last parts have two digits each does not match: phone numbers of several countries look the same.
_is_no_number: Final = re.compile(
    r"[+(]?[0-9][0-9 ()/-]*(?:[.,]0+|(?:[.,][0-9]*)?[eE]\+?[0-9]+)"
    r"|(?P<other>[-€$£ ]*(?:[0-9]+,[0-9]{2}|[1-9][0-9]{0,2}(?:(?:[.' ][0-9]{3})+,|(?:[,' ][0-9]{3})+\.)[0-9]{2})[€$£ ]*"
    r"|[0-3]?[0-9]([./-])[0-3]?[0-9]\2(?:19|20)[0-9]{2}|(?:19|20)[0-9]{2}([./-])[01]?[0-9]\3[0-3]?[0-9]"
    r"|(?!.*\.[0-9]{2}\.[0-9]{2}$)(?:(?:[1-9]?[0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])(?:\.|$)){4})"
).fullmatch
_MAX_E164_DIGITS: Final = 15
"""The maximum number of digits in a number, including its country code. For some countries, the library accepts longer
strings.
"""
_MOST_NATIONAL: Final = 10
"""A number with its country code must have more digits than this: one in ten random strings of ten digits would be
valid.
"""
_SHORTEST_SECOND_NUMBER: Final = 7
_LOCAL_DIGITS: Final = 7
_MOST_LOCAL_DIGITS: Final = 8
_SHORTEST_FULL_MOBILE: Final = 8
"""In countries whose national numbers may begin with the country code, a mobile number with fewer digits than this
belongs to a service.
"""
_SHORTEST_AFTER_COMMA: Final = 5
_MOST_LAST_DIGITS: Final = 4
_may_be_ambiguous: Final = re.compile(r"[^\W\d_]|[,;]").search
_starts_with_letters: Final = re.compile(r"[^\d+\uff0b]*[^\W\d_]").match
_shared_stem: Final = re.compile(r"(.*[0-9])\s*/\s*-?\s*([0-9][0-9 -]*)").fullmatch
_replace_non_digits: Final = re.compile(r"\D+").sub
_FEWEST_ALIKE: Final = 5
_first_letter: Final = re.compile("[0-9][^A-Za-z]*+([A-Za-z])").search
_has_parameters: Final = re.compile(";(?:phone-context|ext|isub)=", re.IGNORECASE).search
_extension: Final = re.compile(
    r"([+(]?[0-9][0-9 ()/.-]*[0-9])\s*[,;-]?\s*(?:;ext=|(?:extension|extn?|x|#|int(?:erno)?|dw|durchwahl"
    r"|nebenstelle|nst|app(?:arat)?|poste|anexo|ramal|toestel|tst|wewn?|内線|доб)\.?:?)\s*[0-9]{1,6}",
    re.IGNORECASE,
).fullmatch
_separated: Final = re.compile(
    r"[/;,|&\n]|:::|[0-9)]\s+[^\W\d_]+\.?\s*:|\b(?:or|and|oder|und|ou|et|o|y|e|of|en|lub|i)\b", re.IGNORECASE
).split
is_masked: Final = re.compile(r"(?!^)[*\u2022\u25cf\u2026]|(?<![^\W\d_])[xX#?_](?:[ ./-]?[xX#?_])+(?![^\W\d_])").search
without_footnote_mark: Final = functools.partial(re.compile(r"\s+(?:\*|\u2026|\?+)$").sub, "")
_pluses: Final = re.compile(r"(?<![eE])\+").findall
_old_mexican: Final = re.compile(r"(\+|00)?521([0-9]{10})").fullmatch
_dialled_in_mexico: Final = re.compile(r"((?:\+|00)?52)?(?:01|04[45])[0-9]{10}").fullmatch


def load() -> None:
    """Imports the library and a numbering plan. This takes about 15 ms, so call it in a thread before the first number."""
    _plan("US", 1)


def check_region(region: str | None) -> str | None:
    """Returns the region in upper case, or None if it is None.

    Raises InvalidInput if the region is not an ISO 3166 code of a region that has phone numbers.
    """
    if region is None:
        return None
    import phonenumbers

    code = region.strip().upper()
    if code not in phonenumbers.SUPPORTED_REGIONS:
        why = "is not a region: give a two-letter ISO 3166 code such as US, DE or GB"
        raise InvalidInput(f"{region!r} {why}", [BrokenRule(path="default_region", reason=why)])
    return code


@attrs.frozen(eq=False, repr=False)
class Plan:
    """The numbering plan of a country calling code, as used in one of its regions."""

    prefix: str
    """The country calling code with its plus sign."""
    trunk: str
    """The prefix dialed before a national number within the region; may be empty."""
    longest_mobile: int
    """The number of digits in the longest mobile number."""
    shortest_mobile: int
    possible: frozenset[int]
    """The possible lengths of national numbers that can be dialed from anywhere, not only locally."""
    full: frozenset[int]
    """The possible lengths of numbers after the national prefix is stripped."""
    begins_with_zero: bool
    """Whether national numbers, without a trunk prefix, may begin with 0, as in Italy."""
    is_national: Callable[[str], object]
    is_mobile: Callable[[str], object]
    strip_prefix: Callable[[str], re.Match[str] | None] | None
    starts_abroad: Callable[[str], object] | None
    patterns: tuple[str, str, str]
    """The patterns of `strip_prefix`, `starts_abroad` and `is_national`; an empty string if there is none."""

    def e164(self, digits: str) -> str | None:
        """Returns the number in E.164 for these national digits; None if the library has to decide."""
        match = self.strip_prefix(digits) if self.strip_prefix is not None else None
        if match is None:
            return self.prefix + digits if len(digits) in self.possible else None
        if match.lastindex is not None:
            return None  # a carrier code, or a prefix that is rewritten rather than stripped
        stripped = digits[match.end() :]
        # The library keeps the prefix of a number that would be invalid without it, so the prefix
        # is stripped only in clear cases.
        if len(stripped) in self.full and len(stripped) in self.possible and self.is_national(stripped):
            return self.prefix + stripped
        return None

    def is_impossible(self, digits: str) -> bool:
        """Returns whether these digits after the country code certainly cannot be a number. The library takes 15 times
        as long to say so, also for a national number that is read with a country code.
        """
        is_short_or_long = len(digits) not in self.possible
        return is_short_or_long and (self.strip_prefix is None or self.strip_prefix(digits) is None)


@functools.cache
def _plan(region: str, calling_code: int) -> Plan:
    from phonenumbers import PhoneMetadata, region_code_for_country_code

    dialled = PhoneMetadata.metadata_for_region_or_calling_code(calling_code, region)
    # Like the library, use the main region of the calling code to decide which lengths are possible.
    main = PhoneMetadata.metadata_for_region_or_calling_code(calling_code, region_code_for_country_code(calling_code))
    assert dialled is not None
    assert main is not None
    lengths, judged = dialled.general_desc, main.general_desc
    assert lengths is not None
    assert judged is not None
    strip, abroad = dialled.national_prefix_for_parsing, dialled.international_prefix
    mobile = dialled.mobile.possible_length if dialled.mobile is not None else ()
    mobile = tuple(each for each in mobile if each > 0) or lengths.possible_length
    return Plan(
        prefix=f"+{calling_code}",
        trunk=dialled.national_prefix or "",
        longest_mobile=max(mobile),
        shortest_mobile=min(mobile),
        possible=frozenset(
            each for each in judged.possible_length if each + len(str(calling_code)) <= _MAX_E164_DIGITS
        ),
        full=frozenset(lengths.possible_length),
        begins_with_zero=any(
            each is not None and (each.example_number or "").startswith("0") for each in (main.mobile, main.fixed_line)
        ),
        is_national=re.compile(lengths.national_number_pattern or "(?!)").fullmatch,
        is_mobile=re.compile((dialled.mobile and dialled.mobile.national_number_pattern) or "(?!)").fullmatch,
        strip_prefix=re.compile(strip).match if strip else None,
        starts_abroad=re.compile(abroad).match if abroad else None,
        patterns=(strip or "", abroad or "", lengths.national_number_pattern or ""),
    )


class _Plans(dict[str, Plan | None]):
    """The numbering plans, by the three digits after a plus sign: at most a thousand, each loaded on first use."""

    def __missing__(self, start: str) -> Plan | None:
        if len(start) != 3 or not (start.isascii() and start.isdigit()):
            return None
        from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, region_code_for_country_code

        codes = (int(start[:length]) for length in (1, 2, 3))
        known = (code for code in codes if code in COUNTRY_CODE_TO_REGION_CODE and start[0] != "0")
        found = next((_plan(region_code_for_country_code(code), code) for code in known), None)
        self[start] = found
        return found


_PLANS: Final = _Plans()


def plan_of(digits: str) -> Plan | None:
    """Returns the plan of an international number, without its plus sign; None if its country code is unknown."""
    return _PLANS[digits[:3]]


def e164(text: str, region: str | None) -> str | None:
    """Returns the number in E.164; None if it is not possible (`why_not` returns the reason).

    `text` is trimmed and not empty, and `region` is the result of `check_region`. An extension is dropped, because
    E.164 has none.
    """
    plan = _PLANS[text[1:4]] if text[0] == "+" else None
    if plan is not None:
        digits = text[len(plan.prefix) :]
        if digits.isascii() and digits.isdigit() and ((number := plan.e164(digits)) or plan.is_impossible(digits)):
            return number
    return _without_punctuation(text, region) or _as_parsed(text, region)


def number_in(
    text: str, region: str | None, phone_format: PhoneFormat = "auto", *, if_invalid: str = ""
) -> tuple[str | None, str]:
    """Returns the number in E.164 and a remark about how it was read; None and the reason if it cannot be used.

    `text` and `region` are as for `e164`. A number in the region that is not valid there has the remark `NOT_VALID`. If
    the region is uncertain, such a number cannot be used, and `if_invalid` is the reason.
    """
    read, remark = _as_written(text, region, phone_format)
    number, problem = (None, remark) if read is None else _with_one_start(read)
    if number is None:
        return None, problem
    if region is not None and not _has_country_code(text) and number.startswith(prefix := home_plan(region).prefix):
        # A 0 that a country does not have also speaks against the country, if that is unsure.
        if if_invalid and number != read:
            return None, if_invalid
        if not is_valid(prefix, number[len(prefix) :], region):
            return (None, if_invalid) if if_invalid else (number, NOT_VALID)
    return number, remark


def _as_written(text: str, region: str | None, phone_format: PhoneFormat) -> tuple[str | None, str]:
    """Returns the number and a remark as `number_in` does, valid or not."""
    digits = text.translate(PUNCTUATION)
    if not digits[1:].isdigit():
        if (found := _extension(text)) is not None:
            text = found[1]
            digits = text.translate(PUNCTUATION)
    elif "521" in digits[:5] and (old := _old_mexican(digits)) is not None:
        # Mexico dropped the 1 before mobile numbers in 2019, but many lists still have it.
        text = digits = f"{old[1] or ''}52{old[2]}"
    is_plain = digits.isascii() and digits.isdigit() and not _is_no_number(text)  # in `1.0`, the dot separates nothing
    if not is_plain or len(digits) < _SHORTEST_PLAIN or len(text) > _LONGEST_PLAIN:
        number, remark = e164(text, region), ""
    elif phone_format == "international" and (not digits.startswith("0") or digits.startswith("00")):
        number = e164("+" + digits.removeprefix("00"), None)
        remark = "" if number is not None else NOT_POSSIBLE
    elif region is None:
        number, remark = e164(text, region), ""
    else:
        number, remark = _in_region(text, digits, region, phone_format)
    return number, remark if number is not None else remark or why_not(text, region)


def _with_one_start(number: str) -> tuple[str | None, str]:
    """Returns a number in E.164. Removes a second country code, or a trunk prefix 0 that its country does not have, if
    the number is valid only without it. Returns None and a reason if the number is valid as it is and the rest is a
    mobile number, or if neither is valid and the 0 cannot be part of the number.
    """
    plan = plan_of(number[1:])
    if plan is None:
        return number, ""
    national, code = number[len(plan.prefix) :], plan.prefix[1:]
    is_zero = national.startswith("0") and not plan.begins_with_zero
    if not is_zero and not national.startswith(code):
        return number, ""
    is_whole, digits = is_valid(plan.prefix, national), national[1 if is_zero else len(code) :]
    rest = _if_valid(e164(plan.prefix + digits, None))
    if is_whole:
        # Many ordinary numbers, such as those of the area 4352 in Austria, leave another valid one, but no mobile number.
        mobile = "" if rest is None else rest[len(plan.prefix) :]
        is_unclear = len(mobile) >= _SHORTEST_FULL_MOBILE and plan.is_mobile(mobile)
        return (None, TWO_CODES) if is_unclear else (number, "")
    if rest is None:
        return (None, WITH_TRUNK) if is_zero else (number, "")
    return _with_one_start(rest)


def _in_region(text: str, digits: str, region: str, phone_format: PhoneFormat) -> tuple[str | None, str]:
    """Returns the number and a remark as `number_in` does, for digits without a plus sign in a region."""
    home = home_plan(region)
    read = _by_validity(digits, home, region) if phone_format == "auto" else None
    number, remark = read or (e164(text, region), "")
    prefix = home.prefix
    if read is None and number == prefix + digits and digits.startswith(prefix[1:]):
        # With the country code added a second time, the number may belong to another person.
        return (number, "") if is_valid(prefix, digits, region) else (None, CODE_TWICE)
    return number, remark


def _by_validity(digits: str, home: Plan, region: str) -> tuple[str | None, str] | None:
    """Returns the number for digits without a plus sign, and a remark. Reads the digits as a number of the region if
    that is valid, else as a number with a country code. Returns None if neither is valid, or if a prefix shows how to
    read the digits.
    """
    has_trunk = home.trunk != "" and digits.startswith(home.trunk)
    if (start := _starts_abroad(digits)) is not None:
        number = _if_valid(e164(f"+{digits[start.end() :]}", None))
        is_national = has_trunk and start[0] != "00" and _if_valid(e164(digits, region)) is not None
        return (number, "") if number is not None and not is_national else None
    if has_trunk or (home.starts_abroad is not None and home.starts_abroad(digits)):
        return None
    # As after a plus sign, `e164` drops a trunk prefix between the country code and the number.
    number = _if_valid(e164(f"+{digits}", None))
    is_own = number is not None and number.startswith(home.prefix)
    is_dropped = is_own and number != f"+{digits}"
    if len(digits) <= home.longest_mobile and not is_dropped and is_valid(home.prefix, digits, region):
        return home.prefix + digits, MAY_BE_FOREIGN if number is not None else ""
    if number is None:
        return None
    return (number, "") if is_own else (None, FOREIGN)


def _if_valid(number: str | None) -> str | None:
    plan = _PLANS[number[1:4]] if number is not None else None
    return number if number and plan is not None and is_valid(plan.prefix, number[len(plan.prefix) :]) else None


def may_be_number(digits: str, region: str | None) -> bool:
    """Returns whether a string of digits is a valid number with its country code, or a mobile number of the region."""
    if len(digits) > _MOST_NATIONAL and _if_valid(e164(f"+{digits}", None)) == f"+{digits}":
        return True
    number, _ = (None, "") if region is None else number_in(digits, region)
    if region is None or number is None:
        return False
    home = home_plan(region)
    return number.startswith(home.prefix) and home.is_mobile(number[len(home.prefix) :]) is not None


def needs_no_area_code(digits: str, region: str, area_code: str) -> bool:
    """Returns whether the digits of a number in a region are complete, although another column has an area code. They
    are complete if they contain the code, begin with 0 (as no local number does), or are valid only without the code.

    The code may also be the calling code of a country. If the digits are also valid in that country, they are not
    complete.
    """
    home, code, is_dialled = home_plan(region), area_code.lstrip("0"), digits.startswith("0")
    has_code = digits.lstrip("0").startswith(code) and len(digits) >= len(area_code) + _LOCAL_DIGITS
    if has_code or (is_dialled and area_code.startswith("0")):
        return True
    if not digits or number_in(digits, region, if_invalid=NOT_IN_REGION)[0] is None:
        return False
    called, is_own = plan_of(f"{area_code}00"), home.prefix == f"+{area_code}"
    is_foreign = not is_own and called is not None and called.prefix == f"+{area_code}"
    if is_foreign and _if_valid(e164(f"+{area_code}{digits}", None)) is not None:
        return False
    is_long = len(digits) > _MOST_LOCAL_DIGITS
    if is_dialled or (is_own and is_long):
        return True
    # The code of a local number may itself be wrong, or also have the calling code (`4989`).
    is_joined = any(is_valid(home.prefix, f"{zero}{code}{digits}", region) for zero in ("", "0"))
    return not is_joined and (is_own or is_long or not home.trunk)


def is_valid(prefix: str, national: str, region: str = "") -> bool:
    """Returns whether a national number is valid in any region with this country calling code. Tries `region` first, or
    else the main region of the code, because the pattern of all regions with the code 1 takes 70 ms to compile.
    """
    from phonenumbers import region_code_for_country_code

    first = _valid_in(region or region_code_for_country_code(int(prefix)), prefix)
    return first(national) is not None or _valid_under(prefix)(national) is not None


@functools.cache
def valid_patterns(region: str, prefix: str) -> tuple[str, Sequence[tuple[str, Sequence[int]]]]:
    """Returns the pattern of all national numbers of a region, and the pattern and possible lengths of each type."""
    from phonenumbers import PhoneMetadata

    data = PhoneMetadata.metadata_for_region_or_calling_code(int(prefix), region)
    assert data is not None
    types = (
        *(data.mobile, data.fixed_line, data.toll_free, data.premium_rate, data.shared_cost, data.voip),
        *(data.personal_number, data.pager, data.uan, data.voicemail),
    )
    general = data.general_desc
    assert general is not None
    found = [
        (each.national_number_pattern, tuple(length for length in each.possible_length if length > 0))
        for each in types
        if each is not None and each.national_number_pattern
    ]
    return general.national_number_pattern or "(?!)", found


@functools.cache
def _valid_in(region: str, prefix: str) -> Callable[[str], object]:
    """Returns a function that matches the valid national numbers of a region, of any type."""
    return re.compile(_pattern_of_valid(region, prefix)).fullmatch


@functools.cache
def _valid_under(prefix: str) -> Callable[[str], object]:
    """Returns a function that matches the valid national numbers of all regions with this country calling code."""
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

    regions = COUNTRY_CODE_TO_REGION_CODE[int(prefix)]
    return re.compile("|".join(_pattern_of_valid(region, prefix) for region in regions)).fullmatch


def _pattern_of_valid(region: str, prefix: str) -> str:
    general, types = valid_patterns(region, prefix)
    patterns = [
        f"(?=(?:{'|'.join(f'.{{{length}}}' for length in lengths)})\\Z)(?:{pattern})" if lengths else pattern
        for pattern, lengths in types
    ]
    return f"(?=(?:{general})\\Z)(?:{'|'.join(patterns) or '(?!)'})"


def holds_several(text: str, region: str | None) -> bool:
    """Returns whether a string has two numbers with a separator between them, or a number followed by a slash and the
    local part or the last digits of a second number.
    """
    parts = (_replace_non_digits("", part).removeprefix("00") for part in _separated(text))
    if len(_pluses(text)) > 1 or sum(len(digits) >= _SHORTEST_SECOND_NUMBER for digits in parts) > 1:
        return True
    if (stem := _shared_stem(text)) is None or _is_no_number(text):
        return False
    # A slash may also be within one number, unless the part before it is a complete number.
    digits, more = (len(_replace_non_digits("", part)) for part in stem.groups())
    may_be_one = more > _MOST_LAST_DIGITS and digits < _SHORTEST_SECOND_NUMBER and "/" not in stem[1]
    return not may_be_one and _if_valid(e164(stem[1], region)) is not None


def has_one_digit(text: str, number: str | None) -> bool:
    """Returns whether a phone number or other string consists of one repeated digit, as people type to hide their
    number.
    """
    if number is None:
        digits = _replace_non_digits("", text)
        return digits != "" and len(set(digits)) == 1 and (digits[0] == "0" or len(digits) >= _FEWEST_ALIKE)
    plan = _PLANS[number[1:4]] if len(set(number[-_FEWEST_ALIKE:])) == 1 else None
    national = number[len(plan.prefix) :] if plan is not None else ""
    return len(national) >= _FEWEST_ALIKE and len(set(national)) == 1


def _without_punctuation(text: str, region: str | None) -> str | None:
    if not text.isascii() or _is_no_number(text):
        return None
    plain = text.translate(PUNCTUATION)
    if len(plain) < _SHORTEST_PLAIN or len(text) > _LONGEST_PLAIN:
        return None
    if plain[:1] == "+":
        plan = _PLANS[plain[1:4]]
        digits = plain[len(plan.prefix) :] if plan is not None else ""
        return plan.e164(digits) if plan is not None and digits.isdigit() else None
    return _from_home(plain, region) if region is not None and plain.isdigit() else None


def _from_home(digits: str, region: str) -> str | None:
    """Returns the number in E.164 that these digits reach if dialed in the region; None if the library has to decide."""
    home = home_plan(region)
    if home.starts_abroad is not None and home.starts_abroad(digits):
        return None
    code = home.prefix[1:]
    if not digits.startswith(code):
        return home.e164(digits)
    rest, main = digits[len(code) :], _PLANS[f"{code}00"[:3]]
    # A number that is too long for the region and starts with its country code is an international
    # number without the plus sign.
    if main is None or len(digits) <= max(home.full) or (home.strip_prefix is not None and home.strip_prefix(rest)):
        return None
    return main.e164(rest)


@functools.cache
def home_plan(region: str) -> Plan:
    """Returns the plan for numbers dialed within a region."""
    import phonenumbers

    return _plan(region, phonenumbers.country_code_for_region(region))


def _as_parsed(text: str, region: str | None) -> str | None:
    if _is_no_number(text):
        return None
    import phonenumbers

    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    # E.164 cannot represent a number that can only be dialed locally, such as a number without its area code.
    if phonenumbers.is_possible_number_with_reason(number) != phonenumbers.ValidationResult.IS_POSSIBLE:
        return None
    found = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return found if len(found) <= 1 + _MAX_E164_DIGITS else None


def ambiguity(text: str, region: str | None) -> str | None:
    """Returns why `e164` may have read the wrong number from a string; None if the string is unambiguous.

    The library reads letters as the digits on telephone keys, and a second number as an extension.
    """
    if _may_be_ambiguous(text) is None or _extension(text) is not None:
        return None
    if _starts_with_letters(text) is not None:
        return WORDS_BEFORE
    import phonenumbers

    try:
        extension = phonenumbers.parse(text, region).extension
    except phonenumbers.NumberParseException:
        return None
    letter = _first_letter(text)
    if extension is not None:
        is_second = len(extension) >= _SHORTEST_AFTER_COMMA and letter is None
        return SEVERAL if is_second else None
    if letter is None or _has_parameters(text):
        return None
    before = text[: letter.start(1)].strip()
    return WORDS_AFTER if before and e164(before, region) is not None else None


def why_not(text: str, region: str | None) -> str:
    """Returns why `e164` found no number. The reason does not quote the string."""
    if (found := _is_no_number(text)) is not None:
        return NO_NUMBER if found["other"] else SCIENTIFIC if "e" in text.lower() else SPREADSHEET
    old = _dialled_in_mexico(text.translate(PUNCTUATION))
    if old is not None and (region == "MX" or (old[1] or "").startswith(("+", "00"))):
        return OLD_PREFIX
    if _starts_with_letters(text) and len(_replace_non_digits("", text)) >= _SHORTEST_SECOND_NUMBER:
        return WORDS_BEFORE
    if region is None and not any(sign in text for sign in _PLUS_SIGNS) and sum(map(str.isdigit, text)) >= 4:
        return NO_REGION
    return NOT_POSSIBLE
