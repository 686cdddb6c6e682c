"""App-only tokens against the emulator: one fetched for everybody, renewed when dead, not asked for too often."""

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from socialapi import AppOnly, Bearer, Client, FileTokenCache, OAuth1, OAuth2User
from socialapi.config import Config
from socialapi.emulator import Emulator
from socialapi.errors import (
    ConfigurationError,
    Forbidden,
    OutcomeUnknown,
    RateLimitTooLong,
    ServerError,
    TransportError,
    Unauthorized,
)
from socialapi.routes.route import ADS, OAUTH, PLATFORM
from socialapi.session.auth import AppOnlyAuthenticator, Authorization
from socialapi.session.authenticators import Authenticators
from socialapi.session.token_cache import MemoryTokenCache
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.server import Fault, Received, Server, Step, answer

APP = AppOnly("app-key", "app-key-secret")
DEAD = answer({"errors": [{"code": 89, "message": "Invalid or expired token."}]}, status=401)
TOO_OFTEN = answer({"errors": [{"code": 99, "message": "Too often."}]}, status=403)


class Tokens:
    """A service that gives out `t1`, `t2`, … and takes the last one it gave out unless it is revoked."""

    def __init__(self, *, invents: bool = True) -> None:
        self.given = 0
        self.live: set[str] = set()
        self._invents = invents

    async def __call__(self, received: Received) -> bytes:
        if received.path == "/oauth2/token":
            if self._invents or not self.given:
                self.given += 1
            token = f"t{self.given}"
            if self._invents:
                self.live.add(token)
            return answer({"token_type": "bearer", "access_token": token})
        sent = received.headers["authorization"].removeprefix("Bearer ")
        return answer({}) if sent in self.live else DEAD

    def revoke(self) -> None:
        self.live.clear()


async def get(client: Client) -> Any:
    return await client.request("GET", "/2/tweets")


def sent_tokens(server: Server) -> list[str]:
    return [r.headers["authorization"].removeprefix("Bearer ") for r in server.requests if r.path == "/2/tweets"]


def app_of(client: Client) -> AppOnlyAuthenticator:
    return client._session.authenticators.app()


# One token for everybody


async def test_fifty_first_calls_at_once_fetch_one_token() -> None:
    async with (
        Emulator() as emulator,
        Client(emulator.config, emulator.credentials) as client,
    ):
        await asyncio.gather(*(client.webhooks.list() for _ in range(50)))
        fetched = [record for record in emulator.requests if record.path == "/oauth2/token"]
        assert len(fetched) == 1
        assert len([record for record in emulator.requests if record.path == "/2/webhooks"]) == 50


async def test_the_token_is_asked_for_as_documented() -> None:
    async with Server(then=Tokens()) as server, client_of(server, credentials=(APP,)) as client:
        await get(client)
    request = server.requests[0]
    assert (request.method, request.path, request.body) == ("POST", "/oauth2/token", b"grant_type=client_credentials")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert base64.b64decode(request.headers["authorization"].removeprefix("Basic ")) == b"app-key:app-key-secret"


FETCH_ONE = """
import asyncio, json, sys
from socialapi import AppOnly, Client, Config, FileTokenCache

async def main(url, key, secret, path):
    print("ready", flush=True)
    sys.stdin.readline()
    async with Client(Config(base_url=url), [AppOnly(key, secret)], token_cache=FileTokenCache(path)) as client:
        tokens = await asyncio.gather(*(client.oauth.app_only_token() for _ in range(5)))
        print(*{token.access_token for token in tokens})

asyncio.run(main(*sys.argv[1:]))
"""


async def test_two_processes_that_share_a_file_fetch_one_token(tmp_path: Path) -> None:
    async with Emulator() as emulator:
        ready = emulator.ready
        emulator.faults.add("latency", path="/oauth2/token", delay_seconds=0.3)
        arguments = (ready["base_url"], ready["api_key"], ready["api_key_secret"], str(tmp_path / "tokens.json"))
        processes = [
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                FETCH_ONE,
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            for _ in range(2)
        ]
        for process in processes:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        printed = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
        assert [out.decode().strip() for out, _ in printed] == [ready["bearer_token"]] * 2
        assert [record.path for record in emulator.requests] == ["/oauth2/token"]


async def test_another_app_or_another_host_has_another_token(tmp_path: Path) -> None:
    cache = FileTokenCache(tmp_path / "tokens.json")
    async with Server(then=Tokens()) as server, Server(then=Tokens()) as elsewhere:
        for app, where in ((APP, server), (AppOnly("other", "secret"), server), (APP, elsewhere)):
            async with client_of(where, credentials=(app,), options={"token_cache": cache}) as client:
                await get(client)
        assert [request.path for request in server.requests].count("/oauth2/token") == 2
        assert [request.path for request in elsewhere.requests].count("/oauth2/token") == 1


