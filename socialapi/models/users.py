"""Users."""

import datetime
from typing import Literal

import attrs

from socialapi.models.model import Model
from socialapi.models.posts import Entities


@attrs.define(kw_only=True)
class UserEntities(Model):
    """The entities in a user's profile: in the URL and in the description."""

    url: Entities | None = None
    description: Entities | None = None


@attrs.define(kw_only=True)
class UserMetrics(Model):
    """The public metrics of a user."""

    followers_count: int | None = None
    following_count: int | None = None
    tweet_count: int | None = None
    listed_count: int | None = None


@attrs.define(kw_only=True)
class Affiliation(Model):
    """The organizations that a user belongs to. `user_id` has been an array since 2025-02-18."""

    user_id: tuple[str, ...] = ()


@attrs.define(kw_only=True)
class User(Model):
    """A user. Fields other than `id`, `name` and `username` are selected with `Fields(user=…)`.

    `confirmed_email` is returned only for the user's own OAuth 2.0 token with the scope `users.email`.
    """

    id: str
    name: str | None = None
    username: str | None = None
    affiliation: Affiliation | None = None
    confirmed_email: str | None = attrs.field(default=None, repr=False)
    connection_status: tuple[Literal["following", "followed_by", "muting", "blocking"] | str, ...] = ()
    created_at: datetime.datetime | None = None
    description: str | None = None
    entities: UserEntities | None = None
    location: str | None = None
    pinned_tweet_id: str | None = None
    profile_image_url: str | None = None
    protected: bool | None = None
    public_metrics: UserMetrics | None = None
    subscription_type: str | None = None
    url: str | None = None
    verified: bool | None = None
    verified_type: str | None = None
