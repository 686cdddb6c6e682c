"""Tokens that could not be sent: one that is kept counts as none, and one that is answered is an error."""

import json
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from socialapi import AppOnly, Bearer, Client, Config, FileTokenCache, MemoryTokenCache, OAuth2User
from socialapi.errors import ConfigurationError, DecodeError
from socialapi.session.oauth2_user import TokenPair, pair_key
from socialapi.wire.oauth1 import bearer_header, check_headers, is_token
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.server import Received, Server, answer

APP: Final = AppOnly("app-key", "app-key-secret")
UNUSABLE: Final = (
    "",
    " ",
    "planted planted",
    "planted\r\nX-Evil: 1",
    "planted\n",
    "planted\t",
    "planted\0",
    "planted\x7f",
    "planted\x85",
    "planté",
    "посажен",
    "planted\u200b",
)


class Service:
    """Gives out one token after another, and notes what it is asked with."""

    def __init__(self, *tokens: Any, **further: Any) -> None:
        self._tokens = list(tokens)
        self._further = further
        self.sent: list[str] = []

    async def __call__(self, received: Received) -> bytes:
        if received.path.endswith("/token"):
            return answer({"token_type": "bearer", "access_token": self._tokens.pop(0), **self._further})
        self.sent.append(received.headers["authorization"])
        return answer({"data": {}})


async def get(client: Client) -> Any:
    return await client.request("GET", "/2/tweets")


# What a token is


@given(st.text())
@example("AAAAAAAAAAAAAAAAAAAAAMLheAAAAAAA0%2BuSeid%2BULvsea4JtiGRiSDSJSI%3D")
def test_a_token_is_what_a_header_carries_as_it_is(text: str) -> None:
    usable = is_token(text)
    assert usable == (text != "" and all("!" <= letter <= "~" for letter in text))
    if usable and not {text[0], text[-1]} & set("\"'`"):
        check_headers({"Authorization": bearer_header(text)})
        assert Bearer(text).token == text
    else:
        with pytest.raises(ConfigurationError) as caught:
            Bearer(text)
        assert text == "" or len(text) < 5 or text not in str(caught.value)


@given(st.text())
def test_a_header_that_could_not_arrive_is_never_sent(text: str) -> None:
    if text.isascii() and text.isprintable():
        check_headers({"Authorization": text})
        return
    with pytest.raises(ConfigurationError, match="the header Authorization would contain characters") as caught:
        check_headers({"Authorization": text})
    assert len(text) < 5 or text not in str(caught.value)


@pytest.mark.parametrize("value", [None, 5, b"token", ["token"], True])
def test_what_is_no_text_is_no_token(value: Any) -> None:
    assert not is_token(value)


# Kept


