"""Records of cards and media."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.advertising.state import Record

Component = Mapping[str, Any]
Layout = Mapping[str, Any]
"""The `components` or `slides` of a card."""

_PLACES: Final = {"DETAILS": "WEBSITE", "BUTTON": "APP"}


def faces(layout: Layout) -> Iterator[tuple[str, Sequence[Component]]]:
    """Yields the components that are shown together, each with its path in the card."""
    if "components" in layout:
        yield "components", layout["components"]
    for number, components in enumerate(layout.get("slides", ())):
        yield f"slides[{number}]", components


def media_keys(layout: Layout) -> Iterator[tuple[str, str]]:
    """Yields every media key, with its path in the card."""
    for place, components in faces(layout):
        for number, component in enumerate(components):
            if component["type"] == "MEDIA":
                yield f"{place}[{number}].media_key", component["media_key"]
            elif component["type"] == "SWIPEABLE_MEDIA":
                for index, key in enumerate(component["media_keys"]):
                    yield f"{place}[{number}].media_keys[{index}]", key


def card_type(layout: Layout, kinds: set[str]) -> str:
    """Returns the type of a valid card with media of these kinds."""
    media = kinds.pop() if len(kinds) == 1 else "MIXED_MEDIA"
    types = {component["type"] for _, components in faces(layout) for component in components}
    place = next(_PLACES[kind] for kind in _PLACES if kind in types)
    if "slides" in layout:
        return f"{media}_MULTI_DEST_CAROUSEL_{place}"
    if "SWIPEABLE_MEDIA" not in types:
        return f"{media}_{place}"
    return f"{media}_SINGLE_DEST_CAROUSEL_{place}" if media == "MIXED_MEDIA" else f"{media}_CAROUSEL_{place}"


ACCOUNT_MEDIA: Final = "account_media"
LIBRARY: Final = "media_library"
CARDS: Final = "cards"
POLLS: Final = "poll_cards"
CONVERSATIONS: Final = "video_conversation_cards"
POSTS: Final = "advertiser_posts"

IMAGE_CONVERSATION: Final = "IMAGE_CONVERSATION"
"""The only older card type that can be deleted."""

CHOICES: Final = ("first_choice", "second_choice", "third_choice", "fourth_choice")

FACTS: Final = (
    *("media_key", "media_type", "media_category", "media_url", "media_status", "duration", "aspect_ratio"),
    *("width", "height", "owner_id"),
)
"""The fields of a medium that are set by its upload."""


def card_uri(card_id: str) -> str:
    """Returns the URI by which posts refer to a card."""
    return f"card://{card_id}"


def first_frame(medium: Record) -> str:
    """Returns the URL of the image that represents a video without a poster."""
    return f"{medium['media_url'].rpartition('/')[0]}/first-frame.jpg"


def of_poll(medium: Record | None) -> dict[str, Any]:
    """Returns the fields that a poll derives from its medium: the card type and the URLs, but not the media key."""
    if medium is None:
        return {"card_type": "TEXT_POLLS"}
    if medium["media_type"] == "IMAGE":
        return {"card_type": "IMAGE_POLLS", "image_url": medium["media_url"]}
    width, height = medium["width"], medium["height"]
    return {
        "card_type": "VIDEO_POLLS",
        "video_url": medium["media_url"],
        "video_hls_url": f"{medium['media_url'].rpartition('/')[0]}/playlist.m3u8",
        "video_width": width,
        "video_height": height,
        "video_poster_url": medium["poster_media_url"],
        "video_poster_width": width,
        "video_poster_height": height,
        "content_duration_seconds": medium["duration"] / 1_000,
    }


def of_conversation(video: Record, poster: Record | None) -> Record:
    """Returns the fields of a conversation card about its video and its poster image."""
    return {
        "media_url": video["media_url"],
        "poster_media_url": first_frame(video) if poster is None else poster["media_url"],
        "video_owner_id": video["owner_id"],
        "video_width": video["width"],
        "video_height": video["height"],
    }
