"""Blocks of rows as columns, and the interface of the readers that return them.

A reader asks the job's `Selection` which columns to read. The answer is a layout, and each block
carries the layout of its columns.
"""

import abc
import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from itertools import islice
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

import attrs

from socialapi.bulk.inputs.layouts import FileLayout, FoundFiles, NamesChanged
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord
from socialapi.models.validation import invalid
from socialapi.reports import RowIssue

ROWS_PER_BLOCK: Final = 1_250
"""Rows that are read, or encoded, at once: few enough that other tasks wait at most about 10 ms."""
BYTES_PER_BLOCK: Final = 1_048_576
"""The bytes of a file after which a block ends, however few rows it has: one row may be this long."""
COLUMNS_LOOKED_AT: Final = 500
_CELLS_LOOKED_AT: Final = 50_000
ROWS_PER_STEP: Final = 250
"""Rows checked at a time: the slowest ones, with unusual phone numbers, take 40 microseconds each."""


@attrs.frozen
class RowProblem(FrozenRecord):
    """Why a row could not be read as it should.

    `column` is the first column with the fault, counted from 1, or None; `columns` are all of them.
    `surplus` are the cells after the last column that has a name.
    """

    reason: str
    column: int | None = None
    surplus: tuple[str, ...] = attrs.field(default=(), repr=False)
    columns: tuple[int, ...] = ()


@attrs.frozen
class FileVersion(FrozenRecord):
    """What identifies the content of a file at an address, as far as its store says."""

    size: int | None
    etag: str | None = None
    """Only a strong one, which is another one for any other content."""
    changed_at: str | None = None


IS_BLANK: Final = RowProblem("is blank")


class BinaryFile(Protocol):
    """An open file, pipe or download that returns bytes."""

    def read(self, size: int, /) -> bytes:
        """Returns the next bytes, at most `size`; none at the end."""


class ArrowStream(Protocol):
    """A table that can be read through Arrow: a DataFrame, a table, a relation or a stream of
    batches.
    """

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Returns a capsule with the stream, as Arrow's PyCapsule interface defines it."""


class TableForm(NamedTuple):
    """Where a CSV or TSV file names its columns.

    Without a `header`, columns are numbered from 1. `header_line` is the number of the line of names if the caller
    gave it. Unless the reader `guesses`, it refuses a file whose names are below other lines. With a `layout` nothing is guessed.
    """

    header: bool = True
    header_line: int | None = None
    guesses: bool = True
    layout: FileLayout | None = None

    @classmethod
    def of(
        cls, *, header: bool = True, header_line: int | None = None, layout: object = None, guesses: bool = True
    ) -> Self:
        """Returns the form that the options of a job describe."""
        if isinstance(layout, FileLayout):
            return cls(layout.header, layout.header_line, guesses=False, layout=layout)
        return cls(header, header_line, guesses)

    @property
    def delimiters(self) -> Sequence[str]:
        """The delimiter, if it is known."""
        return () if self.layout is None or self.layout.delimiter is None else (self.layout.delimiter,)

    def check(self) -> None:
        """Raises InvalidInput for options that make no sense."""
        if self.header_line is not None and (not self.header or self.header_line < 1):
            raise invalid("header_line", "is the number of the line that names the columns, and takes a header")


ANY_FORM: Final = TableForm()


class Layout(Protocol):
    """What the columns of a block hold. `positions` are those of its columns among all names."""

    @property
    def positions(self) -> Sequence[int]:
        """Which columns are read, in the order in which a block has them."""

    @property
    def key(self) -> int | None:
        """The index of the column of keys among those that are read; None if there is none."""

    @property
    def roles(self) -> AbstractSet[tuple[str, str]]:
        """The name of each column, and what it is read as."""

    def is_row(self, cells: Sequence[str]) -> bool | None:
        """Returns whether these cells, one for each name, are a row by themselves; None if they may be."""


