"""Removes the characters that exports leave around e-mail addresses and phone numbers.

Spreadsheets, address books and web pages add quotation marks, `mailto:`, angle brackets, separators and invisible
characters, which are removed if the rest is unambiguous. An unmatched backquote at the start and quotation marks around
the local part are kept, because they may belong to an e-mail address.
"""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Final

from socialapi.bulk.inputs.leftovers import (
    BLANKS,
    FORMULA,
    MARKS,
    MAX_CHARACTERS,
    TYPOGRAPHIC_QUOTES,
    ZERO_WIDTH,
    Cleaned,
    Layer,
    compiled,
    is_quote,
    peeled,
    without_apostrophe,
    without_formula,
    without_two_marks,
    without_zero_width,
)

INVISIBLE: Final = "\x00-\x20\x7f-\xa0" + BLANKS + ZERO_WIDTH
SURROGATES: Final = "\ud800-\udfff"
_NEVER: Final = INVISIBLE + SURROGATES + "\ufffd"

_WIDE_PUNCTUATION: Final = "\u3001\u3002\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1c\uff1e"

# Possessive quantifiers avoid backtracking, so long or unusual strings are searched only once. A leading apostrophe is
# excluded, because spreadsheets put one before a cell to keep it as text.
_LOCAL: Final = rf'(?:(?!\'|[\'`=.]*[{TYPOGRAPHIC_QUOTES}])[^@,<>"()\[\]:;\\{_NEVER}]++|"[^@<>"\\{_NEVER}]++")'
_SYMBOLS: Final = "\u2010-\u2bff\U0001f000-\U0001faff"
"""Punctuation, arrows, pictures and the like, which copying leaves next to an address: `ann@example.com…`."""
_LABEL: Final = rf"[^\x00-,./:-@\[-^`{{-\x7f{_SYMBOLS}{TYPOGRAPHIC_QUOTES}{_WIDE_PUNCTUATION}{_NEVER}]++"
EMAIL: Final = rf"{_LOCAL}@(?:{_LABEL}\.)++{_LABEL}"
"""A pattern for plausible e-mail addresses in lower case."""
_ASCII_LABEL: Final = "[a-z0-9_-]++"
_ASCII_EMAIL: Final = rf"(?!')[a-z0-9!#$%&'*+/=?^_`{{|}}~.-]++@(?:{_ASCII_LABEL}\.)++{_ASCII_LABEL}"
"""A faster pattern for ASCII addresses without quotation marks, which covers nearly all addresses."""

is_ascii_email: Final = re.compile(_ASCII_EMAIL).fullmatch
_names_sha256: Final = re.compile(r"\{?sha-?256(?:\}|[:=$-])\s*(?=[^\s])", re.IGNORECASE).match
_hexadecimal: Final = re.compile(r"(?:\\{1,2}x|0x)?([0-9a-fA-F]{32,128})|[bx]'([0-9a-f]{64})'", re.IGNORECASE).fullmatch
DIGEST_BYTES: Final = 32
DIGEST_DIGITS: Final = 64
_BASE64_CHARACTERS: Final = (43, 44, 86, 88)
_OTHER_DIGESTS: Final[Mapping[int, str]] = {
    **{digits: f"{digits} hexadecimal digits" for digits in (*range(60, 64), *range(65, 69))},
    **dict(zip((32, 40, 56, 96, 128), ("MD5", "SHA-1", "SHA-224", "SHA-384", "SHA-512"), strict=True)),
}
"""The names of other kinds of digests and of damaged SHA-256 digests, by number of hexadecimal digits."""
_OTHERS_IN_BASE64: Final = (24, 28)
DIGEST_LENGTHS: Final = frozenset((*_OTHER_DIGESTS, DIGEST_DIGITS, *_BASE64_CHARACTERS))
"""The lengths of strings that are SHA-256 digests or look like digests of another kind."""


def is_email(text: str) -> bool:
    """Returns whether a lower-case string is a plausible e-mail address."""
    return compiled(EMAIL).fullmatch(text) is not None


def digest_in(text: str) -> str:
    r"""Returns the SHA-256 digest in a string as lower-case hexadecimal digits, or an empty string if there is none.

    Databases write a digest as 64 hexadecimal digits, optionally after `\x` or `0x` or as `X'…'`, or as 32 bytes in
    base64. Some programs encode the hexadecimal digits in base64, or write `sha256:` before the digest.
    """
    if (named := _names_sha256(text)) is not None:
        text = text[named.end() :]
    if (found := _hexadecimal(text)) is not None:
        digits = found[1] or found[2]
        return digits.lower() if len(digits) == DIGEST_DIGITS else ""
    # Without padding, other strings may have this length too, but nearly every base64 digest has letters of both cases.
    if len(text) not in _BASE64_CHARACTERS or (text[-1] != "=" and (text.islower() or text.isupper())):
        return ""
    data = _from_base64(text)
    if len(data) == DIGEST_BYTES:
        return data.hex()
    found = _hexadecimal(data.decode("latin-1"))
    return found[1].lower() if found is not None and found[1] and len(found[1]) == DIGEST_DIGITS else ""


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return b""


