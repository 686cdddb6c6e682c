"""Cleans the values of products: removes artifacts of spreadsheets, databases and shop systems."""

import re
from collections.abc import Mapping
from typing import Final

import attrs

from socialapi.bulk.inputs.leftovers import is_mojibake, unwrapped, without_zero_width
from socialapi.bulk.inputs.null_words import NULL_WORDS, is_null_word, written_forms
from socialapi.bulk.inputs.numbers import has_length_of_gtin, is_gtin, looks_like_float
from socialapi.bulk.inputs.reader import has_undecoded
from socialapi.bulk.products.merchant_values import (
    PLAIN_TEXTS,
    PRICES,
    TOO_PRECISE,
    UNLIKE,
    URLS,
    ambiguity,
    categories_in,
    even_blanks,
    gtins_in,
    has_next_url,
    is_undecided,
    may_have_next_url,
    pieces_of_images,
    plain_amount,
    understood,
    why_not_together,
    with_currency,
    without_noise,
)
from socialapi.bulk.products.rows import FIELDS, REQUIRED
from socialapi.internal.records import FrozenRecord
from socialapi.models.products import MAX_ADDITIONAL_IMAGES
from socialapi.reports import CLEANED, LOOKS_LIKE_FLOAT, MOJIBAKE, NULL_WORD

IDENTIFIERS: Final = frozenset({"id", "gtin", "mpn", "item_group_id", "product_key", "item_group_key"})
CATEGORY: Final = "product_type"
IMAGES: Final = "additional_image_link"
"""The only field that may have several columns or several values in a cell."""

NOT_UTF8: Final = "is not UTF-8 text: save the file as UTF-8"
NOT_UNICODE: Final = "is not UTF-8 text"
NUL: Final = "holds a NUL byte"
CONTROL: Final = "has a control character"
INVISIBLE: Final = "has an invisible character, such as a line break or a zero-width space: remove it"
LOST_CHARACTER: Final = (
    "has a \ufffd in place of a character that was lost, and is sent unchanged: export the file again as UTF-8"
)
TWO_COUNTS: Final = (
    "has three digits after its only separator, which may be a thousands or a decimal separator: write 1000 or 1"
)
ROUNDED: Final = (
    "was rounded by a spreadsheet or a program (1.23457E+11), and its last digits are lost: export the column as text"
)
WITHOUT_MARKS: Final = (
    f'{CLEANED}: characters that a spreadsheet or copying adds around a value (="…", an apostrophe, invisible '
    "characters, and for ids also quotation marks) are removed"
)
WITHOUT_CONTROLS: Final = f"{CLEANED}: control characters are removed"
NO_GTIN: Final = (
    "is not a GTIN, and is sent unchanged: a GTIN has 8, 12, 13 or 14 digits, including the leading zeros that "
    "spreadsheets remove"
)
WRONG_CHECK_DIGIT: Final = (
    "is not a GTIN, and is sent unchanged: its last digit, the check digit, does not match the others"
)
FIRST_OF_SEVERAL: Final = "has several values; the first one is sent"
MAY_BE_SEVERAL: Final = "may have several categories, and is sent unchanged: give one"
COMMENTED_OUT: Final = "begins with #, as if the row were commented out: delete the row if it is"
FIRST_IMAGE: Final = "has several URLs; the first one is sent here, and the others as additional_image_link"
FIRST_IMAGES: Final = f"has more than {MAX_ADDITIONAL_IMAGES} URLs; the first {MAX_ADDITIONAL_IMAGES} are sent"
SEVERAL_URLS: Final = "has several URLs: give one"
MAY_BE_SEVERAL_URLS: Final = "may have several URLs, and is sent unchanged: give one"
BLANK_IN_URL: Final = "has a blank in its URL: write %20 instead"
WITHOUT_LABEL: Final = f"{CLEANED}: the label, spaces and hyphens of a GTIN are removed"
WITHOUT_POINT: Final = f"{CLEANED}: the .0 of a number is removed"
NOT_BELOW_ZERO: Final = f"{CLEANED}: a number below 0 is sent as 0"
NO_CODE: Final = "is a placeholder: the product has no such code"
NOT_ON_SALE: Final = "is not sent, because the row says that the product is not on sale"
KIND_OF_SHOP: Final = "is a shop system's product kind, not a category, and is not sent"


SHOP_KINDS: Final = (
    *("simple", "configurable", "grouped", "bundle", "virtual", "downloadable", "giftcard"),  # Magento
    *("variable", "variation", "external", "variable-subscription", "subscription_variation"),  # WooCommerce
)
"""The product kinds that shop systems write into a `product_type` column."""
CONTROLS: Final = bytes({*range(32)} - {*b"\t\n\r"}) + b"\x7f"

