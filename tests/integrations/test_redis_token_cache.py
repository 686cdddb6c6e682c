"""Tokens that processes share in Redis."""

import asyncio
from typing import Any

import fakeredis
import pytest
from redis.asyncio.lock import Lock
from redis.exceptions import AuthenticationError, LockNotOwnedError
from redis.exceptions import ConnectionError as ConnectionLost

from socialapi import AppOnly, Client
from socialapi.emulator import Emulator
from socialapi.errors import ConfigurationError, TransportError
from socialapi.integrations import redis as module
from socialapi.integrations.redis import RedisTokenCache
from tests.support.redis import imitation


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


async def test_a_token_that_one_process_stored_another_loads(server: fakeredis.FakeServer) -> None:
    one, other = RedisTokenCache(imitation(server)), RedisTokenCache(imitation(server))
    await one.store("key", "tökén")
    assert await other.load("key") == "tökén"
    assert await other.load("another") is None


async def test_a_token_is_discarded_only_if_it_is_still_the_one(server: fakeredis.FakeServer) -> None:
    cache = RedisTokenCache(imitation(server))
    await cache.store("key", "new")
    await cache.discard("key", "old")
    assert await cache.load("key") == "new"
    await cache.discard("key", "new")
    assert await cache.load("key") is None


async def test_a_lock_is_given_up_when_redis_answers_no_more(
    server: fakeredis.FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection of the user's own may have no timeout."""
    monkeypatch.setattr(module, "REPLY_SECONDS", 0.05)
    never = asyncio.Event()

    async def nothing(lock: Lock) -> None:
        await never.wait()

    cache = RedisTokenCache(imitation(server))
    async with cache.lock("key"):
        monkeypatch.setattr(Lock, "release", nothing)
        await cache.store("key", "kept")
    assert await cache.load("key") == "kept"


async def test_the_lock_is_renewed_again_after_redis_did_not_answer_once(
    server: fakeredis.FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = ["refused", "no answer", "renewed", "lost"]
    met: list[str] = []
    never = asyncio.Event()

    async def next_outcome(lock: Lock) -> None:
        met.append(outcomes[len(met)])
        if met[-1] == "refused":
            raise ConnectionLost("gone")
        if met[-1] == "no answer":
            await never.wait()
        if met[-1] == "lost":
            raise LockNotOwnedError("lost")

    monkeypatch.setattr(Lock, "reacquire", next_outcome)
    monkeypatch.setattr(module, "REPLY_SECONDS", 0.05)
    monkeypatch.setattr(module, "LOCK_LEASE_SECONDS", 0.0)
    cache = RedisTokenCache(imitation(server))
    await module._renew_lock(cache._server, cache._server.redis.lock("key"))
    assert met == outcomes


async def test_clients_of_several_processes_fetch_one_app_only_token(server: fakeredis.FakeServer) -> None:
    """The service refuses an app that asks for tokens too often."""
    async with Emulator(port=0) as emulator:
        keys = next(each for each in emulator.credentials if isinstance(each, AppOnly))
        for _ in range(3):
            cache = RedisTokenCache(imitation(server))
            async with Client(emulator.config, [keys], token_cache=cache) as client:
                await client.webhooks.list()
        asked = [each for each in emulator.requests if each.path == "/oauth2/token"]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("problem", "kind", "says"),
    [
        (ConnectionLost("secret"), TransportError, "the Redis server that keeps the tokens did not answer"),
        (AuthenticationError("secret"), ConfigurationError, "keeps the tokens denies access: AuthenticationError"),
    ],
)
async def test_a_redis_that_fails_is_named_and_no_token_is_shown(
    problem: Exception, kind: type[Exception], says: str
) -> None:
    redis = imitation()

    async def fail(*arguments: Any, **options: Any) -> Any:
        raise problem

    redis.execute_command = fail  # type: ignore[method-assign]
    cache = RedisTokenCache(redis)
    for attempt in (cache.load("key"), cache.store("key", "secret"), cache.discard("key", "secret")):
        with pytest.raises(kind, match=says) as caught:
            await attempt
        assert "secret" not in repr(caught.value)
        assert caught.value.__context__ is None
    assert "secret" not in repr(cache)
