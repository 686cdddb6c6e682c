"""Lines out of chunks, however they are cut."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import DecodeError
from socialapi.wire import ndjson
from socialapi.wire.ndjson import LineFramer, is_whole

LINE = st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"").rstrip(b"\r"))


def cut(content: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(content) + 1) for place in places), len(content)]
    return [content[begin:end] for begin, end in zip(edges, edges[1:], strict=False)]  # noqa: RUF007  # says more


@given(st.lists(LINE), LINE, st.sampled_from([b"\n", b"\r\n"]), st.lists(st.integers(0, 10_000), max_size=20))
def test_any_cutting_of_any_lines_gives_the_same_lines(
    lines: list[bytes], rest: bytes, newline: bytes, places: list[int]
) -> None:
    framer = LineFramer(1_000)
    content = b"".join(line + newline for line in lines) + rest
    found = [line for chunk in cut(content, places) for line in framer.feed(chunk)]
    assert found == lines
    assert framer.rest == rest


@given(st.lists(LINE, min_size=1), st.integers(1, 25), st.lists(st.integers(0, 10_000), max_size=20))
def test_the_bound_holds_for_every_line_however_it_is_cut(lines: list[bytes], bound: int, places: list[int]) -> None:
    framer = LineFramer(bound)
    found: list[bytes] = []
    try:
        for chunk in cut(b"".join(line + b"\n" for line in lines), places):
            found += framer.feed(chunk)
        framer.check()
    except DecodeError:
        assert max(map(len, lines)) > bound
        assert found == lines[: len(found)]
    else:
        assert found == lines
        assert max(map(len, lines)) <= bound


def test_the_lines_before_one_beyond_the_bound_come_first() -> None:
    framer = LineFramer(100)
    assert framer.feed(b"{") == []
    assert framer.feed(b"}\r\n" + b"a\n" + b"x" * 200 + b"\nb\n") == [b"{}", b"a"]
    assert framer.rest == b""
    for _ in range(2):
        with pytest.raises(DecodeError, match="larger than the 100 bytes"):
            framer.feed(b"c\n")


def test_empty_lines_are_keep_alives() -> None:
    assert LineFramer(10).feed(b"\r\n\na\r\n\n") == [b"", b"", b"a", b""]


def test_a_carriage_return_within_a_line_belongs_to_it() -> None:
    assert LineFramer(10).feed(b"a\rb\r\r\n") == [b"a\rb\r"]


def test_what_grows_beyond_the_bound_is_an_error_before_it_ends() -> None:
    framer = LineFramer(1_000)
    assert framer.feed(b"x" * 1_000) == []
    with pytest.raises(DecodeError, match="larger than the 1,000 bytes that max_line_bytes allows"):
        framer.feed(b"x")


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        (b'{"a":1}', True),
        (b'{"a":{"b":2}}\r', True),
        (b"{}", True),
        (rb'{"text":"\ud83d"}', True),
        (b'\xef\xbb\xbf{"a":1}', True),
        (b"", False),
        (b"17", False),
        (b'"text"', False),
        (b'{"a":{"b":2}', False),
        (b'{"a":"}', False),
        (b"<html>}", False),
    ],
)
def test_a_line_without_an_end_is_whole_when_its_object_is(line: bytes, whole: bool) -> None:
    assert is_whole(line) is whole


@given(st.lists(LINE), LINE, st.lists(st.integers(0, 10_000), max_size=5), st.integers(1, 5))
def test_many_lines_are_cut_in_steps_and_all_come_in_their_order(
    lines: list[bytes], rest: bytes, places: list[int], most: int
) -> None:
    framer = LineFramer(1_000)
    found: list[bytes] = []
    with mock.patch.object(ndjson, "MAX_LINES_AT_ONCE", most):
        for chunk in cut(b"".join(line + b"\n" for line in lines) + rest, places):
            step = framer.feed(chunk)
            found += step
            while framer.has_more:
                assert len(step) == most
                found += (step := framer.feed(b""))
    assert found == lines
    assert framer.rest == rest
