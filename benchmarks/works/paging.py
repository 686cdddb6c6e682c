"""Paging: 1,500 pages of 100 posts read into objects, for uniform posts and for posts as in real timelines."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.canned import POSTS_A_PAGE, checksum_of_posts
from benchmarks.harness.work import (
    BY_HAND,
    SOCIALAPI,
    WITH_CHECKS,
    Contestant,
    Order,
    Schedule,
    Target,
    Told,
    Work,
    both_ways,
    expect,
)


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every post was read, and that every request was sent once."""
    posts = order["pages"] * POSTS_A_PAGE
    expect("posts", told["items"], posts)
    expect("checksum", told["checksum"], checksum_of_posts(range(posts)))
    expect("requests", seen["requests"], order["pages"] + order["warm_pages"])
    return {"us": told["cpu_seconds"] / posts * 1e6}


FULL: Final = {"pages": 1_500, "warm_pages": 10}
QUICK: Final = {"pages": 20, "warm_pages": 2}
COMMON: Final = (
    Contestant(name=BY_HAND, module="by_hand", job="paging"),
    Contestant(name=WITH_CHECKS, module="by_hand_with_checks", job="paging"),
    *both_ways(Contestant(name=SOCIALAPI, module="socialapi_client", job="paging")),
    Contestant(name="aiohttp + orjson + cattrs", module="cattrs_by_hand", job="paging"),
    Contestant(name="tweepy, session reused", module="tweepy_async", job="paging", options={"reuses_session": True}),
)
OTHER_SERVICES: Final = {
    "twitter-ads": "it covers the advertising API only",
    "facebook-business": "its service has no such timelines",
}
NOTE: Final = f"“{WITH_CHECKS}” checks the type of every field and parses times into datetimes."

WORK: Final = Work(
    name="paging",
    title="Reading timelines",
    says="Reads a timeline of 1,500 pages with 100 posts each, and two fields of every post.",
    metric="us",
    unit="µs of CPU a post",
    base=BY_HAND,
    contestants=(
        *COMMON,
        Contestant(name="aiohttp + msgspec", module="msgspec_by_hand", job="paging"),
        Contestant(name="tweepy", module="tweepy_async", job="paging", options={"reuses_session": False}),
        Contestant(name="xdk", module="xdk_client", job="paging"),
        Contestant(name="httpx, dicts", module="plain_clients", job="httpx_paging"),
    ),
    targets=(
        Target(of=SOCIALAPI, to=BY_HAND, at_most=1.6),
        Target(of="tweepy, session reused", to=SOCIALAPI, at_least=4.0),
    ),
    judge=judge,
    full=FULL,
    quick=QUICK,
    rounds=7,
    schedule=Schedule.BY_TURNS,
    cannot=OTHER_SERVICES,
    notes=(
        (
            "socialapi and tweepy return typed objects with datetimes. xdk returns objects whose times are strings. "
            f"“{BY_HAND}” and httpx return dicts."
        ),
        NOTE,
        "xdk rejects posts without two counts that the others do not know, so its posts contain these counts too.",
    ),
)

MIXED: Final = Work(
    name="paging_mixed",
    title="Reading timelines of varied posts",
    says="The same with posts of 30 kinds: some are replies, and some have links, pictures, topics or an unknown field.",
    metric="us",
    unit="µs of CPU a post",
    base=BY_HAND,
    contestants=COMMON,
    targets=(Target(of=SOCIALAPI, to=BY_HAND, at_most=1.8),),
    judge=judge,
    full=FULL,
    quick=QUICK,
    rounds=7,
    schedule=Schedule.BY_TURNS,
    stub={"is_mixed": True},
    cannot={**OTHER_SERVICES, "xdk": "its posts are different (see above)", "httpx": "measured above"},
    notes=(NOTE,),
)
