"""The rows of an upload that are ready to be sent, one by one or in blocks."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Self, SupportsIndex, overload

import attrs

from socialapi._speedups import Digests, Users
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind, OperationType


@attrs.frozen
class Action:
    """An operation on a row's identifiers, with its times as they are sent: ISO 8601 strings in UTC, or None."""

    operation_type: OperationType
    effective_at: str | None = None
    expires_at: str | None = None


class Texts(list[str | None]):
    """A column of unhashed values, with the same methods as `Digests`."""

    __repr__ = object.__repr__  # does not show identifiers

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> str | None: ...
    @overload
    def __getitem__(self, index: slice, /) -> "Texts": ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> "str | Texts | None":
        found = super().__getitem__(index)
        return Texts(found) if isinstance(found, list) else found

    @classmethod
    def joined(cls, columns: tuple[Sequence[str | None], ...], /) -> Self:
        """Returns one column with the values of several columns, one after another."""
        return cls(itertools.chain.from_iterable(columns))

    def gaps(self) -> list[int]:
        """Returns the indexes of the rows without a value."""
        return [index for index, value in enumerate(self) if not value]

    def undecided(self) -> list[int]:
        """Returns the indexes of the values that are None."""
        return [index for index, value in enumerate(self) if value is None]

    def same_as(self, other: Sequence[str | None], /) -> list[int]:
        """Returns the indexes of the rows in which another column has the same value."""
        rows = enumerate(zip(self, other, strict=True))
        return [index for index, (value, another) in rows if value and value == another]

    def compress(self, kept: bytes | bytearray, /) -> "Texts":
        """Returns the values of the rows whose byte is not zero."""
        return Texts(itertools.compress(self, kept))


Identifier = tuple[IdentifierKind, str]
"""The kind and the normalized value, in the form that is sent."""
Values = Digests | Texts
Column = tuple[IdentifierKind, Values]
"""A kind, and the normalized value of each row: an empty string for no value, and None for an undecided value."""

_as_json: Final = json.JSONEncoder(ensure_ascii=True).encode


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Row:
    """A row that is ready to be sent."""

    number: int
    action: Action
    identifiers: tuple[Identifier, ...]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class RowBlock:
    """Consecutive rows that are ready to be sent and have the same action.

    Every column has one string per row, empty if the row has no value. A kind may have several
    columns, and every row has a value in at least one column. Rows are stored in columns because an
    object per row made the garbage collector pause for 100 ms at a time.
    """

    action: Action
    numbers: Sequence[int]
    columns: tuple[Column, ...]
    _users: Users | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, range(len(self)))

    @property
    def users(self) -> Users:
        """The user objects in ASCII JSON, encoded on first use because a sync sends only a few of its rows."""
        if self._users is None:
            columns: dict[IdentifierKind, list[Digests | tuple[str, ...]]] = {}
            for kind, values in self.columns:
                if isinstance(values, Texts):
                    texts = tuple([_as_json(value) if value else "" for value in values])
                    columns.setdefault(kind, []).append(texts)
                else:
                    columns.setdefault(kind, []).append(values)
            self._users = Users(tuple([(kind, tuple(columns[kind])) for kind in IDENTIFIER_KINDS if kind in columns]))
        return self._users

    def row(self, index: int) -> Row:
        """Returns the row at this index of the block."""
        found = tuple([(kind, value) for kind, values in self.columns if (value := values[index])])
        return Row(self.numbers[index], self.action, found)

    def part(self, start: int, stop: int) -> "RowBlock":
        """Returns the rows from index `start` up to, but not including, `stop`."""
        if start == 0 and stop >= len(self.numbers):
            return self
        columns = tuple([(kind, values[start:stop]) for kind, values in self.columns])
        users = None if self._users is None else self._users[start:stop]
        return RowBlock(self.action, self.numbers[start:stop], columns, users)

    def compress(self, kept: bytes | bytearray) -> "RowBlock":
        """Returns a new block with the rows whose byte is not zero."""
        columns = tuple([(kind, values.compress(kept)) for kind, values in self.columns])
        return RowBlock(self.action, list(itertools.compress(self.numbers, kept)), columns)


def joined(blocks: Iterable[RowBlock]) -> list[RowBlock]:
    """Returns the blocks, with adjacent blocks of the same action and kinds merged into one."""
    found = list[RowBlock]()
    for _, same in itertools.groupby(blocks, key=lambda block: (block.action, [kind for kind, _ in block.columns])):
        first, *others = alike = list(same)
        if others:
            columns = tuple(
                (kind, type(values).joined(tuple([block.columns[at][1] for block in alike])))
                for at, (kind, values) in enumerate(first.columns)
            )
            numbers = list(itertools.chain.from_iterable(block.numbers for block in alike))
            first = RowBlock(first.action, numbers, columns)
        found.append(first)
    return found


def halves(blocks: Sequence[RowBlock]) -> tuple[list[RowBlock], list[RowBlock]]:
    """Returns the first half of the rows, and the second half."""
    before, after = list[RowBlock](), list[RowBlock]()
    left = sum(map(len, blocks)) // 2
    for block in blocks:
        if left:
            before.append(block.part(0, left))
        if left < len(block):
            after.append(block.part(left, len(block)))
        left -= min(left, len(block))
    return before, after
