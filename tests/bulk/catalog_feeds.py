"""The same generated products as feeds of every format, each in a notation that merchants use.

`generated` makes products as the service takes them, and each function of `FORMATS` writes them as
a file. Reading such a file has to give the products again.
"""

import csv
import io
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape

Shape = dict[str, Any]

SPELLED_AS_GOOGLE_DOES: Final = {
    "in stock": "in_stock",
    "available for order": "backorder",
    "preorder": "preorder",
    "out of stock": "out_of_stock",
    "discontinued": "Discontinued",
}
SPELLED_AS_SCHEMA_ORG_DOES: Final = {
    "in stock": "https://schema.org/InStock",
    "available for order": "https://schema.org/BackOrder",
    "preorder": "https://schema.org/PreOrder",
    "out of stock": "https://schema.org/OutOfStock",
    "discontinued": "https://schema.org/Discontinued",
    "new": "https://schema.org/NewCondition",
    "used": "https://schema.org/UsedCondition",
    "refurbished": "https://schema.org/RefurbishedCondition",
}
_WORDS: Final = ("Ridge", "Kännchen", "Tom & Jerry", "5 < 6", "“quoted”", "a,b", "a;b", "tab\tbed", 'say "hi"', "靴")


def generated(count: int, seed: int = 0) -> list[Shape]:
    """Products that keep every rule, as the service takes them."""
    chance = random.Random(seed)
    return [_product(number, chance) for number in range(count)]


def _product(number: int, chance: random.Random) -> Shape:
    name = f"SKU-{number:05}"
    address = f"https://shop.example/{name}"
    price = chance.randrange(1_000, 500_000)
    currency = chance.choice(("EUR", "USD", "CHF"))
    optional = {
        "additional_image_link": f"{address}-a.jpg,{address}-b.jpg?x=1&y=2",
        "taxonomy_product_category": "Apparel & Accessories > Shoes",
        "product_type": "Shoes > Boots > Winter",
        "sale_price": f"{_units(price // 2)} {currency}",
        "sale_price_effective_date": "2026-01-01T00:00+01:00/2026-01-31T23:59+01:00",
        "item_group_id": f"G-{number // 3}",
        "gender": chance.choice(("female", "male", "unisex")),
        "color": "Black/White",
        "size": "42",
        "age_group": chance.choice(("adult", "all ages", "newborn")),
        "custom_label_0": chance.choice(_WORDS),
    }
    return {
        "id": name,
        "title": f"{chance.choice(_WORDS)} {number}",
        "description": f"Made <b>to last</b> &amp; repaired, {chance.choice(_WORDS)}",
        "availability": chance.choice(tuple(SPELLED_AS_GOOGLE_DOES)),
        "condition": chance.choice(("new", "used", "refurbished")),
        "price": f"{_units(price)} {currency}",
        "link": f"{address}?a=1&b=2",
        "image_link": f"{address}.jpg",
        "brand": "Northwind",
        "gtin": with_check_digit(f"{chance.randrange(10**12):012}"),
        "inventory": chance.randrange(1, 1_000),
        **{field: value for field, value in optional.items() if chance.random() < 0.7},
    }


def with_check_digit(digits: str) -> str:
    """The digits with the check digit of GS1: the weights are 3 and 1 in turn, from the right."""
    return f"{digits}{-sum(int(digit) * (3, 1)[at % 2] for at, digit in enumerate(reversed(digits))) % 10}"


def _units(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02}"


Spell = Callable[[str, Any], Any]


def _as_google(field: str, value: Any) -> Any:
    return SPELLED_AS_GOOGLE_DOES.get(value, value) if field == "availability" else value


def _as_europeans(field: str, value: Any) -> Any:
    """As Google, but prices have a decimal comma and groups."""
    if field not in {"price", "sale_price"}:
        return _as_google(field, value)
    amount, currency = value.split(" ")
    return f"{float(amount):,.2f} {currency}".translate(str.maketrans(",.", ".,"))


def _as_americans(field: str, value: Any) -> Any:
    """Capitals, groups, and the currency before the number."""
    if field in {"price", "sale_price"}:
        amount, currency = value.split(" ")
        return f"{currency} {float(amount):,.2f}"
    return value.title() if field in {"availability", "condition", "gender", "age_group"} else value


def _as_schema_org(field: str, value: Any) -> Any:
    return SPELLED_AS_SCHEMA_ORG_DOES.get(value, value) if field in {"availability", "condition"} else value


def _spelled(product: Mapping[str, Any], spell: Spell, names: Mapping[str, str]) -> Shape:
    return {names.get(field, field): spell(field, value) for field, value in product.items()}


