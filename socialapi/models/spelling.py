"""Finds misspelled names, which the service would otherwise silently ignore."""

import difflib
import functools
import re
from typing import Final

_SHORT: Final = 4
_LONG: Final = 8
_LONGEST: Final = 64


@functools.lru_cache(maxsize=1024)
def near_name(name: str, known: tuple[str, ...]) -> str | None:
    """Returns the known name that the caller probably meant, or None.

    Names match if they are equal without punctuation and case. Names of four letters or more also
    match if one letter is added, missing, replaced or moved; long names match with two such
    letters. Pass only unknown names.
    """
    bare = _bare(name)
    if len(bare) > _LONGEST:
        return None
    edits, meant = min(((_edits(bare, _bare(each)), each) for each in known), default=(len(bare), ""))
    allowed = 0 if len(bare) < _SHORT else 1 if len(bare) < _LONG else 2
    return meant if edits <= allowed and meant else None


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _edits(one: str, other: str) -> int:
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return max(len(one), len(other)) - sum(block.size for block in blocks)
