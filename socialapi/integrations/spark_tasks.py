"""Runs the tasks of a write from Spark, and sums up their reports on the driver.

Each task uploads its partition with a separate job, and all tasks share one quota. Spark may attempt a task several
times, even concurrently; a fence in Redis stops an attempt once a newer one has started.
"""

import asyncio
import contextlib
import datetime
import functools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import orjson

from socialapi.bulk.job import CHECKED_FROM_ROWS
from socialapi.client import Client, redis_telemetry, redis_url
from socialapi.config import Config
from socialapi.errors import BulkError, ConfigurationError, InvalidInput, SocialApiError
from socialapi.integrations.spark_options import WriteSettings
from socialapi.internal.private_files import make_private_folder
from socialapi.internal.records import FrozenRecord
from socialapi.reports import Progress, UploadReport
from socialapi.routes.route import RateLimit
from socialapi.session.clock import Clock, SystemClock
from socialapi.session.rate_limiter import LimitStatus, Pacer, Slot

if TYPE_CHECKING:
    from socialapi.integrations.redis_fence import RedisFence

MAX_IDS: Final = 1_000_000
"""The maximum number of product ids remembered per partition, to find repeated ids."""
MAX_LISTED: Final = 20
"""The maximum number of partitions listed in a message."""
SUMMARY: Final = "summary.json"


class FencedPacer:
    """A pacer that grants slots only until the attempt is superseded.

    The first request waits for `wait_seconds`, until the last request of a superseded attempt has ended.
    """

    def __init__(self, pacer: Pacer, fence: "RedisFence", clock: Clock, wait_seconds: float) -> None:
        self._pacer = pacer
        self._fence = fence
        self._clock = clock
        self._begins = clock.monotonic() + wait_seconds

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a slot. Raises Superseded, and the other errors of the pacer and the fence."""
        seconds = self._begins - self._clock.monotonic()
        if seconds > 0:
            await self._clock.sleep(seconds)
        slot = await self._pacer.acquire(key, documented, bulk=bulk, max_wait_seconds=max_wait_seconds)
        try:
            # Checked last, because the wait for a slot may be long.
            await self._fence.check()
        except BaseException:
            slot.unsent()
            raise
        return slot

    def limits(self) -> Mapping[str, LimitStatus]:
        """Returns the state of each limit that the pacer knows."""
        return self._pacer.limits()

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """Returns the rate that the limit allows; None while the pacer does not know it."""
        return self._pacer.requests_per_second(key, documented)


class PartitionRows:
    """The record batches of a partition, as a table for a job.

    A repeated id in `id_columns` ends the input with an error. `fault` is the error that ended the input, or None.
    """

    def __init__(self, batches: Iterator[Any], id_columns: Sequence[str] = ()) -> None:
        self.fault: Exception | None = None
        self._batches = batches
        self._id_columns = id_columns
        self._ids: set[int] = set()
        self._first: Any = None

    def open(self) -> Any:
        """Returns this object, or an empty list if there are no batches. Raises the errors of the batches."""
        self._first = self._next()
        return [] if self._first is None else self

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(self._first.schema, self._checked()).__arrow_c_stream__(
            requested_schema
        )

    def _next(self) -> Any:
        try:
            return next(self._batches, None)
        except Exception as problem:
            self.fault = problem  # Arrow replaces it with a different error
            raise

    def _checked(self) -> Iterator[Any]:
        batch = self._first
        while batch is not None:
            if self._id_columns:
                self._refuse_repeated(batch)
            yield batch
            batch = self._next()

    def _refuse_repeated(self, batch: Any) -> None:
        for cells in zip(*(batch.column(name).to_pylist() for name in self._id_columns), strict=True):
            product_id = next((str(cell).strip() for cell in cells if cell not in (None, "")), "")
            key = hash(product_id)
            if key in self._ids:
                self.fault = InvalidInput(
                    "a product id occurs more than once, and rows of a DataFrame have no order, so it is unknown which row to "
                    "keep: drop the others, for example with latest_per_product(df, order_by=…) from "
                    "socialapi.integrations.spark, and give the option order_by"
                )
                raise self.fault
            if product_id and len(self._ids) < MAX_IDS:
                self._ids.add(key)


@attrs.frozen
class Attempt(FrozenRecord):
    """An attempt at a partition. `task` increases from one attempt to the next."""

    partition: int
    number: int
    task: int

    def path(self, folder: str | None, write: str, ending: str) -> Path | None:
        """Returns the path of this attempt's file in the folder; None without a folder."""
        return None if folder is None else Path(folder, f"part-{write}-{self.partition:05}-{self.task}.{ending}")


