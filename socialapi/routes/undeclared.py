"""Routes for paths that callers define, with the documented facts about these paths."""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import unquote

import attrs

from socialapi.models.validation import Faults, invalid
from socialapi.routes.route import (
    ADS,
    APP_CREDENTIALS,
    FAMILIES,
    USER_CREDENTIALS,
    CredentialKind,
    Family,
    Method,
    RateLimit,
    Route,
    Target,
)

Api = Literal["platform", "ads", "ads_sandbox"]
"""The API names."""
Auth = Literal["app", "user"]
"""Whose credentials to use."""

_CREDENTIALS: Final[Mapping[str, tuple[CredentialKind, ...]]] = {
    "app": APP_CREDENTIALS,
    "user": USER_CREDENTIALS,
}
_METHOD: Final = re.compile("[A-Za-z]{1,32}")
_NOT_FOR_SERVICES: Final = frozenset({"CONNECT", "TRACE"})
"""Methods that concern the connection itself."""
_PATH: Final = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)+")

_UNFIT: Final = re.compile(r"\.\.?|[\s\S]*[\x00-\x1f\x7f][\s\S]*")
"""Segments that proxies resolve or reject even when encoded."""


def ad_hoc_target(
    method: str, path: str, api: str, auth: str | None, result: Any = object, token_parameter: str | None = None
) -> Target[Any]:
    """Returns the target for a path that has no declared route. Only GET and PUT are retried after an unknown outcome.
    `token_parameter` is the name of the parameter for page tokens, if it differs from the API's.

    Raises InvalidInput for an unknown API, and for a method or path that could not be sent
    unchanged.
    """
    faults = Faults()
    apis, auths = get_args(Api), get_args(Auth)
    if api not in apis:
        faults.append(invalid("api", f"must be one of {', '.join(apis)}"))
    if auth not in (None, *auths):
        faults.append(invalid("auth", f"must be None or one of {', '.join(auths)}"))
    if not _is(_METHOD, method) or method.upper() in _NOT_FOR_SERVICES:
        faults.append(invalid("method", "must be an HTTP method, for example GET"))
    if not _is(_PATH, path) or any(_UNFIT.fullmatch(unquote(segment)) for segment in path.split("/")):
        why = (
            "must start with a slash, for example /2/tweets, and have percent-encoded segments, none of which is . or ..; "
            "query parameters go into params"
        )
        faults.append(invalid("path", why))
    faults.refuse()
    family = FAMILIES[api]
    if auth is not None:
        family = attrs.evolve(family, credentials=_CREDENTIALS[auth])
    if token_parameter is not None:
        family = attrs.evolve(family, page_token_parameter=token_parameter)
    verb = cast("Method", method.upper())
    limit, counted_by = documented_limit(verb, FAMILIES[api], path)
    route = Route(verb, family, path, result, None, "json", rate_limit=limit, label=label_of(path))
    return route.at(**counted_by)


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def documented_limit(method: str, family: Family, path: str) -> tuple[RateLimit | None, Mapping[str, str]]:
    """Returns the documented limit of an encoded path and the values it is counted by.

    Returns (None, {}) if there is none.
    """
    for route in _limited() if family is ADS else ():
        match = _pattern(route.path).fullmatch(path) if route.method == method else None
        if match is not None:
            return route.rate_limit, {name: unquote(value) for name, value in match.groupdict().items()}
    return None, {}


@functools.cache
def _limited() -> tuple[Route[Any], ...]:
    """Returns the routes with separate limits, all of which concern audiences."""
    from socialapi.routes import audiences

    return tuple(
        route for route in vars(audiences).values() if isinstance(route, Route) and route.rate_limit is not None
    )


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template)))


_NAMES_IN_PATHS: Final = (
    "1.1 2 5 12 _emulator account_apps account_history account_media accounts activity "
    "advertiser_business_categories all articles audiences batch blocking bookmarks by cards communities "
    "compliance connections counts curated_categories custom_audiences dm_conversations dm_events do-not-reach "
    "do_not_reach_lists draft drafts email evaluate_note faults features followers following history "
    "image_conversation insights keywords ledger likes line_item_curated_categories line_items liked_tweets lists "
    "me media media_library members mentions muting name news notes oauth oauth2 permissions pinned_lists places "
    "poll polls powerstream product_catalogs product_sets products publish quote_tweets recent replay requests "
    "retweeted_by retweets reverse_chronological rules sample search seed spaces stream subscriptions "
    "tailored_audiences targeted timelines trends tweet tweets usage username users video_conversation webhooks"
)
_WORDS: Final = frozenset(_NAMES_IN_PATHS.split())


def label_of(path: str) -> str:
    """Returns the path for logs: a star for each segment that is not a known word of these APIs,
    such as an id or a name.
    """
    return "/".join(segment if segment in _WORDS else "*" for segment in path[1:].split("/")).join(("/", ""))
