"""Reads rows from iterables of models, mappings and keyed rows."""

import abc
import asyncio
import contextlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, Generic, Literal, TypeVar

from socialapi.bulk.inputs.keyed_rows import KeyedRow, advice_for, keyed_row
from socialapi.bulk.inputs.layouts import Layout
from socialapi.bulk.inputs.objects import ObjectBlocks, check_names, names_of, with_paths
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK, Block, Reader, Selection, rows_looked_at
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_to_others

L = TypeVar("L", bound=Layout)

Kind = Literal["model", "mapping"] | KeyedRow
"""The way to read the items of a class."""
_KINDS_KEPT: Final = 256
_END: Final = object()
_MODELS: Final = "socialapi.models."


class _ItemReader(Reader[Block[L]], Generic[L]):
    """The base class of readers that collect items into blocks. Its state is in attributes, so that a cancelled step
    loses nothing.
    """

    def __init__(self, records: object, selection: Selection[L]) -> None:
        self._size = self.total_rows = len(records) if isinstance(records, Sized) else None
        self._selection = selection
        self._objects = ObjectBlocks(selection)
        self._kinds: dict[type, Kind] = {}
        """The way to read the items of each class. Bundles are not included."""
        self._items: list[Any] = []
        """The collected rows."""
        self._bundle: Iterator[Any] | None = None
        self._blocks: Iterator[Block[L]] = iter(())
        self._end: BaseException | None = None
        """The exception that ended the input. An error is raised after the collected items are returned."""
        self._rows_read = self._rows_taken = 0
        self._is_checked = False

    @property
    def has_block(self) -> bool:
        """Whether the collected rows contain another complete block."""
        return self._rows_read < self._rows_taken

    @property
    def _is_full(self) -> bool:
        return len(self._items) >= ROWS_PER_BLOCK or self._end is not None

    def _take(self, item: Any) -> None:
        """Collects an item. If the item cannot be read as a row, raises InvalidInput with its type and position."""
        self._count_read += 1
        if isinstance(item, self._selection.bundles):
            self._bundle, self.total_rows = self._selection.unbundled(item), None
            self._take_bundled()
        else:
            self._note_kind(item)
            self._items.append(item)

    def _take_bundled(self) -> None:
        while self._bundle is not None and not self._is_full:
            item = next(self._bundle, _END)
            if item is _END:
                self._bundle = None
            else:
                self._note_kind(item)
                self._items.append(item)

    def _note_kind(self, item: Any) -> None:
        if type(item) in self._kinds:
            return
        kind: Kind | None = keyed_row(type(item))
        if isinstance(item, self._selection.models):
            kind = "model"
        elif type(item).__module__.startswith(_MODELS):  # a model of another job
            kind = None
        elif isinstance(item, Mapping):
            kind = "mapping"
        if kind is None:
            advice = advice_for(type(item))
            problem = f"item {self._count_read} {self._selection.why_not(item)}"
            raise InvalidInput(f"{problem}; {advice}" if advice else problem)
        if len(self._kinds) >= _KINDS_KEPT and not self._items:
            self._kinds.clear()
        self._kinds[type(item)] = kind

    async def read_block(self) -> Block[L] | None:
        """Returns the next rows. After the last row, raises the error that ended the input, if there was one."""
        block = next(self._blocks, None)
        if block is None:
            await self._collect()
            if self._items:
                items, self._items = self._items, []
                self._rows_taken += len(items)
                self._blocks = self._blocks_of(items)
                block = next(self._blocks)
        if block is not None:
            self._rows_read += len(block)
        elif self._end is not None and not isinstance(self._end, StopIteration | StopAsyncIteration):
            raise self._end
        return block

    @abc.abstractmethod
    async def _collect(self) -> None:
        """Collects the items of a block, or fewer at the end."""

    def _blocks_of(self, items: Sequence[Any]) -> Iterator[Block[L]]:
        groups = self._groups_of(items)
        if not self._is_checked:
            self._is_checked = True
            self._check_first(groups)
        number = self._rows_read + 1
        for kind, some in groups:
            if kind == "model":
                yield Block(number, len(some), *self._selection.of_models(some))
            elif kind == "mapping":
                yield from self._objects.blocks(with_paths(some, self._selection), number)
            else:
                yield from self._keyed_blocks(kind, some, number)
            number += len(some)

    def _groups_of(self, items: Sequence[Any]) -> Sequence[tuple[Kind, Sequence[Any]]]:
        kinds = [self._kinds[each] for each in set(map(type, items))]
        if all(kind == kinds[0] for kind in kinds):
            return [(kinds[0], items)]
        return [(kind, list(some)) for kind, some in groupby(items, key=lambda item: self._kinds[type(item)])]

    def _check_first(self, groups: Sequence[tuple[Kind, Sequence[Any]]]) -> None:
        names = dict[str, None]()
        for kind, some in groups:
            if kind == "model":  # a model has all names
                return
            if isinstance(kind, KeyedRow):
                names.update(dict.fromkeys(kind.fixed_names or _names_so_far(kind, some)))
            else:
                names.update(dict.fromkeys(names_of(with_paths(some, self._selection))))
        check_names(
            tuple(names), chain.from_iterable(some for kind, some in groups if kind == "mapping"), self._selection
        )

    def _keyed_blocks(self, kind: KeyedRow, items: Sequence[Any], number: int) -> Iterator[Block[L]]:
        """Yields blocks of rows with the same names. If a row cannot be read, raises its error after the rows before
        it.
        """
        names, rows = kind.fixed_names or (), list[Sequence[Any]]()
        failure: InvalidInput | None = None
        for item in items:
            try:
                item_names, values = kind.fixed_names or kind.names(item), kind.values(item)
            except InvalidInput as error:
                failure = InvalidInput(f"row {number + len(rows)}: {error.message}")
                break
            if item_names != names and rows:
                yield self._keyed_block(names, rows, number)
                number, rows = number + len(rows), []
            names = item_names
            rows.append(values)
        if rows:
            yield self._keyed_block(names, rows, number)
        if failure is not None:
            raise failure

    def _keyed_block(self, names: tuple[str, ...], rows: Sequence[Sequence[Any]], number: int) -> Block[L]:
        layout = self._selection.of_keys(names)
        if number == 1:
            looked_at = rows[: rows_looked_at(len(names))]
            self._selection.look_at((name, [row[at] for row in looked_at]) for at, name in enumerate(names))
        return Block(number, len(rows), layout, [list(map(itemgetter(at), rows)) for at in layout.positions])


