"""Cards: media with a destination, composed of components."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.internal.records import Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.models.queries import CursorQuery, Element, Ids, SortBy
from socialapi.models.validation import Alternatives, AnyId, ListOf, ObjectOf, Pattern, Tagged
from socialapi.problems import BrokenRule

CardType = Literal[
    "IMAGE_APP",
    "IMAGE_CAROUSEL_APP",
    "IMAGE_CAROUSEL_WEBSITE",
    "IMAGE_MULTI_DEST_CAROUSEL_WEBSITE",
    "IMAGE_WEBSITE",
    "MIXED_MEDIA_MULTI_DEST_CAROUSEL_WEBSITE",
    "MIXED_MEDIA_SINGLE_DEST_CAROUSEL_APP",
    "MIXED_MEDIA_SINGLE_DEST_CAROUSEL_WEBSITE",
    "VIDEO_APP",
    "VIDEO_CAROUSEL_APP",
    "VIDEO_CAROUSEL_WEBSITE",
    "VIDEO_MULTI_DEST_CAROUSEL_WEBSITE",
    "VIDEO_WEBSITE",
]
ButtonText = Literal["BOOK", "CONNECT", "INSTALL", "OPEN", "ORDER", "PLAY", "SHOP"]

CardName = Annotated[str, MinLen(1), MaxLen(80)]

_ISO_3166: Final = (
    "A[DEFGILMOQRSTUWXZ]|B[ABDEFGHIJLMNOQRSTVWYZ]|C[ACDFGHIKLMNORUVWXYZ]|D[EJKMOZ]|E[CEGHRST]"
    "|F[IJKMOR]|G[ABDEFGHILMNPQRSTUWY]|H[KMNRTU]|I[DELMNOQRST]|J[EMOP]|K[EGHIMNPRWYZ]"
    "|L[ABCIKRSTUVY]|M[ACDEFGHKLMNOPQRSTUVWXYZ]|N[ACEFGILOPRUZ]|O[M]|P[AEFGHKLMNRSTWY]|Q[A]"
    "|R[EOSUW]|S[ABCDEGHIJKLMNORSTVXYZ]|T[CDFGHJKLMNORTVWZ]|U[AGMSYZ]|V[ACEGINU]|W[FS]|Y[ET]"
    "|Z[AMW]"
)
"""The country codes of ISO 3166-1 alpha-2, by first letter."""
IsoCountry = Annotated[str, Pattern(_ISO_3166, "must be an ISO 3166-1 alpha-2 country code, for example US")]


@attrs.define
class Website(Record):
    """A destination: a web page."""

    url: Annotated[str, MinLen(1)]
    type: Literal["WEBSITE"] = attrs.field(default="WEBSITE", kw_only=True)
    extra: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False)


@attrs.define(kw_only=True)
class App(Record):
    """A destination: an app, by its id in one or both stores of a country."""

    country_code: IsoCountry
    android_store_app_id: AnyId | Unset = UNSET
    ios_app_store_identifier: AnyId | Unset = UNSET
    android_store_deep_link: str | Unset = UNSET
    ios_deep_link: str | Unset = UNSET
    type: Literal["APP"] = "APP"
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)

    alternatives: ClassVar = Alternatives(("android_store_app_id", "ios_app_store_identifier"))

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation for each deep link whose store id is missing."""
        for link, store_id in _STORE_OF.items():
            if link in data and store_id not in data:
                yield BrokenRule(path=link, reason=f"requires {store_id}")


_STORE_OF: Final = {
    "android_store_deep_link": "android_store_app_id",
    "ios_deep_link": "ios_app_store_identifier",
}


@attrs.define
class Label(Record):
    """The text on a button."""

    value: ButtonText
    type: Literal["ENUM"] = attrs.field(default="ENUM", kw_only=True, metadata={"required": True})
    extra: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False)


@attrs.define
class CardMedia(Record):
    """A component: one image or video."""

    media_key: Annotated[str, MinLen(1)]
    type: Literal["MEDIA"] = attrs.field(default="MEDIA", kw_only=True)
    extra: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False)


def _keys(value: str | Iterable[str]) -> tuple[str, ...]:
    """Returns a tuple of keys. A single string is one key. Other types are validated when sent."""
    several: Any = value
    if isinstance(value, list | tuple):
        several = tuple(value)
    return (several,) if isinstance(several, str) else several


