"""Query parameters: fields to select, paging and filters."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Required, TypedDict, get_args

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.internal.records import FrozenRecord
from socialapi.models.spelling import near_name
from socialapi.models.validation import AnyId, Conditions, Faults, IsId, ListOf, Pattern, WholeText, invalid
from socialapi.problems import BrokenRule

PostField = Literal[
    "attachments",
    "author_id",
    "community_id",
    "context_annotations",
    "conversation_id",
    "created_at",
    "edit_controls",
    "edit_history_tweet_ids",
    "entities",
    "geo",
    "id",
    "in_reply_to_user_id",
    "lang",
    "paid_partnership",
    "possibly_sensitive",
    "public_metrics",
    "referenced_tweets",
    "reply_settings",
    "text",
]
UserField = Literal[
    "affiliation",
    "confirmed_email",
    "connection_status",
    "created_at",
    "description",
    "entities",
    "id",
    "location",
    "name",
    "pinned_tweet_id",
    "profile_image_url",
    "protected",
    "public_metrics",
    "subscription_type",
    "url",
    "username",
    "verified",
    "verified_type",
]
MediaField = Literal["duration_ms", "media_key", "public_metrics", "type", "variants"]
Expansion = Literal[
    "attachments.media_keys",
    "attachments.poll_ids",
    "author_id",
    "entities.mentions.username",
    "geo.place_id",
    "in_reply_to_user_id",
    "pinned_tweet_id",
    "referenced_tweets.id",
    "referenced_tweets.id.author_id",
]

FieldParameters = TypedDict(
    "FieldParameters",
    {
        "tweet.fields": tuple[str, ...],
        "expansions": tuple[str, ...],
        "media.fields": tuple[str, ...],
        "poll.fields": tuple[str, ...],
        "user.fields": tuple[str, ...],
        "place.fields": tuple[str, ...],
    },
    total=False,
)
"""The six parameters as sent, each a comma-separated list."""

_PARAMETERS: Final = {
    "post": "tweet.fields",
    "expansions": "expansions",
    "media": "media.fields",
    "poll": "poll.fields",
    "user": "user.fields",
    "place": "place.fields",
}

_LISTED: Final[Mapping[str, tuple[str, ...]]] = {
    "post": get_args(PostField),
    "user": get_args(UserField),
    "media": get_args(MediaField),
    "expansions": get_args(Expansion),
}
"""The known names. The names for polls and places are not documented."""

_JOINED_BY: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "attachments.media_keys": {"post": ("attachments",)},
    "attachments.poll_ids": {"post": ("attachments",)},
    "author_id": {"post": ("author_id",)},
    "entities.mentions.username": {"post": ("entities",)},
    "geo.place_id": {"post": ("geo",)},
    "in_reply_to_user_id": {"post": ("in_reply_to_user_id",)},
    "pinned_tweet_id": {"user": ("pinned_tweet_id",)},
    "referenced_tweets.id": {"post": ("referenced_tweets",)},
    "referenced_tweets.id.author_id": {"post": ("referenced_tweets", "author_id")},
}
"""Maps each expansion to the fields that link the included objects to their owners."""


_NAMES: Final = {"read_as": tuple[str, ...]}


@attrs.frozen(kw_only=True)
class Fields(FrozenRecord):
    """The fields to select, by kind of object, and the related objects to include.

        Fields(post=["author_id", "created_at"], user=["verified"], expansions=["author_id"])

    A single string is a list of one, and a string may hold several names separated by commas. An
    expansion also selects the field that links it: `expansions=["author_id"]` adds `author_id` to
    each post. Editors suggest the known names. Raises InvalidInput for a misspelled name; sends other unknown names as
    given, because the documentation does not list all names.
    """

    post: Sequence[PostField | str] = attrs.field(default=(), metadata=_NAMES)
    user: Sequence[UserField | str] = attrs.field(default=(), metadata=_NAMES)
    media: Sequence[MediaField | str] = attrs.field(default=(), metadata=_NAMES)
    poll: Sequence[str] = attrs.field(default=(), metadata=_NAMES)
    place: Sequence[str] = attrs.field(default=(), metadata=_NAMES)
    expansions: Sequence[Expansion | str] = attrs.field(default=(), metadata=_NAMES)

    def __attrs_post_init__(self) -> None:
        faults = Faults()
        for kind in _PARAMETERS:
            with faults:
                names = names_of(f"Fields.{kind}", getattr(self, kind), _LISTED.get(kind, ()))
                object.__setattr__(self, kind, names)
        faults.refuse()

    def parameters(self) -> dict[str, tuple[str, ...]]:
        """Returns the query parameters, without those that select nothing."""
        selected = {kind: [*getattr(self, kind)] for kind in _PARAMETERS}
        for expansion in self.expansions:
            for kind, names in _JOINED_BY.get(expansion, {}).items():
                selected[kind] += names
        return {_PARAMETERS[kind]: tuple(dict.fromkeys(names)) for kind, names in selected.items() if names}


def selected_by(fields: Fields | None) -> dict[str, tuple[str, ...]]:
    """Returns the query parameters for `fields`. Raises InvalidInput for another type."""
    given: object = fields
    if given is None:
        return {}
    if not isinstance(given, Fields):
        raise invalid("fields", f"must be Fields(…), as in Fields(post=['author_id']), not {type(given).__name__}")
    return given.parameters()


def names_of(argument: str, given: object, listed: Collection[str] = ()) -> tuple[str, ...]:
    """Returns names given as a comma-separated string, or as an iterable of strings.

    Raises InvalidInput, which names the argument, for a wrong type and for a misspelled name.
    """
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise invalid(argument, f"must be a list of names, not {type(given).__name__}")
    names: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise invalid(argument, f"must contain strings, not {type(text).__name__}")
        names += filter(None, map(str.strip, str.__str__(text).split(",")))
    faults = Faults()
    for name in names:
        if name not in listed and (meant := near_name(name, tuple(listed))) is not None:
            faults.append(invalid(argument, f"has no name {name!r}: did you mean {meant!r}?"))
    faults.refuse()
    return tuple(names)


MAX_IDS: Final = 200
"""The maximum number of ids in a filter."""

Count = Annotated[int, Ge(1), Le(1_000)]
SortBy = Annotated[str, Pattern(r"[a-z_]+-(asc|desc)", "must be an attribute with -asc or -desc, like created_at-desc")]
if TYPE_CHECKING:
    Id = AnyId
else:
    Id = Annotated[
        str, IsId(), Pattern(r"[^,\s]+", "must be an id: not empty, and without the commas that separate ids")
    ]
Ids = Annotated[ListOf[Id], MinLen(1), MaxLen(MAX_IDS)]
Element = Annotated[str, Pattern(r"[^,\s]+", "must not be empty or contain spaces or commas")]
"""An element of a list that is sent joined with commas."""
MAX_LONG: Final = 2**63 - 1
Long = Annotated[str, WholeText(MAX_LONG)] | Annotated[int, Ge(0), Le(MAX_LONG)]


class CursorQuery(TypedDict, total=False):
    """The position in a collection."""

    cursor: str
    """The `next_cursor` of the previous page. A Pager sends it automatically."""


class CountQuery(CursorQuery, total=False):
    """The position and page size in a collection."""

    count: Count
    """The page size, 1 to 1,000; 200 by default."""


class CollectionQuery(CountQuery, total=False):
    """The parameters that most collections have."""

    sort_by: SortBy
    """An attribute with a direction: `created_at-asc`, `created_at-desc`."""
    with_deleted: bool
    """Include deleted records."""
    with_total_count: bool
    """Add the total number to the first page. Such reads are limited to 200 per 15 minutes."""


class RecordQuery(TypedDict, total=False):
    """The parameters for reading one record."""

    with_deleted: bool
    """Return the record even if it is deleted."""


def total_or_cursor(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    """Yields a violation if a total count is combined with a cursor."""
    if data.get("with_total_count") and "cursor" in data:
        yield BrokenRule(path="with_total_count", reason="cannot be combined with cursor", code="EXCLUSIVE_PARAMETERS")


TOTAL_OR_CURSOR: Final = Conditions(total_or_cursor)
"""The rule for all queries that have both parameters."""


MAX_LOOKUP_IDS: Final = 100

MaxResults = Annotated[int, Ge(5), Le(100)]
"""The page size. The bounds are assumed, because none are documented."""


class PostsLookup(FieldParameters):
    """Parameters for reading posts by id."""

    ids: Annotated[tuple[AnyId, ...], MinLen(1), MaxLen(MAX_LOOKUP_IDS)]


PostId = Annotated[str, IsId(), Pattern("[0-9]{1,19}", "must be 1 to 19 digits")]
ExcludedPosts = Literal["replies", "retweets"]


class UserPosts(FieldParameters, total=False):
    """A page of a user's posts. The service publishes the filters but does not document them."""

    max_results: MaxResults
    pagination_token: str
    start_time: datetime.datetime
    end_time: datetime.datetime
    since_id: PostId
    until_id: PostId
    exclude: tuple[ExcludedPosts, ...]


class OpenPage(TypedDict, total=False):
    """Paging parameters for a collection whose parameters are undocumented."""

    max_results: int
    pagination_token: str
    extra: Any


class RulesChangeQuery(TypedDict, total=False):
    """Options of a rules change: `dry_run` only tests the change."""

    dry_run: bool


NewsSearch = TypedDict(
    "NewsSearch",
    {"query": Required[str], "news.fields": tuple[str, ...], "max_results": int, "pagination_token": str, "extra": Any},
    total=False,
)
"""Parameters for searching trending stories."""

NewsStoryQuery = TypedDict("NewsStoryQuery", {"news.fields": tuple[str, ...], "extra": Any}, total=False)
"""Parameters for reading one story."""

BackfillMinutes = Annotated[int, Ge(1), Le(5)]
"""How far back a stream starts. The parameter and its bounds are assumed, because they are not documented."""


class PostStreamQuery(FieldParameters, total=False):
    """Parameters of the filtered stream."""

    backfill_minutes: BackfillMinutes
    extra: Any


class ActivityStreamQuery(TypedDict, total=False):
    """Parameters of the activity stream."""

    backfill_minutes: BackfillMinutes
    extra: Any
