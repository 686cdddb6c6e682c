"""Dated changes of the service that a caller would trip over (platform documentation, section 9)."""

import re
import warnings
from typing import Final

from socialapi.models.activity import DEPRECATED_EVENT_TYPES, canonical_event_type

_COUNT_OPERATOR: Final = re.compile(r"\b\w+_count:")


def current_event_type(name: str) -> str:
    """The name of an event type today, whatever its spelling; a deprecated one causes a DeprecationWarning."""
    if not isinstance(name, str):
        return name  # the rules of the body say what is wrong with it
    current = canonical_event_type(name)
    if name in DEPRECATED_EVENT_TYPES:
        warnings.warn(
            f"the event type {name} is deprecated since 2026-03-18: use {current}", DeprecationWarning, stacklevel=3
        )
    return current


def warn_of_search_operators(query: str) -> None:
    """Warns of each count-based operator in a search query; in stream rules they are still good."""
    for operator in sorted(set(_COUNT_OPERATOR.findall(query))):
        warnings.warn(
            f"the search operator {operator} is deprecated since 2026-01-19: use min_likes:, min_replies: or "
            "min_reposts:",
            DeprecationWarning,
            stacklevel=3,
        )
