"""The audience pipeline: from raw values to accepted records, clean ones and such as exports have
them.
"""

import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, both_ways, expect, hashed_by_hashlib

SIGNS_OF_A_DIGEST: Final = 64


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every record was accepted, and the stub saw the right digests."""
    records = order["records"]
    expect("records", told["items"], records)
    if order.get("sends", True):
        total = records + order["warm_records"]
        expect("records that arrived", seen["rows"], total)
        expect("digests that arrived", seen["digest_sum"], digests_of(range(total), order.get("keeps_plus", True)))
    else:
        expect("signs of digests", told["checksum"], 2 * records * SIGNS_OF_A_DIGEST)
    return {"us": told["cpu_seconds"] / records * 1e6}


@functools.cache
def digests_of(numbers: range, keeps_plus: bool = True) -> int:
    """What the first 8 digits of all digests of these people come to."""
    rows = map(canned.person, numbers)
    return sum(_digests((email.lower(), phone if keeps_plus else phone[1:])) for email, phone in rows)


def _digests(normalised: Iterable[str]) -> int:
    return sum(int(hashlib.sha256(value.encode()).hexdigest()[:8], 16) for value in normalised)


@functools.cache
def _expected_of_dirty(records: int) -> tuple[Counter[str], int]:
    """The outcomes of so many dirty people, and what the digests of what arrives come to."""
    outcomes, digests = Counter[str](), 0
    for each in canned.dirty_people(records):
        outcomes[each.outcome] += 1
        digests += _digests(each.sent)
    return outcomes, digests


def judge_dirty(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every record had the outcome that it must have, and exactly the usable values of the accepted
    ones arrived.
    """
    records, warm_records = order["records"], order["warm_records"]
    outcomes, digests = _expected_of_dirty(records)
    found = {"accepted": told["items"], "rejected": told["rejected"], "duplicate": told["duplicate"]}
    expect("outcomes", found, {name: outcomes[name] for name in found})
    expect("records that arrived", seen["rows"], outcomes["accepted"] + warm_records)
    warm = digests_of(range(records, records + warm_records))
    expect("digests that arrived", seen["digest_sum"], digests + warm)
    return {"us": told["cpu_seconds"] / records * 1e6}


def _ours(options: Mapping[str, Any]) -> list[Contestant]:
    jobs = {"mappings": "audience", "Arrow": "audience_arrow", "CSV": "audience_csv"}
    return [
        each
        for name, job in jobs.items()
        for each in both_ways(Contestant(name=f"ours, {name}", module="socialapi_client", job=job, options=options))
    ]


WORK: Final = Work(
    name="audience",
    title="The audience pipeline",
    says="200,000 records with an e-mail address and a phone number, raw, are normalised, hashed, sent and counted.",
    metric="us",
    unit="µs of CPU a record",
    digits=2,
    base="floor",
    contestants=(
        Contestant(name="floor", module="by_hand", job="floor", options={"sends": False}),
        Contestant(name="dicts + orjson", module="by_hand", job="audience"),
        Contestant(name="dicts + orjson, validating", module="by_hand_with_checks", job="audience"),
        *_ours({}),
        hashed_by_hashlib(Contestant(name="ours, mappings", module="socialapi_client", job="audience")),
        Contestant(name="twitter-ads", module="twitter_ads_client", job="audience"),
        Contestant(name="facebook-business", module="facebook", job="audience", options={"keeps_plus": False}),
    ),
    targets=(
        Target(
            id="audience-mappings",
            says="from mappings: at most 1.5 µs, or 1.5 × the floor",
            of="ours, mappings",
            at_most=1.5,
            unit=" µs",
            speed="time",
            or_else=Target(id="audience-mappings-floor", says="", of="ours, mappings", to="floor", at_most=1.5),
        ),
        Target(
            id="audience-arrow",
            says="from Arrow: at most 1.2 µs",
            of="ours, Arrow",
            at_most=1.2,
            unit=" µs",
            speed="time",
        ),
    ),
    judge=judge,
    full={"records": 200_000, "warm_records": 2_500},
    quick={"records": 10_000, "warm_records": 500},
    rounds=7,
    stub={"check_digests": True},
    cannot={
        "tweepy": "no advertising API",
        "xdk": "no advertising API",
        "httpx": "by hand it would be what “dicts + orjson” is with aiohttp",
    },
    notes=(
        "The floor encodes and hashes both values, and does nothing else.",
        "Validating checks and normalises every value, and leaves out who was there before.",
        "The caller of twitter-ads hashes; doing that is counted.",
        "facebook-business leaves the plus out of phone numbers, and sends 10,000 rows a request, not 2,500.",
        "The rows are made before the clock starts; files are read after it does.",
    ),
)

DIRTY: Final = Work(
    name="audience_dirty",
    title="The audience pipeline, dirty rows",
    says=(
        "Of 200,000 records 1 % are odd (blanks, `mailto:`, quotation marks, spellings of phone numbers, empty cells, "
        "values of no use) and 1 % repeat one of the last 5,000, in other letters."
    ),
    metric="us",
    unit="µs of CPU a record",
    digits=2,
    base="dicts + orjson, validating",
    contestants=(
        Contestant(
            name="dicts + orjson, validating", module="by_hand_with_checks", job="audience", options={"is_dirty": True}
        ),
        *_ours({"is_dirty": True}),
    ),
    targets=[
        Target(
            id=f"audience-dirty-{name.lower()}",
            says=f"from {name}: at most 2.5 µs",
            of=f"ours, {name}",
            at_most=2.5,
            unit=" µs",
            speed="time",
        )
        for name in ("mappings", "Arrow")
    ],
    judge=judge_dirty,
    full={"records": 200_000, "warm_records": 2_500},
    quick={"records": 10_000, "warm_records": 500},
    rounds=7,
    stub={"check_digests": True},
    cannot={"all others": "they hash and send whatever they are given, or refuse to"},
    notes=("What arrives is compared with what must: validating and ours take and leave the same.",),
)
