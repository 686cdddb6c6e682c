"""A reader in a process of its own, which writes down each post with the place behind it, and can be stopped anywhere.

Standard input has one JSON object: `ready` (the emulator's ready line), `user`, `path` (the file that is appended to,
one JSON object per post), `max_results` and `limit` (how many posts the file is to have in the end, or null). Standard
output gets the number of each page as it begins.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from socialapi.client import Client
from socialapi.config import Config
from socialapi.credentials import Bearer


def written_down(path: Path) -> list[dict[str, Any]]:
    """The posts so far. A last line that was cut short counts as not written."""
    whole, _, rest = path.read_bytes().rpartition(b"\n") if path.exists() else (b"", b"", b"")
    if rest:
        path.write_bytes(whole + b"\n")
    return [json.loads(line) for line in whole.splitlines()]


async def main(order: dict[str, Any]) -> None:
    path, ready = Path(order["path"]), order["ready"]
    known = written_down(path)
    count, pages = len(known), 0
    start = known[-1]["position"] if known else None
    async with Client(Config(base_url=ready["base_url"]), [Bearer(ready["bearer_token"])]) as client:
        pager = client.posts.by_user(order["user"], max_results=order["max_results"], start=start)
        with path.open("ab", buffering=0) as file:  # noqa: ASYNC230  # nothing else runs here
            async for post in pager:
                # One write, so that the post and the place behind it are there together or not at all.
                file.write(json.dumps({"id": post.id, "position": pager.position}).encode() + b"\n")
                count += 1
                if pager.position.startswith("1@"):  # behind the first post of a page
                    pages += 1
                    print(pages, flush=True)
                if count == order["limit"]:
                    break


if __name__ == "__main__":
    asyncio.run(main(json.load(sys.stdin)))
