"""Decompresses bodies: gzip in one or several members, and deflate with or without its header."""

import zlib
from typing import Any, Final, Self

from socialapi.errors import quoted

ENCODINGS: Final = "gzip, deflate"
"""The requested encodings (`Accept-Encoding`)."""

_WBITS: Final = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": 0}
_GZIP_MAGIC: Final = b"\x1f"
_DEFLATE_METHOD: Final = 8
_MAX_ENCODINGS: Final = 4
_JSON_STARTS: Final = b"{["
_LINE_STARTS: Final = b"{[ \r\n"


class BrokenEncoding(Exception):
    """A body is not compressed as its header says, or ends too early."""


def encodings_of(header: str | None) -> list[str]:
    """Returns the encodings that a `Content-Encoding` lists, in the order in which they were applied."""
    names = [name.strip().lower() for name in (header or "").split(",")]
    return [name for name in names if name not in ("", "identity")]


def unsupported(header: str | None) -> str:
    """Returns the encodings in a `Content-Encoding` if they are not supported; otherwise an empty string."""
    names = encodings_of(header)
    return "" if len(names) <= _MAX_ENCODINGS and all(name in _WBITS for name in names) else quoted(", ".join(names))


class Decompressor:
    """Decompresses one body piece by piece.

    A body that is not compressed despite its header, as some proxies send it, is returned unchanged. Zeros between and
    after the members of a gzip body are padding. Any other data after a member is ignored, as in browsers. In a stream
    it is rejected, because lines would be lost.
    """

    def __init__(self, encoding: str, *, is_stream: bool, inner: Self | None) -> None:
        self._encoding = encoding
        self._is_stream = is_stream
        self._inner = inner
        self._wbits = _WBITS.get(encoding)
        self._member: Any = None
        self._is_plain = False

    @classmethod
    def of(cls, header: str | None, *, is_stream: bool = False) -> Self | None:
        """Returns the decompressor for a `Content-Encoding`, or None if the body is not compressed or its encoding is
        not supported. A stream's decompressor rejects unsupported encodings when it is fed.
        """
        found = None
        if unread := unsupported(header):
            return cls(unread, is_stream=True, inner=None) if is_stream else None
        for name in encodings_of(header):
            found = cls(name, is_stream=is_stream, inner=found)
        return found

    def feed(self, data: bytes, most: int = 0) -> bytes:
        """Decompresses the next bytes of the body, and returns at most `most` bytes if that is set.

        Discards any bytes beyond `most`. Raises BrokenEncoding.
        """
        if self._member is None and data and not self._is_plain:
            first = data[0]
            if self._wbits is None:
                if first not in _LINE_STARTS:
                    raise BrokenEncoding(f"the answer is encoded as {self._encoding}, which is not supported")
                self._is_plain = True
            elif self._wbits:
                self._is_plain = first != _GZIP_MAGIC[0]
            else:
                # A deflate block of text never starts like JSON.
                self._is_plain = first in _JSON_STARTS
            if not self._is_plain:
                # Some servers send raw deflate (RFC 1951), without the header (RFC 1950) that HTTP requires.
                has_header = first & 0xF == _DEFLATE_METHOD
                self._member = zlib.decompressobj(self._wbits or (zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS))
        found = (data[:most] if most else data) if self._is_plain else self._decompressed(data, most)
        return found if self._inner is None else self._inner.feed(found, most)

    def finish(self) -> None:
        """Raises BrokenEncoding if the body has ended too early."""
        if self._member is not None and not self._member.eof:
            raise BrokenEncoding
        if self._inner is not None:
            self._inner.finish()

    def _decompressed(self, data: bytes, most: int) -> bytes:
        pieces = []
        while data:
            if self._member.eof:
                data = data.lstrip(b"\0") if self._wbits else b""
                if not data or not (data.startswith(_GZIP_MAGIC) or self._is_stream):
                    break
                self._member = zlib.decompressobj(_WBITS["gzip"])
            is_broken = False
            try:
                pieces.append(self._member.decompress(data, most))
            except zlib.error:
                is_broken = True
            if is_broken:
                raise BrokenEncoding
            data = self._member.unused_data
            if most:
                most -= len(pieces[-1])
                if most == 0:
                    break
        return b"".join(pieces)