GOOGLE_NAMES: Final = {"taxonomy_product_category": "google_product_category"}
META_NAMES: Final = {**GOOGLE_NAMES, "inventory": "quantity_to_sell_on_facebook"}
API_NAMES: Final = {
    "image_link": "imageLink",
    "additional_image_link": "additionalImageLinks",
    "taxonomy_product_category": "googleProductCategory",
    "product_type": "productTypes",
    "sale_price": "salePrice",
    "sale_price_effective_date": "salePriceEffectiveDate",
    "item_group_id": "itemGroupId",
    "age_group": "ageGroup",
    "custom_label_0": "customLabel0",
    "inventory": "sellOnGoogleQuantity",
}
SHOP_NAMES: Final = {
    "id": "sku",
    "title": "name",
    "link": "url",
    "image_link": "image_url",
    "inventory": "stock_quantity",
}


def rss(products: Sequence[Shape]) -> bytes:
    """RSS 2.0 with Google's names; the title and the link are RSS's own."""
    items = "".join(
        f"    <item>\n{_elements(_spelled(each, _as_google, META_NAMES))}    </item>\n" for each in products
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0">\n  <channel>\n    <title>Northwind</title>\n'
        f"    <link>https://shop.example</link>\n{items}  </channel>\n</rss>\n"
    ).encode()


def atom(products: Sequence[Shape]) -> bytes:
    """Atom, whose link is an attribute, whose id is an address and whose description is the summary."""
    entries = "".join(
        f'<entry><id>tag:shop.example,2026:{number}</id><link href="{escape(each["link"])}"/>'
        f"<summary>{escape(each['description'])}</summary>"
        f"{_elements(_spelled({**each, 'link': '', 'description': ''}, _as_schema_org, GOOGLE_NAMES))}</entry>"
        for number, each in enumerate(products)
    )
    return (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><title>Northwind</title>'
        f"{entries}</feed>"
    ).encode()


def _elements(product: Mapping[str, Any]) -> str:
    lines = [
        f"      <{name}>{_text(name, text)}</{name}>\n"
        for field, value in product.items()
        for name in [field if field in {"title", "link"} else f"g:{field}"]
        for text in (value.split(",") if field == "additional_image_link" else [str(value)])
        if text
    ]
    return "".join(lines) + "<g:shipping><g:country>DE</g:country><g:price>4.95 EUR</g:price></g:shipping>\n"


def _text(name: str, text: str) -> str:
    return f"<![CDATA[{text}]]>" if name == "g:description" else escape(text)


def tsv(products: Sequence[Shape]) -> bytes:
    """A text feed as Google describes it: blanks in the names, and quotes only where a tab needs them."""
    spelled = [_spelled(each, _as_google, GOOGLE_NAMES) for each in products]
    return _table(spelled, "\t", lambda name: name.replace("_", " "))


def csv_table(products: Sequence[Shape], delimiter: str = ";") -> bytes:
    """A CSV file of a spreadsheet in Europe: semicolons, decimal commas, a byte order mark."""
    return "\ufeff".encode() + _table([_spelled(each, _as_europeans, SHOP_NAMES) for each in products], delimiter, str)


def _table(rows: Sequence[Shape], delimiter: str, header: Callable[[str], str]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    table = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    table.writerow([header(name) for name in (*names, "shipping")])
    table.writerows([*(row.get(name, "") for name in names), "DE:::4.95 EUR"] for row in rows)
    return text.getvalue().encode()


def json_array(products: Sequence[Shape]) -> bytes:
    """An array of objects with the names of Google's API, images as a list and counts as numbers."""
    return json.dumps([_object(each) for each in products], ensure_ascii=False, indent=1).encode()


def wrapped_json(products: Sequence[Shape]) -> bytes:
    """The array below one key, as the answer of an API."""
    return json.dumps({"products": [_object(each) for each in products]}).encode()


def json_lines(products: Sequence[Shape]) -> bytes:
    """An object on each line, with empty texts for what a product does not have."""
    empty = {"mpn": "", "color": None}
    return b"".join(
        json.dumps({**empty, **_spelled(each, _as_americans, META_NAMES)}).encode() + b"\n" for each in products
    )


def _object(product: Mapping[str, Any]) -> Shape:
    return _with_lists(_spelled(product, _as_americans, API_NAMES), "additionalImageLinks")


def _with_lists(product: Shape, field: str) -> Shape:
    return {**product, field: product[field].split(",")} if field in product else product


def parquet(products: Sequence[Shape]) -> bytes:
    """A table with types: counts are integers, images a list, and what a product does not have is null."""
    import pyarrow
    import pyarrow.parquet

    rows = [_with_lists(_spelled(each, _as_google, SHOP_NAMES), "additional_image_link") for each in products]
    names: Iterable[str] = dict.fromkeys(name for row in rows for name in row)
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({name: [row.get(name) for row in rows] for name in names}), file)
    return file.getvalue()


FORMATS: Final[Mapping[str, Callable[[Sequence[Shape]], bytes]]] = {
    "rss.xml": rss,
    "atom.xml": atom,
    "feed.tsv": tsv,
    "feed.csv": csv_table,
    "array.json": json_array,
    "wrapped.json": wrapped_json,
    "feed.jsonl": json_lines,
    "feed.parquet": parquet,
}
"""The writers by the names of the files that they write."""
