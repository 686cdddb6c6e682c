"""Programs with clients of other authors, which run in an environment of their own."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi.emulator import Emulator
from tests.support.person import PIN, Person

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ROOT / ".clients" / "bin" / "python"
SECONDS: Final = 60.0


@attrs.define
class Program:
    """The program of a client, such as `with_tweepy`. `reached` is called when it asks to go on."""

    name: str
    emulator: Emulator
    person: Person = attrs.field(factory=lambda: Person("northwind", follows=False))
    reached: Callable[[], Awaitable[Any]] | None = None

    async def __call__(self, scenario: str, **told: Any) -> Any:
        """Runs one of its scenarios, and returns what it has found."""
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "NO_PROXY": "127.0.0.1"}
        command = (str(PYTHON), "-m", f"tests.clients.programs.{self.name}")
        child = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=2**20
        )
        try:
            async with asyncio.timeout(SECONDS):
                return await self._talk(
                    child, {"scenario": scenario, **self.emulator.ready, **self.emulator.seed, **told}
                )
        finally:
            if child.returncode is None:
                child.kill()
            await child.communicate()

    async def _talk(self, child: Process, told: Mapping[str, Any]) -> Any:
        assert child.stdout is not None
        assert child.stderr is not None
        await self._say(child, told)
        async for line in child.stdout:
            said = json.loads(line)
            if "result" in said:
                return said["result"]
            await self._say(child, await self._answer(said))
        pytest.fail((await child.stderr.read()).decode())

    async def _say(self, child: Process, told: Any) -> None:
        assert child.stdin is not None
        child.stdin.write(json.dumps(told, default=list).encode() + b"\n")
        await child.stdin.drain()

    async def _answer(self, said: Mapping[str, str]) -> str:
        if "visit" in said:
            page = await self.person.visit(said["visit"])
            shown = PIN.search(page)
            return shown[1] if shown else self.person.sent_to
        if self.reached is not None:
            await self.reached()
        return ""
