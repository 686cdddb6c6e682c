"""Waiting for what nobody tells a test of."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

LOOK_AGAIN_SECONDS: Final = 0.002


async def until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Returns once the condition holds. Raises TimeoutError if it does not within `seconds`."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # another process or the operating system makes it hold
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def wait_until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """As `until`, in a test that has no event loop."""
    gives_up_at = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > gives_up_at:
            raise TimeoutError
        time.sleep(LOOK_AGAIN_SECONDS)
