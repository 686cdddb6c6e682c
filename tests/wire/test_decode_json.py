"""JSON as others write it."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.wire.decode import decode_json

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(JSON_VALUES, st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_json_is_read_with_and_without_a_byte_order_mark(value: Any, mark: bytes) -> None:
    assert decode_json(mark + json.dumps(value).encode()) == value


@given(st.text(st.characters(categories=["Cs"]), min_size=1))
def test_halves_of_surrogate_pairs_are_read_as_they_are(text: str) -> None:
    assert decode_json(json.dumps({"text": text}).encode()) == json.loads(json.dumps({"text": text}))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"a":', b"[" * 5000, b"nope", b"9" * 5000])
def test_what_is_no_json_is_told_without_its_content(content: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError) as caught:
        decode_json(content)
    assert caught.value.doc == ""
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "content", [b"NaN", b"[-Infinity]", b"1e999", b"9" * 400, b'["\\ud800",NaN]', b'["\\ud800",1e999]']
)
def test_a_number_that_no_float_holds_is_no_json(content: bytes) -> None:
    """The decoder of the standard library, which is asked about what orjson refuses, lets these through."""
    with pytest.raises(orjson.JSONDecodeError):
        decode_json(content)


@pytest.mark.parametrize("digits", ["18446744073709551615", "-9223372036854775808", "18446744073709551616", "1" * 40])
def test_a_number_beside_half_of_a_surrogate_pair_is_what_it_is_without(digits: str) -> None:
    found = decode_json(f'["\\ud800",{digits}]'.encode())[1]
    alone = orjson.loads(digits)
    assert (type(found), found) == (type(alone), alone)
