"""What every group of methods holds: the session, and the options of its calls."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.unset import UNSET


def flat(given: Iterable[Any]) -> tuple[Any, ...]:
    """Arguments that were given one by one, or as lists (or other iterables) of them."""
    return tuple(item for each in given for item in several(each))


def several(given: Any) -> Iterable[Any]:
    """What was given as one or as an iterable."""
    return cast("Iterable[Any]", given) if _is_several(given) else (given,)


def unless_empty(given: Any) -> Any:
    """One value or several; UNSET for an empty list, which asks for nothing."""
    return tuple(given) or UNSET if _is_several(given) else given


def _is_several(given: Any) -> bool:
    if isinstance(given, str | bytes | bytearray | memoryview | Mapping) or attrs.has(type(given)):
        return False
    return isinstance(given, Iterable)


class Resource:
    """A group of methods."""

    def __init__(self, session: Session, options: CallOptions) -> None:
        self._session = session
        self._options = options
