"""Values that are no identifiers of anybody, in plain text and as what hashing makes of them."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final, Literal

from socialapi.models.audiences import IdentifierKind

Known = Literal["nothing", "placeholder", "twice"]

WORDS: Final = frozenset(
    {
        *(
            "-",
            "--",
            ".",
            "?",
            "0",
            "none",
            "null",
            "(null)",
            "nil",
            "n/a",
            "na",
            "#n/a",
            "nan",
            "undefined",
            "unknown",
        ),
        *("unbekannt", "no", "no email", "noemail", "not provided", "anonymous", "test", "xxx", "empty", "blank"),
        "00000000-0000-0000-0000-000000000000",  # what telephones say whose owners do not want to be followed
    }
)
"""Texts, in lower case, that stand for no value."""

_NAMES: Final = ("test", "none", "null", "na", "no", "noemail", "no-email", "email", "unknown", "example", "user", "a")
_DOMAINS: Final = ("example.com", "test.com", "none.com", "email.com", "noemail.com", "null.com", "a.com")
_EMAILS: Final = tuple(f"{name}@{domain}" for name in _NAMES for domain in _DOMAINS)
_PHONES: Final = (
    *(f"{prefix}{digit * 10}" for digit in "0123456789" for prefix in ("", "+1")),
    *("1234567890", "+11234567890", "0123456789", "+10123456789"),
)
_EMPTY: Final = ("", " ", "\n", "\r\n")

_ONE_DIGIT: Final = re.compile(r"[+\s().-]*(?:1[\s.-]?)?\(?([0-9])(?:[\s().-]*\1){5,}").fullmatch
_LONGEST_PHONE: Final = 32
_COUNTED: Final = re.compile("(?:[+]?1)?0?1234567890?").fullmatch


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _known(plain: Iterable[str]) -> dict[str, Known]:
    found: dict[str, Known] = {}
    for text in plain:
        once: Known = "placeholder" if text.strip() else "nothing"
        digest = _digest(text)
        found |= {digest: once, _digest(digest): "twice", _digest(digest.upper()): "twice"}
    return found


_DIGESTS: Final = _known((*_EMPTY, *_EMAILS, *WORDS))
_PHONE_DIGESTS: Final = _known(_PHONES)


def known_as(kind: IdentifierKind, digest: str) -> Known | None:
    """What is known of a digest that is one of nothing, of a placeholder, or of a digest of these."""
    known = _DIGESTS.get(digest)
    return _PHONE_DIGESTS.get(digest) if known is None and kind == "phone_number" else known


def is_placeholder(kind: IdentifierKind, text: str) -> bool:
    """Whether a trimmed text stands for no value; addresses are told by their digests."""
    if text.lower() in WORDS:
        return True
    return (
        kind == "phone_number"
        and len(text) < _LONGEST_PHONE
        and (_ONE_DIGIT(text) is not None or _COUNTED(text) is not None)
    )
