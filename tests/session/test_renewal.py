"""Which refusals renew a token, how often, and what becomes of refresh tokens that are refused."""

import asyncio
import datetime
import gzip
import json
from typing import Any, Final

import pytest

from socialapi import AppOnly, Client, Config, MemoryTokenCache, OAuth1, OAuth2User, errors
from tests.support.clients import client_of
from tests.support.clock import VirtualClock, WatchedClock
from tests.support.server import Endless, Received, Server, Step, answer

PAGE: Final = answer({"data": [{"id": "1", "text": "a", "edit_history_tweet_ids": ["1"]}]})
CODE_89: Final = answer({"errors": [{"code": 89, "message": "Invalid or expired token"}]}, status=401)
PROBLEM: Final = {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}
USER: Final = OAuth2User("OLD", "R1", "client-id")
APP: Final = AppOnly("key", "secret")

SAYS_SO: Final[dict[str, bytes]] = {
    "code 89": CODE_89,
    "a problem": answer(PROBLEM, status=401, content_type="application/problem+json"),
    "a header": answer(b"", status=401, WWW_Authenticate='Bearer realm="x", error="invalid_token"'),
    "a header of its own way": answer(b"", status=401, WWW_Authenticate="bearer ERROR = Invalid_Token"),
    "the first of two headers": answer(
        b"", status=401, WWW_Authenticate="Bearer error='invalid_token'\r\nWWW-Authenticate: Basic realm=x"
    ),
    "RFC 6750": answer({"error": "invalid_token", "error_description": "expired"}, status=401),
    "an object": answer({"error": {"code": "INVALID_TOKEN", "message": "expired"}}, status=401),
}
SAYS_OTHERWISE: Final[dict[str, bytes]] = {
    "code 32": answer({"errors": [{"code": 32, "message": "no"}]}, status=401),
    "another problem": answer(PROBLEM | {"type": "https://x/problems/unsupported-authentication"}, status=401),
    "nothing": answer(b"", status=401),
    "a page": answer(b"<html>", status=401, content_type="text/html"),
    "403": answer(PROBLEM | {"status": 403}, status=403),
}


class Service:
    """Gives out tokens, and takes those of `good`. `refusal` is its answer to others."""

    def __init__(self, refusal: bytes = CODE_89, *, token: Step | None = None) -> None:
        self.refusal, self.token = refusal, token
        self.good = {"Bearer NEW-1"}
        self.asked = self.calls = 0

    async def __call__(self, request: Received) -> Any:
        if "oauth2" in request.path:
            self.asked += 1
            pair = {"access_token": f"NEW-{self.asked}", "refresh_token": f"R{self.asked + 1}"}
            return answer({"token_type": "bearer", **pair}) if self.token is None else self.token
        self.calls += 1
        return PAGE if request.headers.get("authorization") in self.good else self.refusal


async def read(client: Client) -> Any:
    return await client.posts.lookup(["1"])


@pytest.mark.parametrize("says", SAYS_SO)
async def test_a_401_that_says_so_renews_the_token_of_a_user(says: str) -> None:
    service = Service(SAYS_SO[says])
    async with Server(then=service) as server, client_of(server, credentials=(USER,)) as client:
        for _ in range(3):
            assert (await read(client)).data
    assert (service.asked, service.calls) == (1, 4)


@pytest.mark.parametrize("says", SAYS_SO)
async def test_a_401_that_says_so_renews_the_token_of_an_app(says: str) -> None:
    service = Service(SAYS_SO[says])
    service.good = {"Bearer NEW-2"}
    async with Server(then=service) as server, client_of(server, credentials=(APP,)) as client:
        for _ in range(3):
            assert (await read(client)).data
    assert (service.asked, service.calls) == (2, 4)


@pytest.mark.parametrize("says", SAYS_OTHERWISE)
async def test_another_refusal_renews_nothing(says: str) -> None:
    service = Service(SAYS_OTHERWISE[says])
    async with Server(then=service) as server, client_of(server, credentials=(USER,)) as client:
        with pytest.raises(errors.ApiError):
            await read(client)
    assert (service.asked, service.calls) == (0, 1)


