"""A realistic dirty product feed for the demo, together with what must become of it.

Products are made from clean values, which are then written as shops write them: with stray blanks, with columns that
no product has, in groups of variants. Some rows repeat an earlier id, with another price or with nothing new; some are
wrong, each in one known way. The truth is computed on the way, with nothing of the SDK, so that it can judge what the
SDK made of the file.
"""

import csv
import os
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from socialapi.cli.row_mix import mixed

T = TypeVar("T")

COLUMNS: Final = (
    *("id", "Title", "description", "availability", "condition", "price", "link", "image link", "brand", "gtin"),
    *("inventory", "sale_price", "product_type", "item_group_id", "color", "size", "additional_image_link"),
    *("custom_label_0", "shelf"),
)
_SHOP: Final = "https://shop.example"
_INVENTED: Final = "shelf"
"""A column that no product has."""

Fields = dict[str, Any]


@attrs.frozen(kw_only=True)
class ExpectedCatalog:
    """What loading the file into an empty catalog must do: the outcome of its rows, and every product by id.

    `created`, `updated` and `unchanged` are so when every answer arrives; one that is lost makes its products
    unchanged, as they are put a second time.
    """

    read: int
    rejected: int
    created: int
    updated: int
    unchanged: int
    warnings: int
    products: Mapping[str, Fields] = attrs.field(repr=False)

    @property
    def accepted(self) -> int:
        """Rows that the service takes."""
        return self.created + self.updated + self.unchanged


def write_product_feed(path: str | os.PathLike[str], rows: int, *, seed: int = 25) -> ExpectedCatalog:
    """Write a feed of exactly `rows` rows, and return its truth: 3 % repeat an id, 2 % are wrong.

    The same seed writes the same file. Rows go to disk as they are made.
    """
    feed = _Feed(seed)
    # What cannot be decoded comes from lone surrogates, which stand for single bytes.
    with Path(path).open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(COLUMNS)
        writer.writerows(feed.rows(rows))
    return ExpectedCatalog(
        read=rows,
        rejected=feed.rejected,
        created=feed.created,
        updated=feed.updated,
        unchanged=feed.unchanged,
        warnings=feed.warnings,
        products=feed.products,
    )


_THINGS: Final = (
    ("Ridge jacket", "Clothing > Jackets", "XS S M L XL"),
    ("Fjällräven-style trousers", "Clothing > Trousers", "36 38 40 42"),
    ("Cairn boots", "Shoes > Boots", "38 39 40 41 42 43 44"),
    ("Gale tent", "Equipment > Tents", "2 3 4"),
    ('Mug, 0.3 l, "enamel"', "Kitchen > Cups", "one"),
    ("登山靴", "Shoes > Boots", "24.5 25 25.5 26"),
)
_COLORS: Final = ("moss", "rust", "slate", "sand", "plum", "Petrol")
_CURRENCY: Final = "EUR"
_AVAILABILITY: Final = (*(5 * ("in stock",)), "preorder", "out of stock", "available for order", "discontinued")
_NOTATIONS: Final[tuple[Callable[[str], str], ...]] = (*(6 * (str,)), lambda t: f" {t}", lambda t: f"{t}  ")
_RECENT: Final = 400
"""A repeated row repeats one of so many good rows before it."""


