"""Generates the CRM export and the product feed of `socialapi demo`, with their expected
outcomes.
"""

import csv
import os
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import attrs
from phonenumbers import NumberParseException, is_valid_number, parse

T = TypeVar("T")


def mixed(shares: Mapping[Callable[[], T], int], count: int, rng: random.Random) -> Iterator[T]:
    """Yields `count` rows, each made by one of the functions.

    As many successive rows as the shares add up to have exactly these shares, each time in another
    order.
    """
    kinds = [kind for kind, share in shares.items() for _ in range(share)]
    for number in range(count):
        position = number % len(kinds)
        if position == 0:
            rng.shuffle(kinds)
        yield kinds[position]()


CRM_COLUMNS: Final = (
    "customer_id",
    "first name",
    "last name",
    "E-Mail",
    "Mobile phone",
    "country",
    "signup date",
    "opt_in",
    "notes",
)
DEFAULT_REGION: Final = "US"
"""The region of phone numbers without a country code."""

Member = tuple[Literal["email", "phone_number"], str]
"""An identifier kind, and the SHA-256 of a normalised value."""


@attrs.frozen(kw_only=True)
class ExpectedOutcome:
    """The expected result of uploading the export: the outcome of its rows, and the final audience.

    A row with a usable identifier is accepted, and each unusable one beside it is a warning. One more
    tells of all numbers of the default region that could be another country's. A row without a usable
    identifier is rejected. A row that repeats a person of the preceding rows is a duplicate.
    """

    read: int
    accepted: int
    rejected: int
    duplicate: int
    warnings: int
    members: frozenset[Member] = attrs.field(repr=False)


def write_crm_export(path: str | os.PathLike[str], rows: int, *, seed: int = 2_500) -> ExpectedOutcome:
    """Writes an export of exactly `rows` rows as UTF-8 with BOM and CRLF. Returns the expected
    outcome.

    The same seed writes the same file. Rows are written as they are generated.
    """
    export = _Export(seed)
    with Path(path).open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(CRM_COLUMNS)
        writer.writerows(export.rows(rows))
    return ExpectedOutcome(
        read=rows,
        accepted=export.accepted,
        rejected=export.rejected,
        duplicate=export.duplicate,
        warnings=export.warnings + export.may_be_foreign,
        members=frozenset(export.members),
    )


# The people ------------------------------------------------------------------------------------------------------

Names = Sequence[tuple[str, str]]
"""Names as written, and as they are in an e-mail address."""


@attrs.frozen
class _Country:
    """The country of a person. Mobile numbers without `code` are a prefix followed by `digits`
    digits.
    """

    name: str
    code: str
    prefixes: tuple[str, ...]
    digits: int
    first_names: Names
    last_names: Names
    national_notations: tuple[Callable[[str], str], ...] = ()

    def national_number(self, index: int) -> str:
        """Returns the number with this index. Numbers are scattered over the range, and none occurs
        twice.
        """
        size = 10**self.digits
        prefix, subscriber = divmod(index * _SCATTER % (len(self.prefixes) * size), size)
        return f"{self.prefixes[prefix]}{subscriber:0{self.digits}d}"


_SCATTER: Final = 15_485_863  # a prime, so that it is coprime to the size of every range

