"""Converts the names and values that merchants and shop systems use in product feeds.

Every conversion is documented by Google Merchant Center, Meta, schema.org or ISO, or is the only possible reading. An
unknown value stays unchanged, so that the rules of `Product` reject it with a reason. A valid value is changed only if
it is clearly an error. Such errors are HTML entities in names, prices and URLs; image URLs that are repeated, separated
by `;` or `|`, or mixed with placeholders; floating-point noise after the cents of a price; and `1.299 JPY`.

These conversions would be guesses and are missing on purpose:

- Names: `stock` and `in_stock` (a number, a boolean or a string), `product_id` (the id of the group in shops with
variants), `category`, `regular_price` (may differ from `price`), `manufacturer` and `vendor` (not always the brand),
`barcode` (not always a GTIN), `images` (a URL or a list of objects), `short_description` and HTML (`body_html`), and
Meta's `fb_product_category`, which uses different ids.
- Values: words in other languages, booleans, `InStoreOnly` and `Reserved` (the product cannot be bought on its page),
`DamagedCondition`, conditions such as `like new`, and `men` or `kids` as a gender.
- Prices: symbols that several currencies share (`$`, `£`, `¥`, `kr`) without a code, and a single separator before
exactly three digits (`1,299 EUR`), which may mean 1.299 or 1299.
"""

import functools
import html.entities
import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, get_args

import attrs

from socialapi.bulk.inputs.columns import MOJIBAKE_MARK
from socialapi.bulk.inputs.leftovers import ZERO_WIDTH
from socialapi.bulk.inputs.null_words import is_null_word
from socialapi.bulk.inputs.numbers import is_gtin
from socialapi.models.money import CURRENCIES
from socialapi.models.products import MAX_ADDITIONAL_IMAGES, Levels, Price, Product
from socialapi.models.validation import Test, parse_iso_8601

OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("offer_id", "retailer_id", "sku_id"),
    "title": ("name", "product_name", "product_title"),
    "description": ("product_description",),
    "link": ("url", "product_url", "product_link", "permalink"),
    "image_link": ("image", "image_url", "image_src"),
    "mobile_link": ("mobile_url",),
    "additional_image_link": (
        *("additional_image_links", "additional_image_url", "additional_image_urls", "additional_images"),
    ),
    "availability": ("stock_status",),
    "brand": ("brand_name",),
    "gtin": ("gtins", "gtin8", "gtin12", "gtin13", "gtin14", "ean", "ean13", "upc", "isbn"),
    "mpn": ("manufacturer_part_number",),
    "taxonomy_product_category": ("google_product_category",),
    "product_type": ("product_types",),
    "inventory": (
        *("quantity", "qty", "quantity_to_sell_on_facebook", "sell_on_google_quantity"),
        *("stock_quantity", "inventory_quantity"),
    ),
    "sale_price_effective_date": ("sale_price_effective_period",),
    "item_group_id": ("retailer_product_group_id",),
    "color": ("colour",),
    "size": ("sizes",),
}
"""Other names that exporters use for the fields. Case, spaces, `_`, `-` and the prefix `g:` are ignored."""
ONLY_WITHOUT_ID: Final = "sku"
"""The name of the id column in a feed that has no other id."""
OFFER_ID: Final = "offerid"
CONTENT_LANGUAGE: Final = "contentlanguage"
"""A key of objects from Google's merchant APIs. In these objects, `offerId` is the id of the product, and `id` and
`name` are resource names of the API.
"""
CURRENCY: Final = "currency"
SALE_CURRENCY: Final = "sale_price_currency"
ON_SALE: Final = "on_sale"
UNLIKE: Final = " \u2260 "
"""Separates two currencies if the currency columns of a row contradict each other."""
COMPANION_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    CURRENCY: ("currency", "currency_code", "price_currency", "price@currency", "price.currency"),
    SALE_CURRENCY: ("sale_price_currency", "sale_currency", "sale_price_currency_code", "sale_price@currency"),
    ON_SALE: ("on_sale", "is_on_sale"),
}
"""The names of columns that are not fields, but say more about prices: the currency of prices given as plain numbers,
and whether the sale price applies.
"""

