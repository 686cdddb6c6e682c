"""Logs to standard error: `SOCIALAPI_LOG=debug|info|warning|error|critical`."""

import contextlib
import logging
import sys
from collections.abc import Mapping
from typing import Final

from socialapi.errors import ConfigurationError

LOGGER: Final = logging.getLogger("socialapi")
LEVELS: Final = ("debug", "info", "warning", "error", "critical")
VARIABLE: Final = "SOCIALAPI_LOG"


def printable(text: str) -> str:
    """Returns the text on one line, with spaces in place of control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


class ToStandardError(logging.Handler):
    """A handler that prints records to the current standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Prints the record. A closed standard error must not stop the program."""
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"{self.format(record)}\n")


def level_of(environ: Mapping[str, str]) -> int | None:
    """Returns the log level that the environment sets; None if it sets none. Accepts the names of Python's logging,
    including `warn` and `fatal`. Raises ConfigurationError for an unknown name.
    """
    wanted = environ.get(VARIABLE, "").strip().upper()
    level = logging.getLevelNamesMapping().get(wanted) if wanted else None
    if wanted and not level:
        raise ConfigurationError(f"{VARIABLE} must be one of {', '.join(LEVELS)}")
    return level


def add_handler(handler: logging.Handler, level: int) -> None:
    """Adds a handler for records of this level and above, and lowers the logger's level if necessary."""
    handler.setLevel(level)
    if not LOGGER.isEnabledFor(level):
        LOGGER.setLevel(level)
    LOGGER.addHandler(handler)


def log_as_asked(environ: Mapping[str, str]) -> None:
    """Adds the handler if the environment sets a log level, once per process."""
    level = level_of(environ)
    if level is not None and not any(isinstance(each, ToStandardError) for each in LOGGER.handlers):
        handler = ToStandardError()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        add_handler(handler, level)
