"""Handlers for cards with components, poll cards and video conversation cards."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from socialapi.emulator.advertising.records import (
    answer_record,
    asked_for,
    collection,
    delete_record,
    new_record,
    read_record,
    require_record,
    to_wire,
)
from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.media import in_library, kind_rules, poll_image_rules, wide_video_rules
from socialapi.emulator.creatives.state import (
    CARDS,
    CHOICES,
    CONVERSATIONS,
    IMAGE_CONVERSATION,
    LIBRARY,
    POLLS,
    Layout,
    card_type,
    card_uri,
    faces,
    media_keys,
    of_conversation,
    of_poll,
)
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.responses import Answer, ads_data, ads_not_found, forbidden, invalid
from socialapi.models.creatives import ORDINALS, PollCard, conversation_rules
from socialapi.problems import BrokenRule
from socialapi.routes import creatives as routes

DEFAULT_COUNT: Final = 100

_LAYOUTS: Final = ("components", "slides")


@serves(routes.CARDS)
async def list_cards(call: Call) -> Answer:
    """Returns the cards that match the filters. Cards of older kinds are included only on request."""
    accepted = asked_for(call.query, card_id="id", card_uris="card_uri", card_types="card_type")
    with_legacy = call.query.get("include_legacy_cards", False)

    def where(card: Record) -> bool:
        return (with_legacy or not card["is_legacy"]) and accepted(card)

    return collection(call, call.table(CARDS), where=where, default_count=DEFAULT_COUNT)


@serves(routes.CARD)
async def get_card(call: Call) -> Answer:
    """Returns a card of any kind. A deleted card is returned only on request."""
    return answer_record(call, read_record(call, CARDS, "card_id"))


def _layout_rules(call: Call, layout: Layout) -> Iterable[BrokenRule]:
    """Yields the violations: the media must be images or videos in the library, and each slide must have one MEDIA and
    one DETAILS component.
    """
    library = call.table(LIBRARY)
    if missing := {path: key for path, key in media_keys(layout) if library.get(key) is None}:
        raise ads_not_found(**missing)
    for path, key in media_keys(layout):
        yield from kind_rules(in_library(call, key, path), ("IMAGE", "VIDEO"), path)
    for path, components in faces(layout):
        if path != "components" and {component["type"] for component in components} != {"MEDIA", "DETAILS"}:
            yield BrokenRule(path=path, reason="must have a component of type MEDIA and one of type DETAILS")


@serves(routes.CARD_CREATE, rules=lambda call: _layout_rules(call, call.body))
async def create_card(call: Call) -> Answer:
    """Creates a card, and returns it."""
    card = new_record(call, name=call.body["name"], is_legacy=False, **_laid_out(call, call.body))
    card["card_uri"] = card_uri(card["id"])
    return answer_record(call, call.table(CARDS).add(card))


def _change_rules(call: Call) -> Iterable[BrokenRule]:
    if require_record(call, CARDS, "card_id")["is_legacy"]:
        yield BrokenRule(path="card_id", reason="is the id of a card of an older kind, which cannot be changed here")
    yield from _layout_rules(call, call.body)


@serves(routes.CARD_UPDATE, rules=_change_rules)
async def update_card(call: Call) -> Answer:
    """Changes the card, and returns it. Components replace slides, and vice versa."""
    card, changes = require_record(call, CARDS, "card_id"), dict(call.body)
    if any(name in changes for name in _LAYOUTS):
        changes |= _laid_out(call, changes)
        for name in _LAYOUTS:
            card.pop(name, None)
    if changes:
        call.table(CARDS).change(card, **changes, updated_at=timestamp(call.now))
    return answer_record(call, card)


@serves(routes.IMAGE_CONVERSATION_CARD_DELETE)
async def delete_image_conversation_card(call: Call) -> Answer:
    """Deletes an image conversation card, which is one of the older kinds, and returns it."""
    if require_record(call, CARDS, "card_id")["card_type"] != IMAGE_CONVERSATION:
        raise invalid("card_id", "must be the id of an image conversation card")
    return delete_record(call, CARDS, "card_id")


def _laid_out(call: Call, layout: Layout) -> dict[str, Any]:
    given = {name: layout[name] for name in _LAYOUTS if name in layout}
    kinds = {in_library(call, key, path)["media_type"] for path, key in media_keys(given)}
    return {**given, "card_type": card_type(given, kinds)}


MEDIA_POLLS: Final = "PROMOTED_MEDIA_POLLS"
"""The feature of accounts whose polls may have media."""

_MINUTE: Final = 60.0


@serves(routes.POLL_CARDS)
async def list_poll_cards(call: Call) -> Answer:
    """Returns the polls of the account that match the filters."""
    where = asked_for(call.query, card_ids="id")
    return collection(call, call.table(POLLS), where=where, show=_shown)


@serves(routes.POLL_CARD)
async def get_poll_card(call: Call) -> Answer:
    """Returns a poll. A deleted poll is returned only on request."""
    return ads_data(_shown(read_record(call, POLLS, "card_id")), call.echo)


def _rules(call: Call) -> Iterable[BrokenRule]:
    """Yields the violations of the rules for a poll's medium. Raises Refusal if the account may not use media in polls,
    or if the medium is not in its library.
    """
    if "media_key" not in call.query:
        return
    if MEDIA_POLLS not in call.account["features"]:
        raise forbidden(f"the account does not have the feature {MEDIA_POLLS}", "media_key")
    medium = in_library(call, call.query["media_key"], "media_key")
    yield from kind_rules(medium, ("IMAGE", "VIDEO"), "media_key")
    if medium["media_type"] == "IMAGE":
        yield from poll_image_rules(medium, "media_key")


@serves(routes.POLL_CARD_CREATE, rules=_rules)
async def create_poll_card(call: Call) -> Answer:
    """Creates a poll, which starts immediately, and returns it."""
    query = call.query
    minutes = query["duration_in_minutes"]
    medium = in_library(call, query["media_key"], "media_key") if "media_key" in query else None
    poll = new_record(
        call,
        name=query["name"],
        **{choice: query.get(choice) for choice in CHOICES},
        duration_in_minutes=minutes,
        start_time=timestamp(call.now),
        end_time=timestamp(call.now + minutes * _MINUTE),
        **of_poll(medium),
    )
    poll["card_uri"] = card_uri(poll["id"])
    return ads_data(_shown(call.table(POLLS).add(poll)), call.echo)


def _shown(poll: Record) -> Record:
    """Returns the documented fields. If the poll has an image, also returns the image's URL in an undocumented field."""
    return to_wire(poll, PollCard) | ({"image_url": poll["image_url"]} if "image_url" in poll else {})


