"""Streaming connections of the app (platform documentation, section 4.4)."""

from collections.abc import Iterable
from typing import Any

from socialapi.models.streams import Connection, EndedConnections
from socialapi.resources.arguments import check_further
from socialapi.resources.resource import Resource, flat
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager


class Connections(Resource):
    """The app's streaming connections."""

    def list(self, *, start: str | None = None, **further: Any) -> Pager[Connection]:
        """Active and past connections (section 4.4). `further` parameters are sent as they are."""
        check_further(self.list, further)
        return self._session.pages(routes.CONNECTIONS.at(), options=self._options, query=further, start=start)

    async def end(self, *uuids: str | Iterable[str]) -> EndedConnections:
        """Ends the connections with these UUIDs, given one by one or as a sequence.

        Raises InvalidInput for none at all; those that are not active are in `errors`.
        """
        return await self._session.call(routes.CONNECTIONS_END.at(), options=self._options, body={"uuids": flat(uuids)})

    async def end_endpoint(self, endpoint_id: str) -> EndedConnections:
        """Ends the connections of one streaming endpoint."""
        return await self._session.call(
            routes.CONNECTIONS_END_ENDPOINT.at(endpoint_id=endpoint_id), options=self._options
        )

    async def end_all(self) -> EndedConnections:
        """Ends all active connections of the app."""
        return await self._session.call(routes.CONNECTIONS_END_ALL.at(), options=self._options)
