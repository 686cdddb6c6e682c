"""The digest file of a catalog. It contains a digest of each product as of the last load, so that unchanged products
are skipped.
"""

import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import orjson

from socialapi.bulk.products.rows import ProductRow
from socialapi.errors import ConfigurationError
from socialapi.internal.sqlite_file import Schema, SqliteFile

SCHEMA: Final = Schema(
    application_id=0x50524F44,
    version=2,
    remedy=(
        "load with that version, or delete the file and load again: all products are then sent again, and products that vanished "
        "since the last load stay in the catalog"
    ),
    statements=(
        "CREATE TABLE catalog (id TEXT NOT NULL)",
        """CREATE TABLE products (id TEXT PRIMARY KEY, digest BLOB, product_key TEXT, run INTEGER NOT NULL,
        deletion INTEGER NOT NULL) WITHOUT ROWID""",
        "CREATE TABLE runs (number INTEGER NOT NULL)",
    ),
)
_NONE: Final = 0
ASKED: Final = 1
REFUSED: Final = 2
# A deleted product gets a new key when it is loaded again.
_UPSERT: Final = f"""
INSERT INTO products VALUES (?, ?, ?, ?, {_NONE}) ON CONFLICT (id) DO UPDATE SET digest = excluded.digest,
product_key = CASE WHEN deletion THEN excluded.product_key ELSE coalesce(excluded.product_key, product_key) END,
run = excluded.run, deletion = {_NONE}
"""  # noqa: S608  # of constants
VANISHED_AT_ONCE: Final = 5_000
"""The number of vanished products that are held in memory at once."""
# SQLite keeps 2 MB of this table in memory and the rest in a temporary file, which it deletes when the connection
# closes.
_CREATE_SENT: Final = "CREATE TEMP TABLE sent (id TEXT PRIMARY KEY) WITHOUT ROWID"


@attrs.frozen
class Vanished:
    """A product of earlier loads that is not in the input, and whether an earlier request may have deleted it."""

    id: str
    key: str | None
    may_be_deleted: bool = False


def digest_of(shape: Mapping[str, Any]) -> bytes:
    """Returns a digest of a product's content that does not depend on the order of its fields."""
    return hashlib.sha256(orjson.dumps(dict(shape), option=orjson.OPT_SORT_KEYS)).digest()[:16]


