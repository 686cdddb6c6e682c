"""The pytest plugin: fixtures for an emulator and a client of it.

It is installed with the package, so a test only names the fixtures:

    async def test_upload(socialapi_client, socialapi_emulator):
        account, audience = socialapi_emulator.seed["account_ids"][0], socialapi_emulator.seed["custom_audience_ids"][0]
        await socialapi_client.ads.account(account).custom_audience(audience).upload([{"email": "ada@example.com"}])

The fixtures are asynchronous and need pytest-asyncio.
"""

import importlib.util
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

if TYPE_CHECKING:
    from socialapi.client import Client
    from socialapi.emulator import Emulator


F = TypeVar("F", bound=Callable[..., Any])


def _fixture(function: F) -> F:
    """Returns an asynchronous fixture.

    Without pytest-asyncio it is a plain one: pytest loads the plugin in every environment.
    """
    if importlib.util.find_spec("pytest_asyncio") is None:
        return cast("F", pytest.fixture(function))
    import pytest_asyncio

    return cast("F", pytest_asyncio.fixture(function))


@_fixture
async def socialapi_emulator() -> "AsyncIterator[Emulator]":
    """Yields an emulator on a port of its own, with its seed data, for this test."""
    from socialapi.emulator import Emulator

    async with Emulator() as emulator:
        yield emulator


@_fixture
async def socialapi_client(socialapi_emulator: "Emulator") -> "AsyncIterator[Client]":
    """Yields a client of `socialapi_emulator`, with the credentials of an app and of a user."""
    from socialapi.client import Client

    async with Client(socialapi_emulator.config, socialapi_emulator.credentials) as client:
        yield client
