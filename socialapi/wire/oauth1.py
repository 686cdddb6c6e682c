"""Authorisation headers as pure functions: OAuth 1.0a (platform documentation, section 5.3), Bearer, Basic."""

import base64
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import attrs

from socialapi.credentials import OAuth1
from socialapi.errors import ConfigurationError, DecodeError


@attrs.frozen(repr=False)
class _Secrets:
    """Both secrets, by the names that oauthlib looks for."""

    client_secret: str
    resource_owner_secret: str


@attrs.frozen
class SignIn:
    """Who signs a step of a sign-in (section 5.3): the app, and from the third step on with the request token.

    `callback` and `verifier` are fields of the header, as RFC 5849 has it (sections 2.1 and 2.3).
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
    """The `Authorization` header that signs a request with HMAC-SHA1.

    The query of `url` and a form body are signed. A JSON body is not, as RFC 5849 section 3.4.1.3.1 has it. The
    steps are oauthlib's; its `Client`, which takes them all at once, logs key, token and parameters on the way.
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
    steps: Any = signature  # whose published types are not those it takes
    collected = steps.collect_parameters(uri_query=urlsplit(url).query, body=form or "")
    normalized = steps.normalize_parameters([*collected, *protocol])
    base = steps.signature_base_string(method, steps.base_string_uri(url), normalized)
    signed = steps.sign_hmac_sha1_with_client(base, _Secrets(credential.api_key_secret, _token_secret(credential)))
    pairs = [f'{quote(name, safe="")}="{quote(value, safe="")}"' for name, value in protocol]
    return f'OAuth {", ".join(pairs)}, oauth_signature="{quote(signed, safe="")}"'


def _fields(credential: OAuth1 | SignIn) -> list[tuple[str, str]]:
    """The fields beyond those of every request; what there is none of is not sent."""
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
    """Whether this can go out as a token or a secret: a text of visible ASCII characters, not empty (RFC 6750)."""
    return isinstance(text, str) and text != "" and text.isascii() and text.isprintable() and " " not in text


_TOKENS: Final = ("access_token", "refresh_token", "oauth_token", "oauth_token_secret")


def refuse_unusable(answered: object) -> None:
    """Raises DecodeError, which does not show it, when a token that was answered could not be sent."""
    from socialapi.models.oauth import InvalidatedToken  # a module that is there by now

    if isinstance(answered, InvalidatedToken):
        return  # nobody is going to send it
    for name in _TOKENS:
        token = getattr(answered, name, None)
        if token is not None and not is_token(token):
            raise DecodeError(
                name, "is no token: it is empty, or has blanks, control characters or letters beyond ASCII"
            )


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises ConfigurationError, which shows no value, for a header that could not arrive as it is."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise ConfigurationError(
                f"the header {name} would hold characters that no header can: what it is made of (a credential, say) "
                "must be visible ASCII"
            )


def bearer_header(token: str) -> str:
    """The `Authorization` header of a bearer token."""
    return f"Bearer {token}"


def basic_header(user: str, password: str) -> str:
    """The `Authorization` header of an app's key and secret, each percent-encoded first (RFC 6749, section 2.3.1)."""
    pair = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")
