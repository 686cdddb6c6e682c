"""Renewing a user's OAuth 2.0 tokens: once for everybody, saved before used, and never lost on the way."""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi import Client, Config, FileTokenCache, MemoryTokenCache, OAuth2User, errors
from socialapi.session.auth import Authorization
from socialapi.session.oauth2_user import TokenPair, pair_key
from tests.support.clock import VirtualClock, WatchedClock, turns
from tests.support.oauth_service import CLIENT_ID, OAuthService
from tests.support.server import Cut, Received, answer

EXPIRED: Final = OAuth2User("long-expired", "refresh-0", CLIENT_ID)
ALIVE: Final = OAuth2User("access-0", "refresh-0", CLIENT_ID)
TOKEN_PATH: Final = "/2/oauth2/token"


@pytest.fixture
async def service() -> AsyncIterator[OAuthService]:
    service = OAuthService()
    async with service.server:
        yield service


def client_of(service: OAuthService, credential: OAuth2User = EXPIRED, **options: Any) -> Client:
    return Client(Config(base_url=service.url), [credential], **{"clock": VirtualClock(), **options})


async def who(client: Client) -> str:
    """The access token that a call was made with, as the service tells."""
    name: str = (await client.request("GET", "/2/me")).body["data"]["as"]
    return name


