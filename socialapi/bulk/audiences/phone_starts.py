"""Finds leading digits that determine how phone numbers are read, and registers them with the C extension.

A number is read with the patterns of its numbering plan. If the result depends only on the leading digits, all numbers
of the same length with these leading digits are read alike, so trying one of them is enough.
"""

import functools
import re
import time
from collections.abc import Sequence
from typing import Final

from socialapi._speedups import add_phone_start
from socialapi.bulk.audiences.cleanup import is_plain_phone_number
from socialapi.bulk.audiences.phone_numbers import (
    PUNCTUATION,
    PhoneFormat,
    Plan,
    home_plan,
    number_in,
    plan_of,
    valid_patterns,
)

START_DIGITS: Final = 4
MAX_DIGITS: Final = 31
MOST_LOOKED_AT: Final = 100_000
LOADING_SECONDS: Final = 0.02
"""The maximum time that `load_starts` takes before other tasks can run. The next call continues."""
FEWEST_WORTH_LOADING: Final = 64
"""The minimum number of undecided cells for which loading national numbers saves time."""
_NATIONAL_FORMATS: Final[tuple[PhoneFormat, ...]] = ("auto", "national")
_DIGITS: Final = "0123456789"
_ELEMENT: Final = re.compile(r"\((?:\?:)?|\[[0-9-]+\]|\\d|[0-9]|\$")
_COUNT: Final = re.compile(r"\?|(?:\{([0-9]+)(?:,([0-9]+))?\})?")
# An exit code, or the Mexican prefix that `number_in` drops.
_has_odd_start: Final = re.compile("00|011|521").match


class _Node:
    """A state of an automaton. A move to another state reads one of several digits, or none."""

    def __init__(self) -> None:
        self.moves: list[tuple[str, _Node]] = []


States = frozenset[_Node]