# Dead tokens


async def test_a_revoked_token_costs_each_caller_one_repeat_at_most_and_is_never_sent_again() -> None:
    """aiohttp's own example of a token refresh sent the same token again."""
    tokens = Tokens()
    async with Server(then=tokens) as server, client_of(server, credentials=(APP,)) as client:
        await get(client)
        tokens.revoke()
        before = len(server.requests)
        await asyncio.gather(*(get(client) for _ in range(50)))
        paths = [request.path for request in server.requests[before:]]
        sent = sent_tokens(server)[1:]
    assert paths.count("/oauth2/token") == 1
    assert paths.count("/2/tweets") <= 100
    assert set(sent) == {"t1", "t2"}
    assert sent.count("t2") == 50


async def test_a_service_that_hands_out_the_dead_token_again_is_not_sent_it_again() -> None:
    async with Server(then=Tokens(invents=False)) as server, client_of(server, credentials=(APP,)) as client:
        with pytest.raises(Unauthorized, match="89"):
            await get(client)
        assert sent_tokens(server) == ["t1"]
        assert [request.path for request in server.requests].count("/oauth2/token") == 2


async def test_a_token_that_another_task_has_replaced_is_left_alone() -> None:
    tokens = Tokens()
    async with Server(then=tokens) as server, client_of(server, credentials=(APP,)) as client:
        await get(client)
        app = app_of(client)
        await app.forget("some older token")
        await get(client)
        assert sent_tokens(server) == ["t1", "t1"]
        assert await app.renew(Authorization("Bearer t0", "t0"))
        await get(client)
        assert sent_tokens(server) == ["t1", "t1", "t1"]
        assert not await app.renew(Authorization("Bearer fixed"))


# Asked too often


async def test_code_99_is_raised_once_and_then_remembered_for_a_minute(clock: VirtualClock) -> None:
    async with Server(then=TOO_OFTEN) as server, client_of(server, clock, credentials=(APP,)) as client:
        for _ in range(5):
            with pytest.raises(Forbidden) as caught:
                await get(client)
            assert caught.value.codes == (99,)
        found = await asyncio.gather(*(get(client) for _ in range(50)), return_exceptions=True)
        assert {type(each) for each in found} == {Forbidden}
        assert len(server.requests) == 1
        clock.advance(59.0)
        with pytest.raises(Forbidden, match="99: Too often"):
            await get(client)
        assert len(server.requests) == 1
        clock.advance(1.0)
        with pytest.raises(Forbidden):
            await get(client)
        assert len(server.requests) == 2
        assert client.limits["GET /2/tweets"].in_flight == 0


async def test_callers_who_waited_for_a_token_share_the_refusal_and_later_ones_ask_anew(clock: VirtualClock) -> None:
    wrong = answer({"errors": [{"code": 32, "message": "no"}]}, status=401)
    async with Server(wrong, then=Tokens()) as server, client_of(server, clock, credentials=(APP,)) as client:
        found = await asyncio.gather(*(client.oauth.app_only_token() for _ in range(50)), return_exceptions=True)
        assert {type(each) for each in found} == {Unauthorized}
        assert len(server.requests) == 1
        await client.oauth.app_only_token()
        assert len(server.requests) == 2


# Tokens that cannot be had


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (answer({"errors": [{"code": 32, "message": "no"}]}, status=401), Unauthorized),
        (answer({"errors": [{"code": 1, "message": "no"}]}, status=403), Forbidden),
        (Fault.CLOSE, OutcomeUnknown),
    ],
)
async def test_a_token_that_cannot_be_had_is_the_error_of_the_call(
    step: Step, kind: type[Exception], clock: VirtualClock
) -> None:
    async with Server(then=step) as server, client_of(server, clock, credentials=(APP,), retries=1) as client:
        with pytest.raises(kind):
            await get(client)
        assert {request.path for request in server.requests} == {"/oauth2/token"}
        assert client.limits["GET /2/tweets"].in_flight == 0
        assert client.limits["GET /2/tweets"].remaining is None


async def test_a_token_service_that_is_not_there_is_not_taken_for_the_call_itself(clock: VirtualClock) -> None:
    async with Server() as server:
        gone = server.url
    async with client_of(gone, clock, credentials=(APP,), retries=2) as client:
        with pytest.raises(TransportError) as caught:
            await get(client)
    assert caught.value.attempts == 3


