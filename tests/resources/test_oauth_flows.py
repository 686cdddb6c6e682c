"""Signing people in, against a service whose checks are those of oauthlib and authlib."""

import logging
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from socialapi import AppOnly, Bearer, Client, Config, OAuth1, errors
from socialapi.models.oauth import RequestToken
from tests.support.clock import VirtualClock
from tests.support.oauth_service import API_KEY, API_KEY_SECRET, CLIENT_ID, PAIRS, OAuthService
from tests.support.server import Cut, Fault, answer

APP: Final = AppOnly(API_KEY, API_KEY_SECRET)
REDIRECT: Final = "https://app.example/callback?from=page"


@pytest.fixture
async def service() -> AsyncIterator[OAuthService]:
    service = OAuthService()
    async with service.server:
        yield service


@pytest.fixture
async def client(service: OAuthService) -> AsyncIterator[Client]:
    async with Client(Config(base_url=service.url), [APP], clock=VirtualClock()) as client:
        yield client


def header_fields(header: str) -> dict[str, str]:
    assert header.startswith("OAuth ")
    pairs = (item.strip().partition("=") for item in header[len("OAuth ") :].split(","))
    return {name: value.strip('"') for name, _, value in pairs}


async def test_three_steps_give_a_token_that_the_service_takes_until_it_is_invalidated(
    service: OAuthService, client: Client
) -> None:
    token = await client.oauth.request_token("oob")
    access = await client.oauth.access_token(token, "7240810")
    assert (access.user_id, access.screen_name) == ("42", "ada")
    user = OAuth1(API_KEY, API_KEY_SECRET, access.oauth_token, access.oauth_token_secret)
    async with Client(Config(base_url=service.url), [user], clock=VirtualClock()) as signed_in:
        assert (await signed_in.request("GET", "/2/me")).body == {"data": {"as": access.oauth_token}}
        assert (await signed_in.oauth.invalidate_token()).access_token == access.oauth_token
        with pytest.raises(errors.Unauthorized) as refused:
            await signed_in.request("GET", "/2/me")
    assert refused.value.codes == (89,)


async def test_the_first_step_signs_the_callback_and_sends_exactly_the_documented_fields(
    service: OAuthService, client: Client
) -> None:
    await client.oauth.request_token(REDIRECT)
    (received,) = service.server.requests
    assert (received.method, received.path, received.body) == ("POST", "/oauth/request_token", b"")
    fields = header_fields(received.headers["authorization"])
    assert fields.keys() == {
        *("oauth_nonce", "oauth_callback", "oauth_signature_method", "oauth_timestamp"),
        *("oauth_consumer_key", "oauth_signature", "oauth_version"),
    }
    assert fields["oauth_callback"] == "https%3A%2F%2Fapp.example%2Fcallback%3Ffrom%3Dpage"
    assert (fields["oauth_signature_method"], fields["oauth_version"]) == ("HMAC-SHA1", "1.0")
    assert fields["oauth_timestamp"] == "1800000000"
    assert fields["oauth_nonce"].isascii()
    assert service.validator.callbacks == [REDIRECT]


@pytest.mark.parametrize("callback", ["", "app.example/callback", "https://app.example/a b", "https://[", "/callback"])
async def test_a_callback_that_is_no_address_is_refused_before_anything_is_sent(
    service: OAuthService, client: Client, callback: str
) -> None:
    with pytest.raises(errors.InvalidInput, match="callback must be a complete URL, or oob for a PIN"):
        await client.oauth.request_token(callback)
    assert service.server.requests == []


async def test_an_unknown_access_type_is_refused_before_anything_is_sent(service: OAuthService, client: Client) -> None:
    with pytest.raises(errors.InvalidInput, match="service_auth_access_type: must be one of read, write"):
        await client.oauth.request_token("oob", access_type="admin")  # type: ignore[arg-type]
    assert service.server.requests == []


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"oauth_token=t%26t&oauth_token_secret=s&oauth_callback_confirmed=true", PAIRS),
        (b"oauth_token=t%26t&oauth_token_secret=s&oauth_callback_confirmed=true", "application/json"),
        (b'{"oauth_token": "t&t", "oauth_token_secret": "s", "oauth_callback_confirmed": true}', "application/json"),
        (b' {"oauth_token": "t&t", "oauth_token_secret": "s", "oauth_callback_confirmed": true}', PAIRS),
    ],
)
async def test_pairs_and_json_are_read_whatever_the_content_type_says(
    service: OAuthService, client: Client, body: bytes, content_type: str
) -> None:
    service.overrides["/oauth/request_token"] = [answer(body, content_type=content_type)]
    assert await client.oauth.request_token("oob") == RequestToken(
        oauth_token="t&t", oauth_token_secret="s", oauth_callback_confirmed=True
    )


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=false", "oauth_callback_confirmed"),
        (b"oauth_token=t&oauth_token_secret=s", "oauth_callback_confirmed"),
        (b"oauth_token=t&oauth_callback_confirmed=true", "oauth_token_secret"),
        (b"<html>busy</html>", "oauth_token"),
        (b"", "oauth_token"),
    ],
)
async def test_an_answer_without_what_is_documented_is_an_error_that_names_the_field(
    service: OAuthService, client: Client, body: bytes, path: str
) -> None:
    service.overrides["/oauth/request_token"] = [answer(body, content_type=PAIRS)]
    with pytest.raises(errors.DecodeError) as refused:
        await client.oauth.request_token("oob")
    assert refused.value.path == path


