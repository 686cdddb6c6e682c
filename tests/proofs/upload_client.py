"""A client in a process of its own, which uploads, syncs or loads and tells what it took, memory included.

Standard input has one JSON object: `ready` (the emulator's ready line), `path`, `catalog`, or `account` with
`do_not_reach_list` or `audience`, and optionally
`query` (for the database at `path`, the address of a PostgreSQL or a file of DuckDB) and `rows`
(how many it returns) or `offset` (a file with how many lines of `path` are done: then the others come
one after each pause of `pause_seconds`, as from a queue, and what is settled is committed there), `method` (`upload` or `sync`), `config` (settings of `Config`), `options` (of
the method), `timeout_seconds` (of an attempt), `redis_url` (of a server that keeps the rate limits), `tells` (whether every step is told as it is done),
`constants` (of the package, by their full names) and `kill_at` (the full name of a function, how
many calls come before the one at which this process is killed, and whether that is before or after
its work). Standard output gets one JSON object, and before it, if asked for, one on each line for
every step.
"""

import asyncio
import contextlib
import functools
import importlib
import inspect
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

from socialapi.client import Client
from socialapi.config import Config
from socialapi.credentials import OAuth1
from socialapi.reports import Progress, SyncReport, UploadReport

MARKS = (0.25, 0.5, 0.75)


def resident_bytes(process: int | str = "self") -> int:
    return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_resident_bytes() -> int:
    """`getrusage` would also count the process that started this one."""
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def taken(report: UploadReport) -> int:
    """What the service has accepted of this run."""
    if isinstance(report, SyncReport):
        return report.additions.accepted + report.removals.accepted
    return report.accepted


async def trickling(order: dict[str, Any]) -> AsyncIterator[dict[str, str]]:
    """The addresses in a file behind the committed offset. In `delivered`, notes when each came."""
    order["delivered"] = []
    for line in waiting_in(order["path"], order["offset"]):
        await asyncio.sleep(order["pause_seconds"])
        order["delivered"].append(time.time())
        yield {"email": line.strip()}


def waiting_in(path: str, offset: str) -> Iterator[str]:
    with Path(path).open(encoding="ascii") as file:
        yield from itertools.islice(file, int(Path(offset).read_text("ascii")), None)


def committing(offset: Path) -> Callable[[int], None]:
    before = int(offset.read_text("ascii"))

    def commit(rows: int) -> None:
        part = offset.with_suffix(".part")
        part.write_text(str(before + rows), "ascii")
        part.replace(offset)

    return commit


@contextlib.asynccontextmanager
async def records_of(order: dict[str, Any]) -> AsyncIterator[Any]:
    """The file, or what the query returns as its library gives it."""
    path, query = order["path"], order.get("query")
    if "offset" in order:
        yield trickling(order)
    elif query is None:
        yield path
    elif path.startswith("postgresql:"):
        import asyncpg

        connection = await asyncpg.connect(path)
        try:
            async with connection.transaction(readonly=True):
                yield connection.cursor(query, prefetch=5_000)
        finally:
            await connection.close()
    else:
        import duckdb

        with duckdb.connect(path, read_only=True) as database:
            yield database.sql(query)


@contextlib.asynccontextmanager
async def pacer_of(order: dict[str, Any], config: Config) -> AsyncIterator[Any]:
    """The pacer that is asked for; None for that of one process."""
    if "redis_url" not in order:
        yield None
        return
    from socialapi.integrations.redis import RedisPacer

    async with RedisPacer(order["redis_url"], config) as pacer:
        if order.get("tells"):
            print(json.dumps({"worker": pacer._script.worker}), flush=True)
        yield pacer


def replace(name: str, make: Callable[[Any], Any]) -> None:
    """Puts something else in the place of what has this full name."""
    path, _, last = name.rpartition(".")
    try:
        owner = importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, kind = path.rpartition(".")
        owner = getattr(importlib.import_module(module), kind)
    setattr(owner, last, make(getattr(owner, last)))


