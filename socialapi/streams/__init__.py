"""Persistent streams: the result of `client.filtered_stream.connect` and
`client.activity.stream`.
"""

from socialapi.models.events import (
    ActivityEvent,
    DirectMessage,
    MatchedPost,
    MatchingRule,
    StreamNotice,
)
from socialapi.models.pages import Undecoded
from socialapi.streams.dispatcher import Dispatcher, Unfinished
from socialapi.streams.status import Gap, SlowReading, StreamCounters, StreamState
from socialapi.streams.stream import Stream

__all__ = [
    "ActivityEvent",
    "DirectMessage",
    "Dispatcher",
    "Gap",
    "MatchedPost",
    "MatchingRule",
    "SlowReading",
    "Stream",
    "StreamCounters",
    "StreamNotice",
    "StreamState",
    "Undecoded",
    "Unfinished",
]
