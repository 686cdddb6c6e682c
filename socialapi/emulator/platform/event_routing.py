"""Where activity events go: the streams and webhooks of the apps that subscribed to them (section 6.2)."""

from collections.abc import Iterator, Mapping, Sequence

from socialapi.emulator.platform.activity_events import Happening, matching_subscriptions, routed, subscribed_apps
from socialapi.emulator.platform.deliveries import Deliveries
from socialapi.emulator.platform.parcels import Parcel
from socialapi.emulator.platform.recent import Recent
from socialapi.emulator.platform.records import ActivitySubscription
from socialapi.emulator.platform.stream_hub import ACTIVITY_STREAM, StreamHub
from socialapi.emulator.platform.streaming import LINE_END
from socialapi.emulator.state import State


class EventRouter:
    """Finds the subscriptions of events, and remembers the events of the last minutes that any app would have got."""

    def __init__(self, streams: StreamHub, deliveries: Deliveries) -> None:
        self._streams = streams
        self._deliveries = deliveries
        self._recent: Recent[Mapping[str, bytes]] = Recent()

    def reset(self) -> None:
        """Forget everything."""
        self._recent.clear()

    def parcels(self, state: State, happening: Happening, *, also_unsubscribed: bool) -> Iterator[Parcel]:
        """The event for everybody who gets it; `also_unsubscribed` means apps without any subscription too."""
        found: dict[str, Sequence[ActivitySubscription]] = dict(matching_subscriptions(state.platform, happening))
        if also_unsubscribed:
            found |= dict.fromkeys(state.apps.keys() - subscribed_apps(state.platform), ())
        lines = {app_key: happening.encoded(each[0] if each else None) for app_key, each in found.items()}
        if lines:
            self._recent.add(state.clock.now(), lines)
        for app_key, line in lines.items():
            yield Parcel(line, streams=self._streams.of(app_key, ACTIVITY_STREAM))
            yield from self._to_webhooks(state, app_key, happening, found[app_key])

    def missed(self, state: State, app_key: str, seconds: float) -> Iterator[bytes]:
        """The lines of what the app would have got within the last so many seconds."""
        recent = self._recent.since(state.clock.now() - seconds)
        return (lines[app_key] + LINE_END for lines in recent if app_key in lines)

    def _to_webhooks(
        self, state: State, app_key: str, happening: Happening, found: Sequence[ActivitySubscription]
    ) -> Iterator[Parcel]:
        webhooks = state.platform.webhooks
        valid = [each.id for each in webhooks.values() if each.app_key == app_key and each.valid]
        for webhook_id, subscription in routed(found or (None,), valid):
            yield Parcel(happening.encoded(subscription), outboxes=(self._deliveries.outbox(webhooks[webhook_id]),))
