"""Token caches: where tokens are kept between calls and processes."""

import asyncio
import contextlib
import hashlib
import json
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, Protocol
from weakref import WeakValueDictionary

from socialapi.config import is_file_path, user_folder
from socialapi.errors import ConfigurationError
from socialapi.internal.private_files import make_private_folder, read_small, replacement
from socialapi.internal.secret import Secret
from socialapi.internal.shielded import shielded

LOCK_TIMEOUT_SECONDS: Final = 180.0
_POLL_SECONDS: Final = 0.02
"""How often to check whether the client of another thread still has a lock."""
MAX_CACHE_BYTES: Final = 64_000_000
"""The maximum size of a token file: about 250,000 tokens."""


class TokenCache(Protocol):
    """Stores one token per key. Keys are hashes and reveal nothing about the app's secrets."""

    async def load(self, key: str) -> str | None:
        """Returns the token, or None."""

    async def store(self, key: str, token: str) -> None:
        """Stores the token and replaces any other."""

    async def discard(self, key: str, token: str) -> None:
        """Deletes the token if it is still stored; a newer one stays."""

    def lock(self, key: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Returns a context manager that one caller at a time can hold while it fetches a token for the key."""


def cache_key(*parts: str) -> str:
    """Returns a cache key: a hash of the parts, from which they cannot be recovered."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


class MemoryTokenCache:
    """Keeps tokens in the memory of this process. Clients in several threads can share it."""

    def __init__(self) -> None:
        self._tokens: dict[str, str] = {}
        # Each lock exists while a task holds it or waits for it. One per event loop, because it works in only one.
        self._locks: WeakValueDictionary[tuple[str, asyncio.AbstractEventLoop], asyncio.Lock] = WeakValueDictionary()
        self._holders: dict[str, tuple[asyncio.AbstractEventLoop, int]] = {}
        self._mutex = threading.Lock()

    async def load(self, key: str) -> str | None:
        """Returns the token, or None."""
        return self._tokens.get(key)

    async def store(self, key: str, token: str) -> None:
        """Stores the token and replaces any other."""
        self._tokens[key] = token

    async def discard(self, key: str, token: str) -> None:
        """Deletes the token if it is still stored."""
        if self._tokens.get(key) == token:
            del self._tokens[key]

    @contextlib.asynccontextmanager
    async def lock(self, key: str) -> AsyncIterator[None]:
        """Holds the lock of the key, which only one caller in this process can hold at a time. Raises
        ConfigurationError if the lock is not free within 3 minutes.
        """
        loop = asyncio.get_running_loop()
        own = loop, os.getpid()
        lock = self._locks.setdefault((key, loop), asyncio.Lock())
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(LOCK_TIMEOUT_SECONDS):
                    await stack.enter_async_context(lock)
                    while not self._takes(key, own):  # noqa: ASYNC110  # an event does not work across event loops
                        await asyncio.sleep(_POLL_SECONDS)
            except TimeoutError:
                raise ConfigurationError(
                    f"a token is still locked by another client after {LOCK_TIMEOUT_SECONDS:.0f} s"
                ) from None
            try:
                yield
            finally:
                with self._mutex:
                    if self._holders.get(key) == own:
                        del self._holders[key]

    def _takes(self, key: str, own: tuple[asyncio.AbstractEventLoop, int]) -> bool:
        """Takes the key for an event loop of this process, and returns whether no other one has it. A loop that no
        longer runs, or that did not follow this process into a fork, may have left it.
        """
        with self._mutex:
            holder, process = self._holders.get(key, own)
            if holder is not own[0] and holder.is_running() and process == own[1]:
                return False
            self._holders[key] = own
            return True

    def __repr__(self) -> str:
        return f"MemoryTokenCache(<{len(self._tokens)} tokens>)"


class FileTokenCache:
    """Keeps tokens in one JSON file (mode 0600) that processes can share.

    The file is locked without blocking the event loop and replaced atomically. By default, it is in the user's cache
    directory. Raises ConfigurationError if `path` is not a path, or if it is missing and the user has no home
    directory.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        if path is not None and not is_file_path(path):
            raise ConfigurationError("the path of a token cache must be a valid file path, as a string or a Path")
        if path is None:
            path = user_folder("cache", "pass the path of the token cache") / "tokens.json"
        self.path: Path = Path(path)

    async def load(self, key: str) -> str | None:
        """Returns the token, or None. Raises ConfigurationError if the file cannot be read."""
        return (await asyncio.to_thread(self._read)).get(key)

    async def store(self, key: str, token: str) -> None:
        """Stores the token and replaces any other. Raises ConfigurationError if the file cannot be written."""
        await self._replaced(key, None, token)

    async def discard(self, key: str, token: str) -> None:
        """Deletes the token if it is still stored. Raises ConfigurationError if the file cannot be written."""
        await self._replaced(key, token, None)

    @contextlib.asynccontextmanager
    async def lock(self, key: str) -> AsyncIterator[None]:
        """Holds the lock of the key, which all processes that use the file share. Raises ConfigurationError if the lock
        is not free within 3 minutes.
        """
        # Imported here, because it takes a tenth of aiohttp's import time.
        from filelock import AsyncFileLock, Timeout

        lock = AsyncFileLock(f"{self.path}.{key}.lock", timeout=LOCK_TIMEOUT_SECONDS, mode=0o600)
        try:
            await asyncio.to_thread(make_private_folder, self.path.parent)
            await lock.acquire()
        except Timeout:
            raise ConfigurationError(
                f"the token cache {self.path} is still locked by another process after {LOCK_TIMEOUT_SECONDS:.0f} s"
            ) from None
        except OSError as problem:
            raise self._cannot_be_written(problem) from None
        try:
            yield
        finally:
            await lock.release()

    async def _replaced(self, key: str, expected: str | None, token: str | None) -> None:
        """Replaces a token in the file. Holds the lock until that is done, even if the caller is cancelled, because the
        thread continues and could otherwise undo another process's changes.
        """
        async with self.lock("write"):
            writing = asyncio.ensure_future(asyncio.to_thread(self._replace, key, expected, token))
            try:
                await shielded(writing)
            finally:
                while not writing.done():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.wait({writing})

    def _cannot_be_written(self, problem: OSError) -> ConfigurationError:
        return ConfigurationError(f"the token cache {self.path} cannot be written: {problem.strerror}")

    def _read(self) -> dict[str, str]:
        try:
            tokens = json.loads(read_small(self.path, MAX_CACHE_BYTES))
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise ConfigurationError(f"the token cache {self.path} cannot be read: {problem.strerror}") from None
        except (ValueError, RecursionError):
            # Files are replaced atomically, so this is not a half-written token file. Tokens can be fetched again.
            return {}
        return {k: Secret(v) for k, v in tokens.items() if isinstance(v, str)} if isinstance(tokens, dict) else {}

    def _replace(self, key: str, expected: str | None, token: str | None) -> None:
        tokens = self._read()
        if expected is not None and tokens.get(key) != expected:
            return
        tokens.pop(key, None)
        if token is not None:
            tokens[key] = token
        try:
            with replacement(self.path) as file:
                file.write(json.dumps(tokens).encode())
        except OSError as problem:
            raise self._cannot_be_written(problem) from None

    def __repr__(self) -> str:
        return f"FileTokenCache({str(self.path)!r})"
