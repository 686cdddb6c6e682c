"""A client in a process of its own, which reads a stream to its end and tells what came, and what did not.

Standard input has one JSON line: `ready` (the emulator's ready line) and `items` (how many to read). Standard output
gets `connected` for each connection, and at the end one JSON object.
"""

import asyncio
import json
import sys
import time
from typing import Any

from socialapi.client import Client
from socialapi.config import Config
from socialapi.credentials import Bearer
from socialapi.streams import Gap, MatchedPost, backoff
from tests.proofs.upload_client import peak_resident_bytes, resident_bytes

MARKS = (0.25, 0.5, 0.75)


async def main(order: dict[str, Any]) -> dict[str, Any]:
    ready, items = order["ready"], order["items"]
    gaps: list[tuple[float, float]] = []
    resident: list[int] = []
    ids: list[int] = []

    def note(gap: Gap) -> None:
        assert gap.ended_at is not None
        gaps.append((gap.started_at.timestamp(), gap.ended_at.timestamp()))
        print("connected", flush=True)

    # A hundred breaks in a minute would be answered with longer and longer waits, which are not what is timed here.
    backoff.NETWORK_STEP_SECONDS = 0.0005  # type: ignore[misc]
    started = 0.0
    config = Config(base_url=ready["base_url"])
    async with (
        Client(config, [Bearer(ready["bearer_token"])]) as client,
        client.filtered_stream.connect(on_gap=note) as stream,
    ):
        print("connected", flush=True)
        async for post in stream:
            assert isinstance(post, MatchedPost)
            started = started or time.monotonic()
            ids.append(int(post.data.id))
            if len(resident) < len(MARKS) and len(ids) >= items * MARKS[len(resident)]:
                resident.append(resident_bytes() - sys.getsizeof(ids) - len(ids) * sys.getsizeof(ids[-1]))
            if len(ids) == items:
                break
        counters = stream.counters
    own = sys.getsizeof(ids) + len(ids) * sys.getsizeof(ids[-1])
    return {
        "ids": ids,
        "gaps": gaps,
        "seconds": time.monotonic() - started,
        "resident": [*resident, resident_bytes() - own],
        "peak": peak_resident_bytes(),
        "connections": counters.connections,
        "undecoded": counters.undecoded,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.loads(sys.stdin.readline())))))