class _Automaton:
    """An automaton that matches digits like a pattern of the library. `$` matches anywhere."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._steps: dict[tuple[States, str], States] = {}
        self._outcomes: dict[tuple[States, int], frozenset[bool]] = {}
        begin = _Node()
        self._end = self._alternatives(begin)
        self._begin = self._reached({begin})

    def _alternatives(self, begin: _Node) -> _Node:
        end, is_last = _Node(), False
        while not is_last:
            self._sequence(begin).moves.append(("", end))
            is_last = not self._pattern.startswith("|", self._at)
            self._at += 1
        return end

    def _sequence(self, node: _Node) -> _Node:
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            element, last = self._at, _Node()
            self._element(_Node())
            count = _COUNT.match(self._pattern, self._at)
            assert count is not None
            fewest, most = (0, 1) if count[0] == "?" else (int(count[1] or 1), int(count[2] or count[1] or 1))
            for number in range(most):  # one copy for each possible occurrence of the element
                if number >= fewest:
                    node.moves.append(("", last))
                self._at = element
                node = self._element(node)
            node.moves.append(("", last))
            node, self._at = last, count.end()
        return node

    def _element(self, begin: _Node) -> _Node:
        found = _ELEMENT.match(self._pattern, self._at)
        if found is None:
            raise ValueError(f"the pattern {self._pattern} has unknown elements")
        self._at = found.end()
        if found[0].startswith("("):
            inner = _Node()
            begin.moves.append(("", inner))
            return self._alternatives(inner)
        end = _Node()
        begin.moves.append(("" if found[0] == "$" else "".join(re.findall(found[0], _DIGITS)), end))
        return end

    def _reached(self, nodes: set[_Node]) -> States:
        waiting = list(nodes)
        while waiting:
            new = {node for digits, node in waiting.pop().moves if not digits} - nodes
            nodes |= new
            waiting += new
        return frozenset(node for node in nodes if node is self._end or any(digits for digits, _ in node.moves))

    def _step(self, states: States, digit: str) -> States:
        if (states, digit) not in self._steps:
            moves = (move for state in states for move in state.moves)
            self._steps[states, digit] = self._reached({node for digits, node in moves if digit in digits})
        return self._steps[states, digit]

    def after(self, digits: str) -> States:
        """Returns the states after reading these digits; empty if no continuation can match."""
        return functools.reduce(self._step, digits, self._begin)

    def outcomes(self, states: States, more: int) -> frozenset[bool]:
        """Returns the possible results of reading `more` further digits from these states: True for a match, False, or
        both if the result depends on the digits.
        """
        if not states or not more:
            return frozenset({self._end in states})
        if (states, more) not in self._outcomes:
            following = {self._step(states, digit) for digit in _DIGITS}
            self._outcomes[states, more] = frozenset[bool]().union(
                *(self.outcomes(each, more - 1) for each in following)
            )
        return self._outcomes[states, more]


_automaton = functools.cache(_Automaton)


def _outcomes(pattern: str, start: str, length: int) -> frozenset[bool]:
    """Returns whether a pattern matches strings of this length that begin with `start`: True, False, or both if that
    depends on the rest of the string.
    """
    found = _automaton(pattern)
    return found.outcomes(found.after(start), length - len(start))


def _validity(prefix: str, start: str, length: int) -> frozenset[bool]:
    """Returns whether national numbers of this length that begin with `start` are valid: True, False, or both if that
    depends on the other digits.
    """
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE  # most jobs have no phone numbers

    outcomes = list[frozenset[bool]]()
    for region in COUNTRY_CODE_TO_REGION_CODE[int(prefix)]:
        general, types = valid_patterns(region, prefix)
        patterns = dict.fromkeys(f"(?:{each})" for each, lengths in types if not lengths or length in lengths)
        both = [_outcomes(general, start, length), _outcomes("|".join(patterns), start, length)] if patterns else []
        outcomes.append(frozenset({False}) if not both or {False} in both else both[0] | both[1])
        if outcomes[-1] == {True}:  # the main region of the calling code is the first
            return outcomes[-1]
    return frozenset[bool]().union(*outcomes)


def _is_settled(plan: Plan, start: str, digits: str, *, if_valid: bool = False) -> bool:
    """Returns whether `plan.e164` treats all numbers of this length that begin with `start` alike. It must strip the
    same digits, and return None only for numbers that the library also rejects (with `if_valid`, only for invalid
    numbers).
    """
    strip, _, national = plan.patterns
    if strip and _automaton(strip).after(start):
        return False
    match = plan.strip_prefix(digits) if plan.strip_prefix is not None else None
    if match is None:
        return True
    if plan.e164(digits) is None and if_valid:
        rests = ((start[size:], len(digits) - size) for size in (0, match.end()))
        return match.lastindex is None and all(_validity(plan.prefix, *each) == {False} for each in rests)
    if plan.e164(digits) is None:
        return match.lastindex is None and len(digits) < min(length for length in plan.possible if length > 0)
    return _outcomes(national, start[match.end() :], len(digits) - match.end()) == {True}


def _is_read_alike(digits: str, start: str, region: str) -> bool:
    """Returns whether all numbers of this length that begin with `start` and have no plus sign are valid in the region
    and treated alike by `number_in`.
    """
    home, other = home_plan(region), plan_of(digits)
    code = 0 if other is None else len(other.prefix) - 1
    may_be_abroad = home.starts_abroad is not None and (
        home.starts_abroad(digits) or _automaton(home.patterns[1]).after(start)
    )
    if may_be_abroad or not _is_settled(home, start, digits):
        return False
    if other is not None and not _is_settled(other, start[code:], digits[code:], if_valid=True):
        return False
    if start.startswith(home.prefix[1:]) and home.patterns[0] and _automaton(home.patterns[0]).after(start[code:]):
        return False
    if home.trunk and start.startswith(home.trunk):
        size = len(home.trunk)
        return _validity(home.prefix, start[size:], len(digits) - size) == {True}
    number = None if other is None else other.e164(digits[code:])
    if other is not None and number is not None:
        size = len(number) - len(other.prefix)
        if len(_validity(other.prefix, start[len(digits) - size :], size)) > 1:
            return False
    return _validity(home.prefix, start, len(digits)) == {True}


def _is_settled_abroad(digits: str, start: str) -> bool:
    plan = plan_of(digits)
    code = 0 if plan is None else len(plan.prefix) - 1
    return plan is not None and plan.e164(digits[code:]) is not None and _is_settled(plan, start[code:], digits[code:])


def _has_one_start(prefix: str, start: str, length: int) -> bool:
    """Returns whether `number_in` leaves numbers of this length that begin with `prefix` and `start` as they are,
    without removing a second country code or a 0. The prefix is a plus sign, with or without the country code.
    """
    plan = plan_of(prefix[1:] + start)
    assert plan is not None  # one of the numbers was read
    code, skipped = plan.prefix[1:], len(plan.prefix) - len(prefix)
    start, length = start[skipped:], length - skipped
    if start.startswith("0"):
        return plan.begins_with_zero
    if not code.startswith(start) and not start.startswith(code):
        return True
    rest = length - len(code)
    is_short = rest < min(each for each in plan.possible if each > 0)
    return is_short or (rest < plan.shortest_mobile and _validity(plan.prefix, start, length) == {True})


_looked_at: Final = set[tuple[str, str, int]]()
"""The regions, leading digits and lengths that `load_starts` has already examined."""


def load_starts(cells: Sequence[object], region: str | None) -> bool:
    """Registers new leading digits from these cells with the extension. Returns whether the extension can now read more
    cells.
    """
    has_new, until = False, time.monotonic() + LOADING_SECONDS
    is_worth_it = region is not None and len(cells) >= FEWEST_WORTH_LOADING
    for cell in cells:
        text = cell.strip() if isinstance(cell, str) and len(cell) <= MAX_DIGITS else ""
        if not is_plain_phone_number(text) or not (text[0] == "+" or is_worth_it):
            continue
        where, digits = ("", text[1:]) if text[0] == "+" else (region or "", text)
        digits = digits.translate(PUNCTUATION)
        home = home_plan(where) if where else None
        trunk = home.trunk if home is not None and len(home.trunk) == 1 else ""
        skipped = len(trunk) if trunk and digits.startswith(trunk) else 0
        start = digits[: skipped + START_DIGITS]
        if (where, start, len(digits)) in _looked_at or len(digits) <= START_DIGITS:
            continue
        if len(_looked_at) >= MOST_LOOKED_AT:
            break
        _looked_at.add((where, start, len(digits)))
        prefix = "+" if home is None else home.prefix
        is_alike = _is_read_alike(digits, start, where) if where else _is_settled_abroad(digits, start)
        if is_alike and not _has_odd_start(digits) and _has_one_start(prefix, start[skipped:], len(digits) - skipped):
            read = {number_in(text, where or None, each) for each in _NATIONAL_FORMATS}
            if read == {(prefix + digits[skipped:], "")}:
                add_phone_start(where, prefix, trunk, start, len(digits))
                has_new = True
        if time.monotonic() > until:
            break
    return has_new
