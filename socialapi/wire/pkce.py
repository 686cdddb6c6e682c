"""Proof Key for Code Exchange (RFC 7636) as pure functions; the random bytes come in as arguments."""

import base64
import hashlib
import hmac
import re
from typing import Final

from socialapi.errors import InvalidInput

MIN_RANDOM_BYTES: Final = 32
MAX_RANDOM_BYTES: Final = 96
"""Between them the verifier has the 43 to 128 characters that RFC 7636 section 4.1 asks for."""

_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def code_verifier(random: bytes) -> str:
    """The secret that stays here until the code is exchanged, from 32 to 96 random bytes (RFC 7636, section 4.1)."""
    if not MIN_RANDOM_BYTES <= len(random) <= MAX_RANDOM_BYTES:
        raise InvalidInput(f"a code verifier is made of {MIN_RANDOM_BYTES} to {MAX_RANDOM_BYTES} random bytes")
    return _base64url(random)


def code_challenge(verifier: str) -> str:
    """What the page is told of the verifier: its SHA-256 (method S256; RFC 7636, section 4.2)."""
    if not _VERIFIER.fullmatch(verifier):
        raise InvalidInput("a code verifier has 43 to 128 characters, each a letter, a digit or one of - . _ ~")
    return _base64url(hashlib.sha256(verifier.encode("ascii")).digest())


def state(random: bytes) -> str:
    """What ties the answer of the page to the sign-in that was begun here (RFC 6749, section 10.12)."""
    return _base64url(random)


def same(given: str, expected: str) -> bool:
    """Whether two texts are the same, compared in a time that does not tell how much of them is."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")
