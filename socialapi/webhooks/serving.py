"""Serves a receiver on its own port."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from socialapi.errors import ConfigurationError
from socialapi.internal.listening import why_not_listening
from socialapi.webhooks import connections
from socialapi.webhooks.connections import Connections
from socialapi.webhooks.receiver import Receiver

SHUTDOWN_SECONDS: Final = 5.0
_FEWEST: Final = 8
_TURNS: Final = 64
"""The server accepts at most the connection limit divided by this number per iteration of the event loop. This sets the
size of asyncio's backlog. A request is read after about five iterations, and until then, newer connections must not
displace its connection.
"""
_MAX_PENDING: Final = 1_024
"""How many connections may wait in the kernel. Further connections are dropped, and clients retry them after a second.
"""

_aiohttp_logger: Final = logging.getLogger("socialapi.webhooks.aiohttp")


@contextlib.asynccontextmanager
async def serving(receiver: Receiver, host: str, port: int) -> AsyncIterator[str]:
    """Runs a server for this receiver while the block runs, and yields its URL. Port 0 selects a free port.

    The server always has room for another connection. Raises ConfigurationError if the port is not available or the
    receiver's inbox cannot be used.
    """
    descriptors = connections.descriptors()
    most = int(max(_FEWEST, min(connections.MAX_CONNECTIONS, descriptors // 2)))
    bounded = Connections(most)
    receiver.middlewares.append(bounded.middleware)
    _aiohttp_logger.addFilter(_is_no_broken_request)
    # No access log: it would contain the tokens of challenges.
    runner = web.AppRunner(
        receiver, access_log=None, logger=_aiohttp_logger, auto_decompress=False, shutdown_timeout=SHUTDOWN_SECONDS
    )
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(runner.cleanup)
        await runner.setup()
        bounded.server = runner.server
        stack.enter_context(connections.log_accept_errors_rarely())
        try:
            server = await asyncio.get_running_loop().create_server(bounded, host, port, backlog=max(1, most // _TURNS))
        except (OSError, OverflowError) as problem:
            reason = why_not_listening(problem)
            raise ConfigurationError(f"cannot listen on {host} port {port}: {reason}") from None
        stack.callback(server.close)
        for each in server.sockets:
            with socket.fromfd(each.fileno(), each.family, each.type) as listening:
                listening.listen(_MAX_PENDING)
        port = server.sockets[0].getsockname()[1]
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_no_broken_request(record: logging.LogRecord) -> bool:
    """Filters out aiohttp's tracebacks for malformed requests, which anyone can send."""
    return record.exc_info is None or type(record.exc_info[1]).__module__ != "aiohttp.http_exceptions"
