"""Video conversation cards (section 4.5)."""

import itertools
from typing import Any

from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.asking import Reply
from tests.emulator.creatives.asking_creatives import (
    GIF,
    IMAGE,
    OTHER_VIDEO,
    SQUARE_VIDEO,
    TALL_VIDEO,
    UPLOADED_VIDEO,
    VIDEO,
    second,
)

CARDS = "/cards/video_conversation"
FIELDS = {
    *("id", "name", "card_type", "card_uri", "title", "thank_you_text", "thank_you_url", "media_key", "media_url"),
    *("first_cta", "first_cta_tweet", "second_cta", "second_cta_tweet", "third_cta", "third_cta_tweet"),
    *("fourth_cta", "fourth_cta_tweet", "poster_media_url", "video_owner_id", "video_width", "video_height"),
    *("created_at", "updated_at", "deleted"),
}
LEAST = {
    "name": "Trail",
    "title": "Up or down?",
    "first_cta": "#Up",
    "first_cta_tweet": "I go up",
    "thank_you_text": "See you there",
    "media_key": VIDEO,
}
INVALID, NEEDED = "INVALID_PARAMETER", "MISSING_PARAMETER"


async def create(ads: Ads, **given: Any) -> Reply:
    card = {**LEAST, **given}
    return await ads.post(CARDS, **{name: value for name, value in card.items() if value is not None})


async def test_a_card_has_a_video_and_something_to_say(ads: Ads) -> None:
    made = (await create(ads)).data
    library = (await ads.get(f"/media_library/{VIDEO}")).data
    assert set(made) == FIELDS
    assert {name: made[name] for name in LEAST} == LEAST
    assert (made["card_type"], made["card_uri"]) == ("VIDEO_CONVERSATION", f"card://{made['id']}")
    assert (made["media_url"], made["video_owner_id"]) == (library["media_url"], ads.ask.emulator.seed["user_ids"][0])
    assert (made["video_width"], made["video_height"], made["second_cta"]) == (1280, 720, None)
    assert made["poster_media_url"].endswith("first-frame.jpg")
    assert (await ads.get(f"{CARDS}/{made['id']}")).data == made


async def test_a_card_may_have_much_more(ads: Ads) -> None:
    further = {
        **{f"{each}_cta": "#" + "x" * 20 for each in ("second", "third", "fourth")},
        **{f"{each}_cta_tweet": f"{each}!" for each in ("second", "third", "fourth")},
        "title": "t" * 23,
        "thank_you_text": "y" * 23,
        "thank_you_url": "https://shop.example/thanks",
    }
    hidden = {"poster_media_key": IMAGE, "unlocked_image_media_key": IMAGE, "unlocked_video_media_key": OTHER_VIDEO}
    made = (await create(ads, **further, **hidden)).data
    assert {name: made[name] for name in further} == further
    assert not set(hidden) & set(made)
    image = (await ads.get(f"/media_library/{IMAGE}")).data
    assert made["poster_media_url"] == image["media_url"]


async def test_media_are_what_they_are_named_for(ads: Ads) -> None:
    for key in (IMAGE, GIF, TALL_VIDEO, SQUARE_VIDEO):
        assert broken(await create(ads, media_key=key)) == [(INVALID, "media_key")]
    for name in ("poster_media_key", "unlocked_image_media_key"):
        assert broken(await create(ads, **{name: VIDEO})) == [(INVALID, name)]
    assert broken(await create(ads, unlocked_video_media_key=IMAGE)) == [(INVALID, "unlocked_video_media_key")]
    assert (await create(ads, unlocked_video_media_key=TALL_VIDEO)).status == 200
    names = ("media_key", "poster_media_key", "unlocked_image_media_key", "unlocked_video_media_key")
    for name in names:
        assert missing(await create(ads, **{name: UPLOADED_VIDEO})) == [name]
    assert missing(await create(second(ads))) == ["media_key"]


async def test_a_card_is_changed_as_long_as_the_whole_keeps_the_rules(ads: Ads) -> None:
    made = (await create(ads)).data
    path = f"{CARDS}/{made['id']}"
    assert (await ads.put(path)).data == made
    assert broken(await ads.put(path, title="")) == [(NEEDED, "title")]
    assert broken(await ads.put(path, second_cta="#x")) == [(NEEDED, "second_cta_tweet")]
    ads.ask.emulator.advance(60)
    changed = (await ads.put(path, second_cta="#x", second_cta_tweet="x", title="")).data
    assert changed == {
        **made,
        "second_cta": "#x",
        "second_cta_tweet": "x",
        "title": None,
        "updated_at": changed["updated_at"],
    }
    assert changed["updated_at"] > made["updated_at"]
    assert broken(await ads.put(path, second_cta="")) == [(NEEDED, "title")]
    assert broken(await ads.put(path, second_cta_tweet="")) == [(NEEDED, "second_cta_tweet")]
    assert broken(await ads.put(path, first_cta="")) == [(INVALID, "first_cta")]
    assert broken(await ads.put(path, media_key=IMAGE)) == [(INVALID, "media_key")]
    assert missing(await ads.put(path, media_key="nosuch")) == ["media_key"]
    assert missing(await ads.put(f"{CARDS}/nosuch", name="x")) == ["card_id"]


async def test_cards_are_listed(ads: Ads) -> None:
    ids = list(ads.ask.emulator.seed["video_conversation_card_ids"])
    pages = await ads.ids(CARDS, count=5)
    assert list(itertools.chain(*pages)) == ids
    reply = await ads.get(CARDS, with_deleted="true", with_total_count="true")
    assert (len(reply.data), reply.json["total_count"]) == (13, 13)
    assert all(set(each) == FIELDS for each in reply.data)
    assert await ads.ids(CARDS, card_ids=f"{ids[3]},nosuch") == [[ids[3]]]
    assert broken(await ads.get(CARDS, card_ids=",".join(["x"] * 201))) == [(INVALID, "card_ids")]
    assert await ads.ids(CARDS, q="winter SALE", count=1) == [[ids[0]], [ids[5]], [ids[10]]]
    assert await ads.ids(CARDS, q="x" * 81) == [[]]
    for wrong in ("0", "1001"):
        assert broken(await ads.get(CARDS, count=wrong)) == [(INVALID, "count")]
    assert missing(await ads.get(f"{CARDS}/vd000")) == ["card_id"]
    assert (await ads.get(f"{CARDS}/vd000", with_deleted="true")).data["deleted"] is True
    assert (await ads.delete(f"{CARDS}/{ids[0]}")).status == 405
