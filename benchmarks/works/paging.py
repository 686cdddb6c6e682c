"""Paging: 1,500 pages of 100 posts into objects, of posts that are alike and of posts as timelines
have them.
"""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.canned import POSTS_A_PAGE, checksum_of_posts
from benchmarks.harness.work import Contestant, Order, Schedule, Target, Told, Work, both_ways, expect


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every post was read, and every request went out once."""
    posts = order["pages"] * POSTS_A_PAGE
    expect("posts", told["items"], posts)
    expect("checksum", told["checksum"], checksum_of_posts(range(posts)))
    expect("requests", seen["requests"], order["pages"] + order["warm_pages"])
    return {"us": told["cpu_seconds"] / posts * 1e6}


FULL: Final = {"pages": 1_500, "warm_pages": 10}
QUICK: Final = {"pages": 20, "warm_pages": 2}
COMMON: Final = (
    Contestant(name="raw", module="by_hand", job="paging"),
    Contestant(name="raw, validating", module="by_hand_with_checks", job="paging"),
    *both_ways(Contestant(name="ours", module="socialapi_client", job="paging")),
    Contestant(name="stock cattrs on raw", module="cattrs_by_hand", job="paging"),
    Contestant(name="tweepy, session reused", module="tweepy_async", job="paging", options={"reuses_session": True}),
)
OTHER_SERVICES: Final = {
    "twitter-ads": "it has no timelines: it knows the advertising API only",
    "facebook-business": "it has no timelines of this service",
}
NOTE: Final = "Validating checks the types of all members by hand, and makes datetimes of the times."

WORK: Final = Work(
    name="paging",
    title="Paging into typed objects",
    says="A timeline of 1,500 pages with 100 posts each is walked to its end; two fields of every post are read.",
    metric="us",
    unit="µs of CPU a post",
    base="raw",
    contestants=(
        *COMMON,
        Contestant(name="tweepy", module="tweepy_async", job="paging", options={"reuses_session": False}),
        Contestant(name="xdk", module="xdk_client", job="paging"),
        Contestant(name="httpx dicts", module="plain_clients", job="httpx_paging"),
    ),
    targets=(
        Target(id="paging-raw", says="at most 1.6 × raw", of="ours", to="raw", at_most=1.6),
        Target(
            id="paging-tweepy",
            says="tweepy with a reused session takes at least 4 ×",
            of="tweepy, session reused",
            to="ours",
            at_least=4.0,
        ),
    ),
    judge=judge,
    full=FULL,
    quick=QUICK,
    rounds=7,
    schedule=Schedule.BY_TURNS,
    cannot=OTHER_SERVICES,
    notes=(
        "raw and httpx give dicts, and xdk leaves times as texts; ours and tweepy make datetimes of them.",
        NOTE,
        "xdk refuses posts without two counts that the others do not know, so it is served those as well.",
    ),
)

MIXED: Final = Work(
    name="paging_mixed",
    title="Paging, posts with mixed members",
    says="The same with posts of 30 shapes: some are replies, some have links, pictures, subjects, or a new member.",
    metric="us",
    unit="µs of CPU a post",
    base="raw",
    contestants=COMMON,
    targets=(Target(id="paging-mixed-raw", says="at most 1.8 × raw", of="ours", to="raw", at_most=1.8),),
    judge=judge,
    full=FULL,
    quick=QUICK,
    rounds=7,
    schedule=Schedule.BY_TURNS,
    stub={"is_mixed": True},
    cannot={**OTHER_SERVICES, "xdk": "it is served other posts, see above", "httpx": "its dicts are those of raw"},
    notes=(NOTE,),
)
