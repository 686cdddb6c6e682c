"""Routes and API families, which declare all known facts about an endpoint."""

from collections.abc import Mapping
from typing import Any, Final, Generic, Literal, TypeVar
from urllib.parse import quote

import attrs

from socialapi.internal.records import Exported
from socialapi.models.pages import Page

R = TypeVar("R")

Method = Literal["GET", "POST", "PUT", "DELETE"]
CredentialKind = Literal["AppOnly", "Bearer", "OAuth1", "OAuth2User"]
BodyPlace = Literal["query", "json", "form"]


@attrs.frozen
class RateLimit(Exported):
    """A documented rate limit: requests per window, for each value of the path parameters in `per`."""

    name: str
    requests: int
    window_seconds: float
    per: tuple[str, ...] = ()
    is_configured: bool = False
    """Whether the values come from `Config.rate_limits`. A limit that the service reports does not raise them."""

    def configured(self, overrides: Mapping[str, tuple[int, float]]) -> "RateLimit":
        """Returns the limit with the values from `Config.rate_limits`, if it is listed there."""
        if self.name not in overrides:
            return self
        requests, window_seconds = overrides[self.name]
        return attrs.evolve(self, requests=requests, window_seconds=window_seconds, is_configured=True)

    def corrected(self, reported: int) -> int:
        """Returns the number of requests per window, given the limit that the service has reported."""
        return min(reported, self.requests) if self.is_configured else reported


TOTAL_COUNT_READS: Final = RateLimit("total_count_reads", 200, 900.0)
"""The limit shared by all reads that request a total count."""


@attrs.frozen
class Family:
    """An API of the platform: the `Config` field of its host, accepted credentials (preferred first), and paging.

    `envelope` says whether results are wrapped in `{"data": …}`. `total_counts` is the limit of
    reads with a total count.
    """

    name: str
    host: Literal["base_url", "ads_url", "ads_sandbox_url"]
    credentials: tuple[CredentialKind, ...]
    page_token_parameter: str
    envelope: bool = True
    total_counts: RateLimit | None = None

    @property
    def page_size_parameter(self) -> str:
        """The query parameter with the number of items on a page."""
        return "max_results" if self.host == "base_url" else "count"


APP_CREDENTIALS: Final[tuple[CredentialKind, ...]] = ("AppOnly", "Bearer")
USER_CREDENTIALS: Final[tuple[CredentialKind, ...]] = ("OAuth1", "OAuth2User")

PLATFORM: Final = Family("platform", "base_url", ("AppOnly", "Bearer", "OAuth2User", "OAuth1"), "pagination_token")
# Acting as a user requires the user's own credential.
PLATFORM_USER: Final = Family("platform_user", "base_url", USER_CREDENTIALS, "pagination_token")
# Webhooks and stream links belong to the app.
PLATFORM_APP: Final = Family("platform_app", "base_url", APP_CREDENTIALS, "pagination_token")
# These endpoints are about the caller: the user's credential is preferred over the app's.
PLATFORM_CALLER: Final = Family(
    "platform_caller", "base_url", ("OAuth2User", "OAuth1", "AppOnly", "Bearer"), "pagination_token"
)
# Permissions of OAuth 1.0a override the scopes of OAuth 2.0 here.
PLATFORM_SUBSCRIBER: Final = Family(
    "platform_subscriber", "base_url", ("OAuth1", "OAuth2User", "AppOnly", "Bearer"), "pagination_token"
)
# Basic authentication with an app's key is not listed: only the token endpoints accept it.
OAUTH: Final = Family("oauth", "base_url", (), "pagination_token", envelope=False)
_OF_ADVERTISERS: Final[tuple[CredentialKind, ...]] = ("OAuth1", "OAuth2User", "Bearer", "AppOnly")
ADS: Final = Family("ads", "ads_url", _OF_ADVERTISERS, "cursor", total_counts=TOTAL_COUNT_READS)
ADS_SANDBOX: Final = Family("ads_sandbox", "ads_sandbox_url", _OF_ADVERTISERS, "cursor", total_counts=TOTAL_COUNT_READS)

FAMILIES: Final[Mapping[str, Family]] = {
    f.name: f
    for f in (PLATFORM, PLATFORM_USER, PLATFORM_APP, PLATFORM_CALLER, PLATFORM_SUBSCRIBER, OAUTH, ADS, ADS_SANDBOX)
}


