"""Filtered-stream rules and streaming connections."""

import datetime
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

import attrs
from annotated_types import MaxLen, MinLen

from socialapi.internal.records import Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.models.queries import Element
from socialapi.models.validation import Alternatives, AnyId, Pattern
from socialapi.problems import Problem, ServiceError

MAX_RULE_LENGTH: Final = 2_048
MAX_RULES: Final = 25_000
"""The maximum number of rules in a project."""


@attrs.define(kw_only=True)
class StreamRule(Model):
    """A rule of the app. Posts that match `value` are delivered and marked with `tag`."""

    value: str
    id: str | None = None
    tag: str | None = None


@attrs.define
class RuleDraft(Record):
    """A rule to add."""

    value: Annotated[str, MinLen(1), MaxLen(MAX_RULE_LENGTH)]
    tag: str | Unset = UNSET


@attrs.define(kw_only=True)
class RuleIds(Record):
    """The rules to delete, by id or by value."""

    ids: Annotated[tuple[AnyId, ...], MinLen(1)] | Unset = UNSET
    values: Annotated[tuple[str, ...], MinLen(1)] | Unset = UNSET

    alternatives: ClassVar = Alternatives(("ids", "values"))


@attrs.define(kw_only=True)
class RulesChange(Record):
    """Rules to add, or rules to delete."""

    add: Annotated[tuple[RuleDraft, ...], MinLen(1)] | Unset = UNSET
    delete: RuleIds | Unset = UNSET

    alternatives: ClassVar = Alternatives(("add", "delete"), exclusive=True)


@attrs.define(kw_only=True)
class RulesSummary(Model):
    """How many rules a change created, deleted or rejected."""

    created: int | None = None
    not_created: int | None = None
    valid: int | None = None
    invalid: int | None = None
    deleted: int | None = None
    not_deleted: int | None = None


# `all` in the path would call another endpoint, which ends every connection of the app.
EndpointId = Annotated[str, Pattern("(?!all$).*", "must not be `all`, which ends every connection: use end_all()")]


@attrs.define(kw_only=True)
class Connection(Model):
    """An active or past streaming connection; `disconnected_at` is None while it is active."""

    id: str | None = None
    endpoint_name: str | None = None
    connected_at: datetime.datetime | None = None
    disconnected_at: datetime.datetime | None = None
    disconnect_reason: str | None = None


@attrs.define(kw_only=True)
class ConnectionIds(Record):
    """The connections to end, by UUID."""

    uuids: Annotated[tuple[Element, ...], MinLen(1)]


@attrs.define(kw_only=True)
class EndedConnection(Model):
    """The result of ending one connection."""

    uuid: str | None = None
    success: bool | None = None
    error_message: str | None = None


@attrs.define(kw_only=True)
class EndedConnections(Model):
    """The result of ending connections.

    `ended_count` is the number of ended connections and `uuids` contains their UUIDs, if the response includes them.
    `failed_kills` is the number of connections that were not ended, and `results` has one entry per connection if the
    service returns them.
    """

    ended_count: int | None = None
    uuids: tuple[str, ...] = ()
    successful_kills: int | None = None
    failed_kills: int | None = None
    results: tuple[EndedConnection, ...] = ()

    @property
    def errors(self) -> tuple[Problem | ServiceError, ...]:
        """The problems in the response; the same as `partial_errors`."""
        return self.partial_errors

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "EndedConnections":
        """Reads a response, which may have a result for each connection."""
        ended: EndedConnections = read(data, cls)
        if ended.ended_count is None:
            ended.ended_count = ended.successful_kills
        if not ended.uuids:
            ended.uuids = tuple(each.uuid for each in ended.results if each.success and each.uuid is not None)
        return ended
