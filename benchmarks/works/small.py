"""One small request after the other."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, both_ways, expect


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every request went out once, and every answer was read."""
    expect("requests", seen["requests"], order["requests"] + order["warm_requests"])
    expect("checksum", told["checksum"], order["requests"] * len(canned.post(1)["text"]))
    return {"us": told["cpu_seconds"] / order["requests"] * 1e6}


WORK: Final = Work(
    name="small",
    title="One small request",
    says="One post is looked up again and again, with a bearer token, one request after the other.",
    metric="us",
    unit="µs of CPU a request",
    digits=0,
    base="aiohttp",
    contestants=(
        Contestant(name="aiohttp", module="raw", job="small"),
        *both_ways(Contestant(name="ours", module="ours", job="small")),
        Contestant(name="tweepy, session reused", module="tweepy_async", job="small", options={"reuses_session": True}),
        Contestant(name="tweepy", module="tweepy_async", job="small", options={"reuses_session": False}),
        Contestant(name="requests", module="plain_clients", job="requests_small"),
        Contestant(name="xdk", module="xdk_client", job="small"),
        Contestant(name="httpx", module="plain_clients", job="httpx_small"),
    ),
    targets=(Target(id="small-aiohttp", says="at most 1.25 × aiohttp", of="ours", to="aiohttp", at_most=1.25),),
    judge=judge,
    full={"requests": 2_000, "warm_requests": 50},
    quick={"requests": 200, "warm_requests": 10},
    rounds=9,
    cannot={
        "twitter-ads": "it has no endpoint of the core API; its requests are those of requests, with a signature each",
        "facebook-business": "its service has no such endpoint; its requests are those of requests",
    },
)
