"""Every endpoint of creatives, asked by the SDK and by a client that shares nothing with it."""

from typing import Any, Final

import aiohttp
import pytest

from socialapi.emulator import Emulator
from socialapi.models.cards import App, Button, CardMedia, Details, SwipeableMedia, Website
from socialapi.routes import creatives as routes
from socialapi.routes.route import Route
from tests.resources.agreeing import Both, assert_same

ACCOUNT: Final = "18ce54d4x5t"
AT: Final = f"/accounts/{ACCOUNT}"
IMAGE: Final = "3_1874700001"
OTHER_IMAGE: Final = "3_1874700002"
VIDEO: Final = "7_1874700101"
PREROLL: Final = "13_1874750002"

POLL: Final[dict[str, Any]] = {
    "name": "Boots",
    "duration_in_minutes": 60,
    "first_choice": "Yes",
    "second_choice": "No",
    "third_choice": "Maybe",
    "fourth_choice": "Never",
}
CONVERSATION: Final = {
    "name": "Trails",
    "media_key": VIDEO,
    "title": "Which",
    "thank_you_text": "Thanks",
    "thank_you_url": "https://shop.example",
    "poster_media_key": IMAGE,
    "unlocked_image_media_key": IMAGE,
    **{f"{ordinal}_cta": f"#{ordinal}" for ordinal in ("first", "second", "third", "fourth")},
    **{f"{ordinal}_cta_tweet": ordinal for ordinal in ("first", "second", "third", "fourth")},
}
POST: Final[dict[str, Any]] = {
    "as_user_id": "2244994945",
    "text": "Boots",
    "name": "Ad",
    "card_uri": "card://cd000",
    "conversation_settings": "FOLLOWING",
    "trim_user": False,
    "tweet_mode": "extended",
    "video_cta": "VISIT_SITE",
    "video_cta_value": "https://shop.example",
    "video_title": "Film",
    "video_description": "Part1",
}
WEBSITE: Final = {"type": "WEBSITE", "url": "https://shop.example"}
APP: Final = {
    "type": "APP",
    "country_code": "DE",
    "android_store_app_id": "a.b",
    "ios_app_store_identifier": "17",
    "android_store_deep_link": "a://x",
    "ios_deep_link": "i://x",
}


def texts(fields: dict[str, Any]) -> dict[str, str]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in fields.items()}


