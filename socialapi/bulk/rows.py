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
    """The operation on a row's identifiers, as in the request. Times are ISO 8601 UTC strings or
    None.
    """

    operation_type: OperationType
    effective_at: str | None = None
    expires_at: str | None = None


class Texts(list[str | None]):
    """A column of values that are not hashed, with the methods of `Digests`."""

    __repr__ = object.__repr__  # which shows no identifier

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> str | None: ...
    @overload
    def __getitem__(self, index: slice, /) -> "Texts": ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> "str | Texts | None":
        found = super().__getitem__(index)
        return Texts(found) if isinstance(found, list) else found

    @classmethod
    def joined(cls, columns: tuple[Sequence[str | None], ...], /) -> Self:
        """Returns a column of the values of several columns."""
        return cls(itertools.chain.from_iterable(columns))

    def gaps(self) -> list[int]:
        """Returns the indexes of the rows without a value."""
        return [index for index, value in enumerate(self) if not value]

    def undecided(self) -> list[int]:
        """Returns the indexes of the values that are None."""
        return [index for index, value in enumerate(self) if value is None]

    def same_as(self, other: Sequence[str | None], /) -> list[int]:
        """Returns the indexes of the values that another column has in the same row."""
        rows = enumerate(zip(self, other, strict=True))
        return [index for index, (value, another) in rows if value and value == another]

    def compress(self, kept: bytes | bytearray, /) -> "Texts":
        """Returns the values of the rows whose byte is not zero."""
        return Texts(itertools.compress(self, kept))


Identifier = tuple[IdentifierKind, str]
"""A kind and the normalised value, as it is sent."""
Values = Digests | Texts
Column = tuple[IdentifierKind, Values]
"""A kind and a normalised value for each row, empty where there is none; None while a value is not
decided.
"""

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

    Every column has one value of its kind per row, or an empty string; a kind may have several
    columns, and every row has a value in at least one column. Columns, rather than an object per row,
    save work for the garbage collector, which took 100 ms at a time for the rows in progress.
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
        """The user objects in ASCII JSON, made on first use, because a sync sends few of its rows."""
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
        """Returns the rows from one index up to another."""
        if start == 0 and stop >= len(self.numbers):
            return self
        columns = tuple([(kind, values[start:stop]) for kind, values in self.columns])
        users = None if self._users is None else self._users[start:stop]
        return RowBlock(self.action, self.numbers[start:stop], columns, users)

    def compress(self, kept: bytes | bytearray) -> "RowBlock":
        """Returns the rows whose byte is not zero, in columns of their own."""
        columns = tuple([(kind, values.compress(kept)) for kind, values in self.columns])
        return RowBlock(self.action, list(itertools.compress(self.numbers, kept)), columns)


def joined(blocks: Iterable[RowBlock]) -> list[RowBlock]:
    """Returns the blocks, in which neighbours with the same action and kinds have become one."""
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
    """Returns the first half of the rows, and the other rows."""
    before, after = list[RowBlock](), list[RowBlock]()
    left = sum(map(len, blocks)) // 2
    for block in blocks:
        if left:
            before.append(block.part(0, left))
        if left < len(block):
            after.append(block.part(left, len(block)))
        left -= min(left, len(block))
    return before, after
