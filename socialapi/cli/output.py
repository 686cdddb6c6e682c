"""Exit statuses, and messages on standard error."""

import contextlib
import datetime
import errno
import io
import logging
import os
import re
import select
import shlex
import stat
import sys
import textwrap
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TextIO

from socialapi.errors import ApiError, BulkError, ConfigurationError, InvalidInput, SocialApiError, Unauthorized
from socialapi.internal.logs import LOGGER, ToStandardError, add_handler
from socialapi.internal.logs import printable as printable  # noqa: PLC0414  # commands use it from here
from socialapi.internal.private_files import open_in_place, replacement

if TYPE_CHECKING:
    from socialapi.problems import Problem, ServiceError

DONE: Final = 0
SOME_REJECTED: Final = 1
USAGE: Final = 2
SERVICE: Final = 3
INTERRUPTED: Final = 130
READER_LEFT: Final = 141
"""The status that a shell reports for a program ended by SIGPIPE: 128 + 13."""

_FOR_PROGRAMS: Final = re.compile(r"([Pp])ass \S+ or set\b")
"""Matches advice in messages that does not apply on the command line."""
OPTIONS: Final[dict[str, str]] = {}
"""The options and arguments of the running command, by parameter name."""
_ALIASES: Final[Mapping[str, str]] = {
    "columns": "column",
    "constants": "set_",
    "header": "no_header",
    "account_id": "account",
    "custom_audience_id": "audience",
    "do_not_reach_list_id": "list_",
    "product_catalog_id": "catalog",
    "item_group_key": "group",
    "user_id": "user",
    "start_time": "start",
    "end_time": "end",
    "negative_keywords": "negative",
    "Fields.post": "fields",
    "Fields.expansions": "expansions",
    "add": "rules",
}
"""The command-line options whose names differ from the library's parameters."""
_CALL: Final = re.compile(
    r"(?<![\w./'\"-])(?P<name>[a-z]+(?:_[a-z]+)*)="
    r'(?:\{"(?P<key>[^"]*)": (?:"?(?P<cell>[^"}[]*)"?|\[(?P<cells>[^]]*)\])\}|"?(?P<value>[\w…]+(?:\.\d+)?)"?)'
)
"""Matches an argument as written in Python: `header_line=3`, or `columns={"email": "Contact"}`."""
_PARAMETER: Final = re.compile(
    rf"{_CALL.pattern}|(?<![\w./'\"-])(?<!, )[a-z]+(?:_[a-z]+)+(?![\w'\",])"
    r"|(?:^|(?<=^  - ))(?:Fields\.)?[a-z]+(?=[\[.:]| (?:must|needs|is|are|does|cannot|has|takes)\b)",
    re.MULTILINE,
)
"""Also matches a name at the beginning of a line, and a name with an underscore. Names with an underscore in lists do
not match, because lists contain column names.
"""
CHECK_CREDENTIALS: Final = (
    "; `socialapi auth status` shows which credentials are used: check their SOCIALAPI_* variables, or sign in again"
)

EXPECTED: Final = (SocialApiError, OSError)
"""Errors that are not bugs. An OSError concerns an output, because unreadable inputs raise InvalidInput."""


def status_of(problem: BaseException) -> int:
    """Returns 2 for a user's error, 3 for an error of the service or network, and 141 if the reader of an output has
    closed it.
    """
    if isinstance(problem, BrokenPipeError):
        return READER_LEFT
    if isinstance(problem, BulkError) and problem.__cause__ is not None:
        return status_of(problem.__cause__)
    is_ours = isinstance(problem, SocialApiError) and not isinstance(problem, InvalidInput | ConfigurationError)
    return SERVICE if is_ours else USAGE


def sentence(problem: BaseException) -> str:
    """Returns the message for an error."""
    if isinstance(problem, OSError):
        where = f"{problem.filename}" if problem.filename else "the output"
        return f"{where} cannot be written: {problem.strerror or 'the system gives no reason'}"
    if isinstance(problem, InvalidInput) and problem.broken_rules:
        return in_options(str(problem))
    if isinstance(problem, ApiError | BulkError):
        refused = problem.__cause__ if isinstance(problem, BulkError) else problem
        hint = CHECK_CREDENTIALS if isinstance(refused, Unauthorized) else ""
        # The report of the job contains the counts.
        says = in_options(problem.message) if isinstance(problem, BulkError) else problem
        return printable(f"{says}{hint}")  # the service's text could move the cursor or add a line
    says = _FOR_PROGRAMS.sub(lambda found: "Set" if found[1] == "P" else "set", str(problem))
    return in_options(says, calls_only=isinstance(problem, InvalidInput))  # an InvalidInput names files and columns


def in_options(text: str, *, calls_only: bool = False) -> str:
    """Returns a message of the library with its parameters replaced by the options of the command.

    With `calls_only`, names outside of calls stay unchanged, because they may be column names.
    """
    return (_CALL if calls_only else _PARAMETER).sub(_option, text)


def _option(found: re.Match[str]) -> str:
    name, value = found["name"] or found[0], found["value"]
    option = OPTIONS.get(name) or OPTIONS.get(_ALIASES.get(name, ""))
    if option is None:
        return found[0]
    if found["key"] is not None:
        cells = [found["cell"]] if found["cells"] is None else re.findall('"([^"]*)"', found["cells"])
        pairs = [f"{found['key']}={cell}" for cell in cells]
        return " ".join(f"{option} {shlex.quote(pair)}" for pair in pairs)
    return option if value in (None, "…", "True", "False") else f"{option} {value}"


def words_of(error: "Problem | ServiceError") -> str:
    """Returns the service's message for an error in a response, or an empty string."""
    from socialapi.problems import ServiceError

    if isinstance(error, ServiceError):
        return error.message or ""
    return error.detail or error.title or error.type


