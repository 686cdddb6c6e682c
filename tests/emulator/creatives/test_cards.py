"""Cards that are put together from components, and those of older kinds (section 4.2)."""

import itertools
from typing import Any

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.creatives.asking_creatives import (
    GIF,
    IMAGE,
    OTHER_IMAGE,
    OTHER_VIDEO,
    UPLOADED_IMAGE,
    VIDEO,
    json,
    second,
)

CARDS = "/cards"
FIELDS = {"id", "name", "card_type", "card_uri", "components", "created_at", "updated_at", "deleted"}

Component = dict[str, Any]
WEBSITE: Component = {"type": "WEBSITE", "url": "https://shop.example"}
APP: Component = {"type": "APP", "country_code": "DE", "android_store_app_id": "com.shop"}
DETAILS: Component = {"type": "DETAILS", "title": "Shop", "destination": WEBSITE}
BUTTON: Component = {"type": "BUTTON", "label": {"type": "ENUM", "value": "SHOP"}, "destination": APP}


def media(key: str) -> Component:
    return {"type": "MEDIA", "media_key": key}


def swipeable(*keys: str) -> Component:
    return {"type": "SWIPEABLE_MEDIA", "media_keys": list(keys)}


def slides(*keys: str) -> dict[str, Any]:
    return {"slides": [[media(key), DETAILS] for key in keys]}


def components(*given: Component) -> dict[str, Any]:
    return {"components": list(given)}


LAYOUTS: dict[str, dict[str, Any]] = {
    "IMAGE_APP": components(media(IMAGE), BUTTON),
    "IMAGE_CAROUSEL_APP": components(swipeable(IMAGE, OTHER_IMAGE), BUTTON),
    "IMAGE_CAROUSEL_WEBSITE": components(swipeable(IMAGE, OTHER_IMAGE), DETAILS),
    "IMAGE_MULTI_DEST_CAROUSEL_WEBSITE": slides(IMAGE, OTHER_IMAGE),
    "IMAGE_WEBSITE": components(DETAILS, media(IMAGE)),
    "MIXED_MEDIA_MULTI_DEST_CAROUSEL_WEBSITE": slides(IMAGE, VIDEO),
    "MIXED_MEDIA_SINGLE_DEST_CAROUSEL_APP": components(swipeable(IMAGE, VIDEO), BUTTON),
    "MIXED_MEDIA_SINGLE_DEST_CAROUSEL_WEBSITE": components(swipeable(VIDEO, IMAGE), DETAILS),
    "VIDEO_APP": components(media(VIDEO), BUTTON),
    "VIDEO_CAROUSEL_APP": components(swipeable(VIDEO, OTHER_VIDEO), BUTTON),
    "VIDEO_CAROUSEL_WEBSITE": components(swipeable(VIDEO, OTHER_VIDEO), DETAILS),
    "VIDEO_MULTI_DEST_CAROUSEL_WEBSITE": slides(VIDEO, OTHER_VIDEO),
    "VIDEO_WEBSITE": components(media(VIDEO), DETAILS),
}


async def create(ads: Ads, **body: Any) -> Any:
    reply = await json(ads, "POST", CARDS, {"name": "New", **body})
    assert reply.status == 200, reply.text
    return reply.data


@pytest.mark.parametrize("card_type", LAYOUTS)
async def test_components_and_media_make_the_type(ads: Ads, card_type: str) -> None:
    made = await create(ads, **LAYOUTS[card_type])
    assert made["card_type"] == card_type
    (layout,) = LAYOUTS[card_type]
    assert set(made) == FIELDS - {"components"} | {layout}
    assert (made[layout], made["card_uri"]) == (LAYOUTS[card_type][layout], f"card://{made['id']}")
    assert (await ads.get(f"{CARDS}/{made['id']}")).data == made
    reply = await ads.get(CARDS, card_types=card_type, q="ne", count=200)
    assert made in reply.data
    assert {each["card_type"] for each in reply.data} == {card_type}
    assert len((await ads.get(CARDS, card_types=card_type)).data) == 11


async def test_a_page_has_100_cards_and_none_of_older_kinds(ads: Ads) -> None:
    pages = await ads.ids(CARDS)
    assert [len(page) for page in pages] == [100, 30]
    assert list(itertools.chain(*pages)) == list(ads.ask.emulator.seed["card_ids"])
    assert [len(page) for page in await ads.ids(CARDS, include_legacy_cards="true", count=200)] == [160]
    assert [len(page) for page in await ads.ids(CARDS, with_deleted="true", count=200)] == [133]
    assert [len(page) for page in await ads.ids(CARDS, include_legacy_cards="false")] == [100, 30]
    for wrong in ("0", "201"):
        assert broken(await ads.get(CARDS, count=wrong)) == [("INVALID_PARAMETER", "count")]
    assert broken(await ads.get(CARDS, with_total_count="true")) == [("INVALID_PARAMETER", "with_total_count")]
    assert broken(await ads.get(CARDS, card_types="TEXT_POLLS")) == [("INVALID_PARAMETER", "card_types")]


@pytest.mark.parametrize("name", ["card_id", "card_uris"])
async def test_up_to_200_cards_are_asked_for(ads: Ads, name: str) -> None:
    prefix = "card://" if name == "card_uris" else ""
    ids = ads.ask.emulator.seed["card_ids"]
    reply = await ads.get(CARDS, **{name: f"{prefix}{ids[5]},{prefix}nosuch,{prefix}{ids[2]}"})
    assert [each["id"] for each in reply.data] == [ids[2], ids[5]]
    assert (await ads.get(CARDS, **{name: ",".join(["x"] * 200)})).data == []
    for wrong in ("", ",".join(["x"] * 201)):
        assert broken(await ads.get(CARDS, **{name: wrong})) == [("INVALID_PARAMETER", name)]


