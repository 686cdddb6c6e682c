"""A nightly job: customers from a database go into an audience, those who left come out of it, and nobody is lost.

Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/nightly_sync.py 18ce54d4x5t 1nmth
"""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import AsyncIterator

from socialapi import AudienceUser, Client, Operation, errors


def customers() -> sqlite3.Connection:
    """Stands for the database of the shop."""
    database = sqlite3.connect(":memory:")
    database.execute("create table customers (email text, phone text, has_left integer)")
    rows = [(f"customer{number}@example.com", f"+1415555{number:04}", number % 10 == 0) for number in range(5_000)]
    database.executemany("insert into customers values (?, ?, ?)", rows)
    return database


async def operations(database: sqlite3.Connection) -> AsyncIterator[Operation]:
    """One operation a customer, raw identifiers and all: they are normalised and hashed before they are sent."""
    for email, phone, has_left in database.execute("select email, phone, has_left from customers"):
        user = AudienceUser(email=email, phone_number=phone)
        yield Operation.delete([user]) if has_left else Operation.update([user])


async def main(account_id: str, audience_id: str) -> int:
    """Uploads, says what became of every customer, and returns the exit status, as `scheduler_task.py` does."""
    async with Client.from_env() as client:
        audience = client.ads.account(account_id).custom_audience(audience_id)
        try:
            with contextlib.closing(customers()) as database:
                report = await audience.upload(operations(database), rejects="rejects.csv")
        except errors.SocialApiError as stopped:
            print(f"{stopped}; run again, it changes nothing that it did before")
            return 2 if stopped.is_lasting else 3
    print(f"{report.accepted:,} of {report.read:,} accepted in {report.requests} requests, {report.rejected} rejected")
    return 1 if report.rejected else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
