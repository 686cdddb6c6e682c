"""The events of an inbox that were put aside because no process finished them."""

import datetime
import functools
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Generator

import attrs

from socialapi.models.events import ActivityEvent, MatchedPost
from socialapi.models.undecoded import Undecoded
from socialapi.webhooks import attempts
from socialapi.wire.events import read_delivery

Stored = tuple[int, bytes, int, float] | None
Read = Callable[[Callable[[sqlite3.Connection], Stored]], Awaitable[Stored]]


@attrs.frozen(kw_only=True)
class DeadLetter:
    """An event that was put aside: it was delivered `attempts` times, and never finished.

    `number` identifies it in the inbox, for `socialapi webhooks inbox retry` and `drop`.
    """

    number: int
    attempts: int
    put_aside_at: datetime.datetime
    event: ActivityEvent | MatchedPost | Undecoded = attrs.field(repr=False)


class DeadLetters:
    """The events that were put aside, in the order in which they arrived.

    async for letter in receiver.dead_letters(): ...   one after another
    letters = await receiver.dead_letters()            a list
    """

    def __init__(self, read: Read | None) -> None:
        self._read = read

    def __await__(self) -> Generator[None, None, list[DeadLetter]]:
        return self._collect().__await__()

    async def _collect(self) -> list[DeadLetter]:
        return [letter async for letter in self]

    async def __aiter__(self) -> AsyncIterator[DeadLetter]:
        number = 0
        while self._read is not None:
            stored = await self._read(functools.partial(attempts.letter_after, number))
            if stored is None:
                return
            number, content, count, put_aside_at = stored
            yield DeadLetter(
                number=number,
                attempts=count,
                put_aside_at=datetime.datetime.fromtimestamp(put_aside_at, datetime.UTC),
                event=read_delivery(content),
            )
