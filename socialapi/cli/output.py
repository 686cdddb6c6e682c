"""Exit statuses, and messages on standard error."""

import contextlib
import datetime
import errno
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console

from socialapi.errors import ApiError, BulkError, ConfigurationError, InvalidInput, SocialApiError, Unauthorized
from socialapi.problems import Problem, ServiceError

DONE: Final = 0
SOME_REJECTED: Final = 1
USAGE: Final = 2
SERVICE: Final = 3
INTERRUPTED: Final = 130

CHECK_CREDENTIALS: Final = (
    "; `socialapi auth status` shows which credentials are used: check their SOCIALAPI_* variables, or sign in again"
)

EXPECTED: Final = (SocialApiError, OSError)
"""Errors that are no bugs. An OSError concerns an output, because inputs have errors of
their own.
"""


def status_of(problem: BaseException) -> int:
    """Returns 2 for what the user can correct, and 3 for an error of the service or the network."""
    if isinstance(problem, BulkError) and problem.__cause__ is not None:
        return status_of(problem.__cause__)
    is_ours = isinstance(problem, SocialApiError) and not isinstance(problem, InvalidInput | ConfigurationError)
    return SERVICE if is_ours else USAGE


def sentence(problem: BaseException) -> str:
    """Returns the message for an error."""
    if isinstance(problem, OSError):
        where = f"{problem.filename}" if problem.filename else "the output"
        return f"{where} cannot be written: {problem.strerror or type(problem).__name__}"
    if isinstance(problem, ApiError | BulkError):
        refused = problem.__cause__ if isinstance(problem, BulkError) else problem
        hint = CHECK_CREDENTIALS if isinstance(refused, Unauthorized) else ""
        return printable(f"{problem}{hint}")  # the service's text could move the cursor or add a line
    return str(problem)


def words_of(error: Problem | ServiceError) -> str:
    """Returns the service's text for an error of an answer; empty if it has none."""
    if isinstance(error, ServiceError):
        return error.message or ""
    return error.detail or error.title or error.type


def printable(text: str) -> str:
    """Returns the text on one line, with blanks in place of control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def listed(names: Sequence[str], *, most: int = 20) -> str:
    """Returns the names on one line, the first ones of many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def say(sentence: str) -> None:
    """Prints a message on standard error, under the name of the program."""
    print(f"socialapi: {sentence}", file=sys.stderr)


class _Saying(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        say(printable(record.getMessage() + (f" ({kind.__name__})" if kind is not None else "")))


@contextlib.contextmanager
def saying_warnings() -> Iterator[None]:
    """Prints warnings and errors that the package logs like other messages, while the block
    runs.
    """
    handler = _Saying(logging.WARNING)
    logger = logging.getLogger("socialapi")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class Output(Console):
    """A console that raises an error when its output is closed, instead of ending the program."""

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError, because the reader of standard output has closed it."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def moment(value: datetime.datetime, *, seconds: bool = True) -> str:
    """Returns a time in UTC, marked as such."""
    return f"{value.astimezone(datetime.UTC):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}}Z"
