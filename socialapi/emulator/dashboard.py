"""The dashboard at `/_emulator/`, and its data: counts that are cheap enough to read every second."""

import base64
import functools
import hashlib
import heapq
import importlib.resources
import re
from collections.abc import Mapping
from typing import Any, Final

from socialapi.emulator.rate_limits import RateLimits
from socialapi.emulator.responses import Answer
from socialapi.emulator.service import Service
from socialapi.emulator.state import Audience, DoNotReach, OwnedId

MAX_ROWS: Final = 500
"""The maximum number of audiences, lists, catalogs or windows in a response. Those with the
most entries come first.
"""

Row = dict[str, Any]


@functools.cache
def page() -> Answer:
    """Returns the page. Its security policy forbids loading anything, and running any script but its own."""
    text = importlib.resources.files(__package__).joinpath("dashboard.html").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src {_allowed('script', text)}; style-src {_allowed('style', text)}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin"}
    return Answer(200, text.encode(), headers, "text/html; charset=utf-8")


def _allowed(tag: str, text: str) -> str:
    """Returns the digest by which the policy allows the only inline element with this tag."""
    (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def overview(service: Service) -> Row:
    """Returns the time, counts of the stored data, and the number of requests, streams, webhooks and faults."""
    state = service.state
    live_lists = {owned_id: each for owned_id, each in state.do_not_reach_lists.items() if not each.deleted}
    fullest = heapq.nlargest(MAX_ROWS, state.catalogs.values(), key=lambda catalog: catalog.stock.size)
    return {
        **clock(service),
        "resets": service.resets,
        "requests": {"received": service.log.received, **service.log.totals()},
        "streams": len(service.streams.streams),
        "webhooks": len(state.platform.webhooks),
        "faults": len(service.faults.to_wire()["faults"]),
        "apps": len(state.apps),
        "users": len(state.users),
        "posts": state.platform.posts.total,
        "accounts": sum(1 for _ in state.advertising.accounts.live()),
        "audiences": _owned(state.audiences),
        "do_not_reach_lists": _owned(live_lists),
        "catalogs": {
            "total": len(state.catalogs),
            "rows": [
                {"id": each.id, "user_id": each.user_id, "name": each.name, "products": each.stock.size}
                for each in fullest
            ],
        },
    }


def clock(service: Service) -> Row:
    """Returns the emulator's time, and the number of seconds by which it was advanced."""
    return {"now": service.clock.now(), "advanced": service.clock.advanced}


def limits(windows: RateLimits) -> Row:
    """Returns the windows of rate limits that have not ended."""
    rows: list[Row] = [
        {"name": name, "key": key, "used": window.used, "limit": window.requests, "resets_at": window.ends_at}
        for (name, *key), window in windows.open_windows()
    ]
    fullest = heapq.nlargest(MAX_ROWS, rows, key=lambda row: row["used"] / (row["limit"] or 1))
    return {"limits": fullest, "total": len(rows)}


def webhooks(service: Service) -> Row:
    """Returns the webhooks, with the address they are mapped to and the results of their deliveries."""
    state, targets = service.state, service.outgoing.targets
    rows = [
        {
            "id": webhook.id,
            "api_key": webhook.app_key,
            "valid": webhook.valid,
            "checked_at": webhook.checked_at,
            "target": targets.get(webhook.url),
            **service.deliveries.to_wire(webhook),
        }
        for webhook in state.platform.webhooks.values()
    ]
    return {"webhooks": rows, "targets": dict(targets)}


def _owned(held: Mapping[OwnedId, Audience | DoNotReach]) -> Row:
    # Sorts the records rather than complete rows, because there may be many thousands.
    fullest = heapq.nlargest(MAX_ROWS, held.items(), key=lambda item: item[1].members.held)
    rows = [
        {"account_id": account_id, "id": own_id, "name": record.name, "identifiers": record.members.held}
        for (account_id, own_id), record in fullest
    ]
    return {"total": len(held), "rows": rows}
