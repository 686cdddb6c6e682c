"""The page on migration shows each program twice: both do the same to the service and print the same."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from unittest import mock

import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.server import variables
from tests.clients.program import Program
from tests.test_readme import Snippet, run_python

PAGE: Final = Path(__file__).parents[2] / "docs" / "migration.md"
PAIRS: Final = re.findall(r"```py\n(.*?)```.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


async def test_there_are_two_programs_of_each_library() -> None:
    libraries = [re.findall(r"^(?:import|from) (tweepy|xdk|twitter_ads)\b", old, re.MULTILINE)[0] for old, _ in PAIRS]
    assert libraries == ["tweepy"] * 2 + ["xdk"] * 2 + ["twitter_ads"] * 2


@pytest.mark.parametrize(("old", "new"), PAIRS)
async def test_the_program_before_and_the_one_after_do_the_same(old: str, new: str, tmp_path: Path) -> None:
    async def outcome(run: Callable[[Emulator, dict[str, str]], Awaitable[str]]) -> tuple[str, set[tuple[str, str]]]:
        async with Emulator() as emulator:
            printed = await run(emulator, {**os.environ, **variables(emulator.ready)})
            return printed, emulator.members("18ce54d4x5t", "1nmth")

    async def before(emulator: Emulator, environment: dict[str, str]) -> str:
        with mock.patch.dict(os.environ, environment):
            return str(await Program("with_page", emulator)("program", source=old, page=PAGE.name))

    async def after(_: Emulator, environment: dict[str, str]) -> str:
        return await asyncio.to_thread(run_python, Snippet("python", 1, new, PAGE.name), tmp_path, environment)

    done = await outcome(before)
    assert done[0]
    assert await outcome(after) == done
