"""The witness of a soak excuses what asyncio forgets of the receiver, and nothing of anybody else."""

import asyncio
import logging
import types
import warnings
from typing import Any

import pytest

from tests.soak.client_process import Witness, text_without_values


def unraisable(transport: Any) -> Any:
    """What Python tells of a transport whose destructor warns, where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            transport.__del__()
        except ResourceWarning as warning:
            return types.SimpleNamespace(
                exc_value=warning, exc_traceback=warning.__traceback__, object=type(transport).__del__
            )
    raise AssertionError("the destructor does not warn")


@pytest.mark.parametrize("end", ["of the receiver", "of the client"])
async def test_a_forgotten_transport_is_excused_if_it_is_the_receivers(end: str) -> None:
    loop = asyncio.get_running_loop()
    accepted: asyncio.Future[asyncio.BaseTransport] = loop.create_future()

    class Keeping(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.set_result(transport)

    server = await loop.create_server(Keeping, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    own, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", port)
    its: Any = await accepted
    witness = Witness(port)
    witness._unraisable(unraisable(its if end == "of the receiver" else own))
    assert len(witness.unhandled) == (end == "of the client")
    for each in (own, its):
        each.abort()
    server.close()
    await server.wait_closed()
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("text", "arguments", "shown"),
    [
        ("connecting again in %.1f s: %s%s", (1.5, "lost", ""), "connecting again in … s: …"),
        ("%s", ("events have no id",), "events have no id"),
        ("100 %s", (), "100 %s"),
    ],
)
def test_records_that_differ_by_their_values_are_counted_as_one(
    text: str, arguments: tuple[object, ...], shown: str
) -> None:
    record = logging.LogRecord("socialapi", logging.WARNING, __file__, 1, text, arguments, None)
    assert text_without_values(record) == shown
