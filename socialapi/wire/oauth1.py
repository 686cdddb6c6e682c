"""`Authorization` headers as pure functions: OAuth 1.0a, Bearer and Basic."""

import base64
import binascii
import hmac
from collections.abc import Mapping
from urllib.parse import quote

import attrs

from socialapi.credentials import OAuth1
from socialapi.errors import ConfigurationError


@attrs.frozen
class SignIn:
    """The credentials of one step of an OAuth 1.0a sign-in.

    They are the app's key and, from the third step on, the request token. `callback` and `verifier` are fields of the
    header (RFC 5849, sections 2.1 and 2.3).
    """

    api_key: str = attrs.field(repr=False)
    api_key_secret: str = attrs.field(repr=False)
    callback: str | None = attrs.field(default=None, repr=False)
    request_token: str | None = attrs.field(default=None, repr=False)
    request_token_secret: str | None = attrs.field(default=None, repr=False)
    verifier: str | None = attrs.field(default=None, repr=False)


class OAuth1Signer:
    """Signs requests with HMAC-SHA1 and one credential (RFC 5849, section 3).

    oauthlib normalizes each host, once. The parameters are already encoded as the signature requires, so they are only
    sorted and joined: decoding and encoding each of them again, as oauthlib does, takes ten times as long and changes
    nothing. oauthlib's `Client` also logs the key, token and parameters.
    """

    def __init__(self, credential: OAuth1 | SignIn) -> None:
        if isinstance(credential, OAuth1):
            credential = SignIn(
                credential.api_key,
                credential.api_key_secret,
                request_token=credential.access_token,
                request_token_secret=credential.access_token_secret,
            )
        fields = {
            "oauth_version": "1.0",
            "oauth_signature_method": "HMAC-SHA1",
            "oauth_consumer_key": credential.api_key,
            "oauth_token": credential.request_token,
            "oauth_callback": credential.callback,
            "oauth_verifier": credential.verifier,
        }
        key = f"{_encoded(credential.api_key_secret)}&{_encoded(credential.request_token_secret or '')}"
        self._keyed = hmac.new(key.encode(), digestmod="sha1")
        self._pairs = [[name, _encoded(value)] for name, value in fields.items() if value is not None]
        self._header = ", ".join([f'{name}="{value}"' for name, value in self._pairs])
        self._hosts: dict[str, str] = {}

    def header(self, method: str, url: str, *, form: str | None = None, nonce: str, timestamp: int) -> str:
        """Returns the `Authorization` header of a request.

        The query of `url` and a form body are signed; a JSON body is not (RFC 5849, section 3.4.1.3.1). Both must be
        results of `wire.encode.query_string`. Parameters named `oauth_…` are signed as they are sent, except
        `oauth_signature`. `nonce` has letters and digits only.
        """
        pairs = [["oauth_nonce", nonce], ["oauth_timestamp", str(timestamp)], *self._pairs]
        address, _, query = url.partition("?")
        for given in (query, form):
            if given:
                pairs += [pair.split("=") for pair in given.split("&") if not pair.startswith("oauth_signature=")]
        pairs.sort()
        *origin, path = address.split("/", 3)
        host = "/".join(origin)
        # The number of hosts is bounded by the configuration.
        found = self._hosts.get(host)
        if found is None:
            from oauthlib.oauth1.rfc5849 import signature as steps

            found = self._hosts[host] = _encoded(steps.base_string_uri(f"{host}/"))
        # Names and values are already encoded, so nothing else needs encoding here.
        parameters = "&".join(map("=".join, pairs)).replace("%", "%25").replace("&", "%26").replace("=", "%3D")
        keyed = self._keyed.copy()
        keyed.update(f"{method.upper()}&{found}{_encoded(path)}&{parameters}".encode("ascii"))
        signature = binascii.b2a_base64(keyed.digest(), newline=False).decode("ascii")
        signature = signature.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
        return (
            f'OAuth oauth_nonce="{nonce}", oauth_timestamp="{timestamp}", {self._header}, oauth_signature="{signature}"'
        )


def _encoded(text: str) -> str:
    return quote(text, safe="")


def is_token(text: object) -> bool:
    """Returns whether a value can be sent as a token or secret: a non-empty string of visible ASCII (RFC 6750)."""
    return isinstance(text, str) and text != "" and text.isascii() and text.isprintable() and " " not in text


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises ConfigurationError, without showing the value, for a header value that is not printable ASCII."""
    together = "".join(headers.values())
    if together.isascii() and together.isprintable():
        return
    unusable = next(name for name, value in headers.items() if not (value.isascii() and value.isprintable()))
    raise ConfigurationError(
        f"the header {unusable} would contain characters that are not allowed in a header: its parts (a credential, "
        "for example) must be visible ASCII"
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
