"""Removes what exports leave around e-mail addresses and phone numbers.

Spreadsheets, address books and web pages add quotation marks, `mailto:`, angle brackets, separators
and invisible characters. They are removed if the rest is unambiguous. A backquote only at the start
may be part of an e-mail address and is kept, and so are quotation marks around the local part.
"""

import base64
import binascii
import functools
import re
from collections.abc import Callable, Iterator
from typing import Final

import attrs

# For character classes: what shows nothing and has no width, what is blank, and what has no
# business within a value.
ZERO_WIDTH: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef"
)
BLANKS: Final = "\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
INVISIBLE: Final = "\x00-\x20\x7f-\xa0" + BLANKS + ZERO_WIDTH
SURROGATES: Final = "\ud800-\udfff"
_NEVER: Final = INVISIBLE + SURROGATES + "\ufffd"

_TYPOGRAPHIC_QUOTES: Final = "\u00ab\u00b4\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f\u301d-\u301f\uff02\uff07"
_WIDE_PUNCTUATION: Final = "\u3001\u3002\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1c\uff1e"

# Possessive: no text, however long or odd, is looked at more than once.
# A spreadsheet puts an apostrophe before what it is not to calculate.
_LOCAL: Final = rf'(?:(?!\'|[\'`=.]*[{_TYPOGRAPHIC_QUOTES}])[^@,<>"()\[\]:;\\{_NEVER}]++|"[^@<>"\\{_NEVER}]++")'
_LABEL: Final = rf"[^\x00-,./:-@\[-^`{{-\x7f{_TYPOGRAPHIC_QUOTES}{_WIDE_PUNCTUATION}{_NEVER}]++"
EMAIL: Final = rf"{_LOCAL}@(?:{_LABEL}\.)++{_LABEL}"
"""Matches a plausible e-mail address in lower case."""
_ASCII_LABEL: Final = "[a-z0-9_-]++"
_ASCII_EMAIL: Final = rf"(?!')[a-z0-9!#$%&'*+/=?^_`{{|}}~.-]++@(?:{_ASCII_LABEL}\.)++{_ASCII_LABEL}"
"""Matches those of ASCII alone and without quotation marks, which are nearly all, in less time."""

is_ascii_email: Final = re.compile(_ASCII_EMAIL).fullmatch
_hexadecimal_digest: Final = re.compile(r"(?:\\{1,2}x|0x)?([0-9a-fA-F]{64})").fullmatch
DIGEST_BYTES: Final = 32
_BASE64_CHARACTERS: Final = (44, 88)


# What only unusual cells need is compiled for the first of them: a pattern with large character classes
# takes a millisecond.
_compiled: Final = functools.cache(re.compile)


def is_email(text: str) -> bool:
    """Returns whether a text in lower case is a plausible e-mail address."""
    return _compiled(EMAIL).fullmatch(text) is not None


def digest_in(text: str) -> str:
    r"""Returns a SHA-256 digest in lower-case hexadecimal digits; an empty text if the text is none.

    Databases write one as 64 hexadecimal digits, also after `\x` or `0x`, or as 32 bytes in base64;
    some programs write the hexadecimal digits in base64.
    """
    if (found := _hexadecimal_digest(text)) is not None:
        return found[1].lower()
    if len(text) not in _BASE64_CHARACTERS or text[-1] != "=":
        return ""
    try:
        data = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if len(data) == DIGEST_BYTES:
        return data.hex()
    found = _hexadecimal_digest(data.decode("latin-1"))
    return found[1].lower() if found is not None else ""


def _find_emails(text: str) -> Iterator[re.Match[str]]:
    return _compiled(EMAIL).finditer(text)


MAX_CHARACTERS: Final = 1_000
"""What is longer is no address in any packing, and is left as it is."""

_ANY_ZERO_WIDTH: Final = f"[{ZERO_WIDTH}]"
# A joiner beside a letter of a script that uses it may be part of a word.
_JOINER: Final = "(?<=[^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[^\x00-\x7f])"
_ANY_BLANK: Final = f"[{BLANKS}]"

