"""Product catalogs: each user has one at most, and sees nobody else's (section 4.6)."""

from socialapi.emulator.advertising.endpoint import serves, user_of
from socialapi.emulator.advertising.paging import collection
from socialapi.emulator.advertising.parameters import invalid
from socialapi.emulator.advertising.records import Record, Table
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.catalogs.endpoint import forbidden, the_catalog
from socialapi.emulator.catalogs.store import Catalog
from socialapi.emulator.envelopes import Answer, ads_data
from socialapi.routes import catalogs as routes


@serves(routes.CATALOGS)
async def list_catalogs(call: Call, arguments: Arguments) -> Answer:
    """The catalog of the user, if there is one."""
    _check_user(call, arguments)
    own = call.state.catalogs.of_user(user_of(call).id)
    return collection(call, arguments, Table(lambda: [] if own is None else [_record(own)]))


@serves(routes.CATALOG_CREATE)
async def create_catalog(call: Call, arguments: Arguments) -> Answer:
    """The user's catalog, unless there is one."""
    _check_user(call, arguments)
    user = user_of(call)
    if call.state.catalogs.of_user(user.id) is not None:
        raise invalid("user_id" if "user_id" in arguments.query else "name", "is for a user who has a catalog already")
    catalog = Catalog(call.state.advertising.new_id(), user.id, arguments.query["name"])
    call.state.catalogs.add(catalog)
    return ads_data(_record(catalog), arguments.echo)


@serves(routes.CATALOG_RENAME)
async def rename_catalog(call: Call, arguments: Arguments) -> Answer:
    """The catalog under its new name."""
    catalog = the_catalog(call)
    catalog.name = arguments.query["name"]
    return ads_data(_record(catalog), arguments.echo)


@serves(routes.CATALOG_DELETE)
async def delete_catalog(call: Call, arguments: Arguments) -> Answer:
    """The catalog, deleted for good with its products and product sets."""
    catalog = the_catalog(call)
    call.state.catalogs.remove(catalog)
    return ads_data(_record(catalog) | {"deleted": True}, arguments.echo)


def _record(catalog: Catalog) -> Record:
    return {"id": catalog.id, "name": catalog.name}


def _check_user(call: Call, arguments: Arguments) -> None:
    """Who is named has to be the user who asks, with however many zeros the id begins."""
    if "user_id" in arguments.query and str(int(arguments.query["user_id"])) != user_of(call).id:
        raise forbidden("catalogs of other users are not accessible", "user_id")
