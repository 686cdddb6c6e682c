"""Exit statuses, and how errors are said."""

import sys
from typing import Final

from socialapi.errors import BulkError, ConfigurationError, InvalidInput, SocialApiError

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
    return str(problem)


def say(sentence: str) -> None:
    """A sentence on standard error, under the program's name."""
    print(f"socialapi: {sentence}", file=sys.stderr)
