"""The client of the soak, in a process of its own: one `Client` that does everything at once, and
is measured meanwhile.

Standard input has one JSON line, the order (see `conductor.py`), and then the lines `finish`
(faults are over: every job makes a last round) and `end` (everything was published). Standard
output gets one JSON line for each step.
"""

import asyncio
import contextlib
import gc
import json
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

import aiohttp
import attrs

from socialapi import AppOnly, Client, Config, OAuth1, OAuth2User
from socialapi.session.token_cache import FileTokenCache
from socialapi.streams import backoff
from tests.proofs.upload_client import resident_bytes
from tests.soak.jobs import Soak, guarded
from tests.soak.workers import prepare, receivers

MEASURES: Final = (
    *("seconds", "resident_bytes", "descriptors", "sockets", "tasks", "threads", "objects", "file_bytes"),
    *("lag_seconds", "emulator_bytes"),
)
LAG_SECONDS: Final = 0.05
QUIET_SECONDS: Final = 0.5
MAX_ORDER_BYTES: Final = 10_000_000
OBJECTS_EVERY: Final = 10
"""Counting all objects takes a while, so that it is not done at every sample."""
LONGEST_WAIT_SECONDS: Final = 120.0
CLOSING_SECONDS: Final = 60


def descriptors() -> list[str]:
    """What each open descriptor of this process leads to."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(each.readlink()))
        except OSError:  # the one of the listing itself
            continue
    return found


def folder_bytes(folder: Path) -> int:
    """Returns the size of all files; what is removed meanwhile counts for nothing."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += Path(parent, name).stat().st_size
    return size


