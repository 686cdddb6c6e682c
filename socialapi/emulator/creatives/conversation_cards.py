"""Handlers for video conversation cards (creatives section 4.5)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from socialapi.emulator.advertising.endpoint import (
    account_of,
    answer_record,
    collection,
    new_record,
    require_record,
    serves,
)
from socialapi.emulator.advertising.state import Record, Table
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.media import in_library, kind_rules, wide_video_rules
from socialapi.emulator.creatives.state import CONVERSATIONS, asked_for, card_uri, of_conversation
from socialapi.emulator.handlers import Call
from socialapi.emulator.responses import Answer
from socialapi.models.creatives import ORDINALS, conversation_rules
from socialapi.problems import BrokenRule
from socialapi.routes import creatives as routes

_SAID: Final = (
    *("name", "title", "thank_you_text", "thank_you_url"),
    *(f"{ordinal}_{part}" for ordinal in ORDINALS for part in ("cta", "cta_tweet")),
    *("media_key", "poster_media_key", "unlocked_image_media_key", "unlocked_video_media_key"),
)


@serves(routes.VIDEO_CONVERSATION_CARDS)
async def list_conversation_cards(call: Call, arguments: Arguments) -> Answer:
    """The cards of the account that the filters accept."""
    return collection(call, arguments, _table(call), where=asked_for(arguments.query, card_ids="id"))


@serves(routes.VIDEO_CONVERSATION_CARD)
async def get_conversation_card(call: Call, arguments: Arguments) -> Answer:
    """A card, a deleted one only if asked for."""
    with_deleted = arguments.query.get("with_deleted", False)
    return answer_record(call, arguments, require_record(call, CONVERSATIONS, "card_id", with_deleted=with_deleted))


def _media_rules(call: Call, given: Mapping[str, Any]) -> Iterable[BrokenRule]:
    """The media that are given have to be in the library, and what they are named for."""
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


def _draft_rules(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    return _media_rules(call, arguments.query)


@serves(routes.VIDEO_CONVERSATION_CARD_CREATE, rules=_draft_rules)
async def create_conversation_card(call: Call, arguments: Arguments) -> Answer:
    """The new card."""
    card = new_record(call, card_type="VIDEO_CONVERSATION", **{name: arguments.query.get(name) for name in _SAID})
    card |= {"card_uri": card_uri(card["id"]), **_media_fields(call, card)}
    return answer_record(call, arguments, _table(call).add(card))


def _change_rules(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    """The card has to keep the rules as it would be from then on."""
    card = require_record(call, CONVERSATIONS, "card_id")
    yield from conversation_rules({**card, **arguments.query})
    yield from _media_rules(call, arguments.query)


@serves(routes.VIDEO_CONVERSATION_CARD_UPDATE, rules=_change_rules)
async def update_conversation_card(call: Call, arguments: Arguments) -> Answer:
    """The card as it is from now on."""
    card = require_record(call, CONVERSATIONS, "card_id")
    if arguments.query:
        changes = {**arguments.query, "updated_at": timestamp(call.now)}
        if {"media_key", "poster_media_key"} & changes.keys():
            changes |= _media_fields(call, card | changes)
        _table(call).change(card, **changes)
    return answer_record(call, arguments, card)


def _table(call: Call) -> Table:
    return call.state.advertising.table(account_of(call), CONVERSATIONS)


def _media_fields(call: Call, card: Record) -> Record:
    uploads = call.state.advertising.uploads
    video = uploads.get(card["media_key"])
    assert video is not None, "whatever is in a library was uploaded"
    return of_conversation(video, uploads.get(card["poster_media_key"] or ""))
