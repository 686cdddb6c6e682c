"""Persistent streams: the result of `client.filtered_stream.connect` and
`client.activity.stream`.
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__ = on_first_use(__name__)
