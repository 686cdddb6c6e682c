"""Authorisation headers as pure functions: OAuth 1.0a (platform documentation, section 5.3), Bearer, Basic."""

import base64
from typing import Any, cast
from urllib.parse import quote, urlsplit

import attrs
from oauthlib.common import Request as OAuthRequest
from oauthlib.oauth1 import Client
from oauthlib.oauth1.rfc5849 import signature

from socialapi.credentials import OAuth1
from socialapi.wire.request import FORM


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

    The query of `url` and a form body are signed. A JSON body is not, as RFC 5849 section 3.4.1.3.1 has it, and is
    not handed to oauthlib either, which would hash it: 123 ms for 5 MB.
    """
    signer = _Signer(
        credential.api_key,
        credential.api_key_secret,
        nonce=nonce,
        timestamp=str(timestamp),
        **_token_fields(credential),
    )
    # oauthlib takes a form for one only under this very content type, without a charset.
    headers = {"Content-Type": FORM} if form is not None else {}
    _, signed, _ = signer.sign(url, cast("Any", method), body=form, headers=headers)
    header: str = signed["Authorization"]
    return header


class _Signer(Client):
    """oauthlib's, but for its log, which has the tokens and verifiers of every request it signs."""

    def get_oauth_signature(self, request: OAuthRequest) -> str:
        """The signature (RFC 5849, section 3.4)."""
        collected: Any = signature.collect_parameters(
            uri_query=urlsplit(request.uri).query, body=request.decoded_body or []
        )
        base = signature.signature_base_string(
            request.http_method,
            signature.base_string_uri(request.uri),
            signature.normalize_parameters(collected + request.oauth_params),
        )
        made: str = signature.sign_hmac_sha1_with_client(base, self)
        return made


def _token_fields(credential: OAuth1 | SignIn) -> dict[str, Any]:
    """The fields beyond the app's own, as oauthlib names them; those that are None are not sent."""
    if isinstance(credential, OAuth1):
        return {
            "resource_owner_key": credential.access_token,
            "resource_owner_secret": credential.access_token_secret,
        }
    return {
        "resource_owner_key": credential.request_token,
        "resource_owner_secret": credential.request_token_secret,
        "callback_uri": credential.callback,
        "verifier": credential.verifier,
    }


def bearer_header(token: str) -> str:
    """The `Authorization` header of a bearer token."""
    return f"Bearer {token}"


def basic_header(user: str, password: str) -> str:
    """The `Authorization` header of an app's key and secret, each percent-encoded first (RFC 6749, section 2.3.1)."""
    pair = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")
