"""The first call of each area, in fresh processes."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Target, Told, Work

AREAS: Final = {
    "posts": "a user's posts",
    "rules": "rules of the filtered stream",
    "accounts": "advertising accounts",
    "cards": "cards",
    "upload": "uploading one plain row, dry run",
    "upsert": "loading one product, dry run",
}
FURTHER: Final = {
    "upload_odd": "uploading one unusual row, dry run",
    "upload_phone": "uploading one phone number, dry run",
    "upload_csv": "uploading one row of CSV, dry run",
}
"""What takes more: patterns for unusual values, the library for phone numbers, the readers of files."""
ENTERING: Final = f"{SOCIALAPI}: entering a client"


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Milliseconds of CPU that the first call takes more than the second, and of the second."""
    return {"ms": (told["cpu_seconds"] - told["again"]) * 1_000, "again_ms": told["again"] * 1_000}


def _named(area: str) -> str:
    return f"{SOCIALAPI}: {(AREAS | FURTHER)[area]}"


WORK: Final = Work(
    name="first_use",
    title="The first call",
    says="Enters a client in a fresh process and calls each part of the API twice, against an emulator in another "
    "process. The figure is how much longer the first call takes than the second.",
    metric="ms",
    unit="ms of CPU",
    digits=0,
    base=None,
    contestants=(
        Contestant(name=ENTERING, module="first_use", job="entering"),
        *(
            Contestant(name=_named(area), module="first_use", job="first_use", options={"area": area})
            for area in AREAS | FURTHER
        ),
    ),
    targets=[
        Target(of=_named(area), to=ENTERING, at_most=0.75 if area in {"upload", "upsert"} else 0.5) for area in AREAS
    ],
    judge=judge,
    full={},
    quick={},
    rounds=7,
    also={"again_ms": "ms of CPU of the second call"},
    notes=(
        "Entering a client loads what every call needs. A client that is not entered loads it with its first call.",
    ),
)
