"""The scratch files of a sync: the rows in order, their digests in buckets, and the digests to be removed.

They are written and read in blocks of a few thousand rows. Only one byte per row is kept in memory.
"""

import contextlib
import errno
import itertools
import os
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from socialapi._speedups import Digests
from socialapi.bulk.rows import Action, Column, RowBlock, Texts
from socialapi.bulk.sync.buckets import CODES, DIGEST_BYTES, BucketFile, Entries, ScratchFile, digests_of
from socialapi.internal.private_files import sync_folder

UNCHANGED: Final = 0
DUE: Final = 1
"""The state of a row that must be sent."""

_BUFFER_BYTES: Final = 131_072


def ranges_of(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields the first and the last number of each gapless range in a sequence of ascending numbers."""
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        yield numbers[0], numbers[-1]
        return
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


# Rows in their order -------------------------------------------------------------------------------------------------


@attrs.frozen
class RowPosition:
    """The position at which a block of rows begins: the offset in the file, and the index of its first row."""

    offset: int = 0
    row: int = 0


class RowFile(ScratchFile):
    """A file of blocks of rows in input order, with their row numbers, times, and digests by column."""

    _SIZES: Final = struct.Struct("<III")
    """The header of a block: the number of rows, and the sizes in bytes of its description and its digests."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, is_new=True, buffering=_BUFFER_BYTES)

    def append(self, block: RowBlock, columns: Sequence[bytes]) -> None:
        """Writes a block. `columns` contains the packed digests of each column."""
        description = orjson.dumps(
            {
                "numbers": list(ranges_of(block.numbers)),
                "times": (block.action.effective_at, block.action.expires_at),
                "columns": [(kind, values.gaps()) for kind, values in block.columns],
            }
        )
        sizes = self._SIZES.pack(len(block), len(description), sum(map(len, columns)))
        self.write(b"".join((sizes, description, *columns)))

    def numbers(self, position: RowPosition) -> tuple[list[int], RowPosition]:
        """Returns the row numbers of the block at a position, and the position of the next block."""
        self._file.seek(position.offset)
        count, *sizes = self._SIZES.unpack(self._file.read(self._SIZES.size))
        after = RowPosition(position.offset + self._SIZES.size + sum(sizes), position.row + count)
        return _numbers(orjson.loads(self._file.read(sizes[0]))), after

    def page(self, position: RowPosition, state: bytearray, rows: int) -> tuple[list[RowBlock], RowPosition]:
        """Returns the next blocks of due rows, which have `rows` rows or a few more in total, and the position after
        them.
        """
        blocks, found = list[RowBlock](), 0
        due = state.find(DUE, position.row)
        self._file.seek(position.offset)
        while found < rows and due >= 0:
            count, *sizes = self._SIZES.unpack(self._file.read(self._SIZES.size))
            after = RowPosition(position.offset + self._SIZES.size + sum(sizes), position.row + count)
            if due < after.row:
                description, packed = map(self._file.read, sizes)
                described: dict[str, Any] = orjson.loads(description)
                numbers = _numbers(described)
                columns, start = list[Column](), 0
                for kind, gaps in described["columns"]:
                    stop = start + (count - len(gaps)) * DIGEST_BYTES
                    columns.append((kind, Digests.unpacked(packed[start:stop], gaps)))
                    start = stop
                block = RowBlock(Action("Update", *described["times"]), numbers, tuple(columns))
                states = state[position.row : after.row]
                blocks.append(block.compress(states) if UNCHANGED in states else block)
                found += len(blocks[-1])
                due = state.find(DUE, after.row)
            else:
                self._file.seek(after.offset)
            position = after
        return blocks, position


def _numbers(described: Mapping[str, Any]) -> list[int]:
    return list(itertools.chain.from_iterable(range(first, last + 1) for first, last in described["numbers"]))


# Removals ------------------------------------------------------------------------------------------------------------


class RemovalFile(ScratchFile):
    """A file of the digests to remove, each preceded by its kind, in sorted order. Positions count from 0."""

    RECORD_BYTES: Final = 1 + DIGEST_BYTES

    def __init__(self, path: Path, *, is_new: bool = True) -> None:
        super().__init__(path, is_new=is_new, buffering=_BUFFER_BYTES if is_new else 0)
        self._count = self._file.seek(0, os.SEEK_END) // self.RECORD_BYTES

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, position: int) -> bytes:
        return self._at(position * self.RECORD_BYTES, self.RECORD_BYTES)

    def append(self, kind: int, digests: Sequence[bytes]) -> None:
        """Appends digests, which must sort after the earlier digests."""
        code = bytes((kind,))
        self.write(b"".join([code + digest for digest in digests]))
        self._count += len(digests)

    def clear(self) -> None:
        """Removes all entries."""
        self._file.truncate(0)
        self._count = 0

    def page(self, position: int, most: int) -> list[tuple[int, bytes]]:
        """Returns at most `most` removals from a position: the code of each kind, and its packed digests."""
        records = self._at(position * self.RECORD_BYTES, most * self.RECORD_BYTES)
        cut = (records[at : at + self.RECORD_BYTES] for at in range(0, len(records), self.RECORD_BYTES))
        return [
            (kind, b"".join(record[1:] for record in same))
            for kind, same in itertools.groupby(cut, key=lambda record: record[0])
        ]

    def of(self, kind: int, prefix: bytes) -> tuple[int, list[bytes]]:
        """Returns the position of the first removal of a bucket, and the digests of the bucket."""
        first = bisect_left(self, bytes((kind,)) + prefix)
        stop = bisect_left(self, bytes((kind,)) + prefix + b"\xff" * DIGEST_BYTES, first)
        if first == stop:
            return first, []
        ((_, packed),) = self.page(first, stop - first)
        return first, digests_of(packed)


