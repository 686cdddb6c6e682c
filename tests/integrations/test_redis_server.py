"""A real server: what an imitation does not do."""

import logging
import signal
import sys
from collections.abc import Iterator

import pytest
import redis.asyncio

from socialapi import Client, Config
from socialapi.emulator import Emulator
from socialapi.errors import ConfigurationError
from socialapi.integrations import redis as integration
from socialapi.integrations.redis import RedisPacer, RedisTokenCache
from socialapi.routes.route import RateLimit
from tests.support.redis import RedisServer, own_redis

LIMIT = RateLimit("x", 100, 60.0)


@pytest.fixture(scope="module")
def running() -> Iterator[RedisServer]:
    with own_redis() as server:
        yield server


async def test_clients_made_from_the_environment_share_one_window(running: RedisServer) -> None:
    async with Emulator(port=0) as emulator:
        ready = {f"SOCIALAPI_{name.upper()}": value for name, value in emulator.ready.items()}
        environ = {**ready, "SOCIALAPI_REDIS_URL": running.url, "SOCIALAPI_REDIS_NAMESPACE": "shared"}
        async with Client.from_env(environ) as one, Client.from_env(environ) as other:
            await one.webhooks.list()
            await other.webhooks.list()
            (status,) = other.limits.values()
    assert status.in_flight == 1
    async with redis.asyncio.Redis.from_url(running.url) as asking:
        counted = [key async for key in asking.scan_iter(match="socialapi:*webhooks*:state")]
    assert len(counted) == 1


async def test_a_connection_of_the_users_own_is_left_open(running: RedisServer) -> None:
    async with redis.asyncio.Redis.from_url(running.url) as own:
        async with RedisPacer(own) as pacer:
            (await pacer.acquire("own", LIMIT, bulk=False, max_wait_seconds=1.0)).replied(None)
        await RedisTokenCache(own).aclose()
        assert await own.ping()


async def test_a_script_that_the_server_has_forgotten_is_loaded_again(running: RedisServer) -> None:
    async with RedisPacer(running.url) as pacer, redis.asyncio.Redis.from_url(running.url) as asking:
        (await pacer.acquire("forgotten", LIMIT, bulk=True, max_wait_seconds=1.0)).replied(None)
        await asking.script_flush()
        (await pacer.acquire("forgotten", LIMIT, bulk=True, max_wait_seconds=1.0)).replied(None)
        assert pacer.limits()["forgotten"].limit == 100


async def test_a_server_that_stands_still_is_waited_for_and_nothing_is_counted_twice(
    running: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(integration, "REPLY_SECONDS", 0.1)

    class GoesOnAtTheFirstFailure(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            running.signal(signal.SIGCONT)

    handler = GoesOnAtTheFirstFailure(logging.WARNING)
    async with RedisPacer(running.url) as pacer:
        (await pacer.acquire("still", LIMIT, bulk=True, max_wait_seconds=1.0)).replied(None)
        logging.getLogger("socialapi").addHandler(handler)
        running.signal(signal.SIGSTOP)
        try:
            await pacer.acquire("still", LIMIT, bulk=True, max_wait_seconds=30.0)
        finally:
            running.signal(signal.SIGCONT)
            logging.getLogger("socialapi").removeHandler(handler)
        assert caplog.messages == ["Redis does not answer (TimeoutError): calls wait for it"]
        assert pacer.limits()["still"].remaining == 98


async def test_a_server_that_needs_a_password_refuses_without_a_wait(running: RedisServer) -> None:
    async with redis.asyncio.Redis.from_url(running.url) as asking:
        await asking.config_set("requirepass", "secret")
    try:
        async with RedisPacer(running.url) as pacer:
            with pytest.raises(ConfigurationError, match="the Redis server that keeps the rate limits refuses access"):
                await pacer.acquire("p", LIMIT, bulk=False, max_wait_seconds=10.0)
        async with RedisPacer(running.url.replace("unix://", "unix://:secret@")) as pacer:
            (await pacer.acquire("p", LIMIT, bulk=False, max_wait_seconds=10.0)).unsent()
    finally:
        async with redis.asyncio.Redis.from_url(running.url.replace("unix://", "unix://:secret@")) as asking:
            await asking.config_set("requirepass", "")


def test_without_the_library_the_variable_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    monkeypatch.delitem(sys.modules, "socialapi.integrations.redis")
    monkeypatch.delattr("socialapi.integrations.redis")
    with pytest.raises(ConfigurationError, match=r"pip install 'aiosocialapi\[redis\]'"):
        Client.from_env({"SOCIALAPI_REDIS_URL": "redis://localhost"})


async def test_a_pacer_of_ones_own_takes_the_place_of_the_variable_and_is_left_open(running: RedisServer) -> None:
    environ = {"SOCIALAPI_REDIS_URL": running.url, "SOCIALAPI_BASE_URL": "https://service.example"}
    async with RedisPacer(running.url, Config()) as pacer:
        async with Client.from_env(environ, pacer=pacer) as client:
            assert client.limits == {}
        (await pacer.acquire("own", LIMIT, bulk=False, max_wait_seconds=1.0)).unsent()
