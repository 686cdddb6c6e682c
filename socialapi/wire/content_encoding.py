"""Decompresses bodies: gzip in one or several members, and deflate with or without its header."""

import zlib
from typing import Final

ENCODINGS: Final = "gzip, deflate"
"""What is asked for (`Accept-Encoding`)."""

_GZIP: Final = frozenset({"gzip", "x-gzip"})
_GZIP_MAGIC: Final = b"\x1f"
_DEFLATE_METHOD: Final = 8


class BrokenEncoding(Exception):
    """A body is not compressed as its header says."""


class Decompressor:
    """Decompresses one body piece by piece.

    Zeros between and behind the members of a gzip body are padding. Anything else behind a member
    is ignored, as browsers do, but in a stream, of which lines would be lost. A body that ends within
    a member gives what arrived of it.
    """

    def __init__(self, *, is_gzip: bool, is_stream: bool) -> None:
        self._is_stream = is_stream
        self._wbits = 16 + zlib.MAX_WBITS if is_gzip else 0
        self._member = zlib.decompressobj(self._wbits) if is_gzip else None

    @classmethod
    def of(cls, encoding: str | None, *, is_stream: bool = False) -> "Decompressor | None":
        """Returns the decompressor for a `Content-Encoding`, or None if there is nothing to undo, or
        nothing that this can.
        """
        names = {name.strip().lower() for name in (encoding or "").split(",")} - {"", "identity"}
        if len(names) != 1 or not (names <= _GZIP or names == {"deflate"}):
            return None
        return cls(is_gzip=names <= _GZIP, is_stream=is_stream)

    def feed(self, data: bytes, most: int = 0) -> bytes:
        """Returns what the next bytes of the body say, and at most `most` bytes if that is given.

        What is left out is lost, so a body of which more is wanted needs a larger `most`. Raises
        BrokenEncoding.
        """
        if self._member is None and data:
            # Some send what RFC 1951 calls deflate, without the header of RFC 1950 that HTTP wants.
            has_header = data[0] & 0xF == _DEFLATE_METHOD
            self._member = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        pieces = []
        while data and self._member is not None:
            if self._member.eof:
                data = data.lstrip(b"\0") if self._wbits else b""
                if not data or not (data.startswith(_GZIP_MAGIC) or self._is_stream):
                    break
                self._member = zlib.decompressobj(self._wbits)
            pieces.append(self._decompressed(data, most))
            most -= len(pieces[-1]) if most else 0
            if self._member.unconsumed_tail:
                break
            data = self._member.unused_data
        return b"".join(pieces)

    def _decompressed(self, data: bytes, most: int) -> bytes:
        assert self._member is not None
        try:
            return self._member.decompress(data, most)
        except zlib.error:
            pass
        raise BrokenEncoding
