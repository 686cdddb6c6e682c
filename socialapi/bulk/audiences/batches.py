"""Groups rows into batches, one for each upload request, and encodes them."""

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Literal, NamedTuple

import attrs

from socialapi._speedups import IdentifierTable
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.bulk.journals.journal import Outcome
from socialapi.bulk.rows import Action, Identifier, Row, RowBlock
from socialapi.internal.fairness import yield_if_due
from socialapi.models.audiences import IdentifierKind
from socialapi.reports import RowIssue

Packing = Literal["single", "packed"]

PACKINGS: Final[tuple[Packing, ...]] = ("single", "packed")
BRACKETS: Final = 2
COMMA: Final = 1
PART_BYTES: Final = 131_072
"""The approximate number of bytes of a request body that are encoded before other tasks can run."""
SMALL_BYTES: Final = 4_096


@attrs.define(eq=False)
class Batch:
    """The rows of one request, in input order.

    `after` holds earlier batches with a different operation on one of the same identifiers. This batch is sent only
    after they are settled. The repr omits fields that may contain identifiers.
    """

    number: int = 0
    """The sequence number of the batch among the submitted batches, starting at 1; 0 until it is submitted."""
    size_bytes: int = BRACKETS
    row_count: int = 0
    blocks: list[RowBlock] = attrs.field(factory=list, repr=False)
    actions: set[Action] = attrs.field(factory=set, repr=False)
    after: set["Batch"] = attrs.field(factory=set, repr=False)
    duplicates: int = 0
    """The number of duplicates found while this batch was open."""
    refused: dict[Identifier, list[tuple[int, RowIssue | None]]] = attrs.field(factory=dict, repr=False)
    """Maps each identifier of a refused row to all rows that contain it. Each of these rows has its reason if it was
    refused, else None.
    """
    settled: asyncio.Event = attrs.field(factory=asyncio.Event)
    failed: bool = False
    """Whether the batch was settled before every row had an outcome, because the job was stopping."""
    position: int = 0
    """The sequence number of the batch among all batches, starting at 1; 0 if it is incomplete because the input
    failed.
    """
    earlier: Sequence[Outcome] | None = attrs.field(default=None, repr=False)
    """The outcomes of the batch if an earlier run confirmed it; None if the batch must be sent."""
    outcomes: list[Outcome] = attrs.field(factory=list, repr=False)
    """The outcomes of refused rows, until the journal records them."""

    async def note_refused(self, rows: Sequence[tuple[Row, RowIssue]]) -> None:
        """Records the rows that the service refused, and all rows that share an identifier with a refused row."""
        reasons = {issue.row: issue for _, issue in rows}
        tables: dict[IdentifierKind, IdentifierTable[bool]] = {}
        for kind, value in chain.from_iterable(row.identifiers for row, _ in rows):
            self.refused[kind, value] = []
            tables.setdefault(kind, IdentifierTable()).put(value, True)
        for block in self.blocks:
            found = (tables[kind].repeated((values,), ()) for kind, values in block.columns if kind in tables)
            for index in sorted(set(chain.from_iterable(found))):
                number = block.numbers[index]
                for identifier in block.row(index).identifiers:
                    if identifier in self.refused:
                        self.refused[identifier].append((number, reasons.get(number)))
            await yield_if_due()

    def refusal_of(self, identifier: Identifier, number: int) -> RowIssue | None:
        """Returns why the service refused the last row before `number` that has this identifier; None if that row was
        not refused.
        """
        before = (why for row, why in reversed(self.refused.get(identifier, ())) if row < number)
        return next(before, None)

    def release(self) -> None:
        """Drops the rows and the references to other batches, which need not stay in memory. The recent identifiers
        still refer to the batch itself.
        """
        self.blocks, self.actions, self.after = [], set(), set()
        self.earlier, self.outcomes = None, []


Carriers = tuple[Batch | None, ...]
"""For each column of a row, the latest batch that contains its identifier; None if the cell has no identifier."""


class _Frame(NamedTuple):
    """The JSON around the users of an operation, and its length."""

    before: str
    behind: str
    size: int


