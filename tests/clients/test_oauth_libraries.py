"""requests-oauthlib and authlib against the emulator: tokens, signing in and signing requests."""

import pytest

from socialapi.emulator import Emulator
from tests.clients.program import Program

CALLBACK = "http://127.0.0.1:7/back?kept=yes"


@pytest.fixture
def requests_oauthlib(emulator: Emulator) -> Program:
    return Program("with_requests_oauthlib", emulator)


@pytest.fixture
def authlib(emulator: Emulator) -> Program:
    return Program("with_authlib", emulator)


async def test_requests_oauthlib_gets_the_app_only_token(emulator: Emulator, requests_oauthlib: Program) -> None:
    found = await requests_oauthlib("app_token")
    assert found == {"token": emulator.ready["bearer_token"], "ids": [emulator.seed["post_ids"][0]]}


@pytest.mark.parametrize("callback", ["oob", CALLBACK])
async def test_a_user_signs_in_and_out_with_requests_oauthlib(requests_oauthlib: Program, callback: str) -> None:
    assert await requests_oauthlib("three_legged", callback=callback) == {
        "name": "northwind",
        "posted": 201,
        "accounts": ["Northwind Outdoor"],
        "ended": True,
        "refused": [401, 89],
    }


async def test_requests_oauthlib_signs_a_form(requests_oauthlib: Program) -> None:
    assert await requests_oauthlib("form_body") == [200, "Northwind & sons, Zürich", "RETAIL"]


async def test_a_user_signs_in_with_pkce_in_requests_oauthlib(requests_oauthlib: Program) -> None:
    found = await requests_oauthlib("pkce", callback=CALLBACK)
    assert found == {"posted": 201, "newer": True, "again": [400, "invalid_grant"]}


async def test_authlib_gets_the_app_only_token(emulator: Emulator, authlib: Program) -> None:
    assert await authlib("app_token") == {"token": emulator.ready["bearer_token"], "rules": 200}


@pytest.mark.parametrize("callback", ["oob", CALLBACK])
async def test_a_user_signs_in_with_authlib(authlib: Program, callback: str) -> None:
    assert await authlib("three_legged", callback=callback) == {"name": "northwind", "posted": 201}


async def test_a_user_signs_in_with_pkce_in_authlib(authlib: Program) -> None:
    assert await authlib("pkce", callback=CALLBACK) == {"posted": 201, "newer": True}


async def test_authlib_signs_a_json_body(authlib: Program) -> None:
    assert await authlib("signed_json") == [200, {"success_count": 2, "total_count": 2}]
