"""Packed uploads of this package, by one process or by several that share the rate limit through Redis."""

import asyncio
import contextlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from socialapi import Client, Config, OAuth1


def quota_itself(order: dict[str, Any]) -> dict[str, Any]:
    """All that the limit allows, as what the others are compared with."""
    return {"is_quota": True}


def packed(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads a file in each of so many processes at once."""
    if order["processes"] == 1:
        return asyncio.run(_upload(order, None))
    if shutil.which("redis-server") is None or importlib.util.find_spec("redis") is None:
        return {"absent": "it needs redis-server, and redis for Python"}
    with _server() as url:
        command = [sys.executable, "-m", "benchmarks.contestant", "packed_uploads", "child"]
        running = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(order["processes"])
        ]
        for number, each in enumerate(running):
            assert each.stdin is not None
            each.stdin.write(json.dumps({**order, "redis_url": url, "number": number}))
            each.stdin.close()
        told = [json.loads(each.stdout.read()) for each in running if each.stdout is not None]
        for each in running:
            each.wait()
    seconds = max(each["ended"] for each in told) - min(each["began"] for each in told)
    return {"items": sum(each["items"] for each in told), "seconds": seconds}


def child(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads the file as one of several processes."""
    return asyncio.run(_upload(order, order["redis_url"]))


@contextlib.contextmanager
def _server() -> Iterator[str]:
    """Runs a Redis that keeps nothing, and yields its address."""
    with tempfile.TemporaryDirectory(prefix="packed-") as folder:
        path = Path(folder, "socket")
        command = ("redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder) as process:
            try:
                while not path.exists() and process.poll() is None:
                    time.sleep(0.02)
                yield f"unix://{path}"
            finally:
                process.terminate()


async def _upload(order: dict[str, Any], redis_url: str | None) -> dict[str, Any]:
    config = Config(ads_url=f"{order['url']}/ads")
    async with contextlib.AsyncExitStack() as stack:
        pacer = None
        if redis_url is not None:
            from socialapi.integrations.redis import RedisPacer

            pacer = await stack.enter_async_context(RedisPacer(redis_url, config))
        user = OAuth1("key", "key-secret", "token", "token-secret")
        client = await stack.enter_async_context(Client(config, [user], pacer=pacer))
        audience = client.ads.account("a").custom_audience(f"c{order.get('number', 0)}")
        file = Path(order["folder"], f"{order['kind']}.csv")
        began = time.monotonic()
        report = await audience.upload(file, packing="packed", default_region="US")
        ended = time.monotonic()
    told = {"began": began, "ended": ended, "seconds": ended - began}
    return {**told, "items": report.accepted}