class Meter:
    """Measures this process and the emulator's at intervals, into a CSV file."""

    def __init__(self, folder: Path, file: IO[str], emulator: int) -> None:
        self._folder = folder
        self._file = file
        self._emulator = emulator
        self._started = time.monotonic()
        self._lag = 0.0
        self._objects = 0
        self._samples = 0
        file.write(",".join(MEASURES) + "\n")

    async def run(self, interval_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            before = loop.time()
            await asyncio.sleep(LAG_SECONDS)
            self._lag = max(self._lag, loop.time() - before - LAG_SECONDS)
            if loop.time() >= due:
                self.sample()
                due = loop.time() + interval_seconds

    def sample(self) -> None:
        if self._samples % OBJECTS_EVERY == 0:
            self._objects = len(gc.get_objects())
        self._samples += 1
        open_now = descriptors()
        values = (
            round(time.monotonic() - self._started, 2),
            *(resident_bytes(), len(open_now), sum(each.startswith("socket:") for each in open_now)),
            *(len(asyncio.all_tasks()), threading.active_count(), self._objects, folder_bytes(self._folder)),
            *(round(self._lag, 4), resident_bytes(self._emulator)),
        )
        self._lag = 0.0
        self._file.write(",".join(map(str, values)) + "\n")
        self._file.flush()


def text_without_values(record: logging.LogRecord) -> str:
    """The text of a record with `…` for its arguments, so that its like are counted as one."""
    text = re.sub(r"(%[-+#0-9.]*[a-z])+", "…", str(record.msg)) if record.args else str(record.msg)
    return text if text != "…" else record.getMessage()  # a text that no argument is a part of


class Witness(logging.Handler):
    """What went wrong without anybody being told: log records, exceptions that nobody took,
    warnings.
    """

    def __init__(self, receiver_port: int) -> None:
        super().__init__(logging.WARNING)
        self._receiver_port = receiver_port
        self._receiver = f"laddr=('127.0.0.1', {receiver_port})"
        self.records: Counter[str] = Counter()
        self.unhandled: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records[f"{record.levelname} {record.name}: {text_without_values(record)}"] += 1
        if record.levelno >= logging.ERROR:
            self.unhandled.append(f"{record.name}: {record.getMessage()}"[:300])

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        logging.getLogger().addHandler(self)
        loop.set_exception_handler(lambda _, context: self.unhandled.append(_shown(context)))
        # A warning is an error here, and one in a destructor gets no further than this.
        sys.unraisablehook = self._unraisable
        threading.excepthook = lambda found: self.unhandled.append(f"{found.exc_value!r} in a thread"[:300])

    def _unraisable(self, found: "sys.UnraisableHookArgs") -> None:
        """asyncio forgets a connection that it accepts in the very moment in which its server
        closes: the socket of the receiver, and its transport, are left to the garbage collector.
        Any other socket has another address.
        """
        text = f"{found.exc_value!r} in {found.object!r}"
        is_forgotten = self._receiver in text or _local_address(found) == ("127.0.0.1", self._receiver_port)
        if not (isinstance(found.exc_value, ResourceWarning) and is_forgotten):
            self.unhandled.append(text[:300])


def _local_address(found: "sys.UnraisableHookArgs") -> Any:
    """That of the transport whose destructor has warned; None if it is something else."""
    for frame, _ in traceback.walk_tb(found.exc_traceback):
        owner = frame.f_locals.get("self")
        if frame.f_code.co_name == "__del__" and isinstance(owner, asyncio.BaseTransport):
            return owner.get_extra_info("sockname")
    return None


def _shown(context: Mapping[str, Any]) -> str:
    return (
        f"{context.get('message')}: {context.get('exception')!r} {context.get('task') or context.get('future') or ''}"[
            :400
        ]
    )


@attrs.frozen
class Held:
    """What this process holds."""

    tasks: list[str]
    """What each task runs, and where it is."""
    threads: int
    descriptors: list[str]

    @classmethod
    def now(cls) -> "Held":
        gc.collect()
        return cls(sorted(map(_task, asyncio.all_tasks())), threading.active_count(), descriptors())

    def to_dict(self) -> dict[str, Any]:
        return attrs.asdict(self)


def _task(task: "asyncio.Task[Any]") -> str:
    name = getattr(task.get_coro(), "__qualname__", task.get_name())
    return ":".join([name, *(str(frame.f_lineno) for frame in task.get_stack(limit=1))])


def tell(**values: Any) -> None:
    print(json.dumps(values), flush=True)


async def commands() -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(limit=MAX_ORDER_BYTES)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader, transport


def client_of(order: Mapping[str, Any], folder: Path) -> Client:
    ready = order["ready"]
    app = (ready["api_key"], ready["api_key_secret"])
    user = OAuth2User("a-token-that-has-ended", ready["refresh_token"], *app)
    names = ("base_url", "ads_url", "ads_sandbox_url", "problem_base_url")
    return Client(
        Config(**{name: ready[name] for name in names}, **order["config"]),
        [AppOnly(*app), user, OAuth1(*app, ready["access_token"], ready["access_token_secret"])],
        token_cache=FileTokenCache(folder / "tokens.json"),
    )


async def work(order: Mapping[str, Any], reader: asyncio.StreamReader, soak: Soak, samples: IO[str]) -> None:
    """Runs all workers until the commands end them."""
    jobs = await prepare(soak)
    meter = Meter(soak.folder, samples, order["emulator_pid"])
    measuring = asyncio.create_task(guarded(soak, lambda _: meter.run(order["sample_seconds"]), "measures"))
    telling = asyncio.create_task(tell_progress(soak, order["sample_seconds"]))
    last = [asyncio.create_task(guarded(soak, worker, name), name=name) for name, worker in receivers(soak)]
    await asyncio.wait_for(soak.registered.wait(), LONGEST_WAIT_SECONDS)
    tasks = [asyncio.create_task(guarded(soak, worker, name), name=name) for name, worker in jobs]
    tell(step="working")
    await _command(reader, "finish")
    # What follows is another load, which is not compared with the one before.
    await _ended(measuring)
    soak.stopping.set()
    await asyncio.wait_for(asyncio.gather(*tasks), LONGEST_WAIT_SECONDS)
    tell(step="finished")
    await _command(reader, "end")
    await _quiet(soak)
    soak.ending.set()
    await asyncio.wait_for(asyncio.gather(*last), LONGEST_WAIT_SECONDS)
    await _ended(telling)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def tell_progress(soak: Soak, interval_seconds: float) -> None:
    while True:
        await asyncio.sleep(5 * interval_seconds)
        tell(step="progress", done=dict(soak.done))
        soak.notes.flush()


async def _quiet(soak: Soak) -> None:
    """Waits until what is in the connections was read."""
    read, before = _items_read(soak), -1
    while read != before:
        await asyncio.sleep(QUIET_SECONDS)
        read, before = _items_read(soak), read


def _items_read(soak: Soak) -> int:
    return sum(count for name, count in soak.done.items() if name.endswith(("items", "handled")))


async def _command(reader: asyncio.StreamReader, expected: str) -> None:
    line = (await reader.readline()).decode().strip()
    if line != expected:
        raise RuntimeError(f"the conductor has ended: {line!r} instead of {expected!r}")


async def main() -> None:
    reader, transport = await commands()
    order = json.loads(await reader.readline())
    for name, value in order["backoff"].items():
        setattr(backoff, name, value)
    folder = Path(order["folder"])
    (folder / "files").mkdir()
    witness = Witness(order["sizes"]["receiver_port"])
    witness.watch(asyncio.get_running_loop())
    await asyncio.to_thread(lambda: None)  # the threads of the loop are there from now on
    before = Held.now()
    with (folder / "notes.jsonl").open("w", encoding="utf-8") as notes, (folder / "samples.csv").open("w") as samples:
        async with (
            client_of(order, folder) as client,
            aiohttp.ClientSession() as control,
        ):
            soak = Soak(
                client=client,
                control=control,
                control_url=order["ready"]["base_url"] + "/_emulator",
                secret=order["ready"]["api_key_secret"],
                folder=folder / "files",
                notes=notes,
                **order["sizes"],
            )
            try:
                await work(order, reader, soak, samples)
            finally:
                signal.alarm(CLOSING_SECONDS)  # a client that does not close ends the process, and that breaks a rule
    await asyncio.get_running_loop().shutdown_default_executor()
    await asyncio.sleep(0.25)  # aiohttp closes the last connections in the next turns of the loop
    after = Held.now()
    tell(
        step="ended",
        done=dict(soak.done),
        errors=dict(soak.errors),
        records=dict(witness.records),
        unhandled=witness.unhandled,
        before=before.to_dict(),
        after=after.to_dict(),
    )
    transport.close()


if __name__ == "__main__":
    os.environ.pop("SOCIALAPI_TELEMETRY", None)
    asyncio.run(main())