OTHER_VALUES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "availability": {
        "in stock": ("LimitedAvailability", "OnlineOnly"),
        "available for order": ("backorder", "on_backorder", "MadeToOrder"),
        "preorder": ("PreSale",),
        "out of stock": ("SoldOut",),
        "discontinued": (),
    },
    "condition": {
        "new": ("NewCondition",),
        "used": ("UsedCondition", "used_like_new", "used_very_good", "used_good", "used_fair", "used_acceptable"),
        "refurbished": ("RefurbishedCondition",),
    },
    "gender": dict.fromkeys(("female", "male", "unisex"), ()),
    "age_group": dict.fromkeys(("adult", "all ages", "teen", "kids", "toddler", "infant", "newborn"), ()),
}
"""Synonyms for the values of a field. Case, spaces, `_`, `-` and the prefix of schema.org are ignored."""


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SIGNS: Final = (
    "€ EUR Euro EUR EURO EUR euro EUR ₹ INR ₺ TRY ₴ UAH ₽ RUB ₪ ILS ₫ VND ₸ KZT ₾ GEL ₼ AZN ₱ PHP ₦ NGN ฿ THB "
    "円 JPY грн UAH грн. UAH đ VND "
    "zł PLN Kč CZK Ft HUF TL TRY Rp IDR Rp. IDR RM MYR R ZAR KSh KES S/ PEN S/. PEN R$ BRL "
    "US$ USD A$ AUD AU$ AUD CA$ CAD HK$ HKD MX$ MXN NT$ TWD NZ$ NZD RD$ DOP S$ SGD"
)
SIGNS: Final[Mapping[str, str]] = dict(zip(_SIGNS.split()[::2], _SIGNS.split()[1::2], strict=True))
"""Symbols that belong to one currency only, and the word Euro."""
SHARED_SIGNS: Final[Mapping[str, frozenset[str]]] = {
    "$": _codes("USD CAD AUD NZD SGD HKD TWD BSD BBD BMD BZD FJD JMD TTD MXN ARS CLP COP UYU DOP"),
    "£": _codes("GBP EGP GIP FKP SHP LBP SYP SDG SSP"),
    **dict.fromkeys(("¥", "￥"), _codes("JPY CNY")),
    **dict.fromkeys(("руб", "руб."), _codes("RUB BYN")),  # noqa: RUF001
    "₩": _codes("KRW KPW"),
    **dict.fromkeys(("Rs", "Rs."), _codes("INR PKR LKR NPR MUR SCR")),
    "C$": _codes("CAD NIO"),
    **dict.fromkeys(("lei", "Lei"), _codes("RON MDL")),
    **dict.fromkeys(("Fr.", "SFr."), _codes("CHF XAF XOF XPF")),
    **dict.fromkeys(("kr", "kr.", "Kr", "Kr."), _codes("SEK NOK DKK ISK")),
}
"""Symbols that several currencies share, and the codes that may appear on the other side of the number."""
WITHOUT_DECIMALS: Final = _codes("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF")
_WRITTEN_WITHOUT: Final = WITHOUT_DECIMALS | _codes("COP IDR IRR LAK LBP UZS")
"""The currencies that are written without decimals, including those whose unit is worth less than 0.0003 USD. In these
currencies, `10.000` means ten thousand, never ten.
"""
SALE_PRICE: Final = "sale_price"
PRICES: Final = frozenset({"price", SALE_PRICE})
SALE_DATES: Final = "sale_price_effective_date"
PLAIN_TEXTS: Final = ("title", "brand", "color", "size", *(f"custom_label_{number}" for number in range(5)))
"""The fields that are shown as plain text. Unlike a description, they never contain HTML."""
URLS: Final = ("link", "mobile_link", "image_link")
MAY_HAVE_ENTITIES: Final = frozenset((*PLAIN_TEXTS, *URLS))
"""The fields whose values are changed only if they contain an HTML entity."""
THREE_DECIMALS: Final = _codes("BHD IQD JOD KWD LYD OMR TND")

