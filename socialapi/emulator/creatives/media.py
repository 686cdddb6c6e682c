"""The media that were uploaded, and those of the library of an account: what they are and where they are found.

A record of either has the facts of the file; one of the library also says what people wrote about it. Both are known
by their media key.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from socialapi.emulator.advertising.endpoint import account_of, user_of
from socialapi.emulator.advertising.parameters import missing_record
from socialapi.emulator.advertising.records import Record
from socialapi.emulator.call import Call
from socialapi.emulator.creatives.records import LIBRARY
from socialapi.problems import BrokenRule

_NARROWEST: Final = 800
_POLL_RATIO: Final = 1.91
_TOLERANCE: Final = 0.01

_NOUNS: Final = {"IMAGE": "an image", "VIDEO": "a video", "GIF": "a GIF"}
_OF_PLATFORM: Final = {"IMAGE": "photo", "VIDEO": "video", "GIF": "animated_gif"}


def in_library(call: Call, media_key: str, parameter: str) -> Record:
    """A medium of the account's library; a refusal that names the parameter if there is none."""
    found = call.state.advertising.table(account_of(call), LIBRARY).get(media_key)
    if found is None:
        raise missing_record(parameter)
    return found


def uploaded(call: Call, media_key: str, parameter: str) -> Record:
    """A medium that the user uploaded."""
    found = call.state.advertising.uploads.get(media_key)
    if found is None or found["owner_id"] != user_of(call).id:
        raise missing_record(parameter)
    return found


def kind_rules(medium: Record, kinds: Sequence[str], parameter: str) -> Iterable[BrokenRule]:
    """It has to be of one of these kinds."""
    if medium["media_type"] not in kinds:
        yield BrokenRule(path=parameter, reason=f"must be the key of {' or '.join(_NOUNS[kind] for kind in kinds)}")


def poll_image_rules(medium: Record, parameter: str) -> Iterable[BrokenRule]:
    """The image of a poll has a width and a shape (section 4.4)."""
    if medium["width"] < _NARROWEST:
        yield BrokenRule(path=parameter, reason=f"must be an image of at least {_NARROWEST} pixels in width")
    if abs(medium["width"] / medium["height"] - _POLL_RATIO) > _TOLERANCE:
        yield BrokenRule(path=parameter, reason="must be an image with the ratio 1.91:1")


def wide_video_rules(medium: Record, parameter: str) -> Iterable[BrokenRule]:
    """The video of a conversation card is 16:9 (section 4.5)."""
    yield from kind_rules(medium, ("VIDEO",), parameter)
    if medium["media_type"] == "VIDEO" and medium["width"] * 9 != medium["height"] * 16:
        yield BrokenRule(path=parameter, reason="must be a video with the ratio 16:9")


def of_platform(medium: Record) -> dict[str, Any]:
    """The same medium as the platform API has those of posts."""
    found = {"media_key": medium["media_key"], "type": _OF_PLATFORM[medium["media_type"]]}
    return found if medium["duration"] is None else found | {"duration_ms": medium["duration"]}
