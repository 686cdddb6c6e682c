"""Ending streaming connections: what is refused, and an id that stays in its segment."""

import uuid

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator


async def test_an_endpoint_with_odd_letters_stays_in_its_segment(client: Client, service: Emulator) -> None:
    await client.connections.end_endpoint("a/../all?x=1")
    assert service.requests[-1].path == "/2/connections/a%2F..%2Fall%3Fx%3D1"


async def test_none_at_all_is_refused_before_anything_is_sent(client: Client, service: Emulator) -> None:
    with pytest.raises(errors.InvalidInput, match="uuids: must have at least 1"):
        await client.connections.end()
    with pytest.raises(errors.InvalidInput, match=r"uuids\[1\]: must be a string"):
        await client.connections.end("a", uuid.UUID(int=5))  # type: ignore[arg-type]  # an object where a text is meant
    with pytest.raises(errors.InvalidInput, match="endpoint_id must not be empty"):
        await client.connections.end_endpoint("")
    assert not service.requests