@attrs.define
class SwipeableMedia(Record):
    """A component: two to six images and videos to swipe through."""

    media_keys: Annotated[tuple[Element, ...], MinLen(2), MaxLen(6)] = attrs.field(converter=_keys)
    type: Literal["SWIPEABLE_MEDIA"] = attrs.field(default="SWIPEABLE_MEDIA", kw_only=True)
    extra: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False)


Destination = Annotated[ObjectOf[Website | App], Tagged("type")]


@attrs.define
class Details(Record):
    """A component: a title that links to a website."""

    title: Annotated[str, MinLen(1)]
    destination: Destination
    type: Literal["DETAILS"] = attrs.field(default="DETAILS", kw_only=True)
    extra: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation unless the destination is a website."""
        if data["destination"].get("type") != "WEBSITE":
            yield BrokenRule(path="destination.type", reason="must be WEBSITE for DETAILS")


def _label(value: "Label | ButtonText") -> Label:
    return Label(value) if isinstance(value, str) else value


@attrs.define
class Button(Record):
    """A component: a button that links to an app. The label may be a string: `Button("SHOP", App(…))`."""

    label: Label = attrs.field(converter=_label)
    destination: Destination
    type: Literal["BUTTON"] = attrs.field(default="BUTTON", kw_only=True)
    extra: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation unless the destination is an app."""
        if data["destination"].get("type") != "APP":
            yield BrokenRule(path="destination.type", reason="must be APP for BUTTON")


Component = Annotated[CardMedia | SwipeableMedia | Details | Button, Tagged("type")]
Components = Annotated[tuple[Component, ...], MinLen(1)]

_MEDIA_TYPES: Final = ("MEDIA", "SWIPEABLE_MEDIA")
_ACTION_TYPES: Final = ("DETAILS", "BUTTON")


@attrs.define(kw_only=True)
class Card(Model):
    """A card. Posts show it by its `card_uri`. Components of unknown types are kept as mappings."""

    id: str
    name: str | None = None
    card_type: CardType | str | None = None
    card_uri: str | None = None
    components: tuple[Component, ...] = ()
    slides: tuple[tuple[Component, ...], ...] = ()
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


def _layout_rules(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    """Yields the violations in components or slides. Each layout needs exactly one component with media and one with a
    destination.
    """
    if "components" in data:
        yield from _face_rules("components", data["components"])
    for index, slide in enumerate(data.get("slides", ())):
        yield from _face_rules(f"slides[{index}]", slide)


def _face_rules(path: str, components: Sequence[Mapping[str, Any]]) -> Iterator[BrokenRule]:
    kinds = [component.get("type") for component in components]
    for types in (_MEDIA_TYPES, _ACTION_TYPES):
        if sum(kind in types for kind in kinds) != 1:
            yield BrokenRule(path=path, reason=f"must have exactly one component of type {' or '.join(types)}")


@attrs.define(kw_only=True)
class CardDraft(Record):
    """A card to create: components from top to bottom, or slides with a destination each."""

    name: CardName
    components: Components | Unset = UNSET
    slides: Annotated[tuple[Components, ...], MinLen(1)] | Unset = UNSET

    alternatives: ClassVar = Alternatives(("components", "slides"), exclusive=True)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields the violations in the components or slides."""
        return _layout_rules(data)


@attrs.define(kw_only=True)
class CardChanges(Record):
    """The parts of a card to replace. Each given field replaces the stored one completely."""

    name: CardName | Unset = UNSET
    components: Components | Unset = UNSET
    slides: Annotated[tuple[Components, ...], MinLen(1)] | Unset = UNSET

    alternatives: ClassVar = Alternatives(("components", "slides"), required=False, exclusive=True)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields the violations in the components or slides."""
        return _layout_rules(data)


class CardsQuery(CursorQuery, total=False):
    """Parameters that select cards. Cards of older kinds need `include_legacy_cards`."""

    card_types: Annotated[ListOf[CardType], MinLen(1)]
    card_id: Ids
    card_uris: Ids
    count: Annotated[int, Ge(1), Le(200)]
    """The page size, 1 to 200; 100 by default."""
    include_legacy_cards: bool
    q: Annotated[str, MaxLen(80)]
    """The start of the name; case does not matter."""
    sort_by: SortBy
    with_deleted: bool
