"""The persistent streams: posts that match the app's rules, and activity (platform sections 4.1, 4.4 and 6)."""

from collections.abc import Iterator

import attrs
from aiohttp import web

from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call, StreamAnswer
from socialapi.emulator.departures import Departures
from socialapi.emulator.platform.endpoint import serves
from socialapi.emulator.platform.post_shapes import PostShape
from socialapi.emulator.platform.stream_faults import script_of
from socialapi.emulator.platform.stream_hub import ACTIVITY_STREAM, FILTERED_STREAM
from socialapi.emulator.platform.streaming import LiveStream
from socialapi.routes import platform as routes


@attrs.frozen
class Opened:
    """A stream that was accepted."""

    stream: LiveStream
    departures: Departures

    async def serve(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Until its end."""
        await self.stream.serve(request, response, self.departures)


@serves(routes.POST_STREAM)
async def stream_posts(call: Call, arguments: Arguments) -> StreamAnswer:
    """The posts that match the app's filtered-stream rules, from now on or from some minutes ago."""
    shape = PostShape(arguments.query)
    app_key, minutes = call.caller.app.api_key, arguments.query.get("backfill_minutes", 0)
    call.service.streams.check_room(call.state, app_key, FILTERED_STREAM)
    missed = call.service.publishing.missed_posts(call.state, app_key, minutes * 60.0, shape) if minutes else iter(())
    return _open(call, FILTERED_STREAM, missed, shape)


@serves(routes.ACTIVITY_STREAM)
async def stream_activity(call: Call, arguments: Arguments) -> StreamAnswer:
    """The activity that the app has subscribed to, from now on or from some minutes ago."""
    app_key, minutes = call.caller.app.api_key, arguments.query.get("backfill_minutes", 0)
    call.service.streams.check_room(call.state, app_key, ACTIVITY_STREAM)
    missed = call.service.publishing.missed_events(call.state, app_key, minutes * 60.0) if minutes else iter(())
    return _open(call, ACTIVITY_STREAM, missed)


def _open(call: Call, endpoint_id: str, missed: Iterator[bytes], shape: PostShape | None = None) -> Opened:
    hub = call.service.streams
    stream = hub.admit(
        call.state,
        call.caller.app.api_key,
        endpoint_id,
        call.service.pauses,
        shape=shape,
        backfill=missed,
        script=script_of(call.fault, hub),
    )
    return Opened(stream, hub.departures)
