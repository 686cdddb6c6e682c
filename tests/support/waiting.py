"""Waiting for what nobody tells a test of."""

import asyncio
from collections.abc import Callable
from typing import Final

LOOK_AGAIN_SECONDS: Final = 0.002


async def until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Returns once the condition holds. Raises TimeoutError if it does not within `seconds`."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # another process or the operating system makes it hold
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
