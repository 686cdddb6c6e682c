"""The script of shared windows on a Redis of its own, under a clock that is given."""

import contextlib
import importlib.resources
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import attrs

READS_THE_CLOCK: Final = "redis.call('TIME')"
IS_GIVEN_THE_TIME: Final = "{ KEYS[7], '0' }"
KEYS: Final = ("state", "flying", "counted", "promises", "interactive", "bulk")
START_SECONDS: Final = 10.0
Values = list[Any]


@attrs.frozen
class Call:
    """A call of the script for the window of a scenario, at a time in seconds. Without arguments the
    window is lost instead, as by a Redis that is restarted without its data.
    """

    window: str
    at: float
    arguments: Sequence[str]

    def keys(self) -> list[str]:
        """Returns the keys of the script; the last one is the time, which is no key of Redis."""
        return [f"{{{self.window}}}:{name}" for name in KEYS] + [f"{self.at:.6f}"]


class Server(Protocol):
    """Where the script runs."""

    name: str

    def evaluate(self, calls: Sequence[Call]) -> list[Values]:
        """Returns what the script returned to each call. The calls come one after another."""


def script_text() -> str:
    """Returns the text of the script, which differs in the one place where it reads the clock.

    Raises ValueError if there is not exactly one.
    """
    text = importlib.resources.files("socialapi.integrations").joinpath("shared_window.lua").read_text("utf-8")
    places = text.count(READS_THE_CLOCK)
    if places != 1:
        raise ValueError(f"the script reads the clock in {places} places")
    return text.replace(READS_THE_CLOCK, IS_GIVEN_THE_TIME)


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Runs a private `redis-server` until the end of the block; fakeredis where there is none."""
    program = shutil.which("redis-server")
    if program is None:
        yield FakeServer()
        return
    with tempfile.TemporaryDirectory(prefix="simulate-") as folder:
        path = Path(folder, "redis.sock")
        command = (program, "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder) as process:
            try:
                with _connected(path) as connection, connection.makefile("rb") as replies:
                    yield RealServer(connection, replies)
            finally:
                process.terminate()


def _connected(path: Path) -> socket.socket:
    """Returns a connection once the server answers. Raises OSError if it does not in time."""
    until = time.monotonic() + START_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
        except OSError:
            connection.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return connection


class RealServer:
    """A connection that sends the calls of all scenarios together. A client library would take twice
    the time for a call.
    """

    def __init__(self, connection: socket.socket, replies: BinaryIO) -> None:
        self._connection = connection
        self._replies = replies
        self._send([("SCRIPT", "LOAD", script_text()), ("INFO", "server")])
        self._digest = self._reply().decode()
        told = dict(line.split(":", 1) for line in self._reply().decode().splitlines() if ":" in line)
        self.name = f"redis-server {told['redis_version']}"

    def evaluate(self, calls: Sequence[Call]) -> list[Values]:
        """Returns what the script returned to each call."""
        self._send(self._command(call) for call in calls)
        return [self._reply() for _ in calls]

    def _command(self, call: Call) -> Sequence[str]:
        keys = call.keys()
        if not call.arguments:
            return ("DEL", *keys)
        return ("EVALSHA", self._digest, str(len(keys)), *keys, *call.arguments)

    def _send(self, commands: Iterable[Sequence[str]]) -> None:
        parts = []
        for command in commands:
            parts.append(f"*{len(command)}\r\n")
            parts += [f"${len(each)}\r\n{each}\r\n" for each in command]  # all of it is ASCII
        self._connection.sendall("".join(parts).encode("ascii"))

    def _reply(self) -> Any:
        line = self._replies.readline()
        kind, told = line[:1], line[1:-2]
        if kind == b"$":
            return self._replies.read(int(told) + 2)[:-2]
        if kind == b"*":
            return [self._reply() for _ in range(int(told))]
        if kind != b":":
            raise RuntimeError(f"Redis answered {line!r}")
        return int(told)


class FakeServer:
    """fakeredis, which needs nothing to be installed and takes some thirty times as long."""

    name = "fakeredis"

    def __init__(self) -> None:
        import fakeredis

        self._redis = fakeredis.FakeRedis()
        self._script = self._redis.register_script(script_text())

    def evaluate(self, calls: Sequence[Call]) -> list[Values]:
        """Returns what the script returned to each call."""
        return [self._evaluated(call) for call in calls]

    def _evaluated(self, call: Call) -> Values:
        if not call.arguments:
            return [self._redis.delete(*call.keys())]
        values: Values = self._script(keys=call.keys(), args=call.arguments)
        return values
