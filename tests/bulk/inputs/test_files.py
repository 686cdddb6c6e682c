"""Files that can be read, and a clear sentence for those that cannot."""

import asyncio
import gzip
import io
import json
import os
import stat
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.columns import IdentifierLayout
from socialapi.bulk.inputs.files import why
from socialapi.bulk.inputs.reader import BYTES_PER_BLOCK, ROWS_PER_BLOCK, THREAD_NAME, Block, ThreadedReader
from socialapi.errors import InvalidInput
from tests.bulk.input_files import open_files, open_users, read, read_until_error, values, why_empty, write
from tests.bulk.model_service import ModelService, job_of
from tests.bulk.products.model_catalog import open_feed


async def refusal(path: Path | str) -> str:
    with pytest.raises(InvalidInput) as error:
        await read(path)
    return str(error.value)


async def test_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    assert await refusal(tmp_path / "crm.csv") == f"{tmp_path / 'crm.csv'}: there is no such file"
    assert await refusal(tmp_path) == (
        f"{tmp_path}: this is a directory, not a file: give its files, for example with a pattern such as "
        '"<directory>/*.csv"'
    )
    assert await refusal(tmp_path / "x" / "crm.csv") == f"{tmp_path / 'x' / 'crm.csv'}: there is no such file"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
async def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "email\na@b.example\n")
    path.chmod(stat.S_IWUSR)
    assert await refusal(path) == f"{path}: reading this file is not permitted"


def test_what_the_system_says_becomes_a_sentence() -> None:
    assert why(PermissionError(13, "Permission denied")) == "reading this file is not permitted"
    assert why(OSError(5, "Input/output error")) == "the file cannot be read (Input/output error)"
    assert why(OSError()) == "the file cannot be read (OSError)"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
async def test_a_file_that_opens_and_cannot_be_read() -> None:
    assert await refusal("/proc/self/mem") == "/proc/self/mem: the file cannot be read (Input/output error)"


@pytest.mark.parametrize("data", ["secret@example.com", "email\nsecret@example.com\n", "+14155550123", "a\x00secret"])
async def test_data_given_as_a_path_is_not_quoted(data: str) -> None:
    assert data not in await refusal(data)
    assert "secret" not in await refusal(data)
    assert "415" not in await refusal(data)


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n\r\n  \n", b"\xef\xbb\xbf\n", b"\n" * 70_000])
@pytest.mark.parametrize("extension", [".csv", ".jsonl", ""])
async def test_an_empty_file(tmp_path: Path, content: bytes, extension: str) -> None:
    path = tmp_path / f"crm{extension}"
    write(path, content)
    assert await why_empty(path) == f"{path}: the file is empty"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04\x14\x00", "an Excel workbook or a zip archive: export the sheet as CSV, or unpack the archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook: export the sheet as CSV"),
        (gzip.compress(gzip.compress(b"email\n", mtime=0), mtime=0), "an archive within an archive: unpack it first"),
        (b"BZh91AY&SY", "a bzip2 archive: unpack it first, or recompress it with gzip"),
        (b"%PDF-1.7\n", "a PDF: export the data as CSV"),
        (b"SQLite format 3\x00", "an SQLite database: export the table as CSV"),
    ],
)
async def test_a_binary_file_is_called_what_it_is(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "crm.csv"
    write(path, content)
    assert await refusal(path) == f"{path}: this looks like a binary file, {says}"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("crm.txt", '[\n {"email": "a@b.example"}]', "this looks like JSON, although its name ends in .txt: rename it"),
        ("crm.csv", '{"email": "a@b.example"}\n', "this looks like JSON, although its name ends in .csv: rename it"),
        ("crm.xml", '{"users": []}', "this looks like JSON, although its name ends in .xml: rename it to .json"),
        (
            "crm.csv",
            '<?xml version="1.0"?><x/>',
            "this looks like XML or HTML, although its name ends in .csv: this is",
        ),
        ("crm.tsv", "<users>\n <user>", "this looks like XML or HTML, although its name ends in .tsv: this is XML,"),
        ("crm.json", "<!DOCTYPE html>\n<p>", "this looks like XML or HTML, although its name ends in .json: this is"),
    ],
)
async def test_another_format_than_the_name_says_is_called_what_it_is(
    tmp_path: Path, name: str, content: str, says: str
) -> None:
    write(tmp_path / name, content)
    assert (await refusal(tmp_path / name)).startswith(f"{tmp_path / name}: {says}")


async def test_a_notice_in_html_above_a_table_does_not_hide_it(tmp_path: Path) -> None:
    write(tmp_path / "crm.csv", "<br />\n<b>Notice</b>: x\nemail,name\na@b.example,Ann\n")
    assert values(await read(tmp_path / "crm.csv")) == [["a@b.example"]]


async def test_a_binary_file_of_no_known_kind(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, b"email,phone\n" + b"x" * 600 + b"\x00" * 100)
    assert "this looks like a binary file: give CSV, JSON or XML in UTF-8, or Parquet" in await refusal(path)


