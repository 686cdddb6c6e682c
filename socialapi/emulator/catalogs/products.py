"""Handlers for products, with their results and warnings.

The warnings of the service are not documented.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.emulator.arguments import known_fields
from socialapi.emulator.catalogs.catalogs import the_catalog
from socialapi.emulator.catalogs.state import Item, Stock, content_of
from socialapi.emulator.faults import PRODUCT_FAULTS, Fault
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.paging import Rows, paginate
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Answer, ads_data
from socialapi.models.products import Product
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.routes import catalogs as routes

_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
_CATEGORIES: Final = ("taxonomy_product_category", "product_type")
_VARIES: Final = ("size", "color", "age_group", "gender")


def warnings_about(product: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the warnings about a valid product."""
    found = []
    if _TAG.search(product["description"]):
        found.append(_warning("TAGS_IN_DESCRIPTION", "contains tags, which are shown as plain text", "description"))
    if product["title"].isupper():
        found.append(_warning("TITLE_IN_CAPITALS", "is written in capital letters", "title"))
    if not any(name in product for name in _CATEGORIES):
        found.append(_warning("RECOMMENDED_FIELD", "or taxonomy_product_category is recommended", "product_type"))
    if "item_group_id" in product and not any(name in product for name in _VARIES):
        found.append(_warning("RECOMMENDED_FIELD", f"is set without any of {', '.join(_VARIES)}", "item_group_id"))
    return found


def _warning(code: str, says: str, field: str) -> dict[str, str]:
    return {"code": code, "message": f"{field} {says}", "field": field}


DEFAULT_COUNT: Final = 100

Result = dict[str, Any]


def count_products(received: Received) -> tuple[int | None, int | None]:
    """Returns the number of products in a body, or None if the body cannot be read. The number of users is always None."""
    try:
        return len(received.json()["products"]), None
    except (ValueError, TypeError, KeyError):
        return None, None


@attrs.frozen
class ProductRows(Rows):
    """The products of a catalog in the order of submission."""

    stock: Stock
    group_key: str | None

    def after(self, cursor: int | None) -> Iterator[int]:
        """Yields the positions of the first product of each group, or of all products of the group."""
        return self.stock.positions(-1 if cursor is None else cursor, self.group_key)

    def cursor_of(self, position: int) -> int:
        """Returns the position itself, because products keep their positions."""
        return position


@serves(routes.PRODUCTS)
async def list_products(call: Call) -> Answer:
    """Returns a page of products in the order of submission: the first product of each group, or all products of the
    requested group.
    """
    stock = the_catalog(call).stock
    page = paginate(call, ProductRows(stock, call.query.get("item_group_key")), default=DEFAULT_COUNT)
    products = [stock.fields(stock.at(position)) for position in page.positions]
    return ads_data(products, call.echo, next_cursor=page.next_token)


@serves(routes.PRODUCTS_PUT, measure=count_products, faults=PRODUCT_FAULTS)
async def put_products(call: Call) -> Answer:
    """Stores the products, and returns their results in the order of the request. Products that share an id are neither
    stored nor listed.
    """
    stock, products = the_catalog(call).stock, call.body["products"]
    counts = Counter(map(_id_of, products))
    lost, refused = _of_fault(call.fault, "product_missing"), _of_fault(call.fault, "product_error")
    results = [
        _failed(stock, product, [_SCRIPTED]) if index == refused else _put(call, stock, product)
        for index, product in enumerate(products)
        if index != lost and ((product_id := _id_of(product)) is None or counts[product_id] == 1)
    ]
    return ads_data({"products_response": results}, call.path)


@serves(routes.PRODUCTS_DELETE)
async def delete_products(call: Call) -> Answer:
    """Deletes products. Returns each deleted key, and each failed key with the reason."""
    stock = the_catalog(call).stock
    results = [
        {"product_key": key}
        if stock.remove(key)
        else {"failed_product_key": key, "message": "there is no product with this key"}
        for key in call.body["product_keys"]
    ]
    return ads_data({"delete_products": results}, call.path)


_SCRIPTED: Final = BrokenRule(path="", reason="a scripted fault")


def _put(call: Call, stock: Stock, product: Any) -> Result:
    """Stores a valid product. It replaces all fields of a stored product with the same id."""
    product = known_fields(call, Product, product)
    if broken := broken_rules(Product, product, now=call.state.clock.datetime()):
        return _failed(stock, product, broken)
    content, group_id, known = content_of(product), product.get("item_group_id"), stock.get(product["id"])
    if known is not None and known.content == content:
        status = "NO_CHANGE"
    else:
        status = "CREATE_SUCCESS" if known is None else "UPDATE_SUCCESS"
        new_id = call.state.advertising.new_id
        known = Item(product["id"], new_id() if known is None else known.key, group_id, content)
        stock.put(known, "" if group_id is None else new_id())
    return _result(product["id"], known.key, status, warnings=warnings_about(product))


def _failed(stock: Stock, product: Any, broken: Iterable[BrokenRule]) -> Result:
    """Returns the result of a rejected product. A stored product with the same id stays unchanged."""
    product_id = _id_of(product)
    known = None if product_id is None else stock.get(product_id)
    errors = [_error(rule) for rule in broken]
    return _result(product_id, known.key if known else None, "ERROR", errors=errors)


def _error(rule: BrokenRule) -> dict[str, str]:
    if not rule.path:
        return {"code": rule.code, "message": f"the product {rule.reason}" if rule is not _SCRIPTED else rule.reason}
    return {"code": rule.code, "message": f"{rule.path} {rule.reason}", "field": rule.path}


def _result(
    product_id: str | None, key: str | None, status: str, *, warnings: Sequence[Any] = (), errors: Sequence[Any] = ()
) -> Result:
    return {"id": product_id, "product_key": key, "status": status, "warnings": warnings, "errors": errors}


def _id_of(product: Any) -> str | None:
    """Returns the id of a product, or None if the value is not a product with an id."""
    found = product.get("id") if isinstance(product, Mapping) else None
    return found if isinstance(found, str) else None


def _of_fault(fault: Fault | None, kind: str) -> int | None:
    """Returns the index of the product that a fault of this kind affects."""
    return (fault.index or 0) if fault is not None and fault.fault == kind else None
