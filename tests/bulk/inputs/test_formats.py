"""What can be uploaded, and what is refused with a clear sentence."""

import asyncio
import io
from pathlib import Path
from typing import Any

import polars
import pytest

from socialapi.errors import InvalidInput
from socialapi.models.audiences import Operation
from tests.bulk.input_files import open_users, read, user, values, write


@pytest.mark.parametrize(
    ("records", "says"),
    [
        (b"crm.csv", "records of type bytes are not supported: give the path of a file"),
        (bytearray(b"email"), "records of type bytearray are not supported"),
        (io.StringIO("email\n"), "StringIO is open for text: give the path of the file, or open it in binary mode"),
        (asyncio.StreamReader, "type has an async read method: give a regular file"),
        ("exports/*.csv", r"exports/\*.csv: there is no such file, and no file matches it as a pattern"),
        (user(email="secret@example.com"), "a single AudienceUser is not an iterable of records: put it in a list"),
        (Operation.update([]), "a single Operation is not an iterable of records: put it in a list"),
        ({"email": "secret@example.com"}, "a single dict is not an iterable of records: put it in a list"),
        (None, "NoneType contains no records: give the path of a file, or an iterable of AudienceUser or Operation"),
        (5, "int contains no records"),
        (
            polars.LazyFrame({"email": ["secret@example.com"]}),
            r"a LazyFrame has no rows yet: .* its method collect\(\)",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_at_once(records: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as error:
        open_users(records)
    assert "secret" not in repr(error.value)


@pytest.mark.parametrize(
    "records",
    [["secret@example.com"], ("secret@example.com", "secret@example.org"), ["@secret_handle"], "secret@example.com"],
)
async def test_addresses_that_stand_for_paths_are_told_how_they_are_given(records: Any) -> None:
    says = r"there is no such file; give identifiers as records, for example \[AudienceUser\(email=…\)\]"
    with pytest.raises(InvalidInput, match=says) as error:
        await read(records)
    assert "secret" not in repr(error.value)
    assert error.value.__context__ is None


async def test_a_file_may_have_an_at_sign_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "ada@crm", "email\na@b.example\n")
    assert values(await read(["ada@crm"])) == values(await read("ada@crm")) == [["a@b.example"]]


class Download:
    """What gives bytes, as much as it has, and can do nothing else."""

    def __init__(self, *parts: Any) -> None:
        self.parts = list(parts)

    def read(self, size: int) -> Any:
        return self.parts.pop(0) if self.parts else b""


async def test_an_open_file_is_read_from_where_it_stands_and_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "a title\nemail\na@b.example\n")
    with path.open("rb") as file:
        file.readline()
        async with open_users(file) as reader:
            assert values(await reader.read_block()) == [["a@b.example"]]
            assert reader.fraction_read == 1.0
        assert not file.closed
    in_memory = io.BytesIO(b'{"email": "a@b.example"}\n')
    assert values(await read(in_memory)) == [["a@b.example"]]
    assert not in_memory.closed


async def test_anything_that_gives_bytes_is_a_file() -> None:
    async with open_users(Download(b"ema", b"il\na@b.ex", b"ample\n")) as reader:
        assert values(await reader.read_block()) == [["a@b.example"]]
        assert reader.fraction_read is None


async def test_what_gives_no_bytes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the Download: the file returns str, not bytes: open it in binary mode"):
        await read(Download("email"))


async def test_a_read_that_fails_breaks_the_input_as_an_iterable_does() -> None:
    class Broken(Download):
        def read(self, size: int) -> Any:
            raise LookupError

    with pytest.raises(LookupError):
        await read(Broken())
