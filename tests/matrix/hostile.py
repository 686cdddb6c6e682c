"""Answers of a server that follows no rules, byte by byte, and what the documentation has a client make of each."""

import functools
import gzip
import zlib
from collections.abc import Iterator
from typing import Final, Literal

import attrs

from tests.support.server import Cut, Endless, Fault, Step, answer

Made = Literal["lost", "unreadable", "too large", "refused", "read"]
"""What a client makes of an answer: there is none, so that nobody knows what was executed; a
success that cannot be read; one of which no more is read than allowed; a refusal, by its status; or
a good answer for all its oddities.
"""

MAX_RESPONSE_BYTES: Final = 200_000
TIMEOUT_SECONDS: Final = 0.25
"""Of calls to a server that does not come to an end, by the wall clock."""

OK_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED: Final = OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@attrs.frozen
class Hostile:
    """An answer, and what is to be made of it. Endless ones are waited for `TIMEOUT_SECONDS`."""

    name: str
    step: Step
    made: Made
    status: int = 200
    is_endless: bool = False
    has_errors: bool = False
    """Errors, and no token: a refusal where one was asked for, whatever stands beside them."""


def coded(coding: str, content: bytes) -> bytes:
    return answer(content, Content_Encoding=coding)


def _no_http() -> Iterator[Hostile]:
    lost = functools.partial(Hostile, made="lost")
    starts = {
        "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "a status line without a status": b"HTTP/1.1\r\n\r\n",
        "a status of letters": b"HTTP/1.1 abc OK\r\n\r\n",
        "a status of five digits": b"HTTP/1.1 99999 OK\r\nContent-Length: 0\r\n\r\n",
        "a negative status": b"HTTP/1.1 -20 OK\r\nContent-Length: 0\r\n\r\n",
        "another version": b"HTTP/9.9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "a body without a head": b'{"data": {"id": "1"}}\r\n\r\n',
        "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "a frame of HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18),
        "an alert of TLS": b"\x15\x03\x01\x00\x02\x02\x28",
        "zeros": bytes(1_000),
        "a header without a name": OK_HEAD + b": nameless\r\nContent-Length: 2\r\n\r\n{}",
        "a header without a colon": OK_HEAD + b"nonsense\r\nContent-Length: 2\r\n\r\n{}",
        "a header with a zero": OK_HEAD + b"X-Zero: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
        "a header of a megabyte": OK_HEAD + b"X-Long: " + b"a" * 1_000_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
        "a hundred thousand headers": OK_HEAD + b"X-Many: a\r\n" * 100_000 + b"Content-Length: 2\r\n\r\n{}",
        "a status line of a megabyte": b"HTTP/1.1 200 " + b"O" * 1_000_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    }
    for name, content in starts.items():
        yield lost(name, Cut(content))
    yield lost("nothing", Fault.CLOSE)
    yield lost("a reset", Fault.RESET)
    yield lost("half a head", Cut(OK_HEAD[:30]))
    yield lost("a head without an end", Cut(OK_HEAD))
    yield lost("silence", Fault.SILENCE, is_endless=True)
    yield lost("a head that drips", Endless(OK_HEAD, b"X-Drip: a\r\n", 0.02), is_endless=True)
    yield lost("a hundred continues", Endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100, b"", 0.02), is_endless=True)
    yield lost("continues without end", Endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10, 0.01), is_endless=True)


def _lengths() -> Iterator[Hostile]:
    lost = functools.partial(Hostile, made="lost")
    lengths = {
        "a length of letters": b"Content-Length: abc",
        "a negative length": b"Content-Length: -1",
        "a length with a sign": b"Content-Length: +2",
        "two lengths": b"Content-Length: 2\r\nContent-Length: 3",
        "a length beyond all bounds": b"Content-Length: 1" + b"0" * 5_000,
        "a length and chunks": b"Content-Length: 2\r\nTransfer-Encoding: chunked",
    }
    for name, header in lengths.items():
        yield lost(name, Cut(OK_HEAD + header + b"\r\n\r\n{}"))
    yield lost("a body that is shorter", Cut(OK_HEAD + b"Content-Length: 50\r\n\r\n{}"))
    yield lost("a body that never comes", OK_HEAD + b"Content-Length: 50\r\n\r\n", is_endless=True)
    yield lost("a body that drips", Endless(CHUNKED, b"1\r\n \r\n", 0.02), is_endless=True)
    chunks = {
        "a chunk of letters": b"zz\r\n{}\r\n0\r\n\r\n",
        "a negative chunk": b"-2\r\n{}\r\n0\r\n\r\n",
        "a chunk beyond all bounds": b"f" * 40 + b"\r\n{}\r\n0\r\n\r\n",
        "a chunk that is longer than it says": b"1\r\n{}\r\n0\r\n\r\n",
        "chunks without an end": b"2\r\n{}\r\n",
    }
    for name, body in chunks.items():
        yield lost(name, Cut(CHUNKED + body))
    extended = b"1;" + b"x" * 1_000_000 + b"\r\n7\r\n0\r\n\r\n"
    yield Hostile("a chunk with a long extension", CHUNKED + extended, "unreadable")


