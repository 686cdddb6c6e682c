"""Counts the objects and requests of a client, because reading costs money and counts toward caps."""

import collections
import datetime
import operator
import typing
from collections.abc import Mapping
from typing import Any, Final

import attrs

from socialapi.internal.records import Exported
from socialapi.models.pages import Page
from socialapi.routes.route import Route

_INCLUDED: Final = {"users": "User", "tweets": "Post", "all_media": "Media", "polls": "Poll", "places": "Place"}
"""The kinds of included objects, by field."""
_included: Final = operator.attrgetter(*_INCLUDED)


@attrs.frozen(kw_only=True)
class Usage(Exported):
    """The objects read and requests sent by a client since it was created.

    `resources` counts the objects that GET requests returned, including expansions, by class name. `requests` counts
    the requests by method and route, including retries; `client.request` counts as one route. Each stream counts its
    own objects.
    """

    since: datetime.datetime
    resources: Mapping[str, int]
    requests: Mapping[str, int]


class UsageCounter:
    """Counts the requests and resources of a session."""

    def __init__(self, since: datetime.datetime) -> None:
        self._since = since
        self._resources: collections.Counter[str] = collections.Counter()
        # Keyed by route. Names are built only on access, because this counts every call.
        self._items: collections.Counter[Route[Any]] = collections.Counter()
        self._requests: collections.Counter[Route[Any] | str] = collections.Counter()

    def count_sent(self, route: Route[Any]) -> None:
        """Counts a request."""
        # The number of routes that callers define is unlimited.
        self._requests[f"{route.method} (client.request)" if route.label else route] += 1

    def count_read(self, route: Route[Any], result: object) -> None:
        """Counts the objects of a response."""
        if route.method != "GET":
            return
        if not isinstance(result, Page):
            if attrs.has(type(result)):
                self._resources[type(result).__name__] += 1
            return
        self._items[route] += result.arrived_before(len(result.data))
        if any(found := _included(result.includes)):
            for name, objects in zip(_INCLUDED.values(), found, strict=True):
                self._resources[name] += len(objects)

    def usage(self) -> Usage:
        """Returns the current counts."""
        resources = self._resources.copy()
        for route, count in self._items.items():
            (kind,) = typing.get_args(route.result)
            resources[kind.__name__] += count
        requests: collections.Counter[str] = collections.Counter()
        for each, count in self._requests.items():
            requests[each if isinstance(each, str) else f"{each.method} {each.shown}"] += count
        return Usage(since=self._since, resources=dict(+resources), requests=dict(requests))