async def test_a_user_whose_name_is_a_word_of_json_is_a_user(service: OAuthService, client: Client) -> None:
    body = b"oauth_token=t&oauth_token_secret=s&user_id=1&screen_name=true"
    service.overrides["/oauth/access_token"] = [answer(body, content_type=PAIRS)]
    assert (await client.oauth.access_token("t", "1")).screen_name == "true"


async def test_a_request_token_is_asked_for_again_after_an_unknown_outcome(
    service: OAuthService, client: Client
) -> None:
    service.overrides["/oauth/request_token"] = [Cut(b"HTTP/1.1 200 OK\r\n"), answer(status=503)]
    await client.oauth.request_token("oob")
    headers = {each.headers["authorization"] for each in service.requests("/oauth/request_token")}
    assert len(headers) == 3


async def test_the_pages_take_the_token_and_the_options_and_never_a_callback(
    service: OAuthService, client: Client
) -> None:
    token = RequestToken(oauth_token="t/1", oauth_token_secret="hidden", oauth_callback_confirmed=True)
    assert client.oauth.authorize_url(token) == f"{service.url}/oauth/authorize?oauth_token=t%2F1"
    assert client.oauth.authenticate_url("t", force_login=True, screen_name="Ada L") == (
        f"{service.url}/oauth/authenticate?oauth_token=t&force_login=true&screen_name=Ada%20L"
    )
    assert client.oauth.authorize_url("t", force_login=False) == (
        f"{service.url}/oauth/authorize?oauth_token=t&force_login=false"
    )
    assert service.server.requests == []


async def test_a_configured_path_takes_the_place_of_the_documented_one(client: Client) -> None:
    config = Config(base_url="https://api.example/x", paths={"/oauth/authorize": "/i/authorize"})
    async with Client(config, [APP]) as other:
        assert other.oauth.authorize_url("t") == "https://api.example/x/i/authorize?oauth_token=t"


async def test_the_third_step_sends_token_and_verifier_once_as_signed_fields(
    service: OAuthService, client: Client
) -> None:
    token = await client.oauth.request_token("oob")
    await client.oauth.access_token(token, "7240810")
    received = service.server.requests[-1]
    assert (received.path, received.body) == ("/oauth/access_token", b"")
    fields = header_fields(received.headers["authorization"])
    assert (fields["oauth_token"], fields["oauth_verifier"]) == (token.oauth_token, "7240810")


async def test_the_name_of_a_token_is_enough_where_its_sign_in_began(service: OAuthService, client: Client) -> None:
    token = await client.oauth.request_token("oob")
    access = await client.oauth.access_token(token.oauth_token, "7240810")
    assert access.oauth_token in service.validator.access_secrets


async def test_a_token_that_began_elsewhere_is_good_as_a_whole_and_not_by_its_name(
    service: OAuthService, client: Client
) -> None:
    token = await client.oauth.request_token("oob")
    async with Client(Config(base_url=service.url), [APP], clock=VirtualClock()) as another:
        with pytest.raises(errors.ApiError):
            await another.oauth.access_token(token.oauth_token, "7240810")
        assert (await another.oauth.access_token(token, "7240810")).user_id == "42"


@pytest.mark.parametrize("fault", [Fault.CLOSE, answer(status=500)])
async def test_what_must_happen_once_is_not_repeated_when_its_outcome_is_unknown(
    service: OAuthService, fault: Any
) -> None:
    user = OAuth1(API_KEY, API_KEY_SECRET, "token", "secret")
    service.overrides = {"/oauth/access_token": [fault], "/1.1/oauth/invalidate_token": [fault]}
    service.overrides["/2/oauth2/token"] = [fault, fault]
    async with Client(Config(base_url=service.url), [user], clock=VirtualClock()) as client:
        calls = (
            client.oauth.access_token("t", "1"),
            client.oauth.invalidate_token(),
            client.oauth.refresh("r", client_id=CLIENT_ID),
            client.oauth.exchange_code("c", client_id=CLIENT_ID, redirect_uri=REDIRECT, code_verifier="v" * 43),
        )
        for call in calls:
            with pytest.raises((errors.OutcomeUnknown, errors.ServerError)):
                await call
    assert len(service.server.requests) == 4


