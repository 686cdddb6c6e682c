"""Product sets: chosen one by one, or found by filters a while after they were made (section 4.8)."""

from typing import Any, Final

from socialapi.emulator.advertising.endpoint import serves
from socialapi.emulator.advertising.parameters import InvalidParameters, missing_record
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.catalogs.endpoint import the_catalog
from socialapi.emulator.catalogs.store import Catalog, SetOfProducts
from socialapi.emulator.envelopes import Answer, ads_data
from socialapi.problems import BrokenRule
from socialapi.routes import catalogs as routes

PROCESSING_SECONDS: Final = 30.0
"""How long the products of a filtered set are looked for, by the emulator's clock; no number is documented."""


@serves(routes.PRODUCT_SET)
async def get_product_set(call: Call, arguments: Arguments) -> Answer:
    """The set with the ids of those of its products that are still there."""
    catalog = the_catalog(call)
    found = catalog.sets.get(arguments.path["product_set_id"])
    if found is None:
        raise missing_record("product_set_id")
    return ads_data(_record(catalog, found), arguments.echo)


@serves(routes.PRODUCT_SET_CREATE)
async def create_product_set(call: Call, arguments: Arguments) -> Answer:
    """The new set. What it takes for the other type is not looked at."""
    catalog, body = the_catalog(call), arguments.body
    made = SetOfProducts(
        id=call.state.advertising.new_id(), name=body["name"], type=body["type"], description=body.get("description")
    )
    if made.type == "MANUAL":
        made.product_keys = _known_keys(catalog, body["product_keys"])
    else:
        made.filters = body["filters"]
        made.status, made.due_at = "PROCESSING", call.now + PROCESSING_SECONDS
    catalog.add_set(made)
    return ads_data(_record(catalog, made), arguments.path)


def _known_keys(catalog: Catalog, keys: list[str]) -> list[str]:
    """The keys, each once; they have to be of products that are there."""
    unknown = [index for index, key in enumerate(keys) if catalog.stock.with_key(key) is None]
    if unknown:
        reason = "is of no product of this catalog"
        raise InvalidParameters([BrokenRule(path=f"product_keys[{index}]", reason=reason) for index in unknown])
    return list(dict.fromkeys(keys))


def _record(catalog: Catalog, found: SetOfProducts) -> dict[str, Any]:
    items = map(catalog.stock.with_key, found.product_keys)
    record: dict[str, Any] = {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "type": found.type,
        "product_ids": [item.id for item in items if item is not None],
    }
    return record if found.status is None else record | {"filters": found.filters, "processing_status": found.status}
