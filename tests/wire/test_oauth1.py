"""Signatures, judged by others: oauthlib's server side, and the client of authlib, another library."""

import base64
import random
import string
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from authlib.oauth1 import ClientAuth
from hypothesis import given
from hypothesis import strategies as st
from oauthlib.oauth1 import Client, RequestValidator, ResourceEndpoint
from oauthlib.oauth1.rfc5849 import signature as reference

from socialapi.config import Config
from socialapi.credentials import OAuth1
from socialapi.routes.route import ADS, Route
from socialapi.wire.encode import query_string
from socialapi.wire.oauth1 import OAuth1Signer, basic_header, bearer_header
from socialapi.wire.request import FORM, Request
from tests.support.requests import assemble

CREDENTIAL = OAuth1("key", "key-secret&", "token", "token+secret")
NONCE = "0123456789abcdef0123456789abcdef"
TIMESTAMP = 1_800_000_000
CONFIG = Config(ads_url="https://ads.example.com/api")

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
# authlib leaves out `realm` wherever it stands; the standard only means the one of the Authorization header.
# oauthlib's verifier takes a body parameter called `oauth_…` for one of the protocol, as RFC 5849 reserves the prefix.
NAMES = TEXT.filter(lambda name: name not in ("", "realm") and not name.startswith("oauth_"))
PARAMETERS = st.dictionaries(NAMES, TEXT, max_size=4)


class Validator(RequestValidator):
    """Knows one client and one token, and takes timestamps of any age."""

    timestamp_lifetime = 10**10

    def check_client_key(self, client_key: str) -> bool:
        return client_key == CREDENTIAL.api_key

    def check_access_token(self, request_token: str) -> bool:
        return request_token == CREDENTIAL.access_token

    def check_nonce(self, nonce: str) -> bool:
        return nonce == NONCE

    def validate_client_key(self, client_key: str, request: Any) -> bool:
        return True

    def validate_access_token(self, client_key: str, token: str, request: Any) -> bool:
        return True

    def validate_timestamp_and_nonce(self, *arguments: Any, **options: Any) -> bool:
        return True

    def validate_realms(self, *arguments: Any, **options: Any) -> bool:
        return True

    def get_client_secret(self, client_key: str, request: Any) -> str:
        return CREDENTIAL.api_key_secret

    def get_access_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return CREDENTIAL.access_token_secret


def sign(request: Request[Any], timestamp: int = TIMESTAMP) -> str:
    return OAuth1Signer(CREDENTIAL).header(
        request.method, request.url, form=request.form, nonce=NONCE, timestamp=timestamp
    )


def signature(header: str) -> str:
    (found,) = [part for part in header.removeprefix("OAuth ").split(", ") if part.startswith("oauth_signature=")]
    return unquote(found.partition("=")[2].strip('"'))


def verified(request: Request[Any], header: str, body: bytes) -> bool:
    headers = {**request.headers, "Authorization": header}
    verifier = ResourceEndpoint(Validator())
    valid, _ = verifier.validate_protected_resource_request(request.url, request.method, body.decode(), headers)
    return bool(valid)


