"""Helpers for the handlers of catalogs."""

from socialapi.emulator.advertising.endpoint import missing_record, user_of
from socialapi.emulator.catalogs.state import Catalog
from socialapi.emulator.handlers import Call
from socialapi.emulator.responses import Refusal


def the_catalog(call: Call) -> Catalog:
    """The catalog in the path, which has to be the caller's own. Product sets that are due are filled."""
    catalog = call.state.catalogs.get(call.path_parameters["product_catalog_id"])
    if catalog is None:
        raise missing_record("product_catalog_id")
    if catalog.user_id != user_of(call).id:
        raise forbidden("the catalog belongs to another user", "product_catalog_id")
    catalog.settle(call.now)
    return catalog


def forbidden(message: str, parameter: str) -> Refusal:
    """The refusal of a request about what is another user's."""
    return Refusal(403, "FORBIDDEN", message, parameter=parameter)
