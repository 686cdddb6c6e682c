"""The `Client`: opens the session and gives access to the resources."""

import contextlib
import functools
import os
import random
import ssl as ssl_module
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, TypeGuard
from urllib.parse import quote

import attrs

from socialapi.config import Config, environment
from socialapi.credentials import Credentials, by_kind, credentials_from_env
from socialapi.errors import ConfigurationError, DecodeError, InvalidInput
from socialapi.internal.logs import log_as_asked
from socialapi.internal.secret import HiddenMapping, hidden
from socialapi.session.clock import Clock, SystemClock
from socialapi.session.token_cache import MemoryTokenCache, TokenCache

if TYPE_CHECKING:
    import aiohttp
    from typing_extensions import TypeVar

    from socialapi.integrations.redis import RedisPacer, RedisTokenCache
    from socialapi.integrations.telemetry import RedisTelemetry
    from socialapi.resources.ads import Ads
    from socialapi.resources.catalogs import Catalog, Catalogs
    from socialapi.resources.content import Articles, News, Notes, Powerstream
    from socialapi.resources.oauth import OAuth
    from socialapi.resources.posts import Posts
    from socialapi.resources.streams import Activity, Connections, FilteredStream
    from socialapi.resources.webhooks import Webhooks
    from socialapi.routes.route import Method
    from socialapi.routes.undeclared import Api, Auth
    from socialapi.session.call import ReplyInfo
    from socialapi.session.network import Network
    from socialapi.session.options import CallOptions
    from socialapi.session.pager import Pager
    from socialapi.session.rate_limiter import LimitStatus, Pacer
    from socialapi.session.session import Session
    from socialapi.session.telemetry import Telemetry
    from socialapi.session.transport import Transport
    from socialapi.session.usage import Usage
    from socialapi.wire.response import Reply

    A = TypeVar("A", default=Reply)
else:
    from typing import TypeVar

    A = TypeVar("A")

M = TypeVar("M")


