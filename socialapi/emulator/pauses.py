"""Waiting in real time, for faults that take a while, without ever holding up the end of the emulator."""

import asyncio


class Pauses:
    """The pauses going on. `end` ends them all, and from then on there are none."""

    def __init__(self) -> None:
        self.ended = False
        self._going_on: set[asyncio.Future[None]] = set()

    async def pause(self, seconds: float) -> None:
        """Let so much real time pass, or less if the emulator closes."""
        if self.ended:
            return
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, _finish, over)
        self._going_on.add(over)
        try:
            await over
        finally:
            timer.cancel()
            self._going_on.discard(over)

    def end(self) -> None:
        """Wake everybody."""
        self.ended = True
        for over in self._going_on:
            _finish(over)


def _finish(over: "asyncio.Future[None]") -> None:
    if not over.done():
        over.set_result(None)
