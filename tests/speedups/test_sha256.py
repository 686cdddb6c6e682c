"""Both implementations of SHA-256 in C have the published digests, and those of hashlib for every length."""

import hashlib
import random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.speedups.implementations import EACH, IN_C, NATIVE

MOST: Final = 247
PORTABLE: Final = pytest.mark.parametrize("portable", [False, True], ids=["chosen", "portable"])

FIPS_180: Final = {
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu": (
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
}
"""The examples that NIST publishes with the standard, of one and of two blocks."""

# SHA256ShortMsg.rsp of the Cryptographic Algorithm Validation Program, and the messages of zeros around the length at
# which a second block begins.
CAVP: Final = {
    "d3": "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1",
    "11af": "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98",
    "b4190e": "dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2",
    "74ba2521": "b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e",
    "c299209682": "f0887fe961c9cd3beab957e8222494abb969b1ce4c6557976df8b0f6d20e9166",
    "e1dc724d5621": "eca0a060b489636225b4fa64d267dabbe44273067ac679f20820bddc6b6a90ac",
    "06e076f5a442d5": "3fd877e27450e6bbd5d74bb82f9870c64c66e109418baa8e6bbcff355e287926",
    "5738c929c4f4ccb6": "963bb88f27f512777aab6c8b1a02c70ec0ad651d428f870036e1917120fb48bf",
    "5a86b737eaea8ee976a0a24da63e7ed7eefad18a101c1211e2b3650c5187c2a8"
    "a650547208251f6d4237e661c7bf4c77f335390394c37fa1a9f9be836ac28509": (
        "42e61e174fbb3897d6dd6cef3dd2802fe67b331953b06114a65c772859dfc1aa"
    ),
    "bd": "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b",
    "c98c8e55": "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504",
    "00" * 55: "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7",
    "00" * 56: "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb",
    "00" * 57: "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785",
    "00" * 64: "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b",
}
PUBLISHED: Final = {
    **{message.encode(): digest for message, digest in FIPS_180.items()},
    **{bytes.fromhex(message): digest for message, digest in CAVP.items()},
}


def digests(first: bytes, second: bytes) -> bytes:
    one_by_one = hashlib.sha256(first).digest() + hashlib.sha256(second).digest()
    return one_by_one + one_by_one


@IN_C
@PORTABLE
@pytest.mark.parametrize("message", PUBLISHED, ids=lambda message: f"{len(message)} bytes")
def test_the_published_messages_have_their_published_digests(portable: bool, message: bytes) -> None:
    digest, of_nothing = bytes.fromhex(PUBLISHED[message]), bytes.fromhex(FIPS_180[""])
    assert NATIVE.sha256_pair(message, message, portable) == digest * 4
    assert NATIVE.sha256_pair(message, b"", portable) == (digest + of_nothing) * 2


@IN_C
@PORTABLE
def test_messages_of_every_length_have_their_digest_alone_and_beside_another(portable: bool) -> None:
    chance = random.Random(1)
    for length in range(MOST + 1):
        for other in (length, MOST - length, chance.randrange(MOST + 1)):
            first, second = chance.randbytes(length), chance.randbytes(other)
            assert NATIVE.sha256_pair(first, second, portable) == digests(first, second), (length, other)


@IN_C
@PORTABLE
@given(st.binary(max_size=MOST), st.binary(max_size=MOST))
def test_any_bytes_have_their_digest(portable: bool, first: bytes, second: bytes) -> None:
    assert NATIVE.sha256_pair(first, second, portable) == digests(first, second)


@IN_C
@PORTABLE
@pytest.mark.parametrize("message", [b"x" * (MOST + 1), "x", None])
def test_what_is_no_short_message_is_refused(portable: bool, message: object) -> None:
    with pytest.raises(ValueError, match="too long"):
        NATIVE.sha256_pair(message, b"", portable)
    with pytest.raises(ValueError, match="too long"):
        NATIVE.sha256_pair(b"", message, portable)


@EACH
def test_texts_of_every_length_have_the_digest_of_hashlib_or_are_left_to_it(speedups: Any) -> None:
    texts = ["7" * length for length in range(301)]
    expected = [
        "",
        *(
            text if length == 64 else hashlib.sha256(text.encode()).hexdigest()
            for length, text in enumerate(texts[1 : MOST + 1], 1)
        ),
        *[None] * (300 - MOST),
    ]
    assert list(speedups.hash_column(texts, "service_id")) == expected
    assert [speedups.hash_column([text], "service_id")[0] for text in texts] == expected
