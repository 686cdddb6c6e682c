"""A source that trickles: what has come is sent once its first row has waited for `flush_after_seconds`."""

import asyncio
import contextvars
import datetime
import io
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, Final

import attrs
import pyarrow
import pytest

from socialapi import Client
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.emulator import Emulator
from socialapi.errors import BulkError, InvalidInput
from socialapi.models.audiences import DEFAULT_EXPIRY_MONTHS
from socialapi.reports import Progress
from tests.bulk.model_service import DESTINATION, ModelService
from tests.bulk.model_service import job_of as upload_of
from tests.bulk.products.model_catalog import ModelCatalog, product
from tests.bulk.products.model_catalog import job_of as load_of
from tests.support.clock import START, VirtualClock, turns

FLUSH_SECONDS: Final = 5
A_BATCH: Final = 2_500


class Requests(list[Any]):
    """What a model was asked, and when."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self.times: list[float] = []
        self._clock = clock

    def append(self, asked: Any) -> None:
        self.times.append(self._clock.monotonic())
        super().append(asked)


@attrs.define
class Scene:
    """A job of either kind, with the model that it sends to."""

    kind: str
    clock: VirtualClock = attrs.field(factory=VirtualClock)
    service: Any = None

    def row(self, name: object) -> dict[str, Any]:
        return {"partner_user_id": str(name)} if self.kind == "upload" else product(f"p{name}")

    def job(self, records: Any, *, latency_seconds: float = 0.0, **options: Any) -> Any:
        self.service = (ModelService if self.kind == "upload" else ModelCatalog)(
            clock=self.clock, latency_seconds=latency_seconds
        )
        self.service.requests = Requests(self.clock)
        return (upload_of if self.kind == "upload" else load_of)(self.service, records, clock=self.clock, **options)

    @property
    def times(self) -> list[float]:
        times: list[float] = self.service.requests.times
        return times

    @property
    def sizes(self) -> list[int]:
        return [len(asked) for asked in self.service.requests]

    async def rows(self, pauses: Iterable[float]) -> AsyncIterator[dict[str, Any]]:
        """A row after each pause."""
        for number, pause in enumerate(pauses):
            await self.clock.sleep(pause)
            yield self.row(number)


@pytest.fixture(params=["upload", "load"])
def scene(request: pytest.FixtureRequest) -> Scene:
    return Scene(request.param)


async def test_a_row_a_second_is_sent_within_the_flush_time_and_a_second(scene: Scene) -> None:
    report = await scene.job(scene.rows([1] * 30)).run()
    assert report.accepted == 30
    came = iter(range(1, 31))
    for at, size in zip(scene.times, scene.sizes, strict=True):
        assert at - next(came) <= FLUSH_SECONDS  # the first row of each request
        for _ in range(size - 1):
            next(came)
    assert len(scene.sizes) == 5


@pytest.mark.parametrize("latency_seconds", [0.0, 100.0])
@pytest.mark.parametrize("suspends", [False, True])
async def test_a_fast_source_is_batched_as_without_a_flush(
    scene: Scene, suspends: bool, latency_seconds: float
) -> None:
    count = 4 * A_BATCH if scene.kind == "upload" else 1_300

    async def rows() -> AsyncIterator[dict[str, Any]]:
        for number in range(count):
            if suspends:
                await asyncio.sleep(0)
            yield scene.row(number)

    sizes = []
    for seconds in (FLUSH_SECONDS, None):
        job = scene.job(rows(), latency_seconds=latency_seconds, concurrency=1, flush_after_seconds=seconds)
        assert (await job.run()).accepted == count
        sizes.append(scene.sizes)
    assert sizes[0] == sizes[1]


async def test_rows_join_a_batch_that_cannot_be_sent_yet(scene: Scene) -> None:
    report = await scene.job(scene.rows([1] * 20), latency_seconds=30, concurrency=1).run()
    assert report.accepted == 20
    assert scene.times[0] == 6
    assert scene.sizes[1] > FLUSH_SECONDS + 1  # all that came until the first was answered


async def test_a_slow_service_slows_the_source_down(scene: Scene) -> None:
    read = 0

    async def rows() -> AsyncIterator[dict[str, Any]]:
        nonlocal read
        for read in range(20_000):
            await scene.clock.sleep(0.001)
            yield scene.row(read)

    job = scene.job(rows(), concurrency=1)
    scene.service.gate = asyncio.Event()
    running = asyncio.create_task(job.run())
    for _ in range(200):
        scene.clock.advance(10)
        await turns(20)
        if read > 4 * A_BATCH:
            break
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # In flight, in a batch that waits for that, and a block that waits for the batch.
    assert read <= 2 * A_BATCH + 2 * ROWS_PER_BLOCK


async def test_a_row_that_cannot_be_read_is_rejected_though_it_comes_alone() -> None:
    scene, ada = Scene("upload"), {"email": "ada@example.com"}

    async def rows() -> AsyncIterator[Any]:
        for row in (ada, ada | {"operation_type": "Update", "Operation Type": "Delete"}, ada):
            yield row
            await scene.clock.sleep(100)

    report = await scene.job(rows()).run()
    assert (report.accepted, report.rejected, [each.row for each in report.rejects]) == (1, 1, [2])


async def test_products_that_wait_for_others_of_their_id_are_sent_too() -> None:
    scene = Scene("load")

    async def rows() -> AsyncIterator[Any]:
        yield product("a", title="first")
        yield product("a", title="second")
        yield product("b")
        await scene.clock.sleep(100)
        yield product("a", title="third")

    report = await scene.job(rows(), latency_seconds=2).run()
    assert [[each["id"] for each in sent] for sent in scene.service.requests] == [["a", "b"], ["a"], ["a"]]
    assert scene.times == [5, 7, 100]
    assert [each.row for each in report.warning_details] == [2]  # once, however often there was a flush


async def test_times_are_reckoned_from_the_first_row_after_a_flush() -> None:
    scene, hour = Scene("upload"), 3_600
    destination = attrs.evolve(DESTINATION, default_expiry_months=DEFAULT_EXPIRY_MONTHS)
    await scene.job(scene.rows([hour, hour, hour]), destination=destination).run()
    assert datetime.datetime.fromtimestamp(START, datetime.UTC).isoformat() == "2027-01-15T08:00:00+00:00"
    ends = [[each["params"]["expires_at"] for each in asked] for asked in scene.service.requests]
    assert ends == [["2028-02-15T09:00:05Z"], ["2028-02-15T10:00:05Z"], ["2028-02-15T11:00:00Z"]]


# What ends a source -----------------------------------------------------------------------------------------------


class Source:
    """A generator that notes what becomes of it. Its steps and its end have to be in one task."""

    def __init__(self, scene: Scene, then: Callable[[], Any]) -> None:
        self._scene = scene
        self._then = then
        self._variable = contextvars.ContextVar[int]("steps", default=0)
        self.tasks: set[Any] = set()
        self.steps = 0
        self.is_waiting = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        token = self._variable.set(1)
        try:
            for number in range(3):
                self.tasks.add(asyncio.current_task())
                await self._scene.clock.sleep(1)
                yield self._scene.row(number)
            self.is_waiting.set()
            await self._then()
        finally:
            self.tasks.add(asyncio.current_task())
            self._variable.reset(token)  # raises in another context
            self.steps = -1


async def raises() -> None:
    raise ConnectionError("the broker went away")


async def is_cancelled() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


@pytest.mark.parametrize("silent_seconds", [0, 1, FLUSH_SECONDS, 60])
@pytest.mark.parametrize(("then", "cause"), [(raises, ConnectionError), (is_cancelled, InvalidInput)])
async def test_what_came_before_an_error_is_sent(
    scene: Scene, then: Callable[[], Any], cause: type[Exception], silent_seconds: float
) -> None:
    async def later() -> None:
        await scene.clock.sleep(silent_seconds)
        await then()

    source = Source(scene, later)
    with pytest.raises(BulkError, match="the input broke off") as caught:
        await scene.job(source).run()
    assert isinstance(caught.value.__cause__, cause)
    assert caught.value.report.accepted == 3
    assert source.steps == -1
    assert len(source.tasks) == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("flushes", [False, True])
async def test_a_job_that_is_cancelled_while_its_source_is_silent_closes_it(scene: Scene, flushes: bool) -> None:
    source = Source(scene, asyncio.Event().wait)
    running = asyncio.create_task(scene.job(source, flush_after_seconds=FLUSH_SECONDS if flushes else None).run())
    await source.is_waiting.wait()
    if flushes:
        await scene.service.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert source.steps == -1
    assert len(source.tasks) == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_source_that_ends_while_a_flush_waits_loses_nothing(scene: Scene) -> None:
    job = scene.job(scene.rows([0, FLUSH_SECONDS + 1]), concurrency=1)
    scene.service.gate = gate = asyncio.Event()
    if scene.kind == "load":
        gate.set()
    running = asyncio.create_task(job.run())
    await turns(200)
    gate.set()
    assert (await running).accepted == 2
    assert scene.sizes == [1, 1]


@pytest.mark.parametrize("seconds", [0, 1_000])
async def test_a_source_without_a_row_ends_like_any_empty_input(scene: Scene, seconds: float) -> None:
    async def nothing() -> AsyncIterator[dict[str, Any]]:
        await scene.clock.sleep(seconds)
        for row in list[dict[str, Any]]():
            yield row

    report = await scene.job(nothing()).run()
    assert (report.read, scene.sizes) == (0, [])
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_generator_that_ignores_its_cancellation_is_closed(scene: Scene) -> None:
    async def stubborn() -> AsyncIterator[dict[str, Any]]:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                yield scene.row(1)

    running = asyncio.create_task(scene.job(stubborn()).run())
    await turns()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 10)


# What takes the option --------------------------------------------------------------------------------------------


async def one(scene: Scene) -> AsyncIterator[dict[str, Any]]:
    yield scene.row(1)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (lambda scene: [scene.row(1)], "while a plain iterable waits for a row, nothing can be sent"),
        (lambda _: Path("of.csv"), "a file is read as fast as its rows can be sent"),
        (lambda _: io.BytesIO(), "an open file or pipe is read in blocks of bytes"),
        (lambda _: pyarrow.table({"email": ["a"]}), "a table is complete from the start"),
    ],
)
def test_what_is_no_async_iterable_takes_no_flush(scene: Scene, source: Callable[[Scene], Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=f"flush_after_seconds is for async iterables: {says}"):
        scene.job(source(scene), flush_after_seconds=1)
    scene.job(source(scene), flush_after_seconds=None)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_flush_takes_a_time(scene: Scene, seconds: float) -> None:
    with pytest.raises(InvalidInput, match="flush_after_seconds must be a number above 0"):
        scene.job(one(scene), flush_after_seconds=seconds)


async def test_an_upload_with_a_journal_waits_for_complete_batches(tmp_path: Path) -> None:
    scene = Scene("upload")
    with pytest.raises(InvalidInput, match="must depend only on the rows"):
        scene.job(one(scene), flush_after_seconds=1, journal=tmp_path / "journal")
    await scene.job(scene.rows([10] * 3), journal=tmp_path / "journal").run()
    assert scene.sizes == [3]


async def test_a_load_takes_a_flush_and_a_journal(tmp_path: Path) -> None:
    scene = Scene("load")
    options: dict[str, Any] = {"journal": tmp_path / "journal", "flush_after_seconds": FLUSH_SECONDS}
    confirmed = asyncio.Event()

    async def silent_after_three() -> AsyncIterator[dict[str, Any]]:
        async for row in scene.rows([1] * 3):
            yield row
        await asyncio.Event().wait()

    def note(progress: Progress) -> None:
        if progress.report.accepted == 3:
            confirmed.set()

    running = asyncio.create_task(scene.job(silent_after_three(), on_progress=note, **options).run())
    await confirmed.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    report = await scene.job(scene.rows([1] * 4), **options).run()
    assert (report.accepted, report.resumed, scene.sizes) == (4, 3, [1])


async def test_a_load_that_is_judged_as_a_whole_takes_no_flush(tmp_path: Path) -> None:
    scene = Scene("load")
    options: dict[str, Any] = {"digests": tmp_path / "digests", "delete_vanished": True, "max_reject_share": 0.1}
    await scene.job(scene.rows([10] * 3), **options).run()
    assert scene.sizes == [3]
    with pytest.raises(InvalidInput, match="which read all rows before sending any"):
        scene.job(one(scene), flush_after_seconds=1, **options)


# On the emulator --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("job", ["audience", "list", "catalog"])
async def test_rows_of_a_queue_reach_the_emulator_one_by_one(job: str, tmp_path: Path) -> None:
    queue, accepted = asyncio.Queue[dict[str, Any] | None](), asyncio.Queue[int]()

    async def consumed() -> AsyncIterator[dict[str, Any]]:
        while (row := await queue.get()) is not None:
            yield row

    def note(progress: Progress) -> None:
        if progress.report.accepted:
            accepted.put_nowait(progress.report.accepted)

    async with (
        Emulator() as emulator,
        Client(emulator.config, credentials=emulator.credentials) as client,
        asyncio.timeout(30),
    ):
        account = client.ads.account("18ce54d4x5t")
        if job == "catalog":
            start: Any = client.catalog("7pc01").products.upsert
        elif job == "audience":
            start = account.custom_audience("1nmth").upload
            with pytest.raises(InvalidInput, match="flush_after_seconds does not apply to a sync"):
                await account.custom_audience("1nmth").sync([], snapshot=tmp_path / "s", flush_after_seconds=1)  # type: ignore[call-arg]
        else:
            start = account.do_not_reach_list("7b2f1").upload
        running = asyncio.create_task(start(consumed(), flush_after_seconds=0.01, on_progress=note))
        for number in range(1, 4):
            queue.put_nowait(product(f"p{number}") if job == "catalog" else {"email": f"person{number}@example.com"})
            while await accepted.get() < number:
                pass
        queue.put_nowait(None)
        report = await running
    assert (report.read, report.accepted, report.requests) == (3, 3, 3)