def why_no_digest(text: str) -> str | None:
    """Returns why a string that looks like a digest is not a SHA-256 digest; None for any other string."""
    if len(text) in _OTHERS_IN_BASE64 and text[-1] == "=":
        digits = _from_base64(text).hex()
    else:
        digits = found[1] if (found := _hexadecimal(text.rpartition(":")[2])) is not None else ""
    if digits.isdecimal() or digits.isalpha() or (name := _OTHER_DIGESTS.get(len(digits or ""))) is None:
        return None
    return f"looks like a digest ({name}): only SHA-256 is accepted, as 64 hexadecimal digits or in base64"


_QUOTE: Final = rf'["\\{TYPOGRAPHIC_QUOTES}]'
_SEPARATORS: Final = ",;:.\u3001\u3002\uff0c\uff0e\uff1a\uff1b"
_BRACKETED: Final = r"\(([^()]*)\)|\[([^\[\]]*)\]|\{([^{}]*)\}"
_NAMED: Final = r"([^<>]*)<([^<>]*)>"
_MAILTO: Final = r"(?i:mailto|smtp|e-?mail)\s*:\s*(?://)?"
_LABEL_WORDS: Final = """
mobile mob cell cellular cellphone phone tel telephone home work office business private personal main direct
landline whatsapp sms m h w c p o t handy mobil privat dienstlich geschäftlich gesch beruflich büro zuhause
festnetz portable domicile bureau travail fixe móvil movil celular casa trabajo oficina fijo cellulare ufficio
fisso telemóvel trabalho escritório fixo mobiel thuis werk number nummer nr num numéro numero número phonenumber
telefonnummer rufnummer mobilnummer handynummer telefonnr handynr mobilnr telnr 電話 携帯 kom тел телефон komórka
dom praca telefon téléphone tél teléfono telefono telefone telefoon pro perso professionnel personnel zentrale
sekretariat empfang rezeption standard accueil secrétariat office reception switchboard hq centralita recepción
centralino segreteria receptie centrale recepcja sekretariaat secretaria
"""
_LABELS: Final = "|".join(_LABEL_WORDS.split())
_SOME_LABELS: Final = rf"(?i:(?:{_LABELS})(?:[\s./-]+(?:{_LABELS}))*)"
_WORDS_AFTER: Final = rf"([^A-Za-z]*[0-9)])\s*(?:\(\s*{_SOME_LABELS}\.?\s*\)|[\s,/-]\s*{_SOME_LABELS}\.?)"
_TEL: Final = rf"\(?(?i:callto|{_LABELS})\)?(?:\s*(?:[.:#/-]\s*)+|\s+)(?!$)"
_MAX_DIGITS_IN_NAMES: Final = 4

is_plain_phone_number: Final = re.compile(r"[+(]?[0-9](?:[0-9 ()/.-]*[0-9])?").fullmatch
"""Matches digits with the usual separators of phone numbers."""
# Finds the characters and words to remove from a phone number.
_DEBRIS: Final = rf"[\"'`\\<>\[\]{{}}={TYPOGRAPHIC_QUOTES}{BLANKS}{ZERO_WIDTH}]|[,;:.][\s,;:.]*$|^[\s(]*[,;:.]|^\((?s:.*)\)$|^\(?[^\W\d_]|[0-9)]\s*(?:\([^()0-9]+\)|[\s,/-]\s*[^\W\d_]+\.?)$"
_MARK: Final = rf"[\"`<>@{TYPOGRAPHIC_QUOTES}]"


def cleaned_email(text: str) -> Cleaned:
    """Returns the e-mail address or digest in a trimmed string, or the string unchanged if it does not contain exactly
    one.
    """
    return peeled(text, _EMAIL_LAYERS, lambda rest: is_email(rest.lower()) or bool(digest_in(rest)))


def has_marks(text: str) -> bool:
    """Returns whether a string has characters that never occur in phone numbers but that the phonenumbers library
    skips.
    """
    return compiled(_MARK).search(text) is not None


def _has_debris(text: str) -> bool:
    return compiled(_DEBRIS).search(text) is not None


