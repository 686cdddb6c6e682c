"""The `Emulator`: runs the service in this process, on its own port."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import orjson
from aiohttp import web

from socialapi.config import Config
from socialapi.credentials import AppOnly, Credentials, OAuth1
from socialapi.emulator.clock import EmulatorClock
from socialapi.emulator.connections import CLIENT_LEFT, MAX_LINE_BYTES, Listener
from socialapi.emulator.control import PREFIX, is_control, serve_control
from socialapi.emulator.faults import Faults
from socialapi.emulator.handlers import endpoint_table, endpoints, stub_of
from socialapi.emulator.hosts import is_loopback, split_target
from socialapi.emulator.ledger import RequestRecord, ledger
from socialapi.emulator.oauth.oauth2 import APP_ONLY_TOKENS
from socialapi.emulator.platform.fan_out import SHUTDOWN
from socialapi.emulator.platform.state import DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_WEBHOOKS
from socialapi.emulator.rate_limits import route_key
from socialapi.emulator.request_cycle import RequestCycle
from socialapi.emulator.service import Service, Settings
from socialapi.emulator.state import State
from socialapi.errors import ConfigurationError
from socialapi.internal.listening import why_not_listening
from socialapi.models.streams import MAX_RULES

ENDPOINT_TABLE: Final = endpoint_table()

_SHUTDOWN_SECONDS: Final = 0.5
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognized, not bound to by default


class Emulator:
    """An emulator of the service on localhost. It runs inside an `async with` block.

        async with Emulator() as emulator:
            async with Client(emulator.config, credentials=emulator.credentials) as client: ...

    It starts with seed data: two ad accounts with their audiences, users and posts. Their ids are in `seed`. With
    `empty=True` it has only one user and one account, and no audiences or lists. With `lenient_fields=True` it ignores
    undocumented fields, expansions and parameters, which programs written for the public API may send. Otherwise it
    refuses them. `port=0` selects a free port. `clock` is a function that returns epoch seconds and replaces the wall
    clock. `rate_limits` overrides limits with (requests, window in seconds), by the name of a documented limit or by
    route, for example `GET /2/users/{id}/tweets`. `max_webhooks` and `max_rules` apply per app, `max_connections` per
    app and streaming endpoint. `webhook_targets` exist from the start and survive a reset; unless
    `allow_remote_targets` is set, webhooks are only delivered to this machine. Everything in this class is also
    available over HTTP under `/_emulator/`, which shows a dashboard in a browser. These paths accept requests to
    `localhost`, to IP addresses, and to the host names in `allow_hosts`.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        empty: bool = False,
        lenient_fields: bool = False,
        clock: Callable[[], float] | None = None,
        rate_limits: Mapping[str, tuple[int, float]] | None = None,
        max_webhooks: int = DEFAULT_MAX_WEBHOOKS,
        max_rules: int = MAX_RULES,
        max_connections: int = DEFAULT_MAX_CONNECTIONS,
        webhook_targets: Mapping[str, str] | None = None,
        allow_hosts: Collection[str] = (),
        allow_remote_targets: bool = False,
    ) -> None:
        limits, routes = dict(rate_limits or {}), [endpoint.route for endpoint in endpoints()]
        declared = [limit for route in routes for limit in (route.rate_limit, route.family.total_counts) if limit]
        named = {limit.name for limit in (*declared, APP_ONLY_TOKENS)}
        if unknown := limits.keys() - named - {route_key(route) for route in routes if route.rate_limit is None}:
            raise ConfigurationError(
                f"there is no rate limit named {', '.join(sorted(unknown))}: the names are {', '.join(sorted(named))}, "
                "and routes without a named limit, such as 'GET /2/users/{id}/tweets'"
            )
        self.host = host
        self._port = port
        settings = Settings(
            empty=empty,
            lenient_fields=lenient_fields,
            rate_limits=limits,
            max_webhooks=max_webhooks,
            max_rules=max_rules,
            max_connections=max_connections,
            webhook_targets=dict(webhook_targets or {}),
            allow_hosts=tuple(allow_hosts),
            allow_remote_targets=allow_remote_targets,
        )
        self._service = Service(settings, EmulatorClock(clock or time.time))
        self._runner: web.ServerRunner | None = None

    def __repr__(self) -> str:
        where = f"at {self._service.base_url}" if self._runner is not None and self._runner.addresses else "not running"
        return f"<Emulator {where}>"

    async def __aenter__(self) -> Self:
        # Bodies are not decompressed, because the service does not accept compressed bodies.
        server = Listener(
            self._serve,
            access_log=None,
            auto_decompress=False,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
        )
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, self.host, self._port).start()
        except OSError as problem:
            await runner.cleanup()
            reason = why_not_listening(problem)
            raise ConfigurationError(f"cannot listen on {self.host} port {self._port}: {reason}") from None
        self._runner = runner
        port = runner.addresses[0][1]
        host = _ANY_ADDRESS.get(self.host, self.host)
        await self._service.open(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._runner is not None
        await self._service.close()
        await self._runner.cleanup()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if is_control(request):
                return await serve_control(self._service, request)
            if request.method == "GET" and request.raw_path == "/" and "text/html" in request.headers.get("Accept", ""):
                return web.Response(status=307, headers={"Location": PREFIX})  # what a browser opens
            match = await ENDPOINT_TABLE.find(request)
            if match.entry is None:
                path, query = split_target(request.raw_path)[1], request.raw_path.partition("?")[2]
                match = stub_of(self._service.stubs, request.method, path, query) or match
            return await RequestCycle(self._service, request, match).run()
        except CLIENT_LEFT:
            # The client has disconnected, so this response is never sent.
            return web.Response(status=400)

    @property
    def is_exposed(self) -> bool:
        """Whether the emulator listens on an address that other machines may reach."""
        return self._runner is not None and not all(is_loopback(address[0]) for address in self._runner.addresses)

    @property
    def ready(self) -> dict[str, str]:
        """The addresses and valid credentials, as in the line that `socialapi emulator` prints."""
        base_url = self._service.base_url
        if not base_url:
            raise ConfigurationError("the emulator has no address until it runs: use `async with Emulator() as …`")
        return {
            "event": "ready",
            "base_url": base_url,
            "ads_url": f"{base_url}/ads",
            "ads_sandbox_url": f"{base_url}/ads-sandbox",
            "problem_base_url": self._service.state.problem_base_url,
            **self._service.credentials(self._service.access_token),
        }

    @property
    def config(self) -> Config:
        """The configuration for a client of this emulator."""
        ready = self.ready
        return Config(
            base_url=ready["base_url"],
            ads_url=ready["ads_url"],
            ads_sandbox_url=ready["ads_sandbox_url"],
            problem_base_url=ready["problem_base_url"],
        )

    @property
    def credentials(self) -> Sequence[Credentials]:
        """The credentials of the first app, acting for the first user."""
        given = self._service.credentials(self._service.access_token)
        app = (given["api_key"], given["api_key_secret"])
        return [AppOnly(*app), OAuth1(*app, given["access_token"], given["access_token_secret"])]

    @property
    def environment(self) -> dict[str, str]:
        """The `SOCIALAPI_*` variables with which `Client.from_env` connects to this emulator."""
        return variables(self.ready)

    @property
    def seed(self) -> Mapping[str, Sequence[str]]:
        """The ids of the seed data by kind. Account-scoped ids belong to the first account."""
        return self._service.seed

    @property
    def faults(self) -> Faults:
        """The scripted faults: `faults.add("status", status=503, times=2)`, `faults.clear()`."""
        return self._service.faults

    @property
    def requests(self) -> Sequence[RequestRecord]:
        """Every request to the service since the start or the last reset, oldest first."""
        return self._service.log.records

    @property
    def state(self) -> State:
        """The internal state of the service, for tests that change things no request can change. Its attributes may
        change without notice.
        """
        return self._service.state

    def ledger(self) -> dict[str, Any]:
        """Returns the stored data and received requests, as `GET /_emulator/ledger` does."""
        *_, made = ledger(self._service.state, self._service.log, self._service.deliveries)
        return made

    def members(self, account_id: str, audience_id: str) -> set[tuple[str, str]]:
        """Returns the (kind, value) identifiers that are currently in a custom audience. Raises KeyError if there is no
        such audience.
        """
        return self._service.state.audiences[account_id, audience_id].members.in_force(self._service.clock.now())

    def do_not_reach_members(self, account_id: str, list_id: str) -> set[tuple[str, str]]:
        """Returns the (kind, value) identifiers that are currently in a do-not-reach list. Raises KeyError if there is
        no such list.
        """
        return self._service.state.do_not_reach_lists[account_id, list_id].members.in_force(self._service.clock.now())

    def products(self, catalog_id: str) -> dict[str, dict[str, Any]]:
        """Returns all fields of the products of a catalog, by id. Raises KeyError if there is no such catalog."""
        stock = self._service.state.catalogs[catalog_id].stock
        return {item.id: stock.fields(item) for items in stock.slices() for item in items}

    @property
    def advanced_seconds(self) -> float:
        """The number of seconds by which the clock was moved forward."""
        return self._service.clock.advanced

    def advance(self, seconds: float) -> None:
        """Moves the emulator's clock forward. Rate-limit windows and expiries follow the clock; OAuth timestamps do
        not.

        Webhooks that are due for their hourly check are challenged soon afterwards; `settle` waits for these
        challenges.
        """
        self._service.advance(seconds)

    async def settle(self) -> None:
        """Waits until everything that is due by the emulator's clock is done, written to streams, and delivered to
        webhooks.

        Waits for at most a minute, because clients may have stopped reading.
        """
        await self._service.settle()

    async def publish(self, things: Any) -> dict[str, Any]:
        """Publishes one or more activity events or posts. Accepts the body of `POST /_emulator/events`, and returns its
        response.

            await emulator.publish({"event_type": "profile.update.bio", "user_id": "2244994945"})
            await emulator.publish({"events": [{"post": {"text": "Snow is coming"}}]})

        Returns when everything is queued for streams and webhooks. Raises InvalidInput.
        """
        return await self._service.publishing.publish(things)

    def end_streams(self, disconnect_type: str = SHUTDOWN, *, abruptly: bool = False) -> int:
        """Ends every open stream, with a problem of this type or in the middle of the response. Returns the number of
        streams.
        """
        return self._service.streams.end_all(disconnect_type, abruptly=abruptly)

    @property
    def webhook_targets(self) -> MutableMapping[str, str]:
        """The local addresses that actually receive the requests to webhook URLs, by webhook URL."""
        return self._service.outgoing.targets

    def reset(self) -> None:
        """Restores the seed data. Also clears the faults and the log, resets the clock, and removes the webhook targets
        that were added after the start.
        """
        self._service.reset()


def variables(ready: Mapping[str, str]) -> dict[str, str]:
    """Returns the ready line as the environment variables that a client reads."""
    return {f"SOCIALAPI_{name.upper()}": value for name, value in ready.items() if name != "event"}


_EXPOSED: Final = (
    "socialapi: warning: the emulator listens on {host}, so anyone who can reach this machine over the network can use "
    "it and its control plane without a password\n"
)


async def serve(
    emulator: Emulator,
    *,
    until_stdin_closes: bool = False,
    on_ready: Callable[[Mapping[str, str]], None] | None = None,
) -> None:
    """Runs an emulator in the main thread until SIGINT or SIGTERM.

    Prints one JSON line with its addresses to standard output when it is ready. With `until_stdin_closes` it also ends
    when standard input closes, so a child process whose standard input is a pipe from its parent never outlives the
    parent. Prints a warning to standard error if other machines may reach its address. Raises ConfigurationError if it
    cannot listen on the address.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        # The loop may already have been closed for another reason.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)

    # Event loops cannot handle signals on Windows.
    before = {number: signal.signal(number, lambda *_: end()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        async with emulator:
            if emulator.is_exposed:
                sys.stderr.write(_EXPOSED.format(host=emulator.host))
            if until_stdin_closes:
                _watch_stdin(end)
            if on_ready is not None:
                on_ready(emulator.ready)
            sys.stdout.write(orjson.dumps(emulator.ready).decode() + "\n")
            sys.stdout.flush()
            await stop.wait()
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _watch_stdin(end: Callable[[], None]) -> None:
    """Starts a daemon thread that calls `end` when standard input closes. There is no portable way to wait for a pipe
    in the event loop, and this thread holds no lock when the process ends.
    """

    def read_to_end() -> None:
        with contextlib.suppress(OSError, AttributeError, ValueError):
            descriptor = sys.stdin.fileno()
            while os.read(descriptor, 65_536):
                continue
        end()

    threading.Thread(target=read_to_end, name="socialapi-emulator-stdin", daemon=True).start()
