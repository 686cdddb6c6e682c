"""A client of the emulator that shares nothing with the SDK: aiohttp to send, oauthlib to sign."""

import asyncio
import hashlib
import io
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import aiohttp
import attrs
import orjson
from oauthlib.oauth1 import Client

from socialapi.emulator import Emulator
from socialapi.emulator.state import Caller
from tests.support.contract import assert_in_contract

Operation = dict[str, Any]
Method = Literal["GET", "POST", "PUT", "DELETE"]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def operation(*users: Mapping[str, Sequence[str]], operation_type: str = "Update", **times: str) -> Operation:
    return {"operation_type": operation_type, "params": {"users": list(users), **times}}


def updates(count: int) -> list[Operation]:
    return [operation({"email": [digest(f"person {number}")]}) for number in range(count)]


async def eventually(condition: Callable[[], object]) -> None:
    """Lets others run until the condition holds."""
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came true")


@attrs.frozen
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.text)

    @property
    def data(self) -> Any:
        return self.json["data"]

    @property
    def slug(self) -> str:
        """The kind of the problem that was answered."""
        kind: str = self.json["type"]
        return kind.rpartition("/")[2]

    @property
    def slugs(self) -> list[str]:
        """The kinds of the problems beside data."""
        return [error["type"].rpartition("/")[2] for error in self.json.get("errors", ())]

    @property
    def at_fault(self) -> list[str]:
        """The parameters that an invalid request names, after a look at the shape of the whole."""
        assert (self.status, self.slug) == (400, "invalid-request"), self.text
        assert self.json["status"] == 400
        assert self.json["errors"]
        for error in self.json["errors"]:
            assert set(error) == {"message", "parameters"}
            assert all(isinstance(each, str) for values in error["parameters"].values() for each in values)
        return [name for error in self.json["errors"] for name in error["parameters"]]

    @property
    def codes(self) -> list[Any]:
        return [error["code"] for error in self.json["errors"]]


class Asker:
    """Sends requests to one emulator as its first user by its first app."""

    def __init__(self, emulator: Emulator, session: aiohttp.ClientSession) -> None:
        self.emulator = emulator
        self.session = session

    @property
    def account(self) -> str:
        return self.emulator.seed["account_ids"][0]

    @property
    def audience(self) -> str:
        return self.emulator.seed["custom_audience_ids"][0]

    @property
    def do_not_reach_list(self) -> str:
        return self.emulator.seed["do_not_reach_list_ids"][0]

    @property
    def audience_path(self) -> str:
        return f"/ads/12/accounts/{self.account}/custom_audiences/{self.audience}/users"

    @property
    def list_path(self) -> str:
        return f"/ads/12/accounts/{self.account}/do_not_reach_lists/{self.do_not_reach_list}"

    @property
    def list_users_path(self) -> str:
        return f"/ads/12/batch/accounts/{self.account}/do_not_reach_lists/{self.do_not_reach_list}/users"

    def signer(self, **options: Any) -> Client:
        ready = self.emulator.ready
        return Client(
            options.pop("api_key", ready["api_key"]),
            options.pop("api_key_secret", ready["api_key_secret"]),
            options.pop("access_token", ready["access_token"]),
            options.pop("access_token_secret", ready["access_token_secret"]),
            **options,
        )

    async def send(self, method: str, path: str, **options: Any) -> Reply:
        """Any request, as it is."""
        if isinstance(options.get("data"), bytes):
            options["data"] = io.BytesIO(options["data"])  # aiohttp warns of large bytes
        async with self.session.request(method, self.emulator.ready["base_url"] + path, **options) as response:
            assert_in_contract(self.emulator, response.headers, response.status, await response.read())
            return Reply(response.status, dict(response.headers), await response.text())

    async def signed(
        self,
        method: Method,
        path: str,
        *,
        signer: Client | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Reply:
        """A request signed with OAuth 1.0a; its body, if any, is not part of the signature."""
        url = self.emulator.ready["base_url"] + path
        _, signature, _ = (signer or self.signer()).sign(url, method)
        return await self.send(method, path, headers={**signature, **(headers or {})}, **options)

    async def bearer(self, method: Method, path: str, *, token: str | None = None, **options: Any) -> Reply:
        """A request with the app-only token, or with another bearer token."""
        headers = {"Authorization": f"Bearer {token or self.emulator.ready['bearer_token']}"}
        return await self.send(method, path, headers=headers, **options)

    async def get(self, path: str, **query: Any) -> Reply:
        """A read with the app-only token; `tweet_fields` stands for `tweet.fields`."""
        parameters = {name.replace("_fields", ".fields"): str(value) for name, value in query.items()}
        return await self.bearer("GET", path, params=parameters)

    async def another_app(self, **wanted: str) -> dict[str, str]:
        """The credentials of another app."""
        made: dict[str, str] = (await self.control("POST", "apps", wanted)).json
        return made

    def oauth2_token(self, scopes: str = "tweet.read tweet.write users.read", lifetime: float = 60.0) -> str:
        """An OAuth 2.0 token of the first user."""
        state = self.emulator.state
        token = secrets.token_hex(8)
        app, user = state.apps[self.emulator.ready["api_key"]], state.users[self.emulator.seed["user_ids"][0]]
        expires_at = state.clock.now() + lifetime
        state.bearers[token] = Caller(app, user, scopes=frozenset(scopes.split()), expires_at=expires_at)
        return token

    async def as_user(self, user_id: str, **wanted: str) -> Client:
        """A signer for another user, by another app."""
        app = await self.another_app(user_id=user_id, **wanted)
        del app["bearer_token"]
        return self.signer(**app)

    async def upload(self, operations: Any, *, path: str | None = None, **options: Any) -> Reply:
        """Operations to the first custom audience, or to another path; a text or bytes is sent as it is."""
        body = operations if isinstance(operations, bytes) else orjson.dumps(operations)
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        return await self.signed("POST", path or self.audience_path, data=body, headers=headers, **options)

    async def control(self, method: str, path: str, body: Any = None) -> Reply:
        """A request to the control plane."""
        return await self.send(method, f"/_emulator/{path}", data=None if body is None else orjson.dumps(body))

    def members(self) -> set[tuple[str, str]]:
        return self.emulator.members(self.account, self.audience)

    def listed(self) -> set[tuple[str, str]]:
        return self.emulator.do_not_reach_members(self.account, self.do_not_reach_list)