class Watched(MemoryTokenCache):
    """A cache that notes what is stored, and fails at storing as often as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[str] = []
        self.failures = 0

    async def store(self, key: str, token: str) -> None:
        if self.failures:
            self.failures -= 1
            raise errors.ConfigurationError("the token cache cannot be written: No space left on device")
        self.stored.append(token)
        await super().store(key, token)


class Gate:
    """An answer of the token endpoint that waits until it is opened."""

    def __init__(self, service: OAuthService) -> None:
        self.service = service
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, received: Received) -> bytes:
        self.reached.set()
        await self.open.wait()
        return await self.service._token(received)


async def test_fifty_tasks_with_an_expired_token_cause_one_renewal(service: OAuthService) -> None:
    async with client_of(service) as client:
        assert await asyncio.gather(*(who(client) for _ in range(50))) == ["access-1"] * 50
    assert service.forms == [{"grant_type": "refresh_token", "client_id": CLIENT_ID, "refresh_token": "refresh-0"}]


async def test_every_renewal_uses_the_refresh_token_of_the_one_before(service: OAuthService) -> None:
    async with client_of(service) as client:
        for number in range(1, 4):
            assert await who(client) == f"access-{number}"
            service.alive.clear()
    assert [form["refresh_token"] for form in service.forms] == ["refresh-0", "refresh-1", "refresh-2"]


async def test_a_service_that_does_not_rotate_gets_the_same_refresh_token_again() -> None:
    service = OAuthService(rotates=False)
    async with service.server, client_of(service) as client:
        for number in (1, 2):
            assert await who(client) == f"access-{number}"
            service.alive.clear()
    assert [form["refresh_token"] for form in service.forms] == ["refresh-0", "refresh-0"]


async def test_the_new_pair_is_in_the_cache_before_it_is_used(service: OAuthService) -> None:
    cache = Watched()
    used_before: list[Received] = []
    store = cache.store

    async def look_and_store(key: str, token: str) -> None:
        used_before.extend(r for r in service.server.requests if "access-1" in r.headers.get("authorization", ""))
        await store(key, token)

    cache.store = look_and_store  # type: ignore[method-assign]
    async with client_of(service, token_cache=cache) as client:
        await who(client)
    assert used_before == []
    assert [json.loads(text) for text in cache.stored] == [
        {
            "access_token": "access-1",
            "refresh_token": "refresh-1",
            "renew_at": 1_800_007_140.0,
            "expires_at": 1_800_007_200.0,
        }
    ]


async def test_a_restarted_process_with_the_old_credential_goes_on_with_the_newest_pair(
    service: OAuthService, tmp_path: Path
) -> None:
    path = tmp_path / "tokens.json"
    async with client_of(service, token_cache=FileTokenCache(path)) as client:
        await who(client)
        service.alive.clear()
        await who(client)
    async with client_of(service, token_cache=FileTokenCache(path)) as restarted:
        assert await who(restarted) == "access-2"
        service.alive.clear()
        assert await who(restarted) == "access-3"
    assert len(service.forms) == 3
    assert path.stat().st_mode & 0o777 == 0o600
    assert "refresh-0" not in path.read_text()


async def test_a_pair_that_cannot_be_saved_is_not_used_until_it_is_saved_and_not_lost_either(
    service: OAuthService,
) -> None:
    cache = Watched()
    cache.failures = 2
    async with client_of(service, token_cache=cache) as client:
        for _ in range(2):
            with pytest.raises(errors.ConfigurationError, match="No space left"):
                await who(client)
        assert {r.headers.get("authorization") for r in service.server.requests} == {"Bearer long-expired", None}
        assert await who(client) == "access-1"
    assert len(service.forms) == 1
    assert len(cache.stored) == 1


async def test_an_ended_refresh_token_is_unauthorized_with_advice_and_asked_about_once(service: OAuthService) -> None:
    async with client_of(service, OAuth2User("long-expired", "refresh-gone", CLIENT_ID)) as client:
        results = await asyncio.gather(*(who(client) for _ in range(10)), return_exceptions=True)
        results.append((await asyncio.gather(who(client), return_exceptions=True))[0])
    assert {type(result) for result in results} == {errors.Unauthorized}
    assert "the user has to sign in again (`socialapi auth login --oauth2`)" in str(results[0])
    assert len(service.forms) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        answer({"error_description": "refresh token expired"}, status=400),
        answer(b"invalid_grant", status=400, content_type="text/plain"),
        answer(b"<error><code>invalid_grant</code></error>", status=400, content_type="text/xml"),
        answer({"fault": {"faultstring": "Invalid refresh token"}}, status=400),
        answer({"data": {"error": "invalid_grant"}}),
        answer({"message": "the refresh token was revoked"}),
    ],
)
async def test_an_ended_refresh_token_is_known_in_whatever_form_it_is_said(service: OAuthService, refusal: Any) -> None:
    service.overrides[TOKEN_PATH] = [refusal]
    async with client_of(service) as client:
        for _ in range(2):
            with pytest.raises(errors.Unauthorized, match="sign in again"):
                await who(client)
    assert len(service.requests(TOKEN_PATH)) == 1


@pytest.mark.parametrize("code", ["temporarily_unavailable", "server_error"])
async def test_a_token_endpoint_that_is_unavailable_is_asked_again(service: OAuthService, code: str) -> None:
    service.overrides[TOKEN_PATH] = [answer({"error": code}, status=400)]
    async with client_of(service) as client:
        with pytest.raises(errors.ApiError) as caught:
            await who(client)
        assert not caught.value.is_lasting
        assert await who(client) == "access-1"


async def test_another_failure_of_the_token_endpoint_is_everybodys_and_the_next_call_asks_again(
    service: OAuthService,
) -> None:
    service.overrides[TOKEN_PATH] = [answer(status=500), Cut(b"HTTP/1.1 200")]
    async with client_of(service) as client:
        user = client._session.authenticators._renewing[0]
        dead = Authorization("Bearer long-expired", "long-expired")
        results = await asyncio.gather(*(user.renew(dead) for _ in range(5)), return_exceptions=True)
        assert {type(result) for result in results} == {errors.ServerError}
        with pytest.raises(errors.OutcomeUnknown):
            await who(client)
        assert await who(client) == "access-1"
    assert len(service.requests(TOKEN_PATH)) == 3


async def test_who_stops_waiting_does_not_stop_the_renewal(service: OAuthService) -> None:
    gate = Gate(service)
    service.overrides[TOKEN_PATH] = [gate]
    cache = Watched()
    async with client_of(service, token_cache=cache) as client:
        calls = [asyncio.ensure_future(who(client)) for _ in range(3)]
        await gate.reached.wait()
        for call in calls:
            call.cancel()
        assert all(
            isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*calls, return_exceptions=True)
        )
        gate.open.set()
        assert await who(client) == "access-1"
    assert len(service.forms) == len(cache.stored) == 1


async def test_a_renewal_that_fails_with_nobody_left_to_hear_of_it_makes_no_noise(service: OAuthService) -> None:
    gate = Gate(service)
    service.overrides[TOKEN_PATH] = [gate]
    service.refresh_token = "another"
    async with client_of(service) as client:
        call = asyncio.ensure_future(who(client))
        await gate.reached.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        gate.open.set()


async def test_closing_waits_for_a_renewal_so_that_its_answer_is_saved(service: OAuthService) -> None:
    gate = Gate(service)
    service.overrides[TOKEN_PATH] = [gate]
    cache = Watched()
    client = client_of(service, token_cache=cache)
    call = asyncio.ensure_future(who(client))
    await gate.reached.wait()
    call.cancel()
    closing = asyncio.ensure_future(client.aclose())
    await turns()
    gate.open.set()
    await closing
    assert len(cache.stored) == 1


async def test_closing_waits_only_so_long(service: OAuthService) -> None:
    gate = Gate(service)
    service.overrides[TOKEN_PATH] = [gate]
    cache = Watched()
    client = client_of(service, token_cache=cache)
    call = asyncio.ensure_future(who(client))
    await gate.reached.wait()
    await client._session.authenticators._renewing[0].aclose(0)
    with pytest.raises(errors.TransportError, match="the client was closed"):
        await call
    await client.aclose()
    assert cache.stored == []


@pytest.mark.parametrize("is_sent", [False, True])
async def test_closing_does_not_wait_for_the_next_attempt_of_a_renewal(service: OAuthService, is_sent: bool) -> None:
    gate, clock, refusal = Gate(service), WatchedClock(), answer(status=429, Retry_After="50")

    async def refuse(received: Received) -> bytes:
        gate.reached.set()
        await gate.open.wait()
        return refusal

    service.overrides[TOKEN_PATH] = [refuse if is_sent else refusal]
    client = client_of(service, clock=clock)
    call = asyncio.ensure_future(who(client))
    await (gate.reached if is_sent else clock.sleeping).wait()
    closing = asyncio.ensure_future(client.aclose())
    await turns()
    gate.open.set()
    async with asyncio.timeout(5):
        await closing
        with pytest.raises(errors.RateLimited if is_sent else errors.TransportError):
            await call
    assert len(service.requests(TOKEN_PATH)) == 1


async def test_a_token_is_renewed_a_minute_before_its_known_end(service: OAuthService) -> None:
    clock = VirtualClock()
    async with client_of(service, clock=clock) as client:
        assert await who(client) == "access-1"
        clock.advance(7_139)
        assert await who(client) == "access-1"
        clock.advance(1)
        assert await asyncio.gather(*(who(client) for _ in range(20))) == ["access-2"] * 20
    dead = [r for r in service.requests("/2/me") if r.headers["authorization"] == "Bearer long-expired"]
    assert len(dead) == 1
    assert len(service.forms) == 2


@pytest.mark.parametrize(("lifetime", "serves_for"), [(100, 89), (1, 0), (None, 10**9), (0, 10**9), (-5, 10**9)])
async def test_a_short_life_is_renewed_in_its_last_tenth_and_an_untold_one_when_refused(
    lifetime: int | None, serves_for: int
) -> None:
    service = OAuthService(expires_in=lifetime)
    clock = VirtualClock()
    async with service.server, client_of(service, clock=clock) as client:
        await who(client)
        clock.advance(serves_for)
        assert await who(client) == "access-1"


async def test_while_a_token_serves_a_renewal_ahead_of_time_may_fail(
    service: OAuthService, caplog: pytest.LogCaptureFixture
) -> None:
    clock = VirtualClock()
    async with client_of(service, clock=clock) as client:
        await who(client)
        service.overrides[TOKEN_PATH] = [answer(status=500)] * 3
        clock.advance(7_150)
        assert [await who(client) for _ in range(3)] == ["access-1"] * 3
        assert len(service.requests(TOKEN_PATH)) == 2
        clock.advance(10)
        assert await who(client) == "access-1"
        assert len(service.requests(TOKEN_PATH)) == 3
        clock.advance(40)
        with pytest.raises(errors.ServerError):
            await who(client)
        assert await who(client) == "access-2"
    assert "an access token that expires soon was not renewed: POST /2/oauth2/token: 500: " in caplog.text
    told = [vars(record).get("socialapi_error") for record in caplog.records if "was not renewed" in record.message]
    assert told == ["ServerError"] * 2


async def test_a_service_that_gives_the_refused_token_again_is_not_asked_forever(service: OAuthService) -> None:
    same = answer({"access_token": "long-expired", "refresh_token": "refresh-0"})
    service.overrides[TOKEN_PATH] = [same]
    async with client_of(service) as client:
        with pytest.raises(errors.Unauthorized) as refused:
            await who(client)
    assert refused.value.codes == (89,)
    assert len(service.requests(TOKEN_PATH)) == 1


async def test_a_token_without_a_refresh_token_ends_for_good(service: OAuthService) -> None:
    async with client_of(service, OAuth2User("long-expired")) as client:
        with pytest.raises(errors.Unauthorized):
            await who(client)
    assert service.forms == []


async def test_a_stored_pair_that_is_about_to_end_is_not_taken_from_another_process(service: OAuthService) -> None:
    clock = VirtualClock()
    cache = MemoryTokenCache()
    key = pair_key(service.url, EXPIRED)
    service.refresh_token = "refresh-7"
    async with client_of(service, token_cache=cache, clock=clock) as client:
        assert (await client._session.authenticators._renewing[0]._load()).access_token == "long-expired"
        await cache.store(key, TokenPair("access-7", "refresh-7", clock.time(), clock.time() + 60).to_text())
        assert await who(client) == "access-1"
    assert [form["refresh_token"] for form in service.forms] == ["refresh-7"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "access-9",
        "[]",
        "7",
        "[" * 100_000,
        '{"access_token": "access-9"}',
        '{"access_token": 9, "refresh_token": "r", "renew_at": null, "expires_at": null}',
        '{"access_token": "access-9", "refresh_token": "r", "renew_at": "soon", "expires_at": null}',
    ],
)
async def test_a_cache_that_holds_something_else_is_as_good_as_empty(service: OAuthService, text: str) -> None:
    cache = MemoryTokenCache()
    await cache.store(pair_key(service.url, ALIVE), text)
    async with client_of(service, ALIVE, token_cache=cache) as client:
        assert await who(client) == "access-0"


def test_the_place_of_a_pair_depends_on_host_client_and_refresh_token_and_shows_none_of_them() -> None:
    keys = {
        pair_key("https://api.example", EXPIRED),
        pair_key("https://other.example", EXPIRED),
        pair_key("https://api.example", OAuth2User("a", "refresh-1", CLIENT_ID)),
        pair_key("https://api.example", OAuth2User("a", "refresh-0", "another-client")),
    }
    assert len(keys) == 4
    assert pair_key("https://api.example", EXPIRED) == pair_key("https://api.example", ALIVE)
    assert not [key for key in keys if "refresh" in key or "example" in key]


async def test_no_log_line_repr_or_error_holds_a_token(service: OAuthService, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    cache = Watched()
    cache.failures = 1
    seen: list[str] = []
    credential = OAuth2User("long-expired", "refresh-0", CLIENT_ID, "client-secret-7")
    async with client_of(service, credential, token_cache=cache) as client:
        with pytest.raises(errors.ConfigurationError) as unsaved:
            await who(client)
        await who(client)
        service.refresh_token = "another"
        service.alive.clear()
        with pytest.raises(errors.Unauthorized) as refused:
            await who(client)
        user = client._session.authenticators._renewing[0]
        seen += [
            repr(user),
            repr(user._pair),
            repr(unsaved.value),
            repr(refused.value),
            str(refused.value),
            repr(cache),
        ]
    said = caplog.text + "".join(seen)
    tokens = ("long-expired", "refresh-0", "access-1", "refresh-1", "client-secret-7")
    assert not [token for token in tokens if token in said]


PROCESS: Final = """
import asyncio, sys
from socialapi import Client, Config, FileTokenCache, OAuth2User

async def main(url, path):
    credential = OAuth2User("long-expired", "refresh-0", "client-of-oauth2")
    async with Client(Config(base_url=url), [credential], token_cache=FileTokenCache(path)) as client:
        print("ready", flush=True)
        sys.stdin.readline()
        replies = await asyncio.gather(*(client.request("GET", "/2/me") for _ in range(10)))
        print(*(reply.body["data"]["as"] for reply in replies))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_two_processes_that_share_a_cache_file_share_the_renewal(service: OAuthService, tmp_path: Path) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROCESS, service.url, str(tmp_path / "tokens.json")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    assert [output.split() for output, _ in outputs] == [[b"access-1"] * 10] * 2
    assert len(service.forms) == 1
