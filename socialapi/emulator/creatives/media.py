"""Handlers for account media and the media library.

Both kinds of records describe the uploaded file. Library records also have metadata. Media are identified by their
media key.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.advertising.records import (
    answer_record,
    asked_for,
    collection,
    delete_record,
    new_record,
    read_record,
    require_record,
)
from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.state import ACCOUNT_MEDIA, FACTS, LIBRARY, first_frame
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.responses import Answer, ads_not_found
from socialapi.models.creatives import VIDEO_FIELDS
from socialapi.problems import BrokenRule
from socialapi.routes import creatives as routes

_NARROWEST: Final = 800
_POLL_RATIO: Final = 1.91
_TOLERANCE: Final = 0.01

_NOUNS: Final = {"IMAGE": "an image", "VIDEO": "a video", "GIF": "a GIF"}
_OF_PLATFORM: Final = {"IMAGE": "photo", "VIDEO": "video", "GIF": "animated_gif"}


def in_library(call: Call, media_key: str, parameter: str) -> Record:
    """Returns a medium from the account's library. Refuses the parameter if there is none."""
    found = call.table(LIBRARY).get(media_key)
    if found is None:
        raise ads_not_found(parameter)
    return found


def uploaded(call: Call, media_key: str, parameter: str) -> Record:
    """Returns a medium that the user uploaded."""
    found = call.state.advertising.uploads.get(media_key)
    if found is None or found["owner_id"] != call.user.id:
        raise ads_not_found(parameter)
    return found


def kind_rules(medium: Record, kinds: Sequence[str], parameter: str) -> Iterable[BrokenRule]:
    """Yields a violation unless the medium is of one of these kinds."""
    if medium["media_type"] not in kinds:
        yield BrokenRule(path=parameter, reason=f"must be the key of {' or '.join(_NOUNS[kind] for kind in kinds)}")


def poll_image_rules(medium: Record, parameter: str) -> Iterable[BrokenRule]:
    """Yields the violations of the rules for a poll image, which must have a minimum width and a fixed aspect ratio."""
    if medium["width"] < _NARROWEST:
        yield BrokenRule(path=parameter, reason=f"must be an image at least {_NARROWEST} pixels wide")
    if abs(medium["width"] / medium["height"] - _POLL_RATIO) > _TOLERANCE:
        yield BrokenRule(path=parameter, reason="must be an image with the aspect ratio 1.91:1")


def wide_video_rules(medium: Record, parameter: str) -> Iterable[BrokenRule]:
    """Yields a violation unless the video of a conversation card is 16:9."""
    yield from kind_rules(medium, ("VIDEO",), parameter)
    if medium["media_type"] == "VIDEO" and medium["width"] * 9 != medium["height"] * 16:
        yield BrokenRule(path=parameter, reason="must be a video with the aspect ratio 16:9")


def of_platform(medium: Record) -> dict[str, Any]:
    """Returns the medium in the platform API's format for the media of posts."""
    found = {"media_key": medium["media_key"], "type": _OF_PLATFORM[medium["media_type"]]}
    return found if medium["duration"] is None else found | {"duration_ms": medium["duration"]}


_ID: Final = "account_media_id"


@serves(routes.ACCOUNT_MEDIA)
async def list_account_media(call: Call) -> Answer:
    """Returns the media of the account that match the filters."""
    where = asked_for(call.query, account_media_ids="id", creative_types="creative_type")
    return collection(call, call.table(ACCOUNT_MEDIA), where=where)


@serves(routes.ACCOUNT_MEDIUM)
async def get_account_medium(call: Call) -> Answer:
    """Returns an account medium. A deleted one is returned only on request."""
    return answer_record(call, read_record(call, ACCOUNT_MEDIA, _ID))


@serves(routes.ACCOUNT_MEDIUM_DELETE)
async def delete_account_medium(call: Call) -> Answer:
    """Deletes the account medium, and returns it."""
    return delete_record(call, ACCOUNT_MEDIA, _ID)


DEFAULT_COUNT: Final = 20

_WRITTEN: Final = ("name", "file_name", "title", "description", "poster_media_key")
_SEARCHED: Final = ("name", "title", "file_name", "description")
_WORD: Final = re.compile(r"[^\W_]+")


