"""A request that is opened: what it carried and was answered without its secrets, and as a command that repeats it."""

import asyncio
import base64
import shlex
from typing import Any

from socialapi import Client
from tests.emulator.asking import Asker, digest, operation, updates


async def opened(ask: Asker, number: int) -> dict[str, Any]:
    reply = await ask.control("GET", f"requests/{number}")
    assert reply.status == 200, reply.text
    found: dict[str, Any] = reply.json
    return found


async def run_curl(ask: Asker, number: int) -> tuple[int, str]:
    """Runs the command for a request in a shell; returns the status and the body of its answer."""
    made = (await ask.control("POST", f"requests/{number}/curl")).json
    assert made["note"] == ""
    command = f"{made['curl']} -s -o - -w '\n%{{http_code}}'"
    process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    text = (await process.communicate())[0].decode()
    body, _, status = text.rpartition("\n")
    return int(status), body


async def test_a_request_has_headers_bodies_and_no_secret(ask: Asker) -> None:
    await ask.upload(updates(1), headers={"X-Extra": "here"})
    found = await opened(ask, 1)
    assert (found["method"], found["path"], found["status"]) == ("POST", ask.audience_path, 200)
    headers = {name.lower(): value for name, value in found["request"]["headers"]}
    assert (headers["x-extra"], headers["authorization"]) == ("here", "OAuth ***")
    assert digest("person 0") in found["request"]["body"]
    assert (found["request"]["cut"], found["request"]["body_bytes"]) == (False, len(found["request"]["body"]))
    assert '"success_count":1' in found["answer"]["body"]
    secrets = {value for name, value in ask.emulator.ready.items() if "secret" in name or "token" in name}
    assert not any(secret in str(found) for secret in secrets)


async def test_tokens_are_starred_in_queries_forms_and_answers(ask: Asker) -> None:
    ready = ask.emulator.ready
    pair = base64.b64encode(f"{ready['api_key']}:{ready['api_key_secret']}".encode()).decode()
    basic = {"Authorization": f"Basic {pair}"}
    token = ready["bearer_token"]
    await ask.send("POST", "/oauth2/token", headers=basic, data={"grant_type": "client_credentials"})
    await ask.send("POST", "/oauth2/invalidate_token", headers=basic, data={"access_token": token})
    await ask.send("GET", "/oauth/authorize?oauth_token=abc&pagination_token=kept")
    first, second, third = [await opened(ask, number) for number in (1, 2, 3)]
    assert (first["request"]["body"], '"access_token":"***"' in first["answer"]["body"]) == (
        "grant_type=client_credentials",
        True,
    )
    assert second["request"]["body"] == "access_token=***"
    assert third["query"] == "oauth_token=***&pagination_token=kept"
    assert not any(text in str([first, second, third]) for text in (token, pair))


async def test_long_bodies_are_cut_and_only_the_latest_requests_are_kept(ask: Asker) -> None:
    await ask.upload([operation({"email": [digest(f"{number}") for number in range(1_000)]})])
    found = await opened(ask, 1)
    assert (found["request"]["cut"], len(found["request"]["body"])) == (True, 32_768)
    assert found["request"]["body_bytes"] > 64_000
    made = (await ask.control("POST", "requests/1/curl")).json
    assert shlex.split(made["curl"])[-2:] == ["--data-binary", "@body"]
    assert "save it in a file named body" in made["note"]
    for _ in range(200):
        await ask.send("GET", "/nowhere")
    for number in ("1", "202", "x"):
        reply = await ask.control("GET", f"requests/{number}")
        assert (reply.status, number in reply.json["errors"][0]["message"]) == (404, True)
    assert (await opened(ask, 2))["answer"]["headers"]
    ask.emulator.reset()
    assert (await ask.control("GET", "requests/2")).status == 404


async def test_a_signed_request_is_repeated_by_curl(ask: Asker) -> None:
    """The signature serves once; the command has a token of the same user, the same each time."""
    await ask.upload(updates(2))
    await ask.signed("GET", f"/ads/12/accounts/{ask.account}?with_deleted=true")
    status, body = await run_curl(ask, 1)
    assert (status, '"success_count":2' in body) == (200, True)
    status, body = await run_curl(ask, 2)
    assert (status, ask.account in body) == (200, True)
    assert len({each for each in ask.emulator.state.bearers if each != ask.emulator.ready["bearer_token"]}) == 1


async def test_a_body_that_names_a_file_is_repeated_as_it_is(ask: Asker) -> None:
    await ask.send("POST", "/2/tweets", data=f"@{__file__}".encode())
    await run_curl(ask, 1)
    assert (await opened(ask, 2))["request"]["body"] == f"@{__file__}"


async def test_other_requests_are_repeated_by_curl(ask: Asker) -> None:
    await ask.get("/2/users/2244994945/tweets", max_results=5)
    await ask.send("GET", "/2/users/2244994945/tweets")
    await ask.signed("GET", "/2/users/2244994945/tweets", signer=ask.signer(api_key_secret="wrong"))
    assert (await run_curl(ask, 1))[0] == 200
    assert (await run_curl(ask, 2))[0] == 401
    assert (await run_curl(ask, 3))[0] == 401
    async with Client(ask.emulator.config, ask.emulator.credentials) as client:
        await client.ads.account(ask.account).line_items.update("8xdpe", name='Huts & "more" $HOME')
    assert (await run_curl(ask, 7))[0] == 200
    assert ask.emulator.requests[-1].path == ask.emulator.requests[-2].path


async def test_a_browser_is_led_to_the_dashboard(ask: Asker) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    reply = await ask.send("GET", "/", headers=browser, allow_redirects=False)
    assert (reply.status, reply.headers["Location"]) == (307, "/_emulator/")
    assert (await ask.send("GET", "/", headers={"Accept": "*/*"})).status == 404
    assert (await ask.send("POST", "/", headers=browser)).status == 404
    assert (await ask.send("GET", "/2", headers=browser)).status == 404
