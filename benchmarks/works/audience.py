"""The audience pipeline: from raw values to accepted records, for clean values and for values as found in exports."""

import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from benchmarks.harness import canned
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
    hashed_by_hashlib,
)

SIGNS_OF_A_DIGEST: Final = 64
HASHLIB: Final = "hashlib alone"


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every record was accepted and that the stub received the right digests."""
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
    """Returns the sum of the first 8 digits of all digests of these people."""
    rows = map(canned.person, numbers)
    return sum(digests_of_texts((email.lower(), phone if keeps_plus else phone[1:])) for email, phone in rows)


def digests_of_texts(normalised: Iterable[str]) -> int:
    """Returns the sum of the first 8 digits of the digests of these values."""
    return sum(int(hashlib.sha256(value.encode()).hexdigest()[:8], 16) for value in normalised)


@functools.cache
def _expected_of_dirty(records: int) -> tuple[Counter[str], int]:
    """Returns the expected outcomes of this many dirty people, and the sum of the digests that arrive."""
    outcomes, digests = Counter[str](), 0
    for each in canned.dirty_people(records):
        outcomes[each.outcome] += 1
        digests += digests_of_texts(each.sent)
    return outcomes, digests


def judge_dirty(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every record had the expected outcome, and that exactly the usable values of accepted records
    arrived.
    """
    records, warm_records = order["records"], order["warm_records"]
    outcomes, digests = _expected_of_dirty(records)
    found = {"accepted": told["items"], "rejected": told["rejected"], "duplicate": told["duplicate"]}
    expect("outcomes", found, {name: outcomes[name] for name in found})
    expect("records that arrived", seen["rows"], outcomes["accepted"] + warm_records)
    warm = digests_of(range(records, records + warm_records))
    expect("digests that arrived", seen["digest_sum"], digests + warm)
    return {"us": told["cpu_seconds"] / records * 1e6}


def _by_input(options: Mapping[str, Any]) -> list[Contestant]:
    jobs = {"dicts": "audience", "Arrow": "audience_arrow", "CSV": "audience_csv"}
    return [
        each
        for name, job in jobs.items()
        for each in both_ways(
            Contestant(name=f"{SOCIALAPI}, {name}", module="socialapi_client", job=job, options=options)
        )
    ]


WORK: Final = Work(
    name="audience",
    title="Uploading an audience",
    says="Normalizes, hashes, sends and counts 200,000 records, each with a plain e-mail address and phone number.",
    metric="us",
    unit="µs of CPU a record",
    digits=2,
    base=HASHLIB,
    contestants=(
        Contestant(name=HASHLIB, module="by_hand", job="hashing", options={"sends": False}),
        Contestant(name=BY_HAND, module="by_hand", job="audience"),
        Contestant(name=WITH_CHECKS, module="by_hand_with_checks", job="audience"),
        *_by_input({}),
        hashed_by_hashlib(Contestant(name=f"{SOCIALAPI}, dicts", module="socialapi_client", job="audience")),
        Contestant(name="twitter-ads", module="twitter_ads_client", job="audience"),
        Contestant(name="facebook-business", module="facebook", job="audience", options={"keeps_plus": False}),
    ),
    targets=(
        Target(of="socialapi, dicts", to=HASHLIB, at_most=1.5),
        Target(of="socialapi, Arrow", to=HASHLIB, at_most=1.5),
    ),
    judge=judge,
    full={"records": 200_000, "warm_records": 2_500},
    quick={"records": 10_000, "warm_records": 500},
    rounds=7,
    stub={"check_digests": True},
    cannot={
        "tweepy": "no advertising API",
        "xdk": "no advertising API",
        "httpx": f"by hand, it would be “{BY_HAND}” with a different client",
    },
    notes=(
        f"“{HASHLIB}” encodes and hashes both values, and does nothing else.",
        f"“{WITH_CHECKS}” checks and normalizes every value and skips repeated people; “{BY_HAND}” does neither.",
        "With twitter-ads, the caller hashes, and that time is counted.",
        "facebook-business drops the plus of phone numbers, and sends 10,000 rows per request instead of 2,500.",
        "Rows are created before the clock starts; files are read after it starts.",
    ),
)

DIRTY: Final = Work(
    name="audience_dirty",
    title="Uploading an audience of dirty rows",
    says=(
        "The same, but 1 % of the records are unusual (blanks, `mailto:`, quotation marks, spellings of phone numbers, "
        "empty cells, unusable values) and 1 % repeat one of the last 5,000 records in different case."
    ),
    metric="us",
    unit="µs of CPU a record",
    digits=2,
    base=WITH_CHECKS,
    contestants=(
        Contestant(name=WITH_CHECKS, module="by_hand_with_checks", job="audience", options={"is_dirty": True}),
        *_by_input({"is_dirty": True}),
    ),
    targets=(
        Target(of="socialapi, dicts", to=WITH_CHECKS, at_most=0.35),
        Target(of="socialapi, Arrow", to=WITH_CHECKS, at_most=0.35),
    ),
    judge=judge_dirty,
    full={"records": 200_000, "warm_records": 2_500},
    quick={"records": 10_000, "warm_records": 500},
    rounds=7,
    stub={"check_digests": True},
    cannot={"all others": "they hash and send what they are given, or refuse it"},
    notes=("All contestants must accept and reject the same rows, which is checked.",),
)
