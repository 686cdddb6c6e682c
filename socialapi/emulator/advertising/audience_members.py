"""The members of audiences and lists, and a checksum to compare them."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

Period = tuple[float, float]
"""When a membership takes effect and when it expires, in epoch seconds."""
Times = tuple[float, ...]
"""Consecutive periods, as their starts and ends in ascending order. Most identifiers have one period."""
Users = Iterable[Mapping[str, Iterable[str]]]

SLICE: Final = 5_000
"""The number of identifiers to process before other requests are served: a few milliseconds of work."""


class Members:
    """A set of (kind, value) identifiers, each with its periods of membership.

    An operation determines the membership of its identifiers from its effective time on, until a later operation
    changes it. Millions of identifiers fit into memory, because each is one dictionary entry: all members added by an
    operation share the same times.
    """

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[str, Times]] = {}

    def update(self, users: Users, times: Period, now: float) -> None:
        """Adds every identifier of the users as a member for a period. From its start, the new period replaces the
        identifier's existing periods.
        """
        by_kind = self._by_kind
        is_later = times[0] > now
        for user in users:
            for kind, values in user.items():
                held = by_kind.get(kind)
                if held is None:
                    held = by_kind[kind] = {}
                for value in values:
                    held[value] = (*_before(held.get(value, ()), times[0], now), *times) if is_later else times

    def delete(self, users: Users, effective_at: float, now: float) -> None:
        """Removes each identifier of the users. Removing an unknown identifier is not an error."""
        for user in users:
            for kind, values in user.items():
                held = self._by_kind.get(kind, {})
                for value in values:
                    times = held.pop(value, None)
                    if times is not None and (left := _before(times, effective_at, now)):
                        held[value] = left

    @property
    def held(self) -> int:
        """The number of stored identifiers, including past and future members."""
        return sum(map(len, self._by_kind.values()))

    def slices(self, now: float) -> Iterator[list[tuple[str, str]]]:
        """Yields the current members in lists of at most `SLICE`. Identifiers added after the start are not included."""
        snapshot = [(kind, list(held.items())) for kind, held in self._by_kind.items()]
        for kind, items in snapshot:
            for start in range(0, len(items), SLICE):
                yield [(kind, value) for value, times in items[start : start + SLICE] if is_member(times, now)]

    def in_force(self, now: float) -> set[tuple[str, str]]:
        """Returns all current members."""
        return {pair for each in self.slices(now) for pair in each}


def is_member(times: Times, now: float) -> bool:
    """Returns whether one of the periods has started and not ended yet."""
    return bisect_right(times, now) % 2 == 1


def _before(times: Times, moment: float, now: float) -> Times:
    """Returns the parts of the periods that are before a moment, or an empty tuple if all of them are over."""
    if moment <= now:
        return ()
    left = times[: bisect_left(times, moment)]
    if len(left) % 2:
        left = (*left, moment)
    return left if left and left[-1] > now else ()


class Checksum:
    """The number of items in a set and an order-independent checksum, to compare sets without listing them.

    The checksum is the XOR of the first 8 bytes of each item's SHA-256, written as 16 hexadecimal digits. For an empty
    set it is all zeros. A member of an audience is hashed as `kind:value` in UTF-8, and a product as the output of
    `content_of`.
    """

    def __init__(self) -> None:
        self.count: int = 0
        self._sum = 0

    def add(self, contents: Iterable[bytes]) -> None:
        """Adds ids. None of them may have been added before."""
        for content in contents:
            self.count += 1
            self._sum ^= int.from_bytes(hashlib.sha256(content).digest()[:8])

    def __str__(self) -> str:
        return f"{self._sum:016x}"
