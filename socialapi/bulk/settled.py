"""Calls the user's `on_settled` as rows get their outcomes."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Final

from socialapi.bulk.ledger import Ledger
from socialapi.errors import SocialApiError

OnSettled = Callable[[int], Awaitable[None] | None]
_NOTE: Final = "raised by on_settled"


def explained(problem: BaseException | None) -> str:
    """Returns the message of an error (the name of its class if the message may contain data), and whether `on_settled`
    raised it.
    """
    says = str(problem) if isinstance(problem, SocialApiError) else type(problem).__name__
    return f"{says}, {_NOTE}" if _NOTE in getattr(problem, "__notes__", ()) else says


async def call_settled(call: OnSettled, ledger: Ledger, rows: int) -> None:
    """Calls `on_settled` once the lines of the rows are on disk. Adds a note to any error that it raises."""
    await ledger.sync()
    try:
        if inspect.isawaitable(found := call(rows)):
            await found
    except Exception as problem:
        problem.add_note(_NOTE)
        raise


class SettledCalls:
    """The calls of the user's `on_settled`, which is a function or a coroutine function.

    Each call passes the largest n such that the rows 1 to n have their outcomes, once their lines are on disk. Only one
    call runs at a time. If a call fails, its error is passed to `stop`, and no further call is made.
    """

    def __init__(self, call: OnSettled, ledger: Ledger, stop: Callable[[Exception], None]) -> None:
        self._call = call
        self._ledger = ledger
        self._stop = stop
        self._reported = 0
        self._has_failed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts a call if more rows have their outcomes. If a call is running, the next one follows it."""
        if self._task is None and not self._has_failed and self._ledger.settled_rows() > self._reported:
            self._task = asyncio.create_task(self._run(), name="socialapi on_settled")

    async def aclose(self) -> None:
        """Waits for the running call, and makes a last call if more rows have their outcomes."""
        if self._task is not None:
            await self._task
        await self._run()

    async def _run(self) -> None:
        try:
            while not self._has_failed and (rows := self._ledger.settled_rows()) > self._reported:
                self._reported = rows
                await call_settled(self._call, self._ledger, rows)
        except Exception as problem:  # noqa: BLE001  # any error of the function stops the job
            self._has_failed = True
            self._stop(problem)
        finally:
            self._task = None
