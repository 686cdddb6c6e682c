"""A receiver as an ASGI 3 application, for FastAPI, Starlette and ASGI servers."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

from socialapi.errors import ConfigurationError
from socialapi.webhooks.endpoint import Endpoint, WebhookReply

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Lifespan(Protocol):
    """A resource that an application opens and closes, such as a receiver."""

    async def __aenter__(self) -> object:
        """Opens the resource. Raises ConfigurationError."""

    async def aclose(self) -> None:
        """Closes the resource."""


class AsgiApp:
    """Answers challenges and events at every path.

    A server that runs it alone opens and closes the receiver through lifespan messages. A mounted receiver gets no
    lifespan messages: the outer application opens it, or the first challenge or event does. This is an object, because
    routers wrap plain functions as views.
    """

    def __init__(self, endpoint: Endpoint, lifespan: Lifespan) -> None:
        self._endpoint = endpoint
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the lifespan messages of the server."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                if message["type"] == "lifespan.startup":
                    if (problem := await self._start()) is not None:
                        await send({"type": "lifespan.startup.failed", "message": problem})
                        return
                    await send({"type": "lifespan.startup.complete"})
            await self._lifespan.aclose()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await receive()  # a WebSocket handshake
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = _Client(receive)
        query = scope.get("query_string", b"").decode("latin-1")
        health = self._endpoint.health(scope["method"], scope.get("path", ""), query)
        if health is not None:
            await _send(health, send, closes=False)
            return
        async with contextlib.aclosing(client.chunks()) as chunks:
            answer = await self._endpoint.respond(scope["method"], query, scope["headers"], chunks)
        if not client.has_left:
            # HTTP/2 has no such header; HTTP/2 servers only end the stream.
            closes = answer.leaves_body and scope.get("http_version", "1.1").startswith("1")
            await _send(answer.reply, send, closes=closes)

    async def _start(self) -> str | None:
        """Opens the receiver. Returns the reason if that fails."""
        try:
            await self._lifespan.__aenter__()
        except (ConfigurationError, RuntimeError) as problem:
            return str(problem)
        return None


class _Client:
    """The client of a request, which may disconnect before its body has been read."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.has_left = False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yields the body in chunks. Raises ConnectionError if the client disconnects."""
        message: Mapping[str, Any] = {"more_body": True}
        while message.get("more_body", False):
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.has_left = True
                raise ConnectionResetError
            yield message.get("body", b"")


async def _send(reply: WebhookReply, send: Send, *, closes: bool) -> None:
    headers = {**reply.headers, "Content-Length": str(len(reply.body))}
    if closes:
        headers["Connection"] = "close"  # does not wait for the rest of the body
    encoded = [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
    await send({"type": "http.response.body", "body": reply.body})