class _Feed:
    """The rows and, beside them, their truth."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # to be reproducible; nothing here is secret
        self._draw = self._random.random
        self._made = 0
        self._variants: deque[Fields] = deque()
        self._recent: deque[str] = deque(maxlen=_RECENT)
        self.created = self.updated = self.unchanged = self.rejected = self.warnings = 0
        self.products: dict[str, Fields] = {}

    def rows(self, count: int) -> Iterator[Sequence[str]]:
        """So many rows. Every 200 in a row have the same share of each kind, in another order."""
        shares: dict[Callable[[], Sequence[str]], int] = {
            self._good: 186,
            self._without_category: 2,
            self._in_capitals: 2,
            self._changed: 5,
            self._same_again: 1,
            self._wrong: 3,
            self._wrong_change: 1,
        }
        return mixed(shares, count, self._random)

    # rows that are accepted

    def _good(self) -> Sequence[str]:
        return self._accept(self._product())

    def _without_category(self) -> Sequence[str]:
        """Taken with a warning."""
        product = self._product()
        del product["product_type"]
        return self._accept(product)

    def _in_capitals(self) -> Sequence[str]:
        """Taken with a warning as well."""
        product = self._product()
        product["title"] = f"BARGAIN NO. {self._made}"
        return self._accept(product)

    def _changed(self) -> Sequence[str]:
        """An id once more, with another price."""
        product = self._repeated()
        if product is None:
            return self._good()
        product.pop("sale_price", None)
        return self._accept(product | {"price": f"{self._made % 400 + 0.01:.2f} {_CURRENCY}"})

    def _same_again(self) -> Sequence[str]:
        """An id once more, with what is known of it."""
        product = self._repeated()
        return self._good() if product is None else self._accept(product)

    def _repeated(self) -> Fields | None:
        return dict(self.products[self._choose(self._recent)]) if self._recent else None

    def _accept(self, product: Fields) -> Sequence[str]:
        product_id = product["id"]
        known = self.products.get(product_id)
        if known is None:
            self.created += 1
            self._recent.append(product_id)
        elif known == product:
            self.unchanged += 1
        else:
            self.updated += 1
        self.warnings += ("product_type" not in product) + product["title"].startswith("BARGAIN")
        self.products[product_id] = product
        return self._row(product)

    # rows that are rejected

    def _wrong(self) -> Sequence[str]:
        """A product that is nowhere else in the feed."""
        return self._reject(self._product())

    def _wrong_change(self) -> Sequence[str]:
        """Of a product that is known, which stays as it is."""
        return self._reject(self._repeated() or self._product())

    def _reject(self, product: Fields) -> Sequence[str]:
        fault = _FAULTS[self.rejected % len(_FAULTS)]
        self.rejected += 1
        if fault is None:
            return self._choose(([], [""] * len(COLUMNS)))
        return self._row(product | fault)

    # what rows are made of

    def _choose(self, options: Sequence[T]) -> T:
        return options[int(self._draw() * len(options))]

    def _product(self) -> Fields:
        """The next product; the variants of a group follow one another."""
        if not self._variants:
            self._variants.extend(self._group())
        return self._variants.popleft()

    def _group(self) -> Iterator[Fields]:
        title, category, sizes = self._choose(_THINGS)
        variants = sizes.split() if self._draw() < 0.3 else ["one"]
        group = self._made
        for size in variants:
            self._made += 1
            product = self._one(self._made, title, category)
            if len(variants) > 1:
                product |= {"item_group_id": f"G-{group:07d}", "size": size}
            yield product

    def _one(self, number: int, title: str, category: str) -> Fields:
        product_id, cents = f"SKU-{number:08d}", number * 7_919 % 40_000 + 500
        availability = self._choose(_AVAILABILITY)
        product: Fields = {
            "id": product_id,
            "title": f"{title} no. {number}",
            "description": f"{title}, made to be repaired.\nFor all weathers; “number {number}”.",
            "availability": availability,
            "condition": "used" if number % 40 == 0 else "new",
            "price": f"{cents // 100}.{cents % 100:02d} {_CURRENCY}",
            "link": f"{_SHOP}/p/{product_id}?ref=feed&n={number}",
            "image_link": f"{_SHOP}/i/{product_id}.jpg",
            "product_type": category,
            "color": self._choose(_COLORS),
        }
        if number % 3:
            product["brand"] = "Northwind"
        else:
            product["gtin"] = f"{4_000_000_000_000 + number}"
        if availability == "in stock" or number % 5 == 0:
            product["inventory"] = number % 90 + 1 if availability == "in stock" else 0
        if number % 7 == 0:
            product["sale_price"] = f"{cents // 200}.00 {_CURRENCY}"
        if number % 11 == 0:
            images = (f"{_SHOP}/i/{product_id}-{view}.jpg" for view in range(number % 10 + 1))
            product["additional_image_link"] = ",".join(images)
        if number % 4 == 0:
            product["custom_label_0"] = "winter"
        return product

    def _row(self, product: Fields) -> Sequence[str]:
        cells = {**product, _INVENTED: f"R{len(self.products) % 40}"}
        return [self._choose(_NOTATIONS)(str(cells.get(_field(name), ""))) for name in COLUMNS]


def _field(column: str) -> str:
    return column.lower().replace(" ", "_")


_FAULTS: Final[Sequence[Fields | None]] = (
    None,
    {"title": ""},
    {"title": "x" * 151},
    {"description": "x" * 5_001},
    {"description": "H\udcfctte"},  # Latin-1 among UTF-8
    {"title": "broken\0"},
    {"price": "19,99 EUR"},
    {"price": "19.99"},
    {"price": "19.99 Taler"},
    {"availability": "soon"},
    {"condition": "shiny"},
    {"link": "http://shop.example/plain"},
    {"image_link": "photo.jpg"},
    {"brand": "", "gtin": ""},
    {"availability": "in stock", "inventory": 0},
    {"inventory": "many"},
    {"sale_price": "999999.00 EUR"},
    {"sale_price": "0.01 USD"},
    {"color": "#FF8800"},
    {"additional_image_link": ",".join(f"https://shop.example/{view}.jpg" for view in range(11))},
)
"""What is wrong with rows, one after another; None stands for a row with nothing in it."""