@attrs.frozen
class PartReport(FrozenRecord):
    """The report of a partition, from the attempt that succeeded."""

    attempt: Attempt
    counts: Mapping[str, int]
    report: str | None = None
    rejects: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as the summary contains it."""
        own = {"partition": self.attempt.partition, "attempt": self.attempt.number, "task": self.attempt.task}
        return {**own, **self.counts, "report": self.report, "rejects": self.rejects}


def write_partition(settings: WriteSettings, attempt: Attempt, batches: Iterator[Any]) -> PartReport:
    """Uploads the rows of a partition, and returns the report.

    Raises BulkError with the partition number and advice on what to do.
    """
    path, rows = attempt.path(settings.report, settings.write, "json"), PartitionRows(batches, settings.id_columns)

    def note(**content: Any) -> None:
        if path is not None:
            own = {"partition": attempt.partition, "attempt": attempt.number}
            write_private(path, {**settings.to_dict(), **own, **content})

    try:
        note(state="running")  # at the start, so that a killed attempt leaves a trace
        report = asyncio.run(_upload(settings, attempt, rows))
    except Exception as problem:
        error = _error_of(attempt, problem, rows.fault)
        with contextlib.suppress(InvalidInput):
            note(state="failed", why=error.message, **error.report.summary())
        if rows.fault is None and not isinstance(problem, SocialApiError):
            raise
    else:
        note(state="ended", why=None, **report.summary())
        return PartReport(attempt, report.counts, None if path is None else str(path), report.rejects_path)
    raise error  # outside the handler, because errors of the libraries that produce the rows may quote the rows


def _error_of(attempt: Attempt, problem: Exception, fault: Exception | None) -> BulkError:
    report = problem.report if isinstance(problem, BulkError) else UploadReport()
    cause = fault or problem
    if isinstance(cause, BulkError):
        why = cause.message
    elif isinstance(cause, SocialApiError):
        why = str(cause)
    else:
        why = type(cause).__name__ if fault is None else f"the rows cannot be read ({type(fault).__name__})"
    return BulkError(f"partition {attempt.partition}, attempt {attempt.number}: {why}", report)


async def _upload(settings: WriteSettings, attempt: Attempt, rows: PartitionRows) -> UploadReport:
    rejects = attempt.path(settings.rejects, settings.write, "csv")
    if rejects is not None:
        make_folder(rejects.parent)
    async with contextlib.AsyncExitStack() as stack:
        client = await _open_client(settings, attempt, Config.from_env(), stack)
        records = rows.open()
        keywords: dict[str, Any] = {"rejects": rejects, **settings.keywords}
        if settings.max_reject_share is not None:
            keywords["on_progress"] = functools.partial(_check_first_rows, settings.max_reject_share)
        if settings.kind == "catalog":
            return await client.catalog(settings.target).products.upsert(records, **keywords)
        account = client.ads.account(settings.account)
        if settings.kind == "audience":
            return await account.custom_audience(settings.target).upload(records, **keywords)
        return await account.do_not_reach_list(settings.target).upload(records, **keywords)


async def _open_client(
    settings: WriteSettings, attempt: Attempt, config: Config, stack: contextlib.AsyncExitStack
) -> Client:
    """Returns the client of a task, with the fence of its partition if Redis is configured."""
    named = settings.redis_url or os.environ.get("SOCIALAPI_REDIS_URL", "")
    url = redis_url({**os.environ, "SOCIALAPI_REDIS_URL": named})
    if settings.is_dry or url is None:
        if not settings.is_dry:
            _refuse_repeated(settings, attempt)
        return await stack.enter_async_context(Client.from_env(config=config))
    from socialapi.integrations.redis import RedisPacer, RedisTokenCache
    from socialapi.integrations.redis_fence import RedisFence

    namespace = settings.redis_namespace or os.environ.get("SOCIALAPI_REDIS_NAMESPACE", "")
    telemetry, part = redis_telemetry(os.environ), attempt.partition
    pacer = RedisPacer(url, config, namespace=namespace, telemetry=telemetry)
    cache = RedisTokenCache(url, telemetry=telemetry)
    fence = RedisFence(
        url,
        config,
        job=settings.job,
        run=settings.write,
        part=part,
        attempt=attempt.task,
        namespace=namespace,
        telemetry=telemetry,
    )
    for each in (pacer, cache, fence):
        stack.push_async_callback(each.aclose)
    seconds = await fence.take(is_repeated=attempt.number > 0)
    stack.push_async_callback(_release, fence)  # called after the client is closed, when no request is in flight
    fenced = FencedPacer(pacer, fence, SystemClock(), seconds)
    return await stack.enter_async_context(Client.from_env(config=config, pacer=fenced, token_cache=cache))


async def _release(fence: "RedisFence") -> None:
    # If the fence is not released, a successor waits longer.
    with contextlib.suppress(SocialApiError):
        await fence.release()


def _refuse_repeated(settings: WriteSettings, attempt: Attempt) -> None:
    """Raises ConfigurationError if an earlier attempt may still be sending and cannot be stopped without Redis."""
    own = attempt.path(settings.report, settings.write, "json")
    others = [] if own is None else own.parent.glob(f"part-{settings.write}-{attempt.partition:05}-*.json")
    if attempt.number > 0 or any(each != own for each in others):
        raise ConfigurationError(
            "this partition was attempted before (a retry, or a speculative copy), and without Redis it is unknown whether "
            "that attempt is still sending: set SOCIALAPI_REDIS_URL in the environment of the executors, or the option "
            "redis_url; until then write with spark.speculation=false, and write the complete DataFrame again after a failure"
        )


def _check_first_rows(most: float, progress: Progress) -> None:
    """Raises InvalidInput if too many of a task's first rows are rejected. The driver checks all rows at the end."""
    report = progress.report
    if report.read >= CHECKED_FROM_ROWS and report.rejected > most * report.read:
        raise InvalidInput(too_many_rejected(report.rejected, report.read, most))


