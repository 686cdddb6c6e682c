"""One client uploads to audiences of several accounts at once.

Use it if you manage ads for several advertisers. Accounts have separate rate limits, so two uploads
take no longer than one, and an upload that stops does not stop the others.

Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator, with a file
for each ACCOUNT/AUDIENCE:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/several_accounts.py 18ce54d4x5t/1nmth=crm.csv 18ce54u7r2k/1nmuk=home.csv

What to change:

- the arguments: read accounts, audiences and files from your own configuration
- `journal` and `rejects`: paths on a disk that the next run can access
- `Client.from_env()`: use a client with separate `credentials` for each account if one user cannot
  access all of them
- add `default_region="US"` if phone numbers have no country code
"""

import asyncio
import sys

from socialapi import Client, UploadReport, errors


async def upload(client: Client, target: str, file: str) -> bool:
    """Uploads a file and prints the outcome. Returns whether every row was accepted."""
    account_id, audience_id = target.split("/")
    audience = client.ads.account(account_id).custom_audience(audience_id)
    try:
        name = f"{account_id}-{audience_id}"
        report = await audience.upload(file, journal=f"{name}.journal", rejects=f"{name}.rejects.csv")
    except errors.BulkError as stopped:
        show(target, stopped.report, f", then it stopped: {stopped.__cause__}")
        return False
    except errors.SocialApiError as refused:
        print(f"{target}: {refused}")
        return False
    show(target, report)
    return not report.rejected


def show(target: str, report: UploadReport, end: str = "") -> None:
    """Prints one line about an upload."""
    print(f"{target}: {report.accepted:,} accepted, {report.rejected:,} rejected, {report.pending:,} pending{end}")


async def main(files: dict[str, str]) -> int:
    """Runs all uploads at once. Returns 1 if one of them stopped or rejected a row."""
    # The jobs share the client's connections and one memory budget for requests in flight.
    async with Client.from_env() as client, asyncio.TaskGroup() as tasks:
        uploads = [tasks.create_task(upload(client, target, file)) for target, file in files.items()]
    return 0 if all(task.result() for task in uploads) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(dict(argument.split("=", 1) for argument in sys.argv[1:]))))