_OF_WORDS: Final = frozenset({"title", "description", "brand"})
"""The fields in which a leading apostrophe may be part of the value, such as the brand '47."""
_is_formula: Final = re.compile(r'="([^"]*)"').fullmatch
_is_guarded: Final = re.compile("'[=+@-]").match
starts_marked: Final = re.compile("=\"|'").match
"""Matches the start of a value that a spreadsheet may have marked as text."""
_has_control: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]").search
_CONTROLS_TO: Final = {code: " " if code in b"\x0b\x0c" else None for code in CONTROLS}
_is_rounded: Final = re.compile(r"[+-]?[0-9]+[.,][0-9]+[eE](?:[+-][0-9]+|[0-9]{2,})").fullmatch
_has_point: Final = re.compile(r"([0-9]{1,15})[.,]0+").fullmatch
_is_count: Final = re.compile(r"(-?)([0-9](?:[0-9.,'\u2019 ]*[0-9])?)").fullmatch
_MOST_DIGITS: Final = 18
_MOST_DIGITS_OF_FLOAT: Final = 15
_INVISIBLE: Final = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Matches characters that are invisible in every script."""
has_invisible: Final = _INVISIBLE.search
has_break: Final = re.compile("[\t\n\r\x80-\x9f\u2028\u2029]").search
may_be_damaged: Final = re.compile("[\u00c2-\u00f4][\u0080-\uffff]|\ufffd").search
"""Finds two adjacent letters that may be one letter read in the wrong encoding, or a replacement character."""
_FREE_TEXTS: Final = frozenset({*PLAIN_TEXTS, "description", CATEGORY, "taxonomy_product_category"})
"""The fields in which an invisible character may belong to the text."""
_is_service_price: Final = re.compile(r"[0-9]+(?:\.[0-9]+)? [A-Z]{3}").fullmatch
"""Matches a price in the format of the service."""


NULL_FORMS: Final = frozenset(form for word in NULL_WORDS for form in written_forms(word))
_SHOP_FORMS: Final = frozenset(form for word in SHOP_KINDS for form in written_forms(word))
_ZEROS: Final = frozenset("0" * length for length in range(1, 15))
_NO_CODES: Final = frozenset(
    form
    for words in ("does not apply", "nicht zutreffend", "ne s'applique pas", "no aplicable", "non applicabile", "false")
    for form in written_forms(words)
)
"""The phrases that marketplaces write in place of a product code, and the word that Odoo writes."""
_SIZES: Final = frozenset({"-", *written_forms("na")})


def _left_out_of(field: str) -> frozenset[str]:
    if field in REQUIRED:
        return frozenset()
    if field in ("size", "color"):
        return NULL_FORMS - _SIZES
    others = {CATEGORY: _SHOP_FORMS, "gtin": _ZEROS | _NO_CODES, "mpn": _NO_CODES, "item_group_id": _NO_CODES}
    return NULL_FORMS | others.get(field, frozenset())


LEFT_OUT: Final[Mapping[str, frozenset[str]]] = {field: _left_out_of(field) for field in FIELDS}
"""The values of each field that are not sent because they mean "no value"."""


@attrs.frozen
class TextReading(FrozenRecord):
    """The value to send (an empty string is not sent), the problem or None, and warnings for the report. `images` are
    the additional images in an `image_link`.
    """

    value: str | int
    problem: str | None = None
    warnings: tuple[str, ...] = ()
    images: str = ""


def read_text(field: str, text: str, currency: str | None = None) -> TextReading:
    """Reads a trimmed value of a field. `currency` is the currency from the column next to a price. An unknown value
    stays unchanged, so that the rules of the field reject it.
    """
    warnings = list[str]()
    if (plain := without_marks(field, text)) != text:
        warnings.append(WITHOUT_MARKS)
    if _has_control(plain) is not None and field not in IDENTIFIERS:
        plain = plain.translate(_CONTROLS_TO).strip()
        warnings.append(WITHOUT_CONTROLS)
    if (problem := _problem(plain)) is not None:
        return TextReading(text, problem)
    if may_be_damaged(plain) is not None and ("\ufffd" in plain or is_mojibake(plain)):
        warnings.append(LOST_CHARACTER if "\ufffd" in plain else MOJIBAKE)
    if not plain or plain in LEFT_OUT[field]:
        reason = NULL_WORD if plain in NULL_FORMS else KIND_OF_SHOP if field == CATEGORY else NO_CODE
        return TextReading("", None, (*warnings, reason) if plain else tuple(warnings))
    if field == "inventory":
        return _count(plain, warnings)
    if field in IDENTIFIERS:
        return _identifier(field, plain, warnings)
    if currency is not None:
        if (problem := why_not_together(plain, currency)) is not None:
            # The value with both goes to the rejects file, which may have no column for the currency.
            return TextReading(f"{text} {currency.replace(UNLIKE, ' ')}", problem)
        plain = with_currency(plain, currency)
    return _other(field, plain, warnings)


def _problem(text: str) -> str | None:
    """Returns why a value cannot be sent in any field, or None if it can."""
    if "\0" in text:
        return NUL
    if _has_control(text) is not None:
        return CONTROL
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return NOT_UTF8 if has_undecoded(text) is not None else NOT_UNICODE
    return None


def without_marks(field: str, text: str) -> str:
    """Returns a value without the marks that a spreadsheet puts around it."""
    if field in IDENTIFIERS and field != "mpn":  # an mpn may end in an inch mark
        plain = unwrapped(text).text
        return plain if plain in text else text  # nothing inside an id is removed
    visible = _INVISIBLE.sub("", text).strip()
    if not visible or field not in IDENTIFIERS | _FREE_TEXTS:
        text = visible
    if (formula := _is_formula(text)) is not None:
        return formula[1].strip()
    is_marked = text.startswith("'") and (text == "'" or not text.endswith("'"))
    if is_marked and (field not in _OF_WORDS or _is_guarded(text)):
        return text[1:].lstrip()
    return text


def _count(text: str, warnings: list[str]) -> TextReading:
    if (found := _is_count(even_blanks(text))) is None:
        return TextReading(text, None, tuple(warnings))
    if is_undecided(found[2]) is not None:
        return TextReading(text, TWO_COUNTS)
    whole, _, decimals = (plain_amount(found[2]) or "").partition(".")
    if not whole or decimals.strip("0") or len(whole) > (_MOST_DIGITS_OF_FLOAT if decimals else _MOST_DIGITS):
        return TextReading(text, None, tuple(warnings))
    if found[1] == "-" and int(whole) > 0:
        return TextReading(0, None, (*warnings, NOT_BELOW_ZERO))
    return TextReading(int(whole), None, tuple(warnings))


def _identifier(field: str, text: str, warnings: list[str]) -> TextReading:
    is_float = looks_like_float(text) is not None
    if _is_rounded(text) is not None or (field == "gtin" and is_float and "e" in text.lower()):
        return TextReading(text, ROUNDED)
    if has_invisible(text) is not None or has_break(text) is not None or without_zero_width(text)[0] != text:
        return TextReading(text, INVISIBLE)
    if field == "gtin":
        if (whole := _has_point(text)) is not None:
            text = whole[1]
            warnings.append(WITHOUT_POINT)
        codes = gtins_in(text) or [text]
        if codes[0] != text:
            warnings.append(FIRST_OF_SEVERAL if len(codes) > 1 else WITHOUT_LABEL)
        elif not is_gtin(text):
            warnings.append(WRONG_CHECK_DIGIT if has_length_of_gtin(text) is not None else NO_GTIN)
        return TextReading(codes[0], None, tuple(warnings))
    if field == "id" and text[0] == "#":
        warnings.append(COMMENTED_OUT)
    if is_float:
        warnings.append(LOOKS_LIKE_FLOAT)
    return TextReading(text, None, tuple(warnings))


def _other(field: str, text: str, warnings: list[str]) -> TextReading:
    if field in URLS and has_next_url(text) is not None:
        if field != "image_link":
            return TextReading(text, SEVERAL_URLS)
        first, _, further = understood(IMAGES, text).partition(",")
        return TextReading(first, None, (*warnings, FIRST_IMAGE), further)
    if field in URLS and len(text.split()) > 1:
        return TextReading(text, BLANK_IN_URL)
    if field in URLS and may_have_next_url(text) is not None:
        warnings.append(MAY_BE_SEVERAL_URLS)
    meant, unclear = understood(field, text), ambiguity(field, text)
    if field == IMAGES:
        # A single mark, as in `a.jpg - b.jpg`, is a separator.
        has_null_words = any(len(each) > 1 and is_null_word(each) for each in pieces_of_images(text))
        warnings += [NULL_WORD] if has_null_words and meant != text else []
        urls = meant.split(",")
        warnings += [FIRST_IMAGES] if len(urls) > MAX_ADDITIONAL_IMAGES else []
        meant = ",".join(urls[:MAX_ADDITIONAL_IMAGES])
    if field == CATEGORY and len(paths := categories_in(meant)) > 1:
        # A comma may also be part of a name, unless the paths have a level in common; before a space, the first one.
        levels = [set(path.split(" > ")[: 1 if ", " in meant else None]) for path in paths]
        is_sure = "," not in meant or set.intersection(*levels) != set()
        warnings.append(FIRST_OF_SEVERAL if is_sure else MAY_BE_SEVERAL)
        meant = paths[0] if is_sure else meant
    if field in PRICES and without_noise(meant) is None:
        return TextReading(text, TOO_PRECISE)
    if unclear is not None:
        if meant == text and not _is_service_price(text):
            return TextReading(text, unclear)
        warnings.append(unclear)
    return TextReading(meant, None, tuple(warnings))
