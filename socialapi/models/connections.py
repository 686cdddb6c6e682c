"""Streaming connections of an app (platform documentation, section 4.4)."""

import datetime
from typing import Annotated

import attrs
from annotated_types import MinLen

from socialapi.models.collections import Element
from socialapi.models.model import Model
from socialapi.models.rules import Pattern
from socialapi.problems import Problem, ServiceError

# The path with `all` in its place is that of another endpoint, which ends every connection of the app.
EndpointId = Annotated[str, Pattern("(?!all$).*", "must not be `all`, which ends every connection: that is end_all()")]


@attrs.define(kw_only=True)
class Connection(Model):
    """An active or past streaming connection; `disconnected_at` is None while it is active."""

    id: str | None = None
    endpoint_name: str | None = None
    connected_at: datetime.datetime | None = None
    disconnected_at: datetime.datetime | None = None
    disconnect_reason: str | None = None


@attrs.define(kw_only=True)
class ConnectionIds:
    """The connections to end, by UUID."""

    uuids: Annotated[tuple[Element, ...], MinLen(1)]


@attrs.define(kw_only=True)
class EndedConnection(Model):
    """What became of one connection that was to be ended."""

    uuid: str | None = None
    success: bool | None = None
    error_message: str | None = None


@attrs.define(kw_only=True)
class EndedConnections(Model):
    """What was ended.

    `ended_count` is how many connections were ended and `uuids` are theirs, as far as the answer says so;
    `failed_kills` is how many were not, and `results` has a line for each where the service gives them.
    """

    ended_count: int | None = None
    uuids: tuple[str, ...] = ()
    successful_kills: int | None = None
    failed_kills: int | None = None
    results: tuple[EndedConnection, ...] = ()

    @property
    def errors(self) -> tuple[Problem | ServiceError, ...]:
        """The problems beside it; the same as `partial_errors`."""
        return self.partial_errors