_QUOTE: Final = rf'["\\{_TYPOGRAPHIC_QUOTES}]'
_ANY_QUOTE: Final = rf"""["'`\\{_TYPOGRAPHIC_QUOTES}]"""
_SEPARATORS: Final = ",;:.\u3001\u3002\uff0c\uff0e\uff1a\uff1b"
_BRACKETED: Final = r"\(([^()]*)\)|\[([^\[\]]*)\]|\{([^{}]*)\}"
_NAMED: Final = r"([^<>]*)<([^<>]*)>"
_MAILTO: Final = r"(?i:mailto|smtp|e-?mail)\s*:\s*(?://)?"
_LABELS: Final = "|".join(
    (
        *(
            "mobile",
            "mob",
            "cell",
            "cellular",
            "cellphone",
            "phone",
            "tel",
            "telephone",
            "home",
            "work",
            "office",
            "business",
        ),
        *("private", "personal", "main", "direct", "landline", "whatsapp", "sms", "m", "h", "w", "c", "p", "o", "t"),
        *(
            "handy",
            "mobil",
            "privat",
            "dienstlich",
            "geschäftlich",
            "gesch",
            "beruflich",
            "büro",
            "zuhause",
            "festnetz",
        ),
        *(
            "portable",
            "domicile",
            "bureau",
            "travail",
            "fixe",
            "móvil",
            "movil",
            "celular",
            "casa",
            "trabajo",
            "oficina",
            "fijo",
        ),
        *("cellulare", "ufficio", "fisso", "telemóvel", "trabalho", "escritório", "fixo", "mobiel", "thuis", "werk"),
        *("komórka", "dom", "praca", "telefon", "téléphone", "tél", "teléfono", "telefono", "telefone", "telefoon"),
    )
)
"""Words that say which number it is."""
_WORDS_BEHIND: Final = rf"([^A-Za-z]*[0-9)])\s*(?:\((?!(?i:fax))[^()0-9]+\)|[\s,/-]\s*(?i:{_LABELS})\.?)"
_TEL: Final = rf"(?i:callto|{_LABELS})\.?\s*:\s*(?://)?"
_MAX_DIGITS_IN_NAMES: Final = 4

_plain_phone_number: Final = re.compile(r"[+(]?[0-9](?:[0-9 ()/.-]*[0-9])?").fullmatch
# What a phone number is not written with: where there is none of it, there is nothing to be
# removed.
_DEBRIS: Final = rf"[\"'`\\<>\[\]{{}}={_TYPOGRAPHIC_QUOTES}{BLANKS}{ZERO_WIDTH}]|[,;:.][\s,;:.]*$|^[\s(]*[,;:.]|^\((?s:.*)\)$|^[^\W\d_]+\.?\s*:|[0-9)]\s*(?:\([^()0-9]+\)|[\s,/-]\s*[^\W\d_]+\.?)$"
_MARK: Final = rf"[\"`<>@{_TYPOGRAPHIC_QUOTES}]"

_INVISIBLE_CHARACTERS: Final = "invisible characters"
_MARKS: Final = "quotation marks"
_FORMULA: Final = "a formula"
_APOSTROPHE: Final = "an apostrophe"


@attrs.frozen(repr=False)
class Cleaned:
    """A value without what exports leave around it. `removed` describes what was removed; it is empty
    if nothing was.
    """

    text: str
    removed: tuple[str, ...] = ()


Layer = Callable[[str], tuple[str, str]]
"""Removes something from a text: returns the rest and a word for what it was, or the text itself."""


def cleaned_email(text: str) -> Cleaned:
    """Returns the e-mail address (or digest of one) in a trimmed text; the text itself if there is not
    exactly one.
    """
    return _cleaned(text, _EMAIL_LAYERS, lambda rest: is_email(rest.lower()) or bool(digest_in(rest)))


def is_plain_phone_number(text: str) -> bool:
    """Returns whether a text has nothing but digits and what separates them."""
    return _plain_phone_number(text) is not None


def has_marks(text: str) -> bool:
    """Returns whether a text has characters that no phone number has, and that a search for a number
    in a text would skip.
    """
    return _compiled(_MARK).search(text) is not None


def _has_debris(text: str) -> bool:
    return _compiled(_DEBRIS).search(text) is not None


def cleaned_phone_number(text: str) -> Cleaned:
    """Returns what may be a phone number (or the digest of one) in a trimmed text, without what no
    number is written with.
    """
    if not _has_debris(text):
        return Cleaned(text)
    found = _cleaned(text, _PHONE_LAYERS, lambda rest: bool(digest_in(rest)) or not _has_debris(rest), keep=True)
    return found if any(map(str.isdigit, found.text)) else Cleaned(text)


def cleaned_opaque(text: str) -> Cleaned:
    """Returns an id in a trimmed text without what a spreadsheet puts around it so that it stays text:
    `="…"`, or an apostrophe before it.
    """
    if len(text) > 3 and text.startswith('="') and text.endswith('"'):
        return Cleaned(text[2:-1], (_FORMULA,))
    if text.startswith("'") and not text.endswith("'"):
        return Cleaned(text[1:], (_APOSTROPHE,))
    return Cleaned(text)


def holds_several_emails(text: str) -> bool:
    """Returns whether a text has more than one address."""
    return text.count("@") > 1 and len(text) <= MAX_CHARACTERS and len(list(_find_emails(text.lower()))) > 1


def _cleaned(text: str, layers: tuple[Layer, ...], is_clean: Callable[[str], bool], *, keep: bool = False) -> Cleaned:
    """Removes one layer after another until the rest is clean. If it never is, returns the text itself,
    or with `keep` what is left.
    """
    if len(text) > MAX_CHARACTERS:
        return Cleaned(text)
    rest, removed = text, dict[str, None]()
    while not is_clean(rest):
        for layer in layers:
            less, what = layer(rest)
            if less != rest:
                break
        else:
            return Cleaned(rest, tuple(removed)) if keep else Cleaned(text)
        rest = less.strip()
        if what:
            removed[what] = None
    return Cleaned(rest, tuple(removed))


