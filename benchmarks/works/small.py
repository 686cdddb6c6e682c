"""Small requests, one after the other, with a bearer token or signed with OAuth 1.0a."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, unquote

from benchmarks.harness import canned
from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Schedule, Target, Told, Work, both_ways, expect


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every request was sent once and every response was read."""
    expect("requests", seen["requests"], order["requests"] + order["warm_requests"])
    expect("checksum", told["checksum"], order["requests"] * len(canned.post(1)["text"]))
    return {"us": told["cpu_seconds"] / order["requests"] * 1e6}


def judge_signed(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every request has a new and correct signature."""
    if order.get("is_signed", True):
        signed = seen["authorizations"]
        expect("requests", len(signed), order["requests"] + order["warm_requests"])
        expect("correct signatures", correct_signatures(signed, f"{order['url']}/2/tweets"), len(signed))
    return judge(order, told, seen)


def correct_signatures(authorizations: Sequence[str], url: str) -> int:
    """Returns how many of them are valid signatures of a post lookup with the benchmarks' secrets, each with a
    different nonce.
    """
    found = [dict(re.findall('([a-z_]+)="([^"]*)"', each)) for each in authorizations]
    right = {
        each.get("oauth_nonce") for each in found if unquote(each.get("oauth_signature", "")) == _signed(each, url)
    }
    return len(right)


def _signed(parameters: Mapping[str, str], url: str) -> str:
    """Returns the signature according to RFC 5849, computed with only the standard library."""
    encoded = {**parameters, "ids": "1"}
    pairs = "&".join(f"{name}={encoded[name]}" for name in sorted(encoded.keys() - {"oauth_signature", "realm"}))
    base = "&".join(quote(part, safe="") for part in ("GET", url, pairs))
    return base64.b64encode(hmac.digest(b"key-secret&token-secret", base.encode(), hashlib.sha1)).decode()


UNSIGNED: Final = "aiohttp, not signed"

WORK: Final = Work(
    name="small",
    title="One small request at a time",
    says="Looks up one post repeatedly with a bearer token, one request after the other.",
    metric="us",
    unit="µs of CPU a request",
    digits=0,
    base="aiohttp",
    contestants=(
        Contestant(name="aiohttp", module="by_hand", job="small"),
        *both_ways(Contestant(name=SOCIALAPI, module="socialapi_client", job="small")),
        Contestant(name="tweepy, session reused", module="tweepy_async", job="small", options={"reuses_session": True}),
        Contestant(name="tweepy", module="tweepy_async", job="small", options={"reuses_session": False}),
        Contestant(name="requests", module="plain_clients", job="requests_small"),
        Contestant(name="xdk", module="xdk_client", job="small"),
        Contestant(name="httpx", module="plain_clients", job="httpx_small"),
    ),
    targets=(Target(of=SOCIALAPI, to="aiohttp", at_most=1.35),),
    judge=judge,
    full={"requests": 5_000, "warm_requests": 50},
    quick={"requests": 200, "warm_requests": 10},
    rounds=7,
    schedule=Schedule.BY_TURNS,
    cannot={
        "twitter-ads": "it has no endpoint of the core API; its requests are sent by requests, each with a signature",
        "facebook-business": "its service has no such endpoint; its requests are sent by requests",
    },
)

SIGNED: Final = Work(
    name="small_signed",
    title="One signed request at a time",
    says="The same on behalf of a user: each request is signed with OAuth 1.0a (HMAC-SHA1).",
    metric="us",
    unit="µs of CPU a request",
    digits=0,
    base=UNSIGNED,
    contestants=(
        Contestant(name=UNSIGNED, module="by_hand", job="small", options={"is_signed": False}),
        Contestant(name="aiohttp + oauthlib", module="by_hand", job="small_signed"),
        *both_ways(Contestant(name=SOCIALAPI, module="socialapi_client", job="small_signed")),
        Contestant(
            name="tweepy, session reused",
            module="tweepy_async",
            job="small",
            options={"reuses_session": True, "is_signed": True},
        ),
        Contestant(name="requests-oauthlib", module="plain_clients", job="requests_oauthlib_small"),
    ),
    targets=(Target(of=SOCIALAPI, to=UNSIGNED, at_most=1.6),),
    judge=judge_signed,
    full={"requests": 5_000, "warm_requests": 50},
    quick={"requests": 200, "warm_requests": 10},
    rounds=7,
    schedule=Schedule.BY_TURNS,
    stub={"keeps_authorizations": True},
    cannot={
        "xdk": "its signed requests are made by requests-oauthlib",
        "twitter-ads": "like xdk, but only at the addresses of the advertising API",
        "facebook-business": "its service has no signatures of this kind",
        "httpx": "it has no OAuth 1.0a",
    },
    notes=(
        "Each signature is compared with a signature computed with the standard library, and each nonce with all others.",
    ),
)
