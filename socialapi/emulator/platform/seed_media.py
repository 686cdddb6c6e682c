"""The media, polls and places of the seed data (platform section 2.5)."""

from typing import Any, Final

PHOTO: Final = "3_1874700001"
VIDEO: Final = "7_1874700101"
POLL: Final = "1874700301"
PLACE: Final = "18747004a1"

_HOST: Final = "https://media.northwind.example"


def media() -> dict[str, dict[str, Any]]:
    """Photos, videos and a moving picture, by key."""
    made: list[dict[str, Any]] = [{"media_key": f"3_187470000{number}", "type": "photo"} for number in range(1, 9)]
    made += [_video(f"7_187470010{number}", "video", 90_000 * number) for number in range(1, 4)]
    made.append(_video("16_1874700201", "animated_gif", 3_200))
    return {each["media_key"]: each for each in made}


def polls() -> dict[str, dict[str, Any]]:
    """A poll that has ended; the fields of polls are not documented."""
    options = ("Warm socks", "The book", "Whatever is heaviest")
    votes = (118, 64, 301)
    return {
        POLL: {
            "id": POLL,
            "options": [
                {"position": position, "label": label, "votes": count}
                for position, (label, count) in enumerate(zip(options, votes, strict=True), 1)
            ],
            "duration_minutes": 1440,
            "end_datetime": "2025-01-08T04:48:00.000Z",
            "voting_status": "closed",
        }
    }


def places() -> dict[str, dict[str, Any]]:
    """A city; the fields of places are not documented."""
    return {PLACE: {"id": PLACE, "full_name": "Trieste, Italy", "country": "Italy", "place_type": "city"}}


def _video(key: str, kind: str, duration_ms: int) -> dict[str, Any]:
    rates = (632_000, 2_176_000)
    variants: list[dict[str, Any]] = [
        {"content_type": "video/mp4", "bit_rate": rate, "url": f"{_HOST}/{key}/{rate}.mp4"} for rate in rates
    ]
    if kind == "video":
        variants.append({"content_type": "application/x-mpegURL", "url": f"{_HOST}/{key}/playlist.m3u8"})
    views = 1_000 + int(key.partition("_")[2]) % 997
    return {
        "media_key": key,
        "type": kind,
        "duration_ms": duration_ms,
        "public_metrics": {"view_count": views},
        "variants": variants,
    }