def by_authlib(request: Request[Any], body: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    import authlib.oauth1.rfc5849.client_auth as theirs

    monkeypatch.setattr(theirs, "generate_nonce", lambda: NONCE)
    monkeypatch.setattr(theirs, "generate_timestamp", lambda: str(TIMESTAMP))
    client = ClientAuth(
        CREDENTIAL.api_key,
        CREDENTIAL.api_key_secret,
        token=CREDENTIAL.access_token,
        token_secret=CREDENTIAL.access_token_secret,
    )
    _, headers, _ = client.prepare(request.method, request.url, dict(request.headers), body)
    return signature(headers["Authorization"])


def query_request(parameters: dict[str, str], method: Any = "GET", path: str = "/12/accounts") -> Request[Any]:
    return assemble(Route(method, ADS, path, dict).at(), CONFIG, parameters, ())


def form_request(parameters: dict[str, str]) -> Request[Any]:
    form = query_string(parameters)
    return assemble(Route("POST", ADS, "/12/x", dict, Any, "form").at(), CONFIG, {"a": "b"}, (form.encode(),), form)


def json_request(content: bytes) -> Request[Any]:
    return assemble(Route("POST", ADS, "/12/x", dict, Any, "json").at(), CONFIG, {"a": "b c"}, (content,))


ODD = ["a b", "a+b", "a%20b", "a&b=c", "ü☃𝄞", "~-._", "!*'();:@&=+$,/?#[]", "\0\n\r\t", "'\"", "a,b,c", ""]


@given(PARAMETERS)
def test_every_query_is_signed_as_others_sign_it(parameters: dict[str, str]) -> None:
    request = query_request(parameters)
    header = sign(request)
    assert verified(request, header, b"")
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert by_authlib(request, b"", monkeypatch) == signature(header)


@pytest.mark.parametrize("in_form", [False, True])
def test_parameters_named_oauth_are_signed_as_they_are_sent(in_form: bool) -> None:
    """By the steps of oauthlib; its client decodes such values once more, and its verifier takes them for its own."""
    mine = {"oauth_hint": "a%2Fb+c d", "oauth_token": "ü&=", "oauth_verifier": "", "oauth": "1"}
    request = form_request(mine) if in_form else query_request(mine)
    header = sign(request)
    fields = [tuple(part.split("=", 1)) for part in header.removeprefix("OAuth ").split(", ")]
    protocol = [(name, unquote(value.strip('"'))) for name, value in fields if name != "oauth_signature"]
    address, _, query = request.url.partition("?")
    sent = parse_qsl(f"{query}&{b''.join(request.body).decode()}", keep_blank_values=True)
    assert set(mine.items()) <= set(sent)
    parameters = reference.normalize_parameters([*protocol, *sent])  # type: ignore[arg-type]  # which takes pairs
    base = reference.signature_base_string("POST" if in_form else "GET", reference.base_string_uri(address), parameters)
    theirs = Client("", CREDENTIAL.api_key_secret, "", CREDENTIAL.access_token_secret)
    assert reference.sign_hmac_sha1_with_client(base, theirs) == signature(header)


def test_a_json_body_is_no_part_of_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'[{"operation_type":"Update"}]'
    request = json_request(body)
    header = sign(request)
    assert header == sign(json_request(b"[]"))
    assert "oauth_body_hash" not in header
    assert verified(request, header, body)
    assert by_authlib(request, body, monkeypatch) == signature(header)


def test_the_header_has_the_documented_fields_and_a_known_signature() -> None:
    header = sign(query_request({"include_entities": "true"}))
    fields = dict(part.split("=", 1) for part in header.removeprefix("OAuth ").split(", "))
    assert fields == {
        "oauth_nonce": f'"{NONCE}"',
        "oauth_timestamp": '"1800000000"',
        "oauth_version": '"1.0"',
        "oauth_signature_method": '"HMAC-SHA1"',
        "oauth_consumer_key": '"key"',
        "oauth_token": '"token"',
        "oauth_signature": fields["oauth_signature"],
    }
    assert len(base64.b64decode(signature(header))) == 20


PIECES = [*ODD, *string.ascii_letters, "%", "%41", "%2", "token", "signature", "Zürich", "\U0001f9a6"]
HOSTS = ["ads-api.example.com", "ADS-API.Example.COM", "127.0.0.1", "[2001:DB8::1]", "a-b.example"]
PORTS = ["", "", ":443", ":80", ":8443"]
SEGMENTS = ["12", "accounts", "18ce54", "a%2Fb", "~-._", "%C3%BC", "x;y", "a:b@c", "(1,2)", ""]


class RandomRequests:
    """Requests to any address, with any parameters, which are encoded as this client encodes them."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def text(self) -> str:
        return "".join(self._rng.choices(PIECES, k=self._rng.choice([0, 1, 1, 2, 5])))

    def parameters(self) -> str:
        names = [self.text() for _ in range(self._rng.choice([0, 1, 1, 2, 6]))]
        return "&".join(query_string({name: self.text()}) for name in [*names, *names[:1]])

    def url(self) -> str:
        scheme = self._rng.choice(["https", "http", "HTTP"])
        segments = self._rng.choices(SEGMENTS, k=self._rng.randrange(1, 5))
        query = self.parameters()
        address = f"{scheme}://{self._rng.choice(HOSTS)}{self._rng.choice(PORTS)}/{'/'.join(segments)}"
        return address + (f"?{query}" if query else self._rng.choice(["", "?"]))

    def __call__(self) -> tuple[str, str, str | None]:
        method = self._rng.choice(["GET", "POST", "PUT", "DELETE"])
        return method, self.url(), self.parameters() if method == "POST" and self._rng.random() < 0.5 else None


@pytest.mark.slow
def test_ten_thousand_random_requests_are_signed_as_oauthlib_signs_them_by_itself() -> None:
    make, signer = RandomRequests(5849), OAuth1Signer(CREDENTIAL)
    secrets = (CREDENTIAL.api_key, CREDENTIAL.api_key_secret, CREDENTIAL.access_token, CREDENTIAL.access_token_secret)
    theirs = Client(*secrets, nonce=NONCE, timestamp=str(TIMESTAMP))
    for _ in range(10_000):
        method, url, form = make()
        headers = {"Content-Type": FORM} if form else {}
        _, signed, _ = theirs.sign(url, method, body=form or None, headers=headers)  # type: ignore[arg-type]  # any text
        made = signer.header(method, url, form=form, nonce=NONCE, timestamp=TIMESTAMP)
        assert made == signed["Authorization"], (method, url, form)


def test_anything_that_is_signed_changes_the_signature() -> None:
    known = signature(sign(query_request({"a": "1"})))
    others = {
        signature(sign(query_request({"a": "2"}))),
        signature(sign(query_request({"a": "1"}, "DELETE"))),
        signature(sign(query_request({"a": "1"}, path="/12/cards"))),
        signature(sign(query_request({"a": "1"}), TIMESTAMP + 1)),
        signature(sign(form_request({"a": "1"}))),
    }
    assert len(others | {known}) == 6


def test_a_key_and_secret_are_percent_encoded_before_they_are_joined() -> None:
    assert bearer_header("AAAA%2F") == "Bearer AAAA%2F"
    assert base64.b64decode(basic_header("k:1", "s ü").removeprefix("Basic ")) == b"k%3A1:s%20%C3%BC"
