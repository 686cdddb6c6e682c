"""Authorisation headers as pure functions: OAuth 1.0a (platform documentation, section 5.3), Bearer, Basic."""

import base64
from typing import Any
from urllib.parse import quote, urlsplit

import attrs
from oauthlib.oauth1.rfc5849 import signature

from socialapi.credentials import OAuth1


@attrs.frozen(repr=False)
class _Secrets:
    """Both secrets, by the names that oauthlib looks for."""

    client_secret: str
    resource_owner_secret: str


def oauth1_header(
    credential: OAuth1, method: str, url: str, *, form: str | None = None, nonce: str, timestamp: int
) -> str:
    """The `Authorization` header that signs a request with HMAC-SHA1.

    The query of `url` and a form body are signed. A JSON body is not, as RFC 5849 section 3.4.1.3.1 has it. The
    steps are oauthlib's; its `Client`, which takes them all at once, logs key, token and parameters on the way.
    """
    protocol = [
        ("oauth_nonce", nonce),
        ("oauth_timestamp", str(timestamp)),
        ("oauth_version", "1.0"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_consumer_key", credential.api_key),
        ("oauth_token", credential.access_token),
    ]
    steps: Any = signature  # whose published types are not those it takes
    collected = steps.collect_parameters(uri_query=urlsplit(url).query, body=form or "")
    normalized = steps.normalize_parameters([*collected, *protocol])
    base = steps.signature_base_string(method, steps.base_string_uri(url), normalized)
    signed = steps.sign_hmac_sha1_with_client(base, _Secrets(credential.api_key_secret, credential.access_token_secret))
    pairs = [f'{quote(name, safe="")}="{quote(value, safe="")}"' for name, value in protocol]
    return f'OAuth {", ".join(pairs)}, oauth_signature="{quote(signed, safe="")}"'


def bearer_header(token: str) -> str:
    """The `Authorization` header of a bearer token."""
    return f"Bearer {token}"


def basic_header(user: str, password: str) -> str:
    """The `Authorization` header of an app's key and secret, each percent-encoded first (RFC 6749, section 2.3.1)."""
    pair = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")
