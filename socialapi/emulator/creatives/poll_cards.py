"""Handlers for poll cards, which cannot be changed (creatives section 4.4)."""

from collections.abc import Iterable
from typing import Final

from socialapi.emulator.advertising.endpoint import account_of, collection, new_record, require_record, serves, to_wire
from socialapi.emulator.advertising.state import Record, Table
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.media import in_library, kind_rules, poll_image_rules
from socialapi.emulator.creatives.state import CHOICES, POLLS, asked_for, card_uri, of_poll
from socialapi.emulator.handlers import Call
from socialapi.emulator.responses import Answer, Refusal, ads_data
from socialapi.models.creatives import PollCard
from socialapi.problems import BrokenRule
from socialapi.routes import creatives as routes

MEDIA_POLLS: Final = "PROMOTED_MEDIA_POLLS"
"""The feature of an account whose polls may have media."""

_MINUTE: Final = 60.0


@serves(routes.POLL_CARDS)
async def list_poll_cards(call: Call, arguments: Arguments) -> Answer:
    """The polls of the account that the filters accept."""
    where = asked_for(arguments.query, card_ids="id")
    return collection(call, arguments, _table(call), where=where, show=_shown)


@serves(routes.POLL_CARD)
async def get_poll_card(call: Call, arguments: Arguments) -> Answer:
    """A poll, a deleted one only if asked for."""
    with_deleted = arguments.query.get("with_deleted", False)
    return ads_data(_shown(require_record(call, POLLS, "card_id", with_deleted=with_deleted)), arguments.echo)


def _rules(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    """A medium has to be of the library, and the account one that may use it."""
    if "media_key" not in arguments.query:
        return
    account = call.state.advertising.accounts.get(account_of(call))
    if account is None or MEDIA_POLLS not in account["features"]:
        raise Refusal(403, "FORBIDDEN", f"the account has no feature {MEDIA_POLLS}", parameter="media_key")
    medium = in_library(call, arguments.query["media_key"], "media_key")
    yield from kind_rules(medium, ("IMAGE", "VIDEO"), "media_key")
    if medium["media_type"] == "IMAGE":
        yield from poll_image_rules(medium, "media_key")


@serves(routes.POLL_CARD_CREATE, rules=_rules)
async def create_poll_card(call: Call, arguments: Arguments) -> Answer:
    """The new poll, which counts down from now on."""
    query = arguments.query
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
    return ads_data(_shown(_table(call).add(poll)), arguments.echo)


def _table(call: Call) -> Table:
    return call.state.advertising.table(account_of(call), POLLS)


def _shown(poll: Record) -> Record:
    """What is documented, and the image of a poll with one, for which no field is."""
    return to_wire(poll, PollCard) | ({"image_url": poll["image_url"]} if "image_url" in poll else {})
