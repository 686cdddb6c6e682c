"""Packed digests, and a file that sorts them into buckets.

The digests of a bucket have the same first byte, or the same first two bytes. The file is written
and read in blocks of a few thousand digests, and only its table of contents stays in memory.
"""

import errno
import itertools
import os
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from socialapi.models.audiences import IdentifierKind

CODES: Final[Mapping[IdentifierKind, int]] = {
    "email": 1,
    "device_id": 2,
    "handle": 3,
    "service_id": 4,
    "phone_number": 5,
}
"""The code of each hashed kind in files. A code must never change its meaning, because files outlive versions of the
package.
"""
KINDS: Final[Mapping[int, IdentifierKind]] = {code: kind for kind, code in CODES.items()}

DIGEST_BYTES: Final = 32
BUCKETS: Final = 256
DIGESTS_PER_REGION: Final = 32_768
"""The number of digests of one kind that are collected before they are written."""

_MANY: Final = struct.Struct(f"{DIGEST_BYTES}s" * 128)


def digests_of(packed: bytes) -> list[bytes]:
    """Splits packed digests into a list."""
    whole = len(packed) - len(packed) % _MANY.size
    rest = (packed[at : at + DIGEST_BYTES] for at in range(whole, len(packed), DIGEST_BYTES))
    return [*itertools.chain.from_iterable(_MANY.iter_unpack(memoryview(packed)[:whole])), *rest]


class ScratchFile:
    """A file that only its owner can read. With `is_new`, the file must not exist yet. Otherwise it is opened for
    reading only.
    """

    def __init__(self, path: Path, *, is_new: bool, buffering: int = 0) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL if is_new else os.O_RDONLY
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0), 0o600)
        self._file = os.fdopen(descriptor, "w+b" if is_new else "rb", buffering=buffering)

    def write(self, content: bytes | bytearray) -> None:
        """Writes all bytes at the current position."""
        rest = memoryview(content)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Waits until all written data is on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _at(self, offset: int, size: int) -> bytes:
        """Returns `size` bytes from an offset, or fewer at the end of the file."""
        self._file.seek(offset)
        return self._file.read(size)


@attrs.define(eq=False, repr=False)
class Entries:
    """Packed digests, with the row and the expiry of each. If `expiries` is None, `expiry` applies to all digests."""

    packed: bytes
    rows: "array[int]"
    expiry: int
    expiries: "array[int] | None" = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def each_expiry(self) -> Iterable[int]:
        """The expiry of each digest."""
        return itertools.repeat(self.expiry, len(self)) if self.expiries is None else self.expiries


@attrs.define(eq=False, repr=False)
class _Gathered:
    """The digests of one kind that are not written yet."""

    packed: list[bytes] = attrs.field(factory=list)
    rows: "array[int]" = attrs.field(factory=lambda: array("I"))
    expiries: "array[int]" = attrs.field(factory=lambda: array("q"))
    distinct_expiries: set[int] = attrs.field(factory=set)


@attrs.frozen(eq=False)
class _Region:
    """Digests of one kind that were written together, sorted by bucket. In each bucket, the digests
    are followed by their rows and expiries.

    Bucket `b` has the digests from index `starts[b]` up to `starts[b + 1]`.
    """

    offset: int
    starts: "array[int]"
    expiry: int
    has_expiries: bool

    @property
    def entry_bytes(self) -> int:
        return DIGEST_BYTES + 4 + 8 * self.has_expiries


