"""Reading a whole input in a test."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from socialapi.bulk.audiences.cells import UserBlock, UserRow, user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.inputs.reader import Block, Reader
from socialapi.models.audiences import IDENTIFIER_KINDS, AudienceUser, DoNotReachUser


def open_users(records: Any, *, columns: Any = None, kinds: Any = IDENTIFIER_KINDS) -> Reader[UserBlock]:
    """A reader of the identifiers in some records."""
    return open_records(records, IdentifierColumns.of(columns, kinds))


async def read(records: Any, **options: Any) -> list[UserRow]:
    """All rows of an input."""
    async with open_users(records, **options) as reader:
        return [row async for block in reader for row in user_rows(block)]


async def read_until_error(records: Any, error: type[Exception], **options: Any) -> tuple[list[UserRow], Exception]:
    """The rows before the error that ends an input, and the error."""
    rows: list[UserRow] = []
    try:
        async with open_users(records, **options) as reader:
            async for block in reader:
                rows += user_rows(block)
    except error as raised:
        return rows, raised
    raise AssertionError(f"{error.__name__} was not raised")


async def why_empty(records: Any, **options: Any) -> str | None:
    """Why an input has no rows, which it ends without an error."""
    async with open_users(records, **options) as reader:
        assert await reader.read_block() is None
        return reader.why_empty


def values(rows: Iterable[UserRow] | UserBlock | None) -> list[list[str]]:
    """The texts of the identifiers of each row."""
    found = user_rows(rows) if isinstance(rows, Block) else rows or ()
    return [[text for _, _, text in row.identifiers] for row in found]


def write(path: Path, content: str | bytes) -> None:
    """Writes a file, with its line ends as they are."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def in_parquet(table: pyarrow.Table, **options: Any) -> io.BytesIO:
    """A table as an open Parquet file."""
    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    file.seek(0)
    return file


def user(**identifiers: Any) -> AudienceUser:
    """A user by identifiers of any type, also of such as type checkers refuse."""
    return AudienceUser(**identifiers)


def do_not_reach_user(**identifiers: Any) -> DoNotReachUser:
    """As `user`."""
    return DoNotReachUser(**identifiers)


def open_files() -> set[str]:
    """The files that this process has open."""
    links = Path("/proc/self/fd")
    return {str(link.readlink()) for link in links.iterdir() if link.is_symlink()} if links.exists() else set()


class Repeated:
    """A file that is larger than what is kept of it: a beginning, a part again and again, and an end."""

    def __init__(self, start: bytes, part: bytes, size: int, end: bytes = b"") -> None:
        self._waiting = start
        self._parts = part * max(1, min(65_536, size) // len(part))
        self._left = size
        self._end = end

    def read(self, size: int) -> bytes:
        while len(self._waiting) < size and self._left > 0:
            self._waiting += self._parts
            self._left -= len(self._parts)
            if self._left <= 0:
                self._waiting += self._end
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return data
