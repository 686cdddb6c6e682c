"""Starting and stopping, the ready line, addresses, routing and what every answer carries."""

import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request as request

from socialapi.emulator import Emulator
from socialapi.emulator.routing import Dispatcher
from socialapi.errors import ConfigurationError
from tests.emulator.asking import Asker, eventually, updates

READY_KEYS = {
    "event",
    "base_url",
    "ads_url",
    "ads_sandbox_url",
    "problem_base_url",
    "api_key",
    "api_key_secret",
    "access_token",
    "access_token_secret",
    "bearer_token",
}


async def test_literal_segments_win_over_parameters_in_any_order() -> None:
    table = Dispatcher(
        [
            ("DELETE", "/2/connections/{id}", "by id"),
            ("DELETE", "/2/connections/all", "all"),
            ("GET", "/2/{kind}/all", "kind"),
            ("GET", "/2/connections/{id}", "one"),
        ]
    )
    assert (await table.find(request("DELETE", "/2/connections/all"))).entry == "all"
    assert (await table.find(request("DELETE", "/2/connections/17"))).entry == "by id"
    assert (await table.find(request("GET", "/2/connections/all"))).entry == "one"
    assert (await table.find(request("GET", "/2/others/all"))).entry == "kind"
    assert (await table.find(request("GET", "/2/connections/a%2Fb"))).parameters == {"id": "a/b"}
    assert (await table.find(request("GET", "/2/connections/"))).entry is None
    assert (await table.find(request("PUT", "/2/connections/all"))).allowed == ("DELETE", "GET")
    assert (await table.find(request("PUT", "/2/connections"))).allowed == ()


def test_an_emulator_that_does_not_run_has_no_address() -> None:
    with pytest.raises(ConfigurationError, match="async with"):
        _ = Emulator().ready


async def test_ids_and_secrets_are_the_same_at_every_start(emulator: Emulator) -> None:
    async with Emulator() as other:
        assert dict(other.seed) == dict(emulator.seed)
        assert {other.ready[name] == emulator.ready[name] for name in READY_KEYS if "url" not in name} == {True}


async def test_an_open_connection_does_not_hold_the_end_up() -> None:
    async with aiohttp.ClientSession() as session:
        async with Emulator() as emulator:
            assert (await Asker(emulator, session).control("GET", "seed")).status == 200
            started = time.perf_counter()
        assert time.perf_counter() - started < 5  # aiohttp's server would wait for a minute


async def test_it_can_be_started_again_and_keeps_what_it_holds(session: aiohttp.ClientSession) -> None:
    emulator = Emulator()
    async with emulator:
        assert (await Asker(emulator, session).upload(updates(1))).status == 200
    async with emulator:
        ask = Asker(emulator, session)
        emulator.faults.add("slow", delay_seconds=0.05)
        started = time.perf_counter()
        assert (await ask.upload([])).status == 200
        assert time.perf_counter() - started >= 0.05
        assert len(ask.members()) == 1


async def test_an_empty_emulator_has_a_user_and_an_account_and_nothing_in_it(session: aiohttp.ClientSession) -> None:
    async with Emulator(empty=True) as emulator:
        assert {kind: len(ids) for kind, ids in emulator.seed.items()} == {
            "account_ids": 1,
            "unassociated_account_ids": 0,
            "user_ids": 1,
            "custom_audience_ids": 0,
            "tailored_audience_ids": 0,
            "do_not_reach_list_ids": 0,
            "post_ids": 0,
            "media_keys": 0,
            "news_ids": 0,
            "campaign_ids": 0,
            "line_item_ids": 0,
            "curated_category_ids": 0,
            "line_item_curated_category_ids": 0,
            "account_app_ids": 0,
            "video_media_keys": 0,
            "uploaded_media_keys": 0,
            "account_media_ids": 0,
            "card_ids": 0,
            "poll_card_ids": 0,
            "video_conversation_card_ids": 0,
            "product_catalog_ids": 0,
            "product_set_ids": 0,
        }
        ask = Asker(emulator, session)
        path = f"/ads/12/accounts/{ask.account}/custom_audiences/1nmth/users"
        reply = await ask.upload(updates(1), path=path)
        assert (reply.status, reply.json["errors"][0]["parameter"]) == (404, "custom_audience_id")


