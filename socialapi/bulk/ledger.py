"""The ledger of a job, which records the rows that have an outcome, and the keys of the rows that do not.

Only jobs with an outcomes file or a callback for settled rows have a ledger.
"""

import asyncio
import datetime
import uuid
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import not_
from typing import IO, Any, Final

import attrs
import orjson

from socialapi.bulk.inputs.columns import shown_name
from socialapi.bulk.inputs.numbers import NoDigits, digits_of, is_missing
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK, Block
from socialapi.bulk.outcomes import OutcomesFile, mask_of
from socialapi.errors import InvalidInput
from socialapi.reports import EMPTY_KEY, RowIssue

MAX_KEY_LENGTH: Final = 256
PAGES_IN_MEMORY: Final = 400
"""The number of pages whose keys are kept in memory. The keys of further pages are written to a temporary file."""

Place = Callable[[int], tuple[str, int] | None]


@attrs.define(eq=False, repr=False)
class _Page:
    """Consecutive rows: whether each has its outcome, and their keys or the position of the keys in
    the temporary file.
    """

    settled: bytearray = attrs.field(factory=bytearray)
    left: int = 0
    keys: list[str] = attrs.field(factory=list)
    offset: int = 0
    """The position of the keys in the temporary file; 0 while they are in memory."""


class Ledger:
    """A record of all rows that were read. It writes a line to the outcomes file once a row has its outcome."""

    def __init__(
        self,
        file: OutcomesFile | None,
        place_of: Place,
        key: str | int | None = None,
        is_refused: Callable[[str], bool] | None = None,
    ) -> None:
        self._held = set[int]()
        self._file = file
        self._place_of = place_of
        self._key = key
        self._is_refused = is_refused
        self._pages: dict[int, _Page] = {}
        self._first_page = self._rows = 0
        self._counts: dict[str, int] = {}
        self._kept = _KeptKeys()

    def enter(self, block: Block[Any]) -> list[RowIssue]:
        """Records the rows of a block, and returns a warning for each empty key.

        Raises InvalidInput if a key cannot be written or the disk is full.
        """
        warnings, keys = list[RowIssue](), None if self._key is None else self._keys_of(block)
        if keys is not None and not all(keys):
            name = shown_name(str(self._key))
            warnings = [RowIssue(block.first_number + at, name, EMPTY_KEY) for at, key in enumerate(keys) if not key]
        if self._file is not None:
            self._file.begin(has_places=self._place_of(1) is not None)
        start, size = 0, len(block)
        while start < size:
            number, index = divmod(block.first_number - 1 + start, ROWS_PER_BLOCK)
            page = self._pages.setdefault(number, _Page())
            count = min(size - start, ROWS_PER_BLOCK - index)
            page.settled += bytes(count)
            page.left += count
            if keys is not None:
                page.keys += keys[start : start + count]
                if len(page.settled) == ROWS_PER_BLOCK and len(self._pages) > PAGES_IN_MEMORY:
                    page.offset, page.keys = self._kept.put(page.keys), []
            start += count
        self._rows = block.first_number - 1 + size
        return warnings

    def settle(self, numbers: Sequence[int], outcome: str, issues: Sequence[RowIssue] = ()) -> None:
        """Writes a line with the outcome of each row. `numbers` must ascend, and no row may have an
        outcome yet. Raises InvalidInput if the disk is full.
        """
        start = 0
        while start < len(numbers):
            at, index = divmod(numbers[start] - 1, ROWS_PER_BLOCK)
            after = (at + 1) * ROWS_PER_BLOCK + 1
            stop = len(numbers) if numbers[-1] < after else bisect_left(numbers, after)
            some, page, mask = numbers[start:stop], self._pages[at], mask_of(numbers[start:stop])
            rows = slice(index, index + len(mask))
            before, now = int.from_bytes(page.settled[rows]), int.from_bytes(mask)
            if before & now:
                raise RuntimeError("a row has two outcomes, which is a bug in this package")
            page.settled[rows] = (before | now).to_bytes(len(mask))
            keys = None if self._key is None else self._kept.get(page.offset) if page.offset else page.keys
            page.left -= len(some)
            if not page.left and len(page.settled) == ROWS_PER_BLOCK:
                del self._pages[at]
            self._counts[outcome] = self._counts.get(outcome, 0) + len(some)
            if self._file is not None:
                reasons = [_reason(each) for each in issues[start:stop]]
                self._file.write(some[0], mask, keys and keys[rows], outcome, reasons, self._places_of(some))
            start = stop

    def settled_rows(self) -> int:
        """Returns the largest n such that the outcomes of the rows 1 to n are known and in the journal."""
        while self._first_page not in self._pages and self._first_page < self._rows // ROWS_PER_BLOCK:
            self._first_page += 1
        page, found = self._pages.get(self._first_page), self._first_page * ROWS_PER_BLOCK
        if page is not None:
            first = page.settled.find(0)
            found += len(page.settled) if first < 0 else first
        return min((found, *(number - 1 for number in self._held)))

    def hold(self, first: int) -> None:
        """Records that the journal does not yet contain the outcomes of the batch starting with this row."""
        self._held.add(first)

    def release(self, first: int) -> None:
        """Records that the journal contains the outcomes of the batch starting with this row."""
        self._held.discard(first)

    async def sync(self) -> None:
        """Waits until every line written so far is on disk. Raises InvalidInput if the disk is full."""
        if self._file is not None:
            await self._file.sync()

    def agrees_with(self, counts: Mapping[str, int]) -> bool:
        """Returns whether the number of rows with each outcome matches these counts. Always true if a full disk has
        prevented lines from being written.
        """
        is_incomplete = self._file is not None and self._file.is_incomplete
        return is_incomplete or self._counts == {outcome: rows for outcome, rows in counts.items() if rows}

    async def close(self, *, is_finished: bool) -> None:
        """Writes the rows without an outcome as pending, and closes the file. Raises InvalidInput if the disk is full."""
        try:
            if self._file is not None and self._file.is_incomplete:
                return
            if self._file is not None and is_finished:
                self._file.begin(has_places=False)
            for at, page in sorted(self._pages.items()):
                rows = range(at * ROWS_PER_BLOCK + 1, at * ROWS_PER_BLOCK + len(page.settled) + 1)
                self.settle([*compress(rows, map(not_, page.settled))] if 1 in page.settled else rows, "pending")
        finally:
            self._kept.close()
            if self._file is not None:
                await asyncio.to_thread(self._file.close)  # converts all lines to Parquet

    def _places_of(self, numbers: Sequence[int]) -> Sequence[tuple[str, int]]:
        if self._place_of(numbers[0]) is None:
            return ()
        places = [self._place_of(number) or ("", 0) for number in numbers]
        return [(_sound(file), row) for file, row in places]

    def _keys_of(self, block: Block[Any]) -> Sequence[str]:
        if block.layout.key is None:
            return [""] * len(block)
        cells = block.columns[block.layout.key]
        are_texts = self._is_refused is None and (block.is_text or set(map(type, cells)) == {str})
        if are_texts and max(map(len, cells)) <= MAX_KEY_LENGTH and _is_unicode("".join(cells)):
            return cells
        return [self._text_of(block, index, cell) for index, cell in enumerate(cells)]

    def _text_of(self, block: Block[Any], index: int, cell: Any) -> str:
        """Returns the key of a row. Raises InvalidInput if the key cannot be written, unless the
        row could not be read: then its key is empty.
        """
        reason, text = "", ""
        try:
            text = key_text(cell)
        except NoDigits as problem:
            reason = problem.reason
        if len(text) > MAX_KEY_LENGTH:
            reason = f"is longer than {MAX_KEY_LENGTH} characters"
        elif not _is_unicode(text):
            reason = "is not valid Unicode text"
        elif self._is_refused is not None and self._is_refused(text):
            reason = "looks like an address or a phone number, which require_hashed does not allow in any file"
        if not reason:
            return text
        if index in block.unreadable or index in block.ambiguous:
            return ""
        name, number = shown_name(str(self._key)), block.first_number + index
        raise InvalidInput(f"row {number:,}: {block.location_of(index)}the key ({name}) {reason}")


