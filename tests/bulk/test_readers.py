"""What can be uploaded, and what is refused with a clear sentence."""

import io
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from socialapi.bulk.file_reader import FileReader
from socialapi.bulk.iterable_reader import AsyncIterableReader, IterableReader
from socialapi.bulk.readers import open_records
from socialapi.errors import InvalidInput
from socialapi.models.audiences import AudienceUser, Operation
from tests.bulk.reading import read, user, values, write


class Table:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise AssertionError("not asked")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("not asked")


async def some_users() -> AsyncIterator[AudienceUser]:
    yield user(email="a@b.example")


class Pathlike:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return str(self.path).encode()


async def test_each_kind_of_input_has_its_reader(tmp_path: Path) -> None:
    assert isinstance(open_records("crm.csv"), FileReader)
    assert isinstance(open_records(tmp_path), FileReader)
    assert isinstance(open_records([]), IterableReader)
    assert isinstance(open_records(iter(())), IterableReader)
    reader = open_records(some_users())
    assert isinstance(reader, AsyncIterableReader)
    await reader.aclose()


async def test_a_path_may_be_anything_path_like(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "email\na@b.example\n")
    assert values(await read(Pathlike(path))) == [["a@b.example"]]


@pytest.mark.parametrize(
    ("records", "says"),
    [
        (b"crm.csv", "records in bytes are not supported: give the path of a file"),
        (bytearray(b"email"), "records in bytearray are not supported"),
        (io.StringIO("email\n"), "records in StringIO are not supported: give the path of a file"),
        ("crm.parquet", "Parquet is not supported: export the table as CSV or JSON Lines"),
        (Path("CRM.PARQUET"), "Parquet is not supported"),
        (Table(), r"a table \(Table\) is not supported: give its rows as an iterable of mappings, or a CSV file"),
        (user(email="secret@example.com"), "one AudienceUser is not an iterable of records: put it in a list"),
        (Operation.update([]), "one Operation is not an iterable of records: put it in a list"),
        ({"email": "secret@example.com"}, "one dict is not an iterable of records: put it in a list"),
        (None, "NoneType holds no records: give the path of a file, or an iterable of AudienceUser or Operation"),
        (5, "int holds no records"),
    ],
)
def test_what_cannot_be_read_is_refused_at_once(records: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as error:
        open_records(records)
    assert "secret" not in repr(error.value)


def test_a_mapping_is_checked_at_once() -> None:
    with pytest.raises(InvalidInput, match='"mail" is not a kind'):
        open_records("crm.csv", columns={"mail": "x"})