TWO_READINGS: Final = (
    "has three digits after its only separator, which may be a thousands or a decimal separator: write 1299.00 or 1.30"
)
SHARED_SIGN: Final = "has a symbol that several currencies share: write the ISO 4217 code, for example 9.99 USD"
NO_CURRENCY: Final = (
    'has no currency: write 9.99 EUR, or give the currency of all prices without one, constants={"currency": "EUR"}'
)
OTHER_CURRENCY: Final = (
    "has currencies that contradict each other, in the price, its currency columns or the constant currency (for a sale "
    "price, also in the price): correct one of them"
)
_PENCE: Final = frozenset({"GBp", "GBX", "gbx"})
IN_PENCE: Final = "is in pence: write it in pounds, for example 12.99 GBP"
NO_SUCH_CURRENCY: Final = "has no currency, and its currency column does not contain an ISO 4217 code, such as USD"
TOO_PRECISE: Final = "has more decimals than its currency allows: round it, for example to 9.99 USD"

_not_in_names: Final = re.compile(f"{MOJIBAKE_MARK}|[\\s_*=\"'\\-{ZERO_WIDTH}]+")
_schema_org: Final = re.compile(r"\s*(?:https?://)?(?:www\.)?schema\.org/", re.IGNORECASE)


def comparable(text: str) -> str:
    """Returns a name or value in the form used for comparison: in one case, and without spaces, `_`, `-` and other
    marks.
    """
    return _not_in_names.sub("", text).casefold().removeprefix("g:")


FIELD_SYNONYMS: Final[Mapping[str, str]] = {
    **{comparable(name): field for field, names in OTHER_NAMES.items() for name in names},
    **{comparable(each.name): each.name for each in attrs.fields(Product)},
}
"""The field for the comparable form of each name or synonym."""
_IMAGES: Final = "additional_image_link"
_NUMBERING: Final = "0123456789[]"
_OF_GOOGLE: Final = frozenset({"id", "name"})
_COMPANIONS: Final = {comparable(name): role for role, names in COMPANION_NAMES.items() for name in names}
_VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    field: {comparable(each): value for value, others in values.items() for each in (value, *others)}
    for field, values in OTHER_VALUES.items()
}


def field_of(name: str) -> str | None:
    """Returns the field that a column or key with this name contains, or None."""
    found = FIELD_SYNONYMS.get(text := comparable(name))
    if found is None and FIELD_SYNONYMS.get(text.rstrip(_NUMBERING)) == _IMAGES:
        return _IMAGES  # exporters number the columns of this field
    return found


def may_tell_id(name: str) -> bool:
    """Returns whether a column with this name may contain the id, or shows which other column does."""
    text = comparable(name)
    return text in (ONLY_WITHOUT_ID, CONTENT_LANGUAGE) or FIELD_SYNONYMS.get(text) == "id"


def fields_of(names: Sequence[str]) -> list[str | None]:
    """Returns the field of each of these columns.

    The names of several columns may mean the same field. Each row then uses the value in the column with the field's
    own name, if that cell is filled. The id is an exception: if a column is called `id`, other names of the id are
    ignored. `sku` is the id if there is no other id.
    """
    found = [field_of(name) for name in names]
    if {OFFER_ID, CONTENT_LANGUAGE}.issubset(map(comparable, names)):
        found = [None if comparable(name) in _OF_GOOGLE else field for name, field in zip(names, found, strict=True)]
    result = with_one_id(names, found)
    if "id" not in result:
        return [
            "id" if comparable(name) == ONLY_WITHOUT_ID else field for name, field in zip(names, result, strict=True)
        ]
    return result


def with_one_id(names: Sequence[str], fields: Sequence[str | None]) -> list[str | None]:
    """Returns the fields. If a column is called `id`, other names of the id are ignored: a row without an `id` must not
    replace the product that another column identifies.
    """
    has_id = any(field == "id" and is_own(name, field) for name, field in zip(names, fields, strict=True))
    return [
        None if has_id and field == "id" and not is_own(name, field) else field
        for name, field in zip(names, fields, strict=True)
    ]


def companion_of(name: str) -> str | None:
    """Returns what a column or key with this name says about prices (a key of `COMPANION_NAMES`), or None."""
    return _COMPANIONS.get(comparable(name))


def is_own(name: str, field: str) -> bool:
    """Returns whether a column has the field's own name and not a synonym."""
    text = comparable(name)
    return (text.rstrip(_NUMBERING) if field == _IMAGES else text) == comparable(field)


def understood(field: str, text: str) -> str:
    """Returns the value in the form that the service accepts, or unchanged if it is unknown."""
    convert = _CONVERSIONS.get(field)
    return text if convert is None else convert(text)


