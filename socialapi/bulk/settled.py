"""Tells a program how many rows from the first one on have their outcomes."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from socialapi.bulk.ledger import Ledger

OnSettled = Callable[[int], Awaitable[None] | None]


class SettledCalls:
    """Calls a function or coroutine function with the largest n such that the rows 1 to n have their outcomes:
    one call at a time, with the newest number alone, once the lines of these rows are on the disk.

    What fails goes to `stop`, and no further call is made.
    """

    def __init__(self, call: OnSettled, ledger: Ledger, stop: Callable[[Exception], None]) -> None:
        self._call = call
        self._ledger = ledger
        self._stop = stop
        self._told = 0
        self._has_failed = False
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Starts a call if more rows have their outcomes, unless one is running, which another one follows."""
        if self._task is None and not self._has_failed and self._ledger.settled_rows() > self._told:
            self._task = asyncio.create_task(self._run(), name="socialapi on_settled")

    async def aclose(self) -> None:
        """Waits for the running call, and makes the last one."""
        if self._task is not None:
            await self._task
        await self._run()

    async def _run(self) -> None:
        try:
            while not self._has_failed and (rows := self._ledger.settled_rows()) > self._told:
                await self._ledger.sync()
                self._told = rows
                if inspect.isawaitable(found := self._call(rows)):
                    await found
        except Exception as problem:  # noqa: BLE001  # whatever the function raises stops the job
            self._has_failed = True
            self._stop(problem)
        finally:
            self._task = None
