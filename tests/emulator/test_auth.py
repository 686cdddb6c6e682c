"""App-only tokens (platform documentation, sections 3.2, 5.2 and 7.3)."""

import base64
from typing import Any

import pytest

from tests.emulator.asking import Asker, Reply

GRANT = {"grant_type": "client_credentials"}


async def token(ask: Asker, **options: Any) -> Reply:
    return await basic(ask, "/oauth2/token", **{"data": GRANT, **options})


async def basic(ask: Asker, path: str, **options: Any) -> Reply:
    ready = ask.emulator.ready
    key, secret = options.pop("app", (ready["api_key"], ready["api_key_secret"]))
    encoded = base64.b64encode(f"{key}:{secret}".encode()).decode()
    return await ask.send("POST", path, headers={"Authorization": f"Basic {encoded}"}, **options)


async def test_the_outstanding_token_is_answered_again_and_again(ask: Asker) -> None:
    replies = [await token(ask), await token(ask), await token(ask, data=None, params=GRANT)]
    expected = {"token_type": "bearer", "access_token": ask.emulator.ready["bearer_token"]}
    assert [(reply.status, reply.json) for reply in replies] == [(200, expected)] * 3


async def test_only_a_live_token_of_the_same_app_can_be_invalidated(ask: Asker) -> None:
    other = (await ask.control("POST", "apps")).json
    for wrong in ("nonsense", other["bearer_token"]):
        assert (await basic(ask, "/oauth2/invalidate_token", data={"access_token": wrong})).status == 403
    first = ask.emulator.ready["bearer_token"]
    assert (await basic(ask, "/oauth2/invalidate_token", data={"access_token": first})).status == 200
    assert (await basic(ask, "/oauth2/invalidate_token", data={"access_token": first})).status == 403


async def test_percent_encoded_key_and_secret_are_understood(ask: Asker) -> None:
    ready = ask.emulator.ready
    encoded = "".join(f"%{ord(letter):02X}" for letter in ready["api_key"])
    assert (await token(ask, app=(encoded, ready["api_key_secret"]))).status == 200


@pytest.mark.parametrize(("key", "secret"), [(None, "wrong"), ("wrong", None), ("wrong", ""), ("", "")])
async def test_a_wrong_key_or_secret_is_refused_with_a_code_of_its_own(
    ask: Asker, key: str | None, secret: str | None
) -> None:
    ready = ask.emulator.ready
    wrong = (ready["api_key"] if key is None else key, ready["api_key_secret"] if secret is None else secret)
    for path in ("/oauth2/token", "/oauth2/invalidate_token"):
        reply = await basic(ask, path, data=GRANT, app=wrong)
        assert (reply.status, reply.codes) == (401, [32])


@pytest.mark.parametrize(
    "header",
    ["", "Basic", "Basic %%%", "Bearer abc", "Basic " + base64.b64encode(b"no colon").decode(), "Basic /////w=="],
)
async def test_without_basic_authentication_no_token_is_given(ask: Asker, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    reply = await ask.send("POST", "/oauth2/token", data=GRANT, headers=headers)
    assert (reply.status, reply.codes) == (401, [215])
    assert "request" not in reply.json


@pytest.mark.parametrize("form", [{}, {"grant_type": ""}, {"grant_type": "password"}])
async def test_another_grant_type_or_none_is_refused(ask: Asker, form: dict[str, str]) -> None:
    reply = await token(ask, data=form)
    assert (reply.status, reply.codes) == (400, [170])


async def test_the_61st_request_within_a_minute_gets_code_99(ask: Asker) -> None:
    for _ in range(60):
        assert (await token(ask)).status == 200
    reply = await token(ask)
    assert (reply.status, reply.codes) == (403, [99])
    ask.emulator.advance(59)
    assert (await token(ask)).status == 403
    ask.emulator.advance(1)
    assert (await token(ask)).status == 200


async def test_another_app_has_its_own_token_and_its_own_count(ask: Asker) -> None:
    for _ in range(61):
        await token(ask)
    other = (await ask.control("POST", "apps")).json
    reply = await token(ask, app=(other["api_key"], other["api_key_secret"]))
    assert reply.json["access_token"] == other["bearer_token"] != ask.emulator.ready["bearer_token"]