def unchanged_tests(field: str) -> tuple[Test, ...]:
    """Returns tests that show whether a valid value is unambiguous and left unchanged by `understood`. Returns no tests
    if that is true of every valid value of the field.
    """
    if field in PRICES:
        return (_has_one_reading,)
    if field in MAY_HAVE_ENTITIES:  # the caller searches many values for entities at once
        return ()
    if field == "gtin":
        return (is_gtin,)
    convert, further = _CONVERSIONS.get(field), _FURTHER_TESTS.get(field, ())
    return further if convert is None else (*further, lambda text: convert(text) == text)


def with_currency(price: str, currency: str) -> str:
    """Returns the price with this currency. A price that already has a different currency gets both, so that it is
    rejected.
    """
    code, own = known_currency(currency), understood("price", price)
    if code is None or own.endswith(f" {code}"):
        return own
    return understood("price", f"{price.strip()} {code}")


def names_currency(price: str) -> bool:
    """Returns whether a price may include its currency. A symbol that several currencies share does not count."""
    return _has_unit(_without_shared_signs("", price)) is not None


def why_not_together(price: str, currency: str) -> str | None:
    """Returns why a price cannot be read with the currency next to it, or None."""
    parts, code = _parts_of_price(price), known_currency(currency)
    units = [] if parts is None else _units(parts)
    if any(map(is_pence, currency.split(UNLIKE))) or not _PENCE.isdisjoint(units):
        return IN_PENCE
    if UNLIKE in currency:
        return OTHER_CURRENCY
    if code is not None:
        return None if _agree(units, code) else OTHER_CURRENCY
    is_needed = parts is not None and not units and bool(currency.strip()) and not is_null_word(currency.strip())
    return NO_SUCH_CURRENCY if is_needed else None


def known_currency(text: str) -> str | None:
    """Returns the currency code for a code in any case or for a currency's own symbol, or None for other strings."""
    code = SIGNS.get(text.strip(), text.strip().upper())
    return code if code in CURRENCIES and not is_pence(text) else None


def is_pence(text: str) -> bool:
    """Returns whether a string is a code of the penny, a hundredth of a pound. Only the case of `GBp` distinguishes it
    from the pound.
    """
    return text.strip() in _PENCE


def decimals_of(code: str) -> int:
    """Returns the number of decimal places of a currency."""
    return 0 if code in WITHOUT_DECIMALS else 3 if code in THREE_DECIMALS else 2


def ambiguity(field: str, text: str) -> str | None:
    """Returns why a price is ambiguous or has no currency, or None."""
    if field not in PRICES or _has_one_reading(text) is not None or (parts := _parts_of_price(text)) is None:
        return None
    units, number = _units(parts), parts["number"]
    if not units:
        return NO_CURRENCY
    if not _PENCE.isdisjoint(units):
        return IN_PENCE
    code = _code_of(units)
    if not SHARED_SIGNS.keys().isdisjoint(units) and code is None:
        return SHARED_SIGN
    is_clear = code in _WRITTEN_WITHOUT or (code in THREE_DECIMALS and "." in number)
    return None if is_clear or is_undecided(number) is None else TWO_READINGS


def _value(values: Mapping[str, str], text: str) -> str:
    return values.get(comparable(_schema_org.sub("", text, count=1).rstrip("/")), text)