_COUNTRIES: Final = (
    _Country(
        "US",
        "1",
        tuple(
            f"{area}{exchange}"
            for area in ("212", "415", "312", "206", "303", "512", "617", "702", "305", "404", "503", "602")
            for exchange in range(200, 1000)
            if exchange % 100 != 11 and exchange != 555
        ),
        4,
        (("James", "james"), ("María José", "maria.jose"), ("Renée", "renee"), ("Zoë", "zoe"), ("Linda", "linda")),
        (("Smith", "smith"), ("O’Brien", "obrien"), ("Núñez", "nunez"), ("Johnson", "johnson"), ("Lee", "lee")),
        (
            lambda n: f"({n[:3]}) {n[3:6]}-{n[6:]}",
            lambda n: f"{n[:3]}-{n[3:6]}-{n[6:]}",
            lambda n: f"{n[:3]}.{n[3:6]}.{n[6:]}",
            lambda n: f"1 {n[:3]} {n[3:6]} {n[6:]}",
            lambda n: n,
        ),
    ),
    _Country(
        "DE",
        "49",
        ("160", "162", "163", "170", "171", "172", "173", "174", "175", "176", "177", "178", "179"),
        7,
        (("Jürgen", "juergen"), ("Bärbel", "baerbel"), ("Söhnke", "soehnke"), ("Anna", "anna"), ("Uwe", "uwe")),
        (("Müller", "mueller"), ("Groß", "gross"), ("Schäfer", "schaefer"), ("Köhler", "koehler"), ("Vogt", "vogt")),
    ),
    _Country(
        "FR",
        "33",
        ("60", "61", "62", "66", "67", "68", "76", "77", "78"),
        7,
        (("François", "francois"), ("Hélène", "helene"), ("Zoé", "zoe"), ("Jérôme", "jerome"), ("Luc", "luc")),
        (("Lefèvre", "lefevre"), ("Garçon", "garcon"), ("Noël", "noel"), ("Benoît", "benoit"), ("Petit", "petit")),
    ),
    _Country(
        "GB",
        "44",
        ("740", "742", "745", "747", "753", "757", "771", "772", "773", "774", "775", "777", "778", "780", "785"),
        7,
        (("Siân", "sian"), ("Chloë", "chloe"), ("Oliver", "oliver"), ("Amelia", "amelia"), ("Harry", "harry")),
        (("Brontë", "bronte"), ("Taylor", "taylor"), ("Evans", "evans"), ("Wright", "wright"), ("Hughes", "hughes")),
        (lambda n: f"+44 (0){n[:4]} {n[4:]}",),
    ),
    _Country(
        "PL",
        "48",
        ("501", "502", "503", "504", "505", "600", "601", "602", "603", "604", "605", "606", "660", "661", "662"),
        6,
        (("Łukasz", "lukasz"), ("Małgorzata", "malgorzata"), ("Żaneta", "zaneta"), ("Paweł", "pawel"), ("Ewa", "ewa")),
        (("Wójcik", "wojcik"), ("Woźniak", "wozniak"), ("Kowalczyk", "kowalczyk"), ("Dąbrowska", "dabrowska")),
    ),
    _Country(
        "TR",
        "90",
        ("530", "531", "532", "533", "534", "535", "536", "537", "538", "539", "541", "542", "543", "544"),
        7,
        (("İbrahim", "ibrahim"), ("Gülşen", "gulsen"), ("Ayşe", "ayse"), ("Oğuz", "oguz"), ("Can", "can")),
        (("Yılmaz", "yilmaz"), ("Öztürk", "ozturk"), ("Çelik", "celik"), ("Şahin", "sahin"), ("Demir", "demir")),
    ),
    _Country(
        "JP",
        "81",
        ("901", "902", "903", "904", "905", "906", "907", "908", "909"),
        7,
        (("葵", "aoi"), ("陽菜", "hina"), ("蓮", "ren"), ("大翔", "hiroto"), ("さくら", "sakura")),
        (("佐藤", "sato"), ("鈴木", "suzuki"), ("高橋", "takahashi"), ("田中", "tanaka"), ("伊藤", "ito")),
    ),
)
_DOMAINS: Final = ("example.com", "example.org", "example.net", "mail.example.com", "kunden.example.org")


@attrs.define
class _Person:
    """A person with valid identifiers."""

    index: int
    country: _Country
    first_name: str
    last_name: str
    email: str
    national_number: str

    @property
    def phone_number(self) -> str:
        return f"+{self.country.code}{self.national_number}"


# The dirt --------------------------------------------------------------------------------------------------------

_NBSP: Final = "\N{NO-BREAK SPACE}"

