"""The media of the seed data: uploads, the media library and account media of the first account."""

from collections.abc import Iterator
from typing import Any, Final, get_args

from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.state import FACTS, first_frame, preroll
from socialapi.emulator.platform.seed_users import HARBOUR_BOOKS, NORTHWIND
from socialapi.models.creatives import CreativeType

ACCOUNT_MEDIA: Final = 230
DELETED_ACCOUNT_MEDIA: Final = 5

FIRST_DAY: Final = 1_731_052_800  # 2024-11-08T08:00:00Z
HOUR: Final = 3_600

_HOST: Final = "https://media.northwind.example"

Shape = tuple[int, int, str]
WIDE: Final[Shape] = (1200, 628, "1.91:1")
JUST_WIDE: Final[Shape] = (800, 418, "1.91:1")
NARROW: Final[Shape] = (799, 418, "1.91:1")
SQUARE: Final[Shape] = (1200, 1200, "1:1")
HD: Final[Shape] = (1280, 720, "16:9")
TALL: Final[Shape] = (720, 1280, "9:16")
SMALL: Final[Shape] = (480, 270, "16:9")

# Those that posts of the platform have come first: eight photos, three videos, a moving picture.
_PLATFORM_PHOTOS: Final = tuple(f"3_187470000{number}" for number in range(1, 9))
_PLATFORM_VIDEOS: Final = tuple(f"7_187470010{number}" for number in range(1, 4))
_IMAGES: Final = {f"3_18747100{number:02}": WIDE for number in range(22)} | {
    "3_1874710000": JUST_WIDE,
    "3_1874710001": NARROW,
    "3_1874710002": SQUARE,
}
_VIDEOS: Final = {f"7_18747200{number:02}": HD for number in range(18)} | {
    "7_1874720000": TALL,
    "7_1874720001": SQUARE,
}
_GIFS: Final = tuple(f"16_18747300{number:02}" for number in range(4))
_PREROLLS: Final = tuple(f"13_18747400{number:02}" for number in range(4))

IMAGES: Final = (*_PLATFORM_PHOTOS, *_IMAGES)
VIDEOS: Final = (*_PLATFORM_VIDEOS, *(key for key, shape in _VIDEOS.items() if shape == HD), *_PREROLLS)
"""The videos that are 16:9."""

_FURTHER: Final = (
    ("7_1874750001", "TWEET_VIDEO", HD),
    ("13_1874750002", "AMPLIFY_VIDEO", HD),
    ("3_1874750003", "TWEET_IMAGE", WIDE),
    ("3_1874750004", "TWEET_IMAGE", SQUARE),
    ("16_1874750005", "TWEET_GIF", SMALL),
    ("7_1874750006", "TWEET_VIDEO", TALL),
    ("3_1874750007", "TWEET_IMAGE", WIDE),
    ("7_1874750008", "TWEET_VIDEO", HD),
)
UPLOADED: Final = tuple(key for key, _, _ in _FURTHER)
"""What is in no library yet."""

_TYPES: Final = {"TWEET_IMAGE": "IMAGE", "TWEET_VIDEO": "VIDEO", "AMPLIFY_VIDEO": "VIDEO", "TWEET_GIF": "GIF"}
_SUBJECTS: Final = ("Jacket in the snow", "Hut at dusk", "Boots on scree", "Tent by the lake", "Rope and ridge")


def uploads() -> Iterator[Record]:
    """All media that were uploaded: the library's, those that are in none yet, and one of somebody else."""
    yield from _in_library()
    for key, category, shape in _FURTHER:
        yield _upload(key, category, shape, 0 if category == "TWEET_IMAGE" else 30_000)
    yield _upload("3_1874750101", "TWEET_IMAGE", WIDE) | {"owner_id": HARBOUR_BOOKS}


