"""Reads the price objects of shop systems and their APIs.

Google, Shopify, Akeneo and Saleor use amounts; commercetools, Stripe and dinero.js use cents. An object with an unknown
key is rejected, because the key may specify a different unit, and a price must never be a hundred times too high.
"""

import re
from collections.abc import Mapping, Sequence, Sized
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final

from socialapi.bulk.inputs.numbers import is_missing, is_number
from socialapi.bulk.products.merchant_values import (
    comparable,
    decimals_of,
    known_currency,
    names_currency,
    with_currency,
)

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "value": ("value",),
    "amount": ("amount",),
    "currency": ("currency", "currencyCode"),
    "cents": ("centAmount", "unit_amount", "unit_amount_decimal", "fractionalAmount"),
    "precise": ("preciseAmount",),
    "micros": ("amountMicros", "micros"),
    "units": ("units",),
    "nanos": ("nanos",),
    "decimals": ("fractionDigits", "precision", "exponent", "scale", "decimals", "minorUnits", "currency_minor_unit"),
    "": ("type", "object", "__typename", "id", "product", "created", "billing_scheme", "tax_behavior", "formatted"),
}
"""The known keys for each role. Keys with the empty role do not affect the amount."""
MEMBERS: Final = tuple(name for role, names in _NAMES.items() if role for name in names)
"""All keys that affect the amount."""
_ROLES: Final = {comparable(name): role for role, names in _NAMES.items() for name in names}
_OTHER_ATTRIBUTES: Final = frozenset(
    comparable(name)
    for name in (
        *("vat", "vat_rate", "vat_percent", "vat_included", "includes_vat", "include_vat", "incl_vat", "with_vat"),
        *("tax", "tax_rate", "tax_percent", "tax_included", "includes_tax", "include_tax", "incl_tax", "tax_class"),
        *("mwst", "iva", "tva", "country", "country_code", "region", "market", "store", "channel", "class", "kind"),
        *("lang", "language", "locale", "label", "name", "title"),
    )
)
"""The known attributes of a price in XML that do not change it."""
_names_unit: Final = re.compile(
    "unit|uom|scale|factor|divi[ds]|multipl|decimal|digit|precision|exponent|minor|fraction|places|magnitude"
).search
_EXACT: Final = frozenset({"cents", "precise", "micros", "units", "nanos"})
"""The roles of keys whose unit is certain."""
_STRIPE_EXCEPTIONS: Final = frozenset({"ISK", "MGA", "UGX"})
"""The currencies whose smallest unit differs from ISO 4217 in some APIs."""
UNCLEAR_PRICE: Final = (
    'is an object with an ambiguous price: give {"value": "9.99", "currency": "USD"}; also accepted '
    "are amount as a string, amountMicros, centAmount, unit_amount, units with nanos, and, next to an integer amount, "
    "fractionDigits, precision, exponent, scale, decimals or minorUnits"
)
_SHORT_UNITS: Final = (
    "cents?|ct|micros?|nanos?|minor|sen|paise|paisa|gr|groszy?e?|öre|øre|rappen|kop|haler[ue]?|gbx|(?-i:GBp)"
)
_LONG_UNITS: Final = "cents|micros|pence|penny|pennies|centimes?|c[eé]ntimos?|centavos?|centesim[io]|kope[ck]s|kopeks|subunits?|hundredths"
_names_small_units: Final = re.compile(
    rf"¢|(?:^|[\W\d_])(?:{_SHORT_UNITS})(?![^\W\d_])|(?:{_LONG_UNITS})(?![^\W\d_])", re.IGNORECASE
).search
"""Finds a word for cents or micros in a name. A long word may also end another word, as in `pricecents`."""
_between_words: Final = re.compile("(?<=[a-zà-ÿ])(?=[A-Z])")
_TOO_LARGE: Final = 10**18
_is_number: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?").fullmatch
_is_places: Final = re.compile(r"-?([0-9]|1[0-2])(?:\.0)?").fullmatch


def has_currency(price: Any) -> bool:
    """Returns whether a price includes its currency."""
    if isinstance(price, Mapping):
        return any(_ROLES.get(comparable(str(name))) == "currency" for name, member in price.items() if member)
    return isinstance(price, str) and names_currency(price)


def has_amount(given: Mapping[str, Any]) -> bool:
    """Returns whether an object has a key for an amount, which need not be unambiguous."""
    return any(_ROLES.get(comparable(name), "") not in ("", "currency", "decimals") for name in given)


def attribute_matters(name: str, value: Any = "", price: Any = "") -> bool | None:
    """Returns whether an attribute in XML may change the amount or currency of a price. Returns None for an unknown
    attribute.
    """
    known = comparable(name)
    texts = [str(each) for each in (value if isinstance(value, list) else [value])]
    if known in _ROLES or known in _OTHER_ATTRIBUTES:
        return bool(_ROLES.get(known)) or (known == "type" and any(map(is_in_small_units, texts)))
    is_unit = _names_unit(known) or any(map(is_in_small_units, (name, *texts)))
    return True if is_unit or any(known_currency(text) and text not in str(price) for text in texts) else None


