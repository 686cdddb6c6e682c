"""Asking one endpoint twice, by the SDK and by a client that shares nothing with it, on the same state of the service."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import attrs

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.routes.route import Route
from tests.support.comparing import assert_holds, assert_holds_answer
from tests.support.independent import Answer, Independent


def name_of(route: Route[Any]) -> str:
    """What an endpoint is called."""
    return f"{route.method} {route.path}"


@attrs.frozen
class Both:
    """An endpoint with the two ways to ask it: the SDK's, and path, query and JSON of the request it stands for."""

    route: Route[Any]
    sdk: Callable[[Client], Awaitable[Any]]
    path: str
    query: Mapping[str, str] | None = None
    json: Any = None
    inside: str | None = None
    """The field of `data` that the SDK hands out alone."""

    @property
    def name(self) -> str:
        return name_of(self.route)


async def assert_same(emulator: Emulator, http: aiohttp.ClientSession, both: Both) -> tuple[Any, Answer]:
    """What either of them gets; they have asked the same once, and nothing of the answer was dropped or changed."""
    emulator.reset()
    plain = Independent(emulator.ready, http)
    answer = await plain.user(both.route.method, f"/ads/12{both.path}", query=both.query, json=both.json)
    assert answer.status == 200, answer.body
    (raw,) = emulator.requests
    emulator.reset()
    async with Client(emulator.config, emulator.credentials) as client:
        result = await both.sdk(client)
    (asked,) = emulator.requests
    assert (raw.method, raw.route) == (asked.method, asked.route) == (both.route.method, f"/ads{both.route.path}")
    assert asked.status == raw.status
    if both.inside is None:
        assert_holds_answer(result, answer.body)
    else:
        assert answer.body["data"].keys() == {both.inside}
        assert_holds(result, answer.body["data"][both.inside])
    return result, answer
