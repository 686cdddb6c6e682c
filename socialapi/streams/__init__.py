"""Persistent streams: the result of `client.filtered_stream.connect` and
`client.activity.stream`.
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__, __all__ = on_first_use(
    __name__,
    {
        "socialapi.models.events": "ActivityEvent DirectMessage MatchedPost MatchingRule StreamNotice",
        "socialapi.models.pages": "Undecoded",
        "socialapi.streams.dispatcher": "DispatchCounters Dispatcher EventKind OnError Unfinished",
        "socialapi.streams.link": "OnGap OnSlow",
        "socialapi.streams.status": "Gap SlowReading StreamCounters StreamState",
        "socialapi.streams.stream": "Stream",
    },
)
