"""What kind of card components make: by their media, by where they lead, and by whether slides lead apart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.advertising.records import Record

Component = Mapping[str, Any]
Layout = Mapping[str, Any]
"""`components` or `slides` of a card."""

_PLACES: Final = {"DETAILS": "WEBSITE", "BUTTON": "APP"}


def faces(layout: Layout) -> Iterator[tuple[str, Sequence[Component]]]:
    """What is seen at once, each with its place in the card."""
    if "components" in layout:
        yield "components", layout["components"]
    for number, components in enumerate(layout.get("slides", ())):
        yield f"slides[{number}]", components


def media_keys(layout: Layout) -> Iterator[tuple[str, str]]:
    """Every media key, with its place in the card."""
    for place, components in faces(layout):
        for number, component in enumerate(components):
            if component["type"] == "MEDIA":
                yield f"{place}[{number}].media_key", component["media_key"]
            elif component["type"] == "SWIPEABLE_MEDIA":
                for index, key in enumerate(component["media_keys"]):
                    yield f"{place}[{number}].media_keys[{index}]", key


def card_type(layout: Layout, medium: Callable[[str], Record]) -> str:
    """The type of a card that keeps the rules; `medium` gives the medium with a key."""
    kinds = {medium(key)["media_type"] for _, key in media_keys(layout)}
    media = kinds.pop() if len(kinds) == 1 else "MIXED_MEDIA"
    types = {component["type"] for _, components in faces(layout) for component in components}
    place = next(_PLACES[kind] for kind in _PLACES if kind in types)
    if "slides" in layout:
        return f"{media}_MULTI_DEST_CAROUSEL_{place}"
    if "SWIPEABLE_MEDIA" not in types:
        return f"{media}_{place}"
    return f"{media}_SINGLE_DEST_CAROUSEL_{place}" if media == "MIXED_MEDIA" else f"{media}_CAROUSEL_{place}"
