"""A dlt destination sends the extracted data of a pipeline to an audience.

Use it if dlt already moves your data. dlt extracts and normalizes, and passes each file of a load to `audience`.
Repeating a load is safe: adding a person twice changes nothing.

This needs `dlt` and the extra `arrow`. Hosts and credentials come from SOCIALAPI_* variables. Run
it against a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/dlt_destination.py 18ce54d4x5t 1nmth

What to change:

- `customers`: your source, such as dlt's `sql_database(…)`
- `default_region`: the country of phone numbers without a country code
- add a column `operation_type` with `delete` for people who leave
- `max_reject_share`: how many bad rows stop a file; 0.05 is 5 %
"""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import dlt
from dlt.common.destination.exceptions import DestinationTerminalException, DestinationTransientException
from dlt.common.schema import TTableSchema

from socialapi import Client, UploadReport, errors


async def upload(file: str, account_id: str, audience_id: str) -> UploadReport:
    """Uploads a Parquet file. A column `operation_type` selects the people to remove."""
    async with Client.from_env() as client:
        audience = client.ads.account(account_id).custom_audience(audience_id)
        return await audience.upload(file, default_region="US", max_reject_share=0.05)


# One file at a time, because clients do not know about each other's requests.
@dlt.destination(
    batch_size=0, loader_file_format="parquet", naming_convention="direct", loader_parallelism_strategy="sequential"
)
def audience(
    file: Any, table: TTableSchema, account_id: str = dlt.config.value, audience_id: str = dlt.config.value
) -> None:
    """Uploads a file. dlt retries it, unless the error would occur again."""
    try:
        report = asyncio.run(upload(file, account_id, audience_id))
    except errors.SocialApiError as problem:
        failure = DestinationTerminalException if problem.is_lasting else DestinationTransientException
        raise failure(str(problem)) from problem
    print(f"{table['name']}: {report.accepted:,} accepted, {report.rejected:,} rejected in {report.requests} requests")


@dlt.resource
def customers() -> Iterator[dict[str, Any]]:
    """Yields test data, in place of any dlt source."""
    for number in range(5_000):
        yield {"customer_id": number, "email": f"customer{number}@example.com", "phone": f"(415) 555-{number:04}"}


def main(account_id: str, audience_id: str) -> None:
    """Runs a pipeline. Raises the errors of the destination."""
    destination = audience(account_id=account_id, audience_id=audience_id)
    pipeline = dlt.pipeline("customers_to_audience", destination=destination)
    pipeline.run(customers())


if __name__ == "__main__":
    main(*sys.argv[1:3])