# The folder ----------------------------------------------------------------------------------------------------------

SUFFIX: Final = ".sync"
_ROWS: Final = "rows"
_ENTRIES: Final = "digests"
_REMOVALS: Final = "removals"
_STATE: Final = "state"
_FINER: Final = "finer"
FILES: Final = (_ROWS, _ENTRIES, _REMOVALS, _STATE, _FINER)


def scratch_folder(snapshot: str | os.PathLike[str]) -> Path:
    """Returns the folder for the scratch files of a snapshot, which is the same for all links to the snapshot."""
    return Path(os.path.realpath(snapshot) + SUFFIX)


def remove_scratch(folder: Path) -> None:
    """Removes a folder of scratch files. Raises OSError if the path holds anything else."""
    if not os.path.lexists(folder):
        return
    found = list(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else [folder]
    if not {path.name for path in found} <= set(FILES):
        raise OSError(errno.EEXIST, f"{folder} contains other files")
    for path in found:
        path.unlink()
    folder.rmdir()


class Scratch:
    """The scratch files of one sync, in a folder next to its snapshot.

    Creates the folder if `is_new` is true. Otherwise opens the files that `persist` wrote, except the file of rows.
    Raises OSError if a file cannot be used.
    """

    def __init__(self, folder: Path, *, is_new: bool) -> None:
        self._folder = folder
        self.state: bytearray = bytearray()
        """The state of every row."""
        if is_new:
            folder.mkdir(mode=0o700)
        with contextlib.ExitStack() as opened:
            if is_new:
                self.rows: RowFile = opened.enter_context(contextlib.closing(RowFile(folder / _ROWS)))
            else:
                self.state += (folder / _STATE).read_bytes()
            entries = contextlib.closing(BucketFile(folder / _ENTRIES, is_new=is_new))
            self.entries: BucketFile = opened.enter_context(entries)
            removals = contextlib.closing(RemovalFile(folder / _REMOVALS, is_new=is_new))
            self.removals: RemovalFile = opened.enter_context(removals)
            self._files = opened.pop_all()

    def add(self, block: RowBlock, expiry: int) -> None:
        """Writes the next rows. `expiry` is the time (epoch seconds) at which the service removes them."""
        start, stop = len(self.state), len(self.state) + len(block)
        columns, digests = list[Column](), list[bytes]()
        for kind, values in block.columns:
            if isinstance(values, Texts) or not (packed := values.packed()):
                continue  # the kind is never hashed, or no row has a value
            rows: Iterable[int] = range(start, stop)
            if gaps := values.gaps():
                has_value = bytearray(b"\1") * len(block)
                for gap in gaps:
                    has_value[gap] = 0
                rows = itertools.compress(rows, has_value)
            self.entries.add(CODES[kind], Entries(packed, array("I", rows), expiry))
            columns.append((kind, values))
            digests.append(packed)
        self.rows.append(RowBlock(block.action, block.numbers, tuple(columns)), digests)
        self.state += bytes(len(block))

    @contextlib.contextmanager
    def finer(self, kind: int, bucket: int) -> Iterator[BucketFile]:
        """Yields a temporary file with the digests of a bucket, divided by their second byte."""
        path = self._folder / _FINER
        path.unlink(missing_ok=True)  # left by a process that was killed
        with contextlib.closing(BucketFile(path, position=1)) as finer:
            for part in self.entries.parts(kind, bucket):
                finer.add(kind, part)
            finer.flush()
            yield finer
        path.unlink()

    @property
    def sizes(self) -> str:
        """The sizes of all files except the file of rows, in one string."""
        return f"{len(self.state)} rows, {self.entries.flush()} bytes, {len(self.removals)} removals"

    def persist(self) -> str:
        """Makes all files except the file of rows durable, and returns their sizes."""
        state = ScratchFile(self._folder / _STATE, is_new=True)
        with contextlib.closing(state):
            state.write(self.state)
            state.sync()
        self.entries.sync()
        self.removals.sync()
        for folder in (self._folder, self._folder.parent):
            sync_folder(folder)
        return self.sizes

    def close(self) -> None:
        """Closes the files."""
        self._files.close()
