"""The bounds that the page on security names are those of the code."""

import inspect
import re
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi import Config
from socialapi.session.authenticators import MAX_PENDING_SIGN_INS
from socialapi.session.transport import MAX_REFUSAL_BYTES
from socialapi.webhooks import Receiver
from socialapi.webhooks.connections import MAX_CONNECTIONS
from socialapi.webhooks.endpoint import MAX_READING_BYTES

PAGE: Final = (Path(__file__).parents[1] / "docs" / "security.md").read_text("utf-8")
DEFAULTS: Final[dict[str, Any]] = {field.name: field.default for field in attrs.fields(Config)} | {
    name: parameter.default for name, parameter in inspect.signature(Receiver).parameters.items()
}


def bounds() -> str:
    (table,) = re.findall(r"(?s)## Bounds\n(.*?)\n## ", PAGE)
    found: str = table
    return found


def test_every_bound_is_the_default_of_its_setting() -> None:
    named = re.findall(r"`(?:Config\.)?(\w+)` \(([\d,]+)( MB)?\)", bounds())
    assert len(named) == 11
    for name, number, unit in named:
        assert DEFAULTS[name] == int(number.replace(",", "")) * (1_000_000 if unit else 1), name


def test_every_setting_that_is_named_without_its_default_exists() -> None:
    assert set(re.findall(r"`(?:Config\.)?([a-z]+_\w+|retries)`", bounds())) <= DEFAULTS.keys()


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("a refusal, 1 MB |", MAX_REFUSAL_BYTES == 1_000_000),
        ("; 64 MB of all that are unfinished |", MAX_READING_BYTES == 64_000_000),
        ("| connections of `webhooks listen` | 4,096 |", MAX_CONNECTIONS == 4_096),
        ("| sign-ins that were begun | 1,000 |", MAX_PENDING_SIGN_INS == 1_000),
    ],
)
def test_a_bound_that_cannot_be_set_is_that_of_the_code(text: str, bound: bool) -> None:
    assert text in bounds()
    assert bound
