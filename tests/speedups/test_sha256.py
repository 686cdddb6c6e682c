"""Both implementations of SHA-256 in C are hashlib's, for every length that they take."""

import hashlib
import random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi._speedups import IS_ENABLED

if not IS_ENABLED:
    pytest.skip("the extension is not used here", allow_module_level=True)

from socialapi._speedups import _native

MOST: Final = 247
PORTABLE: Final = pytest.mark.parametrize("portable", [False, True], ids=["chosen", "portable"])


def digests(first: bytes, second: bytes) -> bytes:
    one_by_one = hashlib.sha256(first).digest() + hashlib.sha256(second).digest()
    return one_by_one + one_by_one


@PORTABLE
def test_messages_of_every_length_have_their_digest_alone_and_beside_another(portable: bool) -> None:
    chance = random.Random(1)
    for length in range(MOST + 1):
        for other in (length, MOST - length, chance.randrange(MOST + 1)):
            first, second = chance.randbytes(length), chance.randbytes(other)
            assert _native.sha256_pair(first, second, portable) == digests(first, second), (length, other)


@PORTABLE
@given(st.binary(max_size=MOST), st.binary(max_size=MOST))
def test_any_bytes_have_their_digest(portable: bool, first: bytes, second: bytes) -> None:
    assert _native.sha256_pair(first, second, portable) == digests(first, second)


@PORTABLE
@pytest.mark.parametrize("message", [b"x" * (MOST + 1), "x", None])
def test_what_is_no_short_message_is_refused(portable: bool, message: object) -> None:
    with pytest.raises(ValueError, match="at most"):
        _native.sha256_pair(message, b"", portable)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most"):
        _native.sha256_pair(b"", message, portable)  # type: ignore[arg-type]


def test_lengths_beyond_a_message_are_hashed_by_hashlib() -> None:
    for length in range(301):
        (digest,) = _native.hash_column(["x" * length], "device_id")
        expected = "" if not length else hashlib.sha256(b"x" * length).hexdigest()
        assert digest == (expected if length <= MOST else None)
