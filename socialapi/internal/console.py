"""Consoles for people, on which texts are shown as they are. Importing rich takes a tenth of a small job's time."""

import errno
import os

from rich.console import Console


class Output(Console):
    """A console that raises an error when its output is closed, instead of ending the program, and
    shows texts as they are: `:id:` in the id of a product is no emoji. Only a terminal gets colours,
    and none does where NO_COLOR is set.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        has_colours = not os.environ.get("NO_COLOR")
        super().__init__(stderr=stderr, emoji=False, color_system="auto" if has_colours else None)

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError, because the reader of standard output has closed it."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
