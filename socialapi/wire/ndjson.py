"""Newline-delimited JSON: splits the chunks of a connection into lines."""

import itertools
from typing import Final

import orjson

from socialapi.errors import DecodeError
from socialapi.wire.decode import decode_json

MAX_LINES_AT_ONCE: Final = 2_000
"""The maximum number of lines split in one step, so that a chunk full of keep-alives does not block for long."""


class LineFramer:
    """Splits a byte stream into lines and keeps an incomplete last line until the rest arrives.

    `has_more` is True if a chunk had more lines than one step splits; `feed(b"")` then returns the next lines.
    """

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._is_too_long = False
        self._uncut = b""

    @property
    def has_more(self) -> bool:
        """Whether some bytes have not been split into lines yet."""
        return bool(self._uncut)

    @property
    def rest(self) -> bytes:
        """The bytes after the last newline: the start of a line, or nothing."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the lines that the chunk completes, without line endings; an empty line is a keep-alive.

        Raises DecodeError for a line larger than the limit, even before it is complete. If there
        are lines before it, returns them first, and the next call raises.
        """
        self.check()
        if self._uncut:
            chunk, self._uncut = self._uncut + chunk, b""
        lines = chunk.split(b"\n", MAX_LINES_AT_ONCE)
        if len(lines) > MAX_LINES_AT_ONCE:
            self._uncut, lines[-1] = lines[-1], b""
        self._size += len(lines[0])
        if self._size > self._max_line_bytes or (
            len(chunk) > self._max_line_bytes and max(map(len, lines)) > self._max_line_bytes
        ):
            self._complete(lines)
            found = list(itertools.takewhile(lambda line: len(line) <= self._max_line_bytes, lines))
            self._parts, self._is_too_long = [], True
            if not found:
                self.check()
            return _without_returns(found)
        if len(lines) == 1:
            self._parts.append(chunk)
            return []
        self._complete(lines)
        rest = lines.pop()
        self._parts = [rest] if rest else []
        self._size = len(rest)
        return _without_returns(lines)

    def check(self) -> None:
        """Raises DecodeError if a line was larger than the limit."""
        if self._is_too_long:
            raise DecodeError(
                "", f"a line is larger than the {self._max_line_bytes:,} bytes that max_line_bytes allows"
            )

    def _complete(self, lines: list[bytes]) -> None:
        """Prepends the incomplete line to the first one."""
        if self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)


def _without_returns(lines: list[bytes]) -> list[bytes]:
    return [line.removesuffix(b"\r") for line in lines]


def is_whole(line: bytes) -> bool:
    """Returns whether a line without a line ending is complete: a truncated JSON object is not valid."""
    if not line.rstrip().endswith(b"}"):
        return False
    try:
        decode_json(line)
    except orjson.JSONDecodeError:
        return False
    return True
