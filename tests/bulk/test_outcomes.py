"""What became of each row: the outcomes file, its keys, and the calls with the number of settled rows.

Every run is held against its input, its report and the service: each row has one line, with its own key.
"""

import asyncio
import csv
import datetime
import hashlib
import itertools
import json
import os
import random
import stat
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow
import pyarrow.parquet
import pytest

from socialapi.bulk import ledger as ledgers
from socialapi.bulk.ledger import key_text
from socialapi.errors import BulkError, InvalidInput
from socialapi.models.audiences import AudienceUser
from socialapi.reports import EMPTY_KEY, UploadReport
from tests.bulk.model_service import BAD, FAULTS, ModelService, job_of, synced
from tests.bulk.model_transport import refusal
from tests.bulk.products import model_catalog
from tests.bulk.products.model_catalog import REFUSED, ModelCatalog, product
from tests.bulk.resuming import MemoryJournal
from tests.support.clock import VirtualClock
from tests.support.files import names_in

Line = dict[str, str]


def lines_of(path: Path) -> list[Line]:
    """The lines of an outcomes file of any format, as texts."""
    if path.suffix == ".parquet":
        rows = pyarrow.parquet.read_table(path).to_pylist()
    elif path.suffix == ".jsonl":
        rows = list(map(json.loads, path.read_text("utf-8").splitlines()))
    else:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    return [{name: str(value) for name, value in row.items()} for row in rows]


def holds(path: Path, keys: Sequence[str], report: UploadReport) -> list[Line]:
    """Asserts that the lines are one for each row, with its key, and as many of each outcome as the report has."""
    lines = sorted(lines_of(path), key=lambda line: int(line["row"]))
    assert [(int(line["row"]), line["key"]) for line in lines] == list(enumerate(keys, 1))[: report.read]
    counts = Counter(line["outcome"] for line in lines)
    assert counts == {name: rows for name, rows in report.counts.items() if name in counts}
    assert sum(counts.values()) == report.read
    assert all(bool(line["reason"]) == (line["outcome"] == "rejected") for line in lines)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(names_in(path.parent)) <= {path.name, "people.csv"}
    return lines


