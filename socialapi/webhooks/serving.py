"""A receiver on a port of its own."""

import contextlib
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from socialapi.errors import ConfigurationError
from socialapi.webhooks.receiver import Receiver

SHUTDOWN_SECONDS: Final = 5.0


@contextlib.asynccontextmanager
async def serving(receiver: Receiver, host: str, port: int) -> AsyncIterator[str]:
    """Runs a receiver alone for as long as the block lasts, and gives its address; port 0 takes a free one.

    Raises ConfigurationError when the port cannot be had, or the receiver's inbox cannot be used.
    """
    # No access log: it would hold the tokens of challenges.
    runner = web.AppRunner(receiver, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    try:
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, OverflowError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise ConfigurationError(f"cannot listen on {host} port {port}: {reason}") from None
        port = runner.addresses[0][1]
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        await runner.cleanup()
