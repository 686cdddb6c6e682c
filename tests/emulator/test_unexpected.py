"""What nobody expects: faults of the emulator itself, resets in the middle of requests, and clocks at their ends."""

import asyncio
import logging
from collections import Counter
from typing import Any

import attrs
import pytest
from aiohttp import web

from socialapi.emulator import Emulator
from socialapi.emulator.handlers import Endpoint
from socialapi.emulator.responses import Answer
from socialapi.emulator.server import ENDPOINT_TABLE
from socialapi.errors import InvalidInput
from tests.emulator.asking import Asker, eventually
from tests.emulator.platform.delivering import EVENT, webhook
from tests.emulator.platform.receiving import URL, Delivered, Owner, create_webhook


async def test_a_fault_of_the_emulator_is_told_as_one_and_counted(
    ask: Asker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    find = ENDPOINT_TABLE.find

    async def fails(call: Any) -> Answer:
        raise KeyError("a mistake")

    async def found(request: web.BaseRequest) -> Any:
        match = await find(request)
        assert isinstance(match.entry, Endpoint)
        return attrs.evolve(match, entry=attrs.evolve(match.entry, handler=fails))

    monkeypatch.setattr(ENDPOINT_TABLE, "find", found)
    url = ask.emulator.ready["base_url"] + "/ads/12/accounts"
    headers = ask.signer().sign(url, "GET")[1]
    async with ask.session.get(url, headers=headers) as response:  # whose status no contract allows
        (error,) = (await response.json())["errors"]
    assert (response.status, error["code"]) == (500, "INTERNAL_ERROR")
    assert "bug in the emulator" in error["message"]
    assert response.headers["x-transaction-id"]
    assert ask.emulator.ledger()["requests"]["GET /ads/12/accounts"]["statuses"] == {"500": 1}
    assert [record.exc_info is not None for record in caplog.records if record.levelno >= logging.ERROR] == [True]


async def test_a_malformed_request_is_logged_without_its_content(
    emulator: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    host, port = emulator.ready["base_url"].removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /2/tweets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer planted-secret\x00\r\n\r\n")
    assert b" 400 " in await reader.read()
    writer.close()
    await writer.wait_closed()
    assert "planted-secret" not in caplog.text


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e10])
async def test_the_clock_goes_forward_only_and_to_times_that_can_be_told(ask: Asker, seconds: float) -> None:
    with pytest.raises(InvalidInput):
        ask.emulator.advance(seconds)
    statuses = {(await ask.control("POST", "clock", {"advance": 1e9})).status for _ in range(8)}
    assert statuses == {200, 400}
    assert (await ask.get("/2/tweets", ids="1")).status == 200


async def test_a_reset_during_a_challenge_leaves_nothing_of_it(ask: Asker, owner: Owner) -> None:
    async def respond(token: str) -> web.Response:
        ask.emulator.reset()
        return web.Response(body=owner.answer(token))

    owner.respond = respond
    assert (await create_webhook(ask)).status == 400
    assert (ask.emulator.state.platform.webhooks, ask.emulator.ledger()["deliveries"]) == ({}, {})


async def test_a_reset_ends_a_replay_and_another_one_can_begin(ask: Asker, owner: Owner) -> None:
    for _ in range(2):
        await webhook(ask)
        await ask.emulator.publish(EVENT)
        await ask.emulator.settle()
        deliveries = ask.emulator._service.deliveries
        (held,) = ask.emulator.state.platform.webhooks.values()
        assert deliveries.replay([held], 0.0, ask.emulator.state.clock.now()) == 1
        ask.emulator.reset()  # before the replay had its first turn
        ask.emulator.webhook_targets[URL] = owner.address
        await eventually(lambda: not deliveries.is_replaying(held.app_key))  # noqa: B023 - awaited in the loop


async def test_what_waits_for_a_webhook_that_is_deleted_is_counted_as_skipped(ask: Asker, owner: Owner) -> None:
    released = asyncio.Event()

    async def take(delivered: Delivered) -> web.Response:
        await released.wait()
        return web.Response()

    owner.take = take
    webhook_id = await webhook(ask)
    await ask.emulator.publish({**EVENT, "copies": 100})
    assert (await ask.bearer("DELETE", f"/2/webhooks/{webhook_id}")).status == 200
    released.set()
    await ask.emulator.settle()
    told = Counter(ask.emulator.ledger()["deliveries"][webhook_id])
    assert told["delivered"] + told["failed"] + told["skipped"] == 100
    assert told["skipped"] >= 68


@pytest.mark.parametrize(
    "name", ["status", "code", "message", "headers", "problem", "given", "detail", "title", "type"]
)
async def test_a_scripted_problem_may_have_a_field_of_any_name(ask: Asker, name: str) -> None:
    ask.emulator.faults.add("status", problem="conflict", problem_fields={name: "x"})
    reply = await ask.get("/2/tweets", ids="1")
    assert (reply.status, reply.json[name]) == (409, "x")


async def test_a_protected_post_is_for_others_as_if_it_were_not_there(ask: Asker) -> None:
    state = ask.emulator.state
    author = state.users[ask.emulator.seed["user_ids"][1]]
    author.profile["protected"] = True
    hidden = str(state.platform.posts.timeline(author.id)[-1])
    for body in ({"quote_tweet_id": hidden}, {"reply": {"in_reply_to_tweet_id": hidden}}):
        reply = await ask.signed("POST", "/2/tweets", json={"text": "x", **body})
        assert reply.status == 400
        assert "does not match any post" in reply.text
    note = await ask.signed("POST", "/2/notes", json={"post_id": hidden})
    assert (note.status, note.slug) == (404, "resource-not-found")
