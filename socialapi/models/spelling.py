"""Names that are nearly a known one: slips of the pen, which would otherwise be sent and silently mean nothing."""

import functools
import re
from typing import Final

_SHORT: Final = 4
_LONG: Final = 8
_LONGEST: Final = 64


@functools.lru_cache(maxsize=1024)
def near_name(name: str, known: tuple[str, ...]) -> str | None:
    """The known name that was meant, or None.

    It is the same without signs and capitals, or, unless the name is short, with a letter (in long names two) more,
    less, other or swapped. A known name is not looked up: ask only about others.
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
    """How many letters have to be added, left out, replaced or swapped with the next one."""
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
