"""The command line: `socialapi`, or `python -m socialapi`."""

import gc
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

__all__ = ["main"]

GC_THRESHOLDS: Final = (50_000, 20, 100)
"""The thresholds of the garbage collector in a process of the command line.

A job makes few reference cycles, so there is almost nothing to collect. With Python's defaults, the collector takes a
tenth of the time of a CSV upload. A process that only imports the package keeps Python's defaults.
"""


def main() -> NoReturn:
    """Runs the command line and exits with its status."""
    gc.set_threshold(*GC_THRESHOLDS)
    gc.freeze()
    gc.disable()  # during the imports, which leave no garbage; `call` enables the collector again
    # A supervisor's SIGTERM is handled like Ctrl-C: the command ends cleanly and prints its report so far. The handler
    # is set before the imports, because process 1 of a container gets no signal without a handler.
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        from socialapi.cli.app import main as run
    except KeyboardInterrupt:  # during the imports, which take a third of a second
        sys.exit(130)
    run()


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # the shell sets this for background commands
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)
