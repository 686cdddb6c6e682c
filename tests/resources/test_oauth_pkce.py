"""PKCE as RFC 7636 has it, compared with its own example and with another library."""

import re

import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from socialapi.errors import InvalidInput
from socialapi.resources import oauth


def test_the_example_of_rfc_7636_comes_out_octet_for_octet() -> None:
    octets = bytes(
        (
            *(116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186),
            *(22, 212, 37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121),
        )
    )
    verifier = oauth.code_verifier(octets)
    assert verifier == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert oauth.code_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize("size", [32, 33, 64, 95, 96])
def test_every_allowed_number_of_random_bytes_makes_a_verifier_that_another_library_takes(size: int) -> None:
    verifier = oauth.code_verifier(bytes(range(256))[-size:])
    assert re.fullmatch(r"[A-Za-z0-9\-._~]{43,128}", verifier)
    assert oauth.code_challenge(verifier) == create_s256_code_challenge(verifier)


@pytest.mark.parametrize("size", [0, 31, 97])
def test_too_few_and_too_many_random_bytes_are_refused(size: int) -> None:
    with pytest.raises(InvalidInput, match="32 to 96 random bytes"):
        oauth.code_verifier(b"\0" * size)


@pytest.mark.parametrize("verifier", ["a" * 42, "a" * 129, "a" * 42 + "=", "a" * 42 + "é", "a" * 43 + "\n"])
def test_a_text_that_is_no_verifier_is_refused_and_not_repeated(verifier: str) -> None:
    with pytest.raises(InvalidInput, match="43 to 128 characters") as refused:
        oauth.code_challenge(verifier)
    assert verifier not in str(refused.value)


def test_comparing_takes_any_text() -> None:
    assert oauth.equal_in_constant_time("äöü", "äöü")
    assert not oauth.equal_in_constant_time("state", "äöü")
