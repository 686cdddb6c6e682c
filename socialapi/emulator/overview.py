"""What the emulator holds and does just now: counts that are cheap enough to be asked for each second."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.rate_limits import RateLimits, Window
from socialapi.emulator.service import Service
from socialapi.emulator.state import Audience, DoNotReach, OwnedId, State

MAX_ROWS: Final = 500
"""How many audiences, lists, catalogs or windows are told of, the fullest first; a service may have many thousands."""

Row = dict[str, Any]


def overview(service: Service) -> Row:
    """The time, what is held, and how many requests, streams, webhooks and faults there are."""
    state = service.state
    return {
        **clock(service),
        "epoch": service.epoch,
        "requests": {"received": service.log.received, **service.log.totals()},
        "streams": len(service.streams.streams),
        "webhooks": len(state.platform.webhooks),
        "faults": len(service.faults.to_wire()),
        "apps": len(state.apps),
        "users": len(state.users),
        "posts": state.platform.posts.total,
        "accounts": sum(1 for _ in state.advertising.accounts.live()),
        "audiences": _fullest(_owned(state.audiences), "identifiers"),
        "do_not_reach_lists": _fullest(_owned(state.do_not_reach_lists), "identifiers"),
        "catalogs": _fullest(_catalogs(state), "products"),
    }


def clock(service: Service) -> Row:
    """The emulator's time, and how far it was advanced."""
    return {"now": service.clock.now(), "advanced": service.clock.advanced}


def limits(windows: RateLimits) -> Row:
    """The windows of rate limits that have not ended."""
    rows = [_window(name, key, window) for (name, *key), window in windows.open_windows()]
    fullest = heapq.nlargest(MAX_ROWS, rows, key=lambda row: row["used"] / (row["limit"] or 1))
    return {"limits": fullest, "total": len(rows)}


def _window(name: str, key: Sequence[str], window: Window) -> Row:
    return {"name": name, "key": key, "used": window.used, "limit": window.requests, "resets_at": window.ends_at}


def webhooks(service: Service) -> Row:
    """The webhooks, with the address they are mapped to and what became of their deliveries."""
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


def _owned(held: Mapping[OwnedId, Audience] | Mapping[OwnedId, DoNotReach]) -> list[Row]:
    return [
        {"account_id": account_id, "id": own_id, "name": record.name, "identifiers": record.members.held}
        for (account_id, own_id), record in held.items()
        if not (isinstance(record, DoNotReach) and record.deleted)
    ]


def _catalogs(state: State) -> Iterable[Row]:
    return (
        {"id": each.id, "user_id": each.user_id, "name": each.name, "products": each.stock.size}
        for each in state.catalogs.all()
    )


def _fullest(rows: Iterable[Row], count: str) -> Row:
    """The rows with the largest counts, and of how many they are."""
    everything = list(rows)
    return {"total": len(everything), "rows": heapq.nlargest(MAX_ROWS, everything, key=lambda row: row[count])}
