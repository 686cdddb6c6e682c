"""Authorisation headers as pure functions: OAuth 1.0a (platform documentation, section 5.3), Bearer, Basic."""

import base64
from typing import Any, cast
from urllib.parse import quote

from oauthlib.oauth1 import Client

from socialapi.credentials import OAuth1
from socialapi.wire.request import FORM


def oauth1_header(
    credential: OAuth1, method: str, url: str, *, form: str | None = None, nonce: str, timestamp: int
) -> str:
    """The `Authorization` header that signs a request with HMAC-SHA1.

    The query of `url` and a form body are signed. A JSON body is not, as RFC 5849 section 3.4.1.3.1 has it, and is
    not handed to oauthlib either, which would hash it: 123 ms for 5 MB.
    """
    signer = Client(
        credential.api_key,
        credential.api_key_secret,
        credential.access_token,
        credential.access_token_secret,
        nonce=nonce,
        timestamp=str(timestamp),
    )
    # oauthlib takes a form for one only under this very content type, without a charset.
    headers = {"Content-Type": FORM} if form is not None else {}
    _, signed, _ = signer.sign(url, cast("Any", method), body=form, headers=headers)
    header: str = signed["Authorization"]
    return header


def bearer_header(token: str) -> str:
    """The `Authorization` header of a bearer token."""
    return f"Bearer {token}"


def basic_header(user: str, password: str) -> str:
    """The `Authorization` header of an app's key and secret, each percent-encoded first (RFC 6749, section 2.3.1)."""
    pair = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")
