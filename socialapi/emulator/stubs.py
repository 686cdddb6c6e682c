"""Responses that tests define for paths that the emulator does not implement."""

from typing import Annotated, Any, Final
from urllib.parse import parse_qsl

import attrs
from annotated_types import Ge, Le

from socialapi.emulator.routing import mount_of
from socialapi.models.validation import Pattern

MAX_STUBS: Final = 1_000
"""The maximum number of stubs. Adding another one removes the oldest."""


def _texts(given: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in given.items()}


@attrs.define
class Stub:
    """The response to requests with this method and path whose query includes these parameters. `path` is the path in
    the service, without the prefix of an API.
    """

    path: Annotated[
        str,
        Pattern(
            r"/[!-\"$-)+->@-z|~]+",
            "must start with a slash, and have no spaces, no query and no placeholders (* or {id})",
        ),
    ]
    method: Annotated[str, Pattern("[A-Z]{1,32}", "must be an HTTP method in capitals")] = "GET"
    status: Annotated[int, Ge(200), Le(599)] = 200
    body: Any = None
    query: dict[str, Any] = attrs.field(factory=dict, converter=_texts)
    headers: dict[str, Any] = attrs.field(factory=dict, converter=_texts)

    def problem(self) -> str | None:
        """Returns why no request can match the path, or None."""
        mount = mount_of(self.path)
        return f"a stub's path must not begin with {mount}: write {self.path.removeprefix(mount)}" if mount else None


class Stubs:
    """The active stubs. If several match a request, the latest one applies."""

    def __init__(self) -> None:
        self._stubs: list[Stub] = []

    def add(self, stub: Stub) -> None:
        """Adds a stub."""
        self._stubs.append(stub)
        del self._stubs[:-MAX_STUBS]

    def clear(self) -> None:
        """Removes all stubs."""
        self._stubs.clear()

    def to_wire(self) -> list[dict[str, Any]]:
        """Returns the stubs as JSON values, oldest first."""
        return [attrs.asdict(stub) for stub in self._stubs]

    def find(self, method: str, path: str, query: str) -> Stub | None:
        """Returns the latest stub for a request."""
        given = dict(parse_qsl(query, keep_blank_values=True)).items()
        fits = (stub for stub in reversed(self._stubs) if (stub.method, stub.path) == (method, path))
        return next((stub for stub in fits if stub.query.items() <= given), None)
