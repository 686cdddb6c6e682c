"""The pytest plugin: fixtures for an emulator, a client for it, and mocked responses.

It is installed with the package, so a test can simply request the fixtures:

    async def test_upload(socialapi_client, socialapi_emulator):
        account, audience = socialapi_emulator.seed["account_ids"][0], socialapi_emulator.seed["custom_audience_ids"][0]
        await socialapi_client.ads.account(account).custom_audience(audience).upload([{"email": "ada@example.com"}])

`socialapi_emulator` and `socialapi_client` are asynchronous and need pytest-asyncio. The other fixtures also work in
synchronous tests.
"""

import asyncio
import contextlib
import functools
import importlib.util
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from aioresponses import aioresponses as AioResponses  # noqa: N812 - a class with the name of its module

    from socialapi.client import Client
    from socialapi.emulator import Emulator, EmulatorThread

F = TypeVar("F", bound=Callable[..., Any])

_ASYNC_FIXTURES: Final = ("socialapi_emulator", "socialapi_client")
_KEPT_VARIABLES: Final = ("SOCIALAPI_NO_SPEEDUPS", "SOCIALAPI_HASHING")
_LOOK_AGAIN_SECONDS: Final = 0.02


def _fixture(function: F) -> F:
    """Returns an asynchronous fixture.

    Without pytest-asyncio, returns a plain fixture, because pytest loads the plugin in every environment.
    """
    if importlib.util.find_spec("pytest_asyncio") is None:
        return cast("F", pytest.fixture(function))
    import pytest_asyncio

    return cast("F", pytest_asyncio.fixture(function))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Runs the asynchronous fixtures in the event loop of the test that requests them.

    By default, pytest-asyncio runs fixtures in their own loop, which is not running while a test uses the loop of its
    class, module or session.
    """
    if fixturedef.argname in _ASYNC_FIXTURES and getattr(fixturedef.func, "__module__", None) == __name__:
        function: Any = fixturedef.func
        function._loop_scope = _loop_scope(request.node)  # noqa: SLF001 - what pytest-asyncio reads next
    return (yield)


def _loop_scope(item: Any) -> str | None:
    """Returns the scope of a test's event loop, or None if the scope does not need to change."""
    named = inspect.signature(item.obj).parameters if hasattr(item, "obj") else ()
    marker = item.get_closest_marker("asyncio")
    if marker is None or not set(_ASYNC_FIXTURES).intersection(named):
        return None
    chosen = marker.kwargs.get("loop_scope") or marker.kwargs.get("scope")
    scope = chosen or item.config.getini("asyncio_default_test_loop_scope")
    return str(scope)


@pytest.fixture(scope="session")
def socialapi_emulator_options() -> Mapping[str, Any]:
    """Returns the keyword arguments of `Emulator` for all emulators of these fixtures. There are
    none, unless a `conftest.py` overrides this fixture.
    """
    return {}


@_fixture
async def socialapi_emulator(socialapi_emulator_options: Mapping[str, Any]) -> "AsyncIterator[Emulator]":
    """Yields an emulator for this test, on a separate port and with its seed data."""
    from socialapi.emulator import Emulator

    async with Emulator(**socialapi_emulator_options) as emulator:
        yield emulator


SCOPE_HEADER: Final = "x-emulator-scope"


@pytest.fixture
def socialapi_scope(request: pytest.FixtureRequest) -> dict[str, str]:
    """Returns a header that distinguishes this test's requests from the requests of other tests with the same emulator.
    `Client(…, headers=socialapi_scope)` sends it, and a fault with `headers=socialapi_scope` affects only these
    requests.
    """
    return {SCOPE_HEADER: quote(request.node.nodeid, safe="/:.[]-")}


@_fixture
async def socialapi_client(
    socialapi_emulator: "Emulator | EmulatorThread", socialapi_scope: dict[str, str]
) -> "AsyncIterator[Client]":
    """Yields a client for `socialapi_emulator`, with the credentials of an app and a user. It sends the header in
    `socialapi_scope`.
    """
    from socialapi.client import Client

    emulator = socialapi_emulator
    async with Client(emulator.config, emulator.credentials, headers=socialapi_scope) as client:
        yield client


def _emulator_thread(options: Mapping[str, Any]) -> "EmulatorThread":
    from socialapi.emulator import Emulator, EmulatorThread

    return EmulatorThread(Emulator(**options))