def is_in_small_units(name: str) -> bool:
    """Returns whether the name or path of a column shows that its amounts are in cents or micros."""
    is_known = _ROLES.get(comparable(name.rpartition(".")[2])) in ("cents", "precise")
    return is_known or _names_small_units(_between_words.sub(" ", name)) is not None


def _may_be_cents(amount: Any) -> bool:
    """Returns whether an amount is an integer or a floating-point number without a fraction. Programs turn cents into
    floats if one of them is missing. A rounding error, as in 19.99 * 100, is not a fraction.
    """
    return isinstance(amount, Integral) or (_is_float(amount) and not 0.0005 < float(amount) % 1 < 0.9995)


def _is_float(amount: Any) -> bool:
    return isinstance(amount, Real) and not isinstance(amount, Integral)


def in_main_unit(prices: Sequence[Any]) -> Sequence[Any]:
    """Returns the prices. If one of the floating-point amounts in objects has a fraction, none of them is in cents, and
    all of them become strings.
    """
    if not any(issubclass(kind, Mapping) for kind in set(map(type, prices))):
        return prices
    floats = [
        {
            name: each
            for name, each in (price.items() if isinstance(price, Mapping) else ())
            if _is_float(each) and not is_missing(each) and _ROLES.get(comparable(str(name))) == "amount"
        }
        for price in prices
    ]
    if all(_may_be_cents(each) for found in floats for each in found.values()):
        return prices
    return [
        {**price, **dict(zip(found, map(str, found.values()), strict=True))} if found else price
        for price, found in zip(prices, floats, strict=True)
    ]


def price_of(given: Mapping[Any, Any]) -> str | None:
    """Returns the price in an object. Returns an empty string if the object has no amount, and None if the price is
    ambiguous.
    """
    found: dict[str, list[Any]] = {}
    for name, member in given.items():
        if isinstance(member, Mapping) and "code" in member:  # the currency of dinero.js
            member = member["code"]  # noqa: PLW2901
        if is_missing(member) or isinstance(member, bool) or (isinstance(member, Sized) and not len(member)):
            continue
        role = _ROLES.get(comparable(str(name)))
        is_plain = isinstance(member, str) or (is_number(member) and abs(member) < _TOO_LARGE)
        if role is None or (role and not is_plain):
            return None
        found.setdefault(role, []).append(member)
    plain = [*found.get("value", ()), *found.get("amount", ())]
    currencies = set(map(str, found.get("currency", ())))
    written = {int(places[1]) if (places := _is_places(str(each))) else None for each in found.get("decimals", ())}
    if max(len(plain), len(currencies), len(written)) > 1 or None in written:
        return None
    if found.keys() <= {"currency", "decimals", ""}:
        return ""
    currency, decimals = next(iter(currencies), ""), next(iter(written), None)
    code = known_currency(currency)
    smallest = None if code is None or code in _STRIPE_EXCEPTIONS else decimals_of(code)
    if not _EXACT.isdisjoint(found):
        amount = _exact_amount(found, plain, decimals, smallest)
    elif decimals is not None:
        amount = _amount_with_decimals(plain[0], decimals)
    else:
        may_be_cents = "amount" in found and smallest != 0 and _may_be_cents(plain[0])
        amount = None if may_be_cents or is_in_small_units(str(given.get("type", ""))) else str(plain[0])
    if amount is None or not currency:
        return amount
    return f"{amount} {currency}" if code is None else with_currency(amount, code)


def _exact_amount(
    found: Mapping[str, list[Any]], plain: Sequence[Any], places: int | None, smallest: int | None
) -> str | None:
    """Returns the amount if all values agree on it, or None."""
    of_cents = smallest if places is None or "precise" in found else places
    units = {"cents": of_cents, "precise": places, "micros": 6}
    readings = {_number(each, unit) for role, unit in units.items() for each in found.get(role, ())}
    if "units" in found or "nanos" in found:
        whole, part = _number(found.get("units", [0])[0], 0), _number(found.get("nanos", [0])[0], 9)
        readings.add(None if whole is None or part is None else whole + part)
    readings.update(_number(each, 0) for each in plain)
    reading, *others = readings
    return None if others or reading is None else f"{reading:f}"


def _amount_with_decimals(amount: Any, places: int) -> str | None:
    """Returns the amount in the main unit. An integer counts units of the last of `places` decimals. Returns None if
    the amount is ambiguous.
    """
    number = _number(amount, 0)
    if number is None or number % 1:
        return None if number is None else str(amount)
    # 999.00 may be cents that became a floating-point number.
    return f"{number / 10**places:f}" if "." not in str(amount) or not places else None


def _number(member: Any, places: int | None) -> Decimal | None:
    """Returns a number divided by 10 to the power of `places`, or None if it is not a number or `places` is None."""
    text = str(member)
    return None if places is None or _is_number(text) is None else Decimal(text) / 10**places
