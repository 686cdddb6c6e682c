"""The licences of what the package needs are allowed; of what is installed here, without the network."""

import tomllib
from pathlib import Path
from typing import Final

import pytest

from tools.licences import PROJECT, extras_of, main

ROOT: Final = Path(__file__).parents[2]


def test_every_licence_of_the_package_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert " licences are allowed, 0 are not; not installed: " in capsys.readouterr().out


def test_every_extra_but_that_of_the_development_is_looked_at() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras_of(PROJECT)) == declared.keys() - {"dev"}


def test_a_licence_that_is_not_allowed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.licences.ALLOWED", frozenset({"MIT"}))
    assert main() == 1
    assert "aiohttp " in capsys.readouterr().out