class Digests:
    """The digest file of one catalog, to be used between `open` and `aclose`. It stores no product
    content.

    A digest is removed before its product is sent, and stored once the service has accepted the
    product. So a stored digest always matches the product in the catalog, even if the process is
    killed. With `keep`, all digests are kept, because nothing is sent.

    The ids of products that wait to be sent or are in flight are kept in memory.

    Every method raises ConfigurationError if the file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], catalog_id: str, *, keep: bool = False) -> None:
        self._catalog_id = catalog_id
        self._keep = keep
        self._database = SqliteFile(path, SCHEMA, purpose="digest file")
        self._run = 0
        self._unanswered = Counter[str]()
        self.new: int = 0
        """The number of distinct products that were never loaded before."""
        self.renewed: int = 0
        """The number of distinct products that have changed since the last load."""
        self.known_before: int = 0
        """The number of products in the file when it was opened."""

    async def open(self) -> None:
        """Opens or creates the file. Also raises ConfigurationError if the file belongs to another catalog."""
        self._run, self.known_before = await self._database.open(self._begin)

    async def aclose(self) -> None:
        """Closes the file. Idempotent."""
        await self._database.aclose()

    async def changed(self, rows: Sequence[ProductRow]) -> list[ProductRow]:
        """Returns those of at most a few hundred products that have changed since the last load and have to be sent.

        A product whose id was already sent in this run is always among them, because the last
        product with an id must be the one in the catalog.
        """
        for row in rows:
            row.digest = digest_of(row.shape)
        # Counted before the file is read, because an earlier product with this id must not get a digest if its result
        # arrives meanwhile.
        self._unanswered.update(row.id for row in rows)
        changed, new, renewed = await self._database.run(lambda connection: self._compare(connection, rows))
        self.new, self.renewed = self.new + new, self.renewed + renewed
        sent = set() if self._keep else {row.number for row in changed}
        for row in rows:
            if row.number not in sent:
                self.answered(row.id)
        return changed

    async def loaded(self, taken: Sequence[tuple[ProductRow, str | None]]) -> None:
        """Records that the service accepted these products. A product gets no digest yet if another product with its id
        is waiting or in flight.
        """
        values = []
        for row, key in taken:
            self.answered(row.id)
            values.append((row.id, None if row.id in self._unanswered else row.digest, key, self._run))
        await self._database.write(lambda connection: _for_each(connection, _UPSERT, values))

    def answered(self, product_id: str) -> None:
        """Records that the service accepted or refused a product."""
        self._unanswered[product_id] -= 1
        if not self._unanswered[product_id]:
            del self._unanswered[product_id]

    async def seen(self, ids: Sequence[str]) -> None:
        """Marks these products as part of the feed although they were not loaded, so that they do not count as
        vanished.
        """
        if ids:
            await self._database.run(lambda connection: self._mark(connection, ids))

    async def count_vanished(self) -> tuple[int, int]:
        """Returns the number of vanished products, and how many of these no load has tried to delete yet."""
        query = f"SELECT count(*), count(CASE WHEN deletion = {_NONE} THEN 1 END) FROM products WHERE run <> ?"  # noqa: S608  # of constants
        gone, new = await self._database.run(lambda connection: connection.execute(query, (self._run,)).fetchone())
        return gone, new

    async def vanished(self, after: str = "") -> list[Vanished]:
        """Returns up to `VANISHED_AT_ONCE` products of earlier loads that are not in this feed, starting after the id
        `after`.
        """
        query = "SELECT id, product_key, deletion FROM products WHERE run <> ? AND id > ? ORDER BY id LIMIT ?"
        values = (self._run, after, VANISHED_AT_ONCE)
        found = await self._database.run(lambda connection: connection.execute(query, values).fetchall())
        return [Vanished(each, key, deletion == ASKED) for each, key, deletion in found]

    async def note_deletion(self, ids: Sequence[str], deletion: int) -> None:
        """Records that a request to delete these products is about to be sent (`ASKED`; until the response arrives, the
        catalog may or may not contain them), or that the service did not delete them (`REFUSED`).
        """
        values = [(deletion, each) for each in ids]
        statement = "UPDATE products SET digest = NULL, deletion = ? WHERE id = ?"
        await self._database.run(lambda connection: _for_each(connection, statement, values))

    async def forget(self, ids: Sequence[str]) -> None:
        """Records that the service deleted these products."""
        values = [(each,) for each in ids]
        await self._database.run(lambda connection: _for_each(connection, "DELETE FROM products WHERE id = ?", values))

    def _begin(self, connection: sqlite3.Connection) -> tuple[int, int]:
        found = connection.execute("SELECT id FROM catalog").fetchone()
        if found is None:
            connection.execute("INSERT INTO catalog VALUES (?)", (self._catalog_id,))
        elif found[0] != self._catalog_id:
            raise ConfigurationError(
                f"the {self._database} belongs to the catalog {found[0]}, not to {self._catalog_id}: choose another path"
            )
        connection.execute(_CREATE_SENT)
        (run,) = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM runs").fetchone()
        connection.execute("DELETE FROM runs")
        connection.execute("INSERT INTO runs VALUES (?)", (run,))
        (known,) = connection.execute("SELECT count(*) FROM products").fetchone()
        return run, known

    def _compare(self, connection: sqlite3.Connection, rows: Sequence[ProductRow]) -> tuple[list[ProductRow], int, int]:
        """Returns the products of the feed that have to be sent, and the numbers of distinct new and changed ones. Removes
        their digests unless all are kept.
        """
        ids = [row.id for row in rows]
        among = f"WHERE id IN ({','.join('?' * len(ids))})"
        known: dict[str, bytes | None] = dict(
            connection.execute(f"SELECT id, digest FROM products {among}", ids)  # noqa: S608  # of question marks
        )
        found_ids = connection.execute(f"SELECT id FROM sent {among}", ids)  # noqa: S608  # of question marks
        sent = {each for (each,) in found_ids}
        before, changed = frozenset(sent), list[ProductRow]()
        for row in rows:
            if row.id in sent or known.get(row.id) != row.digest:
                sent.add(row.id)
                changed.append(row)
        self._mark(connection, list(known))
        fresh = sent - before
        old = fresh & known.keys()
        _for_each(connection, "INSERT INTO sent VALUES (?)", [(each,) for each in fresh])
        if not self._keep:
            renewed = [(each,) for each in sent & known.keys()]
            _for_each(connection, "UPDATE products SET digest = NULL WHERE id = ?", renewed)
        return changed, len(fresh) - len(old), len(old)

    def _mark(self, connection: sqlite3.Connection, ids: Sequence[str]) -> None:
        _for_each(connection, "UPDATE products SET run = ? WHERE id = ?", [(self._run, each) for each in ids])


def _for_each(connection: sqlite3.Connection, statement: str, values: Sequence[tuple[Any, ...]]) -> None:
    """Executes the statement for each tuple. Returns None instead of the cursor, which must not leave its thread."""
    connection.executemany(statement, values)
