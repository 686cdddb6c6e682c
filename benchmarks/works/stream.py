"""A persistent stream, read as fast as it arrives."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.canned import LINES_A_BLOCK, checksum_of_posts
from benchmarks.harness.work import (
    BY_HAND,
    SOCIALAPI,
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
    """Checks that all posts sent during the measurement were read, with the same checksums of texts and counts."""
    first, posts = order["warm_posts"], order["posts"]
    numbers = (number % LINES_A_BLOCK for number in range(first, first + posts))
    expect("posts", told["items"], posts)
    expect("checksum", told["checksum"], checksum_of_posts(numbers))
    return {"us": told["cpu_seconds"] / posts * 1e6}


WORK: Final = Work(
    name="stream",
    title="Reading a persistent stream",
    says="Reads 100,000 posts of a filtered stream as fast as they arrive, each in a separate chunk on the wire.",
    metric="us",
    unit="µs of CPU a post",
    base=BY_HAND,
    contestants=(
        Contestant(name=BY_HAND, module="by_hand", job="stream"),
        Contestant(name="aiohttp's lines + orjson", module="by_hand", job="stream_by_lines"),
        *both_ways(Contestant(name=SOCIALAPI, module="socialapi_client", job="stream")),
        Contestant(name="tweepy", module="tweepy_async", job="stream"),
        Contestant(name="xdk", module="xdk_client", job="stream"),
    ),
    targets=(
        Target(of=SOCIALAPI, to=BY_HAND, at_most=1.35),
        Target(of="tweepy", to=SOCIALAPI, at_least=4.0),
    ),
    judge=judge,
    full={"posts": 100_000, "warm_posts": 1_000},
    quick={"posts": 2_000, "warm_posts": 500},
    rounds=7,
    schedule=Schedule.BY_TURNS,
    cannot={
        "twitter-ads": "it covers the advertising API only",
        "facebook-business": "its service has no such stream",
        "httpx": f"by hand, it would be “{BY_HAND}” with a different client",
    },
    notes=(
        f"“{BY_HAND}” splits the bytes into lines itself; “aiohttp's lines” is `async for line in response.content`.",
    ),
)
