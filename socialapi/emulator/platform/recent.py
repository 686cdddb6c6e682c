"""What was published in the last minutes, for streams that begin with it (`backfill_minutes`)."""

from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")

RECENT_SECONDS: Final = 300.0
RECENT_THINGS: Final = 100_000
"""How many things are remembered at most."""


class Recent(Generic[T]):
    """The newest things with their times, the oldest first; bounded in time and number."""

    def __init__(self) -> None:
        self._things: deque[tuple[float, T]] = deque(maxlen=RECENT_THINGS)

    def add(self, now: float, thing: T) -> None:
        """Something was published."""
        while self._things and self._things[0][0] < now - RECENT_SECONDS:
            self._things.popleft()
        self._things.append((now, thing))

    def since(self, earliest: float) -> Sequence[T]:
        """What was published from then on; later additions are not among it."""
        return [thing for at, thing in self._things if at >= earliest]

    def clear(self) -> None:
        """Forget everything."""
        self._things.clear()