_keeps_price_rule: Final = re.compile(get_args(Price)[1].expression).fullmatch
_keeps_levels_rule: Final = re.compile(get_args(Levels)[1].expression).fullmatch
_UNIT: Final = "|".join(map(re.escape, sorted({*SIGNS, *SHARED_SIGNS}, key=len, reverse=True))) + "|[A-Za-z]{3}"
_no_cents: Final = re.compile(r"(?<=[0-9])(?:([.,])[-\u2013\u2014]{1,2}|[/:][-\u2013\u2014])(?![0-9])")
"""Finds the marks that merchants write in place of zero cents: `12,-`, `1,299/-`, `99:-`."""
_before_dollar: Final = re.compile(r"(?<=[A-Z]) (?=\$)")
"""Finds the space in `US $9.99`."""
_is_price: Final = re.compile(
    rf"({_UNIT})? ?({_UNIT})? ?(?P<number>(?:(?<![^\W\d_])[.,])?[0-9](?:[0-9.,'\u2019 ]*[0-9])?) ?({_UNIT})? ?({_UNIT})?"
).fullmatch
is_undecided: Final = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}").fullmatch
_EXACT_AMOUNT: Final = r"[0-9]+(?:\.(?:[0-9]{1,2}|[0-9]{2}00+))?"
_AMOUNT: Final = r"[0-9]+(?:\.(?:[0-9]{1,2}|[0-9]{4,}))?"
is_amount: Final = re.compile(_AMOUNT).fullmatch
"""Matches an unambiguous plain number."""
_has_one_reading: Final = re.compile(f"{_EXACT_AMOUNT} [A-Z]{{3}}").fullmatch
_has_decimals: Final = re.compile(r"([0-9]+)[.,]([0-9]+)").fullmatch
_GROUPED: Final = tuple(
    re.compile(pattern).fullmatch
    for pattern in (
        r"([1-9][0-9]{0,2}(?:,[0-9]{3})+)\.([0-9]+)",
        r"([1-9][0-9]{0,2}(?:\.[0-9]{3})+),([0-9]+)",
        r"([1-9][0-9]{0,2}(?:,[0-9]{3}){2,})()",
        r"([1-9][0-9]{0,2}(?:\.[0-9]{3}){2,})()",
        r"([1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?:\.([0-9]+))?",  # as in India
        r"([1-9][0-9]{0,2}(?: [0-9]{3})+)(?:[.,]([0-9]+))?",
        r"([1-9][0-9]{0,2}(?:['\u2019][0-9]{3})+)(?:[.,]([0-9]+))?",
    )
)
_has_unit: Final = re.compile(r"[^0-9.,:'\u2019\s/\-\u2013\u2014]").search
"""Finds a character in a price that is not a digit, separator or space, and so may be part of a currency."""
_without_shared_signs: Final = re.compile("|".join(map(re.escape, sorted(SHARED_SIGNS, key=len, reverse=True)))).sub
_not_digits: Final = re.compile(r"[^0-9]")


def _price(text: str) -> str:
    """Returns a price as a number, a space and a currency code, without floating-point noise."""
    price = _plain_price(text)
    return without_noise(price) or price


_is_precise: Final = re.compile(r"([0-9]{1,15}\.[0-9]{4,60}) ([A-Z]{3})").fullmatch
_MOST_NOISE: Final = Decimal("0.000001")


def without_noise(price: str) -> str | None:
    """Returns a price rounded to its currency's decimals, or None if more than floating-point noise would be lost."""
    if (found := _is_precise(price)) is None:
        return price
    amount, code = Decimal(found[1]), found[2]
    rounded = round(amount, decimals_of(code))
    if rounded == amount:
        return price
    return f"{rounded:f} {code}" if abs(rounded - amount) < _MOST_NOISE else None


def _plain_price(text: str) -> str:
    if (parts := _parts_of_price(text)) is None:
        return text
    code, number = _code_of(_units(parts)), parts["number"]
    if _keeps_price_rule(text) is not None and (code not in _WRITTEN_WITHOUT or is_undecided(number) is None):
        return text
    amount = None if code is None else plain_amount(number, has_decimals=code not in _WRITTEN_WITHOUT)
    return text if amount is None else f"{amount} {code}"


def interval_of(given: Mapping[Any, Any]) -> str | None:
    """Returns the interval in an object with a start and an end time, or None for any other object."""
    start, end = given.get("startTime"), given.get("endTime")
    return f"{start}/{end}" if isinstance(start, str) and isinstance(end, str) else None


def _parts_of_price(text: str) -> re.Match[str] | None:
    """Matches the number of a price, and up to two units on either side. Returns None for other strings."""
    plain = _before_dollar.sub("", even_blanks(_without_entities(text)))
    return _is_price(_no_cents.sub(lambda found: f"{found[1] or '.'}00", plain))


def even_blanks(text: str) -> str:
    """Returns a string with single spaces between its words."""
    return " ".join(text.split())


def _units(parts: re.Match[str]) -> list[str]:
    return [unit for unit in parts.group(1, 2, 4, 5) if unit is not None]


def _code_of(units: Sequence[str]) -> str | None:
    """Returns the currency that the units of a price name, or None if they contradict each other."""
    codes = {known_currency(unit) for unit in units if unit not in SHARED_SIGNS}
    code = next(iter(codes), None)
    return code if len(codes) == 1 and code is not None and _agree(units, code) else None


