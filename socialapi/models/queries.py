"""Query parameters of the platform API with their rules (platform documentation, sections 2.6 and 4.3)."""

from typing import Annotated, Any, Final, TypedDict

from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.models.fields import FieldParameters
from socialapi.models.rules import AnyId

MAX_LOOKUP_IDS: Final = 100

MaxResults = Annotated[int, Ge(5), Le(100)]
"""No bounds are documented; these are ours."""


class PostsLookup(FieldParameters):
    """Posts by their ids."""

    ids: Annotated[tuple[AnyId, ...], MinLen(1), MaxLen(MAX_LOOKUP_IDS)]


class UserPosts(FieldParameters, total=False):
    """A page of a user's posts."""

    max_results: MaxResults
    pagination_token: str


class OpenPage(TypedDict, total=False):
    """A page of a collection whose parameters are not documented."""

    max_results: int
    pagination_token: str
    extra: Any


class RulesChangeQuery(TypedDict, total=False):
    """How a change of rules is made: `dry_run` only tests it."""

    dry_run: bool


NewsSearch = TypedDict(
    "NewsSearch",
    {"query": str, "news.fields": tuple[str, ...], "max_results": int, "pagination_token": str, "extra": Any},
    total=False,
)
"""Trending stories for a query."""

NewsStoryQuery = TypedDict("NewsStoryQuery", {"news.fields": tuple[str, ...], "extra": Any}, total=False)
"""One story."""

BackfillMinutes = Annotated[int, Ge(1), Le(5)]
"""How far back a stream begins; neither the parameter nor its bounds are documented, they are ours."""


class PostStreamQuery(FieldParameters, total=False):
    """What the filtered stream delivers."""

    backfill_minutes: BackfillMinutes
    extra: Any


class ActivityStreamQuery(TypedDict, total=False):
    """What the activity stream delivers."""

    backfill_minutes: BackfillMinutes
    extra: Any
