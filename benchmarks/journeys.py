"""How far a value travels through the package: `make journeys`.

Counts, once everything is warm, the calls of functions of the package, the functions, the files they are in, and how
often one file hands over to another, for four journeys: a typed GET, a row of a CSV file from the upload to
the report, an item of a stream, and an event of a webhook. A coroutine that goes on after a wait counts as called again.
"""

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp import web

import socialapi
from socialapi import AppOnly, Client, Config, OAuth1
from socialapi.webhooks import SIGNATURE_HEADER, Receiver, sign_body

PACKAGE: Final = str(Path(socialapi.__file__).parent) + "/"
WARM: Final = 20
SECRET: Final = "journeys-secret"
AUTHOR: Final = "783214001"
"""A user of the seed data with two posts; posts are read by generated functions, which are in no file."""
Journey = Callable[[], Awaitable[object]]


class Trace:
    """What of the package is called while it is open."""

    def __init__(self) -> None:
        self.order: list[tuple[str, str]] = []

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.order.append((frame.f_code.co_filename.removeprefix(PACKAGE), frame.f_code.co_qualname))

    def row(self, name: str) -> str:
        """The counts as a row of a table."""
        files = [file for file, _ in self.order]
        moves = sum(here != there for here, there in itertools.pairwise(files))
        counts = (len(self.order), len(set(self.order)), len(set(files)), moves)
        return f"| {name} | " + " | ".join(map(str, counts)) + " |"


async def trace(name: str, journey: Journey, *, is_long: bool) -> None:
    """Prints what one journey takes, and with `is_long` every call of it."""
    for _ in range(WARM):
        await journey()
    with Trace() as found:
        await journey()
    print(found.row(name), flush=True)
    if is_long:
        for (file, function), times in Counter(found.order).items():
            print(f"    {times:4d}  {file}  {function}")


async def journeys(client: Client, folder: Path, *, is_long: bool) -> None:
    """All of them."""
    print("| journey | calls | functions | files | moves |\n|---|---|---|---|---|")
    await trace("a typed GET, first page", lambda: client.posts.by_user(AUTHOR).first(), is_long=is_long)
    audience = client.ads.account("18ce54d4x5t").custom_audience("1nmth")
    people = folder / "people.csv"
    numbers = iter(range(10_000))

    async def upload() -> object:
        people.write_text(f"email\nperson{next(numbers)}@example.com\n")
        return await audience.upload(people)

    await trace("a CSV row, upload to report", upload, is_long=is_long)
    await client.filtered_stream.ensure_rules("journey")
    async with client.filtered_stream.connect() as stream:
        # One more than are read, so that the last one read has arrived.
        for number in range(WARM + 2):
            await client.posts.create(f"a journey, part {number}")
        await trace("a stream item", lambda: anext(stream), is_long=is_long)
    await trace_webhook(is_long=is_long)


async def trace_webhook(*, is_long: bool) -> None:
    """An event from the socket to the task that handles it."""
    receiver = Receiver(SECRET)
    runner = web.AppRunner(receiver)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    numbers = iter(range(10_000))
    async with aiohttp.ClientSession() as session:

        async def deliver() -> object:
            body = json.dumps({"data": {"event_uuid": str(next(numbers)), "event_type": "post.create"}}).encode()
            headers = {SIGNATURE_HEADER: sign_body(body, SECRET)}
            async with session.post(f"http://{host}:{port}/", data=body, headers=headers) as response:
                response.raise_for_status()
            return await anext(receiver)

        await trace("a webhook event", deliver, is_long=is_long)
    receiver.stop()
    await runner.cleanup()


async def main() -> None:
    """Traces against an emulator in another process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="print every function of the journeys")
    is_long = parser.parse_args().long
    command = (sys.executable, "-m", "socialapi", "emulator", "--port", "0")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220  # before anything runs
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        config = Config(base_url=ready["base_url"], ads_url=ready["ads_url"])
        user = OAuth1(*(ready[name] for name in ("api_key", "api_key_secret", "access_token", "access_token_secret")))
        with tempfile.TemporaryDirectory() as folder:
            async with Client(config, [AppOnly(ready["api_key"], ready["api_key_secret"]), user]) as client:
                await journeys(client, Path(folder), is_long=is_long)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    asyncio.run(main())
