"""`socialapi doctor` and `socialapi limits`, and how much commands report."""

import json
import logging
from typing import Any

import pytest

from socialapi import Bearer, Client, Config, errors
from socialapi.cli.app import run
from socialapi.emulator import Emulator
from socialapi.internal.logs import LOGGER, ToStandardError
from tests.cli.running import Shell
from tests.support.server import Server, answer


def of(checks: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(each for each in checks if name in each["name"])


async def test_a_set_up_that_works_is_all_right(ready: Shell) -> None:
    done = await ready.run("doctor", "--json")
    found = json.loads(done.out)
    assert done.status == 0 == found["status"]
    assert all(each["ok"] for each in found["checks"])
    names = [each["name"] for each in found["checks"]]
    assert {"version", "base_url", "this machine's clock", "user (OAuth 1.0a)", "app (app-only token)"} <= set(names)
    assert found["limits"]
    lines = (await ready.run("doctor")).out
    assert "ok    user (OAuth 1.0a): accepted" in lines
    assert ready.credentials_path.name not in lines or "none yet" in lines


async def test_no_secret_is_shown(ready: Shell, emulator: Emulator) -> None:
    done = await ready.run("doctor")
    for name in ("api_key_secret", "access_token", "access_token_secret", "bearer_token"):
        assert emulator.ready[name] not in done.out + done.err


async def test_what_is_missing_has_to_be_set(shell: Shell) -> None:
    done = await shell.run("doctor", "--json")
    checks = json.loads(done.out)["checks"]
    assert done.status == 2
    assert not of(checks, "hosts")["ok"]
    assert not of(checks, "credentials")["ok"]
    shell.put(BEARER_TOKEN='"quoted"')
    done = await shell.run("doctor")
    assert done.status == 2
    assert "quotation mark" in done.out


async def test_a_refused_credential_is_3_and_its_token_is_not_renewed(shell: Shell) -> None:
    refusal = answer({"errors": [{"code": 89, "message": "Invalid or expired token"}]}, status=401)
    async with Server(then=refusal) as server:
        shell.put(BASE_URL=server.url, OAUTH2_ACCESS_TOKEN="a", OAUTH2_REFRESH_TOKEN="r", OAUTH2_CLIENT_ID="c")
        done = await shell.run("doctor", "--json")
    assert done.status == 3
    assert not of(json.loads(done.out)["checks"], "OAuth 2.0")["ok"]
    assert [each.method for each in server.requests] == ["GET"]


@pytest.mark.parametrize("body", [b"<html><title>Sign in</title></html>", b"", {"error": {"message": "Sign in"}}])
async def test_an_answer_that_is_not_the_services_accepts_no_credential(body: Any, shell: Shell) -> None:
    async with Server(then=answer(body)) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        done = await shell.run("doctor")
    assert done.status != 0
    assert "accepted" not in done.out
    assert not body or "Sign in" in done.out


async def test_a_clock_that_is_off_is_named(shell: Shell) -> None:
    page = answer({"data": []}, Date="Fri, 15 Jan 2027 08:00:42 GMT")
    async with Server(then=page) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        done = await shell.run("doctor", "--json")
    assert done.status == 2
    assert not of(json.loads(done.out)["checks"], "clock")["ok"]


async def test_the_limits_are_those_that_the_answers_tell(ready: Shell) -> None:
    found = json.loads((await ready.run("limits", "--json")).out)
    assert found
    lines = (await ready.run("limits")).out
    assert "GET /12/accounts: " in lines


# How much is reported


@pytest.mark.parametrize(
    ("words", "level"),
    [(["-v"], "INFO"), (["-vv"], "DEBUG"), (["-v", "-v"], "DEBUG"), ([], "WARNING"), (["-q"], "ERROR")],
)
async def test_a_command_reports_as_much_as_it_is_asked_to(words: list[str], level: str, shell: Shell) -> None:
    async with Server(answer(status=503), then=answer({"data": [], "meta": {}})) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        done = await shell.run(*words, "posts", "by-user", "1")
    assert done.status == 0
    assert ("retrying in" in done.err) is (level in ("INFO", "DEBUG"))
    assert (": 200 in" in done.err) is (level == "DEBUG")
    assert LOGGER.level == logging.NOTSET
    assert not any(isinstance(each, ToStandardError) for each in LOGGER.handlers)


async def test_the_variable_asks_commands_and_programs_alike(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Server(answer(status=503), answer(status=503), then=answer({"data": [], "meta": {}})) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b", LOG="info")
        done = await shell.run("posts", "by-user", "1")
        assert done.err.count("retrying in") == 2
        try:
            for _ in range(2):  # one handler, however many clients there are
                async with Client(Config(base_url=server.url), [Bearer("b")]) as client:
                    LOGGER.info("said once")
                    await client.request("GET", "/2/tweets")
            assert capsys.readouterr().err.count("INFO socialapi: said once") == 2
        finally:
            LOGGER.handlers = [each for each in LOGGER.handlers if not isinstance(each, ToStandardError)]
            LOGGER.setLevel(logging.NOTSET)
    monkeypatch.setenv("SOCIALAPI_LOG", "loud")
    with pytest.raises(errors.ConfigurationError, match="SOCIALAPI_LOG must be one of debug, info, warning, error"):
        Client()
    assert run(["doctor"]) == 2