class Client:
    """An asynchronous client for the service. One client serves an entire application with all its tasks.

        async with Client(Config(ads_url="https://…"), credentials=[OAuth1(…)]) as client:
            report = await client.ads.account("18ce5").custom_audience("4f2a").upload("crm.csv")

    Each API uses the kind of `credentials` that it prefers. `token_cache`, `pacer` and `clock` replace the defaults (in
    memory, sliding windows, system clock). `session` is your own aiohttp session, which stays open; without it, the
    client creates one with `connector` and `trace_configs`.

    `proxy` is the URL of an HTTP proxy for all requests, optionally with user name and password. Without it, the
    variables `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` apply, except to requests to this machine and to your own
    session; `proxy=False` ignores them. `ssl` is the context of TLS connections. By default, the system's certificate
    authorities are trusted, or those in `SSL_CERT_FILE` and `SSL_CERT_DIR` if these variables are set. See the page on
    networks in the documentation.

    `headers` are sent with every request, in addition to the headers that the SDK sets, which cannot be changed.

    `telemetry=True` emits OpenTelemetry spans and metrics, which needs the extra `[otel]`. By default, the variable
    `SOCIALAPI_TELEMETRY` decides. See the page on telemetry. `SOCIALAPI_LOG=debug` (or `info`, `warning`, `error`)
    prints log records to standard error.

    `on_reply` is called after every attempt of a call with a `ReplyInfo`: method, path, status, headers, request id,
    seconds and attempt number. It must be a plain function, and should be fast.

    A client belongs to one event loop at a time. It can be used in another loop once the first is closed, unless you
    passed a session, connector or pacer.

    Raises ConfigurationError for invalid arguments.
    """

    def __init__(
        self,
        config: Config | None = None,
        credentials: Sequence[Credentials] = (),
        *,
        token_cache: TokenCache | None = None,
        pacer: "Pacer | None" = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        session: "aiohttp.ClientSession | None" = None,
        connector: "aiohttp.BaseConnector | None" = None,
        trace_configs: "Sequence[aiohttp.TraceConfig]" = (),
        proxy: str | Literal[False] | None = None,
        ssl: ssl_module.SSLContext | bool = True,
        headers: Mapping[str, str] | None = None,
        telemetry: bool | None = None,
        on_reply: "Callable[[ReplyInfo], object] | None" = None,
    ) -> None:
        _check_objects(token_cache=token_cache, pacer=pacer, clock=clock, rng=rng, session=session, connector=connector)
        _check_objects(on_reply=on_reply)
        _check_lists(credentials=credentials, trace_configs=trace_configs)
        if session is not None and (connector is not None or trace_configs):
            raise ConfigurationError("connector and trace_configs belong to a session: set them on that session")
        proxy = hidden(proxy)  # it may contain a password
        _check_network(proxy, ssl)
        log_as_asked(os.environ)
        self.config: Config = _checked(config)
        further = _checked_headers(headers)
        self._headers: Callable[[], Mapping[str, str]] = lambda: further
        clock = clock or SystemClock()
        rng = rng or random.Random()  # noqa: S311  # jitter is no secret
        self._owned: tuple[RedisPacer | RedisTokenCache, ...] = ()
        # Stored in functions, so that no repr or traceback of the client shows the environment and headers.
        self._environment: Callable[[], tuple[Mapping[str, str], bool]] = lambda: (HiddenMapping(os.environ), False)
        self._open: Callable[[Mapping[str, str], bool], Session] = functools.partial(
            _open_session,
            self.config,
            tuple(by_kind(credentials).values()),
            token_cache=token_cache or MemoryTokenCache(),
            pacer=pacer,
            clock=clock,
            rng=rng,
            session=session,
            connector=connector,
            trace_configs=trace_configs,
            proxy=proxy,
            ssl=ssl,
            telemetry=_telemetry(_wants_telemetry(telemetry, os.environ), clock),
            on_reply=on_reply,
        )

    @functools.cached_property
    def _session(self) -> "Session":
        """The session of all calls. It is created on first use, which imports the modules that it needs."""
        return self._open(*self._environment())

    @functools.cached_property
    def _options(self) -> "CallOptions":
        from socialapi.session.options import CallOptions

        return CallOptions.interactive(self.config, self._headers())

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        config: Config | None = None,
        credentials: Sequence[Credentials] | None = None,
        token_cache: TokenCache | None = None,
        pacer: "Pacer | None" = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        session: "aiohttp.ClientSession | None" = None,
        connector: "aiohttp.BaseConnector | None" = None,
        trace_configs: "Sequence[aiohttp.TraceConfig]" = (),
        proxy: str | Literal[False] | None = None,
        ssl: ssl_module.SSLContext | bool = True,
        headers: Mapping[str, str] | None = None,
        telemetry: bool | None = None,
        on_reply: "Callable[[ReplyInfo], object] | None" = None,
    ) -> Self:
        """Returns a client configured by `SOCIALAPI_*` variables: hosts, credentials, proxy, TLS.

        With `SOCIALAPI_TELEMETRY=1`, the client emits spans and metrics. With `SOCIALAPI_REDIS_URL`, it shares its
        quota and tokens with other processes through Redis; `SOCIALAPI_REDIS_NAMESPACE` separates apps. `environ`
        replaces the environment of the process. The keywords of `Client` are accepted and override the variables.
        Raises ConfigurationError if variables contradict each other.
        """
        env = environment(environ)
        log_as_asked(env)
        config = config or Config.from_env(env)
        owned = _kept_in_redis(env, _checked(config), clock, (pacer is None, token_cache is None), telemetry)
        client = cls(
            config,
            credentials_from_env(env) if credentials is None else credentials,
            token_cache=token_cache or owned[1],
            pacer=pacer or owned[0],
            clock=clock,
            rng=rng,
            session=session,
            connector=connector,
            trace_configs=trace_configs,
            proxy=proxy,
            ssl=ssl,
            headers=headers,
            telemetry=_wants_telemetry(telemetry, env),
            on_reply=on_reply,
        )
        client._owned = tuple(each for each in owned if each is not None)
        client._environment = lambda: (HiddenMapping(env), True)
        return client

    def __repr__(self) -> str:
        # A traceback may show a client whose arguments were rejected.
        return f"<socialapi.Client of {self.config.addresses if 'config' in self.__dict__ else 'no host'}>"

    async def __aenter__(self) -> Self:
        """Imports the modules that every call needs, so that the first call is not slower."""
        import socialapi.resources.resource  # noqa: F401

        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes every connection. Safe to call twice. A closed client raises RuntimeError when it is used."""
        async with contextlib.AsyncExitStack() as closing:
            for each in self._owned:
                closing.push_async_callback(each.aclose)
            if "_session" in self.__dict__:
                await self._session.aclose()
            else:
                self._open = _refuse_closed  # nothing was opened, and closing must not open it

    def with_options(
        self,
        *,
        timeout_seconds: float | None = None,
        max_wait_seconds: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Returns a view of this client with other options. The view shares the client's session, tokens and pacer.

        `timeout_seconds` limits one attempt, and `max_wait_seconds` limits all waits of a call together (for rate
        limits, for tokens, and between attempts). `retries` is the number of times that a failed attempt is retried
        where that is safe. `headers` are sent in addition to this client's headers, and replace headers with the same
        name. Bulk jobs use only the timeout and the headers; their waits and retries follow
        `Config.max_elapsed_seconds` and `Config.bulk_max_wait_seconds`. Fetching an app-only token uses the options of
        the call that needs it. Raises ConfigurationError for an invalid value.
        """
        given = {"timeout_seconds": timeout_seconds, "max_wait_seconds": max_wait_seconds, "retries": retries}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if isinstance(max_wait_seconds, int | float):
            changes["pool_wait_seconds"] = min(self.config.pool_wait_seconds, max_wait_seconds)
        view = object.__new__(type(self))
        # The view creates the resources, which are cached properties, with its own options.
        own = {name for name in self.__dict__ if isinstance(getattr(type(self), name, None), functools.cached_property)}
        shared = {name: value for name, value in self.__dict__.items() if name not in own}
        view.__dict__.update(shared, config=attrs.evolve(self.config, **changes), _session=self._session)
        further = {**self._headers(), **_checked_headers(headers)}
        view._headers = lambda: further
        return view

    @property
    def limits(self) -> "Mapping[str, LimitStatus]":
        """The current state of each rate limit, by limit and account."""
        return self._session.pacer.limits()

    @property
    def usage(self) -> "Usage":
        """The usage of this client and its views so far: resources read by kind, requests sent by route, and the start
        time.
        """
        return self._session.usage.usage()

    @functools.cached_property
    def ads(self) -> "Ads":
        """The advertising API: accounts and their resources."""
        from socialapi.resources.ads import Ads

        return Ads(self._session, self._options)

    @functools.cached_property
    def catalogs(self) -> "Catalogs":
        """Product catalogs: listing, creating and deleting them."""
        from socialapi.resources.catalogs import Catalogs

        return Catalogs(self._session, self._options)

    def catalog(self, product_catalog_id: str | int) -> "Catalog":
        """Returns the resource of a product catalog. Sends nothing."""
        from socialapi.resources.catalogs import Catalog

        return Catalog(self._session, self._options, product_catalog_id=product_catalog_id)

    @functools.cached_property
    def posts(self) -> "Posts":
        """Reading and creating posts."""
        from socialapi.resources.posts import Posts

        return Posts(self._session, self._options)

    @functools.cached_property
    def webhooks(self) -> "Webhooks":
        """The app's webhook configurations."""
        from socialapi.resources.webhooks import Webhooks

        return Webhooks(self._session, self._options)

    @functools.cached_property
    def filtered_stream(self) -> "FilteredStream":
        """The app's filtered stream, its rules, and its link to a webhook."""
        from socialapi.resources.streams import FilteredStream

        return FilteredStream(self._session, self._options)

    @functools.cached_property
    def connections(self) -> "Connections":
        """The app's streaming connections."""
        from socialapi.resources.streams import Connections

        return Connections(self._session, self._options)

    @functools.cached_property
    def activity(self) -> "Activity":
        """Activity subscriptions and the stream of their events."""
        from socialapi.resources.streams import Activity

        return Activity(self._session, self._options)

    @functools.cached_property
    def articles(self) -> "Articles":
        """Drafting and publishing articles."""
        from socialapi.resources.content import Articles

        return Articles(self._session, self._options)

    @functools.cached_property
    def news(self) -> "News":
        """Trending news stories."""
        from socialapi.resources.content import News

        return News(self._session, self._options)

    @functools.cached_property
    def notes(self) -> "Notes":
        """Writing and reading community notes."""
        from socialapi.resources.content import Notes

        return Notes(self._session, self._options)

    @functools.cached_property
    def powerstream(self) -> "Powerstream":
        """Powerstream, a dedicated stream instance."""
        from socialapi.resources.content import Powerstream

        return Powerstream(self._session, self._options)

    @functools.cached_property
    def oauth(self) -> "OAuth":
        """Tokens and sign-in."""
        from socialapi.resources.oauth import OAuth

        return OAuth(self._session, self._options)

    async def request(
        self,
        method: "Method",
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        api: "Api" = "platform",
        auth: "Auth | None" = None,
        result: type[A] | None = None,
    ) -> A:
        """Calls any endpoint, including endpoints that this version does not know.

        Returns a `Reply` with `status`, `headers` and the decoded `body`, or an instance of `result`: an attrs class, a
        dataclass, a TypedDict, `dict`, a model of this package, or a list or Page of one of these. The result is read
        from `data` if the response contains it, and from the complete response otherwise.

        `path` begins with the version (`/2/…`, `/12/…`) and is percent-encoded; query parameters go into `params`, and
        a body into `json`. `api` selects the host. `auth` restricts the credentials to the app's or a user's; by
        default, the API's preferred kind is used. Retries and rate limits apply as in every call; only GET and PUT are
        retried after an unknown outcome.

        Raises InvalidInput for an invalid method, path, `api`, `auth` or `result`, ConfigurationError if there is no
        such credential, ApiError for an unsuccessful response, TransportError or OutcomeUnknown if there is no
        response, RateLimitTooLong if the wait for a slot would be too long, and DecodeError for a response that is too
        large or does not fit `result`.
        """
        from socialapi.routes.undeclared import ad_hoc_target
        from socialapi.wire.decode import check_model

        if result is not None:
            check_model("result", result)
        kind: Any = object if result is None else result
        target = ad_hoc_target(method, path, api, auth, kind)
        call = self._session.prepare(target, options=self._options, query=params, body=json)
        del params, json  # they may contain secrets, and a traceback would show them
        reply: Any = await self._session.send(call)
        answer: A = reply if result is None else self._session.result_of(call, reply)
        if result is not None:
            return answer
        try:
            reply.check_complete(executed=target.route.method != "GET")
        except DecodeError as problem:
            call.located(problem)
            raise
        return answer

    def pages(
        self,
        method: Literal["GET"],
        path: str,
        *,
        item: type[M],
        api: "Api" = "platform",
        auth: "Auth | None" = None,
        params: Mapping[str, Any] | None = None,
        start: str | None = None,
        token_parameter: str | None = None,
        key: str = "id",
    ) -> "Pager[M]":
        """Returns a pager over any collection, including collections that this version does not know.

        The items are decoded as `item`: an attrs class, a dataclass, a TypedDict, `dict`, or a model of this package.
        `token_parameter` is the parameter for the token of the next page, by default `pagination_token`, or `cursor` in
        the advertising API. `key` is the field that identifies an item, so that `start=`, a stored `Pager.position`,
        can find it again. The other arguments are the same as for `request`. The page size is the service's default
        unless `params` sets it.

        Raises InvalidInput for invalid arguments. Iterating raises the errors of `request`.
        """
        from socialapi.models.pages import Page
        from socialapi.resources.arguments import check_argument
        from socialapi.resources.resource import Resource
        from socialapi.routes.undeclared import ad_hoc_target
        from socialapi.wire.decode import check_model

        if str(method).upper() != "GET":
            raise InvalidInput("pages are read with GET: for other methods, use client.request")
        check_model("item", item)
        check_argument("token_parameter", str | None, token_parameter)
        check_argument("key", str, key)
        kind: Any = Page
        route = ad_hoc_target(method, path, api, auth, kind[item], token_parameter)
        return Resource(self._session, self._options, **route.path_parameters)._pages(  # noqa: SLF001  # the client is the resource of undeclared routes
            route.route, query=params, start=start, key=key
        )


_METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "token_cache": ("load", "store", "discard", "lock"),
    "pacer": ("acquire", "limits", "requests_per_second"),
    "clock": ("time", "monotonic", "sleep"),
    "rng": ("random",),
    "session": ("request", "close"),
    "connector": ("connect", "close"),
    "on_reply": ("__call__",),
    "trace_configs": ("freeze",),
}
"""The methods that objects passed to a client must have. Their classes do not matter."""


def _open_session(
    settings: Config,
    credentials: tuple[Credentials, ...],
    environ: Mapping[str, str],
    own: bool,
    *,
    token_cache: TokenCache,
    pacer: "Pacer | None",
    clock: Clock,
    rng: random.Random,
    session: "aiohttp.ClientSession | None",
    connector: "aiohttp.BaseConnector | None",
    trace_configs: "Sequence[aiohttp.TraceConfig]",
    proxy: str | Literal[False] | None,
    ssl: ssl_module.SSLContext | bool,
    telemetry: "Telemetry | None",
    on_reply: "Callable[[ReplyInfo], object] | None",
) -> "Session":
    """Opens the session of a client. Only this function imports the modules of a session."""
    from socialapi.session.network import Network
    from socialapi.session.rate_limiter import SlidingWindowPacer
    from socialapi.session.session import Session

    has_session, has_connector = session is not None, connector is not None
    return Session(
        settings,
        credentials=credentials,
        network=Network.of(
            environ, own=own, proxy=proxy, ssl=ssl, has_session=has_session, has_connector=has_connector
        ),
        open_transport=functools.partial(_open, session=session, connector=connector, trace_configs=trace_configs),
        token_cache=token_cache,
        pacer=pacer or SlidingWindowPacer(settings, clock),
        clock=clock,
        rng=rng,
        telemetry=telemetry,
        on_reply=on_reply,
        can_change_loop=not has_session and not has_connector and pacer is None,
        counts_places=not has_session and not has_connector,
    )


