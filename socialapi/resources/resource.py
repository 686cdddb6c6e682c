"""What every group of methods holds: the session, and the options of its calls."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from socialapi.session.calls import CallOptions
from socialapi.session.session import Session


def flat(given: Iterable[Any]) -> tuple[Any, ...]:
    """Arguments that were given one by one, or as lists of them."""
    return tuple(chain.from_iterable(each if isinstance(each, list | tuple) else [each] for each in given))


def texts(given: str | Iterable[str]) -> tuple[str, ...]:
    """One text, or several."""
    return (given,) if isinstance(given, str) else tuple(given)


class Resource:
    """A group of methods."""

    def __init__(self, session: Session, options: CallOptions) -> None:
        self._session = session
        self._options = options