async def test_a_signed_request_is_not_sent_again() -> None:
    service = Service()
    credentials = (OAuth1("k", "s", "t", "ts"),)
    async with Server(then=service) as server, client_of(server, credentials=credentials) as client:
        with pytest.raises(errors.Unauthorized):
            await read(client)
    assert (service.asked, service.calls) == (0, 1)


@pytest.mark.parametrize("credential", [USER, APP], ids=["user", "app"])
async def test_a_new_token_that_is_refused_is_not_replaced_for_a_minute(credential: Any, clock: VirtualClock) -> None:
    service = Service()
    service.good = set()
    before = 0 if credential is USER else 1
    async with Server(then=service) as server, client_of(server, clock, credentials=(credential,)) as client:
        for _ in range(10):
            with pytest.raises(errors.Unauthorized):
                await read(client)
        assert service.asked == before + 1
        clock.advance(61)
        with pytest.raises(errors.Unauthorized):
            await read(client)
    assert service.asked == before + 2


@pytest.mark.parametrize("credential", [USER, APP], ids=["user", "app"])
async def test_a_token_of_another_process_that_has_ended_too_does_not_stop_the_next_renewal(credential: Any) -> None:
    """It was not refused when it was new: the next one would be taken."""
    service, cache = Service(), MemoryTokenCache()
    async with Server(then=service) as server:
        one, other = (Client(Config(base_url=server.url), [credential], token_cache=cache) for _ in range(2))
        async with one, other:
            await read(one)
            await read(other)
            service.good = {f"Bearer NEW-{service.asked + 1}"}
            await read(one)
            service.good = {f"Bearer NEW-{service.asked + 1}"}
            with pytest.raises(errors.Unauthorized):
                await read(other)  # its own token, and then the one that is stored
            assert (await read(other)).data
    assert service.asked == 3


async def test_a_stream_that_connects_again_renews_a_token_that_has_expired(clock: VirtualClock) -> None:
    post = json.dumps({"data": {"id": "7", "text": "a", "edit_history_tweet_ids": ["7"]}, "matching_rules": []})
    line = f"{post}\r\n".encode()
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    begun = head + b"%x\r\n%s\r\n" % (len(line), line)
    opened: list[str] = []

    async def serve(request: Received) -> Any:
        if "oauth2" in request.path:
            token = "FIRST" if not opened else "SECOND"
            return answer({"access_token": token, "token_type": "bearer"})
        opened.append(request.headers["authorization"])
        if len(opened) == 1:
            return begun + b"0\r\n\r\n"
        if request.headers["authorization"] == "Bearer FIRST":
            return SAYS_SO["a problem"]
        return Endless(begun, b"2\r\n\r\n\r\n", 0.05)

    async with (
        Server(then=serve) as server,
        client_of(server, clock, credentials=(APP,)) as client,
        client.filtered_stream.connect() as stream,
    ):
        await anext(stream)
        await anext(stream)
    assert opened == ["Bearer FIRST", "Bearer FIRST", "Bearer SECOND"]


# What a token endpoint answers