def cleaned_phone_number(text: str) -> Cleaned:
    """Returns the phone number or digest in a trimmed string, or the string unchanged if no digits would be left."""
    if not _has_debris(text):
        return Cleaned(text)
    found = peeled(text, _PHONE_LAYERS, lambda rest: bool(digest_in(rest)) or not _has_debris(rest), keep=True)
    return found if any(map(str.isdigit, found.text)) else Cleaned(text)


def holds_several_emails(text: str) -> bool:
    """Returns whether a string has more than one e-mail address."""
    return text.count("@") > 1 and len(text) <= MAX_CHARACTERS and len(compiled(EMAIL).findall(text.lower())) > 1


def _with_plain_blanks(text: str) -> tuple[str, str]:
    return compiled(f"[{BLANKS}]").sub(" ", text), ""


def _without_equals(text: str) -> tuple[str, str]:
    return (text[1:], FORMULA) if text[:1] == "=" else (text, "")


def _without_two_marks(text: str) -> tuple[str, str]:
    if text[-1:] == '"' and is_quote(text[0]) and is_email(text[:-1].lower()):  # the local part begins with a quote
        return text[:-1], MARKS
    return without_two_marks(text)


def _without_last_mark(text: str) -> tuple[str, str]:
    return (text[:-1], MARKS) if is_quote(text[-1:]) else (text, "")


def _without_first_mark(text: str) -> tuple[str, str]:
    return (text[1:], MARKS) if compiled(_QUOTE).match(text) else (text, "")


def _without_any_first_mark(text: str) -> tuple[str, str]:
    return (text[1:], MARKS) if is_quote(text[:1]) else (text, "")


def _without_separators(text: str) -> tuple[str, str]:
    return text.rstrip(_SEPARATORS + " ").lstrip(_SEPARATORS + " "), "punctuation"


def _without_brackets(text: str) -> tuple[str, str]:
    found = compiled(_BRACKETED).fullmatch(text)
    return (text, "") if found is None else (text[1:-1], "brackets")


def _without_stray_brackets(text: str) -> tuple[str, str]:
    if (text[:1] == "<") == (text[-1:] == ">"):
        return text, ""
    return text.removeprefix("<").removesuffix(">"), "brackets"


def _out_of_name(text: str, is_name: Callable[[str, str], bool]) -> tuple[str, str]:
    """Returns the string in angle brackets, if `is_name` accepts the name next to it, and a description of the removed
    parts.
    """
    found = compiled(_NAMED).fullmatch(text)
    if found is None or not is_name(found[1], found[2]):
        return text, ""
    return found[2], "a name and brackets" if found[1].strip() else "brackets"


def _without_name_of_email(text: str) -> tuple[str, str]:
    return _out_of_name(text, _is_name_of_email)


def _is_name_of_email(name: str, inner: str) -> bool:
    """Returns whether every address in a name equals the address in brackets, which is how address books write entries
    without a name.
    """
    known = cleaned_email(inner).text.lower()
    return all(each == known for each in compiled(EMAIL).findall(name.lower()))


def _without_name_of_phone(text: str) -> tuple[str, str]:
    return _out_of_name(text, lambda name, _: sum(map(str.isdigit, name)) <= _MAX_DIGITS_IN_NAMES)


def _without_mailto(text: str) -> tuple[str, str]:
    """Returns the address in a `mailto:` link, without parameters such as the subject, and a description of the removed
    parts.
    """
    found = compiled(_MAILTO).match(text)
    if found is None:
        return text, ""
    rest, _, query = text[found.end() :].partition("?")
    if "%" in rest or "@" in query or "%40" in query:  # an escaped address, or several addresses
        return text, ""
    return rest, "mailto:"


def _without_words(text: str) -> tuple[str, str]:
    """Returns the number without a label after it, such as "home", and a description of the removed parts."""
    found = compiled(_WORDS_AFTER).fullmatch(text)
    return (text, "") if found is None else (found[1], "words")


def _without_tel(text: str) -> tuple[str, str]:
    found = compiled(_TEL).match(text)
    return (text, "") if found is None else (text[found.end() :], "tel:" if ":" in found[0] else "words")


_EMAIL_LAYERS: Final[tuple[Layer, ...]] = (
    *(without_zero_width, without_formula, _without_two_marks, _without_separators, _without_name_of_email),
    *(_without_brackets, _without_mailto, _without_last_mark, _without_first_mark, without_apostrophe),
    _without_stray_brackets,
)
_PHONE_LAYERS: Final[tuple[Layer, ...]] = (
    *(without_zero_width, _with_plain_blanks, _without_equals, _without_two_marks, _without_separators),
    *(_without_name_of_phone, _without_brackets, _without_tel, _without_last_mark, _without_any_first_mark),
    *(_without_stray_brackets, _without_words),
)