class BucketFile(ScratchFile):
    """A file of digests that are added in any order and read by bucket. The bucket of a digest is its byte at
    `position`.
    """

    _HEAD: Final = struct.Struct(f"<B?q{BUCKETS}I")
    """The header of a region: kind, whether each digest has an expiry, the common expiry, and the bucket sizes."""

    def __init__(self, path: Path, *, position: int = 0, is_new: bool = True) -> None:
        super().__init__(path, is_new=is_new)
        self._position = position
        self._gathered: dict[int, _Gathered] = {}
        self._regions: dict[int, list[_Region]] = {}
        self._size = 0
        if not is_new:
            try:
                self._find_regions()
            except OSError:
                self.close()
                raise

    def add(self, kind: int, entries: Entries) -> None:
        """Adds digests of a kind."""
        gathered = self._gathered.setdefault(kind, _Gathered())
        gathered.packed.append(entries.packed)
        gathered.rows += entries.rows
        if entries.expiries is None:
            gathered.expiries += array("q", (entries.expiry,)) * len(entries)
            gathered.distinct_expiries.add(entries.expiry)
        else:
            gathered.expiries += entries.expiries
            gathered.distinct_expiries.update(entries.expiries)
        if len(gathered.rows) >= DIGESTS_PER_REGION:
            self._write(kind)

    def flush(self) -> int:
        """Writes the collected digests, and returns the size of the file."""
        for kind in list(self._gathered):
            self._write(kind)
        return self._size

    @property
    def kinds(self) -> Sequence[int]:
        """The kinds that have digests."""
        return sorted(self._regions)

    def count(self, kind: int, bucket: int) -> int:
        """Returns the number of digests in the bucket."""
        return sum(region.starts[bucket + 1] - region.starts[bucket] for region in self._regions.get(kind, ()))

    def read(self, kind: int, bucket: int) -> Entries:
        """Returns the digests of the bucket."""
        parts = list(self.parts(kind, bucket))
        rows = array("I")
        for part in parts:
            rows += part.rows
        entries = Entries(b"".join(part.packed for part in parts), rows, parts[0].expiry if parts else 0)
        if any(part.expiries is not None or part.expiry != entries.expiry for part in parts):
            entries.expiries = array("q", itertools.chain.from_iterable(part.each_expiry for part in parts))
        return entries

    def parts(self, kind: int, bucket: int) -> Iterator[Entries]:
        """Yields the digests of the bucket in parts."""
        for region in self._regions.get(kind, ()):
            start, stop = region.starts[bucket : bucket + 2]
            if start == stop:
                continue
            piece = self._at(region.offset + start * region.entry_bytes, (stop - start) * region.entry_bytes)
            end_of_digests = (stop - start) * DIGEST_BYTES
            end_of_rows = end_of_digests + (stop - start) * 4
            entries = Entries(piece[:end_of_digests], array("I"), region.expiry)
            entries.rows.frombytes(piece[end_of_digests:end_of_rows])
            if region.has_expiries:
                entries.expiries = array("q")
                entries.expiries.frombytes(piece[end_of_rows:])
            yield entries

    def _write(self, kind: int) -> None:
        gathered = self._gathered.pop(kind)
        packed = b"".join(gathered.packed)
        buckets, has_expiries = packed[self._position :: DIGEST_BYTES], len(gathered.distinct_expiries) > 1
        digests = _distributed(buckets, digests_of(packed), list[bytes])
        rows = _distributed(buckets, gathered.rows, lambda: array("I"))
        columns: list[Iterable[bytes]] = [map(b"".join, digests), (each.tobytes() for each in rows)]
        if has_expiries:
            expiries = _distributed(buckets, gathered.expiries, lambda: array("q"))
            columns.append(each.tobytes() for each in expiries)
        head = self._HEAD.pack(kind, has_expiries, min(gathered.distinct_expiries), *map(len, digests))
        pieces = [head, *itertools.chain.from_iterable(zip(*columns, strict=True))]
        self._file.seek(self._size)
        self.write(b"".join(pieces))
        self._add_region(head)

    def _add_region(self, head: bytes) -> None:
        """Adds the region with this header after the earlier regions."""
        kind, has_expiries, expiry, *sizes = self._HEAD.unpack(head)
        starts = array("I", itertools.accumulate(sizes, initial=0))
        region = _Region(self._size + self._HEAD.size, starts, expiry, has_expiries)
        self._regions.setdefault(kind, []).append(region)
        self._size = region.offset + starts[-1] * region.entry_bytes

    def _find_regions(self) -> None:
        end = self._file.seek(0, os.SEEK_END)
        while self._size + self._HEAD.size <= end:
            self._add_region(self._at(self._size, self._HEAD.size))
        if self._size != end:
            raise OSError(errno.EIO, "the file is incomplete")


def _distributed(buckets: bytes, values: Iterable[Any], make: Any) -> list[Any]:
    found = [make() for _ in range(BUCKETS)]
    put = [each.append for each in found]
    for bucket, value in zip(buckets, values, strict=True):
        put[bucket](value)
    return found
