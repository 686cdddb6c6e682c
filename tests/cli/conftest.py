"""What the tests of the commands share."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from socialapi.emulator import Emulator
from tests.cli.running import Shell


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    for name in [name for name in os.environ if name.startswith("SOCIALAPI_")]:
        monkeypatch.delenv(name)
    return Shell(monkeypatch, capsys, tmp_path)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator() as emulator:
        yield emulator
