"""The media library, account media and posts of advertisers, against the emulator."""

from typing import Final

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, InvalidInput, NotFound
from socialapi.resources.ads import AccountResource

ACCOUNT: Final = "18ce54d4x5t"
ADVERTISER: Final = "2244994945"
IMAGE: Final = "3_1874700001"
VIDEO: Final = "7_1874700101"
GIF: Final = "16_1874700201"
UPLOADED_PREROLL: Final = "13_1874750002"
UPLOADED_IMAGE: Final = "3_1874750003"


@pytest.fixture
def account(client: Client) -> AccountResource:
    return client.ads.account(ACCOUNT)


async def test_media_are_added_changed_and_deleted(account: AccountResource) -> None:
    added = await account.media_library.add(UPLOADED_IMAGE, name="Boots", file_name="boots.jpg")
    assert (added.media_type, added.name, added.deleted) == ("IMAGE", "Boots", False)
    changed = await account.media_library.update(UPLOADED_IMAGE, name=None, file_name="b.jpg")
    assert (changed.name, changed.file_name) == (None, "b.jpg")
    assert await account.media_library.get(UPLOADED_IMAGE) == changed
    assert (await account.media_library.delete(UPLOADED_IMAGE)).deleted is True
    with pytest.raises(NotFound):
        await account.media_library.get(UPLOADED_IMAGE)


async def test_a_video_for_prerolls_is_account_media_too(account: AccountResource) -> None:
    before = {each.id for each in await account.media.list(creative_types=("PREROLL",)).collect()}
    added = await account.media_library.add(UPLOADED_PREROLL)
    assert added.media_category == "AMPLIFY_VIDEO"
    after = await account.media.list(creative_types=("PREROLL",)).collect()
    (made,) = [each for each in after if each.id not in before]
    assert made.creative_type == "PREROLL"
    assert (await account.media.get(made.id)) == made
    assert (await account.media.delete(made.id)).deleted is True
    with pytest.raises(NotFound):
        await account.media.get(made.id)
    assert (await account.media.get(made.id, with_deleted=True)).deleted is True


async def test_title_and_description_are_for_videos(account: AccountResource) -> None:
    with pytest.raises(ApiError, match="is for videos only"):
        await account.media_library.update(IMAGE, title="Boots")
    assert (await account.media_library.update(VIDEO, title="Boots")).title == "Boots"


async def test_pages_of_the_library_have_20_unless_said_otherwise(account: AccountResource) -> None:
    assert len((await account.media_library.list().first()).data) == 20
    found = await account.media_library.list(count=50, media_type="GIF").collect()
    assert {each.media_type for each in found} == {"GIF"}


async def test_a_broken_rule_is_said_before_anything_is_sent(account: AccountResource, service: Emulator) -> None:
    with pytest.raises(InvalidInput, match="title: must have at most 70"):
        await account.media_library.add(UPLOADED_PREROLL, title="x" * 71)
    with pytest.raises(InvalidInput, match="q: must have at least 1"):
        await account.media_library.list(q="").first()
    with pytest.raises(InvalidInput, match="count: must be at most 50"):
        await account.media_library.list(count=51).first()
    assert not service.requests


async def test_a_post_for_an_advertiser_is_an_ad_unless_said_otherwise(account: AccountResource) -> None:
    made = await account.posts.create(as_user_id=ADVERTISER, text="Boots", name="Ad", media_keys=(IMAGE,))
    assert (made.text, made.name, made.nullcast) == ("Boots", "Ad", True)
    assert (await account.posts.create(as_user_id=int(ADVERTISER), text="Hello", nullcast=False)).nullcast is False
    renamed = await account.posts.rename(made.id, "Other ad")
    assert (renamed.id, renamed.name) == (made.id, "Other ad")


async def test_who_may_answer_is_not_said_when_a_post_is_made(account: AccountResource) -> None:
    made = await account.posts.create(as_user_id=ADVERTISER, text="Boots", conversation_settings="FOLLOWING")
    assert not hasattr(made, "conversation_settings")
    assert "conversation_settings" not in made.extra


async def test_images_do_not_go_with_a_video_or_a_gif(account: AccountResource) -> None:
    with pytest.raises(ApiError, match="up to 4 images, or one GIF, or one video"):
        await account.posts.create(as_user_id=ADVERTISER, media_keys=(VIDEO, GIF))
    with pytest.raises(InvalidInput, match="text: is required without media_keys"):
        await account.posts.create(as_user_id=ADVERTISER, text="")
