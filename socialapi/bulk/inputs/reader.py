"""Blocks of rows stored as columns, and the interface of the readers that return them.

A reader asks the job's `Selection` which columns to read. The selection returns a layout, which is stored in each block
of these columns.
"""

import abc
import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future
from itertools import chain, islice
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar, cast

import attrs

from socialapi.bulk.inputs.columns import names_given, positions_of, printable_names, quoted, shown_name
from socialapi.bulk.inputs.layouts import FileLayout, FoundFiles, Layout, NamedColumns, NamesChanged
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord
from socialapi.models.validation import invalid
from socialapi.reports import RowIssue

ROWS_PER_BLOCK: Final = 1_250
"""The number of rows that are read or encoded at once. Other tasks then wait about 10 ms at most."""
BYTES_PER_BLOCK: Final = 1_048_576
"""The number of bytes after which a block ends, even if it has few rows. A single row may be that long."""
MAX_BLANK_ROWS: Final = ROWS_PER_BLOCK
"""The maximum number of consecutive blank lines that count as rows. Spreadsheets may leave a million at the end."""
COLUMNS_LOOKED_AT: Final = 500
_CELLS_LOOKED_AT: Final = 50_000
ROWS_PER_STEP: Final = 50
"""The number of rows that are checked at once. The slowest rows, which have unusual phone numbers, take 40 microseconds
each.
"""


@attrs.frozen
class RowProblem(FrozenRecord):
    """The reason why a row is unreadable or ambiguous.

    `column` is the number of the first affected column, from 1, or None. `columns` are the numbers of all affected
    columns. `surplus` are the cells after the last column with a name.
    """

    reason: str
    column: int | None = None
    surplus: tuple[str, ...] = attrs.field(default=(), repr=False)
    columns: tuple[int, ...] = ()


@attrs.frozen
class FileVersion(FrozenRecord):
    """The version of a remote file. Properties that the store does not report are None."""

    size: int | None
    etag: str | None = None
    """The ETag, if it is strong: it differs whenever the content differs."""
    changed_at: str | None = None


IS_BLANK: Final = RowProblem("is blank")


class BinaryFile(Protocol):
    """An open file, pipe or download that returns bytes."""

    def read(self, size: int, /) -> bytes:
        """Returns the next bytes, at most `size`, or no bytes at the end."""


class ArrowStream(Protocol):
    """A table that can be read through Arrow: a DataFrame, a table, a relation or a stream of batches."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Returns a capsule with the stream, as defined by Arrow's PyCapsule interface."""


class TableForm(NamedTuple):
    """The options for finding the column names of a CSV or TSV file.

    Without a `header`, columns are numbered from 1. `header_line` is the number of the line with the names, if the
    caller specified it. If `guesses` is false, a file with other lines above its names is rejected. A `layout` replaces
    all guesses.
    """

    header: bool = True
    header_line: int | None = None
    guesses: bool = True
    layout: FileLayout | None = None

    def problems(self) -> Sequence[InvalidInput]:
        """Returns an error if the options contradict each other."""
        if self.header_line is None or (self.header and self.header_line >= 1):
            return ()
        return (
            invalid(
                "header_line",
                "must be the number of the line that names the columns, and cannot be combined with header=False",
            ),
        )


ANY_FORM: Final = TableForm()