_SAID: Final = (
    *("name", "title", "thank_you_text", "thank_you_url"),
    *(f"{ordinal}_{part}" for ordinal in ORDINALS for part in ("cta", "cta_tweet")),
    *("media_key", "poster_media_key", "unlocked_image_media_key", "unlocked_video_media_key"),
)


@serves(routes.VIDEO_CONVERSATION_CARDS)
async def list_conversation_cards(call: Call) -> Answer:
    """Returns the cards of the account that match the filters."""
    return collection(call, call.table(CONVERSATIONS), where=asked_for(call.query, card_ids="id"))


@serves(routes.VIDEO_CONVERSATION_CARD)
async def get_conversation_card(call: Call) -> Answer:
    """Returns a card. A deleted card is returned only on request."""
    return answer_record(call, read_record(call, CONVERSATIONS, "card_id"))


def _media_rules(call: Call, given: Mapping[str, Any]) -> Iterable[BrokenRule]:
    """Yields the violations: the given media must be in the library, and of the kind that their parameter requires."""
    media = {
        name: in_library(call, given[name], name)
        for name in _SAID
        if name.endswith("media_key") and given.get(name) is not None
    }
    if "media_key" in media:
        yield from wide_video_rules(media["media_key"], "media_key")
    if "unlocked_video_media_key" in media:
        yield from kind_rules(media["unlocked_video_media_key"], ("VIDEO",), "unlocked_video_media_key")
    for name in ("poster_media_key", "unlocked_image_media_key"):
        if name in media:
            yield from kind_rules(media[name], ("IMAGE",), name)


@serves(routes.VIDEO_CONVERSATION_CARD_CREATE, rules=lambda call: _media_rules(call, call.query))
async def create_conversation_card(call: Call) -> Answer:
    """Creates a card, and returns it."""
    card = new_record(call, card_type="VIDEO_CONVERSATION", **{name: call.query.get(name) for name in _SAID})
    card |= {"card_uri": card_uri(card["id"]), **_media_fields(call, card)}
    return answer_record(call, call.table(CONVERSATIONS).add(card))


def _conversation_change_rules(call: Call) -> Iterable[BrokenRule]:
    """Yields the rules that the card would break after the change."""
    card = require_record(call, CONVERSATIONS, "card_id")
    yield from conversation_rules({**card, **call.query})
    yield from _media_rules(call, call.query)


@serves(routes.VIDEO_CONVERSATION_CARD_UPDATE, rules=_conversation_change_rules)
async def update_conversation_card(call: Call) -> Answer:
    """Changes the card, and returns it."""
    card = require_record(call, CONVERSATIONS, "card_id")
    if call.query:
        changes = {**call.query, "updated_at": timestamp(call.now)}
        if {"media_key", "poster_media_key"} & changes.keys():
            changes |= _media_fields(call, card | changes)
        call.table(CONVERSATIONS).change(card, **changes)
    return answer_record(call, card)


def _media_fields(call: Call, card: Record) -> Record:
    uploads = call.state.advertising.uploads
    video = uploads.get(card["media_key"])
    assert video is not None, "all media in a library were uploaded"
    return of_conversation(video, uploads.get(card["poster_media_key"] or ""))
