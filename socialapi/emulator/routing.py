"""Finds the endpoint for a method and path, with aiohttp's dispatcher. Literal segments take precedence."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

import attrs
from aiohttp import web

from socialapi.emulator.responses import Refusal
from socialapi.routes.route import Route

E = TypeVar("E")

MOUNTS: Final[Mapping[str, str]] = {"base_url": "", "ads_url": "/ads", "ads_sandbox_url": "/ads-sandbox"}
"""The path prefix of each family's host on the one port."""


def mount_of(path: str) -> str:
    """Returns the prefix of a path on this server."""
    return next((each for each in MOUNTS.values() if each and path.startswith(f"{each}/")), "")


def mounted_path(route: Route[Any]) -> str:
    """Returns the path template of a route on this server."""
    return MOUNTS[route.family.host] + route.path


def mounted_paths(route: Route[Any]) -> tuple[str, ...]:
    """Returns all paths of a route on this server. The sandbox also serves the advertising API."""
    sandbox = (MOUNTS["ads_sandbox_url"] + route.path,) if route.family.host == "ads_url" else ()
    return (mounted_path(route), *sandbox)


@attrs.frozen
class Match(Generic[E]):
    """The result of a lookup. `entry` is None if the path exists only with other methods
    (`allowed`), or not at all (`allowed` is empty).
    """

    entry: E | None
    template: str | None = None
    parameters: Mapping[str, str] = attrs.field(factory=dict)
    allowed: tuple[str, ...] = ()

    def refusal(self) -> Refusal:
        """Returns the error for a request without an endpoint."""
        if self.allowed:
            methods = ", ".join(self.allowed)
            return Refusal(405, "METHOD_NOT_ALLOWED", f"this path accepts {methods}", headers={"Allow": methods})
        return Refusal(404, "ROUTE_NOT_FOUND", "there is nothing at this path")


class Dispatcher(Generic[E]):
    """The paths of a server, with one entry for each method and path.

    aiohttp tries the resources below a common prefix in the order of their registration, so paths with literal segments
    are registered before those with parameters in the same positions. If a literal path does not have the method, the
    next matching path is tried.
    """

    def __init__(self, rows: Iterable[tuple[str, str, E]]) -> None:
        self._dispatcher = web.UrlDispatcher()
        self._entries: dict[web.AbstractRoute, tuple[str, E]] = {}
        by_rank = sorted(rows, key=lambda row: ([part.startswith("{") for part in row[1].split("/")], row[1]))
        for method, template, entry in by_rank:
            added = self._dispatcher.add_resource(template).add_route(method, _unused)
            self._entries[added] = template, entry

    async def find(self, request: web.BaseRequest) -> Match[E]:
        """Returns the entry that serves the request."""
        # resolve() reads only the method and the URL, which every kind of request has.
        found = await self._dispatcher.resolve(request)  # type: ignore[arg-type]
        if isinstance(found.http_exception, web.HTTPMethodNotAllowed):
            return Match(None, allowed=tuple(sorted(found.http_exception.allowed_methods)))
        if found.http_exception is not None:
            return Match(None)
        template, entry = self._entries[found.route]
        return Match(entry, template, dict(found))


async def _unused(request: web.Request) -> web.StreamResponse:
    raise NotImplementedError("entries are served by the emulator, not by aiohttp")