def rows_looked_at(columns: int) -> int:
    """Returns how many of the first rows are searched for columns that should have been read."""
    return max(100, min(1_000, _CELLS_LOOKED_AT // max(1, columns)))


L_co = TypeVar("L_co", bound=Layout, covariant=True)


@attrs.frozen(eq=False, repr=False)
class Block(Generic[L_co]):
    """Consecutive rows of an input, as columns.

    `first_number` is the number of the first of `size` rows. A cell is a text or, from a typed source,
    any value; None is no value. By index, `unreadable` has the rows that could not be read, and `ambiguous`
    the rows whose cells may belong to other columns. `lines` are the lines on which the rows begin,
    or None if the input has no lines.
    """

    first_number: int
    size: int
    layout: L_co
    columns: Sequence[Sequence[Any]]
    unreadable: Mapping[int, RowProblem] = {}
    ambiguous: Mapping[int, RowProblem] = {}
    lines: Sequence[int] | None = None
    is_text: bool = False
    """Whether every cell is a text, and messages may name a column by its number in the table."""

    def __len__(self) -> int:
        return self.size

    def part(self, start: int, stop: int) -> Self:
        """Returns the rows from one index up to another, or up to the last one."""
        stop = min(stop, self.size)
        if start == 0 and stop == self.size:
            return self
        return attrs.evolve(
            self,
            first_number=self.first_number + start,
            size=stop - start,
            columns=[cells[start:stop] for cells in self.columns],
            unreadable=_between(self.unreadable, start, stop),
            ambiguous=_between(self.ambiguous, start, stop),
            lines=None if self.lines is None else self.lines[start:stop],
        )

    def steps(self) -> Iterator[Self]:
        """Yields the rows in parts that are each checked quickly."""
        return (self.part(start, start + ROWS_PER_STEP) for start in range(0, self.size, ROWS_PER_STEP))

    def location_of(self, index: int, column: int | None = None) -> str:
        """Returns where a row is, as the beginning of a message: `line 5, column 3: `. It is empty if
        that is unknown.
        """
        if self.lines is None:
            return ""
        return f"line {self.lines[index]}: " if column is None else f"line {self.lines[index]}, column {column}: "


def _between(found: Mapping[int, RowProblem], start: int, stop: int) -> Mapping[int, RowProblem]:
    return {index - start: problem for index, problem in found.items() if start <= index < stop} if found else found


def note_names(selection: Any, names: Collection[str]) -> None:
    """Notes the names of a file. Raises NamesChanged where they are not those of its layout."""
    selection.files.note(names=list(names))
    if (layout := selection.form.layout) is not None and (changes := layout.changes(list(names), by_name(selection))):
        raise NamesChanged(changes)


def by_name(selection: Any) -> Callable[[str], str]:
    """Returns what tells as what a column is read by its name alone."""
    plain = attrs.evolve(selection, form=ANY_FORM, given={}, files=FoundFiles(), noted={}, remarks=[])
    role_of: Callable[[str], str] = plain.role_of
    return role_of


class Selection(Protocol[L_co]):
    """The columns that a job looks for in its input, and its wording of errors."""

    @property
    def form(self) -> TableForm:
        """Where a table names its columns."""

    @property
    def files(self) -> FoundFiles:
        """What was understood of the files, for a layout."""

    @property
    def remarks(self) -> list[RowIssue]:
        """Warnings about the input as a whole or one of its columns, for the report. Their row is 0."""

    @property
    def paths(self) -> Sequence[str]:
        """The names that were given and may be paths into objects, as `properties.email` is."""

    def flattened(self, objects: Sequence[Any]) -> Sequence[Any]:
        """Returns objects, or faults in their place, with what they have in an object within them, if its
        members are known to be theirs.
        """

    @property
    def noun(self) -> str:
        """The plural noun for the rows."""

    @property
    def items(self) -> str:
        """The items that an iterable may have, for a message."""

    @property
    def instead_of_paths(self) -> str:
        """Advice for callers who passed data instead of a path, or an empty text."""

    @property
    def why_no_xml(self) -> str | None:
        """The reason why XML feeds are refused; None if they are read."""

    @property
    def models(self) -> tuple[type, ...]:
        """The classes of items that are one row each."""

    @property
    def bundles(self) -> tuple[type, ...]:
        """The classes of items that have any number of rows."""

    def of_table(self, names: Sequence[str], line: int | None = None) -> L_co:
        """Returns the layout of a table, whose names are on this line of a file.

        Raises InvalidInput for a table that cannot be used.
        """

    def of_keys(self, names: Sequence[str]) -> L_co:
        """Returns the layout of objects with these keys, whatever is missing."""

    def role_of(self, name: str) -> str:
        """Returns what a name is read as if there is no other; empty for nothing.

        Among other names it depends at most on those that are read as the same.
        """

    def knows_any(self, names: Sequence[str]) -> bool:
        """Returns whether some of these names are read."""

    def check_keys(self, names: Collection[str]) -> None:
        """Raises InvalidInput if the first objects, which have these keys, show that the input
        cannot be used.
        """

    def look_at(self, columns: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Looks at the first cells of all columns of a file or of its first objects, also of those that
        are not read.
        """

    def of_models(self, items: Sequence[Any]) -> tuple[L_co, Sequence[Sequence[Any]]]:
        """Returns the layout and the columns of items of `models`."""

    def unbundled(self, bundle: Any) -> Iterator[Any]:
        """Yields the items of a bundle, one for each row."""

    def why_not(self, item: object) -> str:
        """Returns why an item is not a row, to follow `item 3 ` in a message."""


L = TypeVar("L", bound=Layout)
C = TypeVar("C", bound=Sized)
T = TypeVar("T")


has_undecoded: Final = re.compile("[\udc80-\udcff]").search
"""Finds what a byte that is not UTF-8 is read as."""


def convert_from(encoding: str) -> str:
    """Returns how a text file becomes UTF-8, for a message."""
    return f"save the file as UTF-8, or convert it, for example with iconv -f {encoding} -t UTF-8 <file>"


class NoRows(InvalidInput):
    """The input has no rows. A reader raises it at the end, and notes why."""


class Reader(abc.ABC, Generic[C]):
    """The rows of an input in blocks of at most `ROWS_PER_BLOCK`, each read on demand.

    If reading fails, the rows before the fault are returned first; the next step raises the error.
    """

    paths: Sequence[str] = ()
    """The files of an input of several files."""
    why_empty: str | None = None
    """Of an input without rows that has ended, why there are none, as far as there is more to
    say.
    """
    why_not_flushed: str | None = "a file is read as fast as its rows can be sent"
    """Why rows never wait for further ones; None for an asynchronous iterable, for which they do."""
    on_first_row: Callable[[], None] = staticmethod(lambda: None)
    """Called before the first row waits."""

    @property
    @abc.abstractmethod
    def fraction_read(self) -> float | None:
        """How much of the input is read, from 0 to 1; None when its size is not known."""

    @abc.abstractmethod
    async def read_block(self) -> C | None:
        """The next rows, at least one; None at the end.

        Raises InvalidInput when the input cannot be used, and what an iterable itself raises.
        """

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Lets go of the input. May be called at any time and more than once."""

    @property
    def has_block(self) -> bool:
        """Whether a block is there that came with the one before."""
        return False

    def end_block(self) -> None:
        """Has the pending `read_block` return the rows that wait, or None if none do."""

    def leave_out(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        """Removes these files, which the job itself writes, from what patterns match; named files stay."""

    def find(self) -> Sequence[str]:
        """Returns the files of an input of several files, and asks stores which match a pattern. To be
        called in a thread.
        """
        return self.paths

    def version_of(self, address: str) -> FileVersion:
        """Returns the version in which the job reads the file at an address, and asks its store for it.
        To be called in a thread. Raises InvalidInput if there is no such file.
        """
        raise NotImplementedError  # only readers of files are given addresses

    def file_row_of(self, number: int) -> tuple[str, int] | None:
        """Returns which of several files has the row of this number, and the row's number there."""
        return None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> C:
        block = await self.read_block()
        if block is None:
            raise StopAsyncIteration
        return block

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


CUT: Final = ()
"""Ends a list early: comes between two items that must not share one."""


def in_lists(items: Iterable[T | tuple[()]]) -> Iterator[list[T]]:
    """Yields the items in lists of at most `ROWS_PER_BLOCK`, which `CUT` ends earlier.

    If iterating raises, the items before the error come first.
    """
    iterator = iter(items)
    error: Exception | None = None
    while error is None:
        some: list[Any] = []
        try:
            some.append(next(iterator))
            if some[0] == CUT:
                continue
            some.extend(islice(iter(iterator.__next__, CUT), ROWS_PER_BLOCK - 1))
        except StopIteration:
            return
        except Exception as failure:  # noqa: BLE001 - raised again below
            error = failure
        if some:
            yield some
    raise error


THREAD_NAME: Final = "socialapi-reader"


class ThreadedReader(Reader[Block[L]], Generic[L]):
    """Opens, reads and parses in a thread, one block at a time.

    Nothing waits for the thread: a pipe, a network drive or a database may never answer, and then
    neither closing the reader nor the exit of the program may hang.
    """

    def __init__(self) -> None:
        self._blocks = self._read()
        self._step: Future[Block[L] | None] | None = None
        self._lock = threading.Lock()  # held for moments only, never while the input is read
        self._at_work = False
        self._closed = False
        self._finished = False

    @abc.abstractmethod
    def _read(self) -> Generator[Block[L], None, None]:
        """Yields the rows as they are asked for; closing it releases the input."""

    @abc.abstractmethod
    def _fraction(self) -> float | None:
        """Returns how much is read before the end is seen."""

    @property
    def fraction_read(self) -> float | None:
        """The share of the input that is read; None when its size is not known, as of a pipe."""
        return 1.0 if self._finished else self._fraction()

    async def read_block(self) -> Block[L] | None:
        """The next rows of the input. After a step that was cancelled, those that it was to return."""
        if self._step is None:
            self._step = Future()
            self._step.set_running_or_notify_cancel()
            with self._lock:
                self._at_work = True
            threading.Thread(target=self._work, args=(self._step,), name=THREAD_NAME, daemon=True).start()
        step = asyncio.wrap_future(self._step)
        try:
            return await step
        finally:
            if not step.cancelled():
                self._step = None

    async def aclose(self) -> None:
        """Lets go of the input; if it is being read, as soon as the system returns from that,
        without waiting for it.
        """
        with self._lock:
            self._closed = True
            if not self._at_work:
                self._blocks.close()

    def _work(self, step: "Future[Block[L] | None]") -> None:
        block: Block[L] | None = None
        failure: Exception | None = None
        try:
            block = next(self._blocks, None)
        except NoRows as empty:
            self.why_empty: str | None = empty.message
        except Exception as error:  # noqa: BLE001 - handed over to whoever waits for the step
            failure = error
        except BaseException as error:  # noqa: BLE001 - libraries that are not written in Python have some of their own
            failure = InvalidInput(f"reading broke off: {type(error).__name__}")
        try:
            with self._lock:
                self._at_work = False
                self._finished = self._finished or block is None
                if self._closed:
                    with contextlib.suppress(Exception):  # whoever would hear of it has left
                        self._blocks.close()
        finally:
            if failure is not None:
                step.set_exception(failure)
            else:
                step.set_result(block)
