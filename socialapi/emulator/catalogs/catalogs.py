"""Handlers of product catalogs and product sets."""

from typing import Any, Final

from socialapi.emulator.advertising.records import collection
from socialapi.emulator.advertising.state import Record, Table
from socialapi.emulator.catalogs.state import Catalog, SetOfProducts
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.responses import Answer, InvalidRequest, ads_data, ads_not_found, forbidden, invalid
from socialapi.problems import BrokenRule
from socialapi.routes import catalogs as routes


def the_catalog(call: Call) -> Catalog:
    """Returns the catalog in the path, which must belong to the caller. First fills the product sets that are due."""
    catalog = call.state.catalogs.get(call.path["product_catalog_id"])
    if catalog is None:
        raise ads_not_found("product_catalog_id")
    if catalog.user_id != call.user.id:
        raise forbidden("the catalog belongs to another user", "product_catalog_id")
    catalog.settle(call.now)
    return catalog


PROCESSING_SECONDS: Final = 30.0
"""The time until the products of a filtered set are determined, by the emulator's clock. The documentation does not
specify it.
"""


@serves(routes.PRODUCT_SET)
async def get_product_set(call: Call) -> Answer:
    """Returns the set with the ids of its products that still exist."""
    catalog = the_catalog(call)
    found = catalog.sets.get(call.path["product_set_id"])
    if found is None:
        raise ads_not_found("product_set_id")
    return ads_data(_set_record(catalog, found), call.echo)


@serves(routes.PRODUCT_SET_CREATE)
async def create_product_set(call: Call) -> Answer:
    """Creates a product set, and returns it. Fields that belong to the other set type are ignored."""
    catalog, body = the_catalog(call), call.body
    made = SetOfProducts(
        id=call.state.advertising.new_id(), name=body["name"], type=body["type"], description=body.get("description")
    )
    if made.type == "MANUAL":
        keys = body["product_keys"]
        unknown = [index for index, key in enumerate(keys) if catalog.stock.with_key(key) is None]
        if unknown:
            reason = "is not the key of a product in this catalog"
            raise InvalidRequest([BrokenRule(path=f"product_keys[{index}]", reason=reason) for index in unknown])
        made.product_keys = list(dict.fromkeys(keys))
    else:
        made.filters = body["filters"]
        made.status, made.due_at = "PROCESSING", call.now + PROCESSING_SECONDS
    catalog.sets[made.id] = made
    return ads_data(_set_record(catalog, made), call.path)


def _set_record(catalog: Catalog, found: SetOfProducts) -> dict[str, Any]:
    items = map(catalog.stock.with_key, found.product_keys)
    record: dict[str, Any] = {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "type": found.type,
        "product_ids": [item.id for item in items if item is not None],
    }
    return record if found.status is None else record | {"filters": found.filters, "processing_status": found.status}


@serves(routes.CATALOGS)
async def list_catalogs(call: Call) -> Answer:
    """Returns the user's catalog, if there is one."""
    own = _own(call)
    return collection(call, Table(lambda: [] if own is None else [_record(own)]))


@serves(routes.CATALOG_CREATE)
async def create_catalog(call: Call) -> Answer:
    """Creates the user's catalog, and returns it. Refuses to create a second one."""
    if _own(call) is not None:
        name = "user_id" if "user_id" in call.query else "name"
        raise invalid(name, "is rejected because the user already has a catalog")
    catalog = Catalog(call.state.advertising.new_id(), call.user.id, call.query["name"])
    call.state.catalogs[catalog.id] = catalog
    return ads_data(_record(catalog), call.echo)


@serves(routes.CATALOG_RENAME)
async def rename_catalog(call: Call) -> Answer:
    """Renames the catalog, and returns it."""
    catalog = the_catalog(call)
    catalog.name = call.query["name"]
    return ads_data(_record(catalog), call.echo)


@serves(routes.CATALOG_DELETE)
async def delete_catalog(call: Call) -> Answer:
    """Permanently deletes the catalog with its products and product sets, and returns it."""
    catalog = the_catalog(call)
    del call.state.catalogs[catalog.id]
    return ads_data(_record(catalog) | {"deleted": True}, call.echo)


def _record(catalog: Catalog) -> Record:
    return {"id": catalog.id, "name": catalog.name}


def _own(call: Call) -> Catalog | None:
    """Returns the caller's catalog. Refuses a user id other than the caller's, ignoring leading zeros."""
    if "user_id" in call.query and str(int(call.query["user_id"])) != call.user.id:
        raise forbidden("catalogs of other users are not accessible", "user_id")
    return next((each for each in call.state.catalogs.values() if each.user_id == call.user.id), None)
