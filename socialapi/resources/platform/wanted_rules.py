"""Bringing the app's filtered-stream rules to those that are wanted (platform documentation, sections 4.1 and 8)."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from socialapi.errors import ApiError, DecodeError, InvalidInput, OutcomeUnknown, ServerError
from socialapi.models.streams import RuleDraft, RulesChange, StreamRule
from socialapi.problems import (
    DuplicateRules,
    InvalidRules,
    NoncompliantRules,
    Problem,
    ResourceNotFound,
    RuleCap,
    ServiceError,
)
from socialapi.wire.request import check

if TYPE_CHECKING:
    from socialapi.resources.platform.filtered_stream import FilteredStream

MOST_AT_ONCE: Final = 100
"""How many rules are added or deleted in one request."""
MOST_ROUNDS: Final = 5
"""How often the rules are looked at, while others change them, too."""

_OF_RULES: Final = (DuplicateRules, InvalidRules, NoncompliantRules, RuleCap)
_MAY_PASS: Final = (DuplicateRules, RuleCap)
"""Why a rule is refused that may be taken once others are gone, or that is there already."""

Key = tuple[str, str]
Refusals = list[Problem | ServiceError]


def wanted_drafts(wanted: Any, now: datetime.datetime) -> dict[Key, RuleDraft]:
    """The rules by value and tag; one that is given twice is one. Raises InvalidInput for what is no rule."""
    given = [wanted] if isinstance(wanted, str | RuleDraft | Mapping) else wanted
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InvalidInput("wanted must be rules, as texts or RuleDraft")
    rules: list[Any] = []
    for number, rule in enumerate(given):
        if not isinstance(rule, str | RuleDraft | Mapping):
            raise InvalidInput(f"wanted[{number}] must be a text or a RuleDraft, not {type(rule).__name__}")
        rules.append({"value": rule} if isinstance(rule, str) else rule)
    shapes = check(RulesChange, {"add": rules}, now=now)["add"] if rules else []
    drafts = [_without_empty_tag(RuleDraft(**shape)) for shape in shapes]
    return {(draft.value, draft.tag or ""): draft for draft in drafts}


@attrs.frozen
class WantedRules:
    """Looks at the rules, adds what is missing and deletes what is not wanted, until nothing is left to do."""

    stream: "FilteredStream"
    drafts: Mapping[Key, RuleDraft]
    remove_others: bool

    async def ensure(self) -> tuple[StreamRule, ...]:
        """All rules as they are then. Raises ApiError for those that are refused, DecodeError for a rule that cannot be
        read where others are to be deleted.
        """
        refused: Refusals = []
        for rounds_left in reversed(range(MOST_ROUNDS)):
            rules = await self._rules()
            present = {_key(rule) for rule in rules}
            missing = [draft for key, draft in self.drafts.items() if key not in present]
            others = self._others(rules) if self.remove_others else []
            if not missing and not others:
                return tuple(rules)
            if refused and missing:
                break
            try:
                refused = await self._change(missing, others)
            except (OutcomeUnknown, ServerError):
                if not rounds_left:
                    raise
        raise _error(refused)

    async def _change(self, missing: Sequence[RuleDraft], others: Sequence[StreamRule]) -> Refusals:
        """Adds, then deletes; the rules that were refused and that nothing was done about."""
        refused = await self._add(missing)
        if not all(isinstance(each, _MAY_PASS) for each in refused):
            raise _error(refused)
        await self._delete(others)
        return [] if others else refused

    def _others(self, rules: Sequence[StreamRule]) -> list[StreamRule]:
        """The rules to be deleted. Raises DecodeError where one of them has no id to delete it by."""
        others = [rule for rule in rules if _key(rule) not in self.drafts]
        if any(rule.id is None for rule in others):
            raise DecodeError("data.id", "is missing, so the rule cannot be deleted")
        return others

    async def _rules(self) -> list[StreamRule]:
        rules: list[StreamRule] = []
        async for page in self.stream.rules().pages():
            for unread in page.undecoded:
                if self.remove_others:
                    raise DecodeError(unread.path, f"{unread.reason}, so the rule cannot be deleted")
            rules += page.data
        return rules

    async def _add(self, drafts: Sequence[RuleDraft]) -> Refusals:
        refused: Refusals = []
        for part in _parts(drafts):
            try:
                refused += (await self.stream.add_rules(part)).errors
            except ApiError as problem:
                if not any(isinstance(each, _OF_RULES) for each in problem.problems):
                    raise
                refused += [*problem.problems, *problem.errors]
        return refused

    async def _delete(self, rules: Sequence[StreamRule]) -> None:
        for part in _parts([rule.id for rule in rules]):
            try:
                await self.stream.delete_rules(part)
            except ApiError as problem:
                if not problem.problems or not all(isinstance(each, ResourceNotFound) for each in problem.problems):
                    raise


def _without_empty_tag(draft: RuleDraft) -> RuleDraft:
    return draft if draft.tag else RuleDraft(draft.value)


def _key(rule: StreamRule) -> Key:
    return rule.value, rule.tag or ""


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + MOST_AT_ONCE] for start in range(0, len(items), MOST_AT_ONCE))


def _error(refused: Refusals) -> ApiError:
    return ApiError(
        200,
        problems=[each for each in refused if isinstance(each, Problem)],
        errors=[each for each in refused if isinstance(each, ServiceError)],
        summary="" if refused else "another process kept changing the rules",
    )
