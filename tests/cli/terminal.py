"""What the tests of the command line share: a service to talk to, files, and a program run as people run it."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
import pytest

from socialapi.emulator import Emulator
from tests.support.waiting import until

Printed = pytest.CaptureFixture[str]
IN_THE_BACKGROUND: Final = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")
"""Starts a program as a shell without job control starts `program &`: with SIGINT ignored."""


@contextlib.contextmanager
def emulator_in_a_thread() -> Iterator[Emulator]:
    """For commands run in this thread, which have an event loop of their own."""
    ready = threading.Event()
    found: list[Emulator] = []
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        async with Emulator() as emulator:
            found.append(emulator)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.Runner(loop_factory=lambda: loop).run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield found[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def write_people(path: Path, count: int, *more: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in ("email", *(f"p{n}@example.com" for n in range(count)), *more)))
    return path


def last_json(out: str) -> dict[str, Any]:
    """The report, which is the last line of the output."""
    report: dict[str, Any] = orjson.loads(out.splitlines()[-1])
    return report


async def answered(emulator: Emulator, status: int, number: int) -> None:
    """Waits until so many requests of a job were answered so."""
    await until(lambda: sum(request.status == status for request in emulator.requests) >= number)


@attrs.define
class Program:
    """`python -m socialapi` as it runs."""

    process: asyncio.subprocess.Process

    async def ended(self, read: bytes | None = None) -> tuple[int, str, str]:
        """Its exit status and what it wrote to standard output and standard error, once it has `read` this."""
        async with asyncio.timeout(60):
            out, err = await self.process.communicate(read)
        status = self.process.returncode
        assert status is not None
        return status, (out or b"").decode(), err.decode()  # there is none where the output goes elsewhere

    def interrupt(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)


@contextlib.asynccontextmanager
async def program(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    stdin: int = asyncio.subprocess.DEVNULL,
    stdout: int = asyncio.subprocess.PIPE,
    before: Sequence[str] = (),
) -> AsyncIterator[Program]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALAPI_")}
    process = await asyncio.create_subprocess_exec(
        *(*before, sys.executable, "-W", "error", "-m", "socialapi", *map(str, arguments)),
        env=kept | dict(environment or {}),
        stdin=stdin,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
