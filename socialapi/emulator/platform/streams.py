"""Handlers for persistent streams, activity subscriptions and connections."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, get_args

from socialapi.emulator.auth import require_permission
from socialapi.emulator.clock import milliseconds
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.paging import paginate_items
from socialapi.emulator.platform.fan_out import ACTIVITY_STREAM, FILTERED_STREAM
from socialapi.emulator.platform.post_projection import PostShape
from socialapi.emulator.platform.state import ActivitySubscription, StreamConnection
from socialapi.emulator.platform.stream_faults import script_of
from socialapi.emulator.platform.streaming import LiveStream
from socialapi.emulator.responses import Answer, Refusal, data, invalid, not_found_problem, platform_not_found
from socialapi.emulator.state import State
from socialapi.models.events import EventType, canonical_event_type, scope_of_event
from socialapi.routes import platform as routes


@serves(routes.POST_STREAM)
async def stream_posts(call: Call) -> LiveStream:
    """Streams the posts that match the app's filtered-stream rules, from now on or from a few minutes ago."""
    shape = PostShape(call.query)
    return _open(call, FILTERED_STREAM, functools.partial(call.service.publishing.posts.missed, shape=shape), shape)


@serves(routes.ACTIVITY_STREAM)
async def stream_activity(call: Call) -> LiveStream:
    """Streams the activity that the app has subscribed to, from now on or from a few minutes ago."""
    return _open(call, ACTIVITY_STREAM, call.service.publishing.events.missed)


def _open(
    call: Call,
    endpoint_id: str,
    missed: Callable[[State, str, float], Iterator[bytes]],
    shape: PostShape | None = None,
) -> LiveStream:
    """Opens a stream. `missed` returns the lines that the app would have received within the last seconds."""
    hub, app_key, seconds = call.service.streams, call.caller.app.api_key, call.query.get("backfill_minutes", 0) * 60.0
    backfill = missed(call.state, app_key, seconds) if seconds else iter(())
    script = script_of(call.fault, hub)
    return hub.admit(call.state, app_key, endpoint_id, call.service.pauses, backfill, shape=shape, script=script)


EVENT_TYPES: Final = frozenset(get_args(EventType))


@serves(routes.SUBSCRIPTION_CREATE)
async def create_subscription(call: Call) -> Answer:
    """Creates the subscription under the current name of its event type. An app cannot have the same subscription
    twice.
    """
    body = dict(call.body)
    given, wanted = body.pop("event_type"), body.pop("filter")
    event_type = canonical_event_type(given)
    if event_type not in EVENT_TYPES:
        raise invalid("event_type", "does not exist", given[:100])
    require_permission(call.state, call.caller, [scope] if (scope := scope_of_event(event_type)) else [])
    platform, app_key = call.state.platform, call.caller.app.api_key
    made = ActivitySubscription(
        id=str(platform.new_id(call.now)), app_key=app_key, event_type=event_type, filter=wanted, extra=body
    )
    if made.webhook_id is not None:
        webhook = platform.webhooks.get(made.webhook_id)
        if webhook is None or webhook.app_key != app_key:
            raise platform_not_found("webhook", "webhook_id", made.webhook_id[:100])
    for other in platform.subscriptions.values():
        if other.identity == made.identity:
            raise Refusal(409, "CONFLICT", f"the app already has this subscription: {other.id}")
    platform.subscriptions[made.id] = made
    return data({**body, "subscription_id": made.id, "event_type": event_type, "filter": wanted}, call.success_status)


ENDED_ON_REQUEST: Final = "ForceDisconnect"
"""The reason shown for a connection that was ended on request, as in the problem `operational-disconnect`."""


@serves(routes.CONNECTIONS)
async def list_connections(call: Call) -> Answer:
    """Returns the app's connections, oldest first."""
    platform = call.state.platform
    everybody = enumerate(platform.connections, platform.connections_forgotten)
    own = {key: each for key, each in everybody if _is_own(call, each)}

    def show(connection: StreamConnection) -> dict[str, Any]:
        shown = {
            "id": connection.id,
            "endpoint_name": connection.endpoint_id,
            "connected_at": milliseconds(connection.connected_at),
        }
        if (ended_at := connection.disconnected_at) is None:
            return shown
        return shown | {"disconnected_at": milliseconds(ended_at), "disconnect_reason": connection.disconnect_reason}

    shown, meta = paginate_items(call, own, show)
    return data(shown, meta=meta)


@serves(routes.CONNECTIONS_END)
async def end_connections(call: Call) -> Answer:
    """Ends the active connections with these UUIDs, with a problem for each unknown UUID."""
    wanted = list(dict.fromkeys(call.body["uuids"]))
    found = [each for each in _active(call) if each.id in wanted]
    unknown = [uuid for uuid in wanted if uuid not in [each.id for each in found]]
    return _end(call, found, unknown)


@serves(routes.CONNECTIONS_END_ENDPOINT)
async def end_connections_of_endpoint(call: Call) -> Answer:
    """Ends the active connections of one streaming endpoint, if there are any."""
    endpoint_id = call.path["endpoint_id"]
    return _end(call, [each for each in _active(call) if each.endpoint_id == endpoint_id])


@serves(routes.CONNECTIONS_END_ALL)
async def end_all_connections(call: Call) -> Answer:
    """Ends all active connections of the app."""
    return _end(call, _active(call))


def _end(call: Call, connections: Sequence[StreamConnection], unknown: Sequence[str] = ()) -> Answer:
    """Ends connections, and returns the result in the documented format."""
    for connection in connections:
        call.service.streams.end(connection, ENDED_ON_REQUEST)
    results = [{"uuid": each.id, "success": True} for each in connections]
    results += [{"uuid": uuid, "success": False, "error_message": "no active connection"} for uuid in unknown]
    shown = {"successful_kills": len(connections), "failed_kills": len(unknown), "results": results}
    base = call.state.problem_base_url
    return data(shown, errors=[not_found_problem(base, "connection", "uuids", uuid) for uuid in unknown])


def _active(call: Call) -> list[StreamConnection]:
    connections = call.state.platform.connections
    return [each for each in connections if _is_own(call, each) and each.disconnected_at is None]


def _is_own(call: Call, connection: StreamConnection) -> bool:
    return connection.app_key == call.caller.app.api_key
