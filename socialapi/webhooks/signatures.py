"""Challenges and signatures of webhooks, as pure functions (platform documentation, sections 4.2 and 5.5)."""

import base64
import hmac
from collections.abc import Sequence
from typing import Final

from socialapi.errors import ConfigurationError

SIGNATURE_HEADER: Final = "x-service-webhooks-signature"
"""The header that carries the signature of a body."""

_PREFIX: Final = b"sha256="


def crc_response(crc_token: str, consumer_secret: str) -> dict[str, str]:
    """What a challenge is answered with, as JSON (section 4.2).

    Raises ConfigurationError for an empty secret, with which anybody could sign.
    """
    return {"response_token": sign(crc_token.encode("utf-8", "surrogatepass"), consumer_secret)}


def verify_signature(body: bytes, header: str | None, consumer_secret: str | Sequence[str]) -> bool:
    """Whether the header is the signature of these very bytes, by any of the secrets (section 5.5).

    Takes equally long whatever differs and whichever secret fits. A header that is missing or malformed fits none.
    Raises ConfigurationError when there is no secret, or an empty one.
    """
    # What no signature has becomes a sign that no signature has, so that bytes are compared with bytes.
    given = (header or "").encode("ascii", "replace")
    # All of them are compared, whichever fits.
    fits = [hmac.compare_digest(given, _signature(body, secret)) for secret in secrets_of(consumer_secret)]
    return any(fits)


def sign(body: bytes, consumer_secret: str) -> str:
    """The signature of a body, as its header has it."""
    return _signature(body, consumer_secret).decode("ascii")


def secrets_of(consumer_secret: str | Sequence[str]) -> tuple[str, ...]:
    """One secret or several, as several. Raises ConfigurationError when there is none."""
    secrets = (consumer_secret,) if isinstance(consumer_secret, str) else tuple(consumer_secret)
    if not secrets:
        raise ConfigurationError("no consumer secret is given: it is the app's API key secret")
    return secrets


def _signature(body: bytes, consumer_secret: str) -> bytes:
    if not consumer_secret:
        raise ConfigurationError("the consumer secret is empty: it is the app's API key secret")
    digest = hmac.digest(consumer_secret.encode("utf-8", "surrogatepass"), body, "sha256")
    return _PREFIX + base64.b64encode(digest)
