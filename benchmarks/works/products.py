"""Product upserts."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.work import Contestant, Order, Target, Told, Work, expect


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every product arrived and was accepted."""
    expect("products", told["items"], order["products"])
    expect("products that arrived", seen["rows"], order["products"] + 25)
    return {
        "us": told["cpu_seconds"] / order["products"] * 1e6,
        "products_a_second": order["products"] / told["seconds"],
    }


WORK: Final = Work(
    name="products",
    title="Product upserts",
    says="5,000 products are put, 25 a request and 8 requests at once, at 100 ms a reply.",
    metric="us",
    unit="µs of CPU a product",
    base="raw",
    contestants=(
        Contestant(name="raw", module="raw", job="products"),
        Contestant(name="ours", module="ours", job="products"),
        Contestant(name="facebook-business", module="facebook", job="products"),
    ),
    targets=(
        Target(
            id="products-rate",
            says="at least 90 % of raw aiohttp's products a second",
            of="ours",
            to="raw",
            metric="products_a_second",
            at_least=0.9,
        ),
    ),
    judge=judge,
    full={"products": 5_000, "at_once": 8},
    quick={"products": 500, "at_once": 8},
    rounds=5,
    also={"products_a_second": "products a second"},
    stub={"latency_seconds": 0.1},
    cannot={
        "tweepy": "it has no catalogs",
        "xdk": "it has no catalogs",
        "twitter-ads": "this version has no products of catalogs",
        "httpx": "by hand it would be what raw is with aiohttp",
    },
    notes=(
        "Raw checks nothing, and sends what it is given. facebook-business sends from 8 threads.",
        "At 8 requests at once and 100 ms a reply there cannot be more than 2,000 products a second.",
    ),
)