async def test_names_begin_with_what_is_asked_for(ads: Ads) -> None:
    made = await create(ads, name="Ünique name", **LAYOUTS["IMAGE_APP"])
    for q in ("ünique", "ÜNIQUE NAME"):
        assert [each["id"] for each in (await ads.get(CARDS, q=q)).data] == [made["id"]]
    assert (await ads.get(CARDS, q="name")).data == []
    assert (await ads.get(CARDS, q="x" * 80)).data == []
    assert broken(await ads.get(CARDS, q="x" * 81)) == [("INVALID_PARAMETER", "q")]


INVALID, NEEDED, EITHER = "INVALID_PARAMETER", "MISSING_PARAMETER", "EXCLUSIVE_PARAMETERS"
WRONG: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({}, [(NEEDED, "components")]),
    ({**LAYOUTS["IMAGE_APP"], **slides(IMAGE)}, [(EITHER, "slides")]),
    (components(media(GIF), DETAILS), [(INVALID, "components[0].media_key")]),
    (components(swipeable(IMAGE, GIF), DETAILS), [(INVALID, "components[0].media_keys[1]")]),
    ({"slides": [[media(IMAGE), BUTTON]]}, [(INVALID, "slides[0]")]),
    ({"slides": [[media(IMAGE), DETAILS], [swipeable(IMAGE, VIDEO), DETAILS]]}, [(INVALID, "slides[1]")]),
]


@pytest.mark.parametrize(("layout", "rules"), WRONG)
async def test_components_keep_their_rules(ads: Ads, layout: dict[str, Any], rules: list[tuple[str, str]]) -> None:
    assert broken(await json(ads, "POST", CARDS, {"name": "New", **layout})) == rules
    if layout:
        card_id = ads.ask.emulator.seed["card_ids"][0]
        assert broken(await json(ads, "PUT", f"{CARDS}/{card_id}", layout)) == rules


async def test_media_are_in_the_library_of_the_account(ads: Ads) -> None:
    layout = components(swipeable(IMAGE, UPLOADED_IMAGE, "nosuch"), DETAILS)
    places = ["components[0].media_keys[1]", "components[0].media_keys[2]"]
    assert missing(await json(ads, "POST", CARDS, {"name": "New", **layout})) == places
    reply = await json(second(ads), "POST", CARDS, {"name": "New", **slides(IMAGE)})
    assert missing(reply) == ["slides[0][0].media_key"]


async def test_what_is_given_takes_the_place_of_what_was_there(ads: Ads) -> None:
    made = await create(ads, **slides(IMAGE, VIDEO))
    path = f"{CARDS}/{made['id']}"
    assert (await json(ads, "PUT", path, {})).data == made
    ads.ask.emulator.advance(60)
    renamed = (await json(ads, "PUT", path, {"name": "Other"})).data
    assert renamed == {**made, "name": "Other", "updated_at": renamed["updated_at"]}
    assert renamed["updated_at"] > made["updated_at"]
    changed = (await json(ads, "PUT", path, LAYOUTS["VIDEO_APP"])).data
    assert (changed["card_type"], changed["components"]) == ("VIDEO_APP", LAYOUTS["VIDEO_APP"]["components"])
    assert "slides" not in changed
    back = (await json(ads, "PUT", path, {"name": "Slides", **slides(VIDEO)})).data
    assert (back["card_type"], back["name"], set(back)) == (
        *("VIDEO_MULTI_DEST_CAROUSEL_WEBSITE", "Slides"),
        FIELDS - {"components"} | {"slides"},
    )
    assert (await ads.get(path)).data == back
    assert missing(await json(ads, "PUT", f"{CARDS}/nosuch", {"name": "x"})) == ["card_id"]


async def test_image_conversation_cards_are_deleted(ads: Ads) -> None:
    cards = (await ads.get(CARDS, include_legacy_cards="true", q="", count=200)).data
    legacy = [each for each in cards if each["card_type"] == "IMAGE_CONVERSATION"]
    assert len(legacy) == 10
    card = legacy[0]
    gone = await ads.delete(f"{CARDS}/image_conversation/{card['id']}")
    assert gone.data == {**card, "deleted": True, "updated_at": gone.data["updated_at"]}
    assert missing(await ads.delete(f"{CARDS}/image_conversation/{card['id']}")) == ["card_id"]
    assert missing(await ads.get(f"{CARDS}/{card['id']}")) == ["card_id"]
    assert (await ads.get(f"{CARDS}/{card['id']}", with_deleted="true")).data == gone.data
    assert broken(await json(ads, "PUT", f"{CARDS}/{legacy[1]['id']}", {"name": "x"})) == [(INVALID, "card_id")]


async def test_other_cards_cannot_be_deleted(ads: Ads) -> None:
    others = ads.ask.emulator.seed["card_ids"][0], "lc001"
    for card_id in others:
        assert broken(await ads.delete(f"{CARDS}/image_conversation/{card_id}")) == [(INVALID, "card_id")]
        assert (await ads.delete(f"{CARDS}/{card_id}")).status == 405
    assert missing(await ads.delete(f"{CARDS}/image_conversation/nosuch")) == ["card_id"]
