"""The tables of a snapshot, and the statements over all of their rows.

Each statement walks side by side through what it compares: a look at random places would wait for the disk.
"""

from typing import Final

from socialapi.sqlite_file import Schema

_IDENTIFIERS: Final = "kind INTEGER NOT NULL, digest BLOB NOT NULL"
_OF_ROW: Final = "number INTEGER NOT NULL, until INTEGER NOT NULL"
_BOUNDS: Final = "sure_until INTEGER NOT NULL, perhaps_until INTEGER NOT NULL"
SCHEMA: Final = Schema(
    application_id=0x53594E43,
    version=2,
    remedy=(
        "sync with that version, or delete the snapshot and sync anew: everybody is added again then, and nobody is removed "
        "who has left since the last sync"
    ),
    statements=(
        # The normaliser is the version by which the members became digests.
        "CREATE TABLE target (account_id TEXT NOT NULL, custom_audience_id TEXT NOT NULL, normalizer INTEGER NOT NULL)",
        f"CREATE TABLE members ({_IDENTIFIERS}, {_BOUNDS}, PRIMARY KEY (kind, digest)) WITHOUT ROWID",
        # What follows belongs to one sync, and is empty between two of them.
        "CREATE TABLE rows (number INTEGER PRIMARY KEY, until INTEGER NOT NULL, effective_at TEXT, expires_at TEXT)",
        f"CREATE TABLE staged (number INTEGER NOT NULL, {_IDENTIFIERS}, PRIMARY KEY (number, kind, digest)) WITHOUT ROWID",
        f"CREATE TABLE desired ({_IDENTIFIERS}, {_OF_ROW}, PRIMARY KEY (kind, digest, number)) WITHOUT ROWID",
        "CREATE TABLE additions (position INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
        f"CREATE TABLE removals (position INTEGER PRIMARY KEY, {_IDENTIFIERS})",
        """CREATE TABLE accepted (operation TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (operation, first)) WITHOUT ROWID""",
        # Of additions that were announced; empty before that.
        "CREATE TABLE handed_out (last INTEGER NOT NULL)",
    ),
)
TABLES_OF_ONE_SYNC: Final = ("rows", "staged", "desired", "additions", "removals", "accepted", "handed_out")
NEW: Final = -1
"""In `sure_until`: not held before this sync, which has announced it and got no answer so far."""

FILL_DESIRED: Final = """
INSERT INTO desired SELECT s.kind, s.digest, s.number, r.until
FROM staged AS s CROSS JOIN rows AS r ON r.number = s.number ORDER BY s.kind, s.digest, s.number
"""
FILL_ADDITIONS: Final = """
INSERT INTO additions (number) SELECT d.number
FROM desired AS d LEFT JOIN members AS m ON m.kind = d.kind AND m.digest = d.digest
WHERE coalesce(m.sure_until, 0) < min(d.until, :soon) GROUP BY d.number ORDER BY d.number
"""
FILL_REMOVALS: Final = """
INSERT INTO removals (kind, digest) SELECT kind, digest FROM members AS m WHERE perhaps_until > :now
AND NOT EXISTS (SELECT 1 FROM desired AS d WHERE d.kind = m.kind AND d.digest = m.digest) ORDER BY kind, digest
"""
# The order of the joins is fixed: it follows the rows as they stand in the file.
_SENT: Final = """
FROM additions AS a CROSS JOIN rows AS r ON r.number = a.number CROSS JOIN staged AS s ON s.number = a.number
"""
EXPECT_ADDITIONS: Final = f"""
INSERT INTO members SELECT s.kind, s.digest, {NEW}, max(r.until) {_SENT} WHERE true GROUP BY s.kind, s.digest
ON CONFLICT (kind, digest) DO UPDATE SET sure_until = 0, perhaps_until = max(perhaps_until, excluded.perhaps_until)
"""
_HANDED_OUT: Final = "(SELECT last FROM handed_out)"
# Of the rows that have an identifier the shortest is for sure: of those accepted, or of all that may be in force.
TAKE_OVER_ADDITIONS: Final = f"""
INSERT INTO members SELECT kind, digest, min(until), max(until) FROM (
    SELECT s.kind AS kind, s.digest AS digest, r.until AS until, coalesce((
        SELECT last FROM accepted WHERE operation = 'Update' AND first <= a.position ORDER BY first DESC LIMIT 1
    ) >= a.position, 0) AS is_accepted {_SENT} WHERE a.position <= {_HANDED_OUT}
) WHERE is_accepted OR :others_in_doubt GROUP BY kind, digest HAVING max(is_accepted)
ON CONFLICT (kind, digest) DO UPDATE SET
    sure_until = excluded.sure_until, perhaps_until = max(perhaps_until, excluded.perhaps_until)
"""  # noqa: S608  # of constants
DOUBT_ADDITIONS: Final = f"""
UPDATE members SET sure_until = 0 WHERE sure_until = {NEW} AND (kind, digest) IN (
    SELECT s.kind, s.digest {_SENT} WHERE a.position <= {_HANDED_OUT}
)
"""  # noqa: S608  # of constants
FORGET_ADDITIONS: Final = f"DELETE FROM members WHERE sure_until = {NEW}"  # noqa: S608  # of constants
REMOVALS: Final = "SELECT kind, digest FROM removals ORDER BY position"
REMOVALS_TAKEN: Final = """
SELECT r.kind, r.digest FROM accepted AS a CROSS JOIN removals AS r ON r.position BETWEEN a.first AND a.last
WHERE a.operation = 'Delete' ORDER BY a.first
"""
PAGE_OF_ADDITIONS: Final = f"""
SELECT a.position, r.effective_at, r.expires_at, s.kind, s.digest {_SENT}
WHERE a.position BETWEEN ? AND ? ORDER BY a.position, s.kind, s.digest
"""
PAGE_OF_REMOVALS: Final = "SELECT kind, digest FROM removals WHERE position BETWEEN ? AND ? ORDER BY position"
