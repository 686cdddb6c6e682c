"""Whether a filtered-stream rule can be read at all. What its operators mean is not checked here."""

import itertools
import re
from typing import Final

_PIECE: Final = re.compile(r'"[^"]*"|[()]|[^\s()"]+|"')


def fault_of(rule: str) -> str | None:
    """What is wrong with the rule, or None."""
    pieces = _PIECE.findall(rule)
    if not pieces:
        return "the rule is empty"
    if '"' in pieces:
        return "a quotation mark has no partner"
    if (problem := _balance(pieces)) is not None:
        return problem
    pairs = itertools.pairwise(["(", *pieces, ")"])
    return next((problem for pair in pairs if (problem := _between(*pair)) is not None), None)


def _between(before: str, piece: str) -> str | None:
    """What is wrong with two neighbours; the rule as a whole stands in parentheses."""
    if before == "(" and piece == ")":
        return "parentheses are empty"
    if piece == "OR" and before in ("(", "OR"):
        return "OR has nothing before it"
    if before == "OR" and piece == ")":
        return "OR has nothing behind it"
    return None


def _balance(pieces: list[str]) -> str | None:
    depth = 0
    for piece in pieces:
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if depth < 0:
            return "a closing parenthesis has no partner"
    return "an opening parenthesis has no partner" if depth else None
