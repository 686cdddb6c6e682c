"""Activity events, and their routing to apps."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from socialapi.emulator.platform.deliveries import Deliveries, Recent
from socialapi.emulator.platform.fan_out import ACTIVITY_STREAM, RECENT_SECONDS, RECENT_THINGS, StreamHub, StreamLine
from socialapi.emulator.platform.state import ActivitySubscription
from socialapi.emulator.platform.streaming import LINE_END
from socialapi.emulator.responses import packed_json
from socialapi.emulator.state import State
from socialapi.models.events import canonical_event_type

Fields = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class ActivityEvent:
    """An activity event. `event_type` is kept as given, even if deprecated. `filter` determines who receives it."""

    event_id: str
    event_type: str
    created_at: str
    filter: Fields
    payload: Fields
    tag: str | None = None

    def encoded(self, subscription: ActivitySubscription | None) -> bytes:
        """Returns the event as JSON, as the subscription delivers it."""
        tag = self.tag if subscription is None else subscription.extra.get("tag", self.tag)
        event = {
            "event_id": self.event_id,
            "event_type": self.event_type,
            "created_at": self.created_at,
            "filter": self.filter if subscription is None else subscription.filter,
        }
        if tag is not None:
            event["tag"] = tag
        event["payload"] = self.payload
        return packed_json({"data": event})


def _matches(subscription: ActivitySubscription, event: ActivityEvent) -> bool:
    wanted = subscription.filter
    event_type = canonical_event_type(event.event_type)
    if not _is_of_type(event_type, subscription.event_type, wanted.get("direction")):
        return False
    directions = (wanted.get("direction", "both"), event.filter.get("direction", "both"))
    if "both" not in directions and directions[0] != directions[1]:
        return False
    if "user_id" in wanted and wanted["user_id"] != event.filter.get("user_id"):
        return False
    keyword = wanted.get("keyword")
    return keyword is None or any(keyword.casefold() in text.casefold() for text in _texts(event.payload))


def _is_of_type(event_type: str, wanted: str, direction: str | None) -> bool:
    """Returns whether an event has the wanted type. A direction, if given, decides between sent and received, and
    overrides the one in the type.
    """
    family, _, kind = event_type.partition(".")
    wanted_family, _, wanted_kind = wanted.partition(".")
    if direction is None or kind not in ("sent", "received") or wanted_kind not in ("sent", "received"):
        return event_type == wanted
    return family == wanted_family and direction in (kind, "both")


def _texts(value: Any) -> Iterator[str]:
    """Yields every string in a payload, at any depth."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)


class EventRouter:
    """The matching of events to subscriptions. Also keeps the recent events that any app would have received."""

    def __init__(self, streams: StreamHub, deliveries: Deliveries) -> None:
        self._streams = streams
        self._deliveries = deliveries
        self._recent: Recent[Mapping[str, bytes]] = Recent(RECENT_SECONDS, RECENT_THINGS)

    def reset(self) -> None:
        """Removes all recent events."""
        self._recent.clear()

    def lines(self, state: State, event: ActivityEvent, *, also_unsubscribed: bool) -> Iterator[StreamLine]:
        """Yields the lines of the event for all recipients. `also_unsubscribed` includes apps without any subscription."""
        subscriptions = state.platform.subscriptions.values()
        found: dict[str, list[ActivitySubscription | None]] = {}
        for each in subscriptions:
            if _matches(each, event):
                found.setdefault(each.app_key, []).append(each)
        if also_unsubscribed:
            found |= {app_key: [None] for app_key in state.apps.keys() - {each.app_key for each in subscriptions}}
        lines = {app_key: event.encoded(matching[0]) for app_key, matching in found.items()}
        if lines:
            self._recent.add(state.clock.now(), lines)
        for app_key, line in lines.items():
            yield StreamLine(line, streams=self._streams.of(app_key, ACTIVITY_STREAM))
            # Each webhook gets the event once: the webhook of a subscription, or all webhooks if it has none.
            # An invalid webhook gets it only in a replay.
            webhooks = {each.id: each for each in state.platform.webhooks.values() if each.app_key == app_key}
            targets: dict[str, ActivitySubscription | None] = {}
            for subscription in found[app_key]:
                named = None if subscription is None else subscription.webhook_id
                for webhook_id in webhooks if named is None else webhooks.keys() & {named}:
                    targets.setdefault(webhook_id, subscription)
            for webhook_id, subscription in targets.items():
                yield StreamLine(event.encoded(subscription), outboxes=(self._deliveries.outbox(webhooks[webhook_id]),))

    def missed(self, state: State, app_key: str, seconds: float) -> Iterator[bytes]:
        """Returns the lines that the app would have received within the last `seconds`."""
        recent = self._recent.between(state.clock.now() - seconds)
        return (lines[app_key] + LINE_END for lines in recent if app_key in lines)
