"""A program that accepts events into an inbox, hands them out and never gets them done; run by test_sharing."""

import asyncio
import sys

from aiohttp import web

from socialapi.webhooks import Receiver


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201  # it is what the test reads


async def main(inbox: str, secret: str) -> None:
    receiver = Receiver(secret, inbox=inbox)
    runner = web.AppRunner(receiver, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    say(runner.addresses[0][1])
    async for event in receiver.unfinished():
        say("handling", getattr(event, "event_id", None))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
