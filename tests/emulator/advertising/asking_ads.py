"""Requests to the advertising API, signed by oauthlib, with their parameters in the query or in a form."""

from typing import Any
from urllib.parse import quote, urlencode

import attrs
from oauthlib.oauth1 import Client

from tests.emulator.asking import Asker, Method, Reply

FORM = "application/x-www-form-urlencoded"


@attrs.frozen
class Ads:
    """Asks as the first user about the first account, unless told otherwise. Paths are relative to the account."""

    ask: Asker
    signer: Client | None = None
    account: str = ""

    def path(self, rest: str, *, host: str = "ads", version: str = "12") -> str:
        return f"/{host}/{version}/accounts/{self.account or self.ask.account}{rest}"

    async def get(self, rest: str, **query: Any) -> Reply:
        return await self.send("GET", self.path(rest), query)

    async def put(self, rest: str, **query: Any) -> Reply:
        return await self.send("PUT", self.path(rest), query)

    async def post(self, rest: str, **query: Any) -> Reply:
        return await self.send("POST", self.path(rest), query)

    async def delete(self, rest: str, **query: Any) -> Reply:
        return await self.send("DELETE", self.path(rest), query)

    async def send(self, method: Method, path: str, query: Any = None) -> Reply:
        """`query` is what urlencode takes."""
        text = urlencode(query or {}, quote_via=quote)
        return await self.ask.signed(method, f"{path}?{text}" if text else path, signer=self.signer)

    async def form(self, method: Method, path: str, fields: Any) -> Reply:
        """The fields in a form, which is part of the signature."""
        body = urlencode(fields)
        headers = {"Content-Type": FORM}
        url = self.ask.emulator.ready["base_url"] + path
        _, signed, _ = (self.signer or self.ask.signer()).sign(url, method, body=body, headers=headers)
        return await self.ask.send(method, path, headers=signed, data=body)

    async def ids(self, rest: str, **query: Any) -> list[list[str]]:
        """The ids on each page of a collection, until there is no next page."""
        pages: list[list[str]] = []
        while True:
            reply = await self.get(rest, **query)
            assert reply.status == 200, reply.text
            pages.append([item["id"] for item in reply.data])
            query["cursor"] = reply.json["next_cursor"]
            if query["cursor"] is None:
                return pages


def broken(reply: Reply) -> list[tuple[str, str]]:
    """Code and parameter of each error of a refused request, after a look at the shape of the whole."""
    assert reply.status == 400, reply.text
    assert set(reply.json) == {"errors", "request"}
    assert set(reply.json["request"]) == {"params"}
    for error in reply.json["errors"]:
        assert set(error) == {"code", "message", "parameter"}
        assert error["message"].startswith(error["parameter"])
    return [(error["code"], error["parameter"]) for error in reply.json["errors"]]


def missing(reply: Reply) -> list[str]:
    """The parameters that name what is not there."""
    assert (reply.status, set(reply.codes)) == (404, {"NOT_FOUND"}), reply.text
    return [error["parameter"] for error in reply.json["errors"]]
