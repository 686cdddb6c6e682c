"""A receiver whose process is killed, and two processes with one inbox."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from socialapi.errors import ConfigurationError
from socialapi.webhooks import Receiver
from tests.webhooks.posting import SECRET, Sender, event, numbers, rest, take

PROGRAM = Path(__file__).with_name("accepting.py")
ROOT = Path(__file__).parents[2]


@contextlib.asynccontextmanager
async def another_process(inbox: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, Sender]]:
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


async def test_nothing_that_was_accepted_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox.sqlite"
    async with another_process(inbox) as (process, sender):
        answers = await asyncio.gather(*(sender.post(event(number)) for number in range(50)))
        assert {answer.status for answer in answers} == {200}
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"handling ")
        process.kill()
        await process.wait()
    async with Receiver(SECRET, inbox=inbox) as receiver:
        assert sorted(numbers(await take(receiver, 50)), key=int) == [str(number) for number in range(50)]
        assert await receiver._store.add(None, event(50)) == "new"
        assert numbers(await take(receiver, 1)) == ["50"]
        assert receiver.counters.finished == 50
    async with Receiver(SECRET, inbox=inbox) as receiver:
        assert numbers(await take(receiver, 1)) == ["50"]  # whose handling was not followed by anything


async def test_an_inbox_belongs_to_one_process(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox.sqlite"
    second = Receiver(SECRET, inbox=inbox)
    waiting = asyncio.ensure_future(rest(second))
    async with another_process(inbox) as (_, sender):
        assert (await sender.post(event(1))).status == 200
        with pytest.raises(ConfigurationError, match=r"inbox\.sqlite is in use by another process: wait for that one"):
            async with second:
                raise AssertionError
        assert await waiting == []
        assert (await sender.post(event(2))).status == 200
