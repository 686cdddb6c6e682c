"""Exit statuses, and how errors are said."""

import sys
from typing import Final

from socialapi.errors import BulkError, ConfigurationError, InvalidInput, SocialApiError

DONE: Final = 0
SOME_REJECTED: Final = 1
USAGE: Final = 2
SERVICE: Final = 3
INTERRUPTED: Final = 130

EXPECTED: Final = (SocialApiError, BrokenPipeError)
"""What can go wrong without being a bug."""


def status_of(problem: BaseException) -> int:
    """2 for what the user can correct here, 3 for what the service or the network did."""
    if isinstance(problem, BulkError) and problem.__cause__ is not None:
        return status_of(problem.__cause__)
    return SERVICE if isinstance(problem, SocialApiError) and not _is_usage(problem) else USAGE


def _is_usage(problem: SocialApiError) -> bool:
    return isinstance(problem, InvalidInput | ConfigurationError)


def say(sentence: str) -> None:
    """A sentence on standard error, under the program's name."""
    print(f"socialapi: {sentence}", file=sys.stderr)
