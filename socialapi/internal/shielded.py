"""Work that goes on when its caller is cancelled."""

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


async def shielded(work: "asyncio.Future[T]") -> T:
    """Returns the result of the work, or raises its error. The work goes on if the caller is cancelled.

    `asyncio.shield` does the same, but where the work fails after that, asyncio reports the error as
    unhandled: since Python 3.14 to the exception handler of the loop. Here the error is dropped, so
    the owner of the work has to keep it if the next caller should learn of it.
    """
    work.add_done_callback(_retrieve_exception)
    await asyncio.wait([work])
    return work.result()


def _retrieve_exception(work: "asyncio.Future[Any]") -> None:
    if not work.cancelled():
        work.exception()
