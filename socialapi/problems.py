"""Problems and coded errors of the service, as plain data.

A problem is an RFC 7807 object whose `type` selects the subtype. Only the last path segment of `type` (the *slug*) is
compared, so the base URL of problem types does not matter. All fields except `type` and `title` are None if the service
omits them; unknown fields are kept in `extra`. A subtype without additional fields is a plain subclass, without an
attrs decorator.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

from socialapi.internal.records import FrozenRecord

ResourceType = Literal["user", "tweet", "media", "list", "space"]
"""The kinds of objects that a problem can concern."""


@attrs.frozen(kw_only=True)
class BrokenRule(FrozenRecord):
    """A rule that a request breaks.

    `path` is the location of the error, for example `[3].params.users[0].email[1]`. `reason` describes the error and
    never quotes the value, which may be personal data.
    """

    path: str
    reason: str
    code: Literal["INVALID_PARAMETER", "MISSING_PARAMETER", "EXCLUSIVE_PARAMETERS"] = "INVALID_PARAMETER"

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


@attrs.frozen(kw_only=True)
class ServiceError(FrozenRecord):
    """A coded error: `{code, message}` in the platform API, `{code, message, parameter}` in the advertising API."""

    code: int | str | None = attrs.field(default=None, metadata={"read_as": Any})
    message: str | None = None
    parameter: str | None = None


@attrs.frozen(kw_only=True)
class OperationError(FrozenRecord):
    """An error of one operation in a batch.

    `index` is the operation's position in the request, or None if the service does not report it. In that case,
    `position` is the index in the service's list of errors, and `listed` is the length of that list.
    """

    index: int | None
    position: int = attrs.field(default=0, eq=False, repr=False)
    listed: int = attrs.field(default=0, eq=False, repr=False)
    code: int | str | None = attrs.field(default=None, metadata={"read_as": Any})
    message: str | None = None
    parameter: str | None = None


@attrs.frozen(kw_only=True)
class Problem(FrozenRecord):
    """A problem of a type without a specific class, such as `about:blank`."""

    type: str = "about:blank"
    title: str | None = None
    detail: str | None = None
    status: int | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    @property
    def slug(self) -> str:
        """The last segment of `type`, for example `rule-cap`."""
        return self.type.rstrip("/").rpartition("/")[2]

    @property
    def says_not_found(self) -> bool:
        """Whether the problem is that something does not exist. The documented type covers five kinds of resources.
        Problems with other resources, such as rules and webhooks, are untyped and have the status 404.
        """
        return isinstance(self, ResourceNotFound) or (self.slug == "about:blank" and self.status == 404)


class ClientDisconnected(Problem):
    """The client closed the stream."""

    __slots__ = ()


@attrs.frozen(kw_only=True)
class ClientForbidden(Problem):
    """The app may not use this endpoint."""

    reason: Literal["official-client-forbidden", "client-not-enrolled"] | str | None = None
    registration_url: str | None = None


class ConflictProblem(Problem):
    """A job is already in progress."""

    __slots__ = ()


@attrs.frozen(kw_only=True)
class DisallowedResource(Problem):
    """The resource violates a policy and may not be read."""

    resource_id: str | None = None
    resource_type: ResourceType | str | None = None
    section: Literal["data", "includes"] | str | None = None


@attrs.frozen(kw_only=True)
class DuplicateRules(Problem):
    """A rule with this value already exists."""

    id: str | None = None
    value: str | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class InvalidParameters(FrozenRecord):
    """One error in an invalid request: a message, and the values of each invalid parameter."""

    message: str | None = None
    reason: str | None = None
    parameters: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict, repr=False)


@attrs.frozen(kw_only=True)
class InvalidRequest(Problem):
    """The request is malformed."""

    errors: tuple[InvalidParameters, ...] = ()


class InvalidRules(Problem):
    """A rule has invalid syntax."""

    __slots__ = ()


class NoncompliantRules(Problem):
    """A rule violates a policy."""

    __slots__ = ()


class RuleCap(Problem):
    """The project has reached its maximum number of rules."""

    __slots__ = ()


class UnsupportedAuthentication(Problem):
    """The endpoint does not accept this kind of credential."""

    __slots__ = ()


@attrs.frozen(kw_only=True)
class NotAuthorizedForField(Problem):
    """The caller may read the object, but not this field."""

    field: str | None = None
    resource_type: ResourceType | str | None = None
    section: Literal["data", "includes"] | str | None = None


@attrs.frozen(kw_only=True)
class NotAuthorizedForResource(Problem):
    """The caller may not read this object."""

    value: str | None = attrs.field(default=None, repr=False)
    resource_id: str | None = None
    resource_type: ResourceType | str | None = None
    section: Literal["data", "includes"] | str | None = None
    parameter: str | None = None


@attrs.frozen(kw_only=True)
class OperationalDisconnect(Problem):
    """The service closed the stream."""

    disconnect_type: (
        Literal[
            "OperationalDisconnect",
            "UpstreamOperationalDisconnect",
            "ForceDisconnect",
            "UpstreamUncleanDisconnect",
            "SlowReader",
            "InternalError",
            "ClientApplicationStateDegraded",
            "InvalidRules",
        ]
        | str
        | None
    ) = None


@attrs.frozen(kw_only=True)
class ResourceNotFound(Problem):
    """There is no object with this id."""

    parameter: str | None = None
    value: str | None = attrs.field(default=None, repr=False)
    resource_id: str | None = None
    resource_type: ResourceType | str | None = None


@attrs.frozen(kw_only=True)
class ResourceUnavailable(Problem):
    """The object exists but is currently unavailable."""

    parameter: str | None = None
    resource_id: str | None = None
    resource_type: ResourceType | str | None = None


@attrs.frozen(kw_only=True)
class StreamingConnection(Problem):
    """The stream could not be opened."""

    connection_issue: (
        Literal["TooManyConnections", "ProvisioningSubscription", "RuleConfigurationIssue", "RulesInvalidIssue"]
        | str
        | None
    ) = None


@attrs.frozen(kw_only=True)
class UsageCapped(Problem):
    """A usage cap has been reached."""

    period: Literal["Daily", "Monthly"] | str | None = None
    scope: Literal["Account", "Product"] | str | None = None


PROBLEM_TYPES: Final[Mapping[str, type[Problem]]] = {
    "client-disconnected": ClientDisconnected,
    "client-forbidden": ClientForbidden,
    "conflict": ConflictProblem,
    "disallowed-resource": DisallowedResource,
    "duplicate-rules": DuplicateRules,
    "invalid-request": InvalidRequest,
    "invalid-rules": InvalidRules,
    "noncompliant-rules": NoncompliantRules,
    "rule-cap": RuleCap,
    "unsupported-authentication": UnsupportedAuthentication,
    "not-authorized-for-field": NotAuthorizedForField,
    "not-authorized-for-resource": NotAuthorizedForResource,
    "operational-disconnect": OperationalDisconnect,
    "resource-not-found": ResourceNotFound,
    "resource-unavailable": ResourceUnavailable,
    "streaming-connection": StreamingConnection,
    "usage-capped": UsageCapped,
}
"""The documented subtypes by the slug of their `type`."""