def too_many_rejected(rejected: int, read: int, most: float) -> str:
    """Returns the message about too many rejected rows."""
    return f"{rejected:,} of {read:,} rows were rejected, more than the limit of {most:.1%} (max_reject_share)"


# Files -----------------------------------------------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Creates a folder that only its owner can read, unless it exists. Raises InvalidInput if that fails."""
    try:
        make_private_folder(folder)
    except OSError as problem:
        raise InvalidInput(f"the folder {folder} cannot be created: {problem.strerror}") from None


def write_private(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a JSON file that only its owner can read, and creates its folder. Raises InvalidInput if that fails."""
    make_folder(path.parent)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as problem:
        raise InvalidInput(f"the file {path} cannot be written: {problem.strerror}") from None


# On the driver ---------------------------------------------------------------------------------------


@attrs.frozen
class Summary(FrozenRecord):
    """The summary of a write.

    Each partition counts once, with the attempt that succeeded. `unfinished` lists the partitions without a successful
    attempt.
    """

    settings: WriteSettings
    parts: Sequence[PartReport]
    unfinished: Sequence[int]

    @classmethod
    def of(cls, settings: WriteSettings, parts: Sequence[PartReport | None]) -> "Summary":
        """Sums up the reports of the tasks, which are in partition order."""
        last: dict[int, PartReport] = {}
        for part in sorted(filter(None, parts), key=lambda each: each.attempt.task):
            last[part.attempt.partition] = part
        unfinished = [number for number, part in enumerate(parts) if part is None and number not in last]
        return cls(settings, [last[number] for number in sorted(last)], unfinished)

    @property
    def counts(self) -> dict[str, int]:
        """The sums of the counts of all partitions."""
        sums = {"read": 0, "accepted": 0, "rejected": 0, "duplicate": 0, "pending": 0, "warnings": 0, "requests": 0}
        for part in self.parts:
            for name, count in part.counts.items():
                sums[name] = sums.get(name, 0) + count
        return sums

    def why_refused(self) -> str | None:
        """Returns the error message if too many rows were rejected; None otherwise."""
        counts, most = self.counts, self.settings.max_reject_share
        if most is None or counts["rejected"] <= most * counts["read"]:
            return None
        return too_many_rejected(counts["rejected"], counts["read"], most)

    def write(self, state: str, why: str | None = None) -> None:
        """Writes the summary into the folder for reports, if there is one. Raises InvalidInput if that fails."""
        if self.settings.report is None:
            return
        ended_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        content = {
            "state": state,
            "why": why,
            **self.settings.to_dict(),
            "ended_at": ended_at,
            **self.counts,
            "failed_partitions": list(self.unfinished),
            "partitions": [part.to_dict() for part in self.parts],
        }
        write_private(Path(self.settings.report, SUMMARY), content)

    def totals(self) -> str:
        """Returns the counts as text."""
        counts = self.counts
        return (
            f"{counts['read']:,} rows read, {counts['accepted']:,} accepted, {counts['rejected']:,} rejected, "
            f"{counts['duplicate']:,} duplicate, {counts['pending']:,} pending, {counts['requests']:,} requests"
        )


def finish(settings: WriteSettings, parts: Sequence[PartReport | None]) -> None:
    """Sums up a write whose tasks all succeeded. Raises InvalidInput if too many rows were rejected."""
    summary = Summary.of(settings, parts)
    if (why := summary.why_refused()) is not None:
        raise InvalidInput(f"{settings.title}: {why}")
    summary.write("finished")
    say(f"{settings.title} finished: {summary.totals()}")


def give_up(settings: WriteSettings, parts: Sequence[PartReport | None]) -> None:
    """Sums up a failed write, and prints what to do."""
    summary = Summary.of(settings, parts)
    why = summary.why_refused()
    if why is None:
        numbers = ", ".join(map(str, summary.unfinished[:MAX_LISTED]))
        more = len(summary.unfinished) - MAX_LISTED
        numbers += f" and {more} more" if more > 0 else ""
        why = (
            f"partitions {numbers} have not finished; rows sent by other partitions stay. See the error of the task for the "
            "cause, fix it, and write the complete DataFrame again: sending rows twice is safe"
        )
    summary.write("failed", why)
    say(f"{settings.title} failed: {why} ({summary.totals()})")


def say(text: str) -> None:
    """Prints a message to the driver's output."""
    sys.stderr.write(f"socialapi: {text}\n")
    sys.stderr.flush()
