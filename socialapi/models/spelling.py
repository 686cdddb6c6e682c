"""Finds misspelt names, which the service would otherwise silently ignore."""

import functools
import re
from typing import Final

_SHORT: Final = 4
_LONG: Final = 8
_LONGEST: Final = 64


@functools.lru_cache(maxsize=1024)
def near_name(name: str, known: tuple[str, ...]) -> str | None:
    """Returns the known name that was probably meant, or None.

    Names match if they are equal without punctuation and case. Names of four letters or more also
    match with one letter added, missing, replaced or swapped, and long names with two. Pass only
    names that are not known.
    """
    bare = _bare(name)
    if len(bare) > _LONGEST:
        return None
    by_distance = [(_distance(bare, _bare(each)), each) for each in known]
    nearest, meant = min(by_distance, default=(len(bare), ""))
    allowed = 0 if len(bare) < _SHORT else 1 if len(bare) < _LONG else 2
    return meant if nearest <= allowed and meant else None


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _distance(one: str, other: str) -> int:
    """Returns the edit distance, where swapping two adjacent letters counts as one edit."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        two_before, before, row = before, row, [i]
        for j, against in enumerate(other, start=1):
            costs = [before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != against)]
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                costs.append(two_before[j - 2] + 1)
            row.append(min(costs))
    return row[-1]
