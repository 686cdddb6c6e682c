"""Lets work continue when its caller is cancelled."""

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


async def shielded(work: "asyncio.Future[T]") -> T:
    """Returns the result of the work, or raises its error. The work continues if the caller is cancelled.

    `asyncio.shield` does the same. But if the work fails after the cancellation, asyncio reports the error as unhandled
    (since Python 3.14, to the loop's exception handler). This function drops the error, so the owner of the work must
    keep it if later callers need it.
    """
    work.add_done_callback(_retrieve_exception)
    await asyncio.wait([work])
    return work.result()


def _retrieve_exception(work: "asyncio.Future[Any]") -> None:
    if not work.cancelled():
        work.exception()