PAIR: Final = {"token_type": "bearer", "access_token": "NEW-1", "refresh_token": "R2", "expires_in": 7200}
ODD: Final[dict[str, bytes]] = {
    "scopes in an array": answer(PAIR | {"scope": ["tweet.read", "users.read"]}),
    "scope is a number": answer(PAIR | {"scope": 7}),
    "scope is an object": answer(PAIR | {"scope": {"a": 1}}),
    "a lifetime in words": answer(PAIR | {"expires_in": "two hours"}),
    "a lifetime with a fraction": answer(PAIR | {"expires_in": 7199.5}),
    "a lifetime of ages": answer(json.dumps(PAIR | {"expires_in": 10**25}).encode()),
    "a lifetime below zero": answer(PAIR | {"expires_in": -1}),
    "a lifetime that is null": answer(PAIR | {"expires_in": None}),
    "no lifetime": answer({"access_token": "NEW-1", "refresh_token": "R2"}),
    "another type": answer(PAIR | {"token_type": ["Bearer"]}),
    "a byte order mark": answer(b"\xef\xbb\xbf" + json.dumps(PAIR).encode()),
    "blanks around": answer(b"\n  " + json.dumps(PAIR).encode() + b"\r\n"),
    "as text": answer(json.dumps(PAIR).encode(), content_type="text/plain"),
    "a refresh token that no header can hold": answer(PAIR | {"refresh_token": "R 2\n"}),
    "unknown fields": answer(PAIR | {"created_at": 1, "user": {"id": 1}}),
    "a form": answer(b"token_type=bearer&access_token=NEW-1&refresh_token=R2&expires_in=7200"),
    "a form with a mark": answer(b"\xef\xbb\xbfaccess_token=NEW-1&token_type=bearer\n", content_type="text/plain"),
    **{
        f"a lifetime of {number}": answer(json.dumps(PAIR).replace("7200", number).encode())
        for number in ("NaN", "-Infinity", "1e999", "9" * 5_000, "true", "0", "{}", "[7200]")
    },
    "blanks around tokens": answer(PAIR | {"access_token": " NEW-1\r\n", "refresh_token": "\tR2 "}),
    "a type in capitals": answer(PAIR | {"token_type": "BEARER"}),
    "a scope that is null": answer(PAIR | {"scope": None}),
    "an error that is null": answer(PAIR | {"error": None, "errors": []}),
    "a line break in a text": answer(json.dumps(PAIR | {"scope": "a|b"}).replace("|", "\n").encode()),
    "letters of Latin-1": answer(json.dumps(PAIR | {"name": "|"}).encode().replace(b"|", b"\xe9")),
    "UTF-16": answer(json.dumps(PAIR).encode("utf-16")),
    "more behind it": answer(json.dumps(PAIR).encode() + b"\0<!-- cached -->"),
    "an envelope": answer({"data": PAIR}),
    "an array of one": answer([PAIR]),
    "a name twice": answer(b'{"access_token": null, ' + json.dumps(PAIR).encode()[1:]),
    "gzip": answer(gzip.compress(json.dumps(PAIR).encode()), Content_Encoding="gzip"),
    "created": answer(PAIR, status=201),
}


@pytest.mark.parametrize("odd", ODD)
async def test_only_the_access_token_of_an_answer_has_to_be_right(odd: str) -> None:
    service = Service(token=ODD[odd])
    async with Server(then=service) as server, client_of(server, credentials=(USER,)) as client:
        for _ in range(3):
            assert (await read(client)).data
    assert service.asked == 1


@pytest.mark.parametrize(
    "odd", [b"", b"<html>NEW-1</html>", b"[]", b"null", b'{"access_token": "NEW-1', b'{"a": ' * 9999]
)
async def test_an_answer_without_a_token_is_an_error_that_shows_nothing_of_it(odd: bytes) -> None:
    async with Server(then=Service(token=answer(odd))) as server, client_of(server, credentials=(USER,)) as client:
        with pytest.raises(errors.DecodeError, match="POST /2/oauth2/token") as caught:
            await read(client)
    assert "NEW-1" not in str(caught.value) + repr(caught.value)


async def test_scopes_of_an_array_are_joined_and_other_fields_are_kept() -> None:
    odd = answer(PAIR | {"scope": ["a", "b"], "expires_in": "two hours"})
    async with Server(then=odd) as server, client_of(server) as client:
        token = await client.oauth.refresh("R1", client_id="c")
    assert (token.scope, token.expires_in, token.extra) == ("a b", None, {"expires_in": "two hours"})


PROBLEM_TYPE: Final = {"title": "Invalid Request", "detail": "Value passed for the token was invalid."}
DEAD: Final[dict[str, dict[str, Any]]] = {
    "RFC 6749": {"error": "invalid_grant"},
    "in capitals": {"error": "INVALID_GRANT"},
    "an object": {"error": {"code": "invalid_grant", "message": "gone"}},
    "in a list": {"errors": [{"message": "Value passed for the token was invalid."}]},
    "a code of its own": {"error": "bad_refresh_token"},
    "a problem": PROBLEM_TYPE | {"type": "about:blank"},
    "a problem of a request": PROBLEM_TYPE | {"type": "https://api.example/2/problems/invalid-request"},
    "a problem of a grant": {"title": "Bad Request", "type": "https://api.example/problems/invalid-grant"},
    "a request": {"error": "invalid_request", "error_description": "Value passed for the token was invalid."},
    "a token": {"error": "invalid_token", "error_description": "expired"},
    "denied": {"error": "access_denied"},
}


