"""Turns on the event loop for work that takes a while, so that many jobs hold it no longer than one."""

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

_Waiting = deque[asyncio.Future[None]]


class Turns:
    """A queue for the event loop: each time round, one of those who wait goes on, and everybody else in between.

    `asyncio.sleep(0)` would let all of them go on the next time round, one right behind the other. A turn is for a
    millisecond or two of work: for less, others would be kept waiting for nothing.
    """

    def __init__(self) -> None:
        # What ends with its loop must not stand in the way of those who use the client in another one.
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()

    async def wait(self) -> None:
        """Returns when it is the caller's turn; those who came before go first."""
        loop = asyncio.get_running_loop()
        waiting = self._queues.setdefault(loop, deque())
        turn = loop.create_future()
        waiting.append(turn)
        if len(waiting) == 1:
            loop.call_soon(self._give, loop, waiting)
        await turn

    def _give(self, loop: asyncio.AbstractEventLoop, waiting: _Waiting) -> None:
        """Gives the next turn; runs as long as anybody waits."""
        while waiting:
            turn = waiting.popleft()
            if not turn.done():  # as it is when its caller was cancelled
                turn.set_result(None)
                break
        if waiting:
            loop.call_soon(self._give, loop, waiting)