async def test_a_port_in_use_is_said_in_one_sentence(emulator: Emulator) -> None:
    port = int(emulator.ready["base_url"].rpartition(":")[2])
    with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1 port {port}: .+"):
        async with Emulator(port=port):
            raise AssertionError("not reached")


async def test_listening_everywhere_is_addressed_by_loopback() -> None:
    async with Emulator("0.0.0.0") as emulator:
        assert emulator.config.base_url.startswith("http://127.0.0.1:")


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
async def test_ipv6_addresses_are_bracketed(session: aiohttp.ClientSession) -> None:
    with contextlib.suppress(ConfigurationError):  # the machine may have IPv6 switched off
        async with Emulator("::1") as emulator:
            assert emulator.config.base_url.startswith("http://[::1]:")
            assert (await Asker(emulator, session).upload(updates(1))).status == 200


async def test_every_answer_has_a_request_id_of_its_own_and_a_date(ask: Asker) -> None:
    replies = [
        await ask.upload(updates(1)),
        await ask.upload(b""),
        await ask.send("GET", "/nowhere"),
        await ask.control("GET", "ledger"),
        await ask.control("GET", "requests"),
        await ask.control("GET", "nothing"),
    ]
    assert len({reply.headers["x-transaction-id"] for reply in replies}) == len(replies)
    assert all(re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} .* GMT", reply.headers["Date"]) for reply in replies)


@pytest.mark.parametrize("path", ["/ads/12/nothing", "/ads-sandbox/12/accounts/x/nothing", "/ads/"])
async def test_an_unknown_ads_path_is_an_ads_error(ask: Asker, path: str) -> None:
    reply = await ask.send("POST", path)
    assert (reply.status, reply.codes) == (404, ["ROUTE_NOT_FOUND"])
    assert reply.json["request"] == {"params": {}}


async def test_a_known_path_with_another_method_is_405(ask: Asker) -> None:
    reply = await ask.signed("GET", ask.audience_path)
    assert (reply.status, reply.codes, reply.headers["Allow"]) == (405, ["METHOD_NOT_ALLOWED"], "POST")
    reply = await ask.send("GET", "/oauth2/token")
    assert (reply.status, reply.json["title"]) == (405, "Method Not Allowed")


async def test_a_client_that_leaves_before_its_body_is_complete_does_no_harm(ask: Asker) -> None:
    port = int(ask.emulator.ready["base_url"].rpartition(":")[2])
    for path in (ask.audience_path, "/_emulator/clock"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
        writer.write(head.encode())
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        writer.write(b"[")
        writer.close()
        await writer.wait_closed()
    await eventually(lambda: ask.emulator.ledger()["requests"])
    (record,) = ask.emulator.requests
    assert (record.status, record.body_sha256) == (None, None)
    assert (await ask.upload(updates(1))).status == 200


PROGRAM = "import asyncio; from socialapi.emulator.server import Emulator, serve; asyncio.run(serve({}))"


def started(arguments: str = "Emulator()", **options: Any) -> tuple["subprocess.Popen[str]", dict[str, str]]:
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    return process, json.loads(line)


def test_as_a_program_it_ends_with_its_standard_input() -> None:
    process, _ = started("Emulator(), until_stdin_closes=True", stdin=subprocess.PIPE)
    output, errors = process.communicate("some input\n", timeout=10)
    assert (process.returncode, output, errors) == (0, "", "")


def test_as_a_program_it_passes_its_options_on() -> None:
    process, ready = started("Emulator('localhost', empty=True), until_stdin_closes=True", stdin=subprocess.PIPE)
    assert ready["base_url"].startswith("http://localhost:")
    process.communicate(timeout=10)
    assert process.returncode == 0
