"""Reading a whole input in a test."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.rows import RawRow
from socialapi.models.audiences import AudienceUser, DoNotReachUser


async def read(records: Any, **options: Any) -> list[RawRow]:
    """All rows of an input."""
    async with open_records(records, **options) as reader:
        return [row async for chunk in reader for row in chunk]


async def read_until_error(records: Any, error: type[Exception], **options: Any) -> tuple[list[RawRow], Exception]:
    """The rows before the error that ends an input, and the error."""
    rows: list[RawRow] = []
    try:
        async with open_records(records, **options) as reader:
            async for chunk in reader:
                rows += chunk
    except error as raised:
        return rows, raised
    raise AssertionError(f"{error.__name__} was not raised")


async def why_empty(records: Any, **options: Any) -> str | None:
    """Why an input has no rows, which it ends without an error."""
    async with open_records(records, **options) as reader:
        assert [row async for chunk in reader for row in chunk] == []
        return reader.why_empty


def values(rows: Iterable[RawRow]) -> list[list[str]]:
    """The texts of the identifiers of each row."""
    return [[text for _, _, text in row.identifiers] for row in rows]


def write(path: Path, content: str | bytes) -> None:
    """Writes a file, with its line ends as they are."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)


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
