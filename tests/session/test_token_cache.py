"""Where tokens are kept: in memory, and in a file that processes share."""

# ruff: noqa: ASYNC240  # a test may look at a file where it stands

import asyncio
import gc
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from socialapi.errors import ConfigurationError
from socialapi.session import token_cache as module
from socialapi.session.token_cache import FileTokenCache, MemoryTokenCache, TokenCache, cache_key
from tests.support.clock import turns
from tests.support.waiting import until

SECRET = "token-planted-4711"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made on first use" / "tokens.json"


@pytest.fixture(params=["memory", "file"])
def cache(request: pytest.FixtureRequest, path: Path) -> TokenCache:
    makers: dict[str, Callable[[], TokenCache]] = {"memory": MemoryTokenCache, "file": lambda: FileTokenCache(path)}
    return makers[request.param]()


async def test_a_token_is_kept_under_its_key(cache: TokenCache) -> None:
    assert await cache.load("a") is None
    await cache.store("a", "one")
    await cache.store("b", "two")
    assert (await cache.load("a"), await cache.load("b"), await cache.load("c")) == ("one", "two", None)
    await cache.store("a", "three")
    assert (await cache.load("a"), await cache.load("b")) == ("three", "two")


async def test_a_token_is_discarded_by_its_value_so_that_a_newer_one_stays(cache: TokenCache) -> None:
    await cache.store("a", "new")
    await cache.discard("a", "old")
    assert await cache.load("a") == "new"
    await cache.discard("a", "new")
    assert await cache.load("a") is None
    await cache.discard("a", "new")


async def test_only_one_at_a_time_holds_the_lock_of_a_key(cache: TokenCache) -> None:
    holders = 0
    most = 0

    async def hold() -> None:
        nonlocal holders, most
        async with cache.lock("a"):
            holders += 1
            most = max(most, holders)
            await cache.store("a", str(most))
            holders -= 1

    await asyncio.gather(*(hold() for _ in range(4)))
    assert most == 1


async def test_the_file_stays_locked_while_it_is_written_though_the_call_was_cancelled(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = FileTokenCache(path)
    await cache.store("a", "one")
    read, may_write = threading.Event(), threading.Event()

    def read_slowly() -> dict[str, str]:
        tokens: dict[str, str] = json.loads(path.read_text("utf-8"))
        read.set()
        assert may_write.wait(60)
        return tokens

    monkeypatch.setattr(cache, "_read", read_slowly)
    storing = asyncio.create_task(cache.store("b", "two"))
    await until(read.is_set)
    for _ in range(2):  # cancelling twice does not give up the lock either
        storing.cancel()
        await turns()
    try:
        with pytest.raises(Timeout):
            FileLock(f"{path}.write.lock", timeout=0).acquire()
    finally:
        may_write.set()
    with pytest.raises(asyncio.CancelledError):
        await storing
    await FileTokenCache(path).store("c", "three")
    assert json.loads(path.read_text("utf-8")) == {"a": "one", "b": "two", "c": "three"}


async def test_a_write_that_fails_after_its_call_was_cancelled_is_not_reported_as_unhandled(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = FileTokenCache(path)
    began, may_fail = threading.Event(), threading.Event()

    def fail_slowly() -> dict[str, str]:
        began.set()
        assert may_fail.wait(60)
        raise ConfigurationError("the disk is full")

    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    monkeypatch.setattr(cache, "_read", fail_slowly)
    storing = asyncio.create_task(cache.store("a", "one"))
    await until(began.is_set)
    storing.cancel()
    await turns()
    may_fail.set()
    with pytest.raises(asyncio.CancelledError):
        await storing
    del storing
    gc.collect()
    assert reported == []


def test_a_key_names_an_app_without_revealing_it() -> None:
    key = cache_key("https://api.example.com", "planted-key")
    assert "planted" not in key
    assert len(key) == 32
    assert cache_key("ab", "c") != cache_key("a", "bc")


# The file


async def test_the_file_can_be_read_by_its_owner_alone_and_so_can_its_folder(path: Path) -> None:
    old_mask = os.umask(0)
    try:
        await FileTokenCache(path).store("a", SECRET)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}


async def test_a_file_that_others_can_read_is_replaced_by_one_they_cannot(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o644)
    await FileTokenCache(path).store("a", SECRET)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content", [b"", b'{"a": "on', b"[1]", b'"a"', b"\xff\xfe", b'{"a": 5, "b": null}', b"[" * 100_000]
)
async def test_a_file_that_makes_no_sense_is_as_good_as_none(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    cache = FileTokenCache(path)
    assert await cache.load("a") is None
    await cache.store("a", "one")
    assert await cache.load("a") == "one"


async def test_what_others_keep_in_the_file_stays(path: Path) -> None:
    await asyncio.gather(*(FileTokenCache(path).store(f"app {number}", str(number)) for number in range(8)))
    assert json.loads(path.read_text()) == {f"app {number}": str(number) for number in range(8)}


async def test_a_file_that_cannot_be_read_says_so(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(ConfigurationError, match=r"the token cache .*tokens\.json cannot be read: Is a directory"):
        await FileTokenCache(path).load("a")


async def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = FileTokenCache(tmp_path / "file" / "tokens.json")
    with pytest.raises(ConfigurationError, match=r"the token cache .*tokens\.json cannot be written: "):
        await cache.store("a", "one")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
async def test_a_folder_that_cannot_be_written_to_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match=r"tokens\.json cannot be written: Permission denied"):
        await FileTokenCache(tmp_path / "tokens.json").store("a", "one")


async def test_a_disk_that_is_full_leaves_the_old_file_and_no_other(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    cache = FileTokenCache(path)
    await cache.store("a", "one")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match="cannot be written: No space left on device"):
        await cache.store("a", SECRET)
    assert json.loads(path.read_text()) == {"a": "one"}
    assert not [each for each in path.parent.iterdir() if each.suffix not in (".json", ".lock")]


async def test_a_lock_that_another_process_never_gives_back_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_TIMEOUT_SECONDS", 0.01)
    path.parent.mkdir()
    with (
        FileLock(f"{path}.a.lock"),
        pytest.raises(ConfigurationError, match=r"is still locked by another process after 0 s"),
    ):
        async with FileTokenCache(path).lock("a"):
            pass


async def test_a_lock_in_memory_that_another_client_never_gives_back_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOCK_TIMEOUT_SECONDS", 0.01)
    cache = MemoryTokenCache()
    async with cache.lock("a"):
        with pytest.raises(ConfigurationError, match=r"^a token is still locked by another client after 0 s$"):
            async with cache.lock("a"):
                pass
    async with cache.lock("a"):
        pass


def test_one_client_at_a_time_holds_the_lock_of_a_key_in_all_threads(cache: TokenCache) -> None:
    """Each event loop had a lock of its own, so two threads used the same refresh token, and the user was signed out."""
    order: list[str] = []

    def work() -> None:
        async def hold() -> None:
            async with cache.lock("a"):
                order.append("enters")
                await asyncio.sleep(0.02)
                order.append("leaves")

        asyncio.run(hold())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == ["enters", "leaves"] * len(threads)


async def test_a_cache_in_memory_keeps_no_lock_that_nobody_holds() -> None:
    cache = MemoryTokenCache()
    for key in map(str, range(100)):
        async with cache.lock(key):
            assert [name for name, _ in cache._locks] == list(cache._holders) == [key]
    assert not cache._locks
    assert not cache._holders


def test_without_a_path_the_file_is_in_the_cache_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    found = FileTokenCache().path
    assert found.name == "tokens.json"
    assert "socialapi" in found.parts
