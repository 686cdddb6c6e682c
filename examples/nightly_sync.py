"""A nightly job keeps an audience equal to the customers in a database.

Use it to keep an audience equal to a query. The first run adds everybody and writes a snapshot; each later
run sends only changes.

If more than a tenth of the audience would leave, the job stops before it sends anything, because the query is
probably wrong. After a kill or an error, run it again, and it continues from the snapshot. Exit statuses are
the same as in `scheduler_task.py`. Hosts and credentials come from SOCIALAPI_* variables. Run it against a
local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/nightly_sync.py 18ce54d4x5t 1nmth

What to change:

- `MEMBERS`: your query; its columns are found by name
- `customers`: the connection to your database; any cursor with named columns will do
- `snapshot`: a path on a persistent disk; without the file, nobody is removed
- `default_region`: the country of phone numbers without a country code; select a column `country`
  instead if your customers are in several
- `max_removal_share`: how many members may leave in one run
"""

import asyncio
import contextlib
import sqlite3
import sys

from socialapi import Client, SyncReport, errors

MEMBERS = "select email, phone from customers where not has_left"


def customers() -> sqlite3.Connection:
    """Opens the shop's database. Creates one with 5,000 sample customers if there is none."""
    database = sqlite3.connect("customers.sqlite")
    database.row_factory = sqlite3.Row  # rows with named columns, so that identifiers are found by column name
    if not database.execute("select 1 from sqlite_master where name = 'customers'").fetchone():
        rows = [(f"customer{n}@example.com", f"(415) 555-{n:04}", n % 10 == 0) for n in range(5_000)]
        with database:
            database.execute("create table customers (email text, phone text, has_left integer)")
            database.executemany("insert into customers values (?, ?, ?)", rows)
    return database


async def sync(account_id: str, audience_id: str) -> SyncReport:
    """Makes the audience match the result of the query."""
    with contextlib.closing(customers()) as database:
        async with Client.from_env() as client:
            audience = client.ads.account(account_id).custom_audience(audience_id)
            return await audience.sync(
                database.execute(MEMBERS),
                snapshot="audience.snapshot",
                rejects="rejects.csv",
                default_region="US",
                max_removal_share=0.1,
            )


async def main(account_id: str, audience_id: str) -> int:
    """Runs the sync, prints what changed, and returns the exit status."""
    try:
        report = await sync(account_id, audience_id)
    except errors.SocialApiError as stopped:
        print(stopped)
        return 2 if stopped.is_lasting else 3
    added, removed = report.additions.accepted, report.removals.accepted
    print(f"{report.read:,} read: {report.unchanged:,} unchanged, {added:,} added; {removed:,} identifiers removed")
    return 1 if report.rejected else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
