"""Poll cards (section 4.4)."""

import datetime
import itertools
from typing import Any

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.asking import Reply
from tests.emulator.creatives.asking_creatives import (
    GIF,
    IMAGE,
    JUST_WIDE_IMAGE,
    NARROW_IMAGE,
    SQUARE_IMAGE,
    UPLOADED_IMAGE,
    second,
)

POLLS = "/cards/poll"
FIELDS = {
    *("id", "name", "card_type", "card_uri", "first_choice", "second_choice", "third_choice", "fourth_choice"),
    *("duration_in_minutes", "start_time", "end_time", "created_at", "updated_at", "deleted"),
}
VIDEO_FIELDS = {
    *("video_url", "video_hls_url", "video_width", "video_height", "video_poster_url"),
    *("video_poster_width", "video_poster_height", "content_duration_seconds"),
}


async def create(ads: Ads, **given: Any) -> Reply:
    poll = {"name": "Trail", "duration_in_minutes": 60, "first_choice": "Up", "second_choice": "Down", **given}
    return await ads.post(POLLS, **{name: value for name, value in poll.items() if value is not None})


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


async def test_a_poll_counts_down_from_its_creation(ads: Ads) -> None:
    ads.ask.emulator.advance(90)
    for minutes in (5, 10_080):
        made = (await create(ads, duration_in_minutes=minutes)).data
        assert set(made) == FIELDS
        assert (made["card_type"], made["card_uri"]) == ("TEXT_POLLS", f"card://{made['id']}")
        assert (made["first_choice"], made["second_choice"], made["third_choice"]) == ("Up", "Down", None)
        assert made["start_time"] == made["created_at"]
        assert moment(made["start_time"]).timestamp() == ads.ask.emulator.state.clock.now()
        assert moment(made["end_time"]) - moment(made["start_time"]) == datetime.timedelta(minutes=minutes)
        assert (await ads.get(f"{POLLS}/{made['id']}")).data == made
    for wrong in ("4", "10081", "x", "60.5"):
        assert broken(await create(ads, duration_in_minutes=wrong)) == [("INVALID_PARAMETER", "duration_in_minutes")]


@pytest.mark.parametrize("key", [IMAGE, JUST_WIDE_IMAGE])
async def test_the_image_of_a_poll_comes_back_as_an_address(ads: Ads, key: str) -> None:
    made = (await create(ads, media_key=key)).data
    assert set(made) == FIELDS | {"image_url"}
    library = (await ads.get(f"/media_library/{key}")).data
    assert (made["card_type"], made["image_url"]) == ("IMAGE_POLLS", library["media_url"])
    assert (await ads.get(f"{POLLS}/{made['id']}")).data == made


@pytest.mark.parametrize("key", [NARROW_IMAGE, SQUARE_IMAGE, GIF])
async def test_other_media_are_not_for_polls(ads: Ads, key: str) -> None:
    assert broken(await create(ads, media_key=key)) == [("INVALID_PARAMETER", "media_key")]


async def test_the_medium_is_in_the_library(ads: Ads) -> None:
    for key in (UPLOADED_IMAGE, "nosuch"):
        assert missing(await create(ads, media_key=key)) == ["media_key"]


async def test_polls_with_media_need_a_feature_of_the_account(ads: Ads) -> None:
    other = second(ads)
    assert "PROMOTED_MEDIA_POLLS" in (await ads.get("/features")).data
    assert "PROMOTED_MEDIA_POLLS" not in (await other.get("/features")).data
    await other.post("/media_library", media_key=IMAGE)
    reply = await create(other, media_key=IMAGE)
    assert (reply.status, reply.codes) == (403, ["FORBIDDEN"])
    assert reply.json["errors"][0]["parameter"] == "media_key"
    assert (await create(other)).status == 200


async def test_polls_are_listed(ads: Ads) -> None:
    pages = await ads.ids(POLLS, count=5)
    assert list(itertools.chain(*pages)) == list(ads.ask.emulator.seed["poll_card_ids"])
    assert [len(page) for page in pages] == [5, 5, 2]
    reply = await ads.get(POLLS, with_deleted="true", with_total_count="true", count=1_000)
    assert (len(reply.data), reply.json["total_count"]) == (13, 13)
    types = [each["card_type"] for each in reply.data]
    assert {kind: types.count(kind) for kind in types} == {"TEXT_POLLS": 7, "VIDEO_POLLS": 3, "IMAGE_POLLS": 3}
    for each in reply.data:
        extra = {"VIDEO_POLLS": VIDEO_FIELDS, "IMAGE_POLLS": {"image_url"}}.get(each["card_type"], set())
        assert set(each) == FIELDS | extra
    for wrong in ("0", "1001"):
        assert broken(await ads.get(POLLS, count=wrong)) == [("INVALID_PARAMETER", "count")]


async def test_polls_are_found_by_ids_and_names(ads: Ads) -> None:
    ids = ads.ask.emulator.seed["poll_card_ids"]
    assert await ads.ids(POLLS, card_ids=f"{ids[3]},nosuch,{ids[1]}") == [[ids[1], ids[3]]]
    assert broken(await ads.get(POLLS, card_ids=",".join(["x"] * 201))) == [("INVALID_PARAMETER", "card_ids")]
    made = (await create(ads, name="Odd one")).data
    assert await ads.ids(POLLS, q="ODD") == [[made["id"]]]
    assert await ads.ids(POLLS, q="x" * 80) == [[]]
    assert broken(await ads.get(POLLS, q="x" * 81)) == [("INVALID_PARAMETER", "q")]
    assert (await ads.get(POLLS, sort_by="duration_in_minutes-desc", count=1)).data[0]["duration_in_minutes"] == 10_080


async def test_a_poll_is_never_changed(ads: Ads) -> None:
    path = f"{POLLS}/{ads.ask.emulator.seed['poll_card_ids'][0]}"
    assert (await ads.put(path, name="x")).status == 405
    assert (await ads.delete(path)).status == 405
    assert missing(await ads.get(f"{POLLS}/nosuch")) == ["card_id"]
    assert missing(await ads.get(f"{POLLS}/pp000")) == ["card_id"]
    assert (await ads.get(f"{POLLS}/pp000", with_deleted="true")).data["deleted"] is True
