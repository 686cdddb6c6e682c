"""Filtered-stream rules (platform documentation, sections 4.1 and 8)."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import attrs
from annotated_types import MaxLen, MinLen

from socialapi.models.model import Model
from socialapi.models.rules import AnyId
from socialapi.problems import BrokenRule
from socialapi.unset import UNSET, Unset

MAX_RULE_LENGTH: Final = 2_048
MAX_RULES: Final = 25_000
"""How many rules a project may have (platform section 8)."""


@attrs.define(kw_only=True)
class StreamRule(Model):
    """A rule of the app: posts that match `value` are delivered, marked with `tag`."""

    value: str
    id: str | None = None
    tag: str | None = None


@attrs.define
class RuleDraft:
    """A rule to add."""

    value: Annotated[str, MinLen(1), MaxLen(MAX_RULE_LENGTH)]
    tag: str | Unset = UNSET


@attrs.define(kw_only=True)
class RuleIds:
    """The rules to delete."""

    ids: Annotated[tuple[AnyId, ...], MinLen(1)]


@attrs.define(kw_only=True)
class RulesChange:
    """Rules to add, or rules to delete."""

    add: Annotated[tuple[RuleDraft, ...], MinLen(1)] | Unset = UNSET
    delete: RuleIds | Unset = UNSET

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """One of them, and not both."""
        if "add" not in data and "delete" not in data:
            yield BrokenRule(path="add", reason="is required where nothing is deleted", code="MISSING_PARAMETER")
        elif "add" in data and "delete" in data:
            yield BrokenRule(path="delete", reason="cannot go with add", code="EXCLUSIVE_PARAMETERS")


@attrs.define(kw_only=True)
class RulesSummary(Model):
    """How many rules a change touched."""

    created: int | None = None
    not_created: int | None = None
    valid: int | None = None
    invalid: int | None = None
    deleted: int | None = None
    not_deleted: int | None = None


def summary_of(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of `meta` that counts the change."""
    found = meta.get("summary")
    return found if isinstance(found, Mapping) else {}