_EMAIL_NOTATIONS: Final[tuple[Callable[[str], str], ...]] = (
    *(4 * (str,)),
    str.title,
    str.upper,
    lambda e: e.capitalize(),
    lambda e: f"  {e}",
    lambda e: f"{e} ",
    lambda e: f"{_NBSP}{e}{_NBSP}",
    lambda e: f"\t{e.title()} ",
)

_PHONE_NOTATIONS: Final[tuple[Callable[[str, str], str], ...]] = (
    *(3 * (lambda code, n: f"+{code}{n}",)),
    lambda code, n: f"+{code} {n[:3]} {n[3:6]} {n[6:]}",
    lambda code, n: f"+{code}-{n[:3]}-{n[3:6]}-{n[6:]}",
    lambda code, n: f"+{code} ({n[:3]}) {n[3:6]}-{n[6:]}",
    lambda code, n: f"+{code}{_NBSP}{n[:3]}{_NBSP}{n[3:]}",
    lambda code, n: f" +{code}{n}  ",
)
_NATIONAL_SHARE: Final = 0.5
"""How often a number is written in a national notation, if the country has one."""

_BAD_EMAILS: Final = ("{name}.example.com", "{name}@", "@example.com", "{name}@@example.com", "a {name}@example.com")
_BAD_PHONES: Final = ("+44 12", "+1 415", "unlisted", "call after 6 pm", "123456789012345678901")

_NOTES: Final = (
    *(40 * ("",)),
    "prefers mail, not phone",
    'calls herself "Bibi"',
    "moved in 2024,\r\nnew address pending",
    'said: "call back",\nthen hung up',
    "Größe M; first order – ✓",
)
_OPT_IN: Final = ("yes", "yes", "yes", "no", "TRUE", "1", "")

_RECENT_ROWS: Final = 500
"""How many preceding good rows a repeated row is chosen from."""


