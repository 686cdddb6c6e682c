"""Targets: addresses, signatures, settings and options."""

import datetime
import functools
import re
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

import orjson
from oauthlib import oauth1
from oauthlib.oauth1.rfc5849 import signature as reference
from oauthlib.oauth1.rfc5849 import utils

from socialapi.cli.credential_store import misspelled_variables
from socialapi.cli.emulator import _place, _target
from socialapi.cli.listing import is_position
from socialapi.cli.options import _whole, dated_path, mapping_of, time
from socialapi.cli.sign_in import Loopback, _code_of, _verifier_of
from socialapi.cli.webhooks import _parameter
from socialapi.config import Config, is_file_path
from socialapi.credentials import OAuth1, credentials_from_env
from socialapi.errors import ConfigurationError, InvalidInput, SocialApiError
from socialapi.integrations.redis_server import _loose_password
from socialapi.models.oauth import RequestToken
from socialapi.models.products import Product
from socialapi.models.validation import broken_rules
from socialapi.resources.oauth import _check_url
from socialapi.routes.undeclared import ad_hoc_target
from socialapi.session.forwarder import _checked
from socialapi.session.network import Certificates, Proxies, read_proxy
from socialapi.wire.decode import decode_json
from socialapi.wire.oauth1 import OAuth1Signer, check_headers
from tests.fuzz.answers import every_route
from tests.fuzz.target import MARKER, Pieces, completed, scratch_folder, target

NOW: Final = datetime.datetime(2027, 1, 15, 8, tzinfo=datetime.UTC)
SIGNED: Final = OAuth1("key", "key-secret&=%", "token", "token-secret/+")


@target("oauth1", "wire.oauth1:OAuth1Signer.header", refusals=(ValueError,), hides=False)
def _oauth1(data: bytes) -> None:
    """A signature is the one that oauthlib makes of the same request, or both refuse the address.

    Parameters are signed as the bytes that are sent (RFC 5849, section 3.4.1.3), which the SDK encodes
    before. oauthlib puts another character for bytes that are not UTF-8, and decodes those named
    `oauth_…` twice.
    """
    pieces = Pieces(data)
    method = pieces.one_of("GET", "POST", "delete")
    host = pieces.one_of("https://api.example", "http://API.example:80", "https://[::1]:8080")
    path, query, form = pieces.text(), _as_sent(pieces.text()), _as_sent(pieces.text())
    url = f"{host}/{path}{'?' if query else ''}{query}"
    if not url.isascii() or any(sign in path for sign in "?#; \\") or not url.isprintable():
        return  # the SDK encodes or refuses these before it signs
    fields = [("oauth_nonce", "n"), ("oauth_timestamp", "1"), ("oauth_version", "1.0")]
    fields += [("oauth_consumer_key", SIGNED.api_key), ("oauth_token", SIGNED.access_token)]
    fields += [("oauth_signature_method", "HMAC-SHA1")]
    steps: Any = reference
    given = [*_pairs(urlsplit(url).query), *_pairs(form)]
    own = [(quote(name, safe=""), quote(value, safe="")) for name, value in fields]
    encoded = [(quote(name, safe=""), quote(value, safe="")) for name, value in given if name != b"oauth_signature"]
    normalized = "&".join(f"{name}={value}" for name, value in sorted(own + encoded))
    if all(_is_utf_8(name + value) and not name.startswith(b"oauth_") for name, value in given):
        with suppress(ValueError):  # for what no browser would write, of which it makes no pairs
            collected = steps.collect_parameters(uri_query=urlsplit(url).query, body=form) + fields
            assert steps.normalize_parameters(collected) == normalized
    base = steps.signature_base_string(method, reference.base_string_uri(url), normalized)
    client = oauth1.Client(SIGNED.api_key, SIGNED.api_key_secret, SIGNED.access_token, SIGNED.access_token_secret)
    expected = utils.escape(reference.sign_hmac_sha1_with_client(base, client))
    header = OAuth1Signer(SIGNED).header(method, url, form=form, nonce="n", timestamp=1)
    check_headers({"authorization": header})
    assert header.endswith(f'oauth_signature="{expected}"')


