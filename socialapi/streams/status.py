"""What a stream tells about itself: its state, what it has counted, its gaps, and that it is read too slowly."""

import datetime
from typing import Literal

import attrs

from socialapi.problems import Problem

StreamState = Literal["new", "connecting", "connected", "waiting", "closed"]


@attrs.define
class StreamCounters:
    """What a stream has done so far.

    `attempts` counts connections asked for, `connections` those that the service accepted, `items` what was handed
    out (`undecoded` of them as they came), `repeated` what was left out because a backfill brought it a second time.
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
class Gap:
    """A time in which nothing could arrive; whatever was missed was sent between `started_at` and `ended_at`.

    Both are aware UTC times by this machine's clock. `started_at` is the last moment at which everything that had been
    sent was surely here, so it may lie before the break. `ended_at` is when the service accepted the next connection,
    None if there will be none. `after_id` is the id of the last post or event before the gap, `reason` says why there
    was one, and `problem` what the service said about it, if it did. `attempts` is how often it was connected to.
    """

    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    reason: str
    after_id: str | None = None
    problem: Problem | None = None
    attempts: int = 0


@attrs.frozen(kw_only=True)
class SlowReading:
    """The stream is read more slowly than it comes, which the service ends before long (SlowReader).

    `seconds` is for how long already. With `waiting_for` "consumer" the application has not come back for the next
    event in that time; with "throughput" it does come back, and what has arrived fills the buffers all the same.
    """

    seconds: float
    waiting_for: Literal["consumer", "throughput"]
