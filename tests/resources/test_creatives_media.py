"""The media library and posts of advertisers, against the emulator."""

from typing import Final

import pytest

from socialapi import Client
from socialapi.errors import NotFound
from socialapi.resources.ads import AccountResource

ACCOUNT: Final = "18ce54d4x5t"
ADVERTISER: Final = "2244994945"
IMAGE: Final = "3_1874700001"
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
