"""twitter-ads, which leaves the hashing to its caller, and makes a new connection for every request."""

import hashlib
import time
from typing import Any

from twitter_ads.account import Account
from twitter_ads.audience import CustomAudience
from twitter_ads.client import Client
from twitter_ads.error import RateLimit
from twitter_ads.http import Request

from benchmarks.contestants.by_hand import ROWS_A_REQUEST, people_of
from benchmarks.contestants.measuring import Meter


def _audience(order: dict[str, Any], **options: Any) -> CustomAudience:
    # The one place where it keeps the address of the service.
    Request._DEFAULT_DOMAIN = order["url"]
    account = Account(Client("key", "key-secret", "token", "token-secret", options=options))
    account._id = "a"  # as `from_response` sets it
    audience = CustomAudience(account)
    audience._id = "c"
    return audience


def _operation(person: dict[str, str]) -> dict[str, Any]:
    user = {
        "email": [hashlib.sha256(person["email"].strip().lower().encode()).hexdigest()],
        "phone_number": [hashlib.sha256(person["phone_number"].strip().encode()).hexdigest()],
    }
    return {"operation_type": "Update", "params": {"users": [user]}}


def _send(audience: CustomAudience, people: list[dict[str, str]]) -> int:
    accepted: int = audience.users([_operation(each) for each in people])[0]
    return accepted


def audience(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads people, 2,500 to a request."""
    target = _audience(order)
    warm, people = people_of(order)
    _send(target, warm)
    meter = Meter()
    parts = (people[start : start + ROWS_A_REQUEST] for start in range(0, len(people), ROWS_A_REQUEST))
    return meter.told(items=sum(_send(target, part) for part in parts))


def quota(order: dict[str, Any]) -> dict[str, Any]:
    """Sends one small request after the other. After a 429 it waits for the reset, or with
    `waits_itself` the library does, which waits five seconds longer.
    """
    target = _audience(order, handle_rate_limit=order.get("waits_itself", False))
    person = {"email": "ada@example.com", "phone_number": "+14155552671"}
    accepted = 0
    meter = Meter()
    while meter.seconds < order["seconds"]:
        try:
            accepted += _send(target, [person])
        except RateLimit as refusal:
            time.sleep(max(0.0, float(refusal.reset_at) - time.time()))
    return meter.told(items=accepted)
