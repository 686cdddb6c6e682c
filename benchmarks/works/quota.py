"""Using the quota: the share of the allowed requests that is sent."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Schedule, Target, Told, Work, expect

WINDOW_SECONDS: Final = 60.0
REQUESTS: Final = 1_500
LATENCIES_MS: Final = (20, 200, 400)
AT_ONCE: Final = 16


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Returns the share in steady state, and how many requests were refused."""
    accepted = seen["accepted_at"]
    expect("accepted requests", len(accepted), told["items"])
    share = steady_share(accepted, order["quota_requests"], order["quota_seconds"])
    return {"share": 100 * share, "refused": float(seen["refused"])}


def steady_share(accepted_at: Sequence[float], requests: int, seconds: float) -> float:
    """Returns how much of the quota is used once the first window is over.

    Requests come in bursts, one per window. As many requests as in the first window are sent in every period. The
    period is measured from each request to the request that many later.
    """
    first = sum(at < accepted_at[0] + seconds for at in accepted_at)
    periods = [later - at for at, later in zip(accepted_at, accepted_at[first:], strict=False)]
    if not periods:
        return 0.0
    return first / requests * seconds / statistics.median(periods)


def _size(requests: int, seconds: float) -> dict[str, Any]:
    quota = {"quota_requests": requests, "quota_seconds": seconds}
    return {"seconds": 1.5 * seconds, "rows": int(1.6 * requests), **quota, "stub": quota}


def _at(latency_ms: int) -> list[Contestant]:
    stub = {"latency_seconds": latency_ms / 1_000}
    each: tuple[tuple[str, str, dict[str, Any]], ...] = (
        (SOCIALAPI, "socialapi_client", {}),
        ("aiohttp, one at a time", "by_hand", {}),
        (f"aiohttp, {AT_ONCE} at once", "by_hand", {"at_once": AT_ONCE}),
        ("twitter-ads, its caller waits", "twitter_ads_client", {}),
        ("twitter-ads, waits itself", "twitter_ads_client", {"waits_itself": True}),
    )
    return [
        Contestant(
            name=f"{name}, {latency_ms} ms",
            module=module,
            job="quota",
            options={**options, "stub": stub},
            group=str(latency_ms),
        )
        for name, module, options in each
    ]


WORK: Final = Work(
    name="quota",
    title="Using the rate limit",
    says="Sends uploads of one row each against a limit of 1,500 requests a minute, with 20, 200 and 400 ms a response.",
    metric="share",
    unit="% of the allowed requests",
    is_higher_better=True,
    base=None,
    contestants=[contestant for latency in LATENCIES_MS for contestant in _at(latency)],
    targets=[
        Target(of=f"{SOCIALAPI}, {latency} ms", to=f"aiohttp, {AT_ONCE} at once, {latency} ms", at_least=0.97)
        for latency in LATENCIES_MS
    ],
    judge=judge,
    full=_size(REQUESTS, WINDOW_SECONDS),
    quick=_size(REQUESTS // 10, WINDOW_SECONDS / 10),
    rounds=3,
    schedule=Schedule.AT_ONCE,
    also={"refused": "refused (429)"},
    beside="refused",
    cannot={
        "tweepy": "it has no uploads",
        "xdk": "as tweepy",
        "facebook-business": "its service has a different limit",
        "httpx": "it does not handle rate limits",
    },
    notes=(
        "The stub refuses more than 1,500 requests in any 60 seconds; a round lasts a window and a half.",
        "aiohttp and the caller of twitter-ads wait as long as a 429 response requests.",
        "twitter-ads sends one request at a time, and waits five seconds longer than needed when it handles the wait itself.",
    ),
)
