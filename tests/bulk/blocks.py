"""Blocks of users that a test makes itself, in the place of a reader."""

import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs

from socialapi.bulk.audiences.cells import UserBlock, When
from socialapi.bulk.audiences.column_names import REGION
from socialapi.bulk.audiences.columns import IdentifierLayout
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.bulk.inputs.columns import OVERRIDES, Override
from socialapi.bulk.inputs.reader import Block, RowProblem
from socialapi.bulk.rows import Action, Row, RowBlock, Texts
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

Column = tuple[str, IdentifierKind | Override | Literal["region"], Sequence[Any]]
"""The name of a column, what it holds, and its cells."""


def user_block(
    *columns: Column,
    size: int | None = None,
    first_number: int = 1,
    faults: Mapping[int, str] | None = None,
    is_text: bool = False,
) -> UserBlock:
    """A block of these columns; without any of them, of `size` rows."""
    keys = (*IDENTIFIER_KINDS, *OVERRIDES, REGION)
    found: dict[str, Sequence[int]] = {
        key: [at for at, column in enumerate(columns) if column[1] == key] for key in keys
    }
    layout = IdentifierLayout.of([name for name, _, _ in columns], found)
    return Block(
        first_number,
        len(columns[0][2]) if size is None else size,
        layout,
        [columns[at][2] for at in layout.positions],
        {index: RowProblem(reason) for index, reason in (faults or {}).items()},
        is_text=is_text,
    )


@attrs.frozen
class GivenRow:
    """What a row of a block says: (name, kind, cell) triples, and what is done when; or why it could not be read."""

    cells: Sequence[tuple[str, IdentifierKind, Any]] = ()
    operation_type: str | None = None
    effective_at: When = None
    expires_at: When = None
    fault: str | None = None


def block_of_rows(rows: Sequence[GivenRow], first_number: int = 1) -> UserBlock:
    """The rows as a block, which has a column of its own for every cell that a row has of the same name and kind."""
    columns: dict[tuple[str, IdentifierKind, int], list[Any]] = {}
    for index, row in enumerate(rows):
        names = [(name, kind) for name, kind, _ in row.cells]
        for at, (name, kind, cell) in enumerate(row.cells):
            key = (name, kind, names[:at].count((name, kind)))
            columns.setdefault(key, [None] * len(rows))[index] = cell
    overrides: list[Column] = []
    for override in OVERRIDES:
        said = [getattr(row, override) for row in rows]
        if any(each is not None for each in said):
            overrides.append((override, override, said))
    return user_block(
        *((name, kind, cells) for (name, kind, _), cells in columns.items()),
        *overrides,
        size=len(rows),
        first_number=first_number,
        faults={index: row.fault for index, row in enumerate(rows) if row.fault is not None},
    )


def rows_of(blocks: Iterable[RowBlock]) -> list[Row]:
    """Returns every row of the blocks."""
    return [row for block in blocks for row in block]


def blocks_of(rows: Iterable[Row]) -> list[RowBlock]:
    """Returns the rows as blocks, in their order."""
    return [_block(action, list(same)) for action, same in itertools.groupby(rows, key=operator.attrgetter("action"))]


def _block(action: Action, rows: Sequence[Row]) -> RowBlock:
    columns: dict[tuple[IdentifierKind, int], Texts] = {}
    for index, row in enumerate(rows):
        seen: Counter[IdentifierKind] = Counter()
        for kind, value in row.identifiers:
            column = columns.get((kind, seen[kind]))
            if column is None:
                column = columns[kind, seen[kind]] = Texts([""] * len(rows))
            column[index] = value
            seen[kind] += 1
    return RowBlock(action, [row.number for row in rows], tuple((kind, texts) for (kind, _), texts in columns.items()))


def prepared_of(preparer: Preparer, block: UserBlock) -> PreparedBlock:
    """What is made of a block, as one."""
    parts = list(preparer.prepare(block))
    found = PreparedBlock()
    for name in (field.name for field in attrs.fields(PreparedBlock)):
        setattr(found, name, [each for part in parts for each in getattr(part, name)])
    return found
