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
"""First calls that load more: patterns for unusual values, the phone number library, and the file readers."""
ENTERING: Final = f"{SOCIALAPI}: entering a client"


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Returns the extra CPU time of the first call over the second, and the CPU time of the second, in milliseconds."""
    return {"ms": (told["cpu_seconds"] - told["again"]) * 1_000, "again_ms": told["again"] * 1_000}


def _named(area: str) -> str:
    return f"{SOCIALAPI}: {(AREAS | FURTHER)[area]}"


WORK: Final = Work(
    name="first_use",
    title="The first call",
    says="Enters a client in a fresh process and calls each part of the API twice, against an emulator in another "
    "process. The figure is the extra time of the first call over the second.",
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
        "Entering a client imports the modules that every call needs. Without entering, the first call imports them.",
    ),
)
