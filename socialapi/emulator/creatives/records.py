"""What records of creatives consist of, for what is created and for the seed data alike."""

from typing import Any, Final

from socialapi.emulator.advertising.records import Record

ACCOUNT_MEDIA: Final = "account_media"
LIBRARY: Final = "media_library"
CARDS: Final = "cards"
POLLS: Final = "poll_cards"
CONVERSATIONS: Final = "video_conversation_cards"
POSTS: Final = "advertiser_posts"

IMAGE_CONVERSATION: Final = "IMAGE_CONVERSATION"
"""The one older type of cards that can be deleted."""

CHOICES: Final = ("first_choice", "second_choice", "third_choice", "fourth_choice")

FACTS: Final = (
    *("media_key", "media_type", "media_category", "media_url", "media_status", "duration", "aspect_ratio"),
    *("width", "height", "owner_id"),
)
"""What is known of a medium since it was uploaded."""


def card_uri(card_id: str) -> str:
    """How posts name a card."""
    return f"card://{card_id}"


def first_frame(medium: Record) -> str:
    """What stands for a video that has no poster."""
    return f"{medium['media_url'].rpartition('/')[0]}/first-frame.jpg"


def preroll(medium: Record) -> Record:
    """What the account media say that a video for prerolls is available as."""
    return {
        "video_id": medium["media_key"].partition("_")[2],
        "media_url": medium["media_url"],
        "creative_type": "PREROLL",
    }


def of_poll(medium: Record | None) -> dict[str, Any]:
    """The type of a poll with this medium, and where it is found; the key itself is not shown."""
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
    """What a conversation card says of its video and of the image that stands for it."""
    return {
        "media_url": video["media_url"],
        "poster_media_url": first_frame(video) if poster is None else poster["media_url"],
        "video_owner_id": video["owner_id"],
        "video_width": video["width"],
        "video_height": video["height"],
    }
