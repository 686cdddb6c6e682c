"""The scripts that simulate stream faults."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import orjson

from socialapi.emulator.faults import Fault, scripted_problem
from socialapi.emulator.platform.fan_out import FILTERED_STREAM, SHUTDOWN, StreamHub
from socialapi.emulator.platform.streaming import LINE_END, Ending, LiveStream, Script

LONG_LINE_BYTES: Final = 600_000
_BEGUN_LINE: Final = b'{"data":{"id":"1'
_GARBAGE: Final = b"<html>upstream connect error</html>"
_CLOSED: Final = "OperationalDisconnect"
_CUT: Final = "UpstreamUncleanDisconnect"


def script_of(fault: Fault | None, hub: StreamHub) -> Script | None:
    """Returns the script that simulates the fault on a stream, or None if there is none."""
    if fault is None or fault.fault not in _PLAYS:
        return None
    return Script(functools.partial(_PLAYS[fault.fault], fault, hub), fault.after_lines or 0)


async def _close(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    stream.end(_CLOSED)


async def _drop(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    await stream.write(_BEGUN_LINE)
    stream.end(_CUT, Ending(_CUT, abruptly=True))


async def _silence(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    stream.fall_silent()


async def _long_line(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    await stream.write(long_line(stream.connection.endpoint_id) + LINE_END)


async def _garbage(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    await stream.write(_GARBAGE + LINE_END)


async def _drip(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    stream.drip_seconds = 1.0 if fault.delay_seconds is None else fault.delay_seconds


async def _disconnect(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    slug, fields = scripted_problem(fault)
    if slug:
        reason = fields.get("connection_issue") or fields.get("disconnect_type") or slug
        stream.end(reason, Ending(reason, hub.line_of(slug, "a scripted fault", fields)))
    else:
        kind = fault.disconnect_type or SHUTDOWN
        stream.end(kind, Ending(kind, hub.problem_line(kind)))


def long_line(endpoint_id: str) -> bytes:
    """Returns a valid line of 600 KB."""
    text = "long " * (LONG_LINE_BYTES // 5)
    if endpoint_id == FILTERED_STREAM:
        post = {"id": "1", "text": text, "edit_history_tweet_ids": ["1"]}
        return orjson.dumps({"data": post, "matching_rules": [{"id": "1"}]})
    event = {"event_id": "1", "event_type": "post.create", "filter": {}, "payload": {"id": "1", "text": text}}
    return orjson.dumps({"data": event})


_PLAYS: Final[Mapping[str, Callable[[Fault, StreamHub, LiveStream], Awaitable[None]]]] = {
    "stream_close": _close,
    "stream_drop": _drop,
    "stream_silence": _silence,
    "stream_long_line": _long_line,
    "stream_garbage": _garbage,
    "stream_drip": _drip,
    "stream_disconnect": _disconnect,
    # General response faults that also make sense for an endless stream.
    "reset_after": _drop,
    "truncate": _drop,
    "slow": _drip,
}
