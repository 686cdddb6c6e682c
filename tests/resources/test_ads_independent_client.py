"""Every advertising endpoint, asked by the SDK and by a client that shares nothing with it: the same comes of it."""

import typing
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
import attrs
import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.routes import ads, audiences, line_items
from socialapi.routes.route import Route
from tests.resources.ads_rows import ROWS, Row, Scene
from tests.resources.agreeing import name_of
from tests.support.comparing import assert_holds_answer
from tests.support.independent import Independent


@attrs.define
class Sent:
    """The query of every request of a client of aiohttp."""

    queries: list[dict[str, str]] = attrs.field(factory=list)

    def trace(self) -> aiohttp.TraceConfig:
        async def note(
            session: aiohttp.ClientSession, context: SimpleNamespace, asked: aiohttp.TraceRequestStartParams
        ) -> None:
            self.queries.append(dict(parse_qsl(asked.url.raw_query_string, keep_blank_values=True)))

        config = aiohttp.TraceConfig()
        config.on_request_start.append(note)
        return config


@pytest.mark.parametrize("row", ROWS, ids=lambda row: name_of(row.route))
async def test_the_sdk_and_an_independent_client_get_the_same(
    service: Emulator, http: aiohttp.ClientSession, row: Row
) -> None:
    async def scene() -> Scene:
        service.reset()
        made = Scene(service, Independent(service.ready, http))
        for prepare in row.before:
            await prepare(made)
        return made

    first = await scene()
    names = attrs.asdict(first, recurse=False)
    query = {name: value.format_map(names) if "{" in value else value for name, value in row.query.items()}
    host = "/ads" if row.route.family.host == "ads_url" else "/ads-sandbox"
    before = len(service.requests)
    answer = await first.plain.user(
        row.route.method, host + row.path.format_map(names), query=query or None, json=row.json
    )
    (by_hand,) = list(service.requests)[before:]
    assert f"{by_hand.method} {by_hand.route}" == f"{row.route.method} {host}{row.route.path}"
    assert answer.status == 200, answer.body
    there = service.ledger()["records"]

    second, sent = await scene(), Sent()
    async with Client(service.config, service.credentials, trace_configs=[sent.trace()]) as client:
        before = len(service.requests)
        result = await row.sdk(client, second)
        # Pages are read ahead; the first request is the one that was asked for.
        by_sdk = list(service.requests)[before]
    assert (by_sdk.method, by_sdk.path, by_sdk.status) == (by_hand.method, by_hand.path, answer.status)
    assert sent.queries[0] == query
    body = answer.body
    if row.route is audiences.DO_NOT_REACH_USERS:
        (counts,) = body["data"]
        body = body | {"data": counts}
    assert_holds_answer(result, body)
    assert service.ledger()["records"] == there


def test_no_route_is_left_out() -> None:
    rows = [row for module in (ads, audiences, line_items) for row in vars(module).values()]
    declared = {id(each): name_of(each) for each in rows if isinstance(each, Route)}
    assert {id(row.route): name_of(row.route) for row in ROWS} == declared


def parameters_of(declared: Any) -> set[str]:
    bare = typing.get_args(declared)[0] if typing.get_origin(declared) is typing.Annotated else declared
    return set(typing.get_type_hints(bare)) if bare is not None else set()


@pytest.mark.parametrize("route", list({id(row.route): row.route for row in ROWS}.values()), ids=name_of)
def test_every_parameter_is_sent_at_least_once(route: Route[Any]) -> None:
    if route.body_in == "json":
        return
    sent = {name for row in ROWS if row.route is route for name in row.query}
    assert sent >= parameters_of(route.query) | parameters_of(route.body)
