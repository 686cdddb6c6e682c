"""The stub and the contestants, each in a process of its own, so that only what is compared is
measured.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Protocol

import attrs

from benchmarks.harness.work import Contestant, Order, Told

ROOT: Final = Path(__file__).parents[2]
LONGEST_SECONDS: Final = 1_200.0
# Long enough that filling the processor's caches again does not show, and much shorter than the
# seconds for which a neighbour on the machine slows it down.
TURN_SECONDS: Final = 0.05


class Failed(Exception):
    """A contestant ended without an answer."""


@attrs.frozen
class StubProcess:
    """The running stub."""

    url: str

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Settings for the next contestant; what was counted before is forgotten."""
        self._ask("set", json.dumps(dict(settings)).encode())

    def seen(self) -> dict[str, Any]:
        """What arrived since."""
        return self._ask("seen", None)

    def _ask(self, what: str, body: bytes | None) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}/_stub/{what}", data=body)
        with urllib.request.urlopen(request) as answer:
            told: dict[str, Any] = json.load(answer)
        return told


@contextlib.contextmanager
def stub() -> Iterator[StubProcess]:
    """A stub, until the end of the block."""
    command = [sys.executable, "-m", "benchmarks.harness.stub"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=_environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield StubProcess(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.stdin.close()


class TakesTurns(Protocol):
    """Somebody who works for as long as it is told to."""

    name: str
    turns: int

    def work(self, seconds: float, /) -> bool:
        """Gives it a turn of so many seconds; returns whether it has ended."""

    def kill(self) -> None:
        """Ends it, if it has not ended."""


class Running:
    """A contestant at work, in a fresh process that starts with its first turn.

    It stands still between its turns. What stands still uses no processor time, but the clock goes
    on.
    """

    def __init__(self, contestant: Contestant, order: Order) -> None:
        self.name = contestant.name
        self.turns = 0
        self._contestant = contestant
        self._order = order
        self._process: subprocess.Popen[str] | None = None
        self._said = ("", "")

    def work(self, seconds: float) -> bool:
        """Gives it a turn of so many seconds; returns whether it has ended."""
        self.turns += 1
        unread = None
        if self._process is None:
            self._process = self._start()
            unread = json.dumps({**self._order, **self._contestant.options})
        else:
            self._process.send_signal(signal.SIGCONT)
        try:
            self._said = self._process.communicate(unread, timeout=seconds)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGSTOP)
            return False
        return True

    @property
    def exit_status(self) -> int | None:
        """That of its process; None before its end."""
        return None if self._process is None else self._process.returncode

    def told(self) -> Told:
        """What it told at its end. Raises Failed with the end of what it said."""
        stdout, stderr = self._said
        if self.exit_status != 0:
            raise Failed(f"{self.name} ended with status {self.exit_status}:\n{stderr[-2_000:]}")
        told: Told = json.loads(stdout.splitlines()[-1])
        return told

    def kill(self) -> None:
        """Ends it, if it has not ended."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.contestant", self._contestant.module, self._contestant.job]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**_environment(), **self._contestant.environment},
        )


def run(contestant: Contestant, order: Order) -> Told:
    """What the contestant tells. Raises Failed with the end of what it said."""
    running = Running(contestant, order)
    run_by_turns([running], {})
    return running.told()


def run_by_turns(running: Sequence[TakesTurns], expected_turns: Mapping[str, int]) -> None:
    """Returns when all have ended. One of them works at a time: whoever has had the smallest part of
    the turns that are expected of it.

    So a slow second of the machine is shared by all in proportion, and the last ones end nearly
    together. The last one is not interrupted.
    """
    waiting, deadline = list(running), time.monotonic() + LONGEST_SECONDS
    try:
        while waiting:
            following = min(waiting, key=lambda each: each.turns / expected_turns.get(each.name, 1))
            remaining_seconds = deadline - time.monotonic()
            if remaining_seconds <= 0:
                raise Failed(f"{following.name} has not ended after {LONGEST_SECONDS:,.0f} s")
            if following.work(min(TURN_SECONDS, remaining_seconds) if len(waiting) > 1 else remaining_seconds):
                waiting.remove(following)
    finally:
        for each in waiting:
            each.kill()


def run_at_once(running: Sequence[TakesTurns]) -> None:
    """Lets all work at the same time, and returns when they have ended. Raises Failed if one takes
    longer than `LONGEST_SECONDS`.
    """
    waiting = list(running)

    def work(each: TakesTurns) -> None:
        if each.work(LONGEST_SECONDS):
            waiting.remove(each)

    with ThreadPoolExecutor(len(running)) as threads:
        try:
            list(threads.map(work, running))
        finally:  # before the threads are waited for
            late = list(waiting)
            for each in late:
                each.kill()
    if late:
        raise Failed(f"{' and '.join(each.name for each in late)} did not end within {LONGEST_SECONDS:,.0f} s")


def _environment() -> dict[str, str]:
    """Ours without what would keep byte code from being written, since every import would then
    compile anew.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