class Packer:
    """An encoder of requests that decides which rows fit into a request. The size of a row is known before it is
    encoded.

    `single` makes one operation per row, so that an error identifies the row. `packed` combines all rows of a batch
    with the same operation type and times into one operation, so that an upload needs 12 to 25 times fewer requests.
    """

    def __init__(self, packing: Packing, *, max_operations: int, max_bytes: int) -> None:
        self._packing = packing
        self._max_operations = max_operations
        self._max_bytes = max_bytes
        self._frames: dict[Action, _Frame] = {}

    def _frame(self, action: Action) -> _Frame:
        frame = self._frames.get(action)
        if frame is None:
            if len(self._frames) > ROWS_PER_BLOCK:
                self._frames.clear()
            before, behind = f'{{"operation_type":"{action.operation_type}","params":{{"users":[', "]"
            if action.effective_at is not None:
                behind += f',"effective_at":"{action.effective_at}"'
            if action.expires_at is not None:
                behind += f',"expires_at":"{action.expires_at}"'
            behind += "}}"
            frame = self._frames[action] = _Frame(before, behind, len(before) + len(behind))
        return frame

    def alone_fits(self, block: RowBlock, index: int) -> bool:
        """Returns whether the row at this index would fit into an empty request."""
        return BRACKETS + self._frame(block.action).size + len(block.users[index]) <= self._max_bytes

    def add(self, batch: Batch, block: RowBlock) -> int:
        """Adds as many of the block's first rows to the batch as fit. Returns how many were added."""
        frame, single = self._frame(block.action).size, self._packing == "single"
        if single:
            most = min(len(block), self._max_operations - batch.row_count)
        else:
            joins = block.action in batch.actions
            most = len(block) if joins or len(batch.actions) < self._max_operations else 0
            frame = 0 if joins else frame
        if not most:
            return 0
        # Every row except the first in the request needs a comma, and every operation needs a frame.
        once, each = (0 if batch.row_count else -COMMA) + (0 if single else frame), COMMA + (frame if single else 0)
        room = self._max_bytes - batch.size_bytes - once
        count, added = block.users.fitting(most, each, min(room, sys.maxsize))
        if count:
            batch.actions.add(block.action)
            batch.size_bytes += added + once
            batch.row_count += count
            batch.blocks.append(block.part(0, count))
        return count

    def operations(self, blocks: Iterable[RowBlock]) -> list[list[RowBlock]]:
        """Returns the rows of each operation of the request. An error refers to an operation by its index in this list."""
        if self._packing == "single":
            return [[block.part(index, index + 1)] for block in blocks for index in range(len(block))]
        grouped: dict[Action, list[RowBlock]] = {}
        for block in blocks:
            grouped.setdefault(block.action, []).append(block)
        return list(grouped.values())

    def encode(self, blocks: Iterable[RowBlock]) -> Iterator[bytes]:
        """Yields the body in parts that are quick to encode: about `PART_BYTES` each, or `ROWS_PER_BLOCK` rows if the
        rows are long.
        """
        single = self._packing == "single"
        waiting, size, before = list[bytes](), 0, "["
        for operation in [[block] for block in blocks] if single else self.operations(blocks):
            frame = self._frame(operation[0].action)
            between = f"{frame.behind},{frame.before}" if single else ","
            before += frame.before
            steps = [(block.users, start) for block in operation for start in range(0, len(block), ROWS_PER_BLOCK)]
            for users, start in steps:
                some = users[start : start + ROWS_PER_BLOCK]
                if size < SMALL_BYTES:  # avoids copying the rendered rows
                    waiting = [some.render(between.encode(), b"".join((*waiting, before.encode())))]
                    size = len(waiting[0])
                else:
                    waiting += (before.encode(), some.render(between.encode(), b""))
                    size += len(before) + len(waiting[-1])
                if size >= PART_BYTES:
                    yield b"".join(waiting)
                    waiting, size = [], 0
                before = between
            before = f"{frame.behind},"
        yield b"".join((*waiting, before.removesuffix(",").encode(), b"]"))
