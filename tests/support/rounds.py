"""How often the event loop goes round while something runs: whether others got their turn, without a clock."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import attrs


@attrs.define
class Rounds:
    """The rounds so far; each of them has a number of its own."""

    now: int = 0


@contextlib.asynccontextmanager
async def counted_rounds() -> AsyncIterator[Rounds]:
    """Counts until the end of the block."""
    rounds = Rounds()

    async def count() -> None:
        while True:
            rounds.now += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    try:
        yield rounds
    finally:
        counting.cancel()
        await asyncio.wait([counting])
