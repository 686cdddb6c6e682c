"""The emulator as a program: prints where it is, and serves until it is told to stop."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Final

import orjson

from socialapi.emulator.server import Emulator

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


async def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    empty: bool = False,
    rate_limits: Mapping[str, tuple[int, float]] | None = None,
    webhook_targets: Mapping[str, str] | None = None,
    until_stdin_closes: bool = False,
    on_ready: Callable[[Mapping[str, str]], None] | None = None,
) -> None:
    """Runs an emulator in the main thread until SIGINT or SIGTERM.

    One JSON line on standard output says when it is ready, and where. With `until_stdin_closes` it also ends when
    standard input does: a child whose standard input is a pipe from its parent then never outlives it. Raises
    ConfigurationError when the address cannot be listened on.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        # The loop may have been closed by another reason to stop.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)

    with _on_signals(end):
        async with Emulator(
            host, port, empty=empty, rate_limits=rate_limits, webhook_targets=webhook_targets
        ) as emulator:
            if until_stdin_closes:
                _watch_stdin(end)
            if on_ready is not None:
                on_ready(emulator.ready)
            sys.stdout.write(orjson.dumps(emulator.ready).decode() + "\n")
            sys.stdout.flush()
            await stop.wait()


@contextlib.contextmanager
def _on_signals(end: Callable[[], None]) -> Iterator[None]:
    """`signal.signal` rather than the loop's own way, which Windows does not have."""

    def handler(number: int, frame: FrameType | None) -> None:
        end()

    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _watch_stdin(end: Callable[[], None]) -> None:
    """A daemon thread, since there is no portable way to wait for a pipe; it holds no lock when the process ends."""

    def read_to_end() -> None:
        with contextlib.suppress(OSError, AttributeError, ValueError):
            descriptor = sys.stdin.fileno()
            while os.read(descriptor, 65_536):
                continue
        end()

    threading.Thread(target=read_to_end, name="socialapi-emulator-stdin", daemon=True).start()
