"""What every group of methods below a catalog holds beside the session."""

from socialapi.resources.resource import Resource
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.wire.request import path_id


class CatalogScoped(Resource):
    """A group of methods of one catalog."""

    def __init__(self, session: Session, options: CallOptions, catalog_id: str | int) -> None:
        super().__init__(session, options)
        self._catalog_id = path_id("product_catalog_id", catalog_id)
