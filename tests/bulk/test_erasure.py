"""Files of jobs are known by how they begin, and deleted with what stands beside them."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from socialapi.bulk.erasure import Kind, erase, kind_of
from socialapi.bulk.journals.sqlite_journal import SCHEMA as JOURNAL
from socialapi.bulk.products.snapshot import SCHEMA as DIGESTS
from socialapi.bulk.sync.scratch import scratch_folder
from socialapi.bulk.sync.snapshot import SCHEMA as SNAPSHOT
from socialapi.errors import ConfigurationError
from socialapi.internal.sqlite_file import Schema, SqliteFile
from socialapi.webhooks.inbox import SCHEMA as INBOX
from tests.support.files import names_in


async def made(path: Path, schema: Schema) -> Path:
    """A new file of this format, closed again."""
    database = SqliteFile(path, schema, purpose="file")
    await database.open(lambda _: None)
    await database.aclose()
    return path


@pytest.mark.parametrize(
    ("schema", "kind"), [(JOURNAL, "journal"), (SNAPSHOT, "snapshot"), (DIGESTS, "digest file"), (INBOX, None)]
)
async def test_a_database_says_in_its_head_what_it_is(tmp_path: Path, schema: Schema, kind: str | None) -> None:
    assert kind_of(await made(tmp_path / "file", schema)) == kind


def test_a_rejects_file_begins_with_its_header_and_nothing_else_is_a_file_of_a_job(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert kind_of(file) is None
    assert kind_of(tmp_path) is None
    for content, kind in ((b"", None), (b"row,field,reason\n", "rejects file"), (b"row,email\n", None), (b"SQL", None)):
        file.write_bytes(content)
        assert kind_of(file) == kind


@pytest.mark.parametrize("schema", [SNAPSHOT, DIGESTS])
async def test_everything_beside_a_database_is_deleted_the_lock_of_a_killed_job_as_well(
    tmp_path: Path, schema: Schema
) -> None:
    path = await made(tmp_path / "file", schema)
    kind = kind_of(path)
    assert kind is not None
    for suffix in ("-wal", "-shm", "-journal", ".lock"):
        path.with_name(path.name + suffix).touch()
    assert erase(path, kind)
    assert names_in(tmp_path) == []
    assert erase(path, kind)


async def test_a_database_that_another_program_reads_is_left_alone(tmp_path: Path) -> None:
    path = await made(tmp_path / "file", DIGESTS)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert not erase(path, "digest file")
    assert names_in(tmp_path) == ["file"]
    assert erase(path, "digest file")


@pytest.mark.parametrize("kind", ["snapshot", "digest file"])
async def test_a_damaged_database_is_deleted_too(tmp_path: Path, kind: Kind) -> None:
    path = await made(tmp_path / "file", SNAPSHOT if kind == "snapshot" else DIGESTS)
    with path.open("r+b") as file:
        file.truncate(1_000)
    assert kind_of(path) == kind
    assert erase(path, kind)
    assert names_in(tmp_path) == []


def test_scratch_files_are_deleted_also_where_their_snapshot_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    scratch_folder(path).mkdir()
    assert kind_of(path) == "snapshot"
    assert erase(path, "snapshot")
    assert names_in(tmp_path) == []


async def test_a_folder_that_holds_something_else_is_left_with_its_snapshot(tmp_path: Path) -> None:
    path = await made(tmp_path / "file", SNAPSHOT)
    scratch_folder(path).mkdir()
    (scratch_folder(path) / "letters.txt").touch()
    with pytest.raises(ConfigurationError, match=r"contains other files, so the snapshot .*file was not deleted"):
        erase(path, "snapshot")
    assert names_in(tmp_path) == ["file", "file.sync"]
