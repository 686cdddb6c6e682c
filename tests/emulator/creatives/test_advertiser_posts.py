"""Posts for advertisers, which are also posts of the platform (section 4.5)."""

from typing import Any

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.asking import Reply
from tests.emulator.creatives.asking_creatives import GIF, IMAGE, UPLOADED_IMAGE, UPLOADED_VIDEO, VIDEO, second

FOUR_IMAGES = [f"3_187470000{number}" for number in range(1, 5)]
FIFTH_IMAGE = "3_1874700005"


async def create(ads: Ads, **given: Any) -> Reply:
    post = {"as_user_id": ads.ask.emulator.seed["user_ids"][0], "text": "Snow!", **given}
    return await ads.post("/tweet", **{name: value for name, value in post.items() if value is not None})


async def on_platform(ads: Ads, post_id: str, **query: Any) -> Any:
    return (await ads.ask.get("/2/tweets", ids=post_id, **query)).json


async def timeline(ads: Ads) -> list[str]:
    reply = await ads.ask.get(f"/2/users/{ads.ask.emulator.seed['user_ids'][0]}/tweets", max_results=5)
    return [post["id"] for post in reply.data]


async def test_a_post_is_an_ad_unless_it_is_said_to_be_organic(ads: Ads) -> None:
    before = await timeline(ads)
    made = (await create(ads)).data
    assert made == {
        "id": made["id"],
        "text": "Snow!",
        "nullcast": True,
        "created_at": made["created_at"],
        "user": {"id": ads.ask.emulator.seed["user_ids"][0], "name": "Northwind Outdoor", "username": "northwind"},
    }
    (post,) = (await on_platform(ads, made["id"], tweet_fields="author_id"))["data"]
    assert (post["text"], post["author_id"]) == ("Snow!", made["user"]["id"])
    assert await timeline(ads) == before
    organic = (await create(ads, nullcast="false")).data
    assert organic["nullcast"] is False
    assert await timeline(ads) == [organic["id"], *before[:4]]


async def test_only_organic_posts_are_published(ads: Ads) -> None:
    rules = {"add": [{"value": "snow"}]}
    reply = await ads.ask.bearer("POST", "/2/tweets/search/stream/rules", json=rules)
    assert reply.status == 201
    path = f"{ads.ask.emulator.ready['base_url']}/2/tweets/search/stream"
    headers = {"Authorization": f"Bearer {ads.ask.emulator.ready['bearer_token']}"}
    async with ads.ask.session.get(path, headers=headers) as stream:
        assert stream.status == 200
        ad = await create(ads, text="Snow as an ad")
        edit = {"text": "Snow, edited", "edit_options": {"previous_post_id": ad.data["id"]}}
        assert (await ads.ask.signed("POST", "/2/tweets", json=edit)).status == 201
        organic = await create(ads, text="Snow for all", nullcast="false")
        line = await anext(line async for line in stream.content if line.strip())
        assert organic.data["id"].encode() in line


async def test_an_edited_ad_is_still_an_ad(ads: Ads) -> None:
    before, ad = await timeline(ads), (await create(ads)).data["id"]
    for text in ("Better", "Best"):
        edit = {"text": text, "edit_options": {"previous_post_id": ad}}
        ad = (await ads.ask.signed("POST", "/2/tweets", json=edit)).data["id"]
        assert (await on_platform(ads, ad))["data"] == [{"id": ad, "text": text}]
    assert await timeline(ads) == before
    assert (await ads.put(f"/tweets/{ad}/name", name="Ad")).data["nullcast"] is True


async def test_the_author_is_a_user_of_the_account(ads: Ads) -> None:
    other = ads.ask.emulator.seed["user_ids"][1]
    for user_id in (other, "99"):
        reply = await create(ads, as_user_id=user_id)
        assert (reply.status, reply.codes) == (403, ["FORBIDDEN"])
        assert reply.json["errors"][0]["parameter"] == "as_user_id"
    ads.ask.emulator.state.users[other].account_ids.add(ads.ask.account)
    made = await create(ads, as_user_id=f"0{other}")
    assert (made.status, made.data["user"]["id"]) == (200, other)
    reply = await create(ads, as_user_id=other, nullcast="false")
    assert (reply.status, reply.json["errors"][0]["parameter"]) == (403, "nullcast")
    assert broken(await create(ads, as_user_id=None)) == [("MISSING_PARAMETER", "as_user_id")]
    assert broken(await create(ads, as_user_id="x")) == [("INVALID_PARAMETER", "as_user_id")]


async def test_a_post_has_a_text_or_media(ads: Ads) -> None:
    for empty in (None, ""):
        assert broken(await create(ads, text=empty)) == [("MISSING_PARAMETER", "text")]
    assert broken(await create(ads, text=None, media_keys="")) == [("MISSING_PARAMETER", "text")]
    assert (await create(ads, text=None, media_keys=IMAGE)).data["text"] == ""


@pytest.mark.parametrize("keys", [FOUR_IMAGES, [IMAGE], [GIF], [VIDEO]])
async def test_a_post_shows_images_or_a_gif_or_a_video(ads: Ads, keys: list[str]) -> None:
    made = (await create(ads, media_keys=",".join(keys))).data
    assert made["media_keys"] == keys
    found = await on_platform(
        ads, made["id"], tweet_fields="attachments", expansions="attachments.media_keys", media_fields="type"
    )
    assert found["data"][0]["attachments"] == {"media_keys": keys}
    assert [each["media_key"] for each in found["includes"]["media"]] == keys


