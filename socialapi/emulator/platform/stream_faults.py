"""The scripts that simulate stream faults."""

import functools
from typing import Final

import orjson

from socialapi.emulator.faults import STREAM_FAULTS, Fault, scripted_problem
from socialapi.emulator.platform.fan_out import FILTERED_STREAM, SHUTDOWN, StreamHub
from socialapi.emulator.platform.streaming import LINE_END, Ending, LiveStream, Script

LONG_LINE_BYTES: Final = 600_000
_BEGUN_LINE: Final = b'{"data":{"id":"1'
_GARBAGE: Final = b"<html>upstream connect error</html>"
_GENERAL_FAULTS: Final = ("reset_after", "truncate", "slow")
"""General response faults that also make sense for an endless stream."""


def script_of(fault: Fault | None, hub: StreamHub) -> Script | None:
    """Returns the script that simulates the fault on a stream, or None if there is none."""
    if fault is None or fault.fault not in (*STREAM_FAULTS, *_GENERAL_FAULTS):
        return None
    return Script(functools.partial(_play, fault, hub), fault.after_lines or 0)


async def _play(fault: Fault, hub: StreamHub, stream: LiveStream) -> None:
    match fault.fault:
        case "stream_close":
            stream.end(Ending(SHUTDOWN))
        case "stream_drop" | "reset_after" | "truncate":
            await stream.write(_BEGUN_LINE)
            stream.end(Ending("UpstreamUncleanDisconnect", abruptly=True))
        case "stream_silence":
            stream.fall_silent()
        case "stream_long_line":
            await stream.write(_long_line(stream.connection.endpoint_id) + LINE_END)
        case "stream_garbage":
            await stream.write(_GARBAGE + LINE_END)
        case "stream_drip" | "slow":
            stream.drip_seconds = 1.0 if fault.delay_seconds is None else fault.delay_seconds
        case "stream_disconnect":
            slug, fields = scripted_problem(fault)
            if slug:
                reason = fields.get("connection_issue") or fields.get("disconnect_type") or slug
                stream.end(Ending(reason, hub.line_of(slug, "a scripted fault", fields)))
            else:
                kind = fault.disconnect_type or SHUTDOWN
                stream.end(Ending(kind, hub.problem_line(kind)))


def _long_line(endpoint_id: str) -> bytes:
    """Returns a valid line of 600 KB."""
    text = "long " * (LONG_LINE_BYTES // 5)
    if endpoint_id == FILTERED_STREAM:
        post = {"id": "1", "text": text, "edit_history_tweet_ids": ["1"]}
        return orjson.dumps({"data": post, "matching_rules": [{"id": "1"}]})
    event = {"event_id": "1", "event_type": "post.create", "filter": {}, "payload": {"id": "1", "text": text}}
    return orjson.dumps({"data": event})
