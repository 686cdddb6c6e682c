"""A sync keeps an audience equal to the result of a PostgreSQL query.

Use it to send customers from your database to an audience every night, without an export in between. A server-side
cursor reads a few thousand rows at a time, so memory use stays constant.

Hosts and credentials come from SOCIALAPI_* variables, and the database from DATABASE_URL. Exit
statuses are the same as in `scheduler_task.py`. Run it every night; the first run creates the snapshot:

    export DATABASE_URL=postgresql://shop@db.example/shop
    python examples/sync_from_postgresql.py 18ce54d4x5t 1nmth

What to change:

- `MEMBERS`: your query; its columns are found by name
- `snapshot`: a path on a persistent disk; without the file, nobody is removed
- `default_region`: the country of phone numbers without a country code; select a column `country`
  instead if your customers are in several
- add `max_removal_share` to allow more than a tenth of the members to leave in one run
"""

import asyncio
import os
import sys

import asyncpg

from socialapi import Client, SyncReport, errors

MEMBERS = "select email, phone from customers where not has_left"
CONNECTION_LOST = (OSError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError)


async def sync(account_id: str, audience_id: str) -> SyncReport:
    """Makes the audience match the result of the query."""
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        # A cursor needs a transaction. It returns the customers as they were when the transaction began.
        async with Client.from_env() as client, connection.transaction(readonly=True):
            audience = client.ads.account(account_id).custom_audience(audience_id)
            members = connection.cursor(MEMBERS, prefetch=5_000)
            return await audience.sync(
                members, snapshot="audience.snapshot", rejects="rejects.csv", default_region="US"
            )
    finally:
        await connection.close()


async def main(account_id: str, audience_id: str) -> int:
    """Runs the sync, prints what changed, and returns the exit status."""
    try:
        report = await sync(account_id, audience_id)
    except CONNECTION_LOST as lost:
        print(f"the database went away: {lost}")
        return 3
    except errors.SocialApiError as stopped:
        print(f"{stopped}; nothing is lost: the next run continues from the snapshot")
        return 2 if stopped.is_lasting else 3
    added, removed = report.additions.accepted, report.removals.accepted
    print(f"{report.read:,} read: {report.unchanged:,} unchanged, {added:,} added; {removed:,} identifiers removed")
    return 1 if report.rejected else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
