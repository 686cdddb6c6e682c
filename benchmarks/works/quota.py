"""Filling the quota: what share of the allowed requests is made."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.harness.work import Contestant, Order, Schedule, Target, Told, Work, expect

WINDOW_SECONDS: Final = 60.0
REQUESTS: Final = 1_500
LATENCIES_MS: Final = (20, 200, 400)
AT_ONCE: Final = 16


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """The share in steady state, and how many requests were refused."""
    accepted = seen["accepted_at"]
    expect("accepted requests", len(accepted), told["items"])
    share = steady_share(accepted, order["quota_requests"], order["quota_seconds"])
    return {"share": 100 * share, "refused": float(seen["refused"])}


def steady_share(accepted_at: Sequence[float], requests: int, seconds: float) -> float:
    """How much of the quota is used once the first window is over.

    Requests come in bursts, one a window: so many as the first window held come again within a period, which is
    measured from each of them to the one that many later.
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
        ("ours", "socialapi_client", {}),
        ("aiohttp, one at a time", "by_hand", {}),
        (f"aiohttp, {AT_ONCE} at once", "by_hand", {"at_once": AT_ONCE}),
        ("twitter-ads, its caller waits", "twitter_ads_client", {}),
        ("twitter-ads waits", "twitter_ads_client", {"waits_itself": True}),
    )
    return [
        Contestant(name=f"{name}, {latency_ms} ms", module=module, job="quota", options={**options, "stub": stub})
        for name, module, options in each
    ]


WORK: Final = Work(
    name="quota",
    title="Filling the quota",
    says="Uploads of one row each run into a limit of 1,500 requests a minute, at 20, 200 and 400 ms a reply.",
    metric="share",
    unit="% of the quota",
    is_higher_better=True,
    base=None,
    contestants=[contestant for latency in LATENCIES_MS for contestant in _at(latency)],
    targets=[
        target
        for latency in LATENCIES_MS
        for target in (
            Target(
                id=f"quota-{latency}",
                says=f"at least 97 % of the quota at {latency} ms a reply",
                of=f"ours, {latency} ms",
                at_least=97.0,
                unit=" %",
            ),
            Target(
                id=f"quota-{latency}-429",
                says=f"not one 429 at {latency} ms a reply",
                of=f"ours, {latency} ms",
                metric="refused",
                at_most=0,
                unit=" times 429",
            ),
        )
    ],
    judge=judge,
    full=_size(REQUESTS, WINDOW_SECONDS),
    quick=_size(REQUESTS // 10, WINDOW_SECONDS / 10),
    rounds=3,
    schedule=Schedule.AT_ONCE,
    also={"refused": "times 429"},
    cannot={
        "tweepy": "it has no uploads; its client is as serial as its caller, and meets limits by being refused",
        "xdk": "as tweepy",
        "facebook-business": "its service has another limit; its client is serial",
        "httpx": "a client for HTTP has no notion of a limit",
    },
    notes=(
        "The stub refuses beyond 1,500 requests in any 60 seconds; a round is a window and a half.",
        "aiohttp and the caller of twitter-ads wait as long as a 429 says.",
        "twitter-ads sends one request at a time, and waits five seconds longer if it is left to wait by itself.",
    ),
)
