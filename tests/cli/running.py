"""The command line against a service in this process."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest

from socialapi.cli.app import run


@attrs.frozen
class Outcome:
    """What a command ended with."""

    status: int
    out: str
    err: str

    @property
    def objects(self) -> list[Any]:
        return [orjson.loads(line) for line in self.out.splitlines()]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, header first."""
        return [line.split("\t") for line in self.out.splitlines()]


class Shell:
    """Runs commands in a thread, with an environment that has only what is put into it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.credentials_path = folder / "config" / "credentials.json"
        self.put(CREDENTIALS_FILE=str(self.credentials_path))

    def put(self, **variables: str) -> None:
        for name, value in variables.items():
            self._monkeypatch.setenv(f"SOCIALAPI_{name}", value)

    def drop(self, *names: str) -> None:
        for name in names:
            self._monkeypatch.delenv(f"SOCIALAPI_{name}")

    def put_service(self, ready: Mapping[str, str], *names: str) -> None:
        """The values of a ready line; without names all of them."""
        self.put(**{name.upper(): value for name, value in ready.items() if not names or name in names})

    async def run(self, *arguments: str) -> Outcome:
        self._capsys.readouterr()
        status = await asyncio.to_thread(run, arguments)
        out, err = self._capsys.readouterr()
        return Outcome(status, out, err)
