"""Challenges and signatures of webhooks."""

import base64
import hmac
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from socialapi.errors import ConfigurationError, InvalidInput

SIGNATURE_HEADER: Final = "x-service-webhooks-signature"
"""The name of the header with the signature of a body."""

_WHAT_IT_IS: Final = "the consumer secret is the app's API key secret"
_PREFIX: Final = b"sha256="
_WELL_FORMED: Final = re.compile(rb"sha256=[A-Za-z0-9+/]{43}=")
_ASCII_BLANKS: Final = bytes(range(0x21)) + b"\x7f"
_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_BLANK_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Unicode categories of control and format characters, including the byte order mark, and of spaces of every width."""


def crc_response(crc_token: str, consumer_secret: str) -> dict[str, str]:
    """Returns the response to a challenge, to send as JSON.

    Bodies are signed with the same key. A custom endpoint must therefore reject tokens that could
    be the body of an event, as `Receiver` does. Raises ConfigurationError for a secret that is not
    a string or is empty, and InvalidInput for a token that is not a string.
    """
    if not isinstance(crc_token, str):
        raise InvalidInput(f"crc_token must be a string, not {type(crc_token).__name__}")
    _check_secret(consumer_secret, "consumer_secret")
    return {"response_token": sign_body(crc_token.encode("utf-8", "surrogatepass"), consumer_secret)}


def verify_signature(body: bytes, header: str | None, consumer_secret: str | Sequence[str]) -> bool:
    """Returns whether the header is the signature of these bytes, with any of the secrets.

    The comparison takes constant time. A missing or malformed header does not match. Raises
    ConfigurationError if there is no secret, or one that is empty or not a string, and InvalidInput
    for a body that is not bytes.
    """
    _check_body(body)
    signature = Signature(header if isinstance(header, str) else None, secrets_of(consumer_secret))
    signature.update(body)
    return signature.fits()


def sign_body(body: bytes, consumer_secret: str) -> str:
    """Returns the signature of a body, for the header `SIGNATURE_HEADER`.

    The counterpart of `verify_signature`, for tests of webhook receivers. Raises ConfigurationError for a secret that
    is empty or not a string, and InvalidInput for a body that is not bytes.
    """
    _check_body(body)
    _check_secret(consumer_secret, "consumer_secret")
    return _encoded(hmac.digest(_key(consumer_secret), body, "sha256")).decode("ascii")


class Signature:
    """The signature in a request, verified as the body arrives.

    `is_well_formed` is False if it cannot be a signature. `fits` takes constant time.
    """

    def __init__(self, header: str | None, secrets: Sequence[str]) -> None:
        # Replaces characters that no signature contains, so that bytes are compared.
        self._given = (header or "").encode("ascii", "replace")
        self._digests = [hmac.new(_key(secret), digestmod="sha256") for secret in secrets]

    @property
    def is_well_formed(self) -> bool:
        """Whether the header is a well-formed signature."""
        return _WELL_FORMED.fullmatch(self._given) is not None

    def update(self, part: bytes | memoryview) -> None:
        """Adds the next part of the body."""
        for digest in self._digests:
            digest.update(part)

    def fits(self) -> bool:
        """Returns whether the signature matches the body, with any of the secrets."""
        # All signatures are compared, even after a match.
        fits = [hmac.compare_digest(self._given, _encoded(digest.digest())) for digest in self._digests]
        return any(fits)


def begins_as_json(content: bytes) -> bool:
    """Returns whether the first visible character is `{` or `[`, ignoring byte order marks and whitespace.

    Only such bodies are events, and no such token is signed. Otherwise, anyone could obtain the signature of an event
    by sending it as a challenge.
    """
    if content[:2] in _UTF_16_MARKS:
        return begins_as_json(content.decode("utf-16", "replace").encode("utf-8", "replace"))
    rest = content.lstrip(_ASCII_BLANKS)
    if rest[:1] < b"\x80":
        return rest[:1] in (b"{", b"[")
    seen = (sign for sign in rest.decode("utf-8", "replace") if unicodedata.category(sign) not in _BLANK_CATEGORIES)
    return next(seen, "") in ("{", "[")


def secrets_of(consumer_secret: str | Sequence[str]) -> tuple[str, ...]:
    """Returns one or several secrets as a tuple.

    Raises ConfigurationError, which never quotes a secret, if there is none, or if one is empty or not a string.
    """
    given: Any = consumer_secret
    if isinstance(given, Sequence) and not isinstance(given, str | bytes | bytearray):
        secrets = {f"consumer_secret[{number}]": secret for number, secret in enumerate(given)}
    else:
        secrets = {"consumer_secret": given}
    if not secrets:
        raise ConfigurationError(f"consumer_secret is empty: {_WHAT_IT_IS}")
    for name, secret in secrets.items():
        _check_secret(secret, name)
    return tuple(secrets.values())


def _check_body(body: Any) -> None:
    if not isinstance(body, bytes | bytearray | memoryview):
        raise InvalidInput(f"body must be bytes, exactly as sent, not {type(body).__name__}")


def _check_secret(secret: Any, name: str) -> None:
    if not isinstance(secret, str):
        raise ConfigurationError(f"{name} must be a string, not {type(secret).__name__}: {_WHAT_IT_IS}")
    if not secret:
        raise ConfigurationError(f"{name} is empty: {_WHAT_IT_IS}")


def _key(consumer_secret: str) -> bytes:
    return consumer_secret.encode("utf-8", "surrogatepass")


def _encoded(digest: bytes) -> bytes:
    return _PREFIX + base64.b64encode(digest)
