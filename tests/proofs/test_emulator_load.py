"""The emulator under two thousand connections at once: nothing fails, and its memory does not grow."""

import asyncio
import contextlib
import itertools
from collections import Counter
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from tests.proofs.processes import Service, service
from tests.proofs.upload_client import resident_bytes

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("emulator_load")]

CONNECTIONS: Final = 2_000
SECONDS: Final = 30.0
SAMPLES: Final = 6
MEGABYTE: Final = 1_000_000
BYTES_OF_A_LOGGED_REQUEST: Final = 1_000
"""The log keeps the latest requests, up to 100,000: so much memory may each of them take."""
MAX_GROWTH: Final = 10 * MEGABYTE
"""What memory may grow by beside the log."""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc to read memory from")
async def test_two_thousand_connections_at_once_are_served_without_an_error(proof_scale: float) -> None:
    connections, seconds = int(CONNECTIONS * proof_scale), max(SECONDS * proof_scale, 2.0)
    with service() as emulator:
        statuses: Counter[int] = Counter()
        load = asyncio.create_task(serve_all(emulator, connections, seconds, statuses))
        held: list[tuple[int, int]] = []
        most_at_once = 0
        for _ in range(SAMPLES):
            await asyncio.wait({load}, timeout=seconds / SAMPLES)
            held.append((statuses.total(), resident_bytes(emulator.pid)))
            most_at_once = max(most_at_once, sockets(emulator.pid))
        await load
    print(f"\n{statuses.total():,} requests over {most_at_once:,} connections at once in {seconds:.0f} s: {statuses}")
    print("resident after requests: " + ", ".join(f"{size / MEGABYTE:.0f} MB after {n:,}" for n, size in held))
    assert set(statuses) == {200}
    assert most_at_once >= connections
    (first_count, first_size), (last_count, last_size) = held[1], held[-1]
    assert last_size - first_size < MAX_GROWTH + (last_count - first_count) * BYTES_OF_A_LOGGED_REQUEST


async def serve_all(emulator: Service, connections: int, seconds: float, statuses: Counter[int]) -> None:
    """Asks over so many connections for so long."""
    seed = emulator.ask("GET", "seed")
    ids = ",".join(seed["post_ids"][:5])
    paths = itertools.cycle((f"/2/tweets?ids={ids}", f"/2/users/{seed['user_ids'][0]}/tweets?max_results=5"))
    headers = {"Authorization": f"Bearer {emulator.ready['bearer_token']}"}
    ends_at = asyncio.get_running_loop().time() + seconds
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=0)

    async def ask_on() -> None:
        while asyncio.get_running_loop().time() < ends_at:
            async with session.get(emulator.ready["base_url"] + next(paths)) as response:
                await response.read()
                statuses[response.status] += 1

    async with aiohttp.ClientSession(connector=connector, headers=headers) as session, asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(ask_on())


def sockets(pid: int) -> int:
    """How many sockets a process has open."""
    count = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            count += str(each.readlink()).startswith("socket:")
    return count
