"""Turns on the event loop for work that takes a while, so that many jobs hold it no longer than one."""

import asyncio
from collections import deque


class Turns:
    """A queue for the event loop: each time round, one of those who wait goes on, and everybody else in between.

    `asyncio.sleep(0)` would let all of them go on the next time round, one right behind the other.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Returns when it is the caller's turn; those who came before go first."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            loop.call_soon(self._give)
        await turn

    def _give(self) -> None:
        """Gives the next turn; runs as long as anybody waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # as it is when its caller was cancelled
                turn.set_result(None)
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._give)
