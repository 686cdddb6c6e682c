"""Lines out of the chunks that a connection happens to deliver."""

import orjson

from socialapi.errors import DecodeError


class LineFramer:
    """Cuts a stream of bytes at its newlines. What is behind the last newline is kept until the rest of it arrives."""

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def rest(self) -> bytes:
        """What is behind the last newline: the beginning of a line, or nothing."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without what ends them; an empty one is a keep-alive.

        Raises DecodeError for a line beyond the bound, however much of it has arrived.
        """
        lines = chunk.split(b"\n")
        self._size += len(lines[0])
        if self._size > self._max_line_bytes or (len(chunk) > self._max_line_bytes and self._is_too_long(lines)):
            raise DecodeError(
                "", f"a line is larger than the {self._max_line_bytes:,} bytes that max_line_bytes allows"
            )
        if len(lines) == 1:
            self._parts.append(chunk)
            return []
        if self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
        rest = lines.pop()
        self._parts = [rest] if rest else []
        self._size = len(rest)
        return [line[:-1] if line.endswith(b"\r") else line for line in lines]

    def _is_too_long(self, lines: list[bytes]) -> bool:
        return max(map(len, lines)) > self._max_line_bytes


def is_whole(line: bytes) -> bool:
    """Whether a line of which no end has arrived is all there: an object of JSON that ends early is none."""
    if not line.rstrip().endswith(b"}"):
        return False
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
