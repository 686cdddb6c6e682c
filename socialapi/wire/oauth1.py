"""`Authorization` headers as pure functions: OAuth 1.0a (platform section 5.3), Bearer and
Basic.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import attrs

from socialapi.credentials import OAuth1
from socialapi.errors import ConfigurationError, DecodeError


@attrs.frozen(repr=False)
class _Secrets:
    """Both secrets, under the names that oauthlib expects."""

    client_secret: str
    resource_owner_secret: str


@attrs.frozen
class SignIn:
    """The credentials of one step of an OAuth 1.0a sign-in (platform section 5.3).

    These are the app's key and, from the third step on, the request token. `callback` and
    `verifier` are sent as fields of the header (RFC 5849, sections 2.1 and 2.3).
    """

    api_key: str = attrs.field(repr=False)
    api_key_secret: str = attrs.field(repr=False)
    callback: str | None = attrs.field(default=None, repr=False)
    request_token: str | None = attrs.field(default=None, repr=False)
    request_token_secret: str | None = attrs.field(default=None, repr=False)
    verifier: str | None = attrs.field(default=None, repr=False)


def oauth1_header(
    credential: OAuth1 | SignIn, method: str, url: str, *, form: str | None = None, nonce: str, timestamp: int
) -> str:
    """Returns the `Authorization` header that signs a request with HMAC-SHA1.

    The query of `url` and a form body are signed; a JSON body is not (RFC 5849, section 3.4.1.3.1).
    This calls the single steps of oauthlib, because its `Client` logs the key, token and
    parameters.
    """
    from oauthlib.oauth1.rfc5849 import signature

    protocol = [
        ("oauth_nonce", nonce),
        ("oauth_timestamp", str(timestamp)),
        ("oauth_version", "1.0"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_consumer_key", credential.api_key),
        *_fields(credential),
    ]
    steps: Any = signature  # its published types are not those it accepts
    collected = steps.collect_parameters(uri_query=urlsplit(url).query, body=form or "")
    normalized = steps.normalize_parameters([*collected, *protocol])
    base = steps.signature_base_string(method, steps.base_string_uri(url), normalized)
    signed = steps.sign_hmac_sha1_with_client(base, _Secrets(credential.api_key_secret, _token_secret(credential)))
    pairs = [f'{quote(name, safe="")}="{quote(value, safe="")}"' for name, value in protocol]
    return f'OAuth {", ".join(pairs)}, oauth_signature="{quote(signed, safe="")}"'


def _fields(credential: OAuth1 | SignIn) -> list[tuple[str, str]]:
    """Returns the OAuth fields besides those of every request. Fields without a value are
    left out.
    """
    if isinstance(credential, OAuth1):
        return [("oauth_token", credential.access_token)]
    fields = {
        "oauth_token": credential.request_token,
        "oauth_callback": credential.callback,
        "oauth_verifier": credential.verifier,
    }
    return [(name, value) for name, value in fields.items() if value is not None]


def _token_secret(credential: OAuth1 | SignIn) -> str:
    if isinstance(credential, OAuth1):
        return credential.access_token_secret
    return credential.request_token_secret or ""


def is_token(text: object) -> bool:
    """Returns whether a value can be sent as a token or secret: a non-empty string of visible ASCII
    (RFC 6750).
    """
    return isinstance(text, str) and text != "" and text.isascii() and text.isprintable() and " " not in text


_TOKENS: Final = ("access_token", "refresh_token", "oauth_token", "oauth_token_secret")


def refuse_unusable(answered: object) -> None:
    """Raises DecodeError, which does not show it, if an answer holds a token that could not be
    sent.
    """
    from socialapi.models.oauth import InvalidatedToken  # already imported by the caller

    if isinstance(answered, InvalidatedToken):
        return  # it is never sent
    for name in _TOKENS:
        token = getattr(answered, name, None)
        if token is not None and not is_token(token):
            raise DecodeError(
                name, "is no token: it is empty, or has blanks, control characters or letters beyond ASCII"
            )


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises ConfigurationError, which shows no value, for a header value that is not printable
    ASCII.
    """
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise ConfigurationError(
                f"the header {name} would hold characters that no header can: its parts (a credential, for example) "
                "must be visible ASCII"
            )


def bearer_header(token: str) -> str:
    """Returns the `Authorization` header of a bearer token."""
    return f"Bearer {token}"


def basic_header(user: str, password: str) -> str:
    """Returns the `Authorization` header for HTTP Basic with percent-encoded user and password.

    RFC 6749, section 2.3.1 requires the encoding.
    """
    pair = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")
