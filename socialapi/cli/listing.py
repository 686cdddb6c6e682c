"""Options of lists, and functions that print the items of a collection as they arrive."""

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import attrs
from cyclopts import Parameter

from socialapi.cli import output
from socialapi.cli.formats import ENDINGS, Format, ListKind, Writer, writing
from socialapi.cli.options import dated_path, whole_number
from socialapi.cli.output import printable
from socialapi.errors import ApiError, ConfigurationError, InvalidInput, SocialApiError
from socialapi.internal.private_files import is_written_through
from socialapi.models.pages import Page
from socialapi.problems import InvalidRequest, ServiceError
from socialapi.routes.route import FAMILIES
from socialapi.session.pager import Pager
from socialapi.wire.paging import Position

T = TypeVar("T")

AsJson = Annotated[bool, Parameter(help="Print JSON, one object per line.")]
Limit = Annotated[int | None, whole_number(help="Maximum number of items to print; by default all.", least=1)]


def is_position(kind: Any, text: str | None) -> None:
    """Raises ValueError if a string is not a position. The parser adds the name of the option."""
    if text is None:
        return
    with contextlib.suppress(InvalidInput):
        Position.read(text)
        return
    raise ValueError("It is not a position that an earlier run printed.")


_PAGE_TOKENS: Final = frozenset(family.page_token_parameter for family in FAMILIES.values())
Start = Annotated[
    str | None, Parameter(help="Position from which to continue, as an earlier run printed it.", validator=is_position)
]


def names_in(text: str | None) -> list[str]:
    """Returns the names in a comma-separated option, without duplicates."""
    return list(dict.fromkeys(name for part in (text or "").split(",") if (name := part.strip())))


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ListFlags:
    """The options that every list has."""

    output: Annotated[
        Format | None,
        Parameter(
            help="table (in a pipe or file: separated by tabs and not truncated), json (one array), jsonl (one object per "
            "line), csv or parquet. By default, the format for the extension of --output-file (.json, .jsonl, .ndjson, .csv, "
            ".parquet; .tsv and .txt are tables), or else table."
        ),
    ] = None
    output_file: Annotated[
        Path | None,
        Parameter(
            help="Write to this file instead; only you can read it. An earlier file is kept if the command fails. "
            "%Y-%m-%d in the name becomes the date.",
            converter=dated_path,
        ),
    ] = None
    fields: Annotated[
        str | None, Parameter(help="Columns of a table or CSV, such as id,name; an object selects all of its fields.")
    ] = None
    escape_formulas: Annotated[
        bool,
        Parameter(
            help="Put an apostrophe before CSV cells that begin with =, +, -, @, a tab or a carriage return: a spreadsheet "
            "runs them as formulas.",
        ),
    ] = False
    json: Annotated[bool, Parameter(help="The same as --output jsonl.")] = False

    def format(self) -> Format:
        """Returns the format. Raises InvalidInput for conflicting options."""
        if self.json and self.output not in (None, "jsonl"):
            raise InvalidInput(
                f"--json is the same as --output jsonl, and cannot be combined with --output {self.output}"
            )
        found: Format = "jsonl" if self.json else self.output or self._format_by_name()
        if self.escape_formulas and found != "csv":
            raise InvalidInput("--escape-formulas works only with --output csv")
        if self.chosen() and found not in ("csv", "table"):
            raise InvalidInput("--fields works only with --output table or csv")
        return found

    def chosen(self) -> list[str]:
        """Returns the selected columns of the list, or an empty list for all columns."""
        return names_in(self.fields)

    def _format_by_name(self) -> Format:
        """Returns the format for the extension of the file name; a table if there is none."""
        ending = "" if self.output_file is None else self.output_file.suffix.lower()
        if not ending:
            return "table"
        if ending not in ENDINGS:
            raise InvalidInput(
                f"--output-file: unknown extension {ending} (known: {', '.join(ENDINGS)}): choose a format with --output"
            )
        return ENDINGS[ending]

    def writing(self, kind: ListKind[T]) -> contextlib.AbstractContextManager[Writer[T]]:
        """Returns a context manager that yields the writer of a list."""
        kind = attrs.evolve(kind, fields=self.chosen() or kind.fields)
        return writing(kind, self.format(), self.output_file, escape_formulas=self.escape_formulas)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class PagedFlags(ListFlags):
    """The options of a list that is read in pages."""

    limit: Limit = None
    start: Start = None

    def page_size(self, *, least: int, most: int) -> int:
        """Returns the page size within these bounds that needs the fewest requests."""
        return most if self.limit is None else min(max(self.limit, least), most)

    def writing(self, kind: ListKind[T]) -> contextlib.AbstractContextManager[Writer[T]]:
        """Returns a context manager that yields the writer of a list. Raises InvalidInput if it would replace the first
        part of the list.
        """
        path = self.output_file
        if self.start is not None and path is not None and path.exists() and not is_written_through(path):
            raise InvalidInput(f"--start writes the rest of the list, but {path} already exists: name another file")
        return super().writing(kind)


