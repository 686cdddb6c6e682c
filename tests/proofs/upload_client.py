"""A client in a process of its own, which uploads or syncs and tells what it took, memory included.

Standard input has one JSON object: `ready` (the emulator's ready line), `path`, and optionally
`query` (for the database at `path`, the address of a PostgreSQL or a file of DuckDB) and `rows`
(how many it returns), `method` (`upload` or `sync`), `config` (settings of `Config`), `options` (of
the method), `timeout_seconds` (of an attempt) and `tells` (whether every step is told as it is
done). Standard output gets one JSON object, and before it, if asked for, one on each line for every
step.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator
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


@contextlib.asynccontextmanager
async def records_of(order: dict[str, Any]) -> AsyncIterator[Any]:
    """The file, or what the query returns as its library gives it."""
    path, query = order["path"], order.get("query")
    if query is None:
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
    started = time.monotonic()
    async with Client(config, [credentials]) as client, records_of(order) as records:
        view = client.with_options(timeout_seconds=order.get("timeout_seconds"))
        target = view.ads.account(order["account"]).custom_audience(order["audience"])
        run = getattr(target, order.get("method", "upload"))
        report = await run(records, on_progress=look, **order.get("options", {}))
    return {
        "report": report.to_dict(),
        "adds_up": report.adds_up,
        "seconds": time.monotonic() - started,
        "resident": [*resident, resident_bytes()],
        "peak": peak_resident_bytes(),
        "most_in_flight": most_in_flight,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
