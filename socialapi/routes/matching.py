"""From a path that a caller wrote out to what is documented about it."""

import functools
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from socialapi.routes import ads
from socialapi.routes.route import Family, RateLimit, Route

_LIMITED: Final = tuple(
    route for route in vars(ads).values() if isinstance(route, Route) and route.rate_limit is not None
)


def documented_limit(method: str, family: Family, path: str) -> tuple[RateLimit | None, Mapping[str, str]]:
    """The documented limit of an encoded path and the values it is counted by; (None, {}) where there is none."""
    for route in _LIMITED:
        match = _pattern(route.path).fullmatch(path) if (route.method, route.family) == (method, family) else None
        if match is not None:
            return route.rate_limit, {name: unquote(value) for name, value in match.groupdict().items()}
    return None, {}


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template)))


_WORDS: Final = frozenset(
    [
        "1.1",
        "2",
        "5",
        "12",
        "_emulator",
        "account_apps",
        "account_history",
        "account_media",
        "accounts",
        "activity",
        "advertiser_business_categories",
        "all",
        "articles",
        "audiences",
        "batch",
        "blocking",
        "bookmarks",
        "by",
        "cards",
        "communities",
        "compliance",
        "connections",
        "counts",
        "curated_categories",
        "custom_audiences",
        "dm_conversations",
        "dm_events",
        "do-not-reach",
        "do_not_reach_lists",
        "draft",
        "drafts",
        "email",
        "evaluate_note",
        "faults",
        "features",
        "followers",
        "following",
        "history",
        "image_conversation",
        "insights",
        "keywords",
        "ledger",
        "likes",
        "line_item_curated_categories",
        "line_items",
        "liked_tweets",
        "lists",
        "me",
        "media",
        "media_library",
        "members",
        "mentions",
        "muting",
        "name",
        "news",
        "notes",
        "oauth",
        "oauth2",
        "permissions",
        "pinned_lists",
        "places",
        "poll",
        "polls",
        "powerstream",
        "product_catalogs",
        "product_sets",
        "products",
        "publish",
        "quote_tweets",
        "recent",
        "replay",
        "requests",
        "retweeted_by",
        "retweets",
        "reverse_chronological",
        "rules",
        "sample",
        "search",
        "seed",
        "spaces",
        "stream",
        "subscriptions",
        "tailored_audiences",
        "targeted",
        "timelines",
        "trends",
        "tweet",
        "tweets",
        "usage",
        "username",
        "users",
        "video_conversation",
        "webhooks",
    ]
)


def label_of(path: str) -> str:
    """The path with a star for each segment that is not a known word of these APIs: an id, a name, an address."""
    return "/".join(segment if segment in _WORDS else "*" for segment in path[1:].split("/")).join(("/", ""))
