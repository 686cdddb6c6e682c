"""The first call of each area, in fresh processes."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.work import Contestant, Order, Target, Told, Work

AREAS: Final = {
    "posts": "a user's posts",
    "rules": "rules of the filtered stream",
    "accounts": "advertising accounts",
    "cards": "cards",
    "upload": "an upload of one plain row, dry run",
    "upsert": "a load of one product, dry run",
}
FURTHER: Final = {
    "upload_odd": "an upload of one odd row, dry run",
    "upload_phone": "an upload of one phone number, dry run",
    "upload_csv": "an upload of one row of CSV, dry run",
}
"""What takes more: patterns for odd values, the library for phone numbers, the readers of files."""
MOST_MS: Final = 30.0


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Milliseconds of CPU that the first call takes more than the second, and of the second."""
    return {"ms": (told["cpu_seconds"] - told["again"]) * 1_000, "again_ms": told["again"] * 1_000}


def _named(area: str) -> str:
    return f"ours: {(AREAS | FURTHER)[area]}"


WORK: Final = Work(
    name="first_use",
    title="The first call of an area",
    says="A fresh process enters a client and calls each area twice, against an emulator in another process: what the "
    "first call takes more than the second.",
    metric="ms",
    unit="ms of CPU",
    digits=0,
    base=None,
    contestants=(
        Contestant(name="ours: entering a client", module="first_use", job="entering"),
        *(
            Contestant(name=_named(area), module="first_use", job="first_use", options={"area": area})
            for area in AREAS | FURTHER
        ),
    ),
    targets=tuple(
        Target(
            id=f"first-use-{area}",
            says=f"{says}: at most 30 ms",
            of=_named(area),
            at_most=MOST_MS,
            unit=" ms",
            speed="time",
        )
        for area, says in AREAS.items()
    ),
    judge=judge,
    full={},
    quick={},
    rounds=7,
    also={"again_ms": "ms of CPU of the second call"},
    notes=(
        "Entering a client loads what every call needs. A client that is not entered loads it with its first call.",
    ),
)