@pytest.fixture(scope="session")
def socialapi_emulator_session(socialapi_emulator_options: Mapping[str, Any]) -> "Iterator[EmulatorThread]":
    """Yields an emulator on a separate thread for the entire session (with pytest-xdist, one per worker).
    `socialapi_emulator_sync` returns the same emulator, reset for each test.
    """
    with _emulator_thread(socialapi_emulator_options) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def socialapi_emulator_module(socialapi_emulator_options: Mapping[str, Any]) -> "Iterator[EmulatorThread]":
    """Yields an emulator on a separate thread for the tests of a module, which share its data."""
    with _emulator_thread(socialapi_emulator_options) as emulator:
        yield emulator


@pytest.fixture
def socialapi_emulator_sync(socialapi_emulator_session: "EmulatorThread") -> "EmulatorThread":
    """Resets the emulator of the session for this test, and returns it. Its methods are synchronous."""
    socialapi_emulator_session.reset()
    return socialapi_emulator_session


@pytest.fixture
def socialapi_env(socialapi_emulator_sync: "EmulatorThread", monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Sets the environment so that `Client.from_env` returns a client for `socialapi_emulator_sync`. Returns the
    variables. Until the test ends, no other `SOCIALAPI_*` variables are set.
    """
    for name in list(os.environ):
        if name.startswith("SOCIALAPI_") and name not in _KEPT_VARIABLES:
            monkeypatch.delenv(name)
    variables = socialapi_emulator_sync.environment
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


class FollowingClock:
    """A `Clock` for a client that follows the clock of an emulator, so that a wait ends when the
    emulator's clock is advanced.

        async with Client(emulator.config, emulator.credentials, clock=FollowingClock(emulator)) as client:
            emulator.advance(900)

    Between advances, it runs like the system's clock. Signatures use the wall time, because the emulator checks them
    against it.
    """

    def __init__(self, emulator: "Emulator | EmulatorThread") -> None:
        self._emulator = emulator
        self._seen = emulator.advanced_seconds
        self._passed = 0.0

    def time(self) -> float:
        """Returns the wall time in epoch seconds, which is not advanced."""
        return time.time()

    def monotonic(self) -> float:
        """Returns seconds since a fixed moment, including all advances. A reset of the emulator does not undo them."""
        now = self._emulator.advanced_seconds
        self._passed += max(0.0, now - self._seen)
        self._seen = now
        return time.monotonic() + self._passed

    async def sleep(self, seconds: float) -> None:
        """Waits for `seconds`, or until the emulator's clock has been advanced by that amount."""
        ends_at = self.monotonic() + seconds
        await asyncio.sleep(0)
        # Polls, because an advance may come from another thread and is not signaled.
        while (left := ends_at - self.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(left, _LOOK_AGAIN_SECONDS))


@contextlib.contextmanager
def aioresponses(**options: Any) -> "Iterator[AioResponses]":
    """Yields `aioresponses.aioresponses(**options)`, which answers aiohttp requests with the responses that you define
    and sends none. Also works with aiohttp versions that break aioresponses 0.7.

        with aioresponses() as mocked:
            mocked.get("https://api.example.com/2/tweets?ids=1", payload={"data": [{"id": "1", "text": "Hello"}]})

    Use it to test the content of requests and responses. There are no connections, so proxies, timeouts, trace hooks,
    compressed responses and broken connections are not covered, and responses arrive immediately. Raises ImportError
    without aioresponses.
    """
    try:
        from aioresponses import core
    except ImportError:
        raise ImportError("mocking responses needs aioresponses: pip install 'aiosocialapi[testing]'") from None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "ClientResponse", _response_class())
        with core.aioresponses(**options) as mocked:
            yield mocked


@functools.cache
def _response_class() -> "type[ClientResponse]":
    """Returns a response class that aioresponses can instantiate: without the stream writer that aiohttp has required
    since 3.14.
    """
    from aiohttp import ClientResponse

    if "stream_writer" not in inspect.signature(ClientResponse).parameters:
        return ClientResponse

    class MockedResponse(ClientResponse):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            options.setdefault("stream_writer", SimpleNamespace(output_size=0))
            super().__init__(*arguments, **options)

    return MockedResponse


@pytest.fixture
def socialapi_responses() -> "Iterator[AioResponses]":
    """Yields the mock that `aioresponses()` yields, for this test."""
    with aioresponses() as mocked:
        yield mocked
