"""`Authorization` headers as pure functions: OAuth 1.0a, Bearer and Basic."""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

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


_PART: Final = (
    r"(?:[A-Za-z0-9._~-]|%(?:[01][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]))*+"  # ASCII, as RFC 3986 encodes it
)
_PAIRS: Final = rf"{_PART}={_PART}(?:&{_PART}={_PART})*+"
_CANONICAL_PAIRS: Final = re.compile(_PAIRS)
_CANONICAL_URL: Final = re.compile(rf"(https?://[A-Za-z0-9.:\[\]-]+)(/[A-Za-z0-9._~/%-]*+)(?:\?({_PAIRS})?)?")
"""Matches the host, path and query of a URL whose parts go into the signature unchanged. RFC 5849 requires decoding and
encoding every parameter, which changes nothing in such a URL.
"""


class OAuth1Signer:
    """Signs requests with HMAC-SHA1 and one credential (RFC 5849, section 3).

    oauthlib normalizes each host once, and each request that is not in canonical form. Most requests are canonical,
    because this package encodes them; sorting and joining their parameters here takes a tenth of the time. This class
    calls the individual steps of oauthlib, because oauthlib's `Client` logs the key, token and parameters.
    """

    def __init__(self, credential: OAuth1 | SignIn) -> None:
        fields = {
            "oauth_version": "1.0",
            "oauth_signature_method": "HMAC-SHA1",
            "oauth_consumer_key": credential.api_key,
            **_fields(credential),
        }
        secret = credential.access_token_secret if isinstance(credential, OAuth1) else credential.request_token_secret
        key = f"{_encoded(credential.api_key_secret)}&{_encoded(secret or '')}"
        self._keyed = hmac.new(key.encode(), digestmod="sha1")
        self._pairs = [[name, _encoded(value)] for name, value in fields.items()]
        self._header = ", ".join([f'{name}="{value}"' for name, value in self._pairs])
        self._hosts: dict[str, str] = {}

    def header(self, method: str, url: str, *, form: str | None = None, nonce: str, timestamp: int) -> str:
        """Returns the `Authorization` header of a request.

        The query of `url` and a form body are signed; a JSON body is not (RFC 5849, section
        3.4.1.3.1). `nonce` has letters and digits only.
        """
        pairs = [["oauth_nonce", nonce], ["oauth_timestamp", str(timestamp)], *self._pairs]
        split = _CANONICAL_URL.fullmatch(url)
        if (
            split is not None
            and "oauth_signature=" not in f"{url}&{form or ''}"
            and (not form or _CANONICAL_PAIRS.fullmatch(form))
        ):
            host, path, query = split.groups()
            for given in (query, form):
                if given:
                    pairs += [pair.split("=") for pair in given.split("&")]
            # The number of hosts is bounded by the configuration.
            found = self._hosts.get(host)
            if found is None:
                found = self._hosts[host] = _encoded(_base_string_uri(f"{host}/").removesuffix("/"))
            address = found + path.replace("%", "%25").replace("/", "%2F")
        else:
            pairs += _collected(url, form)
            address = _encoded(_base_string_uri(url))
        pairs.sort()
        # Names and values are already encoded, so nothing else needs encoding here.
        parameters = "&".join(map("=".join, pairs)).replace("%", "%25").replace("&", "%26").replace("=", "%3D")
        keyed = self._keyed.copy()
        keyed.update(f"{method.upper()}&{address}&{parameters}".encode("ascii"))
        signature = binascii.b2a_base64(keyed.digest(), newline=False).decode("ascii")
        signature = signature.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
        return (
            f'OAuth oauth_nonce="{nonce}", oauth_timestamp="{timestamp}", {self._header}, oauth_signature="{signature}"'
        )


def _encoded(text: str) -> str:
    return quote(text, safe="")


def _collected(url: str, form: str | None) -> list[list[str]]:
    """Returns the parameters of a query and a form, in any encoding, as encoded pairs.

    Parameters named `oauth_…` are signed as they are sent, like all others. oauthlib would decode their values once
    more. `oauth_signature` is not signed (RFC 5849, section 3.4.1.3.1).
    """
    given = (urlsplit(url).query, form or "")
    pairs = [pair for each in given for pair in parse_qsl(each, keep_blank_values=True, errors="surrogateescape")]
    return [
        [quote(part, safe="", errors="surrogateescape") for part in pair]
        for pair in pairs
        if pair[0] != "oauth_signature"
    ]


def _base_string_uri(url: str) -> str:
    """Returns a URL without its query, normalized (RFC 5849, section 3.4.1.2)."""
    from oauthlib.oauth1.rfc5849 import signature

    return signature.base_string_uri(url)


def _fields(credential: OAuth1 | SignIn) -> dict[str, str]:
    """Returns the OAuth fields that only some requests have. Omits fields without a value."""
    if isinstance(credential, OAuth1):
        return {"oauth_token": credential.access_token}
    fields = {
        "oauth_token": credential.request_token,
        "oauth_callback": credential.callback,
        "oauth_verifier": credential.verifier,
    }
    return {name: value for name, value in fields.items() if value is not None}


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
