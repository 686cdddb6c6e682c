"""Events at webhooks (platform documentation, sections 4.2, 5.5, 6.1): signed, counted, replayed, and gone wrong."""

import asyncio
import time
from collections import Counter

import aiohttp
import pytest
from aiohttp import web

from socialapi.emulator import Emulator
from socialapi.emulator.platform import deliveries
from socialapi.emulator.platform import deliveries as outbox
from tests.emulator.asking import Asker, eventually
from tests.emulator.platform.delivering import EVENT, events, ids, outcomes, webhook
from tests.emulator.platform.reading import add_rules, reading, subscribe
from tests.emulator.platform.receiving import URL, Delivered, Owner, create_webhook, owner_of_webhook, validity

# Delivering --------------------------------------------------------------------------------------------------------


async def test_an_event_is_posted_as_json_and_signed_with_the_secret_of_the_app(ask: Asker, owner: Owner) -> None:
    webhook_id = await webhook(ask)
    answer = (await ask.control("POST", "events", EVENT)).json
    assert answer["published"][0] | {"event_id": ""} == {"event_id": "", "streams": 0, "webhooks": 1}
    await ask.emulator.settle()
    (delivered,) = owner.deliveries
    assert delivered.is_genuine
    assert delivered.headers["Content-Type"] == "application/json"
    assert delivered.headers["x-service-webhooks-signature"].startswith("sha256=")
    assert delivered.json["data"]["event_id"] == answer["published"][0]["event_id"]
    counted = (await ask.control("GET", "ledger")).json["deliveries"]
    assert counted == {
        webhook_id: {
            "url": URL,
            "delivered": 1,
            "failed": 0,
            "skipped": 0,
            "statuses": {"200": 1},
            "forgeries": {"sent": 0, "accepted": 0},
        }
    }


async def test_posts_go_to_linked_webhooks_with_the_fields_of_the_link(ask: Asker, owner: Owner) -> None:
    (rule,) = await add_rules(ask, "snow", tag="winter")
    webhook_id = await webhook(ask)
    await ask.signed("POST", "/2/tweets", json={"text": "snow, not linked yet"})
    path = f"/2/tweets/search/webhooks/{webhook_id}"
    await ask.bearer("POST", f"{path}?tweet.fields=lang&expansions=author_id")
    first = (await ask.signed("POST", "/2/tweets", json={"text": "snow"})).data["id"]
    await ask.bearer("POST", path)
    edit = {"text": "more snow", "edit_options": {"previous_post_id": first}}
    second = (await ask.signed("POST", "/2/tweets", json=edit)).data["id"]
    await ask.signed("POST", "/2/tweets", json={"text": "rain"})
    await ask.emulator.settle()
    rich, plain = owner.events
    assert rich["data"] == {"id": first, "text": "snow", "lang": "en", "edit_history_tweet_ids": [first]}
    assert rich["includes"]["users"][0]["username"] == "northwind"
    assert plain == {
        "data": {"id": second, "text": "more snow", "edit_history_tweet_ids": [first, second]},
        "matching_rules": [{"id": rule, "tag": "winter"}],
    }


async def test_a_subscription_that_names_a_webhook_sends_to_it_alone(ask: Asker, owner: Owner) -> None:
    first = await webhook(ask)
    ask.emulator.webhook_targets[URL + "/2"] = owner.address
    second = (await create_webhook(ask, URL + "/2")).data["id"]
    user = EVENT["user_id"]
    await subscribe(ask, "profile.update.bio", user_id=user, further={"webhook_id": second})
    await ask.emulator.publish(EVENT)
    await ask.emulator.settle()
    assert {key: each["delivered"] for key, each in ask.emulator.ledger()["deliveries"].items()} == {
        first: 0,
        second: 1,
    }
    await subscribe(ask, "profile.update.bio", user_id=user, keyword="", further={"tag": "all"})
    assert (await ask.emulator.publish({**EVENT, "payload": {"bio": "a"}}))["published"][0]["webhooks"] == 2
    await ask.emulator.settle()
    assert {key: each["delivered"] for key, each in ask.emulator.ledger()["deliveries"].items()} == {
        first: 1,
        second: 2,
    }


async def test_deliveries_begin_in_order_and_so_many_are_under_way_at_once(ask: Asker, owner: Owner) -> None:
    await webhook(ask)
    go_on, under_way, most = asyncio.Event(), 0, 0

    async def take(delivered: Delivered) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await go_on.wait()
        under_way -= 1
        return web.Response()

    owner.take = take
    await ask.emulator.publish(events(100))
    await eventually(lambda: under_way == outbox.IN_FLIGHT)
    assert {int(each) for each in ids(owner)} == set(range(outbox.IN_FLIGHT))
    go_on.set()
    await ask.emulator.settle()
    assert most == outbox.IN_FLIGHT
    assert {int(each) for each in ids(owner)} == set(range(100))
    assert outcomes(ask) == [(100, 0, {"200": 100})]


async def test_who_publishes_through_the_control_plane_waits_for_a_slow_webhook_and_nothing_is_lost(
    ask: Asker, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "ROOM_EVENTS", 10)
    await webhook(ask)
    go_on = asyncio.Event()

    async def take(delivered: Delivered) -> web.Response:
        await go_on.wait()
        return web.Response(status=204)

    owner.take = take
    publishing = asyncio.create_task(ask.emulator.publish(events(200)))
    await eventually(lambda: len(owner.deliveries) == outbox.IN_FLIGHT)
    assert not publishing.done()
    go_on.set()
    await publishing
    await ask.emulator.settle()
    assert Counter(ids(owner)) == Counter(str(number) for number in range(200))
    assert outcomes(ask) == [(200, 0, {"204": 200})]


