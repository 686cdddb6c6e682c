"""Persistent streams, the results of `client.filtered_stream.connect` and `client.activity.stream`."""

from typing import TYPE_CHECKING

from socialapi.internal.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.models.events import ActivityEvent as ActivityEvent
    from socialapi.models.events import DirectMessage as DirectMessage
    from socialapi.models.events import MatchedPost as MatchedPost
    from socialapi.models.events import MatchingRule as MatchingRule
    from socialapi.models.events import StreamNotice as StreamNotice
    from socialapi.models.undecoded import Undecoded as Undecoded
    from socialapi.streams.dispatcher import DispatchCounters as DispatchCounters
    from socialapi.streams.dispatcher import Dispatcher as Dispatcher
    from socialapi.streams.dispatcher import EventKind as EventKind
    from socialapi.streams.dispatcher import OnError as OnError
    from socialapi.streams.dispatcher import Unfinished as Unfinished
    from socialapi.streams.link import OnGap as OnGap
    from socialapi.streams.link import OnSlow as OnSlow
    from socialapi.streams.status import Gap as Gap
    from socialapi.streams.status import SlowReading as SlowReading
    from socialapi.streams.status import StreamCounters as StreamCounters
    from socialapi.streams.status import StreamState as StreamState
    from socialapi.streams.stream import Stream as Stream
else:
    __getattr__, __dir__, __all__ = on_first_use(
        __name__,
        {
            "socialapi.models.events": "ActivityEvent DirectMessage MatchedPost MatchingRule StreamNotice",
            "socialapi.models.undecoded": "Undecoded",
            "socialapi.streams.dispatcher": "DispatchCounters Dispatcher EventKind OnError Unfinished",
            "socialapi.streams.link": "OnGap OnSlow",
            "socialapi.streams.status": "Gap SlowReading StreamCounters StreamState",
            "socialapi.streams.stream": "Stream",
        },
    )
