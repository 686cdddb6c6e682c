"""A receiver and the service, from the challenge to the last event."""

from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.models.streams import RuleDraft
from socialapi.webhooks import ActivityEvent, MatchedPost, Receiver
from tests.webhooks.posting import running, take

URL = "https://app.example/hook"


@attrs.frozen
class Registered:
    emulator: Emulator
    receiver: Receiver
    client: Client
    webhook_id: str


@pytest.fixture
async def registered(tmp_path: Path) -> AsyncIterator[Registered]:
    async with Emulator() as emulator:
        receiver = Receiver(emulator.ready["api_key_secret"], inbox=tmp_path / "inbox.sqlite")
        async with running(receiver) as sender, Client(emulator.config, emulator.credentials) as client:
            emulator.webhook_targets[URL] = sender.url
            webhook = await client.webhooks.create(URL)
            yield Registered(emulator, receiver, client, webhook.id)


async def test_events_arrive_once_for_each_that_happens(registered: Registered) -> None:
    emulator, receiver = registered.emulator, registered.receiver
    assert receiver.counters.challenges == 1
    for fault in ("delivery_duplicate", "delivery_tampered", "delivery_forged", "delivery_unsigned"):
        emulator.faults.add(fault)
    for number in range(5):
        await emulator.publish({"event_type": "profile.update.bio", "user_id": "1", "payload": {"number": number}})
    await emulator.settle()
    got = await take(receiver, 5)
    assert all(isinstance(event, ActivityEvent) for event in got)
    assert sorted(event.payload["number"] for event in got) == [0, 1, 2, 3, 4]
    assert (receiver.counters.accepted, receiver.counters.duplicates) == (5, 1)
    assert receiver.counters.refused_signature == 3


async def test_posts_of_a_linked_ruleset_arrive_too(registered: Registered) -> None:
    client = registered.client
    await client.filtered_stream.add_rules(RuleDraft(value="snow", tag="weather"))
    await client.filtered_stream.link(registered.webhook_id)
    await registered.emulator.publish({"post": {"text": "Snow is coming"}})
    (got,) = await take(registered.receiver, 1)
    assert isinstance(got, MatchedPost)
    assert (got.data.text, got.matching_rules[0].tag) == ("Snow is coming", "weather")


async def test_the_hourly_challenge_is_answered(registered: Registered) -> None:
    registered.emulator.advance(3_700)
    await registered.emulator.settle()
    assert registered.receiver.counters.challenges == 2
    (webhook,) = await registered.client.webhooks.list().collect()
    assert webhook.valid
