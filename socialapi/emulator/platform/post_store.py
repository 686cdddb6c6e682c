"""The posts there are: those that are kept, and the timeline that is made up as it is read."""

import itertools
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, overload

import attrs
import orjson

PACKED_POSTS: Final = 100_000
"""How many posts given through the control plane are kept; beyond that the oldest are forgotten."""
_FORGOTTEN_AT_ONCE: Final = 10_000


@attrs.define(kw_only=True)
class PostRecord:
    """A post. `fields` is all that can be shown of it; `shared_with_followers` is asked for when it is created."""

    id: str
    author_id: str
    created_at: float
    fields: dict[str, Any] = attrs.field(repr=False)
    shared_with_followers: bool = False


class Generated(Protocol):
    """Posts of one author that are made up when they are asked for, older than any that is kept."""

    author_id: str

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> int:
        """The id of a post, the oldest first."""

    def record(self, post_id: int) -> PostRecord | None:
        """The post, if it is one of these."""


class Timeline(Sequence[int]):
    """The ids of an author's posts, ascending, so oldest first."""

    def __init__(self, generated: Generated | None = None) -> None:
        self._generated = generated
        self._older = 0 if generated is None else len(generated)
        self.kept: list[int] = []

    def __len__(self) -> int:
        return self._older + len(self.kept)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        if self._generated is not None and position < self._older:
            return self._generated[position]
        return self.kept[position - self._older]


class PostStore:
    """Posts by id and by author. What is changed of a made-up or packed post has to be kept."""

    def __init__(self) -> None:
        self._packed: dict[str, tuple[str, float, bytes]] = {}
        self._kept: dict[str, PostRecord] = {}
        self._timelines: dict[str, Timeline] = {}
        self._generated: Generated | None = None

    def generate(self, generated: Generated) -> None:
        """Begins an author's timeline with posts that are made up."""
        self._generated = generated
        self._timelines[generated.author_id] = Timeline(generated)

    def get(self, post_id: str) -> PostRecord | None:
        """The post, or None if there is none."""
        if (found := self._kept.get(post_id)) is not None:
            return found
        if (packed := self._packed.get(post_id)) is not None:
            author_id, created_at, content = packed
            return PostRecord(id=post_id, author_id=author_id, created_at=created_at, fields=orjson.loads(content))
        if self._generated is None or not (post_id.isascii() and post_id.isdigit() and len(post_id) < 20):
            return None
        return self._generated.record(int(post_id)) if str(int(post_id)) == post_id else None

    def known(self, ids: Iterable[int]) -> list[PostRecord]:
        """The posts with ids that are known to exist."""
        return [found for post_id in ids if (found := self.get(str(post_id))) is not None]

    def timeline(self, author_id: str) -> Timeline:
        """The author's posts; an edited one stands there in its latest version alone."""
        return self._timelines.get(author_id) or Timeline()

    def add(self, record: PostRecord, *, in_place_of: str | None = None) -> None:
        """A new post, the newest of its author; the version that it replaces leaves the timeline."""
        self._kept[record.id] = record
        kept = self._timelines.setdefault(record.author_id, Timeline()).kept
        if in_place_of is not None:
            del kept[bisect_left(kept, int(in_place_of))]
        kept.append(int(record.id))

    def add_packed(self, post_id: str, author_id: str, created_at: float, content: bytes) -> None:
        """A new post as the JSON of its fields, of which many can be kept; the oldest of too many are forgotten."""
        kept = self._timelines.setdefault(author_id, Timeline()).kept
        number = int(post_id)
        if not kept or kept[-1] < number:
            kept.append(number)
        elif self.get(post_id) is None:
            insort(kept, number)
        self._kept.pop(post_id, None)
        self._packed[post_id] = author_id, created_at, content
        if len(self._packed) > PACKED_POSTS:
            self._forget()

    def count(self, record: PostRecord, metric: str) -> None:
        """One more of a public count."""
        record.fields["public_metrics"][metric] += 1
        self.keep(record)

    def keep(self, record: PostRecord) -> None:
        """The post has been changed."""
        self._packed.pop(record.id, None)
        self._kept[record.id] = record

    def _forget(self) -> None:
        gone: dict[str, set[int]] = defaultdict(set)
        for post_id in list(itertools.islice(self._packed, _FORGOTTEN_AT_ONCE)):
            author_id, _, _ = self._packed.pop(post_id)
            gone[author_id].add(int(post_id))
        for author_id, ids in gone.items():
            timeline = self._timelines[author_id]
            timeline.kept = [post_id for post_id in timeline.kept if post_id not in ids]
