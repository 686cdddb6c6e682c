"""A webhook receiver in a process of its own, which notes every event it has handled; it is killed now and then.

Arguments: the port to listen on, the app's secret, the file of the inbox, the file to note events in, which gets a line
for each: the id, and what the payload says.
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

from socialapi.webhooks import ActivityEvent, Receiver
from socialapi.webhooks.serving import serving


async def main(port: int, secret: str, inbox: str, notes: str) -> None:
    receiver = Receiver(secret, inbox=inbox)
    with Path(notes).open("ab", buffering=0) as noted:  # noqa: ASYNC230  # before anything else runs
        noted.write(b'"run"\n')
        async with serving(receiver, "127.0.0.1", port):
            print("ready", flush=True)
            async for event in receiver:
                assert isinstance(event, ActivityEvent)
                noted.write(json.dumps([event.event_id, event.payload.get("number")]).encode() + b"\n")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
