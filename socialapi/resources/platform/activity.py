"""Activity: subscriptions to what happens, and the stream of it (platform documentation, sections 4.4 and 6)."""

from collections.abc import Sequence
from typing import Any

from socialapi.models.events import (
    ActivityEvent,
    Direction,
    EventType,
    Subscription,
    current_event_type,
    refuse_misspelt_event_type,
)
from socialapi.resources.arguments import check_argument, check_further, check_stream_arguments
from socialapi.resources.resource import Resource
from socialapi.routes import platform as routes
from socialapi.streams.link import LinkOptions, OnGap, OnSlow
from socialapi.streams.stream import Stream
from socialapi.unset import UNSET, Unset


class Activity(Resource):
    """Activity subscriptions and their events."""

    def stream(
        self,
        *,
        backfill_minutes: int | Unset = UNSET,
        on_gap: OnGap | None = None,
        on_slow: OnSlow | None = None,
        give_up_after_seconds: float | None = None,
        event_id_paths: str | Sequence[str] | None = None,
        **further: Any,
    ) -> Stream[ActivityEvent]:
        """What the app has subscribed to, as it happens (sections 4.4 and 6.2). Options as those of
        `filtered_stream.connect`.

            async with client.activity.stream() as events:
                async for event in events: ...

        `event_id_paths` are dotted paths of ids, looked at in their order instead of `data.event_uuid`, `event_uuid`,
        `data.event_id`, `event_id` and `id`.
        """
        check_further(self.stream, further)
        query = {"backfill_minutes": backfill_minutes, **further}
        check_stream_arguments(on_gap, on_slow, give_up_after_seconds)
        options = LinkOptions(on_gap=on_gap, on_slow=on_slow, give_up_after_seconds=give_up_after_seconds)
        return Stream(
            self._session, routes.ACTIVITY_STREAM.at(), query, self._options, options, event_id_paths=event_id_paths
        )

    async def subscribe(
        self,
        event_type: EventType | str,
        *,
        user_id: str | int | Unset = UNSET,
        keyword: str | Unset = UNSET,
        direction: Direction | Unset = UNSET,
        **further: Any,
    ) -> Subscription:
        """Subscribes to events of a type (section 6.2): of a user, with a keyword; messages also by direction.

        An alias of an event type (`profile.update.profile_picture`) is replaced by its present name, and so is a deprecated
        one, with a DeprecationWarning that names the new one. Raises InvalidInput for a name that is nearly that of a known
        type; names that are like none are sent.
        """
        check_further(self.subscribe, further)
        check_argument("event_type", str, event_type)
        refuse_misspelt_event_type(event_type)
        chosen = {"user_id": user_id, "keyword": keyword, "direction": direction}
        body = {**further, "event_type": current_event_type(event_type), "filter": chosen}
        return await self._session.call(routes.SUBSCRIPTION_CREATE.at(), options=self._options, body=body)
