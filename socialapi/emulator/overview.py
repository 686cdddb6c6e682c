"""What the emulator holds and does at the moment: counts that are cheap enough to be
read every second.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.catalogs.state import Catalog
from socialapi.emulator.rate_limits import RateLimits, Window
from socialapi.emulator.service import Service
from socialapi.emulator.state import Audience, DoNotReach, OwnedId

MAX_ROWS: Final = 500
"""The maximum number of audiences, lists, catalogs or windows in an answer, the fullest first; a
service may have thousands.
"""

Row = dict[str, Any]


def overview(service: Service) -> Row:
    """Returns the time, counts of what is held, and the number of requests, streams,
    webhooks and faults.
    """
    state = service.state
    return {
        **clock(service),
        "resets": service.resets,
        "requests": {"received": service.log.received, **service.log.totals()},
        "streams": len(service.streams.streams),
        "webhooks": len(state.platform.webhooks),
        "faults": len(service.faults.to_wire()),
        "apps": len(state.apps),
        "users": len(state.users),
        "posts": state.platform.posts.total,
        "accounts": sum(1 for _ in state.advertising.accounts.live()),
        "audiences": _owned(state.audiences, list(state.audiences)),
        "do_not_reach_lists": _owned(state.do_not_reach_lists, _live(state.do_not_reach_lists)),
        "catalogs": _catalogs(list(state.catalogs.all())),
    }


def clock(service: Service) -> Row:
    """Returns the emulator's time, and how far it was advanced."""
    return {"now": service.clock.now(), "advanced": service.clock.advanced}


def limits(windows: RateLimits) -> Row:
    """Returns the windows of rate limits that have not ended."""
    rows = [_window(name, key, window) for (name, *key), window in windows.open_windows()]
    fullest = heapq.nlargest(MAX_ROWS, rows, key=lambda row: row["used"] / (row["limit"] or 1))
    return {"limits": fullest, "total": len(rows)}


def _window(name: str, key: Sequence[str], window: Window) -> Row:
    return {"name": name, "key": key, "used": window.used, "limit": window.requests, "resets_at": window.ends_at}


def webhooks(service: Service) -> Row:
    """Returns the webhooks, with the address they are mapped to and the results of
    their deliveries.
    """
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


def _live(lists: Mapping[OwnedId, DoNotReach]) -> list[OwnedId]:
    return [owned_id for owned_id, each in lists.items() if not each.deleted]


def _owned(held: Mapping[OwnedId, Audience] | Mapping[OwnedId, DoNotReach], ids: Sequence[OwnedId]) -> Row:
    # The ids are ordered rather than rows of them all, because there may be many thousands.
    fullest = heapq.nlargest(MAX_ROWS, ids, key=lambda owned_id: held[owned_id].members.held)
    return {"total": len(ids), "rows": [_owned_row(owned_id, held[owned_id]) for owned_id in fullest]}


def _owned_row(owned_id: OwnedId, record: Audience | DoNotReach) -> Row:
    account_id, own_id = owned_id
    return {"account_id": account_id, "id": own_id, "name": record.name, "identifiers": record.members.held}


def _catalogs(catalogs: Sequence[Catalog]) -> Row:
    fullest = heapq.nlargest(MAX_ROWS, catalogs, key=lambda catalog: catalog.stock.size)
    return {"total": len(catalogs), "rows": [_catalog_row(each) for each in fullest]}


def _catalog_row(catalog: Catalog) -> Row:
    return {"id": catalog.id, "user_id": catalog.user_id, "name": catalog.name, "products": catalog.stock.size}
