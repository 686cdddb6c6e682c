"""Ours: the first call of an area in a fresh process, against an emulator in another one."""

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from benchmarks.contestants.measuring import Meter
from socialapi import Client

# Of the emulator's seed data.
ACCOUNT: Final = "18ce54d4x5t"
AUDIENCE: Final = "1nmth"
CATALOG: Final = "7pc01"
USER: Final = "2244994945"
PRODUCT: Final = {
    "id": "BOOT-42",
    "title": "Cairn boots",
    "description": "Made to be repaired.",
    "availability": "in stock",
    "condition": "new",
    "price": "219.00 EUR",
    "link": "https://shop.example/boot-42",
    "image_link": "https://shop.example/boot-42.jpg",
    "brand": "Northwind",
    "product_type": "Shoes > Boots",
}


async def _first_of(items: AsyncIterable[object]) -> None:
    async for _ in items:
        return


async def _upload(client: Client, rows: Any = ({"email": "ada@example.com"},)) -> None:
    audience = client.ads.account(ACCOUNT).custom_audience(AUDIENCE)
    report = await audience.upload(rows, dry_run=True)
    assert report.read == 1, report
    assert not report.rejects, report


async def _upsert(client: Client) -> None:
    report = await client.catalog(CATALOG).products.upsert([PRODUCT], dry_run=True)
    assert report.read == 1, report
    assert not report.rejects, report


CALLS: Final[Mapping[str, Callable[[Client], Awaitable[None]]]] = {
    "posts": lambda client: _first_of(client.posts.by_user(USER)),
    "rules": lambda client: _first_of(client.filtered_stream.rules()),
    "accounts": lambda client: _first_of(client.ads.accounts.list()),
    "cards": lambda client: _first_of(client.ads.account(ACCOUNT).cards.list()),
    "upload": _upload,
    "upload_odd": lambda client: _upload(client, [{"email": '"Ada" <mailto:ada@example.com>;'}]),
    "upload_phone": lambda client: _upload(client, [{"phone_number": "+14155552671"}]),
    "upload_csv": lambda client: _upload(client, io.BytesIO(b"email\nada@example.com\n")),
    "upsert": _upsert,
}


@contextlib.contextmanager
def _emulator() -> Iterator[Mapping[str, str]]:
    """Runs an emulator and yields the variables that a client reads."""
    command = [sys.executable, "-m", "socialapi", "emulator", "--port", "0", "--until-stdin-closes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            yield {f"SOCIALAPI_{name.upper()}": value for name, value in ready.items() if name != "event"}
        finally:
            process.stdin.close()


def entering(order: dict[str, Any]) -> dict[str, Any]:
    """Makes a client and enters it, which sends nothing."""

    async def main() -> dict[str, Any]:
        meter = Meter()
        async with Client():
            return meter.told(items=1, again=0.0)

    return asyncio.run(main())


def first_use(order: dict[str, Any]) -> dict[str, Any]:
    """Calls an area twice; `again` is what the second call took of a processor."""

    async def main() -> dict[str, Any]:
        call = CALLS[order["area"]]
        async with Client.from_env() as client:
            meter = Meter()
            await call(client)
            first = meter.told(items=1)
            meter = Meter()
            await call(client)
            return {**first, "again": meter.told()["cpu_seconds"]}

    with _emulator() as env:
        os.environ.update(env)
        return asyncio.run(main())