@serves(routes.MEDIA_LIBRARY)
async def list_media(call: Call) -> Answer:
    """Returns the media of a type, or media whose metadata contains every requested word."""
    media_type, terms = call.query.get("media_type"), call.query.get("q")
    words = None if terms is None else _words([terms])

    def is_asked_for(medium: Record) -> bool:
        if media_type not in (None, medium["media_type"]):
            return False
        return words is None or (bool(words) and words <= _words(medium[name] for name in _SEARCHED))

    return collection(call, call.table(LIBRARY), where=is_asked_for, default_count=DEFAULT_COUNT)


@serves(routes.LIBRARY_MEDIA)
async def get_medium(call: Call) -> Answer:
    """Returns a medium from the library."""
    return answer_record(call, require_record(call, LIBRARY, "media_key"))


def _new_medium(call: Call) -> Iterable[BrokenRule]:
    medium = uploaded(call, call.query["media_key"], "media_key")
    if call.table(LIBRARY).get(medium["id"]) is not None:
        yield BrokenRule(path="media_key", reason="is already in the library")
    yield from _video_rules(call, call.query, medium)


@serves(routes.LIBRARY_MEDIA_ADD, rules=_new_medium)
async def add_medium(call: Call) -> Answer:
    """Adds an uploaded medium to the library, even if it was deleted from the library before."""
    table, now = call.table(LIBRARY), timestamp(call.now)
    upload = uploaded(call, call.query["media_key"], "media_key")
    made = {
        **{name: upload[name] for name in FACTS},
        **{name: call.query.get(name) for name in _WRITTEN},
        "tweeted": False,
        "created_at": now,
        "updated_at": now,
        "deleted": False,
    }
    made["poster_media_url"] = _poster_url(call, made)
    medium = table.get(upload["id"], with_deleted=True)
    if medium is None:
        medium = table.add({"id": upload["id"], **made})
    else:
        table.change(medium, **made)
    if medium["media_category"] == "AMPLIFY_VIDEO":
        # The service adds preroll videos to the account media automatically.
        video_id, url = medium["media_key"].partition("_")[2], medium["media_url"]
        call.table(ACCOUNT_MEDIA).add(new_record(call, video_id=video_id, media_url=url, creative_type="PREROLL"))
    return answer_record(call, medium)


@serves(
    routes.LIBRARY_MEDIA_UPDATE,
    rules=lambda call: _video_rules(call, call.query, require_record(call, LIBRARY, "media_key")),
)
async def update_medium(call: Call) -> Answer:
    """Changes the metadata of the medium, and returns it."""
    medium = require_record(call, LIBRARY, "media_key")
    if call.query:
        changes = {**call.query, "updated_at": timestamp(call.now)}
        changes["poster_media_url"] = _poster_url(call, medium | changes)
        call.table(LIBRARY).change(medium, **changes)
    return answer_record(call, medium)


@serves(routes.LIBRARY_MEDIA_DELETE)
async def delete_medium(call: Call) -> Answer:
    """Deletes the medium, and returns it. Cards and posts that use it stay unchanged."""
    return delete_record(call, LIBRARY, "media_key")


def _words(texts: Iterable[str | None]) -> frozenset[str]:
    return frozenset(word for text in texts if text for word in _WORD.findall(text.casefold()))


def _video_rules(call: Call, given: Mapping[str, Any], medium: Record) -> Iterable[BrokenRule]:
    """Yields the violations of the rules for parameters that only videos have. Other media may clear these parameters."""
    fields = [name for name in VIDEO_FIELDS if given.get(name) is not None]
    if medium["media_type"] != "VIDEO":
        for name in fields:
            yield BrokenRule(path=name, reason="is only for videos")
    elif "poster_media_key" in fields:
        poster = uploaded(call, given["poster_media_key"], "poster_media_key")
        yield from kind_rules(poster, ("IMAGE",), "poster_media_key")


def _poster_url(call: Call, medium: Record) -> str | None:
    if medium["media_type"] != "VIDEO":
        return None
    poster = call.state.advertising.uploads.get(medium["poster_media_key"] or "")
    return first_frame(medium) if poster is None else poster["media_url"]
