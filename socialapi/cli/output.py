"""Standard output for tables and lines."""

import datetime
import errno
import os

from rich.console import Console


class Output(Console):
    """A console that says when nobody reads it any more, rather than ending the program by itself."""

    def on_broken_pipe(self) -> None:
        """Standard output was closed by who read it."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def moment(value: datetime.datetime, *, seconds: bool = True) -> str:
    """A time as it is printed: in UTC, and saying so."""
    return f"{value.astimezone(datetime.UTC):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}}Z"
