"""A sync keeps an audience equal to the result of a DuckDB query.

Use it for exports of a data warehouse: a folder of Parquet files becomes an audience, without a server and
without loading the files. DuckDB computes the result while it is read.

It passes columns instead of rows, which needs the extra `arrow`. Hosts and credentials come from SOCIALAPI_*
variables. Run it every night; the first run creates the snapshot:

    python examples/sync_from_duckdb.py 18ce54d4x5t 1nmth 'purchases/*.parquet'

What to change:

- `MEMBERS`: your query; its columns are found by name
- `$files`: DuckDB reads `s3://bucket/*.parquet` too, after `INSTALL httpfs; LOAD httpfs`
- `snapshot`: a path on a persistent disk; without the file, nobody is removed
- `default_region`: the country of phone numbers without a country code; select a column `country`
  instead if your customers are in several
"""

import asyncio
import sys

import duckdb

from socialapi import Client, errors

MEMBERS = "select distinct email, phone from read_parquet($files) where amount >= 100"


async def main(account_id: str, audience_id: str, files: str) -> int:
    """Runs the sync, prints what changed, and returns the exit status, as `scheduler_task.py` does."""
    with duckdb.connect() as connection:
        members = connection.sql(MEMBERS, params={"files": files})
        try:
            async with Client.from_env() as client:
                audience = client.ads.account(account_id).custom_audience(audience_id)
                report = await audience.sync(
                    members, snapshot="audience.snapshot", rejects="rejects.csv", default_region="US"
                )
        except errors.SocialApiError as stopped:
            print(f"{stopped}; nothing is lost: the next run continues from the snapshot")
            return 2 if stopped.is_lasting else 3
    added, removed = report.additions.accepted, report.removals.accepted
    print(f"{report.read:,} read: {report.unchanged:,} unchanged, {added:,} added; {removed:,} identifiers removed")
    return 1 if report.rejected else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:4])))
