"""Uploads each do-not-reach file in a drop folder once, and then moves it away.

Use it if another system writes lists of people who must not see ads. Run it every few minutes. The next run
continues a killed one, and two runs at the same time do not interfere.

Write each file in another folder, and move it here when it is complete. Never reuse a file name: include a
date.

    folder/2026-05-01.csv                        waits
    folder/journals/2026-05-01.csv.journal       the progress of a file that is not finished
    folder/done/, folder/failed/                 uploaded files, and unusable ones
    folder/rejects/2026-05-01.csv.rejects.csv    the rows of a file that were rejected

Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/do_not_reach_drop_folder.py 18ce54d4x5t 7b2f1 folder

What to change:

- `default_region`: the country of phone numbers without a country code
- `max_reject_share`: how many bad rows stop a file; 0.5 is half
- `waiting`: which files to upload, for example `folder.glob("unsubscribed-*.csv")`
- `move`: delete files instead of keeping them in `done`
"""

import asyncio
import sys
from pathlib import Path

from socialapi import Client, UploadReport, errors
from socialapi.resources import DoNotReachListResource


async def upload(unsubscribed: DoNotReachListResource, file: Path) -> UploadReport:
    """Uploads a file, or the rest of a file that an earlier run started."""
    return await unsubscribed.upload(
        file,
        journal=file.parent / "journals" / f"{file.name}.journal",
        rejects=file.parent / "rejects" / f"{file.name}.rejects.csv",
        max_reject_share=0.5,
        allow_empty=False,
        default_region="US",
    )


def move(file: Path, where: str) -> None:
    """Moves a finished file and deletes its journal, which is no longer needed."""
    file.replace(file.parent / where / file.name)
    (file.parent / "journals" / f"{file.name}.journal").unlink(missing_ok=True)


def waiting(folder: Path) -> list[Path]:
    """Returns the files to upload, sorted by name."""
    for name in ("done", "failed", "journals", "rejects"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


async def upload_all(unsubscribed: DoNotReachListResource, folder: Path) -> int:
    """Uploads every waiting file. Returns 1 if a file failed, or 3 if the remaining files must keep waiting."""
    status = 0
    for file in waiting(folder):
        try:
            report = await upload(unsubscribed, file)
        except errors.SocialApiError as stopped:
            # An unreadable file would also stop the next run. Other errors are not caused by the file, so the file
            # keeps waiting.
            if not isinstance(stopped.__cause__ or stopped, errors.InvalidInput):
                print(f"{file.name} waits: {stopped}")
                return 3
            print(f"{file.name} failed: {stopped}")
            move(file, "failed")
            status = 1
        else:
            print(f"{file.name}: {report.accepted:,} accepted, {report.rejected:,} rejected")
            move(file, "done")
    return status


async def main(account_id: str, list_id: str, folder: Path) -> int:
    """Uploads the files in the folder and prints the outcome of each file."""
    async with Client.from_env() as client:
        return await upload_all(client.ads.account(account_id).do_not_reach_list(list_id), folder)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
