"""Verifies OAuth 1.0a signatures, independently of the SDK (RFC 5849).

The base string is built from the request line and the `Host` header as they arrived. A client that signs an address
other than the one it requests is refused, just as the service would refuse it.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from socialapi.emulator.request import Received
from socialapi.emulator.responses import Refusal

ALLOWED_SKEW_SECONDS: Final = 300
NONCES_REMEMBERED: Final = 1_000_000

_REQUIRED: Final = ("oauth_consumer_key", "oauth_signature_method", "oauth_timestamp", "oauth_nonce", "oauth_signature")


def unauthorized(message: str) -> Refusal:
    """Returns the error for an unauthenticated request."""
    return Refusal(401, "UNAUTHORIZED_ACCESS", message)


class NonceMemory:
    """The nonces of recent requests, by timestamp. Older timestamps are refused, so their nonces are dropped."""

    def __init__(self) -> None:
        self.count: int = 0
        self._by_timestamp: dict[int, set[tuple[str, str, str]]] = {}

    def is_new(self, timestamp: int, nonce: tuple[str, str, str], now: float) -> bool:
        """Returns whether the (key, token, nonce) is new for this timestamp, and stores it."""
        if timestamp not in self._by_timestamp or self.count >= NONCES_REMEMBERED:
            self._forget(now)
        seen = self._by_timestamp.setdefault(timestamp, set())
        if nonce in seen:
            return False
        seen.add(nonce)
        self.count += 1
        return True

    def _forget(self, now: float) -> None:
        for timestamp in sorted(self._by_timestamp):
            if timestamp >= now - ALLOWED_SKEW_SECONDS and self.count < NONCES_REMEMBERED:
                return
            self.count -= len(self._by_timestamp.pop(timestamp))


def header_parameters(header: str) -> dict[str, str]:
    """Returns the protocol parameters of `Authorization: OAuth …`, decoded and without the realm. Refuses a malformed
    header.
    """
    if not header.isascii():
        raise unauthorized("the Authorization header is not ASCII")
    found: dict[str, str] = {}
    for item in header[len("OAuth ") :].split(","):
        name, equals, value = item.strip().partition("=")
        if not equals or len(value) < 2 or not (value[0] == value[-1] == '"'):
            raise unauthorized("the Authorization header is malformed")
        if name.lower() == "realm":
            continue
        if (key := unquote(name)) in found:
            raise unauthorized(f"{key} is given twice")
        found[key] = unquote(value[1:-1])
    return found


def check_parameters(protocol: Mapping[str, str], wall: float) -> None:
    """Makes all checks that need no secret: refuses missing parameters, an unsupported method or version, and an old
    timestamp.
    """
    if missing := [name for name in _REQUIRED if not protocol.get(name)]:
        raise unauthorized(f"the Authorization header lacks {', '.join(missing)}")
    if protocol["oauth_signature_method"] != "HMAC-SHA1":
        raise unauthorized("oauth_signature_method must be HMAC-SHA1")
    if protocol.get("oauth_version", "1.0") != "1.0":
        raise unauthorized("oauth_version must be 1.0")
    if not protocol["oauth_nonce"].isascii():
        raise unauthorized("oauth_nonce must be ASCII")
    timestamp = protocol["oauth_timestamp"]
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > 15:
        raise unauthorized("oauth_timestamp must be a whole number of seconds")
    if abs(int(timestamp) - wall) > ALLOWED_SKEW_SECONDS:
        raise unauthorized(f"oauth_timestamp is more than {ALLOWED_SKEW_SECONDS} s away from the emulator's time")


def check_signature(received: Received, protocol: Mapping[str, str], secrets: tuple[str, str]) -> None:
    """Refuses a signature that was not made with the secrets of the app and the token, and a wrong body hash. Compares
    in constant time, so that response times do not reveal how much of a guess was right.
    """
    if not (received.headers.get("Host", "") + received.path + received.query).isascii():
        raise unauthorized("the address is not ASCII, so it cannot be signed")
    body_hash = protocol.get("oauth_body_hash")
    # A body over the limit is refused for that reason.
    if body_hash is not None and received.complete:
        actual = base64.b64encode(hashlib.sha1(received.body, usedforsecurity=False).digest())
        if not hmac.compare_digest(body_hash.encode(), actual):
            raise unauthorized("oauth_body_hash does not match the body")
    key = "&".join(_encoded(secret) for secret in secrets)
    digest = hmac.digest(key.encode(), base_string(received, protocol).encode(), "sha1")
    if not hmac.compare_digest(protocol["oauth_signature"].encode(), base64.b64encode(digest)):
        raise unauthorized("the signature does not match the request")


def base_string(received: Received, protocol: Mapping[str, str]) -> str:
    """Returns the text that is signed (RFC 5849, section 3.4.1)."""
    parameters = [(name, value) for name, value in protocol.items() if name != "oauth_signature"]
    encoded = sorted((_encoded(name), _encoded(value)) for name, value in parameters + received.pairs())
    normalized = "&".join(f"{name}={value}" for name, value in encoded)
    host = received.headers.get("Host", "").lower().removesuffix(":80")
    return "&".join(map(_encoded, (received.method.upper(), f"http://{host}{received.path}", normalized)))


def _encoded(text: str) -> str:
    return quote(text, safe="-._~")