def _open(config: Config, network: "Network", **options: Any) -> "Transport":
    """Opens the transport. Imports its modules here, because only requests need them."""
    from socialapi.session.transport import Transport

    return Transport(config, network, **options)


_SWITCH: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("", "0", "false", "no", "off"), False),
}


def _wants_telemetry(given: bool | None, environ: Mapping[str, str]) -> bool:
    """Returns whether telemetry is enabled, by the argument or otherwise by the environment."""
    if given is None:
        given = _SWITCH.get(environ.get("SOCIALAPI_TELEMETRY", "").strip().lower())
        if given is None:
            raise ConfigurationError("SOCIALAPI_TELEMETRY must be 1 or 0")
    elif not isinstance(given, bool):
        raise ConfigurationError(f"telemetry must be True, False or None, not {type(given).__name__}")
    return given


def _telemetry(is_wanted: bool, clock: Clock) -> "Telemetry | None":
    """Returns the telemetry of a client. Raises ConfigurationError if the library is missing."""
    if not is_wanted:
        return None
    from socialapi.session.telemetry import Telemetry

    return Telemetry(clock)


def _kept_in_redis(
    environ: Mapping[str, str],
    config: Config,
    clock: Clock | None,
    wanted: tuple[bool, bool],
    wants_telemetry: bool | None,
) -> "tuple[RedisPacer | None, RedisTokenCache | None]":
    """Returns the pacer and the token cache in Redis. Each is None if it is not wanted or the environment does not
    configure Redis. They connect on first use.
    """
    url = redis_url(environ) if any(wanted) else None
    if url is None:
        return None, None
    from socialapi.integrations.redis import RedisPacer, RedisTokenCache

    telemetry = redis_telemetry(environ, wants_telemetry, clock)
    namespace = environ.get("SOCIALAPI_REDIS_NAMESPACE", "")
    pacer = RedisPacer(url, config, namespace=namespace, clock=clock, telemetry=telemetry)
    tokens = RedisTokenCache(url, telemetry=telemetry)
    return pacer if wanted[0] else None, tokens if wanted[1] else None


