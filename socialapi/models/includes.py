"""The related objects of a page, with all their models."""

from typing import ClassVar

import attrs

from socialapi.models.model import Model
from socialapi.models.posts import Media, Place, Poll, Post
from socialapi.models.undecoded import Undecoded
from socialapi.models.users import User


@attrs.define(kw_only=True)
class Includes(Model):
    """Related objects that an expansion requested, matched by id."""

    IS_READ_IN_PARTS: ClassVar = True

    users: tuple[User, ...] = ()
    tweets: tuple[Post, ...] = ()
    all_media: tuple[Media, ...] = attrs.field(default=(), metadata={"name": "media"})
    polls: tuple[Poll, ...] = ()
    places: tuple[Place, ...] = ()
    undecoded: tuple[Undecoded, ...] = attrs.field(init=False, default=(), eq=False, repr=False)
    _users_by_id: dict[str, User] | None = attrs.field(init=False, default=None, eq=False, repr=False)
    _posts_by_id: dict[str, Post] | None = attrs.field(init=False, default=None, eq=False, repr=False)
    _media_by_key: dict[str, Media] | None = attrs.field(init=False, default=None, eq=False, repr=False)

    def author(self, post: Post) -> User | None:
        """Returns the author of the post; None if it was not included."""
        if self._users_by_id is None:
            self._users_by_id = {user.id: user for user in self.users}
        return self._users_by_id.get(post.author_id or "")

    def media(self, post: Post) -> tuple[Media, ...]:
        """Returns the included media of the post, in the post's order."""
        if self._media_by_key is None:
            self._media_by_key = {each.media_key: each for each in self.all_media}
        keys = post.attachments.media_keys if post.attachments else ()
        found = (self._media_by_key.get(key) for key in keys)
        return tuple(each for each in found if each is not None)

    def referenced(self, post: Post) -> tuple[Post, ...]:
        """Returns the included posts that the post refers to, in the post's order."""
        if self._posts_by_id is None:
            self._posts_by_id = {each.id: each for each in self.tweets}
        found = (self._posts_by_id.get(reference.id) for reference in post.referenced_tweets)
        return tuple(each for each in found if each is not None)
