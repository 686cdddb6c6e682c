"""Receivers under the servers that they are made for."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import aiohttp
import uvicorn

from socialapi.webhooks import Receiver
from tests.webhooks.posting import Sender, running, until


@contextlib.asynccontextmanager
async def under_uvicorn(receiver: Receiver) -> AsyncIterator[Sender]:
    """The receiver alone under uvicorn, in this process and loop."""
    config = uvicorn.Config(receiver.asgi, log_config=None, access_log=False, lifespan="on")
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
