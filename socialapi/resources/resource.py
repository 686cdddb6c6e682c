"""What every group of methods holds: the session, and the options of its calls."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeVar

from socialapi.session.session import CallOptions, Session


T = TypeVar("T")


def flat(given: Iterable[T | Sequence[T]]) -> tuple[T, ...]:
    """Things that were given one by one, or as a sequence of them; a text is one thing."""
    return tuple(chain.from_iterable(each if isinstance(each, list | tuple) else [each] for each in given))  # type: ignore[list-item]  # whatever is no list is one


class Resource:
    """A group of methods."""

    def __init__(self, session: Session, options: CallOptions) -> None:
        self._session = session
        self._options = options
