"""A real server: what an imitation does not do."""

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator

import pytest
import redis.asyncio

from socialapi import Client, Config
from socialapi.emulator import Emulator
from socialapi.errors import ConfigurationError, RateLimitTooLong
from socialapi.integrations import redis_server, redis_window
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
        environ = {**emulator.environment, "SOCIALAPI_REDIS_URL": running.url, "SOCIALAPI_REDIS_NAMESPACE": "shared"}
        async with Client.from_env(environ) as one, Client.from_env(environ) as other:
            await one.webhooks.list()
            await other.webhooks.list()
            (status,) = other.limits.values()
    assert status.in_flight == 1
    async with redis.asyncio.Redis.from_url(running.url) as asking:
        counted = [key async for key in asking.scan_iter(match="socialapi:*webhooks*:state")]
    assert len(counted) == 1


async def test_a_fork_of_a_process_gets_places_of_its_own(running: RedisServer) -> None:
    """A server that loads an application before it forks its workers."""
    script = f"""
import asyncio, os
from socialapi.integrations.redis import RedisPacer
from socialapi.routes.route import RateLimit

pacer = RedisPacer({running.url!r})

async def take() -> int:
    granted = 0
    for _ in range(20):
        slot = await pacer.acquire("forked", RateLimit("forked", 30, 600.0), bulk=False, max_wait_seconds=0.2)
        slot.replied(None)
        granted += 1
        os.write(1, b"%d\\n" % os.getpid())  # at once, or lines of processes mix

children = [os.fork() for _ in range(2)]
try:
    asyncio.run(take())
except Exception:
    pass
if all(children):
    for child in children:
        os.waitpid(child, 0)
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    said, _ = await process.communicate()
    assert len(said.split()) == 30
    assert len(set(said.split())) >= 2


async def test_an_earlier_state_that_a_snapshot_brings_back_is_told_what_it_lacks(running: RedisServer) -> None:
    limit = RateLimit("dumped", 10, 600.0)
    async with RedisPacer(running.url) as pacer, redis.asyncio.Redis.from_url(running.url) as asking:

        async def send(count: int) -> None:
            for _ in range(count):
                (await pacer.acquire("dumped", limit, bulk=False, max_wait_seconds=1.0)).replied(None)

        await send(2)
        keys = [key async for key in asking.scan_iter(match="*dumped*")]
        dumps = {key: await asking.dump(key) or b"" for key in keys}
        await send(6)
        for key, dump in dumps.items():
            await asking.restore(key, 600_000, dump, replace=True)
        with pytest.raises(RateLimitTooLong):
            await send(3)
        assert pacer.limits()["dumped"].remaining == 0


def test_a_pacer_says_that_it_belongs_to_one_event_loop(running: RedisServer) -> None:
    pacer = RedisPacer(running.url)

    async def send() -> None:
        (await pacer.acquire("loops", LIMIT, bulk=False, max_wait_seconds=1.0)).unsent()

    async def last() -> None:
        try:
            with pytest.raises(RuntimeError, match="belongs to another event loop"):
                await send()
        finally:
            await pacer.aclose()

    async def first() -> None:
        await send()
        await pacer._script.server.redis.connection_pool.disconnect()

    asyncio.run(first())
    asyncio.run(last())


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
    monkeypatch.setattr(redis_server, "REPLY_SECONDS", 0.1)
    monkeypatch.setattr(redis_window, "REPLY_SECONDS", 0.1)

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
        assert caplog.messages == ["Redis does not answer (TimeoutError): calls wait for it", "Redis answers again"]
        away, back = caplog.records
        assert vars(away)["socialapi_error"] == "TimeoutError"
        assert 0.0 < vars(back)["socialapi_duration_seconds"] < 30.0
        assert pacer.limits()["still"].remaining == 98


async def test_a_server_that_needs_a_password_refuses_without_a_wait(running: RedisServer) -> None:
    async with redis.asyncio.Redis.from_url(running.url) as asking:
        await asking.config_set("requirepass", "secret")
    try:
        async with RedisPacer(running.url) as pacer:
            with pytest.raises(ConfigurationError, match="the Redis server that keeps the rate limits denies access"):
                await pacer.acquire("p", LIMIT, bulk=False, max_wait_seconds=10.0)
        async with RedisPacer(running.url.replace("unix://", "unix://:secret@")) as pacer:
            (await pacer.acquire("p", LIMIT, bulk=False, max_wait_seconds=10.0)).unsent()
    finally:
        async with redis.asyncio.Redis.from_url(running.url.replace("unix://", "unix://:secret@")) as asking:
            await asking.config_set("requirepass", "")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("Protocol error: unauthenticated multibulk length", "denies access"),
        ("Protocol error: unauthenticated bulk length", "denies access"),
        ("MOVED 3999 127.0.0.1:6381", "belongs to a Redis cluster"),
        ("Error running script: @user_script:57: -READONLY You can't write", "is a read-only replica"),
        ("ACL failure in script: User x has no permissions", "denies access"),
        ("Protocol error: too big mbulk count string", None),
        ("LOADING Redis is loading the dataset in memory", None),
        ("MISCONF Redis is configured to save RDB snapshots", None),
    ],
)
async def test_an_answer_that_does_not_change_is_a_refusal(answer: str, says: str | None) -> None:
    """As redis 5 to 7 raise them, and servers of other versions write them."""
    async with redis.asyncio.Redis() as unused:
        server = redis_server.RedisServer(unused, keeps="the rate limits")
        refusal = server.refusal(redis.exceptions.ResponseError(answer))
    assert (refusal is None) if says is None else says in str(refusal)


def test_without_the_library_the_variable_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    for name in ("redis", "redis_server", "redis_window"):
        monkeypatch.delitem(sys.modules, f"socialapi.integrations.{name}")
        monkeypatch.delattr(f"socialapi.integrations.{name}")
    with pytest.raises(ConfigurationError, match=r"pip install 'aiosocialapi\[redis\]'"):
        Client.from_env({"SOCIALAPI_REDIS_URL": "redis://localhost"})


async def test_a_pacer_of_ones_own_takes_the_place_of_the_variable_and_is_left_open(running: RedisServer) -> None:
    environ = {"SOCIALAPI_REDIS_URL": running.url, "SOCIALAPI_BASE_URL": "https://service.example"}
    async with RedisPacer(running.url, Config()) as pacer:
        async with Client.from_env(environ, pacer=pacer) as client:
            assert client.limits == {}
        (await pacer.acquire("own", LIMIT, bulk=False, max_wait_seconds=1.0)).unsent()
