"""The registration of handlers for routes, and the calls that handlers receive."""

import functools
import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, cast, get_origin

import attrs
import orjson
import yarl

from socialapi.emulator import advertising, catalogs, creatives, oauth, platform
from socialapi.emulator.advertising.state import Record, Table
from socialapi.emulator.auth import Authenticate, any_caller, caller_of
from socialapi.emulator.faults import STREAM_FAULTS, Fault
from socialapi.emulator.platform.streaming import LiveStream
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Answer, ApiStyle, InvalidRequest, Refusal, style_of
from socialapi.emulator.routing import MOUNTS, Dispatcher, Match, mount_of, mounted_paths
from socialapi.emulator.service import Service
from socialapi.emulator.state import Caller, State, User
from socialapi.emulator.stubs import Stubs
from socialapi.models.events import Streamed
from socialapi.problems import BrokenRule
from socialapi.routes.route import ADS, PLATFORM, Method, Route


@attrs.define(eq=False)
class Call:
    """An authenticated request to an endpoint, with valid arguments.

    `path` and `query` are the parameters with their declared types. For a write that sends its parameters in the query,
    `query` also includes form parameters. `body` is the decoded JSON. `echo` holds the request parameters that an
    advertising response echoes. `state` is the state when the request arrived, even if it has been reset since. `fault`
    is a fault that the handler must simulate itself.
    """

    service: Service
    state: State
    route: Route[Any]
    path: Mapping[str, str]
    received: Received
    caller: Caller
    fault: Fault | None = None
    query: Mapping[str, Any] = attrs.field(factory=dict)
    body: Any = None
    echo: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def now(self) -> float:
        """Epoch seconds of the emulator's clock."""
        return self.state.clock.now()

    @property
    def user(self) -> User:
        """The user for whom the endpoint acts."""
        assert self.caller.user is not None
        return self.caller.user

    @property
    def account_id(self) -> str:
        """The id of the account in the path."""
        return self.path["account_id"]

    @property
    def account(self) -> Record:
        """The account in the path, which authentication has found."""
        account = self.state.advertising.accounts.get(self.account_id)
        assert account is not None
        return account

    def table(self, kind: str) -> Table:
        """Returns the records of a kind that belong to the account, for example `line_items`."""
        return self.state.advertising.table(self.account_id, kind)

    @property
    def success_status(self) -> int:
        """The status of a successful response."""
        return 201 if self.route.created else 200


Handler = Callable[[Call], Awaitable[Answer | LiveStream]]
Measure = Callable[[Received], tuple[int | None, int | None]]
Rules = Callable[[Call], Iterable[BrokenRule]]


@attrs.frozen
class Endpoint:
    """A route with its handler. The fields are the arguments of `serves`."""

    route: Route[Any]
    handler: Handler
    authenticate: Authenticate
    rules: Rules | None = None
    refuse: Callable[[InvalidRequest], Refusal] | None = None
    checks_body: bool = True
    measure: Measure | None = None
    own_faults: tuple[str, ...] = ()
    checks_arguments: bool = True

    @property
    def style(self) -> ApiStyle:
        """The style of the endpoint's responses."""
        return style_of(self.route.family)

    @property
    def is_stream(self) -> bool:
        """Whether the endpoint's responses are streams."""
        return get_origin(self.route.result) is Streamed

    @property
    def is_token_request(self) -> bool:
        """Whether the request issues or revokes tokens. Requests for sign-in pages do neither."""
        return self.style == "oauth" and self.route.result is not object

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults that apply only to endpoints that declare them."""
        return STREAM_FAULTS if self.is_stream else self.own_faults


_REGISTERED: Final[list[Endpoint]] = []
_AREAS: Final = (platform, advertising, creatives, catalogs, oauth)


@functools.cache
def endpoints() -> tuple[Endpoint, ...]:
    """Returns everything that the emulator serves. A handler registers itself when its module is imported."""
    for area in _AREAS:
        for module in pkgutil.iter_modules(area.__path__, f"{area.__name__}."):
            importlib.import_module(module.name)
    return tuple(_REGISTERED)


def serves(
    route: Route[Any],
    *,
    caller: Authenticate | None = None,
    rules: Rules | None = None,
    refuse: Callable[[InvalidRequest], Refusal] | None = None,
    checks_body: bool = True,
    measure: Measure | None = None,
    faults: tuple[str, ...] = (),
) -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of the route.

    The style of the route's API determines who may call it, how its arguments are read and how refusals are worded.
    `caller` replaces the default authentication of the route. `rules` yields the violations of rules that depend on
    stored data. It is called if there are no other violations, and may raise Refusal. `refuse` may replace the refusal
    that lists the violations. With `checks_body=False` the handler checks the body itself. `measure` counts the
    operations and users of an upload, for the log. `faults` are the faults that apply to this route but not to every
    route.
    """

    def register(handler: Handler) -> Handler:
        authenticate = caller or caller_of(route)
        _REGISTERED.append(Endpoint(route, handler, authenticate, rules, refuse, checks_body, measure, faults))
        return handler

    return register


@functools.cache
def endpoint_table() -> Dispatcher[Endpoint]:
    """Returns the endpoints, keyed by their paths on this server."""
    return Dispatcher(
        (endpoint.route.method, path, endpoint) for endpoint in endpoints() for path in mounted_paths(endpoint.route)
    )


@attrs.frozen
class _Asked:
    """The part of a request that a dispatcher reads."""

    method: str
    rel_url: yarl.URL


async def is_implemented(method: str, path: str) -> bool:
    """Returns whether an endpoint serves this path of the service."""
    urls = [yarl.URL(mount + path, encoded=True) for mount in MOUNTS.values()]
    found = [await endpoint_table().find(cast("Any", _Asked(method, url))) for url in urls]
    return any(each.entry is not None for each in found)


def stub_of(stubs: Stubs, method: str, path: str, query: str) -> Match[Endpoint] | None:
    """Returns an endpoint that answers a request with its latest matching stub. Like other endpoints, it checks
    credentials.
    """
    mount = mount_of(path)
    stub = stubs.find(method, path.removeprefix(mount), query)
    if stub is None:
        return None

    async def serve(_: Call) -> Answer:
        return Answer(stub.status, b"" if stub.body is None else orjson.dumps(stub.body), stub.headers)

    route = Route(cast("Method", method), ADS if mount else PLATFORM, stub.path, object, label=stub.path)
    return Match(Endpoint(route, serve, any_caller, checks_arguments=False))
