"""Which products the filters of a product set find (section 4.8). What operators mean is for the most part ours."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import orjson

from socialapi.emulator.catalogs.stock import Stock

Matches = Callable[[Any], bool]
"""Whether the value of an attribute is one that is looked for; None where a product has no such attribute."""

_AMOUNTS: Final = ("price", "sale_price")
_AMOUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ([A-Z]{3})")

_COMPARES: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "GREATER_THAN": lambda value, wanted: value > wanted,
    "EQUAL_TO": lambda value, wanted: value == wanted,
    "LESS_THAN": lambda value, wanted: value < wanted,
}


def matching(stock: Stock, filters: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """The keys of the products that all filters find; None if one of them makes no sense."""
    rules = [(each["attribute"], _matches(each)) for each in filters]
    sound = [(attribute, matches) for attribute, matches in rules if matches is not None]
    if len(sound) < len(rules):
        return None
    found = []
    for items in stock.slices():
        for item in items:
            product = orjson.loads(item.content)
            if all(matches(product.get(attribute)) for attribute, matches in sound):
                found.append(item.key)
    return found


def _matches(declared: Mapping[str, Any]) -> Matches | None:
    attribute, operator, value = declared["attribute"], declared["operator"], declared["value"]
    if attribute in _AMOUNTS:
        return _amounts(operator, str(value))
    if attribute == "inventory":
        return _numbers(operator, str(value))
    return _texts(operator, str(value))


def _amounts(operator: str, value: str) -> Matches | None:
    """Amounts in the same currency are compared; one in another currency is not looked for."""
    wanted, compares = _AMOUNT.fullmatch(value), _COMPARES.get(operator)
    if wanted is None or compares is None:
        return None
    amount, currency = Decimal(wanted[1]), wanted[2]

    def matches(price: Any) -> bool:
        found = None if price is None else _AMOUNT.fullmatch(price)
        return found is not None and found[2] == currency and compares(Decimal(found[1]), amount)

    return matches


def _numbers(operator: str, value: str) -> Matches | None:
    compares = _COMPARES.get(operator)
    if compares is None or re.fullmatch(r"-?[0-9]{1,19}", value) is None:
        return None
    wanted = int(value)
    return lambda number: number is not None and compares(number, wanted)


def _texts(operator: str, value: str) -> Matches | None:
    """EQUAL_TO is exact; the others do not look at capitals. MATCH finds whole words, all of them, in any order."""
    folded = value.casefold()
    words = frozenset(_words(folded))
    found: Mapping[str, Matches] = {
        "EQUAL_TO": lambda text: text == value,
        "MATCH": lambda text: text is not None and words <= frozenset(_words(text.casefold())),
        "CONTAINS": lambda text: text is not None and folded in text.casefold(),
        "NOT_CONTAINS": lambda text: text is None or folded not in text.casefold(),
    }
    return found.get(operator)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
