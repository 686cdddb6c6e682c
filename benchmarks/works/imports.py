"""Importing, in fresh processes."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.work import Contestant, Order, Target, Told, Work, both_ways


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Returns the milliseconds of CPU time and of wall time."""
    return {"ms": told["cpu_seconds"] * 1_000, "wall_ms": told["seconds"] * 1_000}


def _import(name: str, module: str, takes: str | None = None) -> Contestant:
    return Contestant(name=name, module="importing", job="imports", options={"imports": module, "takes": takes})


WORK: Final = Work(
    name="imports",
    title="Importing",
    says="Imports a package in a fresh process, with its bytecode already compiled.",
    metric="ms",
    unit="ms of CPU",
    digits=0,
    base="aiohttp",
    contestants=(
        _import("aiohttp", "aiohttp"),
        _import("socialapi: import socialapi", "socialapi"),
        *both_ways(_import("socialapi: from socialapi import Client", "socialapi", "Client")),
        _import("tweepy.asynchronous", "tweepy.asynchronous"),
        _import("xdk", "xdk"),
        _import("httpx", "httpx"),
    ),
    targets=(Target(of="socialapi: from socialapi import Client", to="aiohttp", at_most=1.15),),
    judge=judge,
    full={},
    quick={},
    rounds=15,
    also={"wall_ms": "ms by the clock"},
    notes=("socialapi imports the rest on first use (the next section); the other libraries import everything here.",),
    cannot={
        "twitter-ads": "it is meant for scripts, whose startup time hardly matters",
        "facebook-business": "as twitter-ads",
    },
)
