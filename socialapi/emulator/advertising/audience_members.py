"""The members of audiences and lists, and a checksum to compare them."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

Times = tuple[float, float]
"""When an identifier takes effect and when it expires, in epoch seconds."""

SLICE: Final = 5_000
"""Identifiers looked at in one go: a few milliseconds, so that a walk through millions does not hold the loop."""


class Members:
    """A set of (kind, value) identifiers. An identifier is in force while `effective_at <= now <
    expires_at`.

    Millions of them fit into memory, because each is one dictionary entry: the members of an
    operation share its times.
    """

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[str, Times]] = {}

    def update(self, users: Iterable[Mapping[str, Iterable[str]]], times: Times) -> None:
        """Add each identifier of the users, or give it new times."""
        by_kind = self._by_kind
        for user in users:
            for kind, values in user.items():
                held = by_kind.get(kind)
                if held is None:
                    held = by_kind[kind] = {}
                for value in values:
                    held[value] = times

    def delete(self, users: Iterable[Mapping[str, Iterable[str]]]) -> None:
        """Remove each identifier of the users; removing one that is not there is no error."""
        for user in users:
            for kind, values in user.items():
                held = self._by_kind.get(kind, {})
                for value in values:
                    held.pop(value, None)

    @property
    def held(self) -> int:
        """How many identifiers are kept, those included that are not in force yet or any more."""
        return sum(map(len, self._by_kind.values()))

    def slices(self, now: float) -> Iterator[list[tuple[str, str]]]:
        """What is in force, in lists of at most `SLICE`; what is added after the start is not seen."""
        snapshot = [(kind, list(held.items())) for kind, held in self._by_kind.items()]
        for kind, items in snapshot:
            for start in range(0, len(items), SLICE):
                yield [(kind, value) for value, (begins, ends) in items[start : start + SLICE] if begins <= now < ends]

    def count(self, now: float) -> int:
        """How many identifiers are in force."""
        return sum(len(pairs) for pairs in self.slices(now))

    def in_force(self, now: float) -> set[tuple[str, str]]:
        """All identifiers in force."""
        return {pair for each in self.slices(now) for pair in each}


class Checksum:
    """The number of identifiers and an order-independent checksum, to compare sets without listing
    them.

    The checksum is the XOR, over all members, of the first 8 bytes of SHA-256 of `kind:value` in
    UTF-8, written as 16 hexadecimal digits. That of the empty set is all zeros.
    """

    def __init__(self) -> None:
        self.count: int = 0
        self._sum = 0

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Take in (kind, value) pairs that were not taken in before."""
        for kind, value in pairs:
            self.count += 1
            self._sum ^= int.from_bytes(hashlib.sha256(f"{kind}:{value}".encode()).digest()[:8])

    def __str__(self) -> str:
        return f"{self._sum:016x}"
