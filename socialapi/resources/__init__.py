"""The groups of methods of a client, for annotations: `client.posts` is `Posts`. A client makes
them.
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__ = on_first_use(__name__)
