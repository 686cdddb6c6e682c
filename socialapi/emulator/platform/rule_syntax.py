"""The pieces of a filtered-stream rule, and whether they make one. What they mean is in `rule_matching`."""

import itertools
import re
from collections.abc import Sequence
from typing import Final

_PIECE: Final = re.compile(r'"[^"]*"|[()]|[^\s()"]+|"')


def pieces_of(rule: str) -> list[str]:
    """Parentheses, quoted phrases with their marks, and what else stands between spaces; `OR` is one of the last."""
    return _PIECE.findall(rule)


def fault_of(rule: str) -> str | None:
    """What is wrong with the rule, or None."""
    pieces = pieces_of(rule)
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


def _balance(pieces: Sequence[str]) -> str | None:
    depth = 0
    for piece in pieces:
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if depth < 0:
            return "a closing parenthesis has no partner"
    return "an opening parenthesis has no partner" if depth else None