def redis_telemetry(
    environ: Mapping[str, str], is_wanted: bool | None = None, clock: Clock | None = None
) -> "RedisTelemetry | None":
    """Returns the telemetry of Redis connections if telemetry is enabled. Raises ConfigurationError if the library is
    missing.
    """
    if not _wants_telemetry(is_wanted, environ):
        return None
    from socialapi.integrations.telemetry import RedisTelemetry

    return RedisTelemetry(clock)


def redis_url(environ: Mapping[str, str]) -> str | None:
    """Returns the URL of Redis with the certificates that the environment configures, or None if no URL is set. Raises
    ConfigurationError if the library is missing or a file cannot be read.
    """
    url = environ.get("SOCIALAPI_REDIS_URL", "").strip()
    if not url:
        return None
    try:
        import socialapi.integrations.redis  # noqa: F401
    except ImportError as missing:
        raise ConfigurationError(f"SOCIALAPI_REDIS_URL is set, but {missing}") from None
    return _with_certificates(url, environ) if url.startswith("rediss:") else url


def _with_certificates(url: str, environ: Mapping[str, str]) -> str:
    from socialapi.session.network import Certificates

    found = Certificates.from_env(environ, own=True, common=False)
    if found is None:
        return url
    found.context()  # raises an error with the name of a file that cannot be read
    options = {
        "ssl_ca_certs": (found.authorities or ("", ""))[1],
        "ssl_certfile": (found.client or ("", ""))[1],
        "ssl_keyfile": (found.key or found.client or ("", ""))[1],
        "ssl_password": found.password,
    }
    # Appended, so that the options in the URL take precedence: the library uses the first value of an option.
    query = "&".join(f"{name}={quote(text, safe='')}" for name, text in options.items() if text)
    return f"{url}{'&' if '?' in url else '?'}{query}"