def _names_so_far(kind: KeyedRow, items: Sequence[Any]) -> Iterator[str]:
    """Yields the names of the rows before the first row that cannot be read. The error of that row is raised later."""
    with contextlib.suppress(InvalidInput):
        for item in items:
            yield from kind.names(item)


class IterableReader(_ItemReader[L]):
    """Reads an iterable on the event loop, one block at a time."""

    why_not_flushed: str | None = "while a plain iterable waits for a row, nothing can be sent"

    def __init__(self, records: Iterable[Any], selection: Selection[L]) -> None:
        super().__init__(records, selection)
        self._source = iter(records)

    async def _collect(self) -> None:
        try:
            self._take_bundled()
            while not self._is_full:
                self._take_known()
        except Exception as end:  # noqa: BLE001 - any error of the iterable is raised again after the rows before it
            self._end = end

    def _take_known(self) -> None:
        """Collects items up to the first bundle or the first item of a new class."""
        kinds, append, room = self._kinds, self._items.append, ROWS_PER_BLOCK - len(self._items)
        before = len(self._items)
        try:
            for item in self._source:
                if type(item) not in kinds:
                    break
                append(item)
                room -= 1
                if not room:
                    return
            else:
                self._end = StopIteration()
                return
        finally:
            self._count_read += len(self._items) - before
        self._take(item)

    async def aclose(self) -> None:
        """Closes a generator, so that it releases its resources now."""
        if isinstance(self._source, Generator):
            self._source.close()


class AsyncIterableReader(_ItemReader[L]):
    """Reads an asynchronous iterable.

    A single task advances the iterable and closes it, because the context variables, timeouts and task groups of a
    generator belong to one task. It collects at most one block ahead.
    """

    why_not_flushed: str | None = None

    def __init__(self, records: AsyncIterable[Any], selection: Selection[L]) -> None:
        super().__init__(records, selection)
        self._source: AsyncIterator[Any] = aiter(records)
        self._driving: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()
        """Set when a complete block is collected, when the input ends, or when an incomplete block is requested."""
        self._has_room = asyncio.Event()
        self._has_room.set()

    def end_block(self) -> None:
        """Makes the pending `read_block` return the collected rows, or None if there are none."""
        self._is_ready.set()

    async def _collect(self) -> None:
        if self._driving is None:
            self._driving = asyncio.create_task(self._drive(), name="socialapi reader")
        await self._is_ready.wait()
        if self._end is None:
            self._is_ready.clear()
        self._has_room.set()

    async def _drive(self) -> None:
        try:
            while self._end is None:
                await self._has_room.wait()
                await yield_to_others()  # many jobs may become ready to read at the same time
                if self._bundle is not None:
                    self.on_first_row()
                    self._take_bundled()
                while not self._is_full:
                    item = await anext(self._source)
                    if not self._items:
                        self.on_first_row()
                    self._take(item)
                self._has_room.clear()
                self._is_ready.set()
        except asyncio.CancelledError:
            # If something other than the job cancelled this task, the job must not end as if all rows had been read.
            self._end = self._end or InvalidInput("the iterable was cancelled, but not by its job")
        except BaseException as end:  # noqa: BLE001 - any error of the iterable is raised again after the rows before it
            self._end = self._end or end
        finally:
            self._is_ready.set()
            await self._close()

    async def _close(self) -> None:
        if isinstance(self._source, AsyncGenerator):
            await self._source.aclose()

    async def aclose(self) -> None:
        """Closes an asynchronous generator, so that it releases its resources now."""
        if self._driving is not None:
            if self._end is None:
                self._end = StopAsyncIteration()
                self._driving.cancel()
            [problem] = await asyncio.gather(self._driving, return_exceptions=True)
            if isinstance(problem, Exception):
                raise problem
        await self._close()  # in case the task never started
