"""The media library (section 4.3)."""

import itertools
from typing import Any

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.creatives.asking_creatives import (
    GIF,
    IMAGE,
    OF_SOMEBODY_ELSE,
    OTHER_IMAGE,
    UPLOADED_GIF,
    UPLOADED_IMAGE,
    UPLOADED_VIDEO,
    VIDEO,
    second,
)

LIBRARY = "/media_library"
FIELDS = {
    *("media_key", "media_type", "media_category", "media_url", "media_status", "name", "file_name", "title"),
    *("description", "duration", "aspect_ratio", "poster_media_key", "poster_media_url", "tweeted"),
    *("created_at", "updated_at", "deleted"),
}


async def keys(ads: Ads, **query: Any) -> list[list[str]]:
    pages: list[list[str]] = []
    while True:
        reply = await ads.get(LIBRARY, **query)
        assert reply.status == 200, reply.text
        pages.append([each["media_key"] for each in reply.data])
        query["cursor"] = reply.json["next_cursor"]
        if query["cursor"] is None:
            return pages


async def test_a_page_has_20_objects(ads: Ads) -> None:
    pages = await keys(ads)
    assert [len(page) for page in pages] == [20, 20, 20]
    every = list(itertools.chain(*pages))
    assert set(ads.ask.emulator.seed["media_keys"]) | set(ads.ask.emulator.seed["video_media_keys"]) <= set(every)
    assert not set(ads.ask.emulator.seed["uploaded_media_keys"]) & set(every)
    assert [len(page) for page in await keys(ads, count=50)] == [50, 10]
    assert len((await ads.get(LIBRARY, count=1)).data) == 1
    for wrong in ("0", "51"):
        assert broken(await ads.get(LIBRARY, count=wrong)) == [("INVALID_PARAMETER", "count")]
    for unknown in ("sort_by", "with_deleted", "with_total_count"):
        assert broken(await ads.get(LIBRARY, **{unknown: "true"})) == [("INVALID_PARAMETER", unknown)]
    assert await keys(second(ads)) == [[]]


async def test_objects_of_a_type(ads: Ads) -> None:
    counts = {kind: len((await ads.get(LIBRARY, media_type=kind, count=50)).data) for kind in ("GIF", "IMAGE", "VIDEO")}
    assert counts == {"GIF": 5, "IMAGE": 30, "VIDEO": 25}
    assert broken(await ads.get(LIBRARY, media_type="image")) == [("INVALID_PARAMETER", "media_type")]


async def test_every_word_that_is_asked_for_stands_in_the_texts(ads: Ads) -> None:
    named = {"name": "Alpha beta", "file_name": "gamma-1_delta.mp4", "title": "Épsilon", "description": "Zeta, eta"}
    await ads.post(LIBRARY, media_key=UPLOADED_VIDEO, **named)
    for q in ("alpha", "BETA", "gamma", "delta", "éPSILON", "zeta", "eta beta", "mp4 alpha zeta"):
        assert UPLOADED_VIDEO in (await keys(ads, q=q, count=50))[0], q
    for q in ("alp", "alpha omega", "-"):
        assert await keys(ads, q=q) == [[]], q
    assert (await ads.get(LIBRARY, q="x" * 255)).data == []
    for wrong in ("", "x" * 256):
        assert broken(await ads.get(LIBRARY, q=wrong)) == [("INVALID_PARAMETER", "q")]


async def test_an_uploaded_video_is_added_with_all_that_is_said_of_it(ads: Ads) -> None:
    said = {"name": "n" * 100, "file_name": "f" * 255, "title": "t" * 70, "description": "d" * 200}
    made = await ads.post(LIBRARY, media_key=UPLOADED_VIDEO, poster_media_key=IMAGE, **said)
    assert (made.status, set(made.data)) == (200, FIELDS)
    assert {name: made.data[name] for name in said} == said
    image = (await ads.get(f"{LIBRARY}/{IMAGE}")).data
    assert (made.data["poster_media_key"], made.data["poster_media_url"]) == (IMAGE, image["media_url"])
    assert (made.data["tweeted"], made.data["deleted"]) == (False, False)
    assert made.data["media_status"] == "TRANSCODE_COMPLETED"
    assert (await ads.get(f"{LIBRARY}/{UPLOADED_VIDEO}")).data == made.data
    again = await ads.post(LIBRARY, media_key=UPLOADED_VIDEO)
    assert broken(again) == [("INVALID_PARAMETER", "media_key")]