def _check_objects(**given: object) -> None:
    for name, value in given.items():
        if value is not None and not _has_methods(name, value):
            raise ConfigurationError(
                f"{name} must have the methods {', '.join(_METHODS[name])}, but {type(value).__name__} does not"
            )


def _has_methods(name: str, value: object) -> bool:
    return not isinstance(value, type) and all(callable(getattr(value, each, None)) for each in _METHODS[name])


def _checked_headers(given: Mapping[str, str] | None) -> Mapping[str, str]:
    if given is None:
        return {}  # the usual case, in which `options` has not been imported yet
    from socialapi.session.options import checked_headers

    return checked_headers(given)


def _check_lists(*, credentials: object, trace_configs: object) -> None:
    if isinstance(credentials, Credentials):
        raise ConfigurationError(f"credentials must be a list: credentials=[{type(credentials).__name__}(…)]")
    if not _is_list(credentials):
        raise ConfigurationError(f"credentials must be a list of credentials, not {type(credentials).__name__}")
    if not _is_list(trace_configs) or not all(_has_methods("trace_configs", each) for each in trace_configs):
        raise ConfigurationError("trace_configs must be a list of aiohttp.TraceConfig")


def _checked(config: Config | None) -> Config:
    if not isinstance(config, Config | None):
        raise ConfigurationError(f"config must be Config(base_url=…, …), not {type(config).__name__}")
    return config or Config()


def _check_network(proxy: str | Literal[False] | None, ssl: ssl_module.SSLContext | bool) -> None:
    """Raises ConfigurationError for invalid arguments immediately, rather than at the first call.

    Environment variables are read at the first call.
    """
    if proxy is None and ssl is True:
        return  # the usual case, in which `network` has not been imported yet
    from socialapi.session.network import Network

    Network.of({}, own=False, proxy=proxy, ssl=ssl)


def _is_list(value: object) -> TypeGuard[Iterable[object]]:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _refuse_closed(environ: Mapping[str, str], own: bool) -> NoReturn:
    raise RuntimeError("this client is closed")
