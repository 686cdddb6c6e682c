"""What the tests of the commands share."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from socialapi.emulator import Emulator
from tests.cli.running import Shell
from tests.cli.terminal import Printed, emulator_in_a_thread


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    for name in [name for name in os.environ if name.startswith("SOCIALAPI_")]:
        monkeypatch.delenv(name)
    return Shell(monkeypatch, capsys, tmp_path)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """For commands that a `Shell` runs, beside the loop of the test."""
    async with Emulator() as emulator:
        yield emulator


@pytest.fixture
def ready(shell: Shell, emulator: Emulator) -> Shell:
    """A shell whose commands talk to the emulator."""
    shell.put_service(emulator.ready)
    return shell


@pytest.fixture(scope="module")
def running() -> Iterator[Emulator]:
    """One for all tests of a file, in a thread of its own."""
    with emulator_in_a_thread() as emulator:
        yield emulator


@pytest.fixture
def service(running: Emulator, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """For commands run in the thread of the test, which talk to it by their environment; it is as new."""
    running.reset()
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "100")
    return running


@pytest.fixture
def printed(capsys: Printed) -> Printed:
    """What commands have written to standard output and standard error."""
    return capsys