async def test_a_token_fetch_is_repeated_as_often_as_the_options_of_the_call_say(clock: VirtualClock) -> None:
    async with Server(then=answer(status=503)) as server, client_of(server, clock, credentials=(APP,)) as client:
        for retries in (0, 2, 1):
            before = len(server.requests)
            with pytest.raises(ServerError) as caught:
                await get(client.with_options(retries=retries))
            assert len(server.requests) - before == caught.value.attempts == retries + 1
            with pytest.raises(ServerError):
                await client.with_options(retries=retries).oauth.app_only_token()
            assert len(server.requests) - before == 2 * (retries + 1)


async def test_the_new_token_for_a_dead_one_is_fetched_with_the_options_of_the_call(clock: VirtualClock) -> None:
    tokens = Tokens()
    async with Server(then=tokens) as server, client_of(server, clock, credentials=(APP,)) as client:
        await get(client)
        tokens.revoke()

        async def no_more_tokens(received: Received) -> bytes:
            return answer(status=503) if received.path == "/oauth2/token" else DEAD

        server.then = no_more_tokens
        with pytest.raises(ServerError) as caught:
            await get(client.with_options(retries=0))
        assert caught.value.attempts == 1


async def test_a_fetch_waits_as_long_as_the_options_of_the_call_say(clock: VirtualClock) -> None:
    later = answer(status=429, Retry_After="100")
    async with Server(then=later) as server, client_of(server, clock, credentials=(APP,)) as client:
        with pytest.raises(RateLimitTooLong):
            await get(client.with_options(max_wait_seconds=5))
        assert len(server.requests) == 1


async def test_who_waited_for_a_fetch_with_less_patience_tries_with_their_own(clock: VirtualClock) -> None:
    async with Server(answer(status=503), then=Tokens()) as server:
        async with client_of(server, clock, credentials=(APP,)) as client:
            hasty, patient = client.with_options(retries=0), client.with_options(retries=3)
            fetching = (each.oauth.app_only_token() for each in (hasty, hasty, patient))
            found = await asyncio.gather(*fetching, return_exceptions=True)
        assert len(server.requests) == 2
    assert [type(each).__name__ for each in found] == ["ServerError", "ServerError", "AppOnlyToken"]


# Which credential is used


def authenticators(*credentials: Any) -> Authenticators:
    async def ask(*_: Any) -> Any:
        raise AssertionError("nobody is asked here")

    async def fetch(*_: Any) -> str:
        raise AssertionError("nothing is fetched here")

    return Authenticators(credentials, Config(), MemoryTokenCache(), VirtualClock(), fetch, ask)


def test_each_api_takes_the_credential_it_prefers() -> None:
    bearer, user, oauth2 = Bearer("b"), OAuth1("k", "s", "t", "ts"), OAuth2User("u")
    given = authenticators(oauth2, user, bearer, APP)
    assert given.choose(PLATFORM) is given.app()
    assert type(given.choose(ADS)).__name__ == "OAuth1Authenticator"
    without_app = authenticators(user, bearer)
    assert type(without_app.choose(PLATFORM)).__name__ == "StaticAuthenticator"


async def test_ready_tokens_are_sent_as_bearer_tokens() -> None:
    for credential, token in ((Bearer("b"), "b"), (OAuth2User("u"), "u")):
        chosen = authenticators(credential).choose(PLATFORM)
        authorization = await chosen.authorize(None)  # type: ignore[arg-type]  # a fixed header looks at no request
        assert authorization.header == f"Bearer {token}"
        assert not await chosen.renew(authorization)


def test_two_credentials_of_a_kind_are_refused_because_nobody_could_tell_which_is_used() -> None:
    with pytest.raises(ConfigurationError, match="two credentials of the kind AppOnly"):
        authenticators(AppOnly("one", "s"), AppOnly("two", "s"))


@pytest.mark.parametrize(
    ("family", "credentials", "says"),
    [
        (
            PLATFORM,
            (),
            "the platform API takes AppOnly or Bearer or OAuth2User or OAuth1, and the credentials given are: none",
        ),
        (ADS, (), "the ads API takes OAuth1 or OAuth2User or Bearer or AppOnly, and the credentials given are: none"),
        (
            OAUTH,
            (Bearer("b"),),
            r"the oauth API takes an app's key and secret \(AppOnly\), and the credentials given are: Bearer",
        ),
    ],
)
def test_a_missing_credential_is_said_with_what_to_pass(family: Any, credentials: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        authenticators(*credentials).choose(family)
    assert "Pass credentials=[…] or set SOCIALAPI_API_KEY" in str(caught.value)


def test_a_token_without_an_app_is_refused_with_what_to_pass() -> None:
    with pytest.raises(ConfigurationError, match=r"pass credentials=\[AppOnly\(…\)\] or set SOCIALAPI_API_KEY"):
        authenticators(Bearer("b")).app()


def test_something_else_is_no_credential() -> None:
    with pytest.raises(ConfigurationError, match="str is not a credential of this package"):
        authenticators("a token")