async def test_what_is_missing_is_said_by_the_step_that_needs_it(service: OAuthService) -> None:
    async with Client(Config(base_url=service.url), [Bearer("b")]) as client:
        with pytest.raises(errors.ConfigurationError, match="signing in needs the app's key and secret"):
            await client.oauth.request_token("oob")
        with pytest.raises(errors.ConfigurationError, match=r"a user's OAuth 1\.0a token"):
            await client.oauth.invalidate_token()
    async with Client(credentials=[APP]) as nowhere:
        with pytest.raises(errors.ConfigurationError, match="no base_url is configured"):
            nowhere.oauth.authorize_url("t")


async def test_only_the_latest_sign_ins_are_remembered(service: OAuthService, client: Client) -> None:
    sign_ins = client._session.authenticators.sign_ins
    for number in range(1_001):
        sign_ins.began(f"t{number}", "s")
    assert sign_ins.secret("t0") is None
    assert sign_ins.secret("t1") == sign_ins.secret("t1000") == "s"


async def test_the_page_of_oauth2_gets_the_challenge_and_never_the_verifier(
    service: OAuthService, client: Client
) -> None:
    begun = client.oauth.authorization_url(
        client_id=CLIENT_ID, redirect_uri=REDIRECT, scopes=["users.read", "follow.read"]
    )
    parts = urlsplit(begun.url)
    query = dict(parse_qsl(parts.query, strict_parsing=True))
    challenge = query.pop("code_challenge")
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{service.url}/2/oauth2/authorize"
    assert query == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": REDIRECT,
        "scope": "users.read follow.read",
        "state": begun.state,
        "code_challenge_method": "S256",
    }
    assert len(challenge) == 43
    assert begun.code_verifier not in begun.url
    assert begun.code_verifier not in repr(begun)
    assert begun.state not in repr(begun)


async def test_every_sign_in_has_a_state_and_a_verifier_of_its_own(client: Client) -> None:
    begun = [client.oauth.authorization_url(client_id=CLIENT_ID, redirect_uri=REDIRECT) for _ in range(2)]
    assert begun[0].state != begun[1].state
    assert begun[0].code_verifier != begun[1].code_verifier
    given = client.oauth.authorization_url(client_id=CLIENT_ID, redirect_uri=REDIRECT, state="mine")
    assert given.state == "mine"
    assert parse_qs(urlsplit(given.url).query)["scope"] == ["tweet.read tweet.write users.read"]


async def test_a_code_is_exchanged_for_tokens_by_who_has_the_verifier(service: OAuthService, client: Client) -> None:
    begun = client.oauth.authorization_url(client_id=CLIENT_ID, redirect_uri=REDIRECT)
    code = service.grant(parse_qs(urlsplit(begun.url).query)["code_challenge"][0])
    token = await client.oauth.exchange_code(
        code, client_id=CLIENT_ID, redirect_uri=begun.redirect_uri, code_verifier=begun.code_verifier
    )
    assert (token.access_token, token.refresh_token, token.expires_in) == ("access-1", "refresh-1", 7200)
    assert service.forms == [
        {
            "grant_type": "authorization_code",
            "client_id": CLIENT_ID,
            "code": "the-code",
            "redirect_uri": REDIRECT,
            "code_verifier": begun.code_verifier,
        }
    ]
    (received,) = service.server.requests
    assert "authorization" not in received.headers
    assert received.headers["content-type"] == "application/x-www-form-urlencoded"


async def test_a_client_with_a_secret_shows_it_by_basic_authentication_alone(
    service: OAuthService, client: Client
) -> None:
    await client.oauth.refresh("refresh-0", client_id="id", client_secret="secret:?")
    (received,) = service.server.requests
    assert received.headers["authorization"] == "Basic aWQ6c2VjcmV0JTNBJTNG"  # id:secret%3A%3F
    assert received.body == b"grant_type=refresh_token&client_id=id&refresh_token=refresh-0"


async def test_a_code_that_is_used_or_anothers_says_to_begin_again(service: OAuthService, client: Client) -> None:
    service.grant("the challenge of somebody else")
    with pytest.raises(
        errors.Unauthorized, match=r"it has ended; the code was used, .*start the sign-in again"
    ) as refused:
        await client.oauth.exchange_code("the-code", client_id=CLIENT_ID, redirect_uri=REDIRECT, code_verifier="v" * 43)
    assert (refused.value.status, refused.value.codes) == (400, ("invalid_grant",))


async def test_no_log_line_and_no_error_holds_a_secret_of_a_sign_in(
    service: OAuthService, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = await client.oauth.request_token("oob")
    access = await client.oauth.access_token(token, "7240810")
    with pytest.raises(errors.ApiError) as refused:
        await client.oauth.refresh("refresh-of-nobody", client_id=CLIENT_ID, client_secret="client-secret")
    # The service of this test is oauthlib's as well, and logs what it verifies.
    logged = "".join(record.getMessage() for record in caplog.records if not record.name.startswith("oauthlib"))
    said = logged + repr(refused.value) + str(refused.value) + repr(token) + repr(access)
    secrets = (token.oauth_token_secret, access.oauth_token, access.oauth_token_secret, "7240810", API_KEY_SECRET)
    assert not [secret for secret in (*secrets, "refresh-of-nobody", "client-secret") if secret in said]
