"""Exit statuses, and how errors are said."""

import contextlib
import datetime
import errno
import logging
import os
import sys
from collections.abc import Iterator
from typing import Final

from rich.console import Console

from socialapi.errors import ApiError, BulkError, ConfigurationError, InvalidInput, SocialApiError
from socialapi.problems import Problem, ServiceError

DONE: Final = 0
SOME_REJECTED: Final = 1
USAGE: Final = 2
SERVICE: Final = 3
INTERRUPTED: Final = 130

EXPECTED: Final = (SocialApiError, OSError)
"""What can go wrong without being a bug: an OSError is about an output, since inputs have their own errors."""


def status_of(problem: BaseException) -> int:
    """2 for what the user can correct here, 3 for what the service or the network did."""
    if isinstance(problem, BulkError) and problem.__cause__ is not None:
        return status_of(problem.__cause__)
    is_ours = isinstance(problem, SocialApiError) and not isinstance(problem, InvalidInput | ConfigurationError)
    return SERVICE if is_ours else USAGE


def sentence(problem: BaseException) -> str:
    """What is said about it."""
    if isinstance(problem, OSError):
        where = f"{problem.filename}" if problem.filename else "the output"
        return f"{where} cannot be written: {problem.strerror or type(problem).__name__}"
    if isinstance(problem, ApiError | BulkError):
        return printable(str(problem))  # the service's words, which could move the cursor or make up another line
    return str(problem)


def words_of(error: Problem | ServiceError) -> str:
    """What the service says in one of the errors of an answer; empty if it has no words for it."""
    if isinstance(error, ServiceError):
        return error.message or ""
    return error.detail or error.title or error.type


def printable(text: str) -> str:
    """The text on one line, with a blank in place of every control character."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def say(sentence: str) -> None:
    """A sentence on standard error, under the program's name."""
    print(f"socialapi: {sentence}", file=sys.stderr)


class _Saying(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        say(printable(record.getMessage() + (f" ({kind.__name__})" if kind is not None else "")))


@contextlib.contextmanager
def saying_warnings() -> Iterator[None]:
    """What the package logs as a warning or worse is said like everything else, for as long as the block lasts."""
    handler = _Saying(logging.WARNING)
    logger = logging.getLogger("socialapi")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class Output(Console):
    """A console that says when nobody reads it any more, rather than ending the program by itself."""

    def on_broken_pipe(self) -> None:
        """Standard output was closed by who read it."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def moment(value: datetime.datetime, *, seconds: bool = True) -> str:
    """A time as it is printed: in UTC, and saying so."""
    return f"{value.astimezone(datetime.UTC):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}}Z"
