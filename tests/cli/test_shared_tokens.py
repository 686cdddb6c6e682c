"""Commands that share their tokens through Redis, beside the file of their machine."""

from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest

from socialapi.cli.credential_store import SharedTokens, open_client, shared_tokens
from socialapi.integrations.redis import RedisTokenCache
from socialapi.session.token_cache import FileTokenCache
from tests.support.redis import imitation, redis_running
from tests.support.telemetry import Recorded, recorded

__all__ = ["recorded"]


@pytest.fixture
def in_file(tmp_path: Path) -> FileTokenCache:
    return FileTokenCache(tmp_path / "tokens.json")


@pytest.fixture
def in_redis() -> RedisTokenCache:
    return RedisTokenCache(imitation(fakeredis.FakeServer()))


async def test_a_token_renewed_before_there_was_a_redis_is_found_and_shared(
    in_file: FileTokenCache, in_redis: RedisTokenCache
) -> None:
    await in_file.store("key", "renewed")
    assert await SharedTokens(in_redis, in_file).load("key") == "renewed"
    assert await in_redis.load("key") == "renewed"


async def test_a_renewed_token_is_kept_in_both_places_and_forgotten_in_both(
    in_file: FileTokenCache, in_redis: RedisTokenCache
) -> None:
    tokens = SharedTokens(in_redis, in_file)
    async with tokens.lock("key"):
        await tokens.store("key", "token")
    assert [await each.load("key") for each in (in_file, in_redis)] == ["token", "token"]
    await tokens.discard("key", "another")
    assert [await each.load("key") for each in (in_file, in_redis)] == ["token", "token"]
    await tokens.discard("key", "token")
    assert [await each.load("key") for each in (in_file, in_redis)] == [None, None]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with redis_running() as address:
        yield address


async def test_a_command_has_the_tokens_of_redis_where_the_environment_names_one(
    in_file: FileTokenCache, url: str, recorded: Recorded
) -> None:
    async with shared_tokens({"SOCIALAPI_REDIS_URL": url, "SOCIALAPI_TELEMETRY": "1"}, in_file) as tokens:
        assert isinstance(tokens, SharedTokens)
        await tokens.store("test-key", "token")
        await tokens.discard("test-key", "token")
    async with shared_tokens({}, in_file) as tokens:
        assert tokens is in_file
    assert [span.name for span in recorded.spans] == ["SET", "EVALSHA delete_if"]


async def test_a_client_of_a_command_is_closed_at_its_end(tmp_path: Path) -> None:
    environ = {
        "SOCIALAPI_BASE_URL": "https://service.example",
        "SOCIALAPI_CREDENTIALS_FILE": str(tmp_path / "credentials.json"),
        "SOCIALAPI_BEARER_TOKEN": "token",
    }
    async with open_client(environ) as client:
        assert client.config.base_url == "https://service.example"
    with pytest.raises(RuntimeError, match="this client is closed"):
        await client.webhooks.list()
