"""Generates the CRM export and the product feed of `socialapi demo`, with their expected outcomes."""

import csv
import os
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import attrs

T = TypeVar("T")


def mixed(shares: Mapping[T, int], count: int, rng: random.Random) -> Iterator[T]:
    """Yields `count` kinds in random order. Every block whose length is the sum of the shares has exactly these shares."""
    kinds = [kind for kind, share in shares.items() for _ in range(share)]
    for number in range(count):
        position = number % len(kinds)
        if position == 0:
            rng.shuffle(kinds)
        yield kinds[position]


class _Generator:
    """Draws from a seed, and counts the expected outcomes of rows."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # to be reproducible; nothing here is secret
        self._draw = self._random.random
        self.counts: Counter[str] = Counter()

    def _choose(self, options: Sequence[T]) -> T:
        return options[int(self._draw() * len(options))]


# The CRM export --------------------------------------------------------------------------------------------------

CRM_COLUMNS: Final = (
    *("customer_id", "first name", "last name", "E-Mail", "Mobile phone", "country", "signup date", "opt_in", "notes"),
)
DEFAULT_REGION: Final = "US"
"""The region of phone numbers without a country code."""

Member = tuple[Literal["email", "phone_number"], str]
"""An identifier kind, and the SHA-256 of a normalized value."""


@attrs.frozen(kw_only=True)
class ExpectedOutcome:
    """The expected result of uploading the export: the outcome of its rows, and the final audience.

    A row with a usable identifier is accepted, and each unusable identifier in it is a warning. A row without a usable
    identifier is rejected. A row that repeats a person of the preceding rows is a duplicate.
    """

    read: int
    accepted: int
    rejected: int
    duplicate: int
    warnings: int
    members: frozenset[Member] = attrs.field(repr=False)


def write_crm_export(path: str | os.PathLike[str], rows: int, *, seed: int = 2_500) -> ExpectedOutcome:
    """Writes an export of `rows` rows (UTF-8 with BOM, CRLF) from a seed. Returns the expected outcome."""
    export = _Export(seed)
    with Path(path).open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(CRM_COLUMNS)
        writer.writerows(export.rows(rows))
    counts = {name: export.counts[name] for name in ("accepted", "rejected", "duplicate", "warnings")}
    return ExpectedOutcome(read=rows, members=frozenset(export.members), **counts)


FIRST_NAMES: Final = (
    *("James", "Renée", "María", "Jürgen", "Bärbel", "François", "Hélène"),
    *("Siân", "Łukasz", "Żaneta", "İbrahim", "Gülşen", "葵", "さくら"),
)
LAST_NAMES: Final = (
    *("Smith", "O’Brien", "Núñez", "Müller", "Groß", "Lefèvre", "Brontë"),
    *("Woźniak", "Dąbrowska", "Yılmaz", "Öztürk", "佐藤", "鈴木"),
)
COUNTRIES: Final = (
    ("US", "1", ("2127", "4157", "3127", "2067", "3037", "5127", "6177", "7027", "3057", "4047"), 6),
    ("DE", "49", ("160", "162", "163", *map(str, range(170, 180))), 7),
    ("FR", "33", ("60", "61", "62", "66", "67", "68", "76", "77", "78"), 7),
    ("GB", "44", ("7400", "7420", "7450", "7470", "7530", "7570", "7710", "7750"), 6),
    ("PL", "48", ("501", "502", "503", "504", "505", *map(str, range(600, 607)), "660", "661", "662"), 6),
    ("TR", "90", ("530", "531", "532", "533", "534", "535", "541", "542", "543", "544"), 7),
    ("JP", "81", ("901", "902", "903", "904", "905", "906", "907", "908", "909"), 7),
)
"""Regions with their calling code and their mobile numbers: the prefixes, and the number of digits that follow."""
_SCATTER: Final = 15_485_863  # a prime, so that it is coprime to the size of every range
_NBSP: Final = "\N{NO-BREAK SPACE}"
_EMAIL_NOTATIONS: Final[Sequence[Callable[[str], str]]] = (
    *(4 * (str,)),
    *(str.title, str.upper, str.capitalize, "  {}".format, "{} ".format, f"{_NBSP}{{}}{_NBSP}".format),
    lambda e: f"\t{e.title()} ",
)
PHONE_NOTATIONS: Final = (
    *(3 * ("+{code}{a}{b}{c}",)),
    *("+{code} {a} {b} {c}", "+{code}-{a}-{b}-{c}", "+{code} ({a}) {b}-{c}", " +{code}{a}{b}{c}  "),
    f"+{{code}}{_NBSP}{{a}}{_NBSP}{{b}}{{c}}",
)
NATIONAL_NOTATIONS: Final[Mapping[str, Sequence[str]]] = {
    "US": ("({a}) {b}-{c}", "{a}-{b}-{c}", "{a}.{b}.{c}", "1 {a} {b} {c}", "{a}{b}{c}"),
    "GB": ("+44 (0){a}{b} {c}",),
}
BAD_EMAILS: Final = ("{name}.example.com", "{name}@", "@example.com", "{name}@@example.com", "a {name}@example.com")
BAD_PHONES: Final = ("+44 12", "+1 415", "unlisted", "call after 6 pm", "123456789012345678901")
_NOTES: Final = (
    *(40 * ("",)),
    *("prefers mail, not phone", 'calls herself "Bibi"', "moved in 2024,\r\nnew address pending"),
    *('said: "call back",\nthen hung up', "Größe M; first order – ✓"),
)
_RECENT_ROWS: Final = 500
"""The number of preceding valid rows from which a duplicate is chosen."""
_CRM_KINDS: Final[Mapping[tuple[str, str], int]] = {
    ("good", "good"): 141,
    ("good", ""): 20,
    ("", "good"): 10,
    ("digest", "good"): 4,
    ("digest", ""): 4,
    ("bad", "good"): 3,
    ("good", "bad"): 3,
    ("repeated", "as it was"): 4,
    ("repeated", "written anew"): 4,
    ("bad", "bad"): 2,
    ("bad", ""): 1,
    ("", ""): 1,
    ("empty", "no cell"): 1,
    ("empty", ""): 1,
    ("empty", "blanks"): 1,
}
"""The kinds of e-mail address and phone number in a row, and how many of 200 rows have them."""


@attrs.define
class _Person:
    index: int
    first_name: str
    last_name: str
    region: str
    code: str
    email: str
    number: str


class _Export(_Generator):
    """Generates the rows, and counts their expected outcomes."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._people = 0
        self._recent: deque[tuple[_Person, list[str]]] = deque(maxlen=_RECENT_ROWS)
        self.members: set[Member] = set()

    def rows(self, count: int) -> Iterator[list[str]]:
        """Yields `count` rows."""
        for email, phone in mixed(_CRM_KINDS, count, self._random):
            if email == "empty":
                self.counts["rejected"] += 1
                blanks = [" ", "", "", f" {_NBSP}", "\t", "", "", "", "  "]
                yield {"no cell": [], "": [""] * len(CRM_COLUMNS), "blanks": blanks}[phone]
            elif email == "repeated" and self._recent:
                self.counts["duplicate"] += 1
                person, row = self._choose(self._recent)
                yield row if phone == "as it was" else self._row(person, "good", "good")
            else:
                yield self._new("good", "good") if email == "repeated" else self._new(email, phone)

    def _new(self, email: str, phone: str) -> list[str]:
        """Returns the row for a new person, and counts its outcome."""
        person = self._person()
        if email in ("good", "digest"):
            self.members.add(("email", _sha256(person.email)))
        if phone == "good":
            self.members.add(("phone_number", _sha256(f"+{person.code}{person.number}")))
        if email in ("good", "digest") or phone == "good":
            self.counts["accepted"] += 1
            self.counts["warnings"] += (email, phone).count("bad")
        else:
            self.counts["rejected"] += 1
        row = self._row(person, email, phone)
        if (email, phone) == ("good", "good"):
            self._recent.append((person, row))
        return row

    def _person(self) -> _Person:
        self._people += 1
        index = self._people
        region, code, prefixes, digits = self._choose(COUNTRIES)
        prefix, subscriber = divmod(index * _SCATTER % (len(prefixes) * 10**digits), 10**digits)
        email = (
            f"customer.{index}{'+news' if index % 50 == 0 else ''}@{self._choose(('example.com', 'mail.example.org'))}"
        )
        names = self._choose(FIRST_NAMES), self._choose(LAST_NAMES)
        return _Person(index, *names, region, code, email, f"{prefixes[prefix]}{subscriber:0{digits}d}")

    def _row(self, person: _Person, email: str, phone: str) -> list[str]:
        index = person.index
        return [
            *(f"C-{index:08d}", person.first_name, person.last_name),
            self._email(person, email),
            self._phone(person, phone),
            *(person.region, f"20{15 + index % 11}-{1 + index % 12:02d}-{1 + index % 28:02d}"),
            *(("yes", "yes", "no", "TRUE", "1", "")[index % 6], self._choose(_NOTES)),
        ]

    def _email(self, person: _Person, kind: str) -> str:
        if kind == "bad":
            return self._choose(BAD_EMAILS).format(name=person.email.partition("@")[0])
        if kind == "digest":
            return self._choose((str.lower, str.upper))(_sha256(person.email))
        return self._choose(_EMAIL_NOTATIONS)(person.email) if kind else ""

    def _phone(self, person: _Person, kind: str) -> str:
        if kind != "good":
            return self._choose(BAD_PHONES) if kind else ""
        is_national = self._draw() < 0.5
        notations = (is_national and NATIONAL_NOTATIONS.get(person.region)) or PHONE_NOTATIONS
        digits = person.number
        return self._choose(notations).format(code=person.code, a=digits[:3], b=digits[3:6], c=digits[6:])


