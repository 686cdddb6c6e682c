"""Cards, polls and conversations from typed components, against the emulator."""

import inspect
from typing import Any, Final

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, InvalidInput
from socialapi.models.cards import App, Button, Card, CardMedia, Details, Label, SwipeableMedia, Website
from socialapi.resources import creatives
from socialapi.resources.ads import AccountResource
from socialapi.wire.decode import structure

ACCOUNT: Final = "18ce54d4x5t"
IMAGE: Final = "3_1874700001"
OTHER_IMAGE: Final = "3_1874700002"
VIDEO: Final = "7_1874700101"
SHOP: Final = Website("https://shop.example/boots")
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


async def test_slides_lead_to_different_places_and_keep_their_order(account: AccountResource) -> None:
    slides: list[list[Any]] = [
        [CardMedia(VIDEO), Details(f"Boots {n}", Website(f"https://shop.example/{n}"))] for n in range(3)
    ]
    made = await account.cards.create("Boots", slides=slides)
    assert made.slides == tuple(map(tuple, slides))
    assert made.components == ()
    assert made.card_type == "VIDEO_MULTI_DEST_CAROUSEL_WEBSITE"


async def test_what_is_replaced_is_replaced_as_a_whole_and_the_rest_stays(account: AccountResource) -> None:
    made = await account.cards.create("Boots", components=[CardMedia(IMAGE), Details("Boots", SHOP)])
    renamed = await account.cards.update(made.id, name="Other boots")
    assert (renamed.name, renamed.components) == ("Other boots", made.components)
    changed = await account.cards.update(made.id, components=[CardMedia(VIDEO), Button(Label("SHOP"), APP)])
    assert (changed.name, changed.card_type) == ("Other boots", "VIDEO_APP")
    assert changed.components == (CardMedia(VIDEO), Button("SHOP", APP))


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        ({}, "components: or slides is required"),
        ({"components": [CardMedia(IMAGE)]}, "components: must have exactly one component of type DETAILS or BUTTON"),
        (
            {"components": [CardMedia(IMAGE), Details("x", SHOP)], "slides": [[CardMedia(IMAGE), Details("x", SHOP)]]},
            "slides: cannot go with components",
        ),
        (
            {"components": [SwipeableMedia([IMAGE]), Details("x", SHOP)]},
            "components[0].media_keys: must have at least 2 items or characters",
        ),
        (
            {"components": [CardMedia(IMAGE), Button(Label(BUY), APP)]},
            "components[1].label.value: must be one of BOOK, CONNECT, INSTALL, OPEN, ORDER, PLAY, SHOP",
        ),
        (
            {"components": [CardMedia(IMAGE), Button("SHOP", App(country_code="DE", ios_deep_link="x://"))]},
            "components[1].destination.android_store_app_id: or ios_app_store_identifier is required",
        ),
        (
            {"components": [CardMedia(IMAGE), Details("x", APP)]},
            "components[1].destination.type: must be WEBSITE for DETAILS",
        ),
    ],
)
async def test_a_broken_rule_is_said_before_anything_is_sent(
    account: AccountResource, service: Emulator, layout: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await account.cards.create("Boots", **layout)
    assert says in [str(rule) for rule in caught.value.broken_rules]
    assert not service.requests


async def test_a_medium_that_is_not_in_the_library_is_refused_by_the_service(account: AccountResource) -> None:
    with pytest.raises(ApiError) as caught:
        await account.cards.create("Boots", components=[CardMedia("3_1"), Details("x", SHOP)])
    assert caught.value.status == 404


async def test_cards_of_older_kinds_come_only_when_asked_for_and_one_kind_can_be_deleted(
    account: AccountResource,
) -> None:
    own = await account.cards.list().collect()
    everything = await account.cards.list(include_legacy_cards=True).collect()
    legacy = [card for card in everything if card not in own]
    assert (len(own), len(legacy)) == (130, 30)
    conversation = next(card for card in legacy if card.card_type == "IMAGE_CONVERSATION")
    assert (await account.cards.delete_image_conversation(conversation.id)).deleted is True
    with pytest.raises(ApiError):
        await account.cards.delete_image_conversation(own[0].id)


async def test_cards_are_found_by_the_beginning_of_their_name(account: AccountResource) -> None:
    found = await account.cards.list(q="WINTER").collect()
    assert found
    assert all((card.name or "").startswith("Winter sale") for card in found)


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


async def test_a_poll_counts_down_from_its_creation(account: AccountResource) -> None:
    made = await account.poll_cards.create(**POLL)
    assert made.start_time is not None
    assert made.end_time is not None
    assert (made.end_time - made.start_time).total_seconds() == 3_600
    assert made.third_choice is None
    assert await account.poll_cards.get(made.id) == made
    assert made in await account.poll_cards.list(q="boots").collect()
    with pytest.raises(InvalidInput, match="third_choice: is required with fourth_choice"):
        await account.poll_cards.create(**POLL, fourth_choice="Never")


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
