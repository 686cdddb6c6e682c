"""Compressed bodies, as servers and proxies send them."""

import functools
import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.wire.content_encoding import BrokenEncoding, Decompressor

TEXT = b'{"data":[' + b'"\xc5\xbe", ' * 3_000 + b"1]}"
gzipped = functools.partial(gzip.compress, mtime=0)  # of the present time, tests would have other names in each process


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


BODIES = {
    "gzip": ("gzip", gzipped(TEXT)),
    "another name": ("x-gzip", gzipped(TEXT)),
    "in capitals, with another that does nothing": ("identity, GZIP", gzipped(TEXT)),
    "several members": ("gzip", gzipped(TEXT[:100]) + gzipped(TEXT[100:])),
    "zeros behind": ("gzip", gzipped(TEXT) + bytes(512)),
    "something else behind": ("gzip", gzipped(TEXT) + b"\r\n-- tail"),
    "zeros between": ("gzip", gzipped(TEXT[:9]) + bytes(7) + gzipped(TEXT[9:]) + bytes(1)),
    "twice": ("gzip, x-gzip", gzipped(gzipped(TEXT))),
    "said twice": ("gzip, gzip", gzipped(TEXT)),
    "plain": ("gzip", TEXT),
    "plain instead of deflate": ("deflate", TEXT),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "deflate without a header": ("deflate", raw_deflate(TEXT)),
}


@pytest.mark.parametrize("name", BODIES)
@given(sizes=st.lists(st.integers(1, 3_000), min_size=1, max_size=5))
def test_a_body_in_any_pieces_is_the_same(name: str, sizes: list[int]) -> None:
    encoding, body = BODIES[name]
    decompressor = Decompressor.of(encoding)
    assert decompressor is not None
    read, place, number = b"", 0, 0
    while place < len(body):
        size = sizes[number % len(sizes)]
        read += decompressor.feed(body[place : place + size])
        place, number = place + size, number + 1
    decompressor.finish()
    assert read == TEXT


@pytest.mark.parametrize(
    "encoding", [None, "", "identity", "br", "zstd", "gzip, br", "br, gzip", "nonsense", ", ".join(["gzip"] * 9)]
)
def test_what_is_not_compressed_or_not_known_is_left_as_it_is(encoding: str | None) -> None:
    assert Decompressor.of(encoding) is None


@pytest.mark.parametrize(
    "body",
    [gzipped(TEXT)[:-8] + b"12345678", gzipped(TEXT) + b"more"],
    ids=["a wrong checksum", "more behind"],
)
def test_what_is_not_compressed_as_said_is_refused(body: bytes) -> None:
    decompressor = Decompressor.of("gzip", is_stream=True)
    assert decompressor is not None
    with pytest.raises(BrokenEncoding):
        decompressor.feed(body)


@pytest.mark.parametrize("before", [b"", gzipped(bytes(1_000))])
def test_no_more_is_unpacked_than_wanted(before: bytes) -> None:
    decompressor = Decompressor.of("gzip")
    assert decompressor is not None
    assert decompressor.feed(before + gzipped(bytes(10_000_000)), 1_000) == bytes(1_000)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        *[("gzip", gzipped(TEXT)[:end]) for end in (1, 9, 40, -8, -1)],
        ("gzip", gzipped(TEXT) * 2 + gzipped(TEXT)[:-1]),
        ("gzip, gzip", gzipped(gzipped(TEXT)[:-1])),
        ("deflate", zlib.compress(TEXT)[:-5]),
        ("deflate", raw_deflate(TEXT)[:-1]),
    ],
)
def test_a_body_that_ends_too_early_is_broken(encoding: str, body: bytes) -> None:
    decompressor = Decompressor.of(encoding)
    assert decompressor is not None
    assert TEXT.startswith(decompressor.feed(body)[: len(TEXT)])
    with pytest.raises(BrokenEncoding):
        decompressor.finish()
