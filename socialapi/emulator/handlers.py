"""The registration of handlers for routes, and the requests that handlers get."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, get_origin

import attrs
from aiohttp import web

from socialapi.emulator.faults import STREAM_FAULTS, Fault
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Answer, Refusal, Shape
from socialapi.emulator.routing import mounted_path
from socialapi.emulator.service import Service
from socialapi.emulator.state import Caller, State
from socialapi.models.events import Streamed
from socialapi.routes.route import Route


@attrs.define(eq=False)
class Call:
    """An authenticated request to an endpoint. `fault` is a fault that the handler itself has to
    play.

    `state` is the state when the request arrived, even if it has been reset since.
    """

    service: Service
    state: State
    route: Route[Any]
    path_parameters: Mapping[str, str]
    received: Received
    caller: Caller
    fault: Fault | None = None

    @property
    def now(self) -> float:
        """Epoch seconds of the emulator's clock."""
        return self.state.clock.now()

    def json(self) -> Any:
        """The JSON body; refuses another media type or encoding, a body beyond the route's limit, and what is not JSON."""
        if self.received.content_type != "application/json":
            raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body must be sent as application/json")
        if self.received.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body must be sent as it is, without a content encoding")
        if not self.received.complete:
            raise Refusal(400, "INVALID_PARAMETER", f"the body has more than {body_limit(self.route):,} bytes")
        try:
            return self.received.json()
        except ValueError:
            raise Refusal(400, "INVALID_PARAMETER", "the body is not valid JSON") from None


DEFAULT_BODY_LIMIT: Final = 1_048_576


def body_limit(route: Route[Any] | None) -> int:
    """How many bytes of a body are read."""
    return DEFAULT_BODY_LIMIT if route is None or route.max_body_bytes is None else route.max_body_bytes


def shape_of(path: str) -> Shape:
    """How refusals of requests to a path are worded, even if nothing is there."""
    return "ads" if path.startswith(("/ads/", "/ads-sandbox/")) else "platform"


class StreamAnswer(Protocol):
    """An answer without an end. It writes the response by itself; `serve` is called exactly
    once.
    """

    async def serve(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Prepares the response, writes it, and returns at its end."""


Handler = Callable[[Call], Awaitable[Answer | StreamAnswer]]
Authenticate = Callable[[State, Received, Mapping[str, str]], Caller]
Measure = Callable[[Received], tuple[int | None, int | None]]


@attrs.frozen
class Endpoint:
    """A route with its handler."""

    route: Route[Any]
    handler: Handler
    authenticate: Authenticate
    measure: Measure | None = None
    own_faults: tuple[str, ...] = ()

    @property
    def shape(self) -> Shape:
        """How refusals are worded."""
        name = self.route.family.name
        return "oauth" if name == "oauth" else shape_of(mounted_path(self.route))

    @property
    def is_stream(self) -> bool:
        """Whether its answers go on and on."""
        return get_origin(self.route.result) is Streamed

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults that make sense of it and not of every endpoint."""
        return STREAM_FAULTS if self.is_stream else self.own_faults


ENDPOINTS: Final[list[Endpoint]] = []
"""Everything registered by `handles`."""


def handles(
    route: Route[Any], *, caller: Authenticate, measure: Measure | None = None, faults: tuple[str, ...] = ()
) -> Callable[[Handler], Handler]:
    """Registers the function below as what serves the route.

    `caller` finds out who is asking, before anything else is looked at. `measure` counts the operations and users
    of an upload, for the log. `faults` are those that make sense of it and not of every endpoint.
    """

    def register(handler: Handler) -> Handler:
        ENDPOINTS.append(Endpoint(route, handler, caller, measure, faults))
        return handler

    return register