@attrs.frozen(eq=False)
class Route(Generic[R]):
    """One endpoint.

    `path` is the documented path with its version, and `path_rules` are the rules of its parameters. `result` is the
    type of the response (a collection if it is `Page[T]`), `query` declares the query parameters, `body` is the
    declared type of the body, and `body_in` is where it is sent. `repeatable` says whether an attempt with an unknown
    outcome may be retried; by default, GET and PUT may. `created` means that success is 201 Created. `open_answer`
    means that the response is not documented, so any object or array is accepted. `retry_undecodable` means that the
    request is also retried if its response cannot be decoded; other routes raise an error. `max_body_bytes` bounds the
    request body. `scopes` are the scopes that a user's OAuth 2.0 token needs. `label` replaces a path from the caller
    in logs.
    """

    method: Method
    family: Family
    path: str
    result: type[R]
    body: Any = None
    body_in: BodyPlace = "query"
    query: Any = None
    path_rules: Mapping[str, Any] = attrs.field(factory=dict)
    repeatable: bool = attrs.field(default=attrs.Factory(lambda route: route.method in ("GET", "PUT"), takes_self=True))
    created: bool = False
    open_answer: bool = False
    retry_undecodable: bool = False
    rate_limit: RateLimit | None = None
    max_body_bytes: int | None = None
    scopes: tuple[str, ...] = ()
    label: str = ""

    @property
    def shown(self) -> str:
        """The path in logs and limit keys: the template, because the values in it may be personal data."""
        return self.label or self.path

    is_paged: bool = attrs.field(init=False)
    """Whether the response is a page of a collection."""

    @is_paged.default
    def _is_paged(self) -> bool:
        return getattr(self.result, "__origin__", None) is Page

    def limit(self, query: Mapping[str, Any]) -> RateLimit | None:
        """Returns the documented limit of a request with these query parameters."""
        if self.family.total_counts is not None and (
            str(query.get("with_total_count")).strip().lower() in ("true", "t", "1", "yes", "y", "on")
        ):
            return self.family.total_counts
        return self.rate_limit

    def template(self, overrides: Mapping[str, str], versions: Mapping[str, str] | None = None) -> str:
        """Returns the path with its parameters in braces: the documented one, or its replacement in `overrides`.

        In the advertising API, a first segment that is a key of `versions` is replaced. Paths
        written out by the caller are not changed.
        """
        template = overrides.get(self.path)
        if template is None:
            template = self.path
            version, slash, rest = template[1:].partition("/")
            if versions and not self.label and self.family.host != "base_url":
                template = f"/{versions.get(version, version)}{slash}{rest}"
        return template

    def at(self, **path_parameters: str | int) -> "Target[R]":
        """Returns the route with its path filled in. Values are percent-encoded, so that no value can leave its
        segment.
        """
        return Target(self, path_parameters)


COUNTED_BY: Final = ("account_id",)
"""The path parameters by which undocumented limits are assumed to be counted."""


# Not frozen, because each field of a frozen class costs a call when an instance is made.
@attrs.define(eq=False)
class Target(Generic[R]):
    """A route together with the values of its path parameters."""

    route: Route[R]
    path_parameters: Mapping[str, str | int]

    def path(self, overrides: Mapping[str, str], versions: Mapping[str, str] | None = None) -> str:
        """Returns the encoded path: the template of the route, filled in."""
        encoded = {name: encode_segment(value) for name, value in self.path_parameters.items()}
        return self.route.template(overrides, versions).format_map(encoded)

    def limit_key(self, limit: RateLimit | None) -> str:
        """Returns the key shared by all requests that count toward the same rate limit.

        A documented limit specifies what it is counted by. Others are assumed to be counted by endpoint and account;
        the headers of the first response supply the numbers.
        """
        name = limit.name if limit else f"{self.route.method} {self.route.shown}"
        per = limit.per if limit else tuple(p for p in COUNTED_BY if p in self.path_parameters)
        return "/".join((name, *[str(self.path_parameters[p]) for p in per]))


def encode_segment(value: str | int) -> str:
    """Returns a path segment, percent-encoded."""
    return quote(str(value), safe="")
