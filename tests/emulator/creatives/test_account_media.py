"""Account media (section 4.1)."""

import itertools

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.creatives.asking_creatives import UPLOADED_IMAGE, UPLOADED_PREROLL, second

MEDIA = "/account_media"
FIELDS = {"id", "video_id", "media_url", "creative_type", "created_at", "updated_at", "deleted"}
TYPES = (
    *("BANNER", "BANNER_TABLET", "INTERSTITIAL", "INTERSTITIAL_LANDSCAPE", "INTERSTITIAL_LANDSCAPE_TABLET"),
    *("INTERSTITIAL_TABLET", "MEDIUM_RECTANGLE", "PREROLL", "VAST_PREROLL"),
)


async def test_a_page_has_200_account_media(ads: Ads) -> None:
    pages = await ads.ids(MEDIA)
    assert [len(page) for page in pages] == [200, 30]
    assert list(itertools.chain(*pages)) == list(ads.ask.emulator.seed["account_media_ids"])
    assert len((await ads.ids(MEDIA, count=1_000, with_deleted="true"))[0]) == 235
    reply = await ads.get(MEDIA, count=1, with_total_count="true")
    assert (reply.json["total_count"], set(reply.data[0])) == (230, FIELDS)
    for wrong in ("0", "1001"):
        assert broken(await ads.get(MEDIA, count=wrong)) == [("INVALID_PARAMETER", "count")]
    reply = await ads.get(MEDIA, with_total_count="true", cursor=reply.json["next_cursor"])
    assert broken(reply) == [("EXCLUSIVE_PARAMETERS", "with_total_count")]


@pytest.mark.parametrize("creative_type", TYPES)
async def test_account_media_of_a_type(ads: Ads, creative_type: str) -> None:
    reply = await ads.get(MEDIA, creative_types=creative_type, count=1_000)
    assert len(reply.data) > 20
    assert {each["creative_type"] for each in reply.data} == {creative_type}
    is_video = creative_type.endswith("PREROLL")
    assert all((each["video_id"] is not None) is is_video for each in reply.data)


async def test_account_media_of_types_and_ids(ads: Ads) -> None:
    both = await ads.get(MEDIA, creative_types="BANNER,PREROLL", count=1_000)
    assert {each["creative_type"] for each in both.data} == {"BANNER", "PREROLL"}
    ids = ads.ask.emulator.seed["account_media_ids"]
    reply = await ads.get(MEDIA, account_media_ids=f"{ids[9]},nosuch,{ids[4]}")
    assert [each["id"] for each in reply.data] == [ids[4], ids[9]]
    assert len((await ads.get(MEDIA, account_media_ids=",".join(ids[:200]))).data) == 200
    reply = await ads.get(MEDIA, account_media_ids=",".join(ids[:201]))
    assert broken(reply) == [("INVALID_PARAMETER", "account_media_ids")]
    for name, wrong in (("creative_types", "banner"), ("creative_types", ""), ("account_media_ids", "")):
        assert broken(await ads.get(MEDIA, **{name: wrong})) == [("INVALID_PARAMETER", name)]


async def test_a_deleted_one_is_found_only_if_asked_for(ads: Ads) -> None:
    path = f"{MEDIA}/{ads.ask.emulator.seed['account_media_ids'][3]}"
    before = (await ads.get(path)).data
    assert before["deleted"] is False
    ads.ask.emulator.advance(60)
    gone = await ads.delete(path)
    assert gone.data == {**before, "deleted": True, "updated_at": gone.data["updated_at"]}
    assert gone.data["updated_at"] > before["updated_at"]
    assert missing(await ads.get(path)) == ["account_media_id"]
    assert missing(await ads.delete(path)) == ["account_media_id"]
    assert (await ads.get(path, with_deleted="true")).data == gone.data
    assert missing(await second(ads).get(path, with_deleted="true")) == ["account_media_id"]


async def test_a_video_for_prerolls_becomes_account_media_by_itself(ads: Ads) -> None:
    await ads.post("/media_library", media_key=UPLOADED_IMAGE)
    assert (await ads.get(MEDIA, with_total_count="true")).json["total_count"] == 230
    added = await ads.post("/media_library", media_key=UPLOADED_PREROLL)
    reply = await ads.get(MEDIA, sort_by="created_at-desc", creative_types="PREROLL", count=1)
    (made,) = reply.data
    assert made["video_id"] == UPLOADED_PREROLL.partition("_")[2]
    assert (made["media_url"], made["created_at"]) == (added.data["media_url"], added.data["created_at"])
    assert (await ads.get(f"{MEDIA}/{made['id']}")).data == made
