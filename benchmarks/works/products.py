"""Product upserts: what one costs, and how many a second there are under latency."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from benchmarks.contestants.by_hand import PRODUCTS_A_REQUEST
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, both_ways, expect

LATENCY_MS: Final = 100
LATE_PRODUCTS: Final = 2_500


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every product arrived and was accepted."""
    expect("products", told["items"], order["products"])
    expect("products that arrived", seen["rows"], order["products"] + PRODUCTS_A_REQUEST)
    return {
        "us": told["cpu_seconds"] / order["products"] * 1e6,
        "products_a_second": order["products"] / told["seconds"],
    }


def _late(contestant: Contestant) -> Contestant:
    options = {"products": LATE_PRODUCTS, "stub": {"latency_seconds": LATENCY_MS / 1_000}}
    return attrs.evolve(contestant, name=f"{contestant.name}, {LATENCY_MS} ms", options=options)


RAW: Final = Contestant(name="raw", module="by_hand", job="products")
OURS: Final = Contestant(name="ours", module="socialapi_client", job="products")
FACEBOOK: Final = Contestant(name="facebook-business", module="facebook", job="products")

WORK: Final = Work(
    name="products",
    title="Product upserts",
    says=(
        "50,000 products are put, 25 a request and 8 requests at once, which says what a product costs; and "
        f"{LATE_PRODUCTS:,} at {LATENCY_MS} ms a reply."
    ),
    metric="us",
    unit="µs of CPU a product",
    base="raw",
    contestants=(
        RAW,
        Contestant(name="raw, validating", module="by_hand_with_checks", job="products"),
        *both_ways(OURS),
        FACEBOOK,
        *map(_late, (RAW, OURS, FACEBOOK)),
    ),
    targets=(Target(id="products-raw", says="at most 4 × raw", of="ours", to="raw", at_most=4.0),),
    judge=judge,
    full={"products": 50_000, "at_once": 8},
    quick={"products": 500, "at_once": 8},
    rounds=7,
    also={"products_a_second": "products a second"},
    cannot={
        "tweepy": "no catalogs",
        "xdk": "no catalogs",
        "twitter-ads": "this version has no products of catalogs",
        "httpx": "by hand it would be what raw is with aiohttp",
    },
    notes=(
        "Raw checks nothing, and sends what it is given; validating checks the fields that are required.",
        "facebook-business sends from 8 threads.",
        "At 8 requests at once and 100 ms a reply there cannot be more than 2,000 products a second.",
    ),
)
