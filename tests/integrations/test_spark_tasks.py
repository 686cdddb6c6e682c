"""A task uploads its partition behind the fence, and the driver counts each partition once."""

import json
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import pyarrow
import pytest

from socialapi.config import Config
from socialapi.errors import BulkError, InvalidInput
from socialapi.integrations.redis_fence import RedisFence, Superseded
from socialapi.integrations.spark_options import WriteSettings
from socialapi.integrations.spark_tasks import (
    Attempt,
    FencedPacer,
    PartitionRows,
    PartReport,
    finish,
    give_up,
    write_partition,
)
from socialapi.session.rate_limiter import SlidingWindowPacer
from tests.proofs.processes import Service, service
from tests.support.clock import VirtualClock
from tests.support.redis import imitation, time_of_redis

SETTINGS: Final = WriteSettings(
    write="monday",
    started_at="2027-01-15T08:00:00Z",
    kind="audience",
    account="18ce5",
    target="4f2a",
    keywords={"operation": "Update"},
    job="crm",
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def fence(clock: VirtualClock, server: Any, attempt: int) -> RedisFence:
    return RedisFence(server, Config(), job="crm", run="monday", part=0, attempt=attempt, clock=clock)


# The pacer -----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def fenced(clock: VirtualClock) -> AsyncIterator[tuple[FencedPacer, RedisFence]]:
    """The pacer of a first attempt, whose first request waits 61 seconds, and the fence of its successor."""
    server = imitation()
    with time_of_redis(clock):
        own = fence(clock, server, 0)
        await own.take()
        pacer = FencedPacer(SlidingWindowPacer(Config(), clock), own, clock, 61.0)
        yield pacer, fence(clock, server, 1)


async def test_the_first_request_waits_until_the_last_one_of_a_predecessor_has_ended(
    fenced: tuple[FencedPacer, RedisFence], clock: VirtualClock
) -> None:
    pacer, _ = fenced
    began = clock.monotonic()
    (await pacer.acquire("uploads", None, bulk=True, max_wait_seconds=960)).replied(None)
    assert clock.monotonic() - began == pytest.approx(61)
    (await pacer.acquire("uploads", None, bulk=True, max_wait_seconds=960)).replied(None)
    assert clock.monotonic() - began == pytest.approx(61)


async def test_a_superseded_attempt_gets_no_place_and_keeps_none(
    fenced: tuple[FencedPacer, RedisFence], clock: VirtualClock
) -> None:
    pacer, successor = fenced
    (await pacer.acquire("uploads", None, bulk=True, max_wait_seconds=960)).replied(None)
    await successor.take()
    with pytest.raises(Superseded):
        await pacer.acquire("uploads", None, bulk=True, max_wait_seconds=960)
    assert pacer.limits()["uploads"].in_flight == 0
    assert pacer.requests_per_second("uploads", None) is None


# The rows ------------------------------------------------------------------------------------------------------------


def products(*ids: str | None) -> Any:
    return pyarrow.record_batch({"id": pyarrow.array(ids, pyarrow.string())})


def test_the_batches_of_a_partition_are_one_table() -> None:
    rows = PartitionRows(iter([products("a", "b"), products("c")]), ["id"]).open()
    assert pyarrow.table(rows)["id"].to_pylist() == ["a", "b", "c"]
    assert PartitionRows(iter([])).open() == []


@pytest.mark.parametrize("batches", [[products("a", "b", "a ")], [products("a"), products("b", "a")]])
def test_an_id_that_repeats_ends_the_input_and_says_what_to_do(batches: list[Any]) -> None:
    rows = PartitionRows(iter(batches), ["id"])
    table = rows.open()
    with pytest.raises(pyarrow.ArrowInvalid):
        pyarrow.table(table)
    assert isinstance(rows.fault, InvalidInput)
    assert "latest_per_product(df, order_by=…)" in str(rows.fault)


def test_rows_without_an_id_do_not_repeat_one() -> None:
    rows = PartitionRows(iter([products(None, "", None, "a")]), ["id"]).open()
    assert pyarrow.table(rows).num_rows == 4


# A task --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    with service() as emulator:
        yield emulator


@pytest.fixture
def emulator(running: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """An emulator, to which the environment points."""
    running.ask("POST", "reset")
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SOCIALAPI_REDIS_URL", raising=False)
    return running


def aimed(emulator: Service, **more: Any) -> WriteSettings:
    account, audience = emulator.audience
    return attrs.evolve(SETTINGS, account=account, target=audience, **more)


def people(*emails: str) -> Any:
    return pyarrow.record_batch({"email": list(emails)})


def test_a_task_leaves_a_report_and_the_rejected_rows_for_its_owner_alone(emulator: Service, tmp_path: Path) -> None:
    settings = aimed(emulator, report=str(tmp_path / "reports"), rejects=str(tmp_path / "rejects"))
    part = write_partition(settings, Attempt(3, 0, 17), iter([people("ada@example.com", "nobody")]))
    assert (part.counts["read"], part.counts["accepted"], part.counts["rejected"]) == (2, 1, 1)
    assert part.report == str(tmp_path / "reports" / "part-monday-00003-17.json")
    assert part.rejects == str(tmp_path / "rejects" / "part-monday-00003-17.csv")
    assert {mode(Path(path)) for path in (part.report, part.rejects)} == {0o600}
    told = json.loads(Path(part.report).read_text())
    assert (told["state"], told["partition"], told["read"], told["rejected"]) == ("ended", 3, 2, 1)
    assert "ada@" not in Path(part.report).read_text() + Path(part.rejects).read_text()
    assert len(emulator.members()) == 1


def test_an_empty_partition_is_an_empty_report(emulator: Service) -> None:
    assert write_partition(aimed(emulator), Attempt(0, 0, 1), iter([])).counts["read"] == 0


def test_rows_that_cannot_be_read_fail_the_task_and_are_not_quoted(emulator: Service, tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield people("ada@example.com")
        raise OSError("ada@example.com cannot be read")

    settings = aimed(emulator, report=str(tmp_path))
    with pytest.raises(BulkError) as failed:
        write_partition(settings, Attempt(3, 0, 17), broken())
    assert failed.value.message == "partition 3, attempt 0: the rows cannot be read (OSError)"
    assert failed.value.report.read == 1
    assert failed.value.__cause__ is failed.value.__context__ is None
    told = json.loads((tmp_path / "part-monday-00003-17.json").read_text())
    assert (told["state"], told["why"]) == ("failed", failed.value.message)


def test_a_task_stops_when_too_many_of_its_first_rows_are_rejected(emulator: Service) -> None:
    few = aimed(emulator, max_reject_share=0.1)
    assert write_partition(few, Attempt(0, 0, 1), iter([people(*["nobody"] * 100)])).counts["rejected"] == 100
    with pytest.raises(BulkError, match=r"rows were rejected, more than the limit of 10\.0% \(max_reject_share\)"):
        write_partition(few, Attempt(0, 0, 1), iter([people(*["nobody"] * 20_000)]))


def test_what_is_not_configured_is_said_with_the_partition(emulator: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOCIALAPI_ACCESS_TOKEN", "SOCIALAPI_API_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(BulkError, match=r"partition 2, attempt 0: .*SOCIALAPI_"):
        write_partition(aimed(emulator), Attempt(2, 0, 1), iter([people("ada@example.com")]))


def test_a_folder_that_cannot_be_made_is_said(emulator: Service, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BulkError, match=r"the folder .* cannot be created"):
        write_partition(
            aimed(emulator, rejects=str(tmp_path / "file" / "x")), Attempt(0, 0, 1), iter([people("a@b.co")])
        )


# The driver ----------------------------------------------------------------------------------------------------------


def part(partition: int, task: int, read: int, rejected: int = 0, number: int = 0) -> PartReport:
    counts = {
        "read": read,
        "accepted": read - rejected,
        "rejected": rejected,
        "duplicate": 0,
        "pending": 0,
        "requests": 1,
    }
    return PartReport(Attempt(partition, number, task), counts)


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_each_partition_counts_once_by_its_last_attempt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = attrs.evolve(SETTINGS, report=str(tmp_path))
    finish(settings, [part(0, 4, 100, 7, number=1), part(1, 1, 50), part(0, 2, 90)])
    told = summary(tmp_path)
    assert (told["state"], told["read"], told["rejected"], told["failed_partitions"]) == ("finished", 150, 7, [])
    assert [(each["partition"], each["attempt"], each["task"]) for each in told["partitions"]] == [(0, 1, 4), (1, 0, 1)]
    assert mode(tmp_path / "summary.json") == 0o600
    assert capsys.readouterr().err == (
        "socialapi: write monday to custom audience 4f2a finished: 150 rows read, 143 accepted, 7 rejected, 0 duplicate, "
        "0 pending, 2 requests\n"
    )


def test_without_a_folder_the_totals_are_told_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    finish(SETTINGS, [part(0, 1, 10)])
    assert "10 rows read, 10 accepted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_says_which_partitions_have_failed_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_up(attrs.evolve(SETTINGS, report=str(tmp_path)), [part(0, 1, 10), None, part(2, 3, 10), None])
    told = summary(tmp_path)
    assert (told["state"], told["failed_partitions"], told["read"]) == ("failed", [1, 3], 20)
    said = capsys.readouterr().err
    assert "failed: partitions 1, 3 have not finished" in said
    assert "write the complete DataFrame again" in said


def test_of_many_failed_partitions_the_first_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    give_up(SETTINGS, [None] * 30)
    assert "18, 19 and 10 more have not finished" in capsys.readouterr().err


def test_too_many_rejected_rows_fail_the_write_by_the_counts_of_all_partitions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = attrs.evolve(SETTINGS, report=str(tmp_path), max_reject_share=0.05)
    finish(settings, [part(0, 1, 20, 2), part(1, 2, 20)])
    parts = [part(0, 1, 20, 2), part(1, 2, 10)]
    with pytest.raises(InvalidInput, match=r"2 of 30 rows were rejected, more than the limit of 5\.0%"):
        finish(settings, parts)
    give_up(settings, parts)
    assert summary(tmp_path)["why"] == "2 of 30 rows were rejected, more than the limit of 5.0% (max_reject_share)"
