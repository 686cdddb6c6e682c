"""The stub and the contestants, each in a process of its own, so that only what is compared is
measured.
"""

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from benchmarks.harness.work import Contestant, Order, Told

ROOT: Final = Path(__file__).parents[2]
LONGEST_SECONDS: Final = 1_200.0


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


def run(contestant: Contestant, order: Order) -> Told:
    """What the contestant tells, from a fresh process. Raises Failed with the end of what it said."""
    command = [sys.executable, "-m", "benchmarks.contestant", contestant.module, contestant.job]
    done = subprocess.run(
        command,
        input=json.dumps({**order, **contestant.options}),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**_environment(), **contestant.environment},
        timeout=LONGEST_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{contestant.name} ended with status {done.returncode}:\n{done.stderr[-2_000:]}")
    told: Told = json.loads(done.stdout.splitlines()[-1])
    return told


def _environment() -> dict[str, str]:
    """Ours without what would keep byte code from being written, since every import would then
    compile anew.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
