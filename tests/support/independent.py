"""A client of the platform API that shares nothing with the SDK: aiohttp to send, authlib to sign."""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import aiohttp
import attrs
from authlib.oauth1 import ClientAuth


@attrs.frozen
class Answer:
    """What came: the status, and the body as JSON, as ampersand-joined pairs, or as it is."""

    status: int
    body: Any


@attrs.frozen
class Independent:
    """Asks in the name of the app, or of the user of `ready`, the line that the service prints when it starts."""

    ready: Mapping[str, str]
    http: aiohttp.ClientSession

    async def bearer(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, json: Any = None
    ) -> Answer:
        return await self._send(
            method, path, query, {"Authorization": f"Bearer {self.ready['bearer_token']}"}, json=json
        )

    async def basic(self, path: str, **form: str) -> Answer:
        pair = f"{self.ready['api_key']}:{self.ready['api_key_secret']}".encode()
        headers = {"Authorization": "Basic " + base64.b64encode(pair).decode()}
        return await self._send("POST", path, None, headers, data=form)

    async def form(self, path: str, **form: str) -> Answer:
        return await self._send("POST", path, None, {}, data=form)

    async def user(self, method: str, path: str, *, query: Mapping[str, str] | None = None, json: Any = None) -> Answer:
        """Signed with the user's token."""
        return await self.signed(
            method, path, self.ready["access_token"], self.ready["access_token_secret"], query, json
        )

    async def signed(
        self,
        method: str,
        path: str,
        token: str | None = None,
        token_secret: str | None = None,
        query: Mapping[str, str] | None = None,
        json: Any = None,
        **options: Any,
    ) -> Answer:
        """Signed by OAuth 1.0a; a JSON body is not part of the signature."""
        signer = ClientAuth(
            self.ready["api_key"],
            self.ready["api_key_secret"],
            token=token,
            token_secret=token_secret,
            **options,
        )
        url = self.ready["base_url"] + path + (f"?{urlencode(query)}" if query else "")
        _, headers, _ = signer.sign(method, url, {}, "")
        return await self._send(method, path, query, {"Authorization": headers["Authorization"]}, json=json)

    async def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, headers: Mapping[str, str], **body: Any
    ) -> Answer:
        url = self.ready["base_url"] + path
        given = {name: value for name, value in body.items() if value is not None}
        async with self.http.request(method, url, params=query, headers=headers, **given) as response:
            text = await response.text()
            if response.content_type == "application/json":
                return Answer(response.status, await response.json())
            if response.content_type == "application/x-www-form-urlencoded":
                return Answer(response.status, dict(parse_qsl(text, strict_parsing=True)))
            return Answer(response.status, text)