class _Export:
    """Generates the rows, and counts their expected outcomes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # to be reproducible; nothing here is secret
        self._draw = self._random.random
        self._people = 0
        self._recent: deque[tuple[_Person, list[str]]] = deque(maxlen=_RECENT_ROWS)
        self.accepted = self.rejected = self.duplicate = self.warnings = 0
        self.may_be_foreign = False
        self.members: set[Member] = set()

    def rows(self, count: int) -> Iterator[list[str]]:
        """Yields `count` rows. Every 200 in a row have the same shares of each kind, in another
        order.
        """
        shares: dict[Callable[[], list[str]], int] = {
            self._email_and_phone: 141,
            lambda: self._accept(person := self._person(), self._dirty_email(person), ""): 20,
            lambda: self._accept(person := self._person(), "", self._dirty_phone(person)): 10,
            self._hashed_email: 8,
            self._bad_email_good_phone: 3,
            self._good_email_bad_phone: 3,
            self._repeated: 4,
            self._written_again: 4,
            lambda: self._reject(
                self._row(person := self._person(), self._bad_email(person), self._choose(_BAD_PHONES))
            ): 2,
            self._one_bad: 1,
            lambda: self._reject(self._row(self._person(), "", "")): 1,
            lambda: self._reject([]): 1,
            lambda: self._reject([""] * len(CRM_COLUMNS)): 1,
            lambda: self._reject([" ", "", "", f" {_NBSP}", "\t", "", "", "", "  "]): 1,
        }
        return mixed(shares, count, self._random)

    # rows that are accepted

    def _email_and_phone(self) -> list[str]:
        person = self._person()
        row = self._accept(person, self._dirty_email(person), self._dirty_phone(person))
        self._recent.append((person, row))
        return row

    def _hashed_email(self) -> list[str]:
        """Returns a row whose address is already hashed, half of the time with upper-case
        digits.
        """
        person = self._person()
        digest = _sha256(person.email)
        phone = self._dirty_phone(person) if self._draw() < 0.5 else ""
        return self._accept(person, digest if self._draw() < 0.5 else digest.upper(), phone)

    def _bad_email_good_phone(self) -> list[str]:
        person = self._person()
        self.warnings += 1
        row = self._accept(person, "", self._dirty_phone(person))
        row[3] = self._bad_email(person)
        return row

    def _good_email_bad_phone(self) -> list[str]:
        person = self._person()
        self.warnings += 1
        row = self._accept(person, self._dirty_email(person), "")
        row[4] = self._choose(_BAD_PHONES)
        return row

    def _accept(self, person: _Person, email: str, phone: str) -> list[str]:
        self.accepted += 1
        if email:
            self.members.add(("email", _sha256(person.email)))
        if phone:
            self.members.add(("phone_number", _sha256(person.phone_number)))
        return self._row(person, email, phone)

    # rows that are duplicates

    def _repeated(self) -> list[str]:
        """Returns an earlier row again, cell by cell."""
        if not self._recent:
            return self._email_and_phone()
        self.duplicate += 1
        _, row = self._choose(self._recent)
        return row

    def _written_again(self) -> list[str]:
        """Returns an earlier person again, spelt differently."""
        if not self._recent:
            return self._email_and_phone()
        self.duplicate += 1
        person, _ = self._choose(self._recent)
        return self._row(person, self._dirty_email(person), self._dirty_phone(person))

    # rows that are rejected

    def _one_bad(self) -> list[str]:
        person = self._person()
        if self._draw() < 0.5:
            return self._reject(self._row(person, self._bad_email(person), ""))
        return self._reject(self._row(person, "", self._choose(_BAD_PHONES)))

    def _reject(self, row: list[str]) -> list[str]:
        self.rejected += 1
        return row

    # what rows are made of

    def _choose(self, options: Sequence[T]) -> T:
        return options[int(self._draw() * len(options))]

    def _person(self) -> _Person:
        self._people += 1
        index = self._people
        country = self._choose(_COUNTRIES)
        first_name, first = self._choose(country.first_names)
        last_name, last = self._choose(country.last_names)
        tag = "+news" if index % 50 == 0 else ""
        email = f"{first}.{last}{index}{tag}@{_DOMAINS[index % len(_DOMAINS)]}"
        return _Person(index, country, first_name, last_name, email, country.national_number(index))

    def _dirty_email(self, person: _Person) -> str:
        return self._choose(_EMAIL_NOTATIONS)(person.email)

    def _dirty_phone(self, person: _Person) -> str:
        national = person.country.national_notations
        if national and self._draw() < _NATIONAL_SHARE:
            number = self._choose(national)(person.national_number)
            self.may_be_foreign = self.may_be_foreign or _may_be_foreign(number, person.country.code)
            return number
        return self._choose(_PHONE_NOTATIONS)(person.country.code, person.national_number)

    def _bad_email(self, person: _Person) -> str:
        return self._choose(_BAD_EMAILS).format(name=person.email.partition("@")[0])

    def _row(self, person: _Person, email: str, phone: str) -> list[str]:
        index = person.index
        return [
            f"C-{index:08d}",
            person.first_name,
            person.last_name,
            email,
            phone,
            person.country.name,
            f"20{15 + index % 11}-{1 + index % 12:02d}-{1 + index % 28:02d}",
            _OPT_IN[index % len(_OPT_IN)],
            self._choose(_NOTES),
        ]


def _may_be_foreign(number: str, code: str) -> bool:
    """Returns whether the digits of a number without a plus sign are a valid one of another country."""
    digits = "".join(filter(str.isdecimal, number))
    if "+" in number or digits.startswith(code):
        return False
    with suppress(NumberParseException):
        return is_valid_number(parse(f"+{digits}"))
    return False


def _sha256(value: str) -> str:
    return sha256(value.encode()).hexdigest()


FEED_COLUMNS: Final = (
    *("id", "Title", "description", "availability", "condition", "price", "link", "image link", "brand", "gtin"),
    *("inventory", "sale_price", "product_type", "item_group_id", "color", "size", "additional_image_link"),
    *("custom_label_0", "shelf"),
)
_SHOP: Final = "https://shop.example"
_INVENTED: Final = "shelf"
"""The name of a column that products do not have."""

Fields = dict[str, Any]


@attrs.frozen(kw_only=True)
class ExpectedCatalog:
    """The expected result of loading the feed into an empty catalog: row outcomes, and products by
    id.

    `created`, `updated` and `unchanged` are exact if every answer arrives. If one is lost, its
    products count as unchanged, because they are put a second time.
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
    """Writes a feed of exactly `rows` rows: 3 % repeat an id, 2 % are invalid. Returns the expected
    outcome.

    The same seed writes the same file. Rows are written as they are generated.
    """
    feed = _Feed(seed)
    # Undecodable bytes are written as lone surrogates, each of which stands for one byte.
    with Path(path).open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(FEED_COLUMNS)
        writer.writerows(feed.rows(rows))
    return ExpectedCatalog(
        read=rows,
        rejected=feed.rejected,
        created=feed.created,
        updated=feed.updated,
        unchanged=feed.unchanged,
        warnings=feed.warnings + bool(feed.updated or feed.unchanged),  # one tells of all ids that come again
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
_RECENT_PRODUCTS: Final = 400
"""How many preceding good rows a repeated row is chosen from."""


class _Feed:
    """Generates the rows, and counts their expected outcomes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # to be reproducible; nothing here is secret
        self._draw = self._random.random
        self._made = 0
        self._variants: deque[Fields] = deque()
        self._recent: deque[str] = deque(maxlen=_RECENT_PRODUCTS)
        self.created = self.updated = self.unchanged = self.rejected = self.warnings = 0
        self.products: dict[str, Fields] = {}

    def rows(self, count: int) -> Iterator[Sequence[str]]:
        """Yields `count` rows. Every 200 in a row have the same shares of each kind, in another
        order.
        """
        shares: dict[Callable[[], Sequence[str]], int] = {
            self._good: 186,
            self._without_category: 2,
            lambda: self._accept(self._product() | {"title": f"BARGAIN NO. {self._made}"}): 2,
            self._changed: 5,
            lambda: self._good() if (product := self._repeated()) is None else self._accept(product): 1,
            lambda: self._reject(self._product()): 3,
            lambda: self._reject(self._repeated() or self._product()): 1,  # whose product stays unchanged
        }
        return mixed(shares, count, self._random)

    # rows that are accepted

    def _good(self) -> Sequence[str]:
        return self._accept(self._product())

    def _without_category(self) -> Sequence[str]:
        """Returns a row that is accepted with a warning: without a category."""
        product = self._product()
        del product["product_type"]
        return self._accept(product)

    def _changed(self) -> Sequence[str]:
        """Returns a row with a known id and another price."""
        product = self._repeated()
        if product is None:
            return self._good()
        product.pop("sale_price", None)
        return self._accept(product | {"price": f"{self._made % 400 + 0.01:.2f} {_CURRENCY}"})

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

    def _reject(self, product: Fields) -> Sequence[str]:
        fault = _FAULTS[self.rejected % len(_FAULTS)]
        self.rejected += 1
        if fault is None:
            return self._choose(([], [""] * len(FEED_COLUMNS)))
        return self._row(product | fault)

    # what rows are made of

    def _choose(self, options: Sequence[T]) -> T:
        return options[int(self._draw() * len(options))]

    def _product(self) -> Fields:
        """Returns the next product. The variants of an item group follow one another."""
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
        fields = [name.lower().replace(" ", "_") for name in FEED_COLUMNS]
        return [self._choose(_NOTATIONS)(str(cells.get(field, ""))) for field in fields]


_FAULTS: Final[Sequence[Fields | None]] = (
    None,
    {"title": ""},
    {"title": "x" * 151},
    {"description": "x" * 5_001},
    {"description": "H\udcfctte"},  # Latin-1 in a UTF-8 file
    {"title": "broken\0"},
    {"price": "$19.99"},
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
"""The defects of invalid rows, used in turn. None stands for an empty row."""
