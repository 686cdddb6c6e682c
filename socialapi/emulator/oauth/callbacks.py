"""Checks callback addresses against those registered for the app (platform sections 5.3 and
5.4).
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlencode, urlsplit, urlunsplit

from socialapi.emulator.state import App

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def is_registered(app: App, url: str) -> bool:
    """Whether it is one of the app's addresses, with any query, or one on loopback, with any port.

    A loopback listener takes a free port, which nobody can register beforehand (RFC 8252, section 7.3).
    """
    parts = _parts(url)
    if parts is None:
        return False
    if parts.scheme == "http" and parts.hostname in _LOOPBACK:
        return True
    return urlunsplit(parts._replace(query="")) in app.callback_urls


def _parts(url: str) -> SplitResult | None:
    """An absolute web address without a user, a fragment, or anything that could break a header."""
    if not url.isascii() or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    is_plain = parts.scheme in ("http", "https") and parts.hostname and not parts.fragment and "@" not in parts.netloc
    return parts if is_plain else None


def with_parameters(url: str, parameters: Mapping[str, str]) -> str:
    """The address with parameters behind those that it has."""
    parts = urlsplit(url)
    query = "&".join(each for each in (parts.query, urlencode(parameters)) if each)
    return urlunsplit(parts._replace(query=query, path=parts.path or "/"))
