"""Activity subscriptions: filters, directions, and the names of events that were replaced."""

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.models.events import DEPRECATED_EVENT_TYPES, EVENT_TYPE_ALIASES
from tests.support.clients import client_of
from tests.support.server import Server, answer


async def test_a_subscription_has_a_user_a_keyword_and_for_messages_a_direction(
    client: Client, service: Emulator
) -> None:
    made = await client.activity.subscribe("dm.received", user_id="17", keyword="hut", direction="both", tag="huts")
    assert made.event_type == "dm.received"
    assert made.filter == {"user_id": "17", "keyword": "hut", "direction": "both"}
    assert made.extra == {"tag": "huts"}
    assert made.subscription_id in service.state.platform.subscriptions
    with pytest.raises(errors.Conflict):
        await client.activity.subscribe("dm.received", user_id="17", keyword="hut", direction="both")


@pytest.mark.parametrize(("old", "new"), DEPRECATED_EVENT_TYPES.items())
async def test_an_older_name_warns_where_it_is_used_and_is_replaced(
    client: Client, service: Emulator, old: str, new: str
) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated since 2026-03-18: use {new}") as caught:
        made = await client.activity.subscribe(old, user_id="17")
    assert caught[0].filename == __file__
    assert made.event_type == new
    assert [each.event_type for each in service.state.platform.subscriptions.values()] == [new]


@pytest.mark.parametrize(("alias", "name"), EVENT_TYPE_ALIASES.items())
async def test_an_alias_is_sent_as_the_current_name_without_a_warning(
    client: Client, service: Emulator, alias: str, name: str
) -> None:
    made = await client.activity.subscribe(alias, user_id="17")
    assert made.event_type == name
    assert [each.event_type for each in service.state.platform.subscriptions.values()] == [name]


@pytest.mark.parametrize(
    "published",
    [
        *("profile.update.profile_picture", "profile.update.banner_picture", "profile.update.geo"),
        *(
            "profile.update.handle",
            "chat.conversation_join",
            "profile.update.url",
            "follow.follow",
            "follow.unfollow",
            "chat.received",
            "chat.sent",
        ),
    ],
)
async def test_a_published_event_type_is_sent_as_it_is_published(published: str) -> None:
    answered = answer({"data": {"subscription_id": "1", "event_type": published}}, status=201)
    async with Server(answered) as server, client_of(server) as client:
        assert (await client.activity.subscribe(published, user_id="17")).event_type == published
    (sent,) = server.requests
    assert sent.json == {"event_type": published, "filter": {"user_id": "17"}}
    assert sent.headers["authorization"].startswith("OAuth "), "whose permissions override scopes"


@pytest.mark.parametrize(("slip", "meant"), [("post.crate", "post.create"), ("dm.recieved", "dm.received")])
async def test_a_misspelt_event_type_is_refused_before_it_is_sent(
    client: Client, service: Emulator, slip: str, meant: str
) -> None:
    with pytest.raises(errors.InvalidInput, match=rf"there is no event type '{slip}': did you mean '{meant}'\?"):
        await client.activity.subscribe(slip, user_id="17")
    assert not service.requests


async def test_a_subscription_without_a_user_is_refused_before_it_is_sent(client: Client, service: Emulator) -> None:
    with pytest.raises(errors.InvalidInput, match=r"filter\.user_id: is required"):
        await client.activity.subscribe("post.create", keyword="snow")
    assert not service.requests
