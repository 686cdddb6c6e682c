"""Streaming connections of an app (platform documentation, section 4.4)."""

import datetime
from typing import Annotated, Any

import attrs
from annotated_types import MinLen

from socialapi.models.rules import Pattern
from socialapi.problems import Problem

# The path with `all` in its place is that of another endpoint, which ends every connection of the app.
EndpointId = Annotated[str, Pattern("(?!all$).*", "must not be `all`, which ends every connection: that is end_all()")]


@attrs.define(kw_only=True)
class Connection:
    """An active or past streaming connection; `disconnected_at` is None while it is active."""

    id: str | None = None
    endpoint_name: str | None = None
    connected_at: datetime.datetime | None = None
    disconnected_at: datetime.datetime | None = None
    disconnect_reason: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class ConnectionIds:
    """The connections to end, by UUID."""

    uuids: Annotated[tuple[str, ...], MinLen(1)]


@attrs.define(kw_only=True)
class EndedConnections:
    """What was ended; the documentation names no field of it. `errors` are the problems beside it."""

    ended_count: int | None = None
    uuids: tuple[str, ...] = ()

    errors: tuple[Problem, ...] = ()
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)
