"""The state, counters, gaps and slow-reading warnings of a stream."""

import datetime
from typing import Literal

import attrs

from socialapi.internal.records import Exported
from socialapi.problems import Problem

StreamState = Literal["new", "connecting", "connected", "waiting", "closed"]


@attrs.define
class StreamCounters(Exported):
    """The counts of a stream.

    `attempts` counts attempts to connect and `connections` counts the accepted ones. `items` counts the returned items,
    `undecoded` the undecodable ones among them, and `repeated` the items dropped as duplicates.
    """

    attempts: int = 0
    connections: int = 0
    items: int = 0
    undecoded: int = 0
    repeated: int = 0
    keep_alives: int = 0
    gaps: int = 0
    received_bytes: int = 0


@attrs.frozen(kw_only=True)
class Gap(Exported):
    """A period in which nothing could arrive.

    All missed items were probably sent between `started_at` and `ended_at`. Both are
    aware UTC times by this machine's clock, which may differ from the service's. `started_at` is
    the last time at which everything sent had arrived, less `Config.gap_margin_seconds` for data in
    transit; it is before the disconnect, but never before that connection opened. `ended_at` is the
    time at which the service accepted the next connection, or None if there will be none.
    `after_id` is the id of the last post or event before the gap, `reason` says why there was one,
    and `problem` is what the service reported, if anything. `attempts` is the number of attempts to
    connect.
    """

    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    reason: str
    after_id: str | None = None
    problem: Problem | None = None
    attempts: int = 0


@attrs.frozen(kw_only=True)
class SlowReading(Exported):
    """A warning that the stream is read more slowly than data arrives. The service ends such streams.

    `seconds` is how long this has lasted. If `waiting_for` is "consumer", the application has not requested an event in
    that time. If it is "throughput", the application requests events, but the buffers stay full.
    """

    seconds: float
    waiting_for: Literal["consumer", "throughput"]
