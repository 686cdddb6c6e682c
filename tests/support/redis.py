"""A Redis for the tests: a real server, or an imitation whose time is that of a clock."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn
from unittest import mock

import attrs
import fakeredis
import pytest
import redis
from fakeredis._socket import _base
from fakeredis.commands_mixins import server_mixin

from socialapi.session.clock import Clock

_DEADLINE_SECONDS: Final = 20
_WITHOUT_FILES: Final = ("--save", "", "--appendonly", "no")


def skip(why: str) -> NoReturn:
    """Skips the test, or lets it fail if it must not be skipped."""
    reason = f"needs Redis, or SOCIALAPI_TEST_REDIS_URL: {why}"
    if os.environ.get("SOCIALAPI_REQUIRE_REDIS"):
        pytest.fail(reason)
    pytest.skip(reason)


@attrs.define
class RedisServer:
    """A server of our own, which keeps nothing when it stops, and listens on a socket in a folder."""

    folder: Path
    options: tuple[str, ...] = ()
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"unix://{self.folder / 'socket'}"

    def start(self) -> None:
        """Starts it, and returns when it answers."""
        listens = ("--port", "0", "--unixsocket", str(self.folder / "socket"), "--dir", str(self.folder))
        # A file, as a Sentinel needs one.
        (self.folder / "redis.conf").touch()
        command = ("redis-server", str(self.folder / "redis.conf"), *listens, *_WITHOUT_FILES, *self.options)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        with redis.Redis.from_url(self.url) as asking:
            # Before redis 8 a missing socket is an error of the system alone, which is not repeated by itself.
            repeated = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError)
            backoff = redis.backoff.ConstantBackoff(0.02)
            asking.set_retry(redis.retry.Retry(backoff, _DEADLINE_SECONDS * 50, repeated))
            asking.ping()

    def stop(self) -> None:
        """Stops it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: int) -> None:
        """Sends its process a signal."""
        assert self._process is not None
        self._process.send_signal(number)


@contextlib.contextmanager
def own_redis(*options: str) -> Iterator[RedisServer]:
    """A server that a test may stop and start; without one, the test is skipped. Options are those of its command."""
    if shutil.which("redis-server") is None:
        skip("there is no redis-server (Debian: apt-get install redis-server)")
    # In /tmp, for the path of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="socialapi-redis-", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = RedisServer(Path(name), options)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def redis_running() -> Iterator[str]:
    """The address of a server: one that is named, or one of our own."""
    if address := os.environ.get("SOCIALAPI_TEST_REDIS_URL"):
        yield address
        return
    with own_redis() as server:
        yield server.url


@contextlib.contextmanager
def time_of_redis(clock: Clock) -> Iterator[None]:
    """While this lasts, imitations tell the time of the clock."""
    time = types.SimpleNamespace(time=clock.time)
    with mock.patch.object(_base, "time", time), mock.patch.object(server_mixin, "time", time):
        yield


def imitation(server: fakeredis.FakeServer | None = None) -> fakeredis.FakeAsyncRedis:
    """A connection to an imitation."""
    return fakeredis.FakeAsyncRedis(server=server or fakeredis.FakeServer())
