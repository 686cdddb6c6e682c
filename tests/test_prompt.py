"""What the objects that people make say at a prompt."""

from pathlib import Path

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.streams import Dispatcher
from socialapi.webhooks import Receiver


async def test_objects_say_what_they_are_and_what_to_write_instead_of_for(tmp_path: Path) -> None:
    emulator = Emulator()
    assert repr(emulator) == "<Emulator not running>"
    async with emulator, Client(emulator.config, credentials=emulator.credentials) as client:
        host = emulator.config.base_url
        assert repr(emulator) == f"<Emulator at {host}>"
        stream = client.filtered_stream.connect()
        about = f"<Stream of /2/tweets/search/stream at {host.removeprefix('http://')}"
        assert repr(stream) == f"{about}: new, 0 items>"
        async with stream:
            assert repr(stream) == f"{about}: connected, 0 items>"
        with pytest.raises(TypeError, match="socialapi stream is asynchronous: use `async with stream:`"):
            list(stream)  # type: ignore[call-overload]
    dispatcher = Dispatcher()
    dispatcher.on("post.create", "post.delete")(print)
    assert repr(dispatcher) == "<Dispatcher of post.create, post.delete>"
    receiver = Receiver("the-secret", inbox=tmp_path / "inbox")
    assert repr(receiver) == f"<Receiver, 0 events waiting in {str(tmp_path / 'inbox')!r}>"
    assert not list(receiver), "a receiver is an aiohttp application, and so a mapping"