def _pairs(encoded: str) -> list[tuple[bytes, bytes]]:
    """The names and values of a query or a form, as the bytes that they stand for."""
    parts = [part.replace("+", " ").partition("=") for part in encoded.split("&") if part]
    return [(unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in parts]


def _as_sent(encoded: str) -> str:
    """A query or a form as the SDK encodes it."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in _pairs(encoded))


def _is_utf_8(content: bytes) -> bool:
    return content.decode("utf-8", "ignore").encode() == content


@target("redirect", "cli.sign_in:Loopback._reply", refusals=(SocialApiError,))
def _redirect(data: bytes) -> None:
    """A request of anybody to the listener of a sign-in has an answer that repeats nothing of it."""
    pieces = Pieces(data)
    token = RequestToken(oauth_token="token", oauth_token_secret="secret")
    judge = pieces.one_of(_code_of("state"), _verifier_of(token))
    completed(_answer_redirect(judge, pieces.rest()))


async def _answer_redirect(judge: Any, request: bytes) -> None:
    listener = Loopback(0)
    listener._judge = judge
    page, result = listener._reply(request.partition(b"\r\n")[0].decode("latin-1"))
    assert MARKER.decode() not in "".join(page)
    assert result is None or b"state=state" in request or b"oauth_token=token" in request or b"%" in request


VARIABLES: Final = ("HTTPS_PROXY", "http_proxy", "NO_PROXY", "SOCIALAPI_PROXY", "SSL_CERT_FILE", "SOCIALAPI_CA_FILE")


@target(
    "network",
    "session.network:read_proxy",
    "session.network:Proxies.from_env",
    "session.network:Proxies.choose",
    "config:is_loopback",
)
def _network(data: bytes) -> None:
    """The environment names the proxy of a host, or what is wrong with it, without passwords."""
    pieces = Pieces(data)
    environ = {name: text for name in VARIABLES if (text := pieces.text())}
    host, port = pieces.text() or "api.example", pieces.number(65_536)
    proxies = Proxies.from_env(environ, own=bool(port % 2))
    assert MARKER.decode() not in repr(proxies)
    exempt = environ.get("NO_PROXY", "").split(",")
    if "*" in exempt or host in ("localhost", "127.0.0.1", "::1") or (host in exempt and re.fullmatch("[a-z.]+", host)):
        # A proxy that was given for this package alone is for every host.
        assert proxies.choose("https", host, port) is proxies.given
    certificates = Certificates.from_env({**environ, "SOCIALAPI_CLIENT_CERT": ""}, own=True)
    assert certificates is None or MARKER.decode() not in repr(certificates)
    proxy = proxies.choose("https", host, port)
    if proxy is not None:
        assert read_proxy("proxy", proxy.url).url == proxy.url
        check_headers({"proxy-authorization": proxy.authorization or "x"})
        assert "@" not in proxy.url


SETTINGS: Final = ("BASE_URL", "ADS_URL", "TIMEOUT_SECONDS", "RETRIES", "MAX_WAIT_SECONDS", "INTERACTIVE_RESERVE")
SECRETS: Final = ("API_KEY", "API_KEY_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET", "BEARER_TOKEN")


@target("environment", "config:Config.from_env", "config:_read_file", hides=False)
def _environment(data: bytes) -> None:
    """Settings of variables and of a file are taken, or refused by name."""
    pieces = Pieces(data)
    environ = {f"SOCIALAPI_{name}": text for name in SETTINGS if (text := pieces.text())}
    path = scratch_folder() / "config.toml"
    path.write_bytes(pieces.rest())
    misspelled_variables(environ)
    for given in (environ, {"SOCIALAPI_CONFIG_FILE": str(path)}):
        with suppress(ConfigurationError):
            config = Config.from_env(given)
            assert 0 < config.timeout_seconds < 2**53
            assert not config.base_url or urlsplit(config.base_url).scheme in ("http", "https")


@target("credentials", "credentials:credentials_from_env")
def _credentials(data: bytes) -> None:
    """Credentials of variables can be sent, or are refused without being shown."""
    pieces = Pieces(data)
    names = [f"SOCIALAPI_{name}" for name in (*SECRETS, "OAUTH2_ACCESS_TOKEN", "OAUTH2_REFRESH_TOKEN")]
    found = credentials_from_env({name: text for name in names if (text := pieces.text())})
    assert MARKER.decode() not in repr(found)


@target(
    "options",
    "cli.options:dated_path",
    "cli.options:mapping_of",
    "cli.emulator:_target",
    hides=False,
    refusals=(InvalidInput, ValueError),
)
def _options(data: bytes) -> None:
    """The values of options are read, or refused by a sentence."""
    pieces = Pieces(data)
    text = pieces.text()
    token: Any = Token(text)
    for read in (
        lambda: dated_path(None, [token]),
        lambda: mapping_of([text]),
        lambda: is_position(None, text),
        lambda: _whole(None, [token]),
        lambda: _target(text),
        lambda: time("--start", text),
        lambda: _parameter(text),
    ):
        with suppress(InvalidInput, ValueError):
            read()
    assert is_file_path(text) in (True, False)


class Token:
    """A word of a command line, as the library of the commands hands it over."""

    def __init__(self, value: str) -> None:
        self.value = value


@target(
    "addresses",
    "resources.oauth:_check_url",
    "session.forwarder:_checked",
    "routes.undeclared:ad_hoc_target",
    "cli.emulator:_place",
    refusals=(),
)
def _addresses(data: bytes) -> None:
    """Addresses of callers are taken, or refused without being shown."""
    pieces = Pieces(data)
    method, text = pieces.one_of("GET", "put", "\n"), pieces.text()
    for read in (
        lambda: _check_url("redirect_uri", text),
        lambda: _checked(text),
        lambda: ad_hoc_target(method, text, "ads", None),
        lambda: ad_hoc_target(method, text, "platform", "user"),
        lambda: _loose_password(text),
        lambda: _place(text),
    ):
        try:
            read()
        except (InvalidInput, ConfigurationError) as refusal:
            assert MARKER.decode() not in str(refusal)  # noqa: PT017  # any of several sentences


@functools.cache
def _declarations() -> list[Any]:
    """What routes take, bodies and queries, and a product, of which a body has any number."""
    declared = [each for route in every_route() for each in (route.body, route.query) if each is not None]
    return [Product, *sorted(dict.fromkeys(declared), key=repr)]


@target("rules", "models.validation:broken_rules", "models.products:_sale_rules", refusals=(), hides=False)
def _rules(data: bytes) -> None:
    """Whatever is to be sent keeps the rules of its route, or breaks some that quote nothing."""
    pieces = Pieces(data)
    declared = _declarations()
    kind, content = declared[pieces.number(len(declared))], pieces.rest()
    with suppress(orjson.JSONDecodeError):
        for rule in broken_rules(kind, decode_json(content), now=NOW):
            assert MARKER.decode() not in rule.reason