def _codings() -> Iterator[Hostile]:
    packed = gzip.compress(b'{"data": {"id": "1"}}')
    damaged = {
        "gzip that is damaged": coded("gzip", packed[:10] + b"\xff" * 20),
        "gzip that breaks off": coded("gzip", packed[:-20]),
        "deflate that is none": coded("deflate", b"\x07\x01\x02"),  # starts a block of the reserved type 3
        "deflate that breaks off": coded("deflate", b"\x00\x01\x02"),
    }
    for name, content in damaged.items():
        yield Hostile(name, content, "lost")
    yield Hostile("a text that is no gzip", coded("gzip", b"nonsense"), "unreadable")
    yield Hostile("a coding that nobody knows", coded("rot13", b'{"qngn": {'), "unreadable")
    bomb = zlib.compressobj(9, wbits=31)
    content = b"".join([*(bomb.compress(b" " * 1_000_000) for _ in range(100)), bomb.flush()])
    yield Hostile("a bomb of gzip", coded("gzip", content), "too large")
    yield Hostile("a body that is too large", answer(b" " * (MAX_RESPONSE_BYTES + 1)), "too large")
    piece = b"2000\r\n" + b" " * 0x2000 + b"\r\n"
    yield Hostile("a body without end", Endless(CHUNKED, piece), "too large")


def _texts() -> Iterator[Hostile]:
    deep = 100_000
    texts = {
        "nothing": b"",
        "blanks": b" \r\n\t ",
        "half an object": b'{"data": {"id": "1"',
        "two objects": b'{"data": {}} {"data": {}}',
        "null": b"null",
        "a number": b"7",
        "a number beyond all bounds": b"1" + b"0" * 100_000,
        "a text": b'"data"',
        "true": b"true",
        "not a number": b"NaN",
        "data that are not a number": b'{"data": NaN}',
        "data that are infinite": b'{"data": -Infinity}',
        "data that are a number": b'{"data": 5.5}',
        "data that are a text": b'{"data": "data"}',
        "bytes": b"\xff\xfe\x00\x80",
        "a text that is no UTF-8": b'{"data": {"id": "\xff\xfe"}}',
        "UTF-16": '{"data": {"id": "1"}}'.encode("utf-16"),
        "arrays without end": b"[" * deep,
        "arrays within arrays": b"[" * deep + b"]" * deep,
        "objects within objects": b'{"data":' * deep + b"1" + b"}" * deep,
        "an object with a deep field": b'{"data": {"id": "1", "x": ' + b"[" * deep + b"]" * deep + b"}}",
        "HTML": b"<html><body>It works!</body></html>",
        "errors that are a number": b'{"data": {"id": "1"}, "errors": 7}',
    }
    for name, content in texts.items():
        yield Hostile(f"a success of {name}", answer(content), "unreadable", has_errors=b'"errors"' in content)
    yield Hostile("HTML of HTML", answer(b"<html></html>", content_type="text/html"), "unreadable")
    for status in (201, 202, 204, 205, 206):
        yield Hostile(f"a {status} without a body", answer(status=status), "unreadable", status)


def _refusals() -> Iterator[Hostile]:
    for status in (300, 301, 302, 303, 304, 305, 307, 308, 400, 401, 403, 404, 407, 409, 418, 499, 501, 599):
        yield Hostile(f"a {status} without a body", answer(status=status), "refused", status)
    bodies = {
        "deep arrays": b"[" * 100_000,
        "deep errors": b'{"errors": ' * 50_000 + b"[]" + b"}" * 50_000,
        "bytes": b"\xff\xfe\x00",
        "a number beyond all bounds": b'{"errors": [{"code": 1' + b"0" * 10_000 + b"}]}",
        "half a surrogate": b'{"errors": [{"code": 1, "message": "\\ud800"}]}',
        "ten thousand errors": b'{"errors": [' + b'{"code": 1, "message": "x"},' * 10_000 + b"{}]}",
        "endless problems": b'{"title": {"title": []}, "detail": 7, "type": [], "status": "x"}',
    }
    for name, body in bodies.items():
        yield Hostile(f"a 404 with {name}", answer(body, status=404), "refused", 404)
    yield Hostile("a 404 that breaks off", Cut(answer(b"x" * 100, status=404)[:-50]), "refused", 404)
    yield Hostile("a 404 with damaged gzip", answer(b"\x1f\x8bx", status=404, Content_Encoding="gzip"), "refused", 404)
    head = b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield Hostile("a 404 without end", Endless(head, b"2000\r\n" + b" " * 0x2000 + b"\r\n"), "refused", 404)
    yield Hostile(
        "a switch of protocols",
        b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        "refused",
        101,
    )


HOSTILE: Final = (*_no_http(), *_lengths(), *_codings(), *_texts(), *_refusals())
