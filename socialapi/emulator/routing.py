"""Finds the entry for a method and path. Literal segments take precedence over parameters."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar
from urllib.parse import unquote

import attrs

from socialapi.routes.route import Route

E = TypeVar("E")

MOUNTS: Final[Mapping[str, str]] = {"base_url": "", "ads_url": "/ads", "ads_sandbox_url": "/ads-sandbox"}
"""Where the host of a family is found on the one port."""


def mounted_path(route: Route[Any]) -> str:
    """The path of a route's template on this server."""
    return MOUNTS[route.family.host] + route.path


@attrs.frozen
class Match(Generic[E]):
    """The result of a lookup. `entry` is None if the path exists only with other methods
    (`allowed`), or not at all (`allowed` is empty).
    """

    entry: E | None
    template: str | None = None
    parameters: Mapping[str, str] = attrs.field(factory=dict)
    allowed: tuple[str, ...] = ()


@attrs.frozen
class _Row(Generic[E]):
    method: str
    template: str
    segments: tuple[str, ...]
    entry: E

    @property
    def rank(self) -> tuple[bool, ...]:
        return tuple(_is_parameter(segment) for segment in self.segments)


class PathTable(Generic[E]):
    """The paths of a server, with an entry for each."""

    def __init__(self, rows: Iterable[tuple[str, str, E]]) -> None:
        self._by_length: dict[int, list[_Row[E]]] = {}
        for method, template, entry in rows:
            segments = tuple(template.split("/"))
            self._by_length.setdefault(len(segments), []).append(_Row(method, template, segments, entry))
        for rows_of_length in self._by_length.values():
            rows_of_length.sort(key=lambda row: row.rank)

    def entries(self) -> Iterator[E]:
        """Everything that is served."""
        return (row.entry for rows in self._by_length.values() for row in rows)

    def find(self, method: str, path: str) -> Match[E]:
        """What serves the path, which is as on the wire: percent-encoded and without the query."""
        parts = path.split("/")
        allowed: list[str] = []
        for row in self._by_length.get(len(parts), ()):
            parameters = _fit(row.segments, parts)
            if parameters is None:
                continue
            if row.method == method:
                return Match(row.entry, row.template, parameters)
            allowed.append(row.method)
        return Match(None, allowed=tuple(dict.fromkeys(allowed)))


def _is_parameter(segment: str) -> bool:
    return segment.startswith("{")


def _fit(segments: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    """The values of the parameters, decoded, or None. Segments are compared encoded, so `%2F` never splits one."""
    parameters: dict[str, str] = {}
    for segment, part in zip(segments, parts, strict=True):
        if _is_parameter(segment):
            if not part:
                return None
            parameters[segment[1:-1]] = unquote(part)
        elif segment != part:
            return None
    return parameters
