"""Account media (section 4.1)."""

from typing import Final

from socialapi.emulator.advertising.endpoint import account_of, new_record, serves, the
from socialapi.emulator.advertising.paging import collection
from socialapi.emulator.advertising.records import Record
from socialapi.emulator.advertising.showing import answer_record
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.filters import asked_for
from socialapi.emulator.creatives.records import ACCOUNT_MEDIA, preroll
from socialapi.emulator.envelopes import Answer
from socialapi.routes import creatives as routes

_ID: Final = "account_media_id"


@serves(routes.ACCOUNT_MEDIA)
async def list_account_media(call: Call, arguments: Arguments) -> Answer:
    """The media of the account that the filters accept."""
    where = asked_for(arguments.query, account_media_ids="id", creative_types="creative_type")
    return collection(call, arguments, call.state.advertising.table(account_of(call), ACCOUNT_MEDIA), where=where)


@serves(routes.ACCOUNT_MEDIUM)
async def get_account_medium(call: Call, arguments: Arguments) -> Answer:
    """One of these, a deleted one only if asked for."""
    with_deleted = arguments.query.get("with_deleted", False)
    return answer_record(call, arguments, the(call, ACCOUNT_MEDIA, _ID, with_deleted=with_deleted))


@serves(routes.ACCOUNT_MEDIUM_DELETE)
async def delete_account_medium(call: Call, arguments: Arguments) -> Answer:
    """It is used no more."""
    record = the(call, ACCOUNT_MEDIA, _ID)
    table = call.state.advertising.table(account_of(call), ACCOUNT_MEDIA)
    table.change(record, deleted=True, updated_at=timestamp(call.now))
    return answer_record(call, arguments, record)


def add_preroll(call: Call, medium: Record) -> None:
    """A video of the library that is made for prerolls is account media as well, without being asked for (3)."""
    made = new_record(call, **preroll(medium))
    call.state.advertising.table(account_of(call), ACCOUNT_MEDIA).add(made)