def killing(calls_before: int, when: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """The work, at one of whose calls the process ends."""
    numbers = itertools.count()

    def step(number: int, now: str) -> None:
        if (number, now) == (calls_before, when):
            os.kill(os.getpid(), signal.SIGKILL)

    def called(*arguments: Any, **keywords: Any) -> Any:
        step(number := next(numbers), "before")
        result = work(*arguments, **keywords)
        step(number, "after")
        return result

    async def awaited(*arguments: Any, **keywords: Any) -> Any:
        step(number := next(numbers), "before")
        result = await work(*arguments, **keywords)
        step(number, "after")
        return result

    return awaited if inspect.iscoroutinefunction(work) else called


def timing(times: list[float], work: Callable[..., Any]) -> Callable[..., Any]:
    """The work, which notes the processor time as it begins and as it ends."""

    async def timed(*arguments: Any, **keywords: Any) -> Any:
        times.append(time.process_time())
        result = await work(*arguments, **keywords)
        times.append(time.process_time())
        return result

    return timed


def prepare(order: dict[str, Any], comparing: list[float], finishing: list[float]) -> None:
    """Does to the package what is asked for, and has the parts of a sync timed."""
    replace("socialapi.bulk.sync.snapshot.Snapshot.compare", functools.partial(timing, comparing))
    replace("socialapi.bulk.sync.snapshot.Snapshot.finish", functools.partial(timing, finishing))
    for name, value in order.get("constants", {}).items():
        replace(name, functools.partial(lambda value, _: value, value))
    if "kill_at" in order:
        name, calls_before, when = order["kill_at"]
        replace(name, functools.partial(killing, calls_before, when))


def work_of(client: Client, order: dict[str, Any]) -> Callable[..., Any]:
    if "catalog" in order:
        return client.catalog(order["catalog"]).products.upsert
    account = client.ads.account(order["account"])
    if "do_not_reach_list" in order:
        return account.do_not_reach_list(order["do_not_reach_list"]).upload
    work: Callable[..., Any] = getattr(account.custom_audience(order["audience"]), order.get("method", "upload"))
    return work


async def main(order: dict[str, Any]) -> dict[str, Any]:
    ready = order["ready"]
    resident: list[int] = []
    most_in_flight = 0

    def look(progress: Progress) -> None:
        nonlocal most_in_flight
        most_in_flight = max(most_in_flight, progress.in_flight)
        if order.get("tells"):
            print(json.dumps({"accepted": taken(progress.report)}), flush=True)
        fraction = progress.report.read / order["rows"] if "rows" in order else progress.fraction_read or 0.0
        if len(resident) < len(MARKS) and fraction >= MARKS[len(resident)]:
            resident.append(resident_bytes())

    config = attrs.evolve(Config(ads_url=ready["ads_url"]), **order.get("config", {}))
    credentials = OAuth1(*(ready[n] for n in ("api_key", "api_key_secret", "access_token", "access_token_secret")))
    comparing, finishing = list[float](), list[float]()
    prepare(order, comparing, finishing)
    started, processor = time.monotonic(), time.process_time()
    async with (
        pacer_of(order, config) as pacer,
        Client(config, [credentials], pacer=pacer) as client,
        records_of(order) as records,
    ):
        view = client.with_options(timeout_seconds=order.get("timeout_seconds"))
        run = work_of(view, order)
        options = order.get("options", {})
        if "offset" in order:
            options["on_settled"] = committing(Path(order["offset"]))
        report = await run(records, on_progress=look, **options)
    return {
        "report": report.to_dict(),
        "adds_up": report.adds_up,
        "seconds": time.monotonic() - started,
        "processor_seconds": time.process_time() - processor,
        # Of a sync: between comparing and taking over what was accepted.
        "sending_seconds": finishing[0] - comparing[1] if finishing else None,
        "resident": [*resident, resident_bytes()],
        "peak": peak_resident_bytes(),
        "most_in_flight": most_in_flight,
        "delivered": order.get("delivered"),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
