"""The flows of section 5 against the emulator, with a person who goes through its pages."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import pytest

from socialapi import AppOnly, Client, FileTokenCache, OAuth1, OAuth2User, errors
from socialapi.emulator import Emulator
from socialapi.models.oauth import OAuth2Token
from tests.support.person import Person

LOOPBACK = "http://127.0.0.1:7/callback"


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator() as emulator:
        yield emulator


@pytest.fixture
async def app(emulator: Emulator) -> AsyncIterator[Client]:
    """The app, in nobody's name."""
    ready = emulator.ready
    async with Client(emulator.config, [AppOnly(ready["api_key"], ready["api_key_secret"])]) as client:
        yield client


def person(emulator: Emulator, decision: str = "approve") -> Person:
    return Person(next(iter(emulator.state.users.values())).username, decision=decision, follows=False)


def sent(where: Person) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(where.sent_to).query).items()}


@pytest.mark.parametrize("page", ["authorize_url", "authenticate_url"])
async def test_a_pin_ends_in_a_token_that_can_be_ended(emulator: Emulator, app: Client, page: str) -> None:
    token = await app.oauth.request_token("oob")
    pin = await person(emulator).pin(getattr(app.oauth, page)(token, force_login=True))
    access = await app.oauth.access_token(token, pin)
    user = emulator.state.users[access.user_id or ""]
    assert access.screen_name == user.username
    ready = emulator.ready
    credential = OAuth1(ready["api_key"], ready["api_key_secret"], access.oauth_token, access.oauth_token_secret)
    async with Client(emulator.config, [credential]) as client:
        assert (await client.request("GET", f"/2/users/{user.id}/tweets")).ok
        assert (await client.oauth.invalidate_token()).access_token == access.oauth_token
        with pytest.raises(errors.Unauthorized) as refused:
            await client.request("GET", f"/2/users/{user.id}/tweets")
    assert refused.value.codes == (89,)


async def test_a_callback_brings_the_verifier_and_the_name_of_the_token_is_enough(
    emulator: Emulator, app: Client
) -> None:
    token = await app.oauth.request_token(LOOPBACK, access_type="read")
    somebody = person(emulator)
    await somebody.visit(app.oauth.authorize_url(token.oauth_token))
    callback = sent(somebody)
    assert callback["oauth_token"] == token.oauth_token
    access = await app.oauth.access_token(callback["oauth_token"], callback["oauth_verifier"])
    assert emulator.state.access_tokens[access.oauth_token].caller.access == "read"
    with pytest.raises(errors.Unauthorized):
        await app.oauth.access_token(token, callback["oauth_verifier"])


async def test_a_denial_and_a_wrong_verifier_give_no_token(emulator: Emulator, app: Client) -> None:
    token = await app.oauth.request_token(LOOPBACK)
    somebody = person(emulator, "deny")
    await somebody.visit(app.oauth.authorize_url(token))
    assert sent(somebody) == {"denied": token.oauth_token}
    for verifier in ("0", "x" * 40):
        with pytest.raises(errors.Unauthorized):
            await app.oauth.access_token(token, verifier)


async def test_an_address_that_is_not_registered_is_refused(app: Client) -> None:
    with pytest.raises(errors.Forbidden) as refused:
        await app.oauth.request_token("https://unregistered.example/callback")
    assert refused.value.codes == (415,)


async def signed_in(emulator: Emulator, app: Client) -> OAuth2Token:
    client_id = emulator.ready["api_key"]
    scopes = ["tweet.read", "tweet.write", "users.read", "offline.access"]
    begun = app.oauth.authorization_url(client_id=client_id, redirect_uri=LOOPBACK, scopes=scopes)
    somebody = person(emulator)
    await somebody.visit(begun.url)
    callback = sent(somebody)
    assert callback["state"] == begun.state
    return await app.oauth.exchange_code(
        callback["code"], client_id=client_id, redirect_uri=begun.redirect_uri, code_verifier=begun.code_verifier
    )


def token_requests(emulator: Emulator) -> int:
    return sum(record.path == "/2/oauth2/token" for record in emulator.requests)


async def test_fifty_tasks_with_an_expired_token_cause_one_renewal(
    emulator: Emulator, app: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    token = await signed_in(emulator, app)
    path = tmp_path_factory.mktemp("tokens") / "tokens.json"
    credential = OAuth2User(token.access_token, token.refresh_token, emulator.ready["api_key"])
    for renewals in (1, 2):
        emulator.advance(7_300)
        # A process that starts anew with the credential as it was.
        async with Client(emulator.config, [credential], token_cache=FileTokenCache(path)) as client:
            user = emulator.seed["user_ids"][0]
            pages = await asyncio.gather(*(client.posts.by_user(user).first() for _ in range(50)))
        assert all(page.data for page in pages)
        assert token_requests(emulator) == 1 + renewals


async def test_a_refresh_token_serves_once(emulator: Emulator, app: Client) -> None:
    token = await signed_in(emulator, app)
    assert token.refresh_token is not None
    client_id, secret = emulator.ready["api_key"], emulator.ready["api_key_secret"]
    newer = await app.oauth.refresh(token.refresh_token, client_id=client_id, client_secret=secret)
    assert newer.access_token != token.access_token
    with pytest.raises(errors.Unauthorized, match="the user has to sign in again"):
        await app.oauth.refresh(token.refresh_token, client_id=client_id)


async def test_a_person_who_denies_sends_back_no_code(emulator: Emulator, app: Client) -> None:
    begun = app.oauth.authorization_url(client_id=emulator.ready["api_key"], redirect_uri=LOOPBACK)
    somebody = person(emulator, "deny")
    await somebody.visit(begun.url)
    assert sent(somebody)["error"] == "access_denied"


async def test_the_apps_own_token_is_the_same_until_it_is_ended(app: Client) -> None:
    first = await app.oauth.app_only_token()
    assert (await app.oauth.app_only_token()).access_token == first.access_token
    assert (await app.oauth.invalidate_app_only_token()).access_token == first.access_token
    assert (await app.oauth.app_only_token()).access_token != first.access_token