def _agree(units: Sequence[str], code: str) -> bool:
    return all(code in SHARED_SIGNS.get(unit, (known_currency(unit),)) for unit in units)


def plain_amount(number: str, *, has_decimals: bool = True) -> str | None:
    """Returns a number with a decimal point and no group separators, or None if it is ambiguous or not a number."""
    if number.isdecimal():
        return number
    if number[:1] in (".", ","):
        number = f"0{number}"
    if is_undecided(number) is not None:
        return None if has_decimals else _not_digits.sub("", number)
    if (found := _has_decimals(number)) is not None:
        return f"{found[1]}.{found[2]}"
    for is_grouped in _GROUPED:
        if (found := is_grouped(number)) is not None:
            whole = _not_digits.sub("", found[1])
            return f"{whole}.{found[2]}" if found[2] else whole
    return None


_is_labelled: Final = re.compile(
    r"(?:(?:ean|upc|gtin|jan|isbn)(?:[ _-]?(?:8|1[0-4]|[ae]))?(?![0-9a-z])[^0-9a-z]*|\(01\)\s*)?"
    r"([0-9](?:[0-9\s\u2010-\u2015-]*[0-9])?)",
    re.IGNORECASE,
).fullmatch
"""Matches a product code, alone, after its name (`EAN-13: 4 006381 333931`) or after GS1's identifier (`(01)`)."""
_between_codes: Final = re.compile(r"[\s,;|/]+").split


def gtins_in(text: str) -> list[str]:
    """Returns the GTINs in a cell, with names, spaces and hyphens removed, or an empty list if any of them is invalid."""
    for pieces in ([text], _between_codes(text)):
        found = [_not_digits.sub("", labelled[1]) for each in pieces if (labelled := _is_labelled(each)) is not None]
        if len(found) == len(pieces) and all(map(is_gtin, found)):
            return list(dict.fromkeys(found))
    return []


_is_moment: Final = re.compile(
    r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})(?:[Tt]|\s+)"
    r"([0-9]{2}):?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]*))?)?\s*(?:([Zz])|([+-][0-9]{2})(?::?([0-9]{2}))?)"
).fullmatch


def _interval(text: str) -> str:
    """Returns an interval as two ISO 8601 times that are separated by a slash. Returns other strings unchanged."""
    moments = [_moment(part.strip()) for part in text.split("/")]
    return "/".join(map(str, moments)) if len(moments) == 2 and None not in moments else text


def _moment(text: str) -> str | None:
    """Returns a time in the extended format of ISO 8601, with colons that merchants omit, or None for other strings."""
    if parse_iso_8601(text) is not None:
        return text
    if (found := _is_moment(text)) is None:
        return None
    year, month, day, hour, minute, second, fraction, utc, hours, minutes = found.groups()
    seconds = "" if second is None else f":{second}" + (f".{fraction}" if fraction else "")
    offset = "Z" if utc else f"{hours}:{minutes or '00'}"
    return f"{year}-{month}-{day}T{hour}:{minute}{seconds}{offset}"


_PLAIN_URL: Final = r"https?://[^\s/,;|<][^\s,;|<]*"
_are_plain_urls: Final = re.compile(rf"{_PLAIN_URL}(?:,{_PLAIN_URL})*", re.IGNORECASE).fullmatch
has_next_url: Final = re.compile(
    r"""[\s>]https?://
    |\Ahttps?://([^\s/?#,;|]+)(?=[/?#,;|])\S*?[,;|]https?://\1(?![\w.-])  # of the same host
    |\.(?:jpe?g|png|gif|webp)(?:[?#][^\s,;|]{0,200})?[,;|]https?://""",
    re.IGNORECASE | re.VERBOSE,
).search
"""Finds another URL, unless it is part of the first, like the target of a redirect."""
may_have_next_url: Final = re.compile(r"[,;|]https?://", re.IGNORECASE).search
_starts_url: Final = re.compile(r"https?://", re.IGNORECASE).match
_between_images: Final = re.compile(
    r"((?:[\s,;|]|(?:<|&lt;)/?(?:br|p|li|ul|div)\s{0,9}/?(?:>|&gt;))+)", re.IGNORECASE
)  # fmt: skip
_ends_image: Final = re.compile(r"[^?#]*\.(?:jpe?g|png|gif|webp)", re.IGNORECASE).fullmatch


