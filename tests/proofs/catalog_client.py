"""A client in a process of its own, which loads a feed and tells what it took, memory included.

Standard input has one JSON object: `ready` (the emulator's ready line), `path`, `catalog`, and optionally `options` (of
`upsert`), `timeout_seconds` (of an attempt) and `tells` (an empty line for every step of progress). Standard output gets
one JSON object.
"""

import asyncio
import json
import sys
import time
from typing import Any

from socialapi.client import Client
from socialapi.config import Config
from socialapi.credentials import OAuth1
from socialapi.reports import Progress
from tests.proofs.upload_client import peak_resident_bytes


async def main(order: dict[str, Any]) -> dict[str, Any]:
    ready = order["ready"]
    most_in_flight = 0

    def look(progress: Progress) -> None:
        nonlocal most_in_flight
        most_in_flight = max(most_in_flight, progress.in_flight)
        if order.get("tells"):
            print(flush=True)

    credentials = OAuth1(*(ready[n] for n in ("api_key", "api_key_secret", "access_token", "access_token_secret")))
    async with Client(Config(ads_url=ready["ads_url"]), [credentials]) as client:
        view = client.with_options(timeout_seconds=order.get("timeout_seconds"))
        started = time.monotonic()
        report = await view.catalog(order["catalog"]).products.upsert(
            order["path"], on_progress=look, **order.get("options", {})
        )
        seconds = time.monotonic() - started
    return {
        "report": report.to_dict(),
        "adds_up": report.adds_up,
        "seconds": seconds,
        "peak": peak_resident_bytes(),
        "most_in_flight": most_in_flight,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
