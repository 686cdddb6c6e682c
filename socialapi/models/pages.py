"""A page of a collection, with what came beside the items (platform sections 2.3 and 2.6, advertising section 4.11)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

import attrs
import orjson

from socialapi.models.model import Model
from socialapi.models.posts import Media, Place, Poll, Post
from socialapi.models.users import User
from socialapi.problems import Problem, ServiceError

T = TypeVar("T")


@attrs.frozen
class Undecoded:
    """Something that arrived and cannot be read by this version: nothing that the service sends is dropped.

    `raw` is what arrived: the bytes of a line or a body, or the decoded JSON of an item of a page. `path` names the
    field at fault, where one is known, and `reason` says what is wrong with it.
    """

    raw: Any = attrs.field(repr=False, hash=False)
    path: str = ""
    reason: str = ""

    @property
    def content(self) -> bytes:
        """What arrived as bytes; an item of a page is written as JSON again."""
        if isinstance(self.raw, bytes):
            return self.raw
        try:
            return orjson.dumps(self.raw)
        except TypeError:  # half of a surrogate pair, or a whole number of more than 64 bits
            return json.dumps(self.raw, default=lambda _: None).encode()


@attrs.define(kw_only=True)
class Includes(Model):
    """Related objects that an expansion asked for, joined back by id and never by position."""

    users: tuple[User, ...] = ()
    tweets: tuple[Post, ...] = ()
    all_media: tuple[Media, ...] = attrs.field(default=(), metadata={"name": "media"})
    polls: tuple[Poll, ...] = ()
    places: tuple[Place, ...] = ()
    undecoded: tuple[Undecoded, ...] = attrs.field(init=False, factory=tuple, eq=False, repr=False)
    _users_by_id: dict[str, User] | None = attrs.field(init=False, default=None, eq=False, repr=False)
    _posts_by_id: dict[str, Post] | None = attrs.field(init=False, default=None, eq=False, repr=False)
    _media_by_key: dict[str, Media] | None = attrs.field(init=False, default=None, eq=False, repr=False)

    def author(self, post: Post) -> User | None:
        """The author of the post; None if it was not included."""
        if self._users_by_id is None:
            self._users_by_id = {user.id: user for user in self.users}
        return self._users_by_id.get(post.author_id or "")

    def media(self, post: Post) -> tuple[Media, ...]:
        """The media of the post, in its order; those that were not included are left out."""
        if self._media_by_key is None:
            self._media_by_key = {each.media_key: each for each in self.all_media}
        keys = post.attachments.media_keys if post.attachments else ()
        found = (self._media_by_key.get(key) for key in keys)
        return tuple(each for each in found if each is not None)

    def referenced(self, post: Post) -> tuple[Post, ...]:
        """The posts that the post refers to, in its order; those that were not included are left out."""
        if self._posts_by_id is None:
            self._posts_by_id = {each.id: each for each in self.tweets}
        found = (self._posts_by_id.get(reference.id) for reference in post.referenced_tweets)
        return tuple(each for each in found if each is not None)


@attrs.define(kw_only=True)
class Page(Generic[T]):
    """One page; iterating over it gives the items of `data`, of this page alone.

    `errors` are the partial errors of a successful answer, `next_token` is None on the last page.
    `undecoded` has the items, and the included objects, that this version cannot read: `data` and `includes` are without
    them. `params` is what an advertising collection says that it was asked for, `total_count` what it counted on demand,
    `extra` the members of the answer that this version does not know.
    """

    data: tuple[T, ...] = ()
    includes: Includes = attrs.field(factory=Includes)
    meta: Mapping[str, Any] = attrs.field(factory=dict)
    errors: tuple[Problem | ServiceError, ...] = ()
    undecoded: tuple[Undecoded, ...] = ()
    next_token: str | None = None
    previous_token: str | None = None
    result_count: int | None = None
    total_count: int | None = None
    params: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    extra: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    _places: tuple[int, ...] | None = attrs.field(default=None, eq=False, repr=False)
    """Where each item of `data` stood in the answer, and then how many items that had; None where all could be read."""

    # No __len__, by which an empty page would be false.
    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    @property
    def next_cursor(self) -> str | None:
        """What the advertising API calls `next_token` (section 4.11)."""
        return self.next_token

    def arrived_before(self, index: int) -> int:
        """How many items arrived up to the one before this index of `data`, also counting those that cannot be read.

        For the length of `data` it is how many arrived at all.
        """
        if self._places is None:
            return min(index, len(self.data))
        if index >= len(self.data):
            return self._places[-1]
        return self._places[index - 1] + 1 if index else 0

    def index_after(self, arrived: int) -> int:
        """The index in `data` of the first item behind so many that arrived."""
        if self._places is None:
            return min(arrived, len(self.data))
        return sum(place < arrived for place in self._places[:-1])
