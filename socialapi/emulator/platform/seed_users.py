"""The users of the seed data, with every field of a user (platform section 2.5)."""

from typing import Any, Final

import attrs

from socialapi.emulator.clock import milliseconds
from socialapi.emulator.platform.new_posts import entities_of
from socialapi.emulator.state import User

NORTHWIND: Final = "2244994945"
HARBOUR_BOOKS: Final = "2244994946"
ADA: Final = "783214001"
MARCO: Final = "783214002"
WEATHER_DESK: Final = "783214003"
QUIET_GARDEN: Final = "783214004"
GROUP: Final = "783214005"

_CREATED: Final = 1_385_424_000.0  # 2013-11-26


@attrs.frozen(kw_only=True)
class _Person:
    id: str
    username: str
    name: str
    description: str
    location: str
    subscription_type: str = "None"
    verified_type: str = "none"
    protected: bool = False
    affiliations: tuple[str, ...] = (GROUP,)
    connections: tuple[str, ...] = ("following",)
    followers: int = 812
    following: int = 344
    listed: int = 9


_PEOPLE: Final = (
    _Person(
        id=NORTHWIND,
        username="northwind",
        name="Northwind Outdoor",
        description="Warm things for cold places, since 1971. Help: @harbourbooks has our books. #OutThere",
        location="Tromsø",
        subscription_type="Premium",
        verified_type="business",
        connections=(),
        followers=184_220,
        following=611,
        listed=902,
    ),
    _Person(
        id=HARBOUR_BOOKS,
        username="harbourbooks",
        name="Harbour Books",
        description="A bookshop by the water. https://harbourbooks.example/events",
        location="Trieste",
        verified_type="business",
        connections=("following", "followed_by"),
        followers=20_481,
        following=1_204,
        listed=188,
    ),
    _Person(
        id=ADA,
        username="ada_lindqvist",
        name="Ada Lindqvist",
        description="Ski touring, maps, two dogs. I test things for @northwind.",
        location="Åre",
        subscription_type="Basic",
        verified_type="blue",
        affiliations=(NORTHWIND,),
        connections=("followed_by",),
    ),
    _Person(
        id=MARCO,
        username="marco_ferri",
        name="Marco Ferri",
        description="Rifugio, 2,320 m. Open from June to September. #Dolomites",
        location="Cortina",
        affiliations=(NORTHWIND, HARBOUR_BOOKS),
        connections=("followed_by",),
        followers=3_390,
    ),
    _Person(
        id=WEATHER_DESK,
        username="weatherdesk",
        name="Weather Desk",
        description="Forecasts for people who go up.",
        location="Innsbruck",
        verified_type="government",
        followers=96_110,
        following=12,
        listed=1_320,
    ),
    _Person(
        id=QUIET_GARDEN,
        username="quiet_garden",
        name="A Quiet Garden",
        description="For friends.",
        location="",
        protected=True,
        followers=41,
    ),
    _Person(
        id=GROUP,
        username="northwind_group",
        name="Northwind Group",
        description="The holding of Northwind Outdoor and Northwind Home.",
        location="Tromsø",
        verified_type="business",
        affiliations=(),
        connections=(),
    ),
)


def people(count: int) -> list[User]:
    """The first people, of whom the first is the one that the access token of the ready line is for."""
    chosen = [User(person.id, person.username, profile=_profile(person)) for person in _PEOPLE[:count]]
    ids = {user.username: user.id for user in chosen}
    for user in chosen:
        address, description = (entities_of(user.profile[field], ids.get) for field in ("url", "description"))
        user.profile["entities"] = {"url": address, "description": description}
    return chosen


EVERYBODY: Final = len(_PEOPLE)


def _profile(person: _Person) -> dict[str, Any]:
    place = person.username.replace("_", "-")
    return {
        "id": person.id,
        "name": person.name,
        "username": person.username,
        "affiliation": {"user_id": list(person.affiliations)},
        "connection_status": list(person.connections),
        "created_at": milliseconds(_CREATED + int(person.id) % 86_400),
        "description": person.description,
        "location": person.location,
        "profile_image_url": f"https://images.{place}.example/profile.jpg",
        "protected": person.protected,
        "public_metrics": {
            "followers_count": person.followers,
            "following_count": person.following,
            "tweet_count": 0,
            "listed_count": person.listed,
        },
        "subscription_type": person.subscription_type,
        "url": f"https://{place}.example/",
        "verified": person.verified_type != "none",
        "verified_type": person.verified_type,
    }
