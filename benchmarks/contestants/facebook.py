"""facebook-business against the stub: another service's protocol, the same job."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from facebook_business.adobjects.customaudience import CustomAudience
from facebook_business.adobjects.productcatalog import ProductCatalog
from facebook_business.api import FacebookAdsApi
from facebook_business.session import FacebookSession

from benchmarks.contestants.by_hand import PRODUCTS_A_REQUEST, people_of
from benchmarks.contestants.measuring import Meter
from benchmarks.harness import canned

MAX_ROWS: Final = 10_000
"""What its service takes in one request."""


def _point_at(order: dict[str, Any]) -> None:
    FacebookSession.GRAPH = order["url"]
    FacebookAdsApi.init(access_token="token", crash_log=False)


def audience(order: dict[str, Any]) -> dict[str, Any]:
    """Adds people as lists of raw values, which it normalises and hashes."""
    _point_at(order)
    target = CustomAudience("1")
    keys = CustomAudience.Schema.MultiKeySchema
    warm, people = ([list(each.values()) for each in part] for part in people_of(order))

    def send(users: list[list[str]]) -> int:
        received: int = target.add_users([keys.email, keys.phone], users, is_raw=True).json()["num_received"]
        return received

    send(warm)
    meter = Meter()
    parts = (people[start : start + MAX_ROWS] for start in range(0, len(people), MAX_ROWS))
    return meter.told(items=sum(map(send, parts)))


def products(order: dict[str, Any]) -> dict[str, Any]:
    """Sends batches of catalog items from so many threads, since it knows no asyncio."""
    _point_at(order)
    catalog = ProductCatalog("1")
    shapes = [canned.product(number) for number in range(order["products"])]

    def put(part: list[dict[str, str]]) -> int:
        items = [{"method": "UPDATE", "data": each} for each in part]
        catalog.create_items_batch(params={"item_type": "PRODUCT_ITEM", "allow_upsert": True, "requests": items})
        return len(part)

    put(shapes[:PRODUCTS_A_REQUEST])
    meter = Meter()
    parts = [shapes[start : start + PRODUCTS_A_REQUEST] for start in range(0, len(shapes), PRODUCTS_A_REQUEST)]
    with ThreadPoolExecutor(order["at_once"]) as threads:
        return meter.told(items=sum(threads.map(put, parts)))