def _images(text: str) -> str:
    """Returns image URLs separated by commas, without duplicates and placeholders.

    A comma within a URL becomes %2C. A comma counts as part of a URL unless it follows a complete image name or a
    space. A piece that is not a URL gets a leading space, so that the field's rule rejects it.
    """
    pieces = pieces_of_images(text)
    if _are_plain_urls(text) is not None and len(set(pieces)) == len(pieces):
        return text
    urls = list[str]()
    for sign, piece in zip(["", *_between_images.findall(text)], _between_images.split(text)[::2], strict=True):
        if not piece or is_null_word(piece):
            continue
        if not _starts_url(piece) and urls and _starts_url(urls[-1]):
            is_more = "=" in piece if sign == ";" else sign == "," and piece[0] != "/" and not _ends_image(urls[-1])
            if is_more:
                urls[-1] += ("%2C" if sign == "," else sign) + piece
                continue
        urls.append(piece if _starts_url(piece) else f" {piece}")
    return ",".join(dict.fromkeys(urls))


def _without_brackets(text: str) -> str:
    """Returns the strings of a JSON array, separated by commas. Returns other strings unchanged."""
    try:
        texts = json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        return text
    return ",".join(str(each) for each in texts if each is not None) if isinstance(texts, list) else text


def pieces_of_images(text: str) -> list[str]:
    """Returns the pieces between the separators of image URLs."""
    return _between_images.split(text)[::2]


def _levels(text: str) -> str:
    if has_entity(text) is None and _keeps_levels_rule(text) is not None:
        return text
    levels = [level.strip() for level in _arrow.sub(">", _without_entities(text)).split(">")]
    return " > ".join(levels) if all(levels) else text


_arrow: Final = re.compile("[-=>]+>")
_between_paths: Final = re.compile("[,;|](?! [^>]*&)").split  # as in `Food > Grains, Rice & Cereal > Rice`


def categories_in(text: str) -> list[str]:
    """Returns the category paths in a string. If every separated part has several levels, each part is a path.
    Otherwise the whole string is one path.
    """
    paths = [path.strip() for path in _between_paths(text)]
    return paths if all(" > " in path for path in paths) else [text]


_ENTITY: Final = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
has_entity: Final = _ENTITY.search
_AMPERSAND: Final = re.compile("&(?:(?:amp|#0{0,4}38|#[xX]0{0,4}26);)+")
"""Matches an ampersand that was escaped one or more times."""
_MOST_ESCAPES: Final = 3
"""The maximum number of times that a value was escaped: for HTML, for XML, and once more by another program."""


def _of_entity(found: re.Match[str]) -> str:
    name = found[1]
    if name[0] != "#":
        return html.entities.html5.get(f"{name};", found[0])
    character = html.unescape(found[0])
    is_shown = character and character != "\ufffd" and (character.isprintable() or character == "\xa0")
    return character if is_shown else found[0]


def _without_entities(text: str) -> str:
    """Returns the value with HTML entities replaced, or unchanged if it was escaped too often."""
    if has_entity(text) is None:
        return text
    plain = text
    for _ in range(_MOST_ESCAPES + 1):
        before, plain = plain, _ENTITY.sub(_of_entity, plain)
        if plain == before:
            return plain.replace("\xa0", " ").strip()
    return text


def _url(text: str) -> str:
    return _AMPERSAND.sub("&", text)


_CONVERSIONS: Final[Mapping[str, Callable[[str], str]]] = {
    **{field: functools.partial(_value, values) for field, values in _VALUES.items()},
    "price": _price,
    "sale_price": _price,
    "sale_price_effective_date": _interval,
    "additional_image_link": lambda text: _images(_url(_without_brackets(text))),
    "product_type": _levels,
    **dict.fromkeys(PLAIN_TEXTS, _without_entities),
    **dict.fromkeys(URLS, _url),
}
_FURTHER_TESTS: Final[Mapping[str, tuple[Test, ...]]] = {
    "product_type": (lambda text: len(categories_in(text)) == 1,),
    "additional_image_link": (lambda text: text.count(",") < MAX_ADDITIONAL_IMAGES,),
}
