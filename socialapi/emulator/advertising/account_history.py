"""Who changed what in an account (section 4.2)."""

from typing import Any, Final

from socialapi.emulator.advertising.endpoint import account_of, serves
from socialapi.emulator.advertising.history import kind_of
from socialapi.emulator.advertising.paging import collection
from socialapi.emulator.advertising.parameters import missing_record
from socialapi.emulator.advertising.records import Record
from socialapi.emulator.advertising.showing import shown
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.clock import timestamp
from socialapi.emulator.envelopes import Answer, Refusal
from socialapi.models.accounts import CampaignSnapshot, HistoryEntry
from socialapi.models.line_items import LineItem
from socialapi.models.validation import parse_timestamp
from socialapi.routes import ads as routes

_SNAPSHOTS: Final[dict[str, Any]] = {"CAMPAIGN": CampaignSnapshot, "LINE_ITEM": LineItem}


@serves(routes.ACCOUNT_HISTORY)
async def list_history(call: Call, arguments: Arguments) -> Answer:
    """The changes of an entity from the start until before the end, the oldest first."""
    account_id, query = account_of(call), arguments.query
    account = call.state.advertising.accounts.get(account_id)
    if account is None or not account["keeps_history"]:
        raise Refusal(403, "FORBIDDEN", "the account is not on the list of those that have account_history")
    table = call.state.advertising.table(account_id, kind_of(query["entity_type"]))
    entity = table.get(query["entity_id"], with_deleted=True)
    if entity is None:
        raise missing_record("entity_id")
    start, end = _moment(query["start_time"]), _moment(query["end_time"])
    # However many zeros it begins with.
    user_id = str(int(query["user_id"])) if "user_id" in query else None

    def is_asked_for(entry: Record) -> bool:
        return start <= entry["change_time"] < end and user_id in (None, entry["change_by"]["user_id"])

    changes = call.state.advertising.history.of(query["entity_type"], entity)
    return collection(call, arguments, changes, where=is_asked_for, show=_shown)


def _moment(text: str) -> str:
    """A time that the rules have checked, as the service writes it: in this form times compare as texts do."""
    parsed = parse_timestamp(text)
    assert parsed is not None, "the rules have checked it"
    return timestamp(parsed.timestamp())


def _shown(entry: Record) -> Record:
    model = _SNAPSHOTS.get(entry["entity"])
    entity_data = shown(entry["entity_data"], model) if model else entry["entity_data"]
    return shown(entry, HistoryEntry) | {"entity_data": entity_data}