async def test_what_finds_a_full_queue_and_cannot_wait_is_lost_and_counted(
    ask: Asker, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "QUEUE_EVENTS", 1)
    await add_rules(ask, "snow")
    await webhook(ask, link="")
    go_on = asyncio.Event()

    async def take(delivered: Delivered) -> web.Response:
        await go_on.wait()
        return web.Response()

    owner.take = take
    for number in range(outbox.IN_FLIGHT + 3):
        await ask.signed("POST", "/2/tweets", json={"text": f"snow {number}"})
    go_on.set()
    await ask.emulator.settle()
    (counted,) = ask.emulator.ledger()["deliveries"].values()
    assert (counted["delivered"], counted["skipped"]) == (outbox.IN_FLIGHT + 1, 2)


# Failing -----------------------------------------------------------------------------------------------------------


async def test_failures_are_counted_by_status_and_not_repeated(ask: Asker, owner: Owner) -> None:
    await webhook(ask)
    answers = iter([web.Response(status=500), web.Response(status=302, headers={"Location": owner.address}), None])

    async def take(delivered: Delivered) -> web.Response:
        answer = next(answers)
        if answer is None:
            raise ConnectionResetError
        return answer

    owner.take = take
    for number in range(3):
        await ask.emulator.publish({**EVENT, "event_id": str(number)})
        await ask.emulator.settle()
    del ask.emulator.webhook_targets[URL]
    await ask.emulator.publish(EVENT)
    await ask.emulator.settle()
    assert ids(owner) == ["0", "1", "2"]
    ((delivered, failed, statuses),) = outcomes(ask)
    assert (delivered, failed, sum(statuses.values())) == (0, 4, 4)
    assert (statuses["302"], statuses["unanswered"]) == (1, 1 if statuses["500"] == 2 else 2)


async def test_a_webhook_that_does_not_answer_in_time_has_failed(
    ask: Asker, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deliveries.DELIVERY_SECONDS == 10.0
    monkeypatch.setattr(deliveries, "DELIVERY_SECONDS", 0.05)
    await webhook(ask)
    never = asyncio.Event()

    async def take(delivered: Delivered) -> web.Response:
        await never.wait()
        return web.Response()

    owner.take = take
    await ask.emulator.publish(EVENT)
    await ask.emulator.settle()
    assert outcomes(ask) == [(0, 1, {"unanswered": 1})]


async def test_events_come_only_while_the_webhook_is_valid(ask: Asker, owner: Owner) -> None:
    await add_rules(ask, "snow")
    webhook_id = await webhook(ask, link="")
    secret, owner.secret = owner.secret, "another"
    await ask.control("POST", "clock", {"advance": 3_600})
    assert await validity(ask) == [False]
    answer = await ask.emulator.publish({"events": [EVENT, {"text": "snow"}]})
    assert [each["webhooks"] for each in answer["published"]] == [0, 0]
    owner.secret = secret
    assert (await ask.bearer("PUT", f"/2/webhooks/{webhook_id}")).status == 200
    await ask.emulator.publish({"events": [EVENT, {"text": "more snow"}]})
    await ask.emulator.settle()
    assert len(owner.deliveries) == 2


@pytest.mark.parametrize("how", ["invalid", "deleted"])
async def test_what_waits_when_the_webhook_becomes_invalid_or_goes_is_not_sent(
    ask: Asker, owner: Owner, how: str
) -> None:
    webhook_id = await webhook(ask)
    go_on = asyncio.Event()

    async def take(delivered: Delivered) -> web.Response:
        await go_on.wait()
        return web.Response()

    owner.take = take
    await ask.emulator.publish(events(outbox.IN_FLIGHT + 5))
    await eventually(lambda: len(owner.deliveries) == outbox.IN_FLIGHT)
    if how == "invalid":
        ask.emulator.state.platform.webhooks[webhook_id].valid = False
    else:
        await ask.bearer("DELETE", f"/2/webhooks/{webhook_id}")
    go_on.set()
    await ask.emulator.settle()
    assert len(owner.deliveries) == outbox.IN_FLIGHT


# Ends --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["close", "reset"])
async def test_closing_and_resetting_give_up_what_is_under_way(session: aiohttp.ClientSession, ending: str) -> None:
    async with Emulator() as emulator, owner_of_webhook(emulator.ready["api_key_secret"]) as owner:
        ask = Asker(emulator, session)
        emulator.webhook_targets[URL] = owner.address
        await webhook(ask)
        never = asyncio.Event()

        async def take(delivered: Delivered) -> web.Response:
            await never.wait()
            return web.Response()

        owner.take = take
        await emulator.publish(events(100))
        await eventually(lambda: len(owner.deliveries) == outbox.IN_FLIGHT)
        started = time.perf_counter()
        if ending == "reset":
            await ask.control("POST", "reset")
            await emulator.settle()
            assert emulator.ledger()["deliveries"] == {}
        else:
            await emulator.__aexit__(None, None, None)
        assert time.perf_counter() - started < 1.5
        assert not [task for task in asyncio.all_tasks() if task.get_name() == "socialapi-emulator-delivery"]
        assert len(owner.deliveries) == outbox.IN_FLIGHT
        never.set()


async def test_streams_and_webhooks_get_the_same(ask: Asker, owner: Owner) -> None:
    await add_rules(ask, "snow")
    await webhook(ask, link="")
    async with reading(ask) as stream:
        await ask.emulator.publish({"text": "snow"})
        line = await stream.line()
    await ask.emulator.settle()
    assert owner.events == [line]
