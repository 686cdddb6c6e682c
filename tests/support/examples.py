"""Runs the programs in `examples/` as a user does."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Final

import attrs
import pytest

from socialapi.emulator import Emulator
from tests.support.modules import module_at

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
ACCOUNT, AUDIENCE = "18ce54d4x5t", "1nmth"
PATIENCE_SECONDS: Final = 60


@attrs.define
class Program:
    """A program that runs, and what it has printed."""

    process: asyncio.subprocess.Process
    text: str = ""
    _printed: asyncio.Event = attrs.field(factory=asyncio.Event)

    @property
    def pid(self) -> int:
        return self.process.pid

    async def read(self) -> None:
        assert self.process.stdout is not None
        while content := await self.process.stdout.read(65_536):
            self.text += content.decode()
            self._printed.set()

    async def printed(self, text: str) -> None:
        """Returns once this has been printed."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while text not in self.text:
                    self._printed.clear()
                    await self._printed.wait()
        except TimeoutError:
            raise AssertionError(self.text) from None

    async def ended(self) -> int:
        """Returns the exit status."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.process.wait()


@contextlib.asynccontextmanager
async def started(
    emulator: Emulator, folder: Path, *command: str, strict: bool = True, **environment: str
) -> AsyncIterator[Program]:
    """An example, or a module of Python, that runs in a process group until the block ends.

    With `strict` a warning is an error, as in the tests.
    """
    program, *arguments = command
    what = (str(EXAMPLES / program),) if program.endswith(".py") else ("-m", program)
    python = (sys.executable, "-W", "error" if strict else "default", *what)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "SOCIALAPI_STATE_DIR": str(folder / "state")}
    process = await asyncio.create_subprocess_exec(
        *(("sh", str(EXAMPLES / program)) if program.endswith(".sh") else python),
        *arguments,
        cwd=folder,
        env=os.environ | own | emulator.environment | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    running = Program(process)
    reading = asyncio.create_task(running.read())
    try:
        yield running
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        await process.wait()
        await reading


def load(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: str, **environment: str) -> ModuleType:
    """An example as a module, for what no user can see from outside; imported with these arguments and variables."""
    monkeypatch.setattr("sys.argv", [name, *arguments])
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    return module_at(EXAMPLES / name)


async def run(
    emulator: Emulator, folder: Path, *command: str, status: int = 0, strict: bool = True, **environment: str
) -> str:
    """What an example prints, which has to end with this status."""
    async with started(emulator, folder, *command, strict=strict, **environment) as program:
        found = await program.ended()
    assert found == status, program.text
    return program.text


def successes(emulator: Emulator, route: str | None = None) -> int:
    """How many requests were successful, of all or of one route."""
    return sum(each.status == 200 and route in (None, each.route) for each in emulator.requests)
