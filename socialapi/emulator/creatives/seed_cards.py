"""The cards of the seed data: of every type, legacy ones, polls and video conversations."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, get_args

from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.seed_media import FIRST_DAY, HOUR, IMAGES, VIDEOS, library
from socialapi.emulator.creatives.state import CHOICES, IMAGE_CONVERSATION, card_uri, of_conversation, of_poll
from socialapi.models.cards import CardType
from socialapi.models.creatives import ORDINALS

CARDS: Final = 130
LEGACY: Final = 30
POLLS: Final = 12
CONVERSATIONS: Final = 12

_LEGACY_TYPES: Final = (IMAGE_CONVERSATION, "APP_DOWNLOAD", "IMAGE_DIRECT_MESSAGE")
_NAMES: Final = ("Winter sale", "New boots", "Hut to hut", "Repair it", "Before the race")
_SHOP: Final = "https://shop.northwind.example"
_MINUTES: Final = (5, 60, 1_440, 10_080)


def card_ids() -> list[str]:
    """Those of cards that are put together from components and not deleted."""
    return [f"cd{number:03x}" for number in range(CARDS)]


def poll_card_ids() -> list[str]:
    """Those that are not deleted."""
    return [f"po{number:03x}" for number in range(POLLS)]


def conversation_card_ids() -> list[str]:
    """Those that are not deleted."""
    return [f"vc{number:03x}" for number in range(CONVERSATIONS)]


def cards() -> Iterator[Record]:
    """One type after the other, then three deleted ones, then those of older kinds."""
    types = get_args(CardType)
    deleted = [f"ce{number:03x}" for number in range(3)]
    for number, card_id in enumerate([*card_ids(), *deleted]):
        kind = types[number % len(types)]
        yield {
            **_card(card_id, number, kind, is_deleted=card_id in deleted),
            **_layout(kind, number),
            "is_legacy": False,
        }
    for number in range(LEGACY):
        kind = _LEGACY_TYPES[number % len(_LEGACY_TYPES)]
        yield {**_card(f"lc{number:03x}", number, kind), "is_legacy": True}


def _card(card_id: str, number: int, kind: str, *, is_deleted: bool = False) -> Record:
    made = timestamp(FIRST_DAY + number * HOUR)
    return {
        "id": card_id,
        "name": f"{_NAMES[number % len(_NAMES)]} {number + 1}",
        "card_type": kind,
        "card_uri": card_uri(card_id),
        "created_at": made,
        "updated_at": made,
        "deleted": is_deleted,
    }


def _layout(kind: str, number: int) -> dict[str, Any]:
    """Components or slides that make a card of the type."""
    keys = [*_media(kind, number)]
    if "MULTI_DEST" in kind:
        return {"slides": [[{"type": "MEDIA", "media_key": key}, _action(kind, each)] for each, key in enumerate(keys)]}
    if "CAROUSEL" in kind:
        return {"components": [{"type": "SWIPEABLE_MEDIA", "media_keys": keys}, _action(kind, number)]}
    return {"components": [{"type": "MEDIA", "media_key": keys[0]}, _action(kind, number)]}


def _media(kind: str, number: int) -> Iterator[str]:
    """Three keys: of images, of videos, or of both in turn."""
    for each in range(number, number + 3):
        is_video = kind.startswith("VIDEO") or (kind.startswith("MIXED") and (each - number) % 2 == 1)
        yield VIDEOS[each % len(VIDEOS)] if is_video else IMAGES[each % len(IMAGES)]


def _action(kind: str, number: int) -> dict[str, Any]:
    if kind.endswith("WEBSITE"):
        website = {"type": "WEBSITE", "url": f"{_SHOP}/offers/{number + 1}"}
        return {"type": "DETAILS", "title": f"Offer {number + 1}", "destination": website}
    app = {"type": "APP", "country_code": "DE", "android_store_app_id": "com.northwind.shop"}
    return {"type": "BUTTON", "label": {"type": "ENUM", "value": "INSTALL"}, "destination": app}


def poll_cards() -> Iterator[Record]:
    """Of four, two have only a text, one has an image and one a video; the last one is deleted."""
    media = {medium["id"]: medium for medium in library()}
    for number, card_id in enumerate([*poll_card_ids(), "pp000"]):
        key = (None, VIDEOS[number % 3], None, IMAGES[number % 8])[number % 4]
        minutes, began = _MINUTES[number % len(_MINUTES)], FIRST_DAY + number * HOUR
        choices = [f"Choice {each + 1}" if each < 2 + number % 3 else None for each in range(len(CHOICES))]
        yield {
            **_card(card_id, number, "TEXT_POLLS", is_deleted=number == POLLS),
            **dict(zip(CHOICES, choices, strict=True)),
            "duration_in_minutes": minutes,
            "start_time": timestamp(began),
            "end_time": timestamp(began + minutes * 60),
            **of_poll(media[key] if key else None),
        }


def conversation_cards() -> Iterator[Record]:
    """With one to four things to say, with and without a poster; the last one is deleted."""
    media = {medium["id"]: medium for medium in library()}
    for number, card_id in enumerate([*conversation_card_ids(), "vd000"]):
        video, poster = VIDEOS[number % len(VIDEOS)], IMAGES[number % 8] if number % 2 else None
        calls: dict[str, str | None] = {f"{each}_{part}": None for each in ORDINALS for part in ("cta", "cta_tweet")}
        for ordinal in islice(ORDINALS, 1 + number % 4):
            calls |= {f"{ordinal}_cta": f"#{ordinal.title()}", f"{ordinal}_cta_tweet": f"I am for the {ordinal}"}
        yield {
            **_card(card_id, number, "VIDEO_CONVERSATION", is_deleted=number == CONVERSATIONS),
            **calls,
            "title": f"Which trail, {number + 1}?",
            "thank_you_text": "See you there",
            "thank_you_url": f"{_SHOP}/thanks",
            "media_key": video,
            "poster_media_key": poster,
            "unlocked_image_media_key": None,
            "unlocked_video_media_key": None,
            **of_conversation(media[video], media[poster] if poster else None),
        }
