"""Persistent streams: what `client.filtered_stream.connect` and `client.activity.stream` return, and its dispatch."""

from socialapi.lazy import on_first_use

__getattr__, __dir__ = on_first_use(__name__)
