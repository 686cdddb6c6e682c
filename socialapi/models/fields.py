"""Field selection: what a request asks for beyond the default fields (platform documentation, section 2.6)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, TypedDict, get_args

import attrs

from socialapi.errors import InvalidInput
from socialapi.models.spelling import near_name

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
    "text",
]
UserField = Literal[
    "affiliation",
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
"""The six parameters as they are sent, each a comma-separated list."""

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
"""The names that are known. Those of polls and places are not documented."""

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
"""By expansion, the fields that say which of the included objects belongs to what."""


@attrs.frozen(kw_only=True)
class Fields:
    """Fields to select, by kind of object, and related objects to include.

        Fields(post=["author_id", "created_at"], user=["verified"], expansions=["author_id"])

    One name is a list of one, and a text may hold several separated by commas. An expansion also asks for the field
    that joins it: `expansions=["author_id"]` brings each post's `author_id` along. The known names are suggested while
    typing. Raises InvalidInput for a name that is nearly a known one; other names are sent as they are, since the
    documentation does not show whole catalogues.
    """

    post: Sequence[PostField | str] = ()
    user: Sequence[UserField | str] = ()
    media: Sequence[MediaField | str] = ()
    poll: Sequence[str] = ()
    place: Sequence[str] = ()
    expansions: Sequence[Expansion | str] = ()

    def __attrs_post_init__(self) -> None:
        for kind in _PARAMETERS:
            names = names_of(f"Fields.{kind}", getattr(self, kind), _LISTED.get(kind, ()))
            object.__setattr__(self, kind, names)

    def parameters(self) -> dict[str, tuple[str, ...]]:
        """The query parameters, without those that select nothing."""
        selected = {kind: [*getattr(self, kind)] for kind in _PARAMETERS}
        for expansion in self.expansions:
            for kind, names in _JOINED_BY.get(expansion, {}).items():
                selected[kind] += names
        return {_PARAMETERS[kind]: tuple(dict.fromkeys(names)) for kind, names in selected.items() if names}


def selected_by(fields: Fields) -> dict[str, tuple[str, ...]]:
    """The query parameters of what is given as `fields`. Raises InvalidInput for anything but `Fields`."""
    given: object = fields
    if not isinstance(given, Fields):
        raise InvalidInput(f"fields must be Fields(…), as in Fields(post=['author_id']), not {type(given).__name__}")
    return given.parameters()


def names_of(argument: str, given: object, listed: Collection[str] = ()) -> tuple[str, ...]:
    """Names given as a comma-separated text, or as a list (or other iterable) of texts.

    Raises InvalidInput, which names the argument, for anything else and for a name that is nearly a listed one.
    """
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise InvalidInput(f"{argument} must be a list of names, not {type(given).__name__}")
    names: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise InvalidInput(f"{argument} must hold texts, not {type(text).__name__}")
        names += filter(None, map(str.strip, str.__str__(text).split(",")))
    for name in names:
        if name not in listed and (meant := near_name(name, tuple(listed))) is not None:
            raise InvalidInput(f"{argument} has no name {name!r}: did you mean {meant!r}?")
    return tuple(names)
