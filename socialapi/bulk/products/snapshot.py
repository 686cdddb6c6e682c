"""The digest file of a catalog: what was loaded last, so that unchanged products are skipped."""

import hashlib
import os
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs
import orjson

from socialapi.bulk.products.rows import ProductRow
from socialapi.errors import ConfigurationError
from socialapi.sqlite_file import Schema, SqliteFile

T = TypeVar("T")

_SCHEMA: Final = Schema(
    application_id=0x50524F44,
    version=2,
    remedy=(
        "load with that version, or delete the file and load anew: every product is put again then, and what has vanished "
        "since the last load stays"
    ),
    statements=(
        "CREATE TABLE catalog (id TEXT NOT NULL)",
        """CREATE TABLE products (id TEXT PRIMARY KEY, digest BLOB, product_key TEXT, run INTEGER NOT NULL,
        deletion INTEGER NOT NULL) WITHOUT ROWID""",
        "CREATE TABLE runs (number INTEGER NOT NULL)",
    ),
)
_NONE: Final = 0
_ASKED: Final = 1
_REFUSED: Final = 2
# A product that may have been deleted has another key when it is there again.
_UPSERT: Final = f"""
INSERT INTO products VALUES (?, ?, ?, ?, {_NONE}) ON CONFLICT (id) DO UPDATE SET digest = excluded.digest,
product_key = CASE WHEN deletion THEN excluded.product_key ELSE coalesce(excluded.product_key, product_key) END,
run = excluded.run, deletion = {_NONE}
"""  # noqa: S608  # of constants
_AT_ONCE: Final = 500


@attrs.frozen
class Vanished:
    """A product of earlier loads that is not in the input: its id, and its key if known.

    `is_asked` is true if its deletion was requested before, and `is_doubtful` if the outcome is
    unknown.
    """

    id: str
    key: str | None
    is_asked: bool = False
    is_doubtful: bool = False


def digest_of(shape: Mapping[str, Any]) -> bytes:
    """A digest of a product's content, whatever the order of its fields."""
    return hashlib.sha256(orjson.dumps(dict(shape), option=orjson.OPT_SORT_KEYS)).digest()[:16]