async def test_the_first_frame_stands_for_a_video_without_a_poster(ads: Ads) -> None:
    made = (await ads.post(LIBRARY, media_key=UPLOADED_VIDEO)).data
    assert made["poster_media_key"] is None
    assert made["poster_media_url"].endswith("/first-frame.jpg")
    assert (await ads.post(LIBRARY, media_key=UPLOADED_IMAGE)).data["poster_media_url"] is None


async def test_only_uploads_of_the_user_are_added(ads: Ads) -> None:
    assert broken(await ads.post(LIBRARY)) == [("MISSING_PARAMETER", "media_key")]
    for key in ("nosuch", OF_SOMEBODY_ELSE):
        assert missing(await ads.post(LIBRARY, media_key=key)) == ["media_key"]
    assert (await second(ads).post(LIBRARY, media_key=IMAGE)).status == 200


@pytest.mark.parametrize("name", ["title", "description", "poster_media_key"])
@pytest.mark.parametrize("key", [UPLOADED_IMAGE, UPLOADED_GIF])
async def test_only_videos_have_a_title_a_description_and_a_poster(ads: Ads, key: str, name: str) -> None:
    given = {name: IMAGE if name == "poster_media_key" else "x"}
    assert broken(await ads.post(LIBRARY, media_key=key, **given)) == [("INVALID_PARAMETER", name)]
    stored = IMAGE if key == UPLOADED_IMAGE else GIF
    assert broken(await ads.put(f"{LIBRARY}/{stored}", **given)) == [("INVALID_PARAMETER", name)]
    assert (await ads.post(LIBRARY, media_key=key, name="x", **{name: ""})).status == 200


async def test_a_poster_is_an_image(ads: Ads) -> None:
    for poster in (VIDEO, GIF):
        reply = await ads.post(LIBRARY, media_key=UPLOADED_VIDEO, poster_media_key=poster)
        assert broken(reply) == [("INVALID_PARAMETER", "poster_media_key")]
    reply = await ads.put(f"{LIBRARY}/{VIDEO}", poster_media_key="nosuch")
    assert missing(reply) == ["poster_media_key"]


async def test_what_is_said_of_a_medium_is_changed_and_taken_back(ads: Ads) -> None:
    path = f"{LIBRARY}/{VIDEO}"
    before = (await ads.get(path)).data
    assert (await ads.put(path)).data == before
    ads.ask.emulator.advance(60)
    changed = (await ads.put(path, title="New", poster_media_key=OTHER_IMAGE)).data
    image = (await ads.get(f"{LIBRARY}/{OTHER_IMAGE}")).data
    assert changed == {
        **before,
        "title": "New",
        "poster_media_key": OTHER_IMAGE,
        "poster_media_url": image["media_url"],
        "updated_at": changed["updated_at"],
    }
    assert changed["updated_at"] > before["updated_at"]
    cleared = (await ads.put(path, title="", poster_media_key="")).data
    assert (cleared["title"], cleared["poster_media_key"]) == (None, None)
    assert cleared["poster_media_url"].endswith("/first-frame.jpg")
    assert missing(await ads.put(f"{LIBRARY}/{UPLOADED_VIDEO}", name="x")) == ["media_key"]


async def test_a_deleted_medium_is_gone_and_can_be_added_again(ads: Ads) -> None:
    path = f"{LIBRARY}/{VIDEO}"
    gone = await ads.delete(path)
    assert gone.data["deleted"] is True
    assert missing(await ads.get(path)) == ["media_key"]
    assert missing(await ads.delete(path)) == ["media_key"]
    assert VIDEO not in list(itertools.chain(*(await keys(ads))))
    again = (await ads.post(LIBRARY, media_key=VIDEO, name="Again")).data
    assert (again["deleted"], again["name"], again["title"], again["tweeted"]) == (False, "Again", None, False)
    assert (await ads.get(path)).data == again
