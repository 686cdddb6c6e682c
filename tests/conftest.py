"""What the tests of several folders share."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import aioresponses.core
import hypothesis
import pytest
from aioresponses import aioresponses as AioResponses  # noqa: N812  # a class with the name of its module

from tests.support.clock import VirtualClock
from tests.support.postgresql import new_database, postgresql_running

# Machines that run the tests are slow at times; what an example may take is not what is tested.
hypothesis.settings.register_profile("house", deadline=None, max_examples=60)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))

# Programs that the tests start inherit what is ignored, and a shell ignores Ctrl-C for what it runs in the background.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def clock() -> VirtualClock:
    """Virtual time, which begins at 2027-01-15T08:00:00Z."""
    return VirtualClock()


class _WithStreamWriter(aiohttp.ClientResponse):
    """A response that can be made as aioresponses makes it: without the writer that aiohttp has asked for since 3.14."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("stream_writer", None)
        # A writer that is done would have its size asked for.
        options["writer"] = asyncio.get_running_loop().create_future()
        super().__init__(*arguments, **options)


@pytest.fixture
def mocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[AioResponses]:
    """aioresponses, for the shape of requests only: it skips connections, trace hooks, timeouts and middlewares."""
    monkeypatch.setattr(aioresponses.core, "ClientResponse", _WithStreamWriter)
    with AioResponses() as mocked:
        yield mocked


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    with postgresql_running() as address:
        yield address


@pytest.fixture
async def postgresql(postgresql_server: str) -> AsyncIterator[str]:
    """The address of an empty database."""
    async with new_database(postgresql_server) as address:
        yield address
