"""Seed posts with every field of a post, and their media, polls and places (platform sections 2.4 and 2.5)."""

from collections.abc import Mapping
from typing import Any, Final

from socialapi.emulator.platform.new_posts import post_fields
from socialapi.emulator.platform.seed_users import ADA, HARBOUR_BOOKS, MARCO, NORTHWIND, QUIET_GARDEN, WEATHER_DESK
from socialapi.emulator.platform.state import PostRecord, id_at
from socialapi.emulator.state import State

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


_START_MS: Final = 1_736_150_400_000  # 2025-01-06
_STEP_MS: Final = 9_420_000

COMMUNITY_ID: Final = "1493446837214187523"
LOST_POST_ID: Final = "1000000000000000001"
"""A post that is quoted and no longer exists."""

_WEATHER: Final = {
    "domain": {"id": "131", "name": "Weather", "description": "What comes from above"},
    "entity": {"id": "2040", "name": "Avalanche warning"},
}

# What is written in the order of time: (name, author, text, what is special about it).
_WRITTEN: Final[tuple[tuple[str, str, str, Mapping[str, Any]], ...]] = (
    (
        "catalogue",
        NORTHWIND,
        "The winter catalogue is out, from the Lofoten to the Dolomites. https://northwind.example/winter-catalogue #OutThere",
        {"attachments": {"media_keys": [PHOTO]}},
    ),
    ("sizes", ADA, "@northwind does the Ridgeline jacket run small? I am between two sizes.", {}),
    ("answer", NORTHWIND, "@ada_lindqvist A little: take the larger one. Exchanges are free.", {"replied_to": "sizes"}),
    ("page_31", MARCO, "Page 31 is my hut, and that is my cat.", {"quoted": "catalogue"}),
    (
        "snow_line",
        WEATHER_DESK,
        "Snow line falling to 900 m by Thursday, storm above 2,000 m in Jotunheimen. Stay below the trees.",
        {"context_annotations": [_WEATHER]},
    ),
    ("film", NORTHWIND, "Ninety seconds above the Tatra Mountains. Sound on. #OutThere", {"attachments": {"media_keys": [VIDEO]}}),
    (
        "partners",
        NORTHWIND,
        "Ten books for ten nights in a hut, chosen with @harbourbooks. https://harbourbooks.example/hut-library #ad",
        {"paid_partnership": True},
    ),
    ("circle", HARBOUR_BOOKS, "The reading circle meets on Tuesday. Bring a lamp.", {"community_id": COMMUNITY_ID}),
    (
        "packing",
        NORTHWIND,
        "What goes into the rucksack first? #packing",
        {"attachments": {"poll_ids": [POLL]}},
    ),
    ("repeat", ADA, "RT @northwind: What goes into the rucksack first? #packing", {"retweeted": "packing"}),
    ("closed", MARCO, "Rifugio chiuso per neve, il sentiero riapre a giugno. #Dolomites", {"lang": "it"}),
    ("damage", WEATHER_DESK, "Pictures of the storm damage from this morning.", {"possibly_sensitive": True}),
    ("aged_well", HARBOUR_BOOKS, "This has aged well.", {"quoted": LOST_POST_ID}),
    ("private", QUIET_GARDEN, "The snowdrops are up. Tell nobody.", {}),
    ("thread", NORTHWIND, "The answer, of course, is: whatever you need last.", {"replied_to": "packing"}),
    (
        "trieste",
        NORTHWIND,
        "Grüße aus Trieste 🌊! A new shop, the same rope. https://northwind.example/shops/trieste @marco_ferri #OutThere",
        {"attachments": {"media_keys": [PHOTO, VIDEO]}, "geo": {"place_id": PLACE}},
    ),
)  # fmt: skip

NOTABLE: Final = ("page_31", "snow_line", "circle", "closed", "damage", "aged_well")
"""What a community note can be written on."""


def count_by(author_id: str) -> int:
    """How many of these posts are the author's."""
    return sum(author == author_id for _, author, _, _ in _WRITTEN)


def plant_posts(state: State) -> dict[str, PostRecord]:
    """Adds the posts; all of them by name, in the order of time."""
    planted: dict[str, PostRecord] = {}
    for position, (name, author_id, text, special) in enumerate(_WRITTEN):
        at_ms = _START_MS + position * _STEP_MS
        post_id = str(id_at(at_ms) + position)
        fields = post_fields(state, state.users[author_id], post_id, text, at_ms / 1000)
        fields["public_metrics"] = _metrics(position)
        _refer(fields, special, planted)
        fields |= {field: value for field, value in special.items() if field not in _KINDS}
        planted[name] = PostRecord(id=post_id, author_id=author_id, created_at=at_ms / 1000, fields=fields)
        state.platform.posts.add(planted[name])
    state.platform.last_id = max(int(post.id) for post in planted.values())
    return planted


_KINDS: Final = ("replied_to", "quoted", "retweeted")


def _refer(fields: dict[str, Any], special: Mapping[str, Any], planted: Mapping[str, PostRecord]) -> None:
    for kind in _KINDS:
        if kind not in special:
            continue
        target = planted.get(special[kind])
        fields["referenced_tweets"] = [{"type": kind, "id": target.id if target else special[kind]}]
        if kind == "replied_to" and target is not None:
            fields["conversation_id"] = target.fields["conversation_id"]
            fields["in_reply_to_user_id"] = target.author_id


def _metrics(position: int) -> dict[str, int]:
    likes = 120 + 37 * position
    return {
        "retweet_count": likes // 9,
        "reply_count": likes // 14,
        "like_count": likes,
        "quote_count": likes // 40,
        "impression_count": likes * 55,
    }