class Odd(MemoryTokenCache):
    """A cache that hands out anything."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self.held = held

    async def load(self, key: str) -> str | None:
        return await super().load(key) or self.held


@pytest.mark.parametrize("held", [*UNUSABLE, "planted\ud800", b"planted", 5, ["planted"]])
async def test_a_token_in_the_cache_that_cannot_be_sent_counts_as_none(held: Any) -> None:
    service = Service("fresh")
    async with (
        Server(then=service) as server,
        client_of(server, VirtualClock(), credentials=(APP,), options={"token_cache": Odd(held)}) as client,
    ):
        await get(client)
        await get(client)
    assert service.sent == ["Bearer fresh"] * 2


@pytest.mark.parametrize("odd", UNUSABLE)
@pytest.mark.parametrize("field", ["access_token", "refresh_token"])
async def test_a_pair_in_the_cache_that_cannot_be_sent_counts_as_none(field: str, odd: str) -> None:
    credential = OAuth2User("given", "refresh", "client")
    held = TokenPair("kept", "refresh-kept").to_text()
    async with Server(then=(service := Service())) as server:
        cache = MemoryTokenCache()
        key = pair_key(server.url, credential)
        await cache.store(key, json.dumps(json.loads(held) | {field: odd}))
        async with client_of(server, credentials=(credential,), options={"token_cache": cache}) as client:
            await get(client)
    assert service.sent == ["Bearer given"]


# Answered


@pytest.mark.parametrize("odd", [odd for odd in UNUSABLE if odd.strip() in ("", odd)])
async def test_a_token_that_is_answered_and_cannot_be_sent_is_an_error(odd: str) -> None:
    service = Service(odd, "fresh")
    async with Server(then=service) as server, client_of(server, credentials=(APP,)) as client:
        with pytest.raises(DecodeError) as caught:
            await get(client)
        assert caught.value.path == "access_token"
        assert "planted" not in repr(caught.value) + str(caught.value) + repr(vars(caught.value))
        assert service.sent == []
        await get(client)
    assert service.sent == ["Bearer fresh"]


@pytest.mark.parametrize("odd", [*(odd for odd in UNUSABLE if odd.strip() in ("", odd)), None, {}, ["a", "b"], 0.5])
async def test_a_renewed_token_that_cannot_be_sent_is_an_error_and_the_refresh_token_is_kept(odd: Any) -> None:
    credential = OAuth2User("dead", "refresh", "client")
    cache = MemoryTokenCache()

    async def service(received: Received) -> bytes:
        if received.path.endswith("/token"):
            token = "fresh" if b"refresh_token=next" in received.body else odd
            return answer({"token_type": "bearer", "access_token": token, "refresh_token": "next"})
        if received.headers["authorization"] == "Bearer fresh":
            return answer({"data": {}})
        return answer({"errors": [{"code": 89, "message": "Invalid or expired token."}]}, status=401)

    async with (
        Server(then=service) as server,
        client_of(server, credentials=(credential,), options={"token_cache": cache}) as client,
    ):
        with pytest.raises(DecodeError, match=r"POST /2/oauth2/token: .* access_token: is missing, or is not a token"):
            await get(client)
        held = TokenPair.from_text(await cache.load(pair_key(server.url, credential)))
        assert held == TokenPair("dead", "next")
        await get(client)
    assert all("planted" not in str(request.headers) for request in server.requests)


@pytest.mark.parametrize("odd", ["planted planted", "planted\u200b"])
async def test_tokens_of_a_sign_in_that_cannot_be_sent_are_errors(odd: str) -> None:
    token = {"oauth_token": odd, "oauth_token_secret": "secret", "oauth_callback_confirmed": True}
    async with Server(then=answer(token)) as server, client_of(server) as client:
        with pytest.raises(DecodeError, match="oauth_token"):
            await client.oauth.request_token("oob")
        with pytest.raises(DecodeError, match="oauth_token"):
            await client.oauth.access_token("token", "verifier")
    pair = answer({"access_token": "fine", "refresh_token": odd})
    async with Server(then=pair) as server, client_of(server) as client:
        token_pair = await client.oauth.refresh("refresh", client_id="client")
    assert (token_pair.access_token, token_pair.refresh_token) == ("fine", "refresh"), "the access token is valid"


async def test_the_token_that_was_ended_may_be_written_as_it_likes() -> None:
    ended = answer({"access_token": "•••• 1234"})
    async with Server(then=ended) as server, client_of(server) as client:
        assert (await client.oauth.invalidate_token()).access_token == "•••• 1234"


@pytest.mark.parametrize("path", [5, b"", "", "a\0b", "\ud800", ["tokens.json"], True])
def test_a_token_cache_has_a_path_that_a_file_can_have(path: Any) -> None:
    with pytest.raises(ConfigurationError, match="the path of a token cache must be"):
        FileTokenCache(path)


@pytest.mark.parametrize("odd", ["token\ud800", "to\0ken", "to\r\nken"])
async def test_what_a_caller_gives_to_a_sign_in_is_refused_by_name(odd: str) -> None:
    async with Client(Config(base_url="https://api.northwind.example"), [APP]) as client:
        for call in (
            client.oauth.access_token(odd, "verifier"),
            client.oauth.access_token("token", odd),
            client.oauth.refresh("token", client_id=odd),
            client.oauth.refresh("token", client_id="client", client_secret=odd),
        ):
            with pytest.raises(ValueError, match="must contain neither control characters nor unpaired surrogates"):
                await call


@pytest.mark.parametrize("odd", ["NaN", "-Infinity", "1e999", "9" * 400, "true", '"1"'])
@pytest.mark.parametrize("field", ["renew_at", "expires_at"])
def test_a_pair_in_the_cache_with_a_time_that_is_none_counts_as_none(field: str, odd: str) -> None:
    """NaN is later than every moment and earlier than none, so that such a pair was never renewed."""
    text = TokenPair("access", "refresh", 1.0, 2.0).to_text()
    assert TokenPair.from_text(text) == TokenPair("access", "refresh", 1.0, 2.0)
    time = {"renew_at": "1.0", "expires_at": "2.0"}[field]
    assert TokenPair.from_text(text.replace(f'"{field}": {time}', f'"{field}": {odd}')) is None