async def test_a_pipe_is_read_though_its_size_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("email\na@b.example\n",))
    writer.start()
    async with open_users(path) as reader:
        chunk = await reader.read_block()
        assert reader.fraction_read is None
    writer.join()
    assert values(chunk) == [["a@b.example"]]


async def test_closing_closes_the_file_at_any_time(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "email\n" + "a@b.example\n" * 5 * ROWS_PER_BLOCK)
    reader = open_users(path)
    await reader.aclose()
    assert await reader.read_block() is None
    async with open_users(path) as reader:
        assert len(await reader.read_block() or ()) == ROWS_PER_BLOCK
        assert str(path) in open_files()
        await reader.aclose()
        assert str(path) not in open_files()
        await reader.aclose()
        assert await reader.read_block() is None


async def reader_begun() -> None:
    """What comes before it in a job takes some turns, and more in the first job of a process."""
    async with asyncio.timeout(10):
        while not any(thread.name == THREAD_NAME for thread in threading.enumerate()):  # noqa: ASYNC110  # turns, not time
            await asyncio.sleep(0)


async def readers_ended() -> None:
    """Nothing waits for the thread of a reader but tests."""
    for thread in threading.enumerate():
        if thread.name == THREAD_NAME:
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()


@pytest.mark.parametrize("has_writer", [False, True])
async def test_who_leaves_a_pipe_that_says_nothing_does_not_wait_for_it(tmp_path: Path, *, has_writer: bool) -> None:
    path = tmp_path / "crm.csv"
    os.mkfifo(path)
    service = ModelService()
    upload = asyncio.create_task(job_of(service, path).run())
    writing = asyncio.to_thread(path.open, "wb", buffering=0)
    writer = await writing if has_writer else None
    await reader_begun()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(upload, 1)
    # The file is closed once the system lets go of it.
    with writer or await writing as file:
        file.write(b"email\na@b.example\n")
    await readers_ended()
    assert str(path) not in open_files()
    assert not service.requests


async def test_a_step_that_was_cancelled_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    os.mkfifo(path)
    async with open_users(path) as reader:
        step = asyncio.create_task(reader.read_block())
        await asyncio.sleep(0)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        await asyncio.to_thread(path.write_text, "email\na@b.example\n")
        assert values(await reader.read_block()) == [["a@b.example"]]
        assert await reader.read_block() is None
        assert reader.fraction_read == 1.0


class PanicError(BaseException):
    """What a library in another language may raise: no Exception."""


class PanickingFile:
    def __init__(self) -> None:
        self.parts = iter([b"email\n" + b"a@b.example\n" * 3])

    def read(self, size: int) -> bytes:
        for part in self.parts:
            return part
        raise PanicError("planted@example.com")


async def test_what_is_no_exception_ends_the_input_by_the_name_of_its_type() -> None:
    _, error = await asyncio.wait_for(read_until_error(PanickingFile(), InvalidInput), 10)
    assert str(error) == "reading failed: PanicError"


BLOCK: Final = Block(1, 1, IdentifierLayout((), ()), ())


class FailingToClose(ThreadedReader[IdentifierLayout]):
    """Its only step takes until it is told to end, and closing it fails."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        super().__init__()

    def _read(self) -> Generator[UserBlock, None, None]:
        try:
            self.go_on.wait(10)
            yield BLOCK
        finally:
            raise ZeroDivisionError


async def test_a_step_ends_although_the_input_cannot_be_closed_behind_it() -> None:
    reader = FailingToClose()
    step = asyncio.create_task(reader.read_block())
    await asyncio.sleep(0)
    await reader.aclose()
    reader.go_on.set()
    assert await asyncio.wait_for(step, 10) is BLOCK


PADDING: Final = "x" * 100_000
LONG_ROWS: Final = {
    "CSV": ("email,note\n", f"a@b.example,{PADDING}\n", ""),
    "JSON Lines": ("", json.dumps({"email": "a@b.example", "note": PADDING}) + "\n", ""),
    "JSON": ("[", json.dumps({"email": "a@b.example", "note": PADDING}) + ",\n", '{"email": "c@d.example"}]'),
}


@pytest.mark.parametrize("name", LONG_ROWS)
async def test_a_block_ends_after_a_megabyte_of_the_file_however_few_rows_it_has(name: str) -> None:
    start, row, end = LONG_ROWS[name]
    content = io.BytesIO((start + row * 40 + end).encode())
    async with open_users(content) as reader:
        sizes = [len(block) async for block in reader]
    assert sum(sizes) == 40 + bool(end)
    assert max(sizes) <= BYTES_PER_BLOCK // len(PADDING) + 2


async def test_a_block_of_products_in_xml_ends_after_a_megabyte_of_the_file_too() -> None:
    item = f"<item><id>1</id><description>{PADDING}</description></item>"
    async with open_feed(io.BytesIO(f"<rss><channel>{item * 40}</channel></rss>".encode())) as reader:
        sizes = [len(block) async for block in reader]
    assert (sum(sizes), max(sizes) <= BYTES_PER_BLOCK // len(PADDING) + 2) == (40, True)