@pytest.mark.parametrize(
    "keys", [[*FOUR_IMAGES, FIFTH_IMAGE], [IMAGE, VIDEO], [GIF, GIF], [IMAGE, GIF], [VIDEO, "7_1874700102"]]
)
async def test_media_that_do_not_go_together_are_refused(ads: Ads, keys: list[str]) -> None:
    assert broken(await create(ads, media_keys=",".join(keys))) == [("INVALID_PARAMETER", "media_keys")]


@pytest.mark.parametrize(("key", "kind"), [(UPLOADED_VIDEO, "video"), (UPLOADED_IMAGE, "photo")])
async def test_media_of_the_library_are_those_of_a_post_from_then_on(ads: Ads, key: str, kind: str) -> None:
    assert missing(await create(ads, media_keys=key)) == ["media_keys"]
    assert (await ads.post("/media_library", media_key=key)).data["tweeted"] is False
    made = (await create(ads, media_keys=key)).data
    assert (await ads.get(f"/media_library/{key}")).data["tweeted"] is True
    found = await on_platform(ads, made["id"], expansions="attachments.media_keys", media_fields="type,duration_ms")
    (medium,) = found["includes"]["media"]
    assert (medium["media_key"], medium["type"], "duration_ms" in medium) == (key, kind, kind == "video")


async def test_a_post_shows_a_card_of_the_account(ads: Ads) -> None:
    for kind in ("card_ids", "poll_card_ids", "video_conversation_card_ids"):
        uri = f"card://{ads.ask.emulator.seed[kind][0]}"
        assert (await create(ads, card_uri=uri)).data["card_uri"] == uri
        assert missing(await create(second(ads), card_uri=uri)) == ["card_uri"]
    for wrong in ("card://nosuch", ads.ask.emulator.seed["card_ids"][0], "card://pp000"):
        assert missing(await create(ads, card_uri=wrong)) == ["card_uri"]
    assert missing(await create(ads, card_uri="card://nosuch", media_keys="nosuch")) == ["media_keys", "card_uri"]


@pytest.mark.parametrize("setting", ["EVERYONE", "FOLLOWING", "MENTIONED_USERS"])
async def test_who_may_answer_is_not_said_at_creation(ads: Ads, setting: str) -> None:
    made = (await create(ads, conversation_settings=setting)).data
    assert "conversation_settings" not in made
    stored = ads.ask.emulator.state.advertising.table(ads.ask.account, "advertiser_posts").get(made["id"])
    assert stored is not None
    assert stored["conversation_settings"] == setting
    reply = await create(ads, conversation_settings="NOBODY")
    assert broken(reply) == [("INVALID_PARAMETER", "conversation_settings")]


async def test_the_shape_of_the_answer_is_chosen(ads: Ads) -> None:
    assert "full_text" not in (await create(ads, tweet_mode="compat")).data
    extended = (await create(ads, tweet_mode="extended", trim_user="true")).data
    assert (extended["text"], extended["full_text"]) == ("Snow!", "Snow!")
    assert extended["user"] == {"id": ads.ask.emulator.seed["user_ids"][0]}
    for name, wrong in (("tweet_mode", "long"), ("trim_user", "maybe"), ("nullcast", "1")):
        assert broken(await create(ads, **{name: wrong})) == [("INVALID_PARAMETER", name)]


async def test_what_is_said_about_a_video_comes_back(ads: Ads) -> None:
    for cta in ("VISIT_SITE", "WATCH_NOW"):
        said = {"video_cta": cta, "video_cta_value": "https://a.example", "video_title": "t" * 70}
        made = (await create(ads, media_keys=VIDEO, video_description="d" * 200, **said)).data
        assert {name: made[name] for name in said} == said
    for name, wrong in (("video_cta", "BUY"), ("video_title", "t" * 71), ("video_description", "d" * 201)):
        assert broken(await create(ads, **{name: wrong})) == [("INVALID_PARAMETER", name)]


async def test_a_post_is_renamed(ads: Ads) -> None:
    made = (await create(ads, name="n" * 80)).data
    assert made["name"] == "n" * 80
    assert broken(await create(ads, name="n" * 81)) == [("INVALID_PARAMETER", "name")]
    path = f"/tweets/{made['id']}/name"
    renamed = await ads.put(path, name="Winter")
    assert renamed.data == {**made, "name": "Winter"}
    assert broken(await ads.put(path, name="n" * 81)) == [("INVALID_PARAMETER", "name")]
    assert broken(await ads.put(path)) == [("MISSING_PARAMETER", "name")]


async def test_other_posts_of_advertisers_of_the_account_have_names_too(ads: Ads) -> None:
    (post_id, *_) = await timeline(ads)
    for name in ("Pinned", "Not pinned"):
        renamed = (await ads.put(f"/tweets/{post_id}/name", name=name)).data
        assert (renamed["id"], renamed["name"], renamed["nullcast"]) == (post_id, name, False)
    of_others = ads.ask.emulator.state.platform.posts.timeline(ads.ask.emulator.seed["user_ids"][1])[0]
    for unknown in ("1", "nosuch", str(of_others)):
        assert missing(await ads.put(f"/tweets/{unknown}/name", name="x")) == ["tweet_id"]
