"""Deliveries that are made once more, and the faults that send what should not be taken (sections 4.4, 5.5 and 6.1)."""

import asyncio
import datetime
from collections import Counter
from typing import Any

import pytest
from aiohttp import web

from socialapi.emulator.platform import deliveries
from tests.emulator.asking import Asker
from tests.emulator.platform.delivering import EVENT, events, ids, outcomes, webhook
from tests.emulator.platform.receiving import URL, Delivered, Owner

# Replay ------------------------------------------------------------------------------------------------------------


def iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat().replace("+00:00", "Z")


async def replay(ask: Asker, **body: Any) -> int:
    reply = await ask.bearer("POST", "/2/webhooks/replay", json=body)
    assert (reply.status, reply.data["status"]) == (200, "accepted")
    await ask.emulator.settle()
    number: int = reply.data["events"]
    return number


async def test_a_replay_delivers_again_what_was_sent(ask: Asker, owner: Owner) -> None:
    webhook_id = await webhook(ask)
    began = ask.emulator.state.clock.now()
    for hour in range(3):
        await ask.emulator.publish({**EVENT, "event_id": str(hour), "copies": 2})
        await ask.control("POST", "clock", {"advance": 3_600})
    owner.deliveries.clear()
    assert await replay(ask) == 3
    assert sorted(ids(owner)) == ["0", "1", "2"]
    assert all(each.is_genuine for each in owner.deliveries)
    owner.deliveries.clear()
    assert await replay(ask, webhook_id=webhook_id, from_date=iso(began + 60), to_date=iso(began + 3_660)) == 1
    assert ids(owner) == ["1"]
    minutes = datetime.datetime.fromtimestamp(began + 7_100, datetime.UTC).strftime("%Y%m%d%H%M")
    assert await replay(ask, from_date=minutes, colour="red") == 1
    assert await replay(ask, webhook_id="17") == 0
    reply = await ask.bearer("POST", "/2/webhooks/replay", json={"from_date": "noon"})
    assert reply.at_fault == ["from_date"]


async def test_a_second_replay_is_in_conflict_with_the_first(ask: Asker, owner: Owner) -> None:
    """Platform section 7.1: a job is already in progress. Another app's replay is not."""
    await webhook(ask)
    await ask.emulator.publish({**EVENT, "event_id": "1"})
    await ask.emulator.settle()
    released = asyncio.Event()

    async def take(delivered: Delivered) -> web.Response:
        await released.wait()
        return web.Response()

    owner.take = take
    first = await ask.bearer("POST", "/2/webhooks/replay", json={})
    second = await ask.bearer("POST", "/2/webhooks/replay", json={})
    assert (first.status, second.status, second.slug) == (200, 409, "conflict")
    other = (await ask.another_app())["bearer_token"]
    assert (await ask.bearer("POST", "/2/webhooks/replay", token=other, json={})).status == 200
    released.set()
    await ask.emulator.settle()
    assert await replay(ask) == 1


async def test_a_replay_has_what_failed_and_what_was_never_sent(ask: Asker, owner: Owner) -> None:
    """What its owner missed is what a replay is for."""
    webhook_id = await webhook(ask)
    del ask.emulator.webhook_targets[URL]
    await ask.emulator.publish({**EVENT, "event_id": "17"})
    await ask.emulator.settle()
    ask.emulator.webhook_targets[URL] = owner.address
    assert ask.emulator.ledger()["deliveries"][webhook_id]["failed"] == 1
    owner.deliveries.clear()
    assert await replay(ask) == 1
    await ask.emulator.settle()
    assert ids(owner) == ["17"]


async def test_a_replay_has_what_was_published_while_the_webhook_was_invalid(ask: Asker, owner: Owner) -> None:
    """Section 3.1: events stop being delivered, and resume after a PUT. They were not even counted as skipped."""
    webhook_id = await webhook(ask, link="")
    rules = await ask.bearer("POST", "/2/tweets/search/stream/rules", json={"add": [{"value": "snow"}]})
    assert rules.status == 201
    secret, owner.secret = owner.secret, "wrong"
    await ask.control("POST", "clock", {"advance": 3_601})
    published = await ask.emulator.publish({"events": [{**EVENT, "event_id": "17", "copies": 2}, {"text": "snow"}]})
    assert [each["webhooks"] for each in published["published"]] == [0, 0]
    await ask.emulator.settle()
    owner.secret = secret
    assert (await ask.bearer("PUT", f"/2/webhooks/{webhook_id}")).status == 200
    assert owner.events == []
    assert ask.emulator.ledger()["deliveries"][webhook_id]["skipped"] == 3
    assert await replay(ask) == 2
    assert [event["data"].get("event_id", "a post") for event in owner.events] == ["17", "a post"]


async def test_a_replay_goes_back_a_day_and_ends_with_the_webhook(ask: Asker, owner: Owner) -> None:
    webhook_id = await webhook(ask)
    await ask.emulator.publish(EVENT)
    await ask.control("POST", "clock", {"advance": 86_401})
    assert await replay(ask) == 0
    await ask.emulator.publish(EVENT)
    await ask.emulator.settle()
    assert await replay(ask) == 1
    other = (await ask.another_app())["bearer_token"]
    assert (await ask.bearer("POST", "/2/webhooks/replay", token=other, json={})).data["events"] == 0
    await ask.bearer("DELETE", f"/2/webhooks/{webhook_id}")
    await webhook(ask)
    assert await replay(ask) == 0


async def test_a_long_replay_waits_for_room(ask: Asker, owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    await webhook(ask)
    await ask.emulator.publish(events(100))
    await ask.emulator.settle()
    owner.deliveries.clear()
    monkeypatch.setattr(deliveries, "ROOM_EVENTS", 3)
    assert await replay(ask) == 100
    assert Counter(ids(owner)) == Counter(str(number) for number in range(100))


# Faults ------------------------------------------------------------------------------------------------------------


async def test_a_duplicate_is_the_same_delivery_again(ask: Asker, owner: Owner) -> None:
    await webhook(ask)
    ask.emulator.faults.add("delivery_duplicate")
    await ask.emulator.publish(events(2))
    await ask.emulator.settle()
    assert Counter(ids(owner)) == {"0": 2, "1": 1}
    assert all(each.is_genuine for each in owner.deliveries)
    assert outcomes(ask) == [(3, 0, {"200": 3})]


@pytest.mark.parametrize("fault", ["delivery_tampered", "delivery_forged", "delivery_unsigned"])
async def test_forgeries_come_before_what_is_genuine_and_are_counted_by_themselves(
    ask: Asker, owner: Owner, fault: str
) -> None:
    await webhook(ask)
    assert (await ask.control("POST", "faults", {"fault": fault, "path": "/2/tweets"})).status == 201
    await ask.emulator.publish(EVENT)
    await ask.emulator.settle()
    forged, genuine = owner.deliveries
    assert (forged.is_genuine, genuine.is_genuine) == (False, True)
    signature = "x-service-webhooks-signature"
    if fault == "delivery_tampered":
        assert forged.headers[signature] == genuine.headers[signature]
        assert forged.json == {**genuine.json, "tampered": True}
    else:
        assert forged.body == genuine.body
        assert (signature in forged.headers) is (fault == "delivery_forged")
    (counted,) = ask.emulator.ledger()["deliveries"].values()
    assert (counted["delivered"], counted["failed"]) == (1, 0)
    assert counted["forgeries"] == {"sent": 1, "accepted": 0}
