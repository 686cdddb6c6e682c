"""Receivers under the servers that they are made for."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn

from socialapi.webhooks import Receiver
from tests.support.waiting import until
from tests.webhooks.posting import SECRET, Sender, running

PROGRAM = Path(__file__).with_name("accepting.py")
ROOT = Path(__file__).parents[2]


def under_uvicorn(receiver: Receiver) -> AbstractAsyncContextManager[Sender]:
    """The receiver alone under uvicorn."""
    return serving_asgi(receiver.asgi)


@contextlib.asynccontextmanager
async def serving_asgi(app: Any) -> AsyncIterator[Sender]:
    """An application under uvicorn, in this process and loop."""
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await until(lambda: server.started or serving.done())
            async with aiohttp.ClientSession() as session:
                yield Sender(f"http://127.0.0.1:{listening.getsockname()[1]}/", session)
        finally:
            server.should_exit = server.force_exit = True
            await serving


SERVERS: dict[str, Callable[[Receiver], AbstractAsyncContextManager[Sender]]] = {
    "aiohttp": running,
    "uvicorn": under_uvicorn,
}


@contextlib.asynccontextmanager
async def another_process(inbox: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, Sender]]:
    """A receiver in a process of its own, which gets no event done."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", str(PROGRAM), str(inbox), SECRET), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30), aiohttp.ClientSession() as session:
            port = int(await process.stdout.readline())
            yield process, Sender(f"http://127.0.0.1:{port}", session)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