def _sha256(value: str) -> str:
    return sha256(value.encode()).hexdigest()


# The product feed ------------------------------------------------------------------------------------------------

FEED_COLUMNS: Final = (
    *("id", "Title", "description", "availability", "condition", "price", "link", "image link", "brand", "gtin"),
    *("inventory", "sale_price", "product_type", "item_group_id", "color", "size", "additional_image_link"),
    *("custom_label_0", "shelf"),
)
"""The last column is not a product field."""
_SHOP: Final = "https://shop.example"

Fields = dict[str, Any]


@attrs.frozen(kw_only=True)
class ExpectedCatalog:
    """The expected result of loading the feed into an empty catalog: row outcomes, and products by
    id.

    `created`, `updated` and `unchanged` are exact if every response arrives. If one is lost, its
    products count as unchanged, because they are sent a second time.
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
        """The number of rows that the service accepts."""
        return self.created + self.updated + self.unchanged


def write_product_feed(path: str | os.PathLike[str], rows: int, *, seed: int = 25) -> ExpectedCatalog:
    """Writes a feed of `rows` rows, 3% with an earlier id and 2% invalid. Returns the expected outcome."""
    feed = _Feed(seed)
    # Undecodable bytes are written as lone surrogates, one for each byte.
    with Path(path).open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(FEED_COLUMNS)
        writer.writerows(feed.rows(rows))
    counts = {name: feed.counts[name] for name in ("rejected", "created", "updated", "unchanged", "warnings")}
    counts["warnings"] += bool(
        feed.counts["updated"] or feed.counts["unchanged"]
    )  # one warning covers all repeated ids
    return ExpectedCatalog(read=rows, products=feed.products, **counts)


def _gtin(number: int) -> str:
    digits = f"{400_000_000_000 + number}"
    return f"{digits}{-(sum(map(int, digits[::2])) + 3 * sum(map(int, digits[1::2]))) % 10}"


_THINGS: Final = (
    ("Ridge jacket", "Clothing > Jackets", "XS S M L XL"),
    ("Fjällräven-style trousers", "Clothing > Trousers", "36 38 40 42"),
    ('Mug, 0.3 l, "enamel"', "Kitchen > Cups", "one"),
    ("登山靴", "Shoes > Boots", "24.5 25 25.5 26"),
)
_NOTATIONS: Final = (*(6 * ("{}",)), " {}", "{}  ")
_RECENT_PRODUCTS: Final = 400
"""The number of preceding valid rows from which a duplicate is chosen."""
_FEED_KINDS: Final[Mapping[str, int]] = {
    "good": 186,
    "without a category": 2,
    "shouting": 2,
    "another price": 5,
    "again": 1,
    "invalid": 3,
    "invalid again": 1,  # the product stays unchanged
}
"""The kinds of rows, and the number of each in 200 rows."""
_FAULTS: Final[Sequence[Fields | None]] = (
    None,  # an empty row
    *({"title": ""}, {"title": "x" * 151}, {"description": "x" * 5_001}, {"title": "broken\0"}),
    {"description": "H\udcfctte"},  # Latin-1 in a UTF-8 file
    *({"price": "$19.99"}, {"price": "19.99"}, {"price": "19.99 Taler"}),
    *({"availability": "soon"}, {"condition": "shiny"}, {"brand": "", "gtin": ""}, {"color": "#FF8800"}),
    *({"link": "http://shop.example/plain"}, {"image_link": "photo.jpg"}),
    *({"availability": "in stock", "inventory": 0}, {"inventory": "many"}),
    *({"sale_price": "999999.00 EUR"}, {"sale_price": "0.01 USD"}),
    {"additional_image_link": f"{_SHOP}/manual.pdf"},
)
"""The defects of invalid rows, used in rotation."""


class _Feed(_Generator):
    """Generates the rows, and counts their expected outcomes."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._made = 0
        self._variants: deque[Fields] = deque()
        self._recent: deque[str] = deque(maxlen=_RECENT_PRODUCTS)
        self.products: dict[str, Fields] = {}

    def rows(self, count: int) -> Iterator[Sequence[str]]:
        """Yields `count` rows."""
        for kind in mixed(_FEED_KINDS, count, self._random):
            is_again = kind in ("another price", "again", "invalid again") and bool(self._recent)
            product = dict(self.products[self._choose(self._recent)]) if is_again else self._product()
            if kind.startswith("invalid"):
                fault = _FAULTS[self.counts["rejected"] % len(_FAULTS)]
                self.counts["rejected"] += 1
                yield (self._choose(([], [""] * len(FEED_COLUMNS))) if fault is None else self._row(product | fault))
                continue
            if kind == "without a category":
                del product["product_type"]
            elif kind == "shouting":
                product["title"] = f"BARGAIN NO. {self._made}"
            elif kind == "another price" and is_again:
                product.pop("sale_price", None)
                product["price"] = f"{self._made % 400 + 0.01:.2f} EUR"
            known = self.products.get(product["id"])
            if known is None:
                self._recent.append(product["id"])
            self.counts["created" if known is None else "unchanged" if known == product else "updated"] += 1
            self.counts["warnings"] += ("product_type" not in product) + product["title"].startswith("BARGAIN")
            self.products[product["id"]] = product
            yield self._row(product)

    def _product(self) -> Fields:
        """Returns the next product. The variants of an item group are consecutive."""
        if not self._variants:
            title, category, sizes = self._choose(_THINGS)
            variants, group = sizes.split() if self._draw() < 0.3 else ["one"], self._made
            for size in variants:
                product = self._one(title, category)
                of_group = {"item_group_id": f"G-{group:07d}", "size": size} if len(variants) > 1 else {}
                self._variants.append(product | of_group)
        return self._variants.popleft()

    def _one(self, title: str, category: str) -> Fields:
        self._made += 1
        number = self._made
        product_id, cents = f"SKU-{number:08d}", number * 7_919 % 40_000 + 500
        is_there = number % 2 == 1
        availability = "in stock" if is_there else self._choose(("preorder", "out of stock", "available for order"))
        images = ",".join(f"{_SHOP}/i/{product_id}-{view}.jpg" for view in range(number % 10 + 1))
        optional = {
            "gtin" if number % 3 == 0 else "brand": _gtin(number) if number % 3 == 0 else "Northwind",
            **({"inventory": number % 90 + 1 if is_there else 0} if is_there or number % 5 == 0 else {}),
            **({"sale_price": f"{cents // 200}.00 EUR"} if number % 7 == 0 else {}),
            **({"additional_image_link": images} if number % 11 == 0 else {}),
            **({"custom_label_0": "winter"} if number % 4 == 0 else {}),
        }
        return {
            "id": product_id,
            "title": f"{title} no. {number}",
            "description": f"{title}, easy to repair.\nFor any weather; “number {number}”.",
            "availability": availability,
            "condition": "used" if number % 40 == 0 else "new",
            "price": f"{cents // 100}.{cents % 100:02d} EUR",
            "link": f"{_SHOP}/p/{product_id}?ref=feed&n={number}",
            "image_link": f"{_SHOP}/i/{product_id}.jpg",
            "product_type": category,
            "color": self._choose(("moss", "rust", "slate", "Petrol")),
            **optional,
        }

    def _row(self, product: Fields) -> Sequence[str]:
        cells = {**product, "shelf": f"R{len(self.products) % 40}"}
        fields = [name.lower().replace(" ", "_") for name in FEED_COLUMNS]
        return [self._choose(_NOTATIONS).format(cells.get(field, "")) for field in fields]