class Digests:
    """The digest file of one catalog, to be used between `open` and `aclose`. It stores no product
    content.

    A digest is removed before its product is sent, and stored once the service has accepted it. So
    a stored digest is that of what the catalog has, wherever the process was stopped. With `keep`
    all digests stay, because nothing is sent.

    Every method raises ConfigurationError if the file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], catalog_id: str, *, keep: bool = False) -> None:
        self._catalog_id = catalog_id
        self._keep = keep
        self._database = SqliteFile(path, _SCHEMA, purpose="digest file")
        self._run = 0
        self._sent: dict[str, int] = {}
        self.new: int = 0
        """How many different products were found that were never loaded."""
        self.renewed: int = 0
        """How many different products were found that are not as they were loaded last."""
        self.known_before: int = 0
        """How many products there were when the file was opened."""

    async def open(self) -> None:
        """Opens the file, or makes it. Raises as well when it is of another catalog."""
        self._run, self.known_before = await self._database.open(self._begin)

    async def aclose(self) -> None:
        """Closes the file. Idempotent."""
        await self._database.aclose()

    async def changed(self, rows: Sequence[ProductRow]) -> list[ProductRow]:
        """Those of the products that are not as they were loaded last, which are about to be sent.

        A product that was sent in this run is always among them: what the catalog has of it is what
        comes last.
        """
        digests = [digest_of(row.shape) for row in rows]
        known = await self._database.run(lambda connection: self._known(connection, [row.id for row in rows]))
        found, renewed = [], []
        for row, digest in zip(rows, digests, strict=True):
            if row.id in self._sent or known.get(row.id) != digest:
                if row.id not in self._sent:
                    self.renewed, self.new = self.renewed + (row.id in known), self.new + (row.id not in known)
                self._sent[row.id] = self._sent.get(row.id, 0) + 1
                found.append(row)
                if row.id in known:
                    renewed.append((row.id,))
        if renewed and not self._keep:
            statement = "UPDATE products SET digest = NULL WHERE id = ?"
            await self._database.run(lambda connection: _for_each(connection, statement, renewed))
        return found

    async def loaded(self, taken: Sequence[tuple[ProductRow, str | None]]) -> None:
        """The service has taken these products. One that is still to be sent once more gets no
        digest yet.
        """
        values = []
        for row, key in taken:
            self.answered(row.id)
            values.append((row.id, None if self._sent[row.id] else digest_of(row.shape), key, self._run))
        await self._database.run(lambda connection: _for_each(connection, _UPSERT, values))

    def answered(self, product_id: str) -> None:
        """The service has taken or refused a product that was sent."""
        self._sent[product_id] -= 1

    async def seen(self, ids: Sequence[str]) -> None:
        """Products of the feed that are not loaded: they are refused, not gone."""
        if ids:
            await self._database.run(lambda connection: self._mark(connection, ids))

    async def vanished(self) -> list[Vanished]:
        """The products of earlier loads that this feed does not have."""
        query = "SELECT id, product_key, deletion FROM products WHERE run <> ? ORDER BY id"
        found = await self._database.run(lambda connection: connection.execute(query, (self._run,)).fetchall())
        return [Vanished(each, key, deletion != _NONE, deletion == _ASKED) for each, key, deletion in found]

    async def about_to_delete(self, ids: Sequence[str]) -> None:
        """The service is to be asked to delete these products: what the catalog has of them is not
        known from now on.
        """
        await self._note_deletion(ids, _ASKED)

    async def not_deleted(self, ids: Sequence[str]) -> None:
        """The service has answered that it does not delete these products."""
        await self._note_deletion(ids, _REFUSED)

    async def _note_deletion(self, ids: Sequence[str], deletion: int) -> None:
        values = [(deletion, each) for each in ids]
        statement = "UPDATE products SET digest = NULL, deletion = ? WHERE id = ?"
        await self._database.run(lambda connection: _for_each(connection, statement, values))

    async def forget(self, ids: Sequence[str]) -> None:
        """The service has deleted these products."""
        values = [(each,) for each in ids]
        await self._database.run(lambda connection: _for_each(connection, "DELETE FROM products WHERE id = ?", values))

    def _begin(self, connection: sqlite3.Connection) -> tuple[int, int]:
        found = connection.execute("SELECT id FROM catalog").fetchone()
        if found is None:
            connection.execute("INSERT INTO catalog VALUES (?)", (self._catalog_id,))
        elif found[0] != self._catalog_id:
            raise ConfigurationError(
                f"the {self._database} is of the catalog {found[0]}, not of {self._catalog_id}: choose another path"
            )
        (run,) = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM runs").fetchone()
        connection.execute("DELETE FROM runs")
        connection.execute("INSERT INTO runs VALUES (?)", (run,))
        (known,) = connection.execute("SELECT count(*) FROM products").fetchone()
        return run, known

    def _known(self, connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, bytes | None]:
        """The digests of those that are there; all of them are in the feed."""
        known: dict[str, bytes | None] = {}
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            query = f"SELECT id, digest FROM products WHERE id IN ({marks})"  # noqa: S608  # question marks alone
            known.update(connection.execute(query, part))
        self._mark(connection, list(known))
        return known

    def _mark(self, connection: sqlite3.Connection, ids: Sequence[str]) -> None:
        _for_each(connection, "UPDATE products SET run = ? WHERE id = ?", [(self._run, each) for each in ids])


def _for_each(connection: sqlite3.Connection, statement: str, values: Sequence[tuple[Any, ...]]) -> None:
    """Returns nothing: a cursor must not leave its thread, not even to be thrown away."""
    connection.executemany(statement, values)
