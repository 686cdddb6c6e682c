"""Counts duplicate rows in bounded memory."""

from collections.abc import Hashable
from typing import Final

MAX_KEPT: Final = 200_000


class DuplicateCounter:
    """Counts duplicate rows: exactly up to `most` distinct rows, and approximately beyond that.

    The estimate counts the duplicates of a sample, the rows whose hash ends in a number of zero bits, and scales the
    count up. The sample shrinks as rows are added. This is accurate for few and for many duplicates, unlike an
    estimate of the number of distinct rows.
    """

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._repeats: dict[int, int] = {}
        self._mask = 0

    def add(self, row: Hashable) -> None:
        """Adds one more row."""
        key = hash(row)
        if key & self._mask:
            return
        self._repeats[key] = self._repeats.get(key, -1) + 1
        while len(self._repeats) > self._most:
            self._mask = 2 * self._mask + 1
            self._repeats = {key: count for key, count in self._repeats.items() if not key & self._mask}

    @property
    def is_exact(self) -> bool:
        """Whether every row was compared."""
        return not self._mask

    @property
    def duplicates(self) -> int:
        """The number of rows that repeat an earlier one."""
        return sum(self._repeats.values()) * (self._mask + 1)
