"""The media library of an account (section 4.3)."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from socialapi.emulator.advertising.endpoint import account_of, serves, the
from socialapi.emulator.advertising.paging import collection
from socialapi.emulator.advertising.records import Record, Table
from socialapi.emulator.advertising.showing import answer_record
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.account_media import add_preroll
from socialapi.emulator.creatives.media import kind_rules, uploaded
from socialapi.emulator.creatives.records import FACTS, LIBRARY, first_frame
from socialapi.emulator.envelopes import Answer
from socialapi.models.creatives import VIDEO_FIELDS
from socialapi.problems import BrokenRule
from socialapi.routes import creatives as routes

DEFAULT_COUNT: Final = 20

_WRITTEN: Final = ("name", "file_name", "title", "description", "poster_media_key")
_SEARCHED: Final = ("name", "title", "file_name", "description")
_WORD: Final = re.compile(r"[^\W_]+")


@serves(routes.MEDIA_LIBRARY)
async def list_media(call: Call, arguments: Arguments) -> Answer:
    """The media of a type, or those in whose texts every word that is asked for stands."""
    media_type, terms = arguments.query.get("media_type"), arguments.query.get("q")
    words = None if terms is None else _words([terms])

    def is_asked_for(medium: Record) -> bool:
        if media_type not in (None, medium["media_type"]):
            return False
        return words is None or (bool(words) and words <= _words(medium[name] for name in _SEARCHED))

    return collection(call, arguments, _table(call), where=is_asked_for, default_count=DEFAULT_COUNT)


@serves(routes.LIBRARY_MEDIA)
async def get_medium(call: Call, arguments: Arguments) -> Answer:
    """One of these."""
    return answer_record(call, arguments, the(call, LIBRARY, "media_key"))


def _new_medium(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    medium = uploaded(call, arguments.query["media_key"], "media_key")
    if _table(call).get(medium["id"]) is not None:
        yield BrokenRule(path="media_key", reason="is in the library already")
    yield from _video_rules(call, arguments.query, medium)


@serves(routes.LIBRARY_MEDIA_ADD, rules=_new_medium)
async def add_medium(call: Call, arguments: Arguments) -> Answer:
    """A medium that was uploaded is in the library, also one that was deleted from it before."""
    table, now = _table(call), timestamp(call.now)
    upload = uploaded(call, arguments.query["media_key"], "media_key")
    made = {
        **{name: upload[name] for name in FACTS},
        **{name: arguments.query.get(name) for name in _WRITTEN},
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
        add_preroll(call, medium)
    return answer_record(call, arguments, medium)


def _changed_medium(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    return _video_rules(call, arguments.query, the(call, LIBRARY, "media_key"))


@serves(routes.LIBRARY_MEDIA_UPDATE, rules=_changed_medium)
async def update_medium(call: Call, arguments: Arguments) -> Answer:
    """The medium with what is said of it from now on."""
    medium = the(call, LIBRARY, "media_key")
    if arguments.query:
        changes = {**arguments.query, "updated_at": timestamp(call.now)}
        changes["poster_media_url"] = _poster_url(call, medium | changes)
        _table(call).change(medium, **changes)
    return answer_record(call, arguments, medium)


@serves(routes.LIBRARY_MEDIA_DELETE)
async def delete_medium(call: Call, arguments: Arguments) -> Answer:
    """It is found no more. What was made with it stays as it is."""
    medium = the(call, LIBRARY, "media_key")
    _table(call).change(medium, deleted=True, updated_at=timestamp(call.now))
    return answer_record(call, arguments, medium)


def _table(call: Call) -> Table:
    return call.state.advertising.table(account_of(call), LIBRARY)


def _words(texts: Iterable[str | None]) -> frozenset[str]:
    return frozenset(word for text in texts if text for word in _WORD.findall(text.casefold()))


def _video_rules(call: Call, given: Mapping[str, Any], medium: Record) -> Iterable[BrokenRule]:
    """What only videos have; nothing is fine for the others too."""
    fields = [name for name in VIDEO_FIELDS if given.get(name) is not None]
    if medium["media_type"] != "VIDEO":
        for name in fields:
            yield BrokenRule(path=name, reason="is for videos only")
    elif "poster_media_key" in fields:
        poster = uploaded(call, given["poster_media_key"], "poster_media_key")
        yield from kind_rules(poster, ("IMAGE",), "poster_media_key")


def _poster_url(call: Call, medium: Record) -> str | None:
    if medium["media_type"] != "VIDEO":
        return None
    poster = call.state.advertising.uploads.get(medium["poster_media_key"] or "")
    return first_frame(medium) if poster is None else poster["media_url"]