@pytest.mark.parametrize("status", [400, 401, 403])
@pytest.mark.parametrize("says", DEAD)
async def test_a_refresh_token_that_is_refused_for_good_is_asked_about_once(
    says: str, status: int, clock: VirtualClock
) -> None:
    service = Service(token=answer(DEAD[says], status=status))
    async with Server(then=service) as server, client_of(server, clock, credentials=(USER,)) as client:
        for _ in range(20):
            with pytest.raises(errors.Unauthorized, match="sign in again") as caught:
                await read(client)
            clock.advance(100)
    assert service.asked == 1
    assert caught.value.method == "POST"


@pytest.mark.parametrize(("code", "status"), [("invalid_client", 401), ("unauthorized_client", 400)])
async def test_an_app_that_is_refused_is_asked_about_once_and_told_which_setting_is_wrong(
    code: str, status: int, clock: VirtualClock
) -> None:
    service = Service(token=answer({"error": code, "error_description": "The token is invalid"}, status=status))
    async with Server(then=service) as server, client_of(server, clock, credentials=(USER,)) as client:
        for _ in range(3):
            with pytest.raises(errors.Unauthorized, match=f"{code}.*; .*client_id and client_secret .*right") as caught:
                await read(client)
            clock.advance(100)
    assert service.asked == 1
    assert "sign in" not in str(caught.value)


UNCLEAR: Final[dict[str, bytes]] = {
    "a page": answer(b"<html>this token is invalid</html>", status=403, content_type="text/html"),
    "nothing": answer(b"", status=400),
    "a request": answer({"error": "invalid_request", "error_description": "refresh_token is missing"}, status=400),
    "a scope": answer({"error": "invalid_scope", "error_description": "no such token was used"}, status=400),
    "a problem": answer(PROBLEM, status=401),
}


@pytest.mark.parametrize("says", UNCLEAR)
async def test_a_refusal_that_says_nothing_of_the_token_is_asked_about_again_after_a_minute(
    says: str, clock: VirtualClock
) -> None:
    service = Service(token=UNCLEAR[says])
    async with Server(then=service) as server, client_of(server, clock, credentials=(USER,)) as client:
        for asked in (1, 2):
            for _ in range(5):
                with pytest.raises(errors.ApiError) as caught:
                    await read(client)
            assert service.asked == asked
            assert "sign in" not in str(caught.value)
            clock.advance(61)


async def test_a_call_waits_for_the_token_of_another_no_longer_than_it_may() -> None:
    release = asyncio.Event()

    async def serve(request: Received) -> Any:
        if "oauth2" in request.path:
            await release.wait()
            return answer({"access_token": "NEW-1", "token_type": "bearer"})
        return PAGE

    async with Server(then=serve) as server, client_of(server, credentials=(APP,)) as client:
        first = asyncio.create_task(read(client))
        await asyncio.sleep(0.05)
        with pytest.raises(errors.TransportError, match=r"another call is still fetching the token after 0.1 s"):
            await read(client.with_options(max_wait_seconds=0.1))
        release.set()
        assert (await first).data


@pytest.mark.parametrize("credential", [USER, APP], ids=["user", "app"])
async def test_a_call_that_waits_for_a_limited_token_says_when_the_limit_ends(credential: Any) -> None:
    service, clock = Service(token=answer(status=429, Retry_After="30")), WatchedClock()
    async with Server(then=service) as server, client_of(server, clock, credentials=(credential,)) as client:
        first = asyncio.create_task(read(client))
        await clock.sleeping.wait()
        with pytest.raises(errors.RateLimitTooLong, match="the token endpoint frees up in") as caught:
            await read(client.with_options(max_wait_seconds=0.1))
        first.cancel()
    ahead = caught.value.resets_at - datetime.datetime.now(datetime.UTC)
    assert 20 < ahead.total_seconds() <= 30
