"""Handlers for cards made of components, and for legacy cards (creatives section 4.2)."""

from collections.abc import Iterable
from typing import Any, Final

from socialapi.emulator.advertising.endpoint import (
    account_of,
    answer_record,
    collection,
    invalid,
    new_record,
    not_found,
    require_record,
    serves,
)
from socialapi.emulator.advertising.state import Record, Table
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.media import kind_rules
from socialapi.emulator.creatives.state import (
    CARDS,
    IMAGE_CONVERSATION,
    LIBRARY,
    Layout,
    asked_for,
    card_type,
    card_uri,
    faces,
    media_keys,
)
from socialapi.emulator.handlers import Call
from socialapi.emulator.responses import Answer
from socialapi.problems import BrokenRule
from socialapi.routes import creatives as routes

DEFAULT_COUNT: Final = 100

_LAYOUTS: Final = ("components", "slides")


@serves(routes.CARDS)
async def list_cards(call: Call, arguments: Arguments) -> Answer:
    """The cards that the filters accept, those of older kinds only if asked for."""
    accepted = asked_for(arguments.query, card_id="id", card_uris="card_uri", card_types="card_type")
    with_legacy = arguments.query.get("include_legacy_cards", False)

    def where(card: Record) -> bool:
        return (with_legacy or not card["is_legacy"]) and accepted(card)

    return collection(call, arguments, _table(call), where=where, default_count=DEFAULT_COUNT)


@serves(routes.CARD)
async def get_card(call: Call, arguments: Arguments) -> Answer:
    """A card of any kind, a deleted one only if asked for."""
    with_deleted = arguments.query.get("with_deleted", False)
    return answer_record(call, arguments, require_record(call, CARDS, "card_id", with_deleted=with_deleted))


def _layout_rules(call: Call, layout: Layout) -> Iterable[BrokenRule]:
    """Media have to be images and videos of the library; slides have one medium each, and lead to websites."""
    library = call.state.advertising.table(account_of(call), LIBRARY)
    given = [(place, library.get(key)) for place, key in media_keys(layout)]
    if missing := [place for place, medium in given if medium is None]:
        raise not_found(missing)
    for place, medium in given:
        assert medium is not None, "it is not missing"
        yield from kind_rules(medium, ("IMAGE", "VIDEO"), place)
    for place, components in faces(layout):
        if place != "components" and {component["type"] for component in components} != {"MEDIA", "DETAILS"}:
            yield BrokenRule(path=place, reason="must have a component of type MEDIA and one of type DETAILS")


def _draft_rules(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    return _layout_rules(call, arguments.body)


@serves(routes.CARD_CREATE, rules=_draft_rules)
async def create_card(call: Call, arguments: Arguments) -> Answer:
    """The new card."""
    card = new_record(call, name=arguments.body["name"], is_legacy=False, **_laid_out(call, arguments.body))
    card["card_uri"] = card_uri(card["id"])
    return answer_record(call, arguments, _table(call).add(card))


def _change_rules(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    if require_record(call, CARDS, "card_id")["is_legacy"]:
        yield BrokenRule(path="card_id", reason="is of a card of an older kind, which cannot be changed here")
    yield from _layout_rules(call, arguments.body)


@serves(routes.CARD_UPDATE, rules=_change_rules)
async def update_card(call: Call, arguments: Arguments) -> Answer:
    """The card with what it is from now on: components take the place of slides, and the other way round."""
    card, changes = require_record(call, CARDS, "card_id"), dict(arguments.body)
    if any(name in changes for name in _LAYOUTS):
        changes |= _laid_out(call, changes)
        for name in _LAYOUTS:
            card.pop(name, None)
    if changes:
        _table(call).change(card, **changes, updated_at=timestamp(call.now))
    return answer_record(call, arguments, card)


@serves(routes.IMAGE_CONVERSATION_CARD_DELETE)
async def delete_image_conversation_card(call: Call, arguments: Arguments) -> Answer:
    """The card of this older kind, deleted."""
    card = require_record(call, CARDS, "card_id")
    if card["card_type"] != IMAGE_CONVERSATION:
        raise invalid("card_id", "must be of an image conversation card")
    _table(call).change(card, deleted=True, updated_at=timestamp(call.now))
    return answer_record(call, arguments, card)


def _table(call: Call) -> Table:
    return call.state.advertising.table(account_of(call), CARDS)


def _laid_out(call: Call, layout: Layout) -> dict[str, Any]:
    library = call.state.advertising.table(account_of(call), LIBRARY)

    def medium(key: str) -> Record:
        found = library.get(key)
        assert found is not None, "the rules have looked for it"
        return found

    given = {name: layout[name] for name in _LAYOUTS if name in layout}
    return {**given, "card_type": card_type(given, medium)}