def key_text(cell: Any) -> str:
    """Returns a key as a string, which is empty if the cell has no value. Raises NoDigits if the value cannot be
    written as a key.
    """
    if isinstance(cell, str):
        return str.__str__(cell)
    if is_missing(cell):
        return ""
    if isinstance(cell, uuid.UUID):
        return str(cell)
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else digits_of(cell)


def _is_unicode(text: str) -> bool:
    return text.isascii() or _sound(text) == text


def _sound(text: str) -> str:
    """Returns the string with a question mark in place of each character that UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _reason(issue: RowIssue) -> str:
    return _sound(f"{shown_name(issue.field)}: {issue.reason}" if issue.field else issue.reason)


class _KeptKeys:
    """The keys of pages, in a temporary file that has no name and that only its owner can read."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._last: tuple[int, list[str]] = (0, [])

    def put(self, keys: list[str]) -> int:
        """Writes the keys of a page and returns their position in the file, which is never 0.
        Raises InvalidInput if the disk is full.
        """
        try:
            if self._file is None:
                import tempfile  # jobs with few rows do not need it

                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
                self._file.write(b"\0")
            offset = self._file.seek(0, 2)
            self._file.write(orjson.dumps(keys) + b"\n")
        except OSError as problem:
            says = f"the temporary file for keys cannot be written: {problem.strerror}"
            raise InvalidInput(says) from None
        return offset

    def get(self, offset: int) -> list[str]:
        """Returns the keys of the page at this position."""
        assert self._file is not None
        if self._last[0] != offset:
            self._file.seek(offset)
            self._last = (offset, orjson.loads(self._file.readline()))
        return self._last[1]

    def close(self) -> None:
        """Deletes the temporary file. Idempotent."""
        if self._file is not None:
            self._file.close()