def rows_looked_at(columns: int) -> int:
    """Returns how many of the first rows are searched for overlooked columns."""
    return max(100, min(1_000, _CELLS_LOOKED_AT // max(1, columns)))


L_co = TypeVar("L_co", bound=Layout, covariant=True)


@attrs.frozen(eq=False, repr=False)
class Block(Generic[L_co]):
    """Consecutive rows of an input, stored as columns.

    `first_number` is the number of the first of `size` rows. A cell is a string or, from a typed source, any value.
    None stands for no value. `unreadable` maps the index of each unreadable row to its problem, and `ambiguous` does
    the same for rows whose cells may belong to other columns. `lines` are the numbers of the lines on which the rows
    begin, or None if the input has no lines.
    """

    first_number: int
    size: int
    layout: L_co
    columns: Sequence[Sequence[Any]]
    unreadable: Mapping[int, RowProblem] = {}
    ambiguous: Mapping[int, RowProblem] = {}
    lines: Sequence[int] | None = None
    is_text: bool = False
    """Whether the block comes from a text table. Messages then contain the number of the column."""

    def __len__(self) -> int:
        return self.size

    def part(self, start: int, stop: int) -> Self:
        """Returns the rows from index `start` up to, but not including, `stop`."""
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
        """Yields the rows in parts that are small enough to check without delaying other tasks."""
        return (self.part(start, start + ROWS_PER_STEP) for start in range(0, self.size, ROWS_PER_STEP))

    def location_of(self, index: int, column: int | None = None) -> str:
        """Returns a row's location for the start of a message, such as `line 5, column 3: `, or an empty string."""
        if self.lines is None:
            return ""
        return f"line {self.lines[index]}: " if column is None else f"line {self.lines[index]}, column {column}: "


def _between(found: Mapping[int, RowProblem], start: int, stop: int) -> Mapping[int, RowProblem]:
    return {index - start: problem for index, problem in found.items() if start <= index < stop} if found else found


def note_names(selection: "Selection[Any]", names: Collection[str]) -> None:
    """Records the column names of a file. Raises NamesChanged if they differ from its layout."""
    if selection.files.current.names is not None:
        return  # the names of a table are passed a second time when its columns are read
    selection.files.current.names = list(names)
    if (layout := selection.form.layout) is not None and (changes := layout.changes(list(names), by_name(selection))):
        raise NamesChanged(changes)


def by_name(selection: "Selection[Any]") -> Callable[[str], str]:
    """Returns a function that finds the field for a column name, ignoring the caller's columns and layout."""
    plain: Selection[Any] = attrs.evolve(
        cast("Any", selection), form=ANY_FORM, given={}, files=FoundFiles(), noted={}, remarks=[]
    )
    return plain.role_of


class Selection(NamedColumns, Protocol[L_co]):
    """The columns that a job reads from its input, and the job's wording of errors."""

    @property
    def form(self) -> TableForm:
        """The options for finding the column names of a table."""

    @property
    def remarks(self) -> list[RowIssue]:
        """The warnings for the report about the entire input or one of its columns. Their row is 0."""

    @property
    def paths(self) -> Sequence[str]:
        """The given names that may be paths into objects, such as `properties.email`."""

    def flattened(self, objects: Sequence[Any]) -> Sequence[Any]:
        """Returns the objects with the known members of nested objects added. Leaves each RowProblem unchanged."""

    @property
    def noun(self) -> str:
        """The plural noun for the rows."""

    @property
    def items(self) -> str:
        """The accepted classes of items in an iterable, as words for a message."""

    @property
    def instead_of_paths(self) -> str:
        """Advice for callers who passed data instead of a path, or an empty string."""

    @property
    def why_no_xml(self) -> str | None:
        """The reason why XML feeds are rejected, or None if they are accepted."""

    @property
    def models(self) -> tuple[type, ...]:
        """The classes of items that are one row each."""

    @property
    def bundles(self) -> tuple[type, ...]:
        """The classes of items that contain any number of rows."""

    def of_table(self, names: Sequence[str], line: int | None = None) -> L_co:
        """Returns the layout of a table whose names are on this line. Raises InvalidInput if the names are unusable."""

    def of_keys(self, names: Sequence[str]) -> L_co:
        """Returns the layout of objects with these keys, even if required ones are missing."""

    def check_keys(self, names: Collection[str]) -> None:
        """Raises InvalidInput if the keys of the first objects show that the input cannot be used."""

    def may_be_rows(self, names: Sequence[str]) -> bool:
        """Returns whether objects with these names may be rows of this job."""

    def look_at(self, columns: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Examines the first cells of all columns of a file, even those of columns that are not read."""

    def of_models(self, items: Sequence[Any]) -> tuple[L_co, Sequence[Sequence[Any]]]:
        """Returns the layout and the columns of items of `models`."""

    def unbundled(self, bundle: Any) -> Iterator[Any]:
        """Yields the items of a bundle, one for each row."""

    def why_not(self, item: object) -> str:
        """Returns why an item cannot be read as a row, in words that follow `item 3 ` in a message."""


class FoundColumns:
    """The base class of selections: the columns that the user gave and the columns that were found."""

    __slots__ = ()
    given: Mapping[str, tuple[str, ...]]
    form: TableForm
    key: str | int | None
    noted: dict[str, str]
    remarks: list[RowIssue]

    @property
    def paths(self) -> Sequence[str]:
        """The given names that may be paths into objects."""
        own = self.given if self.form.layout is None else {name: (name,) for name in self.form.layout.paths}
        names = chain(*own.values(), names_given("" if self.key is None else self.key))
        return tuple(name for name in names if "." in name)

    def require_given(self, names: Sequence[str], location: str = "") -> None:
        """Raises InvalidInput, with the location, if a given column is not among the names."""
        for field, given in self.given.items():
            for each in given:
                if not positions_of((each,), names):
                    listed = printable_names(names)
                    raise InvalidInput(
                        f"{location}there is no column {quoted(each)} for {field}; the columns are: {listed}"
                    )

    def check_layout(self, layout: FileLayout) -> None:
        """Raises InvalidInput if the job cannot use the options in the layout."""

    def notes(self) -> Sequence[RowIssue]:
        """Returns the warnings about the entire input or one of its columns."""
        return self.remarks

    def read_columns(self) -> Mapping[str, str]:
        """Returns the names of the columns that are read, with the field of each."""
        return {shown_name(name): taken_for for name, taken_for in self.noted.items() if taken_for}

    def ignored_columns(self) -> Sequence[str]:
        """Returns the names of the ignored columns."""
        return tuple(dict.fromkeys(shown_name(name) for name, taken_for in self.noted.items() if not taken_for))


L = TypeVar("L", bound=Layout)
C = TypeVar("C", bound=Sized)
T = TypeVar("T")


has_undecoded: Final = re.compile("[\udc80-\udcff]").search
"""Finds a character that represents a byte that is not UTF-8."""


def convert_from(encoding: str | None) -> str:
    """Returns advice on how to convert a text file to UTF-8, for a message. None stands for an unknown encoding."""
    how = "from the encoding in which it was saved" if encoding is None else f"with iconv -f {encoding} -t UTF-8 <file>"
    return f"save the file as UTF-8, or convert it {how}"


def note_skipped_blanks(skipped: int, selection: Selection[Any]) -> None:
    """Adds a remark with the number of skipped blank lines, if any were skipped."""
    if skipped:
        of = f"of more than {MAX_BLANK_ROWS:,} consecutive ones, only the first {MAX_BLANK_ROWS:,} count as rows"
        selection.remarks.append(RowIssue(0, "", f"{skipped:,} blank lines were skipped: {of}"))


class NoRows(InvalidInput):
    """Raised at the end of an input without rows. A reader keeps the message for the report."""


class Reader(abc.ABC, Generic[C]):
    """The base class of readers, which read the rows of an input on demand, in blocks of at most `ROWS_PER_BLOCK` rows.

    If reading fails, the reader first returns the rows before the error, and raises the error at the next call.
    """

    paths: Sequence[str] = ()
    """The paths of the files, if the input has any."""
    why_empty: str | None = None
    """The reason why an input that has ended had no rows, if it is known."""
    why_not_flushed: str | None = "a file is read as fast as its rows can be sent"
    """The reason why rows never wait for later rows, or None for an asynchronous iterable, in which they do."""
    total_rows: int | None = None
    """The number of rows, if it is known before they are read."""
    on_first_row: Callable[[], None] = staticmethod(lambda: None)
    """A function that is called when a row starts to wait for later rows."""

    _size: int | None = None
    """The number of bytes, rows or items in the input, if it is known."""
    _count_read: int = 0
    """The number of bytes, rows or items that were read."""

    @property
    def fraction_read(self) -> float | None:
        """The share of the input that was read, from 0 to 1, or None if the size is unknown."""
        return min(1.0, self._count_read / self._size) if self._size else None

    @abc.abstractmethod
    async def read_block(self) -> C | None:
        """Returns the next rows, at least one, or None at the end.

        Raises InvalidInput if the input cannot be used. Also raises any error that an iterable raises.
        """

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Releases the input. May be called at any time and more than once."""

    @property
    def has_block(self) -> bool:
        """Whether another block was read together with the previous one and is ready."""
        return False

    def end_block(self) -> None:
        """Makes the pending `read_block` return the collected rows, or None if there are none."""

    def leave_out(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        """Excludes the job's output files from the files that patterns match. Files given by name are kept."""

    def find(self) -> Sequence[str]:
        """Returns the paths of the files. Must be called in a thread, because it may query object stores."""
        return self.paths

    def version_of(self, address: str) -> FileVersion:
        """Returns the version of the file at an address. Raises InvalidInput if there is no such file."""
        raise NotImplementedError  # only readers of files have addresses

    def file_row_of(self, number: int) -> tuple[str, int] | None:
        """Returns the file that contains the row with this number, and the row's number in that file. Returns None for
        a single file.
        """
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
"""The marker that ends a list early if it comes between two items."""


def in_lists(items: Iterable[T | tuple[()]]) -> Iterator[list[T]]:
    """Yields lists of at most `ROWS_PER_BLOCK` items. `CUT` ends a list early. Raises errors after the last list."""
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
    """Opens, reads and parses an input in a thread, one block at a time.

    Closing never waits for the thread. A pipe, a network drive or a database may never respond, and the program must
    still be able to close the reader and exit.
    """

    def __init__(self) -> None:
        self._blocks = self._read()
        self._step: Future[Block[L] | None] | None = None
        self._lock = threading.Lock()  # never held while the input is read
        self._at_work = False
        self._closed = False
        self._finished = False

    @abc.abstractmethod
    def _read(self) -> Generator[Block[L], None, None]:
        """Yields the rows on demand. Closing the generator releases the input."""

    @property
    def fraction_read(self) -> float | None:
        """The share of the input that was read, or None if its size is unknown, as for a pipe."""
        return 1.0 if self._finished else super().fraction_read

    async def read_block(self) -> Block[L] | None:
        """Returns the next rows of the input. After a cancelled call, returns the rows that the cancelled call would
        have returned.
        """
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
        """Releases the input without waiting for the thread. If a read is still running, the thread releases the input
        afterwards.
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
        except Exception as error:  # noqa: BLE001 - raised where the step is awaited
            failure = error
        except BaseException as error:  # noqa: BLE001 - native libraries raise errors outside the class Exception
            failure = InvalidInput(f"reading failed: {type(error).__name__}")
        try:
            with self._lock:
                self._at_work = False
                self._finished = self._finished or block is None
                if self._closed:
                    with contextlib.suppress(Exception):  # no caller is left to handle it
                        self._blocks.close()
        finally:
            if failure is not None:
                step.set_exception(failure)
            else:
                step.set_result(block)
