"""The catalog of the seed data, owned by the first user, with products, item groups and product
sets.
"""

from collections.abc import Iterator
from typing import Any, Final

from socialapi.emulator.catalogs.state import Catalog, Catalogs, Item, SetOfProducts, content_of, matching

KINDS: Final = ("product_catalog_ids", "product_set_ids")

CATALOG: Final = "7pc01"
MANUAL: Final = "7ps01"
FILTERED: Final = "7ps02"

_SHOP: Final = "https://shop.northwind.example"

# Title, category, price in euros, and the values of what its variants vary by.
_GROUPS: Final = (
    ("Ridge jacket", "Clothing > Jackets", "189.00", "size", ("XS", "S", "M", "L", "XL")),
    ("Ridge jacket for kids", "Clothing > Jackets", "99.00", "age_group", ("kids", "toddler", "teen", "infant")),
    ("Fjord pullover", "Clothing > Pullovers", "79.90", "color", ("moss", "rust", "slate", "sand", "plum")),
    ("Trail trousers", "Clothing > Trousers", "119.00", "gender", ("female", "male", "unisex")),
    ("Tarn rucksack", "Equipment > Rucksacks", "149.50", "color", ("moss", "slate", "black")),
    ("Cairn boots", "Shoes > Boots", "219.00", "size", ("38", "39", "40", "41", "42", "43", "44", "45")),
    ("Gale tent", "Equipment > Tents", "499.00", "size", ("2 persons", "3 persons", "4 persons")),
    ("Dune sleeping bag", "Equipment > Sleeping bags", "159.00", "size", ("short", "regular", "long")),
)
# Title, category, and price in euros.
_SINGLES: Final = (
    ("Storm lantern", "Equipment > Lights", "34.90"),
    ("Head torch", "Equipment > Lights", "49.00"),
    ("Tunnel tent for one", "Equipment > Tents", "289.00"),
    ("Tarpaulin", "Equipment > Tents", "64.00"),
    ("Gas stove", "Kitchen > Stoves", "59.00"),
    ("Wood stove", "Kitchen > Stoves", "89.00"),
    ("Enamel mug", "Kitchen > Cups", "9.50"),
    ("Folding cup", "Kitchen > Cups", "7.20"),
    ("Pot, 1 litre", "Kitchen > Pots", "39.00"),
    ("Pot, 2 litres", "Kitchen > Pots", "49.00"),
    ("Map of the north", "Books > Maps", "14.90"),
    ("Map of the south", "Books > Maps", "14.90"),
    ("Map of the coast", "Books > Maps", "15.90"),
    ("Knots, a handbook", "Books > Handbooks", "19.90"),
    ("Weather, a handbook", "Books > Handbooks", "22.00"),
    ("Wool socks", "Clothing > Socks", "16.00"),
    ("Liner socks", "Clothing > Socks", "11.00"),
    ("Merino cap", "Clothing > Caps", "29.00"),
    ("Sun hat", "Clothing > Caps", "32.00"),
    ("Mittens", "Clothing > Gloves", "44.00"),
    ("Rope gloves", "Clothing > Gloves", "37.50"),
    ("Climbing rope, 60 m", "Climbing > Ropes", "179.00"),
    ("Accessory cord, 10 m", "Climbing > Ropes", "12.00"),
    ("Harness", "Climbing > Harnesses", "69.00"),
    ("Helmet", "Climbing > Helmets", "74.00"),
    ("Repair kit", "Equipment > Care", "18.00"),
)


def plant_catalogs(catalogs: Catalogs, user_id: str) -> dict[str, list[str]]:
    """Gives a user the catalog; the ids by kind."""
    catalog = Catalog(CATALOG, user_id, "Northwind Outdoor shop")
    for number, product in enumerate(_products()):
        group_id = product.get("item_group_id")
        item = Item(product["id"], product_key(number), group_id, content_of(product))
        catalog.stock.put(item, f"pg{(group_id or '')[-2:]}")
    catalog.sets = {made.id: made for made in _sets(catalog)}
    catalogs.add(catalog)
    return {"product_catalog_ids": [CATALOG], "product_set_ids": list(catalog.sets)}


def product_key(number: int) -> str:
    """The key of a product, counted from 0."""
    return f"pk{number:03}"


def _products() -> Iterator[dict[str, Any]]:
    number = 0
    for group, (title, category, price, varies_by, values) in enumerate(_GROUPS, 1):
        for value in values:
            yield {
                **_product(number, f"{title}, {value}", category, price),
                "item_group_id": f"NW-G{group:02}",
                varies_by: value,
            }
            number += 1
    for title, category, price in _SINGLES:
        yield _product(number, title, category, price)
        number += 1


def _product(number: int, title: str, category: str, price: str) -> dict[str, Any]:
    """Every seventh is reduced, every ninth out of stock."""
    product_id = f"NW-{1_001 + number}"
    in_stock = number % 9 != 8
    product = {
        "id": product_id,
        "title": title,
        "description": f"{title}. Made to be repaired.",
        "availability": "in stock" if in_stock else "out of stock",
        "condition": "new",
        "price": f"{price} EUR",
        "link": f"{_SHOP}/{product_id}",
        "image_link": f"{_SHOP}/{product_id}.jpg",
        "brand": "Northwind",
        "product_type": category,
        "inventory": 3 + number * 7 % 50 if in_stock else 0,
        "custom_label_0": "summer" if number % 2 else "winter",
    }
    if number % 7 == 0:
        product["sale_price"] = f"{float(price) * 0.8:.2f} EUR"
    return product


def _sets(catalog: Catalog) -> Iterator[SetOfProducts]:
    keys = [product_key(number) for number in (0, 5, 9, 34, 40)]
    yield SetOfProducts(id=MANUAL, name="Front page", type="MANUAL", description="By hand", product_keys=keys)
    filters = [{"attribute": "product_type", "operator": "CONTAINS", "value": "tents"}]
    found = matching(catalog.stock, filters) or []
    yield SetOfProducts(id=FILTERED, name="Tents", type="FILTERED", filters=filters, status="DONE", product_keys=found)
