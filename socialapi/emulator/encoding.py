"""Signed, opaque texts that only the service can make, such as the tokens of pages."""

import base64
import binascii
import hmac
from typing import Final

_KEY: Final = b"socialapi emulator pagination"
_SEAL_BYTES: Final = 9


def seal_text(content: bytes, purpose: str) -> str:
    """The content as a text that is opaque to clients, and that `opened` takes for the same purpose only."""
    return base64.urlsafe_b64encode(_seal(content, purpose) + content).decode().rstrip("=")


def open_text(text: str, purpose: str) -> bytes | None:
    """The content; None of a text that was not made here for the purpose."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    content = raw[_SEAL_BYTES:]
    return content if hmac.compare_digest(raw[:_SEAL_BYTES], _seal(content, purpose)) else None


def _seal(content: bytes, purpose: str) -> bytes:
    return hmac.digest(_KEY, content + b"\0" + purpose.encode(), "sha256")[:_SEAL_BYTES]
