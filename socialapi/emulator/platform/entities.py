"""What stands in the text of a post, with its offsets (platform section 2.4)."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Found = dict[str, Any]

_TOKEN: Final = re.compile(
    r"(?P<url>https?://[^\s]*[^\s.,;:!?)'\"])|(?<![\w@])@(?P<mention>\w{1,15})|(?<![\w#&])#(?P<hashtag>[^\W\d]\w*)"
)
_PLACES: Final = ("Lofoten", "Dolomites", "Cairngorms", "Tatra Mountains", "Jotunheimen", "Lake Bled", "Trieste")
_NAMED: Final = re.compile("|".join(_PLACES))
_LONGEST_DISPLAY: Final = 34

# Sites whose pages the service has looked at.
_SITES: Final[Mapping[str, str]] = {
    "northwind.example": "Northwind Outdoor",
    "harbourbooks.example": "Harbour Books",
}


def entities_of(text: str, id_of: Callable[[str], str | None]) -> dict[str, list[Found]]:
    """Links, mentions, hashtags and names; offsets count characters, and `end` is behind the last one.

    `id_of` gives the id of the user with a name, if there is one.
    """
    found: dict[str, list[Found]] = {}
    if "@" in text or "#" in text or "://" in text:
        for kind, each in _tokens(text, id_of):
            found.setdefault(kind, []).append(each)
    if names := list(_annotations(text)):
        found["annotations"] = names
    return found


def _tokens(text: str, id_of: Callable[[str], str | None]) -> Iterator[tuple[str, Found]]:
    for match in _TOKEN.finditer(text):
        place = {"start": match.start(), "end": match.end()}
        if match["url"]:
            yield "urls", place | _link(match["url"])
        elif match["hashtag"]:
            yield "hashtags", place | {"tag": match["hashtag"]}
        else:
            user_id = id_of(match["mention"])
            yield "mentions", place | {"username": match["mention"]} | ({"id": user_id} if user_id else {})


def _link(url: str) -> Found:
    display = url.partition("://")[2]
    shown = display if len(display) <= _LONGEST_DISPLAY else display[: _LONGEST_DISPLAY - 1] + "…"
    link: Found = {"url": url, "expanded_url": url, "display_url": shown}
    site = _SITES.get(display.partition("/")[0])
    if site is None:
        return link
    host, _, path = display.partition("/")
    slug = path.rpartition("/")[2] or "home"
    name = slug.replace("-", " ").capitalize()
    image = f"https://images.{host}/{slug}.jpg"
    return link | {
        "status": 200,
        "title": f"{name} | {site}",
        "description": f"{name}: more at {site}.",
        "unwound_url": url,
        "images": [{"url": image, "width": 1200, "height": 630}, {"url": image, "width": 150, "height": 150}],
    }


def _annotations(text: str) -> Iterator[Found]:
    for match in _NAMED.finditer(text):
        yield {
            "start": match.start(),
            "end": match.end(),
            "probability": 0.97,
            "type": "Place",
            "normalized_text": match[0],
        }
