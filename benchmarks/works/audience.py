"""The audience pipeline: from raw values to accepted records."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, expect

SIGNS_OF_A_DIGEST: Final = 64


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every record was accepted, and the stub saw the right digests."""
    records = order["records"]
    expect("records", told["items"], records)
    if order.get("sends", True):
        total = records + order["warm_records"]
        expect("records that arrived", seen["rows"], total)
        expect("digests that arrived", seen["digest_sum"], digest_sum(total, order.get("keeps_plus", True)))
    else:
        expect("signs of digests", told["checksum"], 2 * records * SIGNS_OF_A_DIGEST)
    return {"us": told["cpu_seconds"] / records * 1e6}


def digest_sum(people: int, keeps_plus: bool) -> int:
    """What the first 8 digits of all digests come to."""
    total = 0
    for email, phone in map(canned.person, range(people)):
        for value in (email.lower(), phone if keeps_plus else phone[1:]):
            total += int(hashlib.sha256(value.encode()).hexdigest()[:8], 16)
    return total


def _targets(ours: str) -> tuple[Target, ...]:
    name, says = ours.partition(", ")[2].lower(), f"from {ours.partition(', ')[2]}"
    return (
        Target(
            id=f"audience-us-{name}",
            says=f"{says}: at most 1.5 µs on the reference machine",
            of=ours,
            at_most=1.5,
            unit=" µs",
        ),
        Target(id=f"audience-floor-{name}", says=f"{says}: at most 2.5 × the floor", of=ours, to="floor", at_most=2.5),
        Target(
            id=f"audience-twitter-ads-{name}",
            says=f"{says}: twitter-ads takes at least 3.5 ×",
            of="twitter-ads",
            to=ours,
            at_least=3.5,
        ),
    )


WORK: Final = Work(
    name="audience",
    title="The audience pipeline",
    says="100,000 records with an e-mail address and a phone number, raw, are normalised, hashed, sent and counted.",
    metric="us",
    unit="µs of CPU a record",
    digits=2,
    base="floor",
    contestants=(
        Contestant(name="floor", module="raw", job="floor", options={"sends": False}),
        Contestant(name="dicts + orjson", module="raw", job="audience"),
        Contestant(name="ours, mappings", module="ours", job="audience"),
        Contestant(name="ours, Arrow", module="ours", job="audience_arrow"),
        Contestant(name="ours, CSV", module="ours", job="audience_csv"),
        Contestant(name="twitter-ads", module="twitter_ads_client", job="audience"),
        Contestant(name="facebook-business", module="facebook", job="audience", options={"keeps_plus": False}),
    ),
    targets=[target for ours in ("ours, mappings", "ours, Arrow") for target in _targets(ours)],
    judge=judge,
    full={"records": 100_000, "warm_records": 2_500},
    quick={"records": 10_000, "warm_records": 500},
    rounds=7,
    stub={"check_digests": True},
    cannot={
        "tweepy": "it has no advertising API",
        "xdk": "it has no advertising API",
        "httpx": "by hand it would be what “dicts + orjson” is with aiohttp",
    },
    notes=(
        "The floor encodes and hashes both values, and does nothing else.",
        "The caller of twitter-ads hashes; doing that is counted.",
        "facebook-business leaves the plus out of phone numbers, and sends 10,000 rows a request, not 2,500.",
        "The rows are made before the clock starts; files are read after it does.",
    ),
)
