"""A program that handles the events of an inbox and is killed by one of them; run by test_attempts."""

import asyncio
import os
import signal
import sys

from socialapi.webhooks import Receiver


async def main(inbox: str, poison: str) -> None:
    async with Receiver("consumer-secret-1", inbox=inbox) as receiver:
        put_aside = len(await receiver.dead_letters())
        if receiver.waiting == put_aside:
            return
        async for event in receiver:
            if getattr(event, "event_id", None) == poison:
                os.kill(os.getpid(), signal.SIGKILL)
            print(getattr(event, "event_id", None), flush=True)  # noqa: T201  # it is what the test reads
            if receiver.waiting == put_aside + 1:
                receiver.stop()  # this one is finished by the end of the loop


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