def _without_zero_width(text: str) -> tuple[str, str]:
    if _compiled(_JOINER).search(text):
        return text, ""
    return _compiled(_ANY_ZERO_WIDTH).sub("", text), _INVISIBLE_CHARACTERS


def _with_plain_blanks(text: str) -> tuple[str, str]:
    return _compiled(_ANY_BLANK).sub(" ", text), ""


def _is_quote(text: str) -> bool:
    return _compiled(_ANY_QUOTE).fullmatch(text) is not None


def _without_formula(text: str) -> tuple[str, str]:
    """A spreadsheet's `="text"`, of which the quotation marks are another layer."""
    return (text[1:], _FORMULA) if text[:1] == "=" and _is_quote(text[1:2]) else (text, "")


def _without_equals(text: str) -> tuple[str, str]:
    return (text[1:], _FORMULA) if text[:1] == "=" else (text, "")


def _without_two_marks(text: str) -> tuple[str, str]:
    if len(text) < 2 or not (_is_quote(text[0]) and _is_quote(text[-1])):
        return text, ""
    if text[-1] == '"' and is_email(text[:-1].lower()):  # the first one belongs to a quoted local part
        return text[:-1], _MARKS
    return text[1:-1], _MARKS


def _without_apostrophe(text: str) -> tuple[str, str]:
    return (text[1:], _APOSTROPHE) if text[:1] == "'" else (text, "")


def _without_last_mark(text: str) -> tuple[str, str]:
    return (text[:-1], _MARKS) if _is_quote(text[-1:]) else (text, "")


def _without_first_mark(text: str) -> tuple[str, str]:
    return (text[1:], _MARKS) if _compiled(_QUOTE).match(text) else (text, "")


def _without_any_first_mark(text: str) -> tuple[str, str]:
    return (text[1:], _MARKS) if _is_quote(text[:1]) else (text, "")


def _without_separators(text: str) -> tuple[str, str]:
    return text.rstrip(_SEPARATORS + " ").lstrip(_SEPARATORS + " "), "punctuation"


def _without_brackets(text: str) -> tuple[str, str]:
    found = _compiled(_BRACKETED).fullmatch(text)
    return (text, "") if found is None else (text[1:-1], "brackets")


def _without_stray_brackets(text: str) -> tuple[str, str]:
    if (text[:1] == "<") == (text[-1:] == ">"):
        return text, ""
    return text.removeprefix("<").removesuffix(">"), "brackets"


def _out_of_name(text: str, is_name: Callable[[str, str], bool]) -> tuple[str, str]:
    """Removes a name before angle brackets, and these, if it can be nothing but a name."""
    found = _compiled(_NAMED).fullmatch(text)
    if found is None or not is_name(found[1], found[2]):
        return text, ""
    return found[2], "a name and brackets" if found[1].strip() else "brackets"


def _without_name_of_email(text: str) -> tuple[str, str]:
    return _out_of_name(text, _is_name_of_email)


def _is_name_of_email(name: str, inner: str) -> bool:
    """Address books write the address itself for a name that they do not know."""
    known = cleaned_email(inner).text.lower()
    return all(each[0] == known for each in _find_emails(name.lower()))


def _without_name_of_phone(text: str) -> tuple[str, str]:
    return _out_of_name(text, lambda name, _: sum(map(str.isdigit, name)) <= _MAX_DIGITS_IN_NAMES)


def _without_mailto(text: str) -> tuple[str, str]:
    """The address of a link, without its subject and the like."""
    found = _compiled(_MAILTO).match(text)
    if found is None:
        return text, ""
    rest, _, query = text[found.end() :].partition("?")
    if "%" in rest or "@" in query or "%40" in query:  # written in another way, or with further addresses
        return text, ""
    return rest, "mailto:"


def _without_words(text: str) -> tuple[str, str]:
    """The number alone, if words behind it say no more than which one it is."""
    found = _compiled(_WORDS_BEHIND).fullmatch(text)
    return (text, "") if found is None else (found[1], "words")


def _without_tel(text: str) -> tuple[str, str]:
    found = _compiled(_TEL).match(text)
    return (text, "") if found is None else (text[found.end() :], "tel:")


_EMAIL_LAYERS: Final[tuple[Layer, ...]] = (
    *(_without_zero_width, _without_formula, _without_two_marks, _without_separators, _without_name_of_email),
    *(_without_brackets, _without_mailto, _without_last_mark, _without_first_mark, _without_apostrophe),
    _without_stray_brackets,
)
_PHONE_LAYERS: Final[tuple[Layer, ...]] = (
    *(_without_zero_width, _with_plain_blanks, _without_equals, _without_two_marks, _without_separators),
    *(_without_name_of_phone, _without_brackets, _without_tel, _without_last_mark, _without_any_first_mark),
    *(_without_stray_brackets, _without_words),
)
