"""Limits how many requests are in flight at once."""

import asyncio
import contextlib
from collections import deque


class ConnectionPlaces:
    """The places for connections, taken in order of arrival.

    aiohttp's own limit would count the wait for a connection as time for connecting. Waits are
    bounded in real time, as those for sockets are.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    def try_take(self) -> bool:
        """Takes a place if one is free, and returns whether it was. No task waits while one is."""
        if self._free < 1:
            return False
        self._free -= 1
        return True

    async def take(self, seconds: float) -> bool:
        """Takes a place, waiting for it for at most `seconds`. Returns whether there was one."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            async with asyncio.timeout(seconds):
                await place
        except BaseException as problem:
            if place.done() and not place.cancelled():  # it was given to this task just before
                self.give_back()
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(place)
            if isinstance(problem, TimeoutError):
                return False
            raise
        return True

    def give_back(self) -> None:
        """Gives a place to the task that has waited longest, or frees it."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
