"""The handler for keyword insights, with numbers derived from the keywords."""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

from socialapi.emulator.clock import epoch_of
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.responses import Answer, ads_data
from socialapi.models.insights import range_until_now
from socialapi.problems import BrokenRule
from socialapi.routes import line_items as routes

COUNTRIES: Final[Mapping[str, str]] = {
    "96683cc9126741d1": "US",
    "3376992a082d67c7": "CA",
    "6416b8512febefc9": "GB",
    "fdcd221ac44fa326": "DE",
    "f3bfc7dcc928977f": "FR",
    "06ef846bfc783874": "JP",
    "1b107df3ccc0aaa1": "BR",
    "3f14ce28dc7c4566": "AU",
}
"""Countries by their known targeting values. Any other code of two capital letters is accepted as well."""

WORLD: Final = "US"
"""The country used for requests without a location, because results always cover a single country."""

RELATED: Final = 30

_SECONDS: Final = {"DAY": 86_400, "HOUR": 3_600}
_MAX_A_DAY: Final = 40_000
_WORDS: Final = (
    *("alps", "avalanche", "backpack", "boots", "cabin", "camp", "climbing", "coat", "compass", "crampons"),
    *("fleece", "forecast", "frost", "gear", "glacier", "gloves", "gondola", "guide", "helmet", "hiking"),
    *("hut", "jacket", "lift", "map", "mountain", "outdoor", "pass", "peak", "piste", "poles"),
    *("powder", "race", "ridge", "rope", "route", "sale", "season", "ski", "slope", "snow"),
    *("snowboard", "socks", "spring", "summit", "sun", "tent", "thermal", "trail", "train", "valley"),
    *("vest", "walk", "waterproof", "weather", "weekend", "wind", "winter", "wool"),
)


def _rules(call: Call) -> Iterable[BrokenRule]:
    yield from range_until_now(call.query, call.state.clock.datetime())
    location = call.query.get("location")
    if location is not None and location not in COUNTRIES and not re.fullmatch("[A-Z]{2}", location):
        yield BrokenRule(path="location", reason="must be a country's targeting value")


@serves(routes.KEYWORD_INSIGHTS, rules=_rules)
async def search_keywords(call: Call) -> Answer:
    """Returns related keywords, and one post count for each unit of the time range, including a partial last unit."""
    query = call.query
    location = query.get("location", WORLD)
    country = COUNTRIES.get(location, location)
    keywords = _folded(query["keywords"])
    unit = _SECONDS[query["granularity"]]
    start = epoch_of(query["start_time"])
    end = epoch_of(query["end_time"]) if "end_time" in query else call.now
    volume = [
        _volume(keywords, _folded(query.get("negative_keywords", ())), country, start + number * unit, unit)
        for number in range(math.ceil((end - start) / unit))
    ]
    others = [word for word in _WORDS if word not in keywords]
    related = sorted(others, key=lambda word: _number(keywords, word))[:RELATED]
    return ads_data({"related_keywords": related, "tweet_volume": volume}, call.echo)


def _folded(keywords: Iterable[str]) -> list[str]:
    """Returns the keywords case-folded and sorted, because neither case nor order matters."""
    return sorted({keyword.strip().casefold() for keyword in keywords})


def _number(*about: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(about).encode()).digest()[:4])


def _volume(keywords: list[str], negative: list[str], country: str, begins: float, unit: int) -> int:
    """Returns a number of posts: the sum over all keywords, reduced by a tenth for each negative keyword."""
    most = _MAX_A_DAY * unit // _SECONDS["DAY"]
    counted = [keyword for keyword in keywords if keyword not in negative]
    found = sum(_number(keyword, country, int(begins)) % most for keyword in counted)
    return found * (10 - len(negative)) // 10
