"""Paging: 200 pages of 100 posts into objects."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.canned import POSTS_A_PAGE, checksum_of_posts
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, expect


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every post was read, and every request went out once."""
    posts = order["pages"] * POSTS_A_PAGE
    expect("posts", told["items"], posts)
    expect("checksum", told["checksum"], checksum_of_posts(range(posts)))
    expect("requests", seen["requests"], order["pages"] + order["warm_pages"])
    return {"us": told["cpu_seconds"] / posts * 1e6}


WORK: Final = Work(
    name="paging",
    title="Paging into typed objects",
    says="A timeline of 200 pages with 100 posts each is walked to its end; two fields of every post are read.",
    metric="us",
    unit="µs of CPU a post",
    base="raw",
    contestants=(
        Contestant(name="raw", module="raw", job="paging"),
        Contestant(name="ours", module="ours", job="paging"),
        Contestant(name="stock cattrs on raw", module="stock_cattrs", job="paging"),
        Contestant(
            name="tweepy, session reused", module="tweepy_async", job="paging", options={"reuses_session": True}
        ),
        Contestant(name="tweepy", module="tweepy_async", job="paging", options={"reuses_session": False}),
        Contestant(name="xdk", module="xdk_client", job="paging"),
        Contestant(name="httpx dicts", module="plain_clients", job="httpx_paging"),
    ),
    targets=(
        Target(id="paging-raw", says="at most 2.0 × raw", of="ours", to="raw", at_most=2.0),
        Target(
            id="paging-tweepy",
            says="tweepy with a reused session takes at least 3 ×",
            of="tweepy, session reused",
            to="ours",
            at_least=3.0,
        ),
    ),
    judge=judge,
    full={"pages": 200, "warm_pages": 10},
    quick={"pages": 20, "warm_pages": 2},
    rounds=9,
    cannot={
        "twitter-ads": "it has no timelines: it knows the advertising API only",
        "facebook-business": "it has no timelines of this service",
    },
    notes=(
        "raw and httpx give dicts, and xdk leaves times as texts; ours and tweepy make datetimes of them.",
        "xdk refuses posts without two counts that the others do not know, so it is served those as well.",
    ),
)
