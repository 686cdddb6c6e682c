"""Distributes published posts and events to streams and webhooks."""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import orjson

from socialapi.emulator.faults import Pauses
from socialapi.emulator.platform.deliveries import Deliveries, Outbox
from socialapi.emulator.platform.post_projection import PostShape
from socialapi.emulator.platform.state import StreamConnection
from socialapi.emulator.platform.streaming import LINE_END, Ending, LiveStream, Script
from socialapi.emulator.responses import Refusal, problem
from socialapi.emulator.state import State


@attrs.frozen
class StreamLine:
    """One body for several streams and webhooks."""

    content: bytes
    streams: Sequence[LiveStream] = ()
    outboxes: Sequence[Outbox] = ()


def publish_at_once(lines: Iterable[StreamLine], deliveries: Deliveries) -> None:
    """Adds the lines to the queues immediately. A stream with a full queue is ended, and a webhook with a full queue
    misses the event.
    """
    for line in lines:
        framed = line.content + LINE_END
        for stream in line.streams:
            stream.put(framed)
        for outbox in line.outboxes:
            deliveries.send(outbox, line.content)


async def publish_with_backpressure(lines: Iterable[StreamLine], deliveries: Deliveries, copies: int) -> dict[str, int]:
    """Adds the lines to the queues, waiting for room in full queues. Returns the numbers of streams and webhooks that
    receive them.
    """
    count = {"streams": 0, "webhooks": 0}
    for line in lines:
        framed = line.content + LINE_END
        for stream in line.streams:
            taken = False
            for _ in range(copies):
                if stream.is_crowded:
                    await stream.room()
                taken = stream.put(framed) or taken
            count["streams"] += taken
        for outbox in line.outboxes:
            if outbox.is_crowded:
                await outbox.room()
            deliveries.send(outbox, line.content, copies)
            count["webhooks"] += outbox.webhook.valid
    return count


RECENT_SECONDS: Final = 300.0
RECENT_THINGS: Final = 100_000
"""The maximum number of posts or events that are kept for backfills."""

FILTERED_STREAM: Final = "filtered_stream"
ACTIVITY_STREAM: Final = "activity_stream"

SHUTDOWN: Final = "OperationalDisconnect"
_SHUTDOWN_PATIENCE: Final = 0.2
_SHORTEST_WAIT: Final = 0.01

_DETAILS: Final = {
    "ForceDisconnect": "the connection was closed on request, or its slot was needed",
    "SlowReader": "the client reads more slowly than events arrive",
}


class StreamHub:
    """The open streams, by the ids of their connections."""

    def __init__(self, state_now: Callable[[], State]) -> None:
        self._state_now = state_now
        self._live: dict[str, LiveStream] = {}
        self._moved = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Starts the background checks."""
        self._moved = asyncio.Event()
        self._watcher = asyncio.create_task(self._watch(), name="socialapi-emulator-streams")

    async def close(self) -> None:
        """Ends every stream, and stops the background checks."""
        self.reset()
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher

    def reset(self) -> None:
        """Ends all streams, like a service that restarts."""
        self.end_all(SHUTDOWN, patience=_SHUTDOWN_PATIENCE)

    def admit(
        self,
        state: State,
        app_key: str,
        endpoint_id: str,
        pauses: Pauses,
        backfill: Iterator[bytes],
        *,
        shape: PostShape | None,
        script: Script | None,
    ) -> LiveStream:
        """Adds a stream, which the caller must serve immediately, and returns it. Refuses it if the app has the maximum
        number of connections to the endpoint.
        """
        most = state.platform.max_connections
        if len(self.of(app_key, endpoint_id)) >= most:
            message = f"the app has {most} connections to this endpoint, which is the maximum"
            about = {"connection_issue": "TooManyConnections"}
            raise Refusal(429, "TOO_MANY_REQUESTS", message, problem="streaming-connection", extra=about)
        connection = StreamConnection(
            id=str(uuid.uuid4()), app_key=app_key, endpoint_id=endpoint_id, connected_at=state.clock.now()
        )
        state.platform.remember_connection(connection)
        self._live[connection.id] = stream = LiveStream(
            connection, state.clock.now, pauses, self._forget, self.problem_line, backfill, shape=shape, script=script
        )
        self._moved.set()
        return stream

    # What is there -----------------------------------------------------------------------------------------------

    def of(self, app_key: str, endpoint_id: str) -> list[LiveStream]:
        """Returns the live streams of an app to an endpoint."""
        key = app_key, endpoint_id
        return [each for each in self.streams if (each.connection.app_key, each.connection.endpoint_id) == key]

    @property
    def streams(self) -> list[LiveStream]:
        """All live streams."""
        return list(self._live.values())

    # Ending ------------------------------------------------------------------------------------------------------

    def end(self, connection: StreamConnection, disconnect_type: str) -> None:
        """Ends the connection, with a problem in the stream if there is one."""
        if (stream := self._live.get(connection.id)) is not None:
            stream.end(Ending(disconnect_type, self.problem_line(disconnect_type), flush=True))
        else:
            self._close(connection, disconnect_type)

    def end_all(self, disconnect_type: str, *, abruptly: bool = False, patience: float | None = None) -> int:
        """Ends every live stream, with a problem or in the middle of the response. Returns their number."""
        streams = self.streams
        line = None if abruptly else self.problem_line(disconnect_type)
        for stream in streams:
            ending = Ending(disconnect_type, line, flush=not abruptly, abruptly=abruptly, patience=patience)
            stream.end(ending)
        return len(streams)

    def problem_line(self, disconnect_type: str) -> bytes:
        """Returns the problem that ends a stream."""
        detail = _DETAILS.get(disconnect_type, "the stream was closed for operational reasons")
        return self.line_of("operational-disconnect", detail, {"disconnect_type": disconnect_type})

    def line_of(self, slug: str, detail: str, fields: Mapping[str, Any]) -> bytes:
        """Returns a problem as a line of the stream."""
        base = self._state_now().problem_base_url
        return orjson.dumps({"errors": [problem(base, slug, slug, detail) | dict(fields)]})

    def _forget(self, stream: LiveStream) -> None:
        connection, ending = stream.connection, stream.ending
        assert ending is not None
        del self._live[connection.id]
        self._close(connection, ending.reason)

    def _close(self, connection: StreamConnection, reason: str) -> None:
        connection.disconnected_at = self._state_now().clock.now()
        connection.disconnect_reason = reason

    # Time --------------------------------------------------------------------------------------------------------

    def time_moved(self) -> None:
        """Runs the keep-alives and timeouts that are due because the clock was advanced."""
        for stream in self.streams:
            stream.tick()
        self._moved.set()

    async def settle(self) -> None:
        """Waits until every line has been written."""
        for stream in self.streams:
            await stream.idle.wait()

    async def _watch(self) -> None:
        while True:
            self._moved.clear()
            for stream in self.streams:
                stream.tick()
            wait = min((stream.seconds_left() for stream in self.streams), default=None)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if wait is None else max(wait, _SHORTEST_WAIT)):
                    await self._moved.wait()
