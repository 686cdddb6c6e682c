"""Fairness on the event loop: long tasks let other tasks run in between.

Between its steps, a long task checks whether the time budget is used up. The budget starts with the first check in an
iteration of the event loop, and all tasks share it.
"""

import asyncio
from collections import deque
from time import monotonic
from typing import Final
from weakref import WeakKeyDictionary

import attrs

BUDGET_SECONDS: Final = 0.002
"""How long tasks may run before other tasks get their turn."""


@attrs.define(eq=False)
class _Loop:
    """The waiting tasks of an event loop, and the time at which its budget ends."""

    waiting: deque[asyncio.Future[None]] = attrs.field(factory=deque)
    ends_at: float | None = None
    """None after other tasks have run, until the next check."""


_LOOPS: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop]()
"""One `_Loop` per event loop, because an abandoned loop must not block callers in the next one."""


def is_due() -> bool:
    """Returns whether the budget is used up, so that the caller should yield to other tasks."""
    loop = asyncio.get_running_loop()
    state = _LOOPS.get(loop) or _LOOPS.setdefault(loop, _Loop())
    now = monotonic()
    if state.ends_at is None:
        state.ends_at = now + BUDGET_SECONDS
        loop.call_soon(setattr, state, "ends_at", None)
    return now >= state.ends_at


async def yield_if_due() -> None:
    """Lets other tasks run if the budget is used up."""
    if is_due():
        await yield_to_others()


async def yield_to_others() -> None:
    """Lets other tasks run. Callers return in order of arrival.

    One waiting task is resumed per iteration of the event loop. `asyncio.sleep(0)` would resume all of them in the next
    iteration.
    """
    loop = asyncio.get_running_loop()
    waiting = (_LOOPS.get(loop) or _LOOPS.setdefault(loop, _Loop())).waiting
    resumed = loop.create_future()
    waiting.append(resumed)
    if len(waiting) == 1:
        loop.call_soon(_resume_next, loop, waiting)
    await resumed
    is_due()  # starts the budget, so that the caller's first step counts


def _resume_next(loop: asyncio.AbstractEventLoop, waiting: deque[asyncio.Future[None]]) -> None:
    """Resumes the next waiting task, and schedules itself again while tasks are waiting."""
    while waiting:
        resumed = waiting.popleft()
        if not resumed.done():  # else its caller was cancelled
            resumed.set_result(None)
            break
    if waiting:
        loop.call_soon(_resume_next, loop, waiting)
