"""Streaming connections: listed and ended."""

import uuid

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.emulator.platform.state import StreamConnection
from socialapi.problems import Problem


def connect(service: Emulator, endpoint_id: str) -> str:
    """An active connection, as a stream would make it."""
    made = StreamConnection(
        id=str(uuid.uuid4()),
        app_key=service.ready["api_key"],
        endpoint_id=endpoint_id,
        connected_at=service.state.clock.now(),
    )
    service.state.platform.connections.append(made)
    return made.id


async def active(client: Client) -> list[str | None]:
    return [each.id for each in await client.connections.list().collect() if each.disconnected_at is None]


async def test_active_and_past_connections_are_listed(client: Client, service: Emulator) -> None:
    own = connect(service, "filtered_stream")
    connections = await client.connections.list(max_results=1).collect()
    assert len(connections) == 3
    past, current = connections[0], connections[-1]
    assert past.disconnected_at is not None
    assert past.connected_at is not None
    assert past.connected_at < past.disconnected_at
    assert past.disconnect_reason == "UpstreamOperationalDisconnect"
    assert (current.id, current.endpoint_name, current.disconnected_at) == (own, "filtered_stream", None)


async def test_connections_are_ended_by_their_ids(client: Client, service: Emulator) -> None:
    first, second, third = (connect(service, "filtered_stream") for _ in range(3))
    ended = await client.connections.end(first)
    assert (ended.errors, ended.ended_count, ended.uuids) == ((), 1, (first,))
    assert await active(client) == [second, third]
    ended = await client.connections.end([second, third])
    assert ended.ended_count == 2
    assert await active(client) == []


async def test_what_cannot_be_ended_is_a_partial_error(client: Client, service: Emulator) -> None:
    own, unknown = connect(service, "filtered_stream"), str(uuid.uuid4())
    ended = await client.connections.end(own, unknown)
    assert ended.uuids == (own,)
    (problem,) = ended.errors
    assert isinstance(problem, Problem)
    assert problem.says_not_found
    assert (problem.extra["value"], problem.extra["parameter"]) == (unknown, "uuids")


async def test_connections_of_an_endpoint_and_all_of_them_are_ended(client: Client, service: Emulator) -> None:
    filtered, activity = connect(service, "filtered_stream"), connect(service, "activity_stream")
    ended = await client.connections.end_endpoint("activity_stream")
    assert ended.uuids == (activity,)
    assert await active(client) == [filtered]
    last = await client.connections.end_all()
    assert (last.ended_count, last.uuids, last.failed_kills) == (1, (filtered,), 0)
    assert (await client.connections.end_all()).ended_count == 0
    assert [each.route for each in service.requests if each.method == "DELETE"] == [
        "/2/connections/{endpoint_id}",
        "/2/connections/all",
        "/2/connections/all",
    ]


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


async def test_ending_is_not_repeated_when_the_outcome_is_unknown(client: Client, service: Emulator) -> None:
    service.faults.add("reset_after", method="DELETE", path="/2/connections/all", times=1)
    with pytest.raises(errors.OutcomeUnknown):
        await client.connections.end_all()
    assert sum(each.method == "DELETE" for each in service.requests) == 1
