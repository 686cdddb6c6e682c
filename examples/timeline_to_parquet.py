"""Writes a timeline to Parquet files.

Use it to load posts into a data warehouse. It reads from the newest post to the oldest. A stopped run can be
continued: no post is lost or written twice.

A file contains a thousand posts, and the position is stored after each file. Use a separate folder for each
timeline. This needs the extra `arrow`. Hosts and credentials come from SOCIALAPI_* variables. Run it against
a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/timeline_to_parquet.py 2244994945 posts

What to change:

- `WANTED` and `COLUMNS`: the fields that you load
- `PAGES_PER_FILE`: how many posts a file contains, in hundreds
- `client.posts.by_user(…)`: any other collection has the same `pages()` and `to_arrow()`; add
  `start_time` to read only newer posts
- the folder: mount a bucket, or upload each file at the end of `keep`
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from socialapi import Client, Fields, errors

WANTED = Fields(post=["created_at", "lang", "public_metrics"])
COLUMNS = ["id", "created_at", "lang", "text", "public_metrics"]
PAGES_PER_FILE = 10


def keep(folder: Path, number: int, tables: Sequence[Any], position: str) -> None:
    """Writes a file, and then the position to continue from. If a run ends in between, the next run writes the file
    again.
    """
    part = folder / f"part-{number:05}.parquet"
    pq.write_table(pa.concat_tables(tables), part.with_suffix(".tmp"))
    part.with_suffix(".tmp").replace(part)
    state = folder / "position.json"
    state.with_suffix(".tmp").write_text(json.dumps({"files": number, "position": position}))
    state.with_suffix(".tmp").replace(state)


def kept(folder: Path) -> tuple[int, str | None]:
    """Returns how many files there are, and the position to continue from."""
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "position.json"
    if not state.exists():
        return 0, None
    found = json.loads(state.read_text())
    return found["files"], found["position"]


async def walk(client: Client, user_id: str, folder: Path) -> int:
    """Writes the rest of the timeline. Returns the number of posts written."""
    number, position = kept(folder)
    written, tables = 0, []
    posts = client.posts.by_user(user_id, max_results=100, fields=WANTED, start=position)
    async for page in posts.pages():
        tables.append(page.to_arrow().select(COLUMNS))
        if len(tables) == PAGES_PER_FILE or page.next_token is None:
            # In a thread, so that the next page can arrive meanwhile.
            number += 1
            await asyncio.to_thread(keep, folder, number, tables, posts.position)
            written, tables = written + sum(map(len, tables)), []
    return written


async def main(user_id: str, folder: Path) -> int:
    """Writes the timeline and prints the progress."""
    async with Client.from_env() as client:
        # No user is waiting, so a call may wait for a complete window of the rate limit.
        patient = client.with_options(max_wait_seconds=960)
        try:
            written = await walk(patient, user_id, folder)
        except errors.SocialApiError as problem:
            print(f"{problem}; run it again to continue")
            return 1
    print(f"{written:,} posts written")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], Path(sys.argv[2]))))
