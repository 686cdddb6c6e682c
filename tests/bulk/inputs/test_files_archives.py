"""Archives are read as what is in them, however they were packed, and as far as they go."""

import asyncio
import builtins
import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.errors import InvalidInput
from tests.bulk.input_files import open_users, read, read_until_error, values, why_empty, write

if sys.version_info >= (3, 14):
    from compression.zstd import compress as compress_zstd
else:
    from backports.zstd import compress as compress_zstd

Pack = Callable[[bytes], bytes]

PACKS: list[Any] = [pytest.param(gzip.compress, id="gzip"), pytest.param(compress_zstd, id="zstd")]
ENDINGS = {gzip.compress: "gz", compress_zstd: "zst"}
CUT_OFF = "the archive is incomplete: writing or copying it was interrupted"
DAMAGED = "the archive is damaged and cannot be unpacked any further"


def people(count: int, first: int = 0) -> bytes:
    return b"".join(b"person.%d@b.example\n" % (number * 7919 % 1_000_003) for number in range(first, first + count))


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("crm.csv", b"\xef\xbb\xbfemail;phone\na@b.example;\n"),
        ("crm.tsv", b"email\tphone\na@b.example\t\n"),
        ("crm.jsonl", b'{"email": "a@b.example"}\n'),
        ("crm", b'{"email": "a@b.example"}\n'),
        ("crm", b"email\na@b.example\n"),
    ],
)
async def test_an_archive_is_read_by_its_first_bytes_whatever_its_name(
    tmp_path: Path, pack: Pack, name: str, content: bytes
) -> None:
    for path in (tmp_path / name, tmp_path / f"{name}.{ENDINGS[pack]}"):
        write(path, pack(content))
        assert values(await read(path)) == [["a@b.example"]]


async def test_a_file_that_is_called_an_archive_and_is_none_is_read_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "crm.jsonl.gz", b'{"email": "a@b.example"}\n')
    assert values(await read(tmp_path / "crm.jsonl.gz")) == [["a@b.example"]]


@pytest.mark.parametrize("pack", PACKS)
async def test_an_archive_of_several_parts_is_one_text(tmp_path: Path, pack: Pack) -> None:
    large = people(20_000)  # more than is unpacked at once
    parts = (b"", b"email\na@b.exa", b"mple\n", large, b"c@d.example\n", large)
    write(tmp_path / "crm.csv.gz", b"".join(map(pack, parts)))
    assert values(await read(tmp_path / "crm.csv.gz")) == [[each] for each in b"".join(parts).decode().split()[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("pack", PACKS)
async def test_what_is_read_is_measured_in_bytes_of_the_archive(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "crm.csv.gz"
    write(path, pack(b"email\n" + people(200_000)))
    async with open_users(path) as reader:
        fractions = [reader.fraction_read or 0.0 async for _ in reader]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < 0.5 < fractions[100]
    assert reader.fraction_read == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("pack", PACKS)
async def test_an_archive_that_is_damaged_gives_the_rows_before(tmp_path: Path, pack: Pack) -> None:
    first, second = pack(b"email\n" + people(100_000)), bytearray(pack(people(100_000, 100_000)))
    second[len(second) // 2 :] = os.urandom(len(second) - len(second) // 2)
    path = tmp_path / "crm.csv.gz"
    write(path, first + second)
    rows, error = await read_until_error(path, InvalidInput)
    assert len(rows) > 100_000 - ROWS_PER_BLOCK
    assert str(error) in (f"{path}: {DAMAGED}", f"{path}: {CUT_OFF}")


ROWS = b"email\na@b.example\n"
HEAD = b"\x1f\x8b\x08%c" + bytes(6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pack", "piece"),
    [
        pytest.param(gzip.compress, gzip.compress(b""), id="empty members"),
        pytest.param(gzip.compress, gzip.compress(b"\n\n\n"), id="tiny members"),
        pytest.param(compress_zstd, compress_zstd(b"\n" * 9), id="tiny frames"),
        pytest.param(gzip.compress, gzip.compress(b"") * 20_000 + gzip.compress(b"\n"), id="a byte now and then"),
        pytest.param(gzip.compress, bytes(20), id="padding"),
        pytest.param(compress_zstd, compress_zstd(b""), id="empty frames"),
        pytest.param(compress_zstd, b"\x50\x2a\x4d\x18\x04\0\0\0skip", id="skippable frames"),
    ],
)
async def test_an_archive_that_goes_on_almost_without_content_or_with_tiny_parts_is_refused(
    tmp_path: Path, pack: Pack, piece: bytes
) -> None:
    path = tmp_path / "crm.csv"
    write(path, pack(ROWS) + piece * (400_000 // len(piece)))
    assert values(await read(path))[0] == ["a@b.example"]
    write(path, pack(ROWS) + piece * (1_500_000 // len(piece)))
    _, error = await read_until_error(path, InvalidInput)
    assert ("has almost no content" in str(error)) or ("has too many tiny parts: recompress it" in str(error))


async def test_an_archive_to_which_each_line_was_appended_as_a_member_is_read(tmp_path: Path) -> None:
    lines = [f"person.{number:06}@shop.example" for number in range(60_000)]  # 31 characters and a line end
    write(tmp_path / "crm.csv.gz", b"".join(gzip.compress(f"{line}\n".encode(), 1) for line in ("email", *lines)))
    assert values(await read(tmp_path / "crm.csv.gz")) == [[line] for line in lines]


async def test_a_file_name_in_an_archive_has_a_bound(tmp_path: Path) -> None:
    write(tmp_path / "crm.csv", HEAD % 8 + b"n" * 1_500_000)
    with pytest.raises(InvalidInput, match="the archive has almost no content"):
        await read(tmp_path / "crm.csv")


async def test_a_checksum_that_is_wrong_is_said(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"email\na@b.example\n"))
    packed[-8] ^= 1
    write(tmp_path / "crm.csv.gz", bytes(packed))
    with pytest.raises(InvalidInput, match=DAMAGED):
        await read(tmp_path / "crm.csv.gz")


@pytest.mark.parametrize("pack", PACKS)
async def test_an_archive_of_nothing_is_empty(tmp_path: Path, pack: Pack) -> None:
    for content in (b"", b"\n \n"):
        write(tmp_path / "crm.csv.gz", pack(content))
        assert await why_empty(tmp_path / "crm.csv.gz") == f"{tmp_path / 'crm.csv.gz'}: the file is empty"


async def test_without_the_library_it_is_said_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "crm.csv.zst"
    write(path, compress_zstd(b"email\na@b.example\n"))
    monkeypatch.setattr(builtins, "__import__", without("backports", "compression"))
    with pytest.raises(InvalidInput, match=r"pip install 'aiosocialapi\[zstd\]'"):
        await read(path)


def without(*packages: str) -> Any:
    """An import that does not find these packages."""
    found = builtins.__import__

    def find(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] in packages:
            raise ImportError(name)
        return found(name, *arguments, **options)

    return find


async def test_an_archive_that_comes_through_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writing = asyncio.create_task(asyncio.to_thread(path.write_bytes, gzip.compress(b"email\na@b.example\n")))
    assert values(await read(path)) == [["a@b.example"]]
    await writing
