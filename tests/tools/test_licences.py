"""The licences of what the package needs are allowed; of what is installed here, without the network."""

import tomllib
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Final, cast

import pytest

from tools.licences import PROJECT, extras_of, is_allowed, licence_of, main, needed

ROOT: Final = Path(__file__).parents[2]


class Described:
    """A distribution of which only the metadata are asked for."""

    def __init__(self, *fields: tuple[str, str]) -> None:
        self.metadata = Message()
        for name, value in fields:
            self.metadata[name] = value


def licence(*fields: tuple[str, str]) -> str:
    return licence_of(cast("Distribution", Described(*fields)))


def test_every_licence_of_the_package_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert " licences are allowed, 0 are not; not installed: " in capsys.readouterr().out


def test_every_extra_but_that_of_the_development_is_looked_at() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras_of(PROJECT)) == declared.keys() - {"dev"}


def test_what_is_needed_is_followed_through_extras_and_their_needs() -> None:
    found = dict(needed(PROJECT, extras_of(PROJECT)))
    assert {"aiohttp", "multidict", "orjson", "rich", "pyarrow", "redis", "opentelemetry-api", "pytest"} <= found.keys()
    assert not {"mypy", "ruff", PROJECT} & found.keys()
    assert dict(needed("no-such-distribution")) == {}
    assert "pyarrow" not in dict(needed(PROJECT))


def test_a_licence_is_read_from_its_expression_or_else_its_class_or_else_its_name() -> None:
    old, text = ("Classifier", "License :: OSI Approved :: MIT License"), ("License", "BSD-3-Clause")
    assert licence(("License-Expression", "ISC"), old, text) == "ISC"
    assert licence(old, text) == "MIT"
    assert licence(text) == "BSD-3-Clause"
    assert licence(("License", "Apache 2.0")) == "Apache-2.0"
    assert licence(("License", "Permission is hereby granted, " * 20)) == ""
    assert licence() == ""


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR GPL-3.0-only)", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT AND (GPL-3.0-only OR AGPL-3.0-only))", False),
        ("Proprietary", False),
        ("", False),
    ],
)
def test_all_of_an_and_and_one_of_an_or_have_to_be_allowed(expression: str, allowed: Any) -> None:
    assert is_allowed(expression) is allowed


def test_a_licence_that_is_not_allowed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.licences.ALLOWED", frozenset({"MIT"}))
    assert main() == 1
    assert "aiohttp " in capsys.readouterr().out
