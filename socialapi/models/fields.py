"""Field selection: what a request asks for beyond the default fields (platform documentation, section 2.6)."""

from collections.abc import Sequence
from typing import Final, Literal, TypedDict

import attrs

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
    "in_reply_to_user_id",
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


@attrs.frozen(kw_only=True)
class Fields:
    """Fields to select, by kind of object, and related objects to include.

        Fields(post=["author_id", "created_at"], user=["verified"], expansions=["author_id"])

    The known names are suggested while typing; others are sent as they are.
    """

    post: Sequence[PostField | str] = ()
    user: Sequence[UserField | str] = ()
    media: Sequence[MediaField | str] = ()
    poll: Sequence[str] = ()
    place: Sequence[str] = ()
    expansions: Sequence[Expansion | str] = ()

    def parameters(self) -> dict[str, tuple[str, ...]]:
        """The query parameters, without those that select nothing."""
        given = ((parameter, getattr(self, kind)) for kind, parameter in _PARAMETERS.items())
        return {parameter: names for parameter, value in given if value != () and (names := names_of(value))}


def names_of(value: str | Sequence[str]) -> tuple[str, ...]:
    """Names given as a sequence, or as a comma-separated text."""
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)