ALL: Final = ListFlags()
ALL_PAGES: Final = PagedFlags()


def print_items(items: Iterable[T], kind: ListKind[T], flags: ListFlags, *, if_none: str = "") -> None:
    """Prints items, or the message `if_none` to standard error if there are none."""
    count = 0
    with flags.writing(kind) as writer:
        for item in items:
            writer.add(item)
            count += 1
    _say_if_none(count, flags, if_none)


async def print_pages(
    pager: Pager[Any],
    kind: ListKind[T],
    flags: PagedFlags,
    *,
    join: Callable[[Any, Page[Any]], T] = lambda item, _: item,
    if_none: str = "",
) -> None:
    """Prints the items as their pages arrive, or `if_none` if there are none. `join` returns the value to print for an
    item and its page. After an error, prints how to continue.
    """
    walk = _Walk(pager, kind.name)
    try:
        with flags.writing(kind) as writer:
            await walk.write(writer, join, flags.limit)
    except (asyncio.CancelledError, SocialApiError) as problem:
        if isinstance(problem, InvalidInput | ConfigurationError) and not walk.count:
            raise
        if flags.start is not None and not walk.count and _is_about_the_page(problem):
            raise InvalidInput(f"--start is not a position in this list: {output.sentence(problem)}") from None
        if flags.output_file is None and writer.is_readable_in_part and (walk.count or flags.start is not None):
            walk.say_position()
        raise
    if not walk.is_over:
        walk.say_position(flags.output_file)
    _say_if_none(walk.count, flags, if_none)


def _say_if_none(count: int, flags: ListFlags, sentence: str) -> None:
    if sentence and not count and flags.format() == "table":
        output.say(sentence)


class _Walk:
    """The progress through a collection: the number of written items, and the position after them."""

    def __init__(self, pager: Pager[Any], name: str) -> None:
        self._pager = pager
        self._name = name
        self._position = pager.position
        self.count = 0
        self.is_over = True

    async def write(self, writer: Writer[T], join: Callable[[Any, Page[Any]], T], limit: int | None) -> None:
        """Writes the items, at most `limit`, and prints the service's remarks on each page to standard error."""
        seen: Page[Any] | None = None
        async with contextlib.aclosing(self._pager.with_pages()) as walk:
            async for item, page in walk:
                if page is not seen:
                    seen = page
                    for error in page.errors:
                        code = f"error {error.code}" if isinstance(error, ServiceError) else ""
                        output.say(printable(output.words_of(error) or code))
                writer.add(join(item, page))
                is_last = item is page.data[-1]
                self.count += 1
                if is_last or self.count == limit:
                    writer.flush()
                    self._position = self._pager.position
                if self.count == limit:
                    self.is_over = page.next_token is None and is_last
                    break

    def say_position(self, file: Path | None = None) -> None:
        """Prints how to continue after the last item that was written to standard output or the file."""
        what = self._name if self.count == 1 else f"{self._name}s"
        where = "" if file is None or is_written_through(file) else ", into another file"
        output.say(f"stopped after {self.count:,} {what}; continue with --start {shlex.quote(self._position)}{where}")


def _is_about_the_page(problem: BaseException) -> bool:
    if not isinstance(problem, ApiError):
        return False
    named = {error.parameter for error in problem.errors}
    for each in problem.problems:
        named |= (
            {name for error in each.errors for name in error.parameters} if isinstance(each, InvalidRequest) else set()
        )
    return not named.isdisjoint(_PAGE_TOKENS)
