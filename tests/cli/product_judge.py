"""What must become of a product feed, read and judged by hand: nothing of the SDK and nothing of who wrote it."""

import csv
import re
from pathlib import Path
from typing import Any

from socialapi.cli.demo_data import ExpectedCatalog

REQUIRED = {"id", "title", "description", "availability", "condition", "price", "link", "image_link"}
AVAILABILITY = {"in stock", "available for order", "preorder", "out of stock", "discontinued"}
PRICE = re.compile(r"(\d+\.?\d*) (EUR|USD)")


def judge(path: Path) -> ExpectedCatalog:
    products: dict[str, dict[str, Any]] = {}
    read = rejected = created = updated = unchanged = warnings = 0
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        names = [name.lower().replace(" ", "_") for name in next(csv.reader(file))]
        for cells in csv.reader(file):
            read += 1
            pairs = zip(names, (cell.strip() for cell in cells), strict=False)
            product: dict[str, Any] = {name: cell for name, cell in pairs if cell and name != "shelf"}
            if product.get("inventory", "").isdigit():
                product["inventory"] = int(product["inventory"])
            if not is_right(product):
                rejected += 1
                continue
            before = products.get(product["id"])
            created += before is None
            unchanged += before == product
            updated += before is not None and before != product
            warnings += ("product_type" not in product) + product["title"].isupper()
            products[product["id"]] = product
    return ExpectedCatalog(
        read=read,
        rejected=rejected,
        created=created,
        updated=updated,
        unchanged=unchanged,
        warnings=warnings + (updated + unchanged > 0),  # one for all products whose id came before
        products=products,
    )


def is_right(product: dict[str, Any]) -> bool:
    if not product.keys() >= REQUIRED or not product.keys() & {"brand", "gtin"}:
        return False
    text = "".join(map(str, product.values()))
    price, sale_price = PRICE.fullmatch(product["price"]), PRICE.fullmatch(product.get("sale_price", "0 EUR"))
    return (
        "\0" not in text
        and not re.search("[\ud800-\udfff]", text)
        and len(product["title"]) <= 150
        and len(product["description"]) <= 5_000
        and product["availability"] in AVAILABILITY
        and product["condition"] in {"new", "used", "refurbished"}
        and product["link"].startswith("https://")
        and product["image_link"].startswith("https://")
        and price is not None
        and sale_price is not None
        and price[2] == sale_price[2]
        and float(sale_price[1]) < float(price[1])
        and isinstance(product.get("inventory", 0), int)
        and (product["availability"] != "in stock" or product.get("inventory", 1) > 0)
        and not product["color"].startswith("#")
        and not product.get("additional_image_link", "").endswith(".pdf")
    )