def rows() -> list[Both]:
    r = routes
    a = "account"
    return [
        Both(
            r.ACCOUNT_MEDIA,
            lambda c: (
                c.ads.account(ACCOUNT)
                .media.list(
                    account_media_ids=("am000", "am001", "an000"),
                    creative_types=("PREROLL", "BANNER"),
                    with_deleted=True,
                    with_total_count=True,
                    count=2,
                    sort_by="created_at-desc",
                )
                .first()
            ),
            f"{AT}/{a}_media",
            {
                "account_media_ids": "am000,am001,an000",
                "creative_types": "PREROLL,BANNER",
                "with_deleted": "true",
                "with_total_count": "true",
                "count": "2",
                "sort_by": "created_at-desc",
            },
        ),
        Both(
            r.ACCOUNT_MEDIUM,
            lambda c: c.ads.account(ACCOUNT).media.get("an000", with_deleted=True),
            f"{AT}/account_media/an000",
            {"with_deleted": "true"},
        ),
        Both(
            r.ACCOUNT_MEDIUM_DELETE,
            lambda c: c.ads.account(ACCOUNT).media.delete("am001"),
            f"{AT}/account_media/am001",
        ),
        Both(
            r.CARDS,
            lambda c: (
                c.ads.account(ACCOUNT)
                .cards.list(
                    card_types=("IMAGE_MULTI_DEST_CAROUSEL_WEBSITE", "VIDEO_APP", "IMAGE_WEBSITE"),
                    include_legacy_cards=True,
                    q="winter",
                    count=5,
                    sort_by="name-asc",
                    with_deleted=True,
                )
                .first()
            ),
            f"{AT}/cards",
            {
                "card_types": "IMAGE_MULTI_DEST_CAROUSEL_WEBSITE,VIDEO_APP,IMAGE_WEBSITE",
                "include_legacy_cards": "true",
                "q": "winter",
                "count": "5",
                "sort_by": "name-asc",
                "with_deleted": "true",
            },
        ),
        Both(
            r.CARD,
            lambda c: c.ads.account(ACCOUNT).cards.get("ce000", with_deleted=True),
            f"{AT}/cards/ce000",
            {"with_deleted": "true"},
        ),
        Both(
            r.CARD_CREATE,
            lambda c: c.ads.account(ACCOUNT).cards.create(
                "Boots",
                components=[
                    SwipeableMedia([IMAGE, VIDEO]),
                    Button(
                        "SHOP",
                        App(
                            country_code="DE",
                            android_store_app_id="a.b",
                            ios_app_store_identifier="17",
                            android_store_deep_link="a://x",
                            ios_deep_link="i://x",
                        ),
                    ),
                ],
            ),
            f"{AT}/cards",
            json={
                "name": "Boots",
                "components": [
                    {"type": "SWIPEABLE_MEDIA", "media_keys": [IMAGE, VIDEO]},
                    {"type": "BUTTON", "label": {"type": "ENUM", "value": "SHOP"}, "destination": APP},
                ],
            },
        ),
        Both(
            r.CARD_UPDATE,
            lambda c: c.ads.account(ACCOUNT).cards.update(
                "cd000",
                name="Other",
                slides=[
                    [CardMedia(IMAGE), Details("One", Website("https://shop.example"))],
                    [CardMedia(VIDEO), Details("Two", Website("https://shop.example"))],
                ],
            ),
            f"{AT}/cards/cd000",
            json={
                "name": "Other",
                "slides": [
                    [
                        {"type": "MEDIA", "media_key": key},
                        {"type": "DETAILS", "title": title, "destination": WEBSITE},
                    ]
                    for key, title in ((IMAGE, "One"), (VIDEO, "Two"))
                ],
            },
        ),
        Both(
            r.IMAGE_CONVERSATION_CARD_DELETE,
            lambda c: c.ads.account(ACCOUNT).cards.delete_image_conversation("lc000"),
            f"{AT}/cards/image_conversation/lc000",
        ),
        Both(
            r.MEDIA_LIBRARY,
            lambda c: c.ads.account(ACCOUNT).media_library.list(media_type="VIDEO", q="film", count=3).first(),
            f"{AT}/media_library",
            {"media_type": "VIDEO", "q": "film", "count": "3"},
        ),
        Both(
            r.LIBRARY_MEDIA,
            lambda c: c.ads.account(ACCOUNT).media_library.get(VIDEO),
            f"{AT}/media_library/{VIDEO}",
        ),
        Both(
            r.LIBRARY_MEDIA_ADD,
            lambda c: c.ads.account(ACCOUNT).media_library.add(
                PREROLL, name="Spot", file_name="s.mp4", title="T", description="D", poster_media_key=IMAGE
            ),
            f"{AT}/media_library",
            {
                "media_key": PREROLL,
                "name": "Spot",
                "file_name": "s.mp4",
                "title": "T",
                "description": "D",
                "poster_media_key": IMAGE,
            },
        ),
        Both(
            r.LIBRARY_MEDIA_UPDATE,
            lambda c: c.ads.account(ACCOUNT).media_library.update(VIDEO, name="New", title=None),
            f"{AT}/media_library/{VIDEO}",
            {"name": "New", "title": ""},
        ),
        Both(
            r.LIBRARY_MEDIA_DELETE,
            lambda c: c.ads.account(ACCOUNT).media_library.delete(OTHER_IMAGE),
            f"{AT}/media_library/{OTHER_IMAGE}",
        ),
        Both(
            r.POLL_CARDS,
            lambda c: (
                c.ads.account(ACCOUNT).poll_cards.list(card_ids=("po000", "po001"), with_total_count=True).first()
            ),
            f"{AT}/cards/poll",
            {"card_ids": "po000,po001", "with_total_count": "true"},
        ),
        Both(
            r.POLL_CARD,
            lambda c: c.ads.account(ACCOUNT).poll_cards.get("po001"),
            f"{AT}/cards/poll/po001",
        ),
        Both(
            r.POLL_CARD_CREATE,
            lambda c: c.ads.account(ACCOUNT).poll_cards.create(**POLL),
            f"{AT}/cards/poll",
            texts(POLL),
        ),
        Both(
            r.ADVERTISER_POST_CREATE,
            lambda c: c.ads.account(ACCOUNT).posts.create(**POST, media_keys=(IMAGE, OTHER_IMAGE)),
            f"{AT}/tweet",
            {**texts(POST), "media_keys": f"{IMAGE},{OTHER_IMAGE}", "conversation_settings": "FOLLOWING"}
            | {name: POST[name] for name in ("text", "name", "video_cta", "video_title", "video_description")},
        ),
        Both(
            r.ADVERTISER_POST_RENAME,
            lambda c: c.ads.account(ACCOUNT).posts.rename("1988048506060800015", "New"),
            f"{AT}/tweets/1988048506060800015/name",
            {"name": "New"},
        ),
        Both(
            r.VIDEO_CONVERSATION_CARDS,
            lambda c: c.ads.account(ACCOUNT).video_conversation_cards.list(q="n", count=3).first(),
            f"{AT}/cards/video_conversation",
            {"q": "n", "count": "3"},
        ),
        Both(
            r.VIDEO_CONVERSATION_CARD,
            lambda c: c.ads.account(ACCOUNT).video_conversation_cards.get("vd000", with_deleted=True),
            f"{AT}/cards/video_conversation/vd000",
            {"with_deleted": "true"},
        ),
        Both(
            r.VIDEO_CONVERSATION_CARD_CREATE,
            lambda c: c.ads.account(ACCOUNT).video_conversation_cards.create(**CONVERSATION),
            f"{AT}/cards/video_conversation",
            CONVERSATION,
        ),
        Both(
            r.VIDEO_CONVERSATION_CARD_UPDATE,
            lambda c: c.ads.account(ACCOUNT).video_conversation_cards.update("vc003", name="New", thank_you_url=None),
            f"{AT}/cards/video_conversation/vc003",
            {"name": "New", "thank_you_url": ""},
        ),
    ]


ROWS: Final = rows()


@pytest.mark.parametrize("both", ROWS, ids=lambda both: both.name)
async def test_the_sdk_and_an_independent_client_get_the_same(
    service: Emulator, http: aiohttp.ClientSession, both: Both
) -> None:
    await assert_same(service, http, both)


def test_every_endpoint_of_creatives_is_compared() -> None:
    declared = {name for name, each in vars(routes).items() if isinstance(each, Route)}
    compared = {name for name, each in vars(routes).items() if any(each is row.route for row in ROWS)}
    assert compared == declared
