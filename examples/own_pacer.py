"""A custom pacer keeps all programs within one daily budget of requests.

Use it if your contract limits requests per day, or if several programs share a quota that the service
does not report. Programs on one machine share the budget in a file.

The pacer wraps the default pacer, which observes the limits of the service. A thread reads and writes the
file, because another program may hold its lock, and the event loop must not wait. Hosts and credentials come
from SOCIALAPI_* variables. Run it against a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/own_pacer.py 18ce54d4x5t 1nmth crm.csv 1000

What to change:

- `budget.sqlite`: where the programs share the budget; use Redis if they run on several machines
- `DAY`: another period
- `acquire`: other rules, for example a separate budget for each `key`
- the upload in `main`: your own job
"""

import asyncio
import collections
import contextlib
import datetime
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

from socialapi import Client, Config, LimitStatus, Pacer, SlidingWindowPacer, Slot, errors
from socialapi.types import LimitReading, RateLimit

DAY = datetime.timedelta(days=1)


class DailyBudget:
    """A pacer that grants the slots of `pacer` until the daily budget (UTC) is spent."""

    def __init__(self, pacer: Pacer, file: Path, requests_a_day: int) -> None:
        self._pacer = pacer
        self._file = file
        self._most = requests_a_day
        self._unused = collections.Counter[datetime.date]()

    async def book(self, day: datetime.date) -> bool:
        """Books a request on a day. Returns False if the day's budget is spent."""
        if self._unused[day]:
            self._unused[day] -= 1
            return True
        return await asyncio.to_thread(self._book_in_file, day)

    def give_back(self, day: datetime.date) -> None:
        """Keeps a booked but unsent request for the next request of this program. If none follows, it counts as sent."""
        self._unused[day] += 1

    def _book_in_file(self, day: datetime.date) -> bool:
        with contextlib.closing(sqlite3.connect(self._file, timeout=10, isolation_level=None)) as database:
            database.execute("create table if not exists days (day text primary key, sent integer)")
            database.execute("insert or ignore into days values (?, 0)", (str(day),))
            add = "update days set sent = sent + 1 where day = ? and sent < ?"
            return database.execute(add, (str(day), self._most)).rowcount > 0

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a slot. Raises RateLimitTooLong if the day's budget is spent."""
        slot = await self._pacer.acquire(key, documented, bulk=bulk, max_wait_seconds=max_wait_seconds)
        now = datetime.datetime.now(datetime.UTC)
        granted = False
        try:
            granted = await self.book(now.date())
        finally:
            if not granted:  # nothing is sent, even if the file cannot be used or the call is cancelled
                slot.unsent()
        if not granted:
            tomorrow = datetime.datetime.combine(now.date() + DAY, datetime.time(), datetime.UTC)
            raise errors.RateLimitTooLong("the daily budget", (tomorrow - now).total_seconds(), tomorrow)
        return BudgetSlot(slot, self, now.date())

    def limits(self) -> Mapping[str, LimitStatus]:
        """Returns the state of the service's limits."""
        return self._pacer.limits()

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """Returns the rate that the service allows, from which jobs derive their concurrency."""
        return self._pacer.requests_per_second(key, documented)


class BudgetSlot:
    """The right to send one request, within the service's limit and the budget."""

    def __init__(self, slot: Slot, budget: DailyBudget, day: datetime.date) -> None:
        self._slot, self._budget, self._day = slot, budget, day

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        """Passes on what the service reports about its limit."""
        self._slot.replied(reading, refused_for_seconds=refused_for_seconds)

    def unsent(self) -> None:
        """Returns the slot and the booked request."""
        self._slot.unsent()
        self._budget.give_back(self._day)


async def main(account_id: str, audience_id: str, file: str, requests_a_day: str) -> int:
    """Uploads a file within the budget. Tomorrow's run continues where this run stops."""
    config = Config.from_env()
    pacer = DailyBudget(SlidingWindowPacer(config), Path("budget.sqlite"), int(requests_a_day))
    async with Client.from_env(config=config, pacer=pacer) as client:
        audience = client.ads.account(account_id).custom_audience(audience_id)
        try:
            report = await audience.upload(file, journal=f"{file}.journal")
        except errors.BulkError as stopped:
            print(f"{stopped}; run it again to continue")
            return 3
    print(f"{report.accepted:,} accepted, with {report.requests} requests now")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:5])))
