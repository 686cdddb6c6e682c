"""The product endpoints in memory, in the place of the network: what a load is held against.

Products are applied in the order in which requests reach it, and answered in an order, and with faults, that a random
number generator chooses. It also watches what no request and no order may do.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.inputs.reader import Block, Reader
from socialapi.bulk.products.cells import product_rows, with_main_units
from socialapi.bulk.products.feed import ProductColumns, ProductLayout
from socialapi.bulk.products.job import UpsertJob, UpsertOptions
from socialapi.bulk.products.rows import ProductRow
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.request import Request
from socialapi.wire.response import Reply
from tests.bulk.model_transport import ModelTransport, answer, session_of
from tests.support.clock import VirtualClock

Shape = dict[str, Any]

FAULTS: Final = ("503", "500", "html", "reset_before", "reset_after", "truncate", "429", "missing", "none", "odd")
REFUSED: Final = "refuse me"
"""A product with this custom_label_0 is refused by the service."""
WARNED: Final = "warn me"
"""A product with this custom_label_0 is taken with a warning."""


def product(product_id: str, **fields: Any) -> Shape:
    """A product that keeps every rule; a field that is None is left out."""
    whole = {
        "id": product_id,
        "title": f"Boots {product_id}",
        "description": "For walking.",
        "availability": "available for order",
        "condition": "new",
        "price": "10.00 EUR",
        "link": f"https://shop.example/{product_id}",
        "image_link": f"https://shop.example/{product_id}.jpg",
        "brand": "Northwind",
        **fields,
    }
    return {name: value for name, value in whole.items() if value is not None}


def products(*ids: str, **fields: Any) -> list[Shape]:
    return [product(each, **fields) for each in ids]


def numbered(count: int) -> list[Shape]:
    return products(*(f"p{number}" for number in range(count)))


def results(*items: Mapping[str, Any]) -> Reply:
    return answer({"data": {"products_response": list(items)}})


def result(product_id: str | None, status: str = "CREATE_SUCCESS", **more: Any) -> Shape:
    return {"id": product_id, "product_key": f"k-{product_id}", "status": status, "warnings": [], "errors": [], **more}


@attrs.define(eq=False)
class ModelCatalog(ModelTransport):
    """Takes the place of the transport, for products."""

    products: dict[str, Shape] = attrs.field(factory=dict, init=False)
    submitted: dict[str, list[str]] = attrs.field(factory=dict, init=False)
    """The ids of each group in the order in which its products were applied for the first time."""
    deletions: list[list[str]] = attrs.field(factory=list, init=False)

    async def send(self, request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float) -> Reply:
        content = b"".join(request.body)
        body: Shape = orjson.loads(content)
        if request.method == "DELETE":
            self.deletions.append(body["product_keys"])
            return self._answer(body["product_keys"], self._delete)
        sent = body["products"]
        keys = {("id", each["id"]) for each in sent} | {
            ("group", each["item_group_id"]) for each in sent if "item_group_id" in each
        }
        self._watch(sent, keys)
        return await self._serve(content, sent, keys, self.process)

    def _has_to_pass_the_gate(self) -> bool:
        """The first request has not, before whose answer no other one is sent."""
        return len(self.requests) > 1

    def _watch(self, sent: Sequence[Shape], keys: set[tuple[str, str]]) -> None:
        """No more than 25, no id twice in a request, and none that is on its way in another one; nor a group."""
        assert 1 <= len(sent) <= 25
        ids = [each["id"] for each in sent]
        assert len(set(ids)) == len(ids), "an id twice in a request"
        assert not any(self._on_its_way[key] for key in keys), "overtaken"

    def _met(self, fault: str | None, asked: Any, process: Callable[[Any], Reply]) -> Reply:
        match fault:
            case "missing":
                return self._without(process(asked), lambda: self._rng.random() < 0.5)
            case "none":
                return answer({"data": {}})
            case "odd":
                process(asked)
                return answer({"data": {"products_response": "?"}})
        return super()._met(fault, asked, process)

    def _without(self, reply: Reply, drop: Callable[[], bool]) -> Reply:
        body = orjson.loads(reply.content)
        body["data"] = {name: [each for each in items if not drop()] for name, items in body["data"].items()}
        return answer(body)

    def process(self, sent: Sequence[Shape]) -> Reply:
        """Applies the products one after another; what is refused changes nothing."""
        found = [self._applied(each) for each in sent]
        self._rng.shuffle(found)
        return results(*found)

    def _applied(self, sent: Shape) -> Shape:
        product_id, label = sent["id"], sent.get("custom_label_0")
        if label == REFUSED:
            error = {"code": "INVALID_PARAMETER", "message": "custom_label_0 is refused", "field": "custom_label_0"}
            return result(product_id, "ERROR", errors=[error])
        before = self.products.get(product_id)
        self.products[product_id] = sent
        if "item_group_id" in sent:
            group = self.submitted.setdefault(sent["item_group_id"], [])
            if product_id not in group:
                group.append(product_id)
        status = "CREATE_SUCCESS" if before is None else "NO_CHANGE" if before == sent else "UPDATE_SUCCESS"
        return result(product_id, status, warnings=["looks odd"] if label == WARNED else [])

    def _delete(self, keys: Sequence[str]) -> Reply:
        answers: list[Shape] = []
        for key in keys:
            found = self.products.pop(key.removeprefix("k-"), None)
            answers.append(
                {"failed_product_key": key, "message": "is not there"} if found is None else {"product_key": key}
            )
        return answer({"data": {"delete_products": answers}})


def job_of(
    service: ModelCatalog,
    source: Any,
    *,
    clock: VirtualClock | None = None,
    settings: Mapping[str, Any] | None = None,
    session: Session | None = None,
    catalog: str = "c",
    **options: Any,
) -> UpsertJob:
    session = session or session_of(service, clock, **(settings or {}))
    return UpsertJob(session, catalog, source, UpsertOptions(**options), CallOptions.interactive(session.config))


def open_feed(source: Any, columns: Any = None) -> Reader[Block[ProductLayout]]:
    """A reader of the products in a feed."""
    return open_records(source, ProductColumns.of(columns))


async def read(source: Any, columns: Any = None) -> list[ProductRow]:
    """All rows of a feed."""
    async with open_feed(source, columns) as reader:
        return [row async for block in reader for row in product_rows(with_main_units(block))]


async def why_empty(source: Any) -> str | None:
    """Why a feed has no rows, which it ends without an error."""
    async with open_feed(source) as reader:
        assert await reader.read_block() is None
        return reader.why_empty


async def read_until(source: Any, error: type[Exception]) -> tuple[list[ProductRow], str]:
    """The rows before the error that ends a feed, and what it says."""
    rows: list[ProductRow] = []
    try:
        async with open_feed(source) as reader:
            async for block in reader:
                rows += product_rows(block)
    except error as raised:
        return rows, str(raised)
    raise AssertionError(f"{error.__name__} was not raised")


HEADER: Final = "id,title,description,availability,condition,price,link,image_link,brand"


def line(product_id: str, **fields: str) -> str:
    """A line of a CSV file with the columns of `HEADER`."""
    shape = product(product_id, **fields)
    return ",".join(shape[name] for name in HEADER.split(","))


def csv_file(path: Path, *lines: str | bytes, header: str = HEADER) -> Path:
    path.write_bytes(b"\n".join(each.encode() if isinstance(each, str) else each for each in (header, *lines)) + b"\n")
    return path
