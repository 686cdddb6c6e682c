"""Catalogs, their products in order of submission, and their product sets."""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import attrs
import orjson

from socialapi.emulator.responses import packed_json

MADE_BY_THE_SERVICE: Final = ("product_key", "item_group_key")
"""The product fields that the service adds, and that clients do not send."""

SLICE: Final = 1_000
"""The number of products to process before other requests are served."""


@attrs.frozen
class Item:
    """A product. `content` is what the client sent, as `content_of` encodes it."""

    id: str
    key: str
    group_id: str | None
    content: bytes = attrs.field(repr=False)


@attrs.define
class _Group:
    """The products with one `item_group_id`, as ascending positions among all products."""

    key: str
    positions: list[int] = attrs.field(factory=list)


def content_of(product: Mapping[str, Any]) -> bytes:
    """Returns the fields that a client sends as JSON, with sorted names and without spaces, so that equal fields give
    equal bytes.
    """
    said = {name: value for name, value in product.items() if name not in MADE_BY_THE_SERVICE}
    return packed_json(said, sort_keys=True)


class Stock:
    """The products of a catalog by id and key.

    A hundred thousand products fit into memory, because each is stored as bytes.
    """

    def __init__(self) -> None:
        self._rows: list[Item | None] = []
        self._positions: dict[str, int] = {}
        self._ids: dict[str, str] = {}
        self._groups: dict[str, _Group] = {}
        self._group_ids: dict[str, str] = {}

    @property
    def size(self) -> int:
        """The number of products."""
        return len(self._positions)

    def get(self, product_id: str) -> Item | None:
        """Returns the product with this id, which the client chose."""
        position = self._positions.get(product_id)
        return None if position is None else self._rows[position]

    def with_key(self, key: str) -> Item | None:
        """Returns the product with this key, which the service chose."""
        product_id = self._ids.get(key)
        return None if product_id is None else self.get(product_id)

    def put(self, item: Item, new_group_key: str) -> None:
        """Appends a product, or replaces the content of an existing one in place. `new_group_key` becomes the key of
        the product's group if the product starts a group.
        """
        position = self._positions.get(item.id)
        if position is None:
            position = self._positions[item.id] = len(self._rows)
            self._ids[item.key] = item.id
            self._rows.append(item)
        else:
            self._leave_group(position)
            self._rows[position] = item
        if item.group_id is not None:
            group = self._groups.get(item.group_id)
            if group is None:
                group = self._groups[item.group_id] = _Group(new_group_key)
                self._group_ids[new_group_key] = item.group_id
            insort(group.positions, position)

    def remove(self, key: str) -> bool:
        """Removes the product with the key. Returns whether there was one."""
        product_id = self._ids.pop(key, None)
        if product_id is None:
            return False
        position = self._positions.pop(product_id)
        self._leave_group(position)
        self._rows[position] = None
        return True

    def fields(self, item: Item) -> dict[str, Any]:
        """Returns all fields of a product, including fields that the service created."""
        made = {"product_key": item.key}
        if item.group_id is not None:
            made["item_group_key"] = self._groups[item.group_id].key
        return {**orjson.loads(item.content), **made}

    def at(self, position: int) -> Item:
        """Returns the product at a position that `positions` yielded."""
        item = self._rows[position]
        assert item is not None
        return item

    def positions(self, after: int, group_key: str | None) -> Iterator[int]:
        """Yields the positions after the given one, either of the first product in each group or of all products in one
        group.
        """
        if group_key is not None:
            group = self._groups.get(self._group_ids.get(group_key, ""))
            positions = [] if group is None else group.positions
            return iter(positions[bisect_right(positions, after) :])
        return (
            position
            for position in range(after + 1, len(self._rows))
            if (item := self._rows[position]) is not None
            and (item.group_id is None or self._groups[item.group_id].positions[0] == position)
        )

    def slices(self) -> Iterator[list[Item]]:
        """Yields all products in lists of at most `SLICE`. Products added after the start are not included."""
        rows = list(self._rows)
        for start in range(0, len(rows), SLICE):
            yield [item for item in rows[start : start + SLICE] if item is not None]

    def _leave_group(self, position: int) -> None:
        item = self._rows[position]
        if item is None or item.group_id is None:
            return
        group = self._groups[item.group_id]
        del group.positions[bisect_left(group.positions, position)]
        if not group.positions:
            del self._groups[item.group_id], self._group_ids[group.key]


Matches = Callable[[Any], bool]
"""A function that returns whether the value of an attribute matches. The value is None if a product lacks the
attribute.
"""

_AMOUNTS: Final = ("price", "sale_price")
_AMOUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ([A-Z]{3})")

_COMPARES: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "GREATER_THAN": lambda value, wanted: value > wanted,
    "EQUAL_TO": lambda value, wanted: value == wanted,
    "LESS_THAN": lambda value, wanted: value < wanted,
}


def matching(stock: Stock, filters: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """Returns the keys of the products that match all filters, or None if a filter is invalid."""
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
    """Returns a function that compares amounts. An amount in another currency never matches."""
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
    """Returns a function that compares strings. EQUAL_TO is exact, and the other operators ignore case. MATCH requires
    all words, as complete words, in any order.
    """
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


@attrs.define(kw_only=True)
class SetOfProducts:
    """A product set: MANUAL with the keys of its products, or FILTERED, whose products are determined at `due_at`."""

    id: str
    name: str
    type: str
    description: str | None = None
    filters: list[dict[str, Any]] = attrs.field(factory=list)
    due_at: float = 0.0
    status: str | None = None
    product_keys: list[str] = attrs.field(factory=list)


@attrs.define
class Catalog:
    """A product catalog of a user, who has at most one."""

    id: str
    user_id: str
    name: str
    stock: Stock = attrs.field(factory=Stock, repr=False)
    sets: dict[str, SetOfProducts] = attrs.field(factory=dict, repr=False)

    def settle(self, now: float) -> None:
        """Fills the sets that are due. It must be called before products change."""
        for each in self.sets.values():
            if each.status == "PROCESSING" and each.due_at <= now:
                keys = matching(self.stock, each.filters)
                each.status, each.product_keys = ("FAILED", []) if keys is None else ("DONE", keys)
