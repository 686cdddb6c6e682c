"""The command line: `socialapi`, or `python -m socialapi`."""

import gc
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

__all__ = ["main"]

GC_THRESHOLDS: Final = (50_000, 20, 100)
"""When the garbage collector runs in a process of the command line.

A job makes few objects that refer to one another, so there is next to nothing to collect. With
Python's own thresholds, searching for it takes a tenth of an upload from CSV. Only a process that
is the command line's own may be set so, never one that merely imports the package.
"""


def main() -> NoReturn:
    """Runs the command that the arguments name, and exits with its status."""
    gc.set_threshold(*GC_THRESHOLDS)
    gc.freeze()
    gc.disable()  # during the imports, which leave no garbage: `call` enables it
    # SIGTERM of a supervisor is handled like Ctrl-C: the command ends cleanly, with a report so
    # far. Before the imports: process 1 of a container gets no signal that it does not handle.
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        from socialapi.cli.app import main as run
    except KeyboardInterrupt:  # during the third of a second that the imports take
        sys.exit(130)
    run()


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # by the shell, for a command in the background
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)
