"""How a streaming connection ends, and what a fault has it go through before."""

from collections.abc import Awaitable, Callable
from typing import Any

import attrs


@attrs.frozen
class Ending:
    """Why and how a stream ends: a `last_line` behind what waits (if `flush`), or in the middle of a line."""

    reason: str
    last_line: bytes | None = None
    flush: bool = False
    abruptly: bool = False
    patience: float | None = None
    """How long its last bytes may take, in real time; None for the usual time."""


@attrs.frozen
class Script:
    """What is to go wrong on a stream, and behind how many lines."""

    play: Callable[[Any], Awaitable[None]]
    """Is given the stream."""
    after_lines: int = 0