def listed(names: Sequence[str], *, most: int = 20) -> str:
    """Returns the first names on one line, and the number of further names."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def say(sentence: str) -> None:
    """Prints a message to standard error, after the name of the program, unless standard error is closed."""
    if sys.stderr is not None:  # it is None if the parent closed it
        with contextlib.suppress(BrokenPipeError):
            print(folded(f"socialapi: {sentence}", sys.stderr), file=sys.stderr)


LEAST_FOLDED: Final = 60
"""The narrowest terminal for which text is wrapped. Narrower lines fit too few words."""
_COMMAND: Final = re.compile("`[^`]*`|(?<=run )socialapi [^;]*$")


def folded(text: str, stream: IO[str], *, indent: str = "  ") -> str:
    """Returns text wrapped to fit the terminal. Breaks lines between words, but never within a command, which people
    copy. A line with a word that does not fit stays unchanged, as does all text if the stream is not a terminal.
    """
    if not stream.isatty():
        return text
    import shutil

    width, lines = shutil.get_terminal_size().columns, list[str]()
    if width < LEAST_FOLDED:
        return text
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    for line in text.splitlines():
        wrapper.subsequent_indent = "    " if line.startswith(" ") else indent
        whole = _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), line)
        is_foldable = max(map(len, whole.split(" "))) < width - 4
        lines += wrapper.wrap(whole) if is_foldable else [line]
    return "\n".join(lines).replace("\0", " ")


def print_text(text: str) -> None:
    """Prints text to standard output like `print_line`, with lines that fit the terminal."""
    print_line(folded(printable(text), standard_output()))


def print_line(text: str) -> None:
    """Prints a line to standard output immediately. Raises OSError if standard output is closed."""
    print(text, file=standard_output(), flush=True)


def print_pairs(pairs: Iterable[tuple[str, str]], *, are_numbers: bool = False) -> None:
    """Prints a name and a value on each line, aligned. Numbers are aligned to the right."""
    lines = [(printable(name), printable(value)) for name, value in pairs]
    width = max((len(name) for name, _ in lines), default=0)
    digits = max((len(value) for _, value in lines), default=0) if are_numbers else 0
    for name, value in lines:
        print_line(f"{name:<{width}}  {value:>{digits}}")


def standard_output() -> TextIO:
    """Returns standard output. Raises OSError if the parent has closed it."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    return sys.stdout


def say_problem(problem: BaseException) -> None:
    """Prints the message for an error. Like other programs, prints nothing if the reader of an output has closed it."""
    if not isinstance(problem, BrokenPipeError):
        say(sentence(problem))


def end(status: int) -> int:
    """Flushes standard output and standard error. If Python did this at exit, it would report a failure with its own
    message. Returns the exit status of the program.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # it is None if the parent closed it
                stream.flush()
        except OSError as problem:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout and status in (DONE, SOME_REJECTED):
                say_problem(problem)
                status = status_of(problem)
    return status


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yields a file, readable only by its owner, that replaces the file at the path when the block ends.

    If the block fails, the earlier file is kept. A path that `is_written_through` is never replaced. Links are not
    followed. Raises OSError with the path if the file cannot be written.
    """
    try:
        with open_in_place(path) or replacement(path) as file:
            yield file
    except OSError as problem:
        problem.filename = str(path)  # instead of the temporary file's name, or no name
        raise


@contextlib.asynccontextmanager
async def while_read() -> AsyncIterator[None]:
    """Ends the block with BrokenPipeError when the reader closes standard output.

    Otherwise, the command would notice only when it prints the next event, perhaps hours later.
    """
    import asyncio  # importing it takes a quarter of the time of `--version`

    task, loop, has_left = asyncio.current_task(), asyncio.get_running_loop(), False
    pipe = _pipe_of(sys.stdout)
    if pipe is None or task is None:
        yield
        return

    def look() -> None:
        nonlocal has_left
        loop.remove_reader(pipe)
        asking = select.poll()
        asking.register(pipe, 0)
        if any(events & (select.POLLERR | select.POLLHUP) for _, events in asking.poll(0)):
            has_left = True
            task.cancel()

    with contextlib.suppress(NotImplementedError):  # the Windows event loop watches only sockets
        loop.add_reader(pipe, look)
    try:
        yield
    except asyncio.CancelledError:
        if has_left and task.cancelling() == 1:  # not interrupted as well
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
        raise
    finally:
        with contextlib.suppress(NotImplementedError):
            loop.remove_reader(pipe)
        if has_left:
            task.uncancel()


def _pipe_of(stream: TextIO | None) -> int | None:
    try:
        descriptor = -1 if stream is None else stream.fileno()
        return descriptor if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None
    except (OSError, io.UnsupportedOperation):
        return None


class _Saying(ToStandardError):
    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        say(printable(record.getMessage() + (f" ({kind.__name__})" if kind is not None else "")))


@contextlib.contextmanager
def saying_logs(level: int = logging.WARNING) -> Iterator[None]:
    """Prints log records of this level or above while the block runs. A level above WARNING also hides the progress
    display.
    """
    handler, before = _Saying(), LOGGER.level
    add_handler(handler, level)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(before)


def is_quiet() -> bool:
    """Returns whether only errors are shown (`-q`)."""
    return any(isinstance(each, _Saying) and each.level > logging.WARNING for each in LOGGER.handlers)


def iso_moment(value: datetime.datetime) -> str:
    """Returns a time for programs, in UTC and ISO 8601: `2025-01-06T09:00:00Z`."""
    return f"{value.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


def moment(value: datetime.datetime, *, seconds: bool = True) -> str:
    """Returns a time in UTC, with a suffix for UTC."""
    return f"{value.astimezone(datetime.UTC):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}}Z"
