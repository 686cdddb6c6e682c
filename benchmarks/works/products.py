"""Product upserts: the cost of a product, and the rate under latency."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from benchmarks.contestants.by_hand import PRODUCTS_A_REQUEST
from benchmarks.harness.work import (
    BY_HAND,
    SOCIALAPI,
    WITH_CHECKS,
    Contestant,
    Order,
    Target,
    Told,
    Work,
    both_ways,
    expect,
)

LATENCY_MS: Final = 100
LATE_PRODUCTS: Final = 2_500


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every product arrived and was accepted."""
    expect("products", told["items"], order["products"])
    expect("products that arrived", seen["rows"], order["products"] + PRODUCTS_A_REQUEST)
    return {
        "us": told["cpu_seconds"] / order["products"] * 1e6,
        "products_a_second": order["products"] / told["seconds"],
    }


def _late(contestant: Contestant) -> Contestant:
    options = {"products": LATE_PRODUCTS, "stub": {"latency_seconds": LATENCY_MS / 1_000}}
    return attrs.evolve(contestant, name=f"{contestant.name}, {LATENCY_MS} ms", options=options, group="late")


HAND: Final = Contestant(name=BY_HAND, module="by_hand", job="products")
SDK: Final = Contestant(name=SOCIALAPI, module="socialapi_client", job="products")
FACEBOOK: Final = Contestant(name="facebook-business", module="facebook", job="products")

WORK: Final = Work(
    name="products",
    title="Loading products",
    says=(
        "Sends 50,000 products, 25 a request and 8 requests at once, which shows what a product costs; and "
        f"{LATE_PRODUCTS:,} with {LATENCY_MS} ms a response."
    ),
    metric="us",
    unit="µs of CPU a product",
    base=BY_HAND,
    contestants=(
        HAND,
        Contestant(name=WITH_CHECKS, module="by_hand_with_checks", job="products"),
        *both_ways(SDK),
        FACEBOOK,
        *map(_late, (HAND, SDK, FACEBOOK)),
    ),
    targets=(Target(of=SOCIALAPI, to=BY_HAND, at_most=2.2),),
    judge=judge,
    full={"products": 50_000, "at_once": 8},
    quick={"products": 500, "at_once": 8},
    rounds=7,
    also={"products_a_second": "products a second"},
    cannot={
        "tweepy": "no catalogs",
        "xdk": "no catalogs",
        "twitter-ads": "this version has no catalog products",
        "httpx": f"by hand, it would be “{BY_HAND}” with a different client",
    },
    notes=(
        f"“{BY_HAND}” checks nothing; “{WITH_CHECKS}” checks the required fields. socialapi checks every rule of a product.",
        "facebook-business sends from 8 threads.",
        "8 requests at once with 100 ms a response cannot carry more than 2,000 products a second.",
    ),
)
