"""Consoles that print strings unchanged. Import this module only when needed: importing rich takes a tenth of a small
job's time.
"""

import errno
import os

from rich.console import Console


class Output(Console):
    """A console that raises an error when its output is closed, instead of ending the program, and prints strings
    unchanged: `:id:` in the id of a product does not become an emoji. Only terminals get colors, unless NO_COLOR is
    set.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        has_colors = not os.environ.get("NO_COLOR")
        super().__init__(stderr=stderr, emoji=False, color_system="auto" if has_colors else None)

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError, because the reader of standard output has closed it."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
