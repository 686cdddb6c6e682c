"""Standard output for tables and lines."""

import errno
import os

from rich.console import Console


class Output(Console):
    """A console that says when nobody reads it any more, rather than ending the program by itself."""

    def on_broken_pipe(self) -> None:
        """Standard output was closed by who read it."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