def people(count: int, rng: random.Random) -> list[dict[str, Any]]:
    """Rows with a key each, of which some repeat others, are refused by the service, or have nothing usable."""
    values = [f"p{number}" for number in range(count)]
    rows = []
    for number, value in enumerate(values):
        kind = rng.choice(["", "", "", BAD, "again", "empty"])
        name = rng.choice(values[: number + 1]) if kind == "again" else f"{value}{kind}" if kind == BAD else value
        rows.append({"partner_user_id": "" if kind == "empty" else name, "customer": f"c,{number}"})
    return rows


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks lie across the pages of the ledger."""
    monkeypatch.setattr(ledgers, "ROWS_PER_BLOCK", 99)


ENDINGS: Final = (".csv", ".jsonl", ".parquet")


@pytest.mark.parametrize("seed", range(6))
async def test_each_row_of_an_upload_has_one_line_whatever_fails(tmp_path: Path, seed: int, small_pages: None) -> None:
    rng = random.Random(seed)
    rows, path = people(600, rng), tmp_path / f"out{ENDINGS[seed % 3]}"
    service = ModelService(rng=rng, faults=FAULTS, likely=1 / 3)
    job = job_of(
        service,
        rows,
        clock=VirtualClock(),
        settings={"max_operations": 50},
        packing=("single", "packed")[seed % 2],
        key="customer",
        outcomes=path,
    )
    report = await job.run()
    lines = holds(path, [row["customer"] for row in rows], report)
    taken = {value for _, value in service.members}
    for row, line in zip(rows, lines, strict=True):
        assert (line["outcome"] in ("accepted", "duplicate")) == (row["partner_user_id"] in taken), line


@pytest.mark.parametrize("seed", range(4))
async def test_a_run_that_is_ended_and_resumed_writes_each_row_once_and_calls_with_what_the_journal_has(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    rows, path, journal = people(700, rng), tmp_path / "out.csv", MemoryJournal()
    keys, told = [row["customer"] for row in rows], list[int]()
    for run in itertools.count():
        service = ModelService(rng=rng)
        job = job_of(
            service,
            rows,
            settings={"max_operations": 25},
            journal=journal,
            key="customer",
            outcomes=path,
            on_settled=told.append,
        )
        running = asyncio.create_task(job.run())
        if run < 4:
            await service.until_in_flight(3)
            running.cancel()
        try:
            report = await running
        except asyncio.CancelledError:
            lines = lines_of(path)
            assert len({line["row"] for line in lines}) == len(lines) == job.counters.read
            assert told == sorted(told)
            told.clear()
        else:
            break
    holds(path, keys, report)
    assert told[-1] == len(rows)
    assert len(set(told)) == len(told)


async def test_rows_of_a_batch_are_settled_once_the_journal_has_it() -> None:
    journal, told = MemoryJournal(), list[tuple[int, int]]()

    async def settled(rows: int) -> None:
        told.append((rows, len(journal.confirmed)))

    rows = [{"partner_user_id": f"p{number}"} for number in range(1_000)]
    await job_of(
        ModelService(), rows, settings={"max_operations": 100}, journal=journal, concurrency=1, on_settled=settled
    ).run()
    assert told[-1] == (1_000, 10)
    assert all(rows <= 100 * confirmed for rows, confirmed in told)


async def test_what_the_callback_raises_stops_the_job_and_it_is_not_called_again() -> None:
    told = list[int]()

    def settled(rows: int) -> None:
        told.append(rows)
        raise LookupError

    rows = [{"partner_user_id": f"p{number}"} for number in range(1_000)]
    job = job_of(ModelService(), rows, settings={"max_operations": 100}, concurrency=1, on_settled=settled)
    with pytest.raises(BulkError, match="LookupError, raised by on_settled") as caught:
        await job.run()
    assert isinstance(caught.value.__cause__, LookupError)
    assert len(told) == 1
    assert caught.value.report.pending


async def test_the_callback_of_a_sync_is_named_too(tmp_path: Path) -> None:
    def settled(rows: int) -> None:
        raise LookupError

    with pytest.raises(BulkError, match="at the end: LookupError, raised by on_settled"):
        await synced(ModelService(), [{"handle": "a"}], tmp_path / "audience.snapshot", on_settled=settled)


@pytest.mark.parametrize(
    "options", [{}, {"digests": True}, {"digests": True, "delete_vanished": True, "max_reject_share": 1}]
)
async def test_each_product_has_one_line(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, small_pages: None
) -> None:
    monkeypatch.setattr(ledgers, "PAGES_IN_MEMORY", 0)
    rng = random.Random(7)
    feed = [
        product(
            f"id{rng.randrange(180)}",
            custom_label_0=rng.choice([None, None, REFUSED]),
            price=rng.choice(["1 EUR", "2 EUR", "?"]),
            sku=f"sku {number}",
        )
        for number in range(250)
    ]
    options = options | ({"digests": tmp_path.parent / f"{tmp_path.name}.digests"} if options else {})
    for path in (tmp_path / "a" / "out.csv", tmp_path / "b" / "out.jsonl"):
        path.parent.mkdir()
        job = model_catalog.job_of(
            ModelCatalog(rng=rng, faults=model_catalog.FAULTS, likely=1 / 3),
            feed,
            clock=VirtualClock(),
            key="sku",
            outcomes=path,
            **options,
        )
        try:
            report = await job.run()
        except BulkError as stopped:  # products that have vanished are not deleted where ids are unreadable
            report = stopped.report  # type: ignore[assignment]
        holds(path, [row["sku"] for row in feed], report)


async def test_a_dry_run_says_pending_of_what_would_be_sent(tmp_path: Path) -> None:
    rows = people(200, random.Random(1))
    told = list[int]()
    job = job_of(
        ModelService(), rows, dry_run=True, key="customer", outcomes=tmp_path / "out.csv", on_settled=told.append
    )
    lines = holds(tmp_path / "out.csv", [row["customer"] for row in rows], await job.run())
    assert {line["outcome"] for line in lines} == {"pending", "rejected", "duplicate"}
    assert told == []
    before = (tmp_path / "out.csv").read_bytes()
    with pytest.raises(InvalidInput, match="outcomes is a file that a dry run does not replace"):
        await job_of(ModelService(), rows, dry_run=True, outcomes=tmp_path / "out.csv").run()
    assert (tmp_path / "out.csv").read_bytes() == before


LAYOUT: Final = """version = 1
reads = "people"
format = "csv"
delimiter = ","
encoding = "utf-8"
header_line = 1
phone_format = "auto"
[columns]
"email" = "email"
"n" = ""
"""


async def test_several_files_are_named_and_the_outcomes_file_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(LAYOUT, "utf-8")
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"email,n\n{name}1@example.com,1\n{name}2@example.com,2\n", "utf-8")
    for layout in (None, tmp_path / "people.toml"):
        report = await job_of(
            ModelService(), str(tmp_path / "*.csv"), key="n", outcomes=tmp_path / "out.csv", layout=layout
        ).run()
        assert (report.read, report.accepted) == (4, 4)
    found = [(Path(line["file"]).name, line["file_row"], line["key"]) for line in lines_of(tmp_path / "out.csv")]
    assert found == [("a.csv", "1", "1"), ("a.csv", "2", "2"), ("b.csv", "1", "1"), ("b.csv", "2", "2")]


# Keys ------------------------------------------------------------------------------------------------------------------

ONE: Final = uuid.UUID("12345678-1234-5678-1234-567812345678")
KEYS: Final[Sequence[tuple[Any, str | None]]] = [
    ("  as it is ", "  as it is "),
    (4711, "4711"),
    (-5, "-5"),
    (10**30, "1" + "0" * 30),
    (4711.0, "4711"),
    (Decimal("12.00"), "12"),
    (None, ""),
    (float("nan"), ""),
    (ONE, "12345678-1234-5678-1234-567812345678"),
    (datetime.date(2025, 1, 6), "2025-01-06"),
    (datetime.time(9, 30), "09:30:00"),
    (datetime.datetime(2025, 1, 6, 9, tzinfo=datetime.UTC), "2025-01-06T09:00:00+00:00"),
    (1.5, None),
    (1e300, None),
    (True, None),
    (b"x", None),
    (["a"], None),
    ({"a": 1}, None),
]


@pytest.mark.parametrize(("value", "text"), KEYS)
async def test_a_key_is_written_as_it_is_or_refused(tmp_path: Path, value: Any, text: str | None) -> None:
    path = tmp_path / "out.csv"
    job = job_of(ModelService(), [{"email": "a@example.com", "customer": value}], key="customer", outcomes=path)
    if text is None:
        with pytest.raises(InvalidInput, match=r"row 1: the key \(customer\) "):
            await job.run()
        assert names_in(tmp_path) == []
    else:
        holds(path, [text], await job.run())
        assert key_text(value) == text


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        (
            "email,a\nx@example.com,1\n",
            {"key": "b"},
            'there is no column "b" for the key; the columns are: "email", "a"',
        ),
        ("email,b,b\nx@example.com,1,2\n", {"key": "b"}, '2 columns are called "b"'),
        ("email,Cust_Id,cust id\nx@example.com,1,2\n", {"key": "CUST-ID"}, '2 columns are called "CUST-ID"'),
        ("email,b\nx@example.com,1\n", {"key": "email"}, 'the column "email" is read as email'),
        ([{"phone_number": "+4915123456789"}], {"key": "phone_number"}, "is read as phone_number"),
        ([{"email": "x@example.com"}], {"key": "b"}, 'there is no column "b" for the key'),
        ([AudienceUser(email="x@example.com")], {"key": "b"}, "models have no key"),
        ([{"email": "x@example.com", "b": "k" * 257}], {"key": "b"}, "is longer than 256 characters"),
        ([{"email": "x@example.com", "b": "\ud800"}], {"key": "b"}, "is not valid Unicode text"),
        *(
            ([{"email": "0" * 64, "b": key}], {"key": "b", "require_hashed": True}, "looks like an address")
            for key in (
                *("x@example.com", " <x@example.com>", "a@example.com;b@example.com", "+4915123456789", "4155552671"),
                *("14155552671", "01713920012", "491713920012", " 0049 171 3920012", "4711 | 415-555-2671"),
            )
        ),
    ],
)
async def test_a_key_that_cannot_be_is_refused_before_the_first_request(
    tmp_path: Path, source: Any, options: dict[str, Any], says: str
) -> None:
    if isinstance(source, str):
        (tmp_path / "people.csv").write_text(source, "utf-8")
        source = str(tmp_path / "people.csv")
    (tmp_path / "out.csv").write_text("row,key,outcome,reason of yesterday", "utf-8")
    service = ModelService()
    with pytest.raises(InvalidInput) as caught:
        await job_of(service, source, outcomes=tmp_path / "out.csv", **options).run()
    assert says in str(caught.value)
    assert service.requests == []
    assert (tmp_path / "out.csv").read_text("utf-8") == "row,key,outcome,reason of yesterday"
    assert not (tmp_path / "out.csv.part").exists()


def _csv(rows: Iterable[tuple[str, str]], path: Path) -> str:
    path.write_text("partner_user_id,customer\n" + "".join(f"{a},{b}\n" for a, b in rows), "utf-8")
    return str(path)


SOURCES: Final[Sequence[Callable[[Sequence[tuple[str, str]], Path], Any]]] = [
    lambda rows, path: _csv(rows, path / "people.csv"),
    lambda rows, _: pyarrow.table({"partner_user_id": [a for a, _ in rows], "customer": [b for _, b in rows]}),
    lambda rows, _: [{"partner_user_id": a, "nested": {"id": b}} for a, b in rows],
]


@pytest.mark.parametrize("source", SOURCES)
async def test_keys_are_found_in_files_tables_and_nested_mappings_and_empty_ones_are_warned_of_once(
    tmp_path: Path, source: Callable[..., Any]
) -> None:
    rows = [(f"p{number}", "" if number % 100 == 7 else f"k{number}") for number in range(2_600)]
    records, path = source(rows, tmp_path), tmp_path / "out.csv"
    key = "nested.id" if isinstance(records, list) else "customer"
    report = await job_of(ModelService(), records, key=key, outcomes=path).run()
    holds(path, [key for _, key in rows], report)
    assert [(each.row, each.reason.startswith(EMPTY_KEY)) for each in report.warning_details] == [(8, True)]
    assert report.columns[key] == "key"


async def test_what_is_no_number_of_a_phone_may_be_a_key_where_all_is_hashed(tmp_path: Path) -> None:
    keys = ["4711", "20250106", "2025-01-06", "K-4155552671", "123456789012345678", str(ONE), "a@risk"]
    rows = [{"email": "0" * 64, "customer": key} for key in keys]
    job = job_of(ModelService(), rows, key="customer", outcomes=tmp_path / "out.csv", require_hashed=True)
    holds(tmp_path / "out.csv", keys, await job.run())


async def test_an_id_of_a_partner_may_be_the_key(tmp_path: Path) -> None:
    rows = [{"partner_user_id": f"p{number}"} for number in range(5)]
    report = await job_of(ModelService(), rows, key="partner_user_id", outcomes=tmp_path / "out.csv").run()
    holds(tmp_path / "out.csv", [f"p{number}" for number in range(5)], report)


# The file --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"key": "a"}, "key needs outcomes"),
        ({"outcomes": "out.txt"}, "outcomes must end in one of .csv, .jsonl, .parquet"),
        ({"outcomes": "a.csv", "rejects": "a.csv"}, "is the rejects file, too"),
        ({"outcomes": "a.csv", "rejects": "./a.csv.part"}, "is the temporary path of the outcomes file"),
        ({"outcomes": "a.csv", "journal": "a.csv"}, "is the outcomes file, too"),
        (
            {"outcomes": "a.csv.part.csv", "journal": "a.csv.part.csv.part"},
            "is the temporary path of the outcomes file",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        job_of(ModelService(), [{"email": "x@example.com"}], **options)
    assert says in str(caught.value)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
async def test_a_path_that_the_system_refuses_is_an_invalid_option(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"{'x' * 300}{ending}"
    with pytest.raises(InvalidInput, match="cannot be written: File name too long"):
        await job_of(ModelService(), [{"email": "x@example.com"}], outcomes=path).run()


async def test_what_a_killed_job_left_is_replaced_and_what_is_not_of_a_job_is_refused(tmp_path: Path) -> None:
    part, rows = tmp_path / "out.csv.part", [{"email": "x@example.com"}]
    part.write_bytes(b"row,key,outcome,reason\r\n1,,acc")
    assert (await job_of(ModelService(), rows, outcomes=tmp_path / "out.csv").run()).accepted == 1
    assert (tmp_path / "out.csv").read_bytes() == b"row,key,outcome,reason\r\n1,,accepted,\r\n"
    part.write_text("a letter", "utf-8")
    with pytest.raises(InvalidInput, match="holds something else"):
        await job_of(ModelService(), rows, outcomes=tmp_path / "out.csv").run()
    assert part.read_text("utf-8") == "a letter"


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_file_that_no_job_has_written_is_not_replaced(tmp_path: Path, ending: str) -> None:
    path, rows = tmp_path / f"out{ending}", [{"email": "x@example.com"}]
    for _ in range(2):  # the second run replaces what the first has written
        await job_of(ModelService(), rows, outcomes=path).run()
        assert len(lines_of(path)) == 1
    if ending == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"id": [1], "outcome": ["cured"]}), path)
    else:
        path.write_text("row,id\n1,2\n", "utf-8")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="it was not written by a job"):
        await job_of(ModelService(), rows, outcomes=path).run()
    assert path.read_bytes() == before


@pytest.mark.parametrize("ending", ENDINGS)
async def test_outcomes_of_a_source_that_goes_on_are_never_lost(tmp_path: Path, ending: str) -> None:
    """A run that ends, one that is killed with its lines on the disk, and one that takes up where they left."""
    out, part = tmp_path / f"out{ending}", tmp_path / f"out{ending}.part"

    async def rows(first: int) -> AsyncIterator[dict[str, str]]:
        for number in range(first, first + 3):
            yield {"partner_user_id": f"p{number}", "customer": f"c{number}"}

    def job(first: int, records: Any = None, **options: Any) -> Any:
        return job_of(
            ModelService(),
            rows(first) if records is None else records,
            settings={"max_operations": 1},
            concurrency=1,
            key="customer",
            outcomes=out,
            rejects=tmp_path / "rejects.csv",
            **options,
        ).run()

    on_disk = b""

    def settled(rows: int) -> None:
        nonlocal on_disk
        on_disk = part.read_bytes()

    for first in (0, 3, 6):
        await job(first, on_settled=settled)
        if first == 3:  # killed: no line of it has another name
            out.unlink()
            part.write_bytes(on_disk)
    kept = [out, tmp_path / f"out.1{ending}", tmp_path / ("out.1.jsonl" if ending == ".parquet" else f"out.2{ending}")]
    assert sorted(line["key"] for path in kept for line in lines_of(path)) == [f"c{number}" for number in range(9)]
    before = len(names_in(tmp_path))
    for options in ({"on_settled": None}, {"journal": MemoryJournal(), "on_settled": print}):
        await job(9, **options)
    await job(0, people(3, random.Random(1)), on_settled=print)  # a list is read again
    assert len(names_in(tmp_path)) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("rows", [10, 5_000])
async def test_a_full_disk_stops_the_job_and_leaves_the_former_file(rows: int) -> None:
    people = [{"partner_user_id": f"p{number}"} for number in range(rows)]
    job = job_of(ModelService(), people, settings={"max_operations": 100}, outcomes="/dev/full")
    with pytest.raises(BulkError, match="outcomes file /dev/full cannot be written: No space left on device") as caught:
        await job.run()
    assert caught.value.report.adds_up


async def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = asyncio.get_running_loop().run_in_executor(None, (tmp_path / "pipe").read_bytes)  # runs at once
    await job_of(ModelService(), [{"email": "x@example.com"}], outcomes=tmp_path / "pipe").run()
    assert await reading == b"row,key,outcome,reason\r\n1,,accepted,\r\n"
    assert names_in(tmp_path) == ["pipe"]


async def test_an_open_file_gets_csv(tmp_path: Path) -> None:
    """As `--outcomes /dev/stdout > out` does, whatever the name of the file."""
    with (tmp_path / "out").open("wb") as file:
        await job_of(ModelService(), [{"email": "x@example.com"}], outcomes=f"/dev/fd/{file.fileno()}").run()
    assert (tmp_path / "out").read_bytes() == b"row,key,outcome,reason\r\n1,,accepted,\r\n"


async def test_a_broken_input_leaves_a_line_for_each_row_that_was_read(tmp_path: Path) -> None:
    def rows() -> Iterable[dict[str, str]]:
        for number in range(2_000):
            yield {"partner_user_id": f"p{number}", "customer": f"c{number}"}
        raise LookupError

    with pytest.raises(BulkError) as caught:
        await job_of(ModelService(), rows(), key="customer", outcomes=tmp_path / "out.csv").run()
    holds(tmp_path / "out.csv", [f"c{number}" for number in range(2_000)], caught.value.report)


# Syncs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["finished", "refused", "cancelled", "broken", "too many", "dry run"])
async def test_each_desired_row_of_a_sync_has_one_line_however_it_ends(
    tmp_path: Path, end: str, small_pages: None
) -> None:
    rng, path, told = random.Random(end), tmp_path / "out" / "out.csv", list[int]()
    path.parent.mkdir()
    rows = [
        {"handle": rng.choice(["", f"h{number}", f"h{rng.randrange(900)}"]), "customer": f"c{number}"}
        for number in range(900)
    ]

    def desired() -> Iterable[dict[str, Any]]:
        yield from rows
        if end == "broken":
            raise LookupError

    service = ModelService(rng=rng, faults=(*FAULTS, "operation_error"), likely=0.3)
    snapshot, settings = tmp_path / "audience.snapshot", {"max_operations": 30}
    await synced(service, rows[:300], snapshot, settings=settings)
    held = {value for _, value in service.members}
    wanted: Any = rows[150:] if end == "too many" else desired()
    job = synced(
        service,
        wanted,
        snapshot,
        settings=settings,
        key="customer",
        outcomes=path,
        on_settled=told.append,
        max_removal_share=0.0 if end == "too many" else 1.0,
        dry_run=end == "dry run",
    )
    if end == "refused":
        service._script = iter([None] * 5 + [refusal(403)] * 5)
    running = asyncio.create_task(job)
    if end == "cancelled":
        await service.until_in_flight(3)
        running.cancel()
    keys = [row["customer"] for row in (rows[150:] if end == "too many" else rows)]
    try:
        report = await running
    except BulkError as stopped:
        report = stopped.report  # type: ignore[assignment]
    except asyncio.CancelledError:
        counts = Counter(line["outcome"] for line in lines_of(path))
        assert sum(counts.values()) == len(rows)
        assert min(counts["pending"], counts["unchanged"], counts["rejected"])
        return
    lines = sorted(lines_of(path), key=lambda line: int(line["row"]))
    assert [line["key"] for line in lines] == keys
    counts = Counter(line["outcome"] for line in lines)
    assert (counts["added"], counts["unchanged"]) == (report.additions.accepted, report.unchanged)
    assert (counts["rejected"], counts["pending"]) == (report.rejected, report.pending)
    names = {row["customer"]: hashlib.sha256(row["handle"].encode()).hexdigest() for row in rows}
    taken = {value for _, value in service.members}
    assert all(names[line["key"]] in taken for line in lines if line["outcome"] in ("added", "unchanged"))
    assert all(names[line["key"]] in held for line in lines if line["outcome"] == "unchanged")
    first_pending = next((at for at, line in enumerate(lines) if line["outcome"] == "pending"), len(lines))
    assert told == ([] if end == "dry run" else [first_pending] if first_pending else [])
