"""Cards, polls and conversations from typed components, against the emulator."""

import inspect
from typing import Any, Final

import pytest

from socialapi import Client
from socialapi.models.cards import App, Button, Card, CardMedia, SwipeableMedia
from socialapi.resources import creatives
from socialapi.resources.ads import AccountResource
from socialapi.wire.decode import structure

ACCOUNT: Final = "18ce54d4x5t"
IMAGE: Final = "3_1874700001"
OTHER_IMAGE: Final = "3_1874700002"
VIDEO: Final = "7_1874700101"
BUY: Any = "BUY"
APP: Final = App(country_code="DE", android_store_app_id="com.northwind.shop")


@pytest.fixture
def account(client: Client) -> AccountResource:
    return client.ads.account(ACCOUNT)


async def test_a_card_comes_back_as_it_was_built(account: AccountResource) -> None:
    components: list[Any] = [SwipeableMedia([IMAGE, OTHER_IMAGE]), Button("INSTALL", APP)]
    made = await account.cards.create("Boots", components=components)
    assert made.components == tuple(components)
    assert made.card_type == "IMAGE_CAROUSEL_APP"
    assert made.card_uri == f"card://{made.id}"
    assert made.deleted is False
    assert await account.cards.get(made.id) == made
    (found,) = await account.cards.list(card_uris=(made.card_uri,)).collect()
    assert found == made


def test_polls_are_not_changed_and_only_image_conversation_cards_are_deleted() -> None:
    def methods(group: type) -> set[str]:
        return {name for name, each in vars(group).items() if inspect.isfunction(each) and not name.startswith("_")}

    assert methods(creatives.PollCards) == {"list", "get", "create"}
    assert methods(creatives.Cards) == {"list", "get", "create", "update", "delete_image_conversation"}
    assert methods(creatives.VideoConversationCards) == {"list", "get", "create", "update"}


# Reading -----------------------------------------------------------------------------------------------------------


def test_components_and_destinations_that_are_not_known_stay_as_they_came() -> None:
    swirl = {"type": "SWIRL", "speed": 3}
    card = structure(
        {"id": "1", "components": [swirl, {"type": "MEDIA", "media_key": "3_1", "alt_text": "Boots"}]}, Card
    )
    assert card.components == (swirl, CardMedia("3_1", extra={"alt_text": "Boots"}))
    to_the_moon = {"type": "DETAILS", "title": "x", "destination": {"type": "MOON", "crater": 1}}
    card = structure({"id": "1", "slides": [[to_the_moon]], "brand_new": 1}, Card)
    assert card.slides[0][0].destination == {"type": "MOON", "crater": 1}
    assert card.extra == {"brand_new": 1}


async def test_what_was_read_can_be_sent_back(account: AccountResource) -> None:
    cards = await account.cards.list(count=200).collect(limit=13)
    for card in cards:
        layout: dict[str, Any] = {"slides": card.slides} if card.slides else {"components": card.components}
        again = await account.cards.update(card.id, **layout)
        assert (again.components, again.slides, again.card_type) == (card.components, card.slides, card.card_type)


# Polls and conversations -------------------------------------------------------------------------------------------

POLL: Final[dict[str, Any]] = {
    "name": "Boots?",
    "duration_in_minutes": 60,
    "first_choice": "Yes",
    "second_choice": "No",
}


async def test_the_media_key_of_a_poll_is_written_and_not_read(account: AccountResource) -> None:
    made = await account.poll_cards.create(**POLL, media_key=VIDEO)
    assert made.card_type == "VIDEO_POLLS"
    assert made.video_url is not None
    for poll in await account.poll_cards.list().collect():
        assert not hasattr(poll, "media_key")
        assert "media_key" not in poll.extra


async def test_what_is_unlocked_is_written_and_not_read(account: AccountResource) -> None:
    made = await account.video_conversation_cards.create(
        name="Trails",
        media_key=VIDEO,
        title="Which?",
        first_cta="#High",
        first_cta_tweet="I go high",
        thank_you_text="Thanks",
        unlocked_image_media_key=IMAGE,
        unlocked_video_media_key=VIDEO,
    )
    assert made.media_key == VIDEO
    assert "unlocked_image_media_key" not in made.extra
    assert (made.title, made.first_cta, made.card_type) == ("Which?", "#High", "VIDEO_CONVERSATION")
    changed = await account.video_conversation_cards.update(made.id, thank_you_text="Bye", poster_media_key=IMAGE)
    assert (changed.thank_you_text, changed.title) == ("Bye", "Which?")
    assert changed.poster_media_url != made.poster_media_url