def _in_library() -> Iterator[Record]:
    for key in _PLATFORM_PHOTOS:
        yield _upload(key, "TWEET_IMAGE", WIDE)
    for number, key in enumerate(_PLATFORM_VIDEOS, 1):
        yield _upload(key, "TWEET_VIDEO", HD, 90_000 * number)
    yield _upload("16_1874700201", "TWEET_GIF", SMALL, 3_200)
    for key, shape in _IMAGES.items():
        yield _upload(key, "TWEET_IMAGE", shape)
    for number, (key, shape) in enumerate(_VIDEOS.items()):
        yield _upload(key, "TWEET_VIDEO", shape, 15_000 + number * 500)
    for key in _GIFS:
        yield _upload(key, "TWEET_GIF", SMALL, 2_400)
    for key in _PREROLLS:
        yield _upload(key, "AMPLIFY_VIDEO", HD, 6_000)


def _upload(key: str, category: str, shape: Shape, duration: int = 0) -> Record:
    kind = _TYPES[category]
    width, height, ratio = shape
    return {
        "id": key,
        "media_key": key,
        "media_type": kind,
        "media_category": category,
        "media_url": f"{_HOST}/{key}/original.{'jpg' if kind == 'IMAGE' else 'mp4'}",
        "media_status": "TRANSCODE_COMPLETED",
        "duration": duration or None,
        "aspect_ratio": ratio,
        "width": width,
        "height": height,
        "owner_id": NORTHWIND,
    }


def library() -> Iterator[Record]:
    """The library of the first account; every video has a title, every second one a poster of its own."""
    for number, upload in enumerate(_in_library()):
        is_video = upload["media_type"] == "VIDEO"
        poster = _PLATFORM_PHOTOS[number % 8] if is_video and number % 2 else None
        subject, made = _SUBJECTS[number % len(_SUBJECTS)], timestamp(FIRST_DAY + number * HOUR)
        extension = upload["media_url"].rpartition(".")[2]
        poster_url = None
        if is_video:
            poster_url = f"{_HOST}/{poster}/original.jpg" if poster else first_frame(upload)
        yield {
            "id": upload["id"],
            **{name: upload[name] for name in FACTS},
            "name": f"{subject}, {number + 1}",
            "file_name": f"{subject.lower().replace(' ', '-')}_{number + 1}.{extension}",
            "title": f"{subject}: the film" if is_video else None,
            "description": f"Filmed in the north, part {number + 1}" if is_video else None,
            "poster_media_key": poster,
            "poster_media_url": poster_url,
            "tweeted": upload["id"] in (*_PLATFORM_PHOTOS, *_PLATFORM_VIDEOS),
            "created_at": made,
            "updated_at": made,
            "deleted": False,
        }


def account_media_ids() -> list[str]:
    """The ids of those that are not deleted."""
    return [f"am{number:03x}" for number in range(ACCOUNT_MEDIA)]


def account_media() -> Iterator[Record]:
    """First those of the library's videos for prerolls, then of each type in turn; the last ones are deleted."""
    prerolls = [preroll(_upload(key, "AMPLIFY_VIDEO", HD)) for key in _PREROLLS]
    deleted = [f"an{number:03x}" for number in range(DELETED_ACCOUNT_MEDIA)]
    for number, record_id in enumerate([*account_media_ids(), *deleted]):
        made = timestamp(FIRST_DAY + number * HOUR)
        yield {
            "id": record_id,
            **(prerolls[number] if number < len(prerolls) else _creative(number)),
            "created_at": made,
            "updated_at": made,
            "deleted": record_id in deleted,
        }


def _creative(number: int) -> dict[str, Any]:
    kinds = get_args(CreativeType)
    kind = kinds[number % len(kinds)]
    video_id = VIDEOS[number % len(VIDEOS)].partition("_")[2]
    is_video = kind.endswith("PREROLL")
    url = f"{_HOST}/creatives/{number}.{'mp4' if is_video else 'png'}"
    return {"video_id": video_id if is_video else None, "media_url": url, "creative_type": kind}
