"""The front door: a `Client` opens the session and hands out the resources."""

import random
import re
import ssl as ssl_module
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast
from urllib.parse import unquote

import aiohttp
import attrs

from socialapi.config import Config
from socialapi.credentials import Credentials, credentials_from_env
from socialapi.errors import InvalidInput
from socialapi.routes.route import FAMILIES, Method, Route
from socialapi.session.calls import CallOptions
from socialapi.session.clock import Clock, SystemClock
from socialapi.session.pacer import Pacer, SlidingWindowPacer
from socialapi.session.session import Session
from socialapi.session.token_cache import MemoryTokenCache, TokenCache
from socialapi.session.transport import Transport
from socialapi.session.windows import LimitStatus
from socialapi.version import __version__
from socialapi.wire.response import Reply

if TYPE_CHECKING:
    from socialapi.resources.ads.ads import Ads
    from socialapi.resources.catalogs.catalog import Catalog
    from socialapi.resources.catalogs.catalogs import Catalogs
    from socialapi.resources.platform.activity import Activity
    from socialapi.resources.platform.connections import Connections
    from socialapi.resources.platform.content import Articles, News, Notes, Powerstream
    from socialapi.resources.platform.filtered_stream import FilteredStream
    from socialapi.resources.platform.oauth import OAuth
    from socialapi.resources.platform.posts import Posts
    from socialapi.resources.platform.webhooks import Webhooks

_OPEN_FAMILIES: Final = tuple(name for name, family in FAMILIES.items() if family.credentials)
_PATH: Final = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)+")


class Client:
    """The service, as an async context manager. One client serves a whole application and all of its tasks.

        async with Client(Config(ads_url="https://…"), credentials=[OAuth1(…)]) as client:
            report = await client.ads.account("18ce5").custom_audience("4f2a").upload("crm.csv")

    Of `credentials`, each API takes the kind that it prefers. `token_cache`, `pacer` and `clock` replace the
    defaults (memory, sliding windows, the machine's clock). `session` is an aiohttp session of yours, which stays
    open; `connector`, `trace_configs`, `proxy` and `ssl` go to the one that is made otherwise.
    """

    def __init__(
        self,
        config: Config | None = None,
        credentials: Sequence[Credentials] = (),
        *,
        token_cache: TokenCache | None = None,
        pacer: Pacer | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        session: aiohttp.ClientSession | None = None,
        connector: aiohttp.BaseConnector | None = None,
        trace_configs: Sequence[aiohttp.TraceConfig] = (),
        proxy: str | None = None,
        ssl: ssl_module.SSLContext | bool = True,
    ) -> None:
        self.config = config or Config()
        clock = clock or SystemClock()
        transport = Transport(
            self.config,
            user_agent=f"aiosocialapi/{__version__}",
            session=session,
            connector=connector,
            trace_configs=trace_configs,
            proxy=proxy,
            ssl=ssl,
        )
        self._session = Session(
            self.config,
            credentials=tuple(credentials),
            transport=transport,
            token_cache=token_cache or MemoryTokenCache(),
            pacer=pacer or SlidingWindowPacer(self.config, clock),
            clock=clock,
            rng=rng or random.Random(),  # noqa: S311  # jitter is no secret
        )
        self._options = CallOptions.interactive(self.config)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self:
        """A client whose hosts and credentials come from `SOCIALAPI_*` variables.

        Raises ConfigurationError when they contradict each other; what is missing is said when a call needs it.
        """
        return cls(Config.from_env(environ), credentials_from_env(environ))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes every connection. Idempotent; calls made afterwards raise RuntimeError."""
        await self._session.aclose()

    def with_options(
        self,
        *,
        timeout_seconds: float | None = None,
        max_wait_seconds: float | None = None,
        retries: int | None = None,
    ) -> Self:
        """A view of this client with other limits for its calls, sharing session, tokens and pacer.

        `timeout_seconds` bounds one attempt, `max_wait_seconds` one wait (for a limit or between attempts), and
        `retries` says how often a failed attempt is repeated where that is safe. Jobs wait and repeat by rules of
        their own (`Config.max_elapsed_seconds`, `.bulk_max_wait_seconds`); of these, only the timeout is theirs too. Raises ConfigurationError for a
        value that makes no sense.
        """
        given = {"timeout_seconds": timeout_seconds, "max_wait_seconds": max_wait_seconds, "retries": retries}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view.config = attrs.evolve(self.config, **changes)
        view._options = CallOptions.interactive(view.config)
        return view

    @property
    def limits(self) -> Mapping[str, LimitStatus]:
        """What is known of each rate-limit window now, by limit and account."""
        return self._session.pacer.limits()

    @property
    def ads(self) -> "Ads":
        """The advertising API."""
        from socialapi.resources.ads.ads import Ads

        return Ads(self._session, self._options)

    @property
    def catalogs(self) -> "Catalogs":
        """Product catalogs."""
        from socialapi.resources.catalogs.catalogs import Catalogs

        return Catalogs(self._session, self._options)

    def catalog(self, product_catalog_id: str) -> "Catalog":
        """The product catalog with this id; nothing is sent yet."""
        from socialapi.resources.catalogs.catalog import Catalog

        return Catalog(self._session, self._options, product_catalog_id)

    @property
    def posts(self) -> "Posts":
        """Posts."""
        from socialapi.resources.platform.posts import Posts

        return Posts(self._session, self._options)

    @property
    def webhooks(self) -> "Webhooks":
        """Webhook configurations."""
        from socialapi.resources.platform.webhooks import Webhooks

        return Webhooks(self._session, self._options)

    @property
    def filtered_stream(self) -> "FilteredStream":
        """The app's filtered stream: its rules, and its link to a webhook."""
        from socialapi.resources.platform.filtered_stream import FilteredStream

        return FilteredStream(self._session, self._options)

    @property
    def connections(self) -> "Connections":
        """Streaming connections."""
        from socialapi.resources.platform.connections import Connections

        return Connections(self._session, self._options)

    @property
    def activity(self) -> "Activity":
        """Activity subscriptions and the stream of their events."""
        from socialapi.resources.platform.activity import Activity

        return Activity(self._session, self._options)

    @property
    def articles(self) -> "Articles":
        """Articles."""
        from socialapi.resources.platform.content import Articles

        return Articles(self._session, self._options)

    @property
    def news(self) -> "News":
        """Trending news stories."""
        from socialapi.resources.platform.content import News

        return News(self._session, self._options)

    @property
    def notes(self) -> "Notes":
        """Community notes."""
        from socialapi.resources.platform.content import Notes

        return Notes(self._session, self._options)

    @property
    def powerstream(self) -> "Powerstream":
        """A dedicated stream instance."""
        from socialapi.resources.platform.content import Powerstream

        return Powerstream(self._session, self._options)

    @property
    def oauth(self) -> "OAuth":
        """Tokens."""
        from socialapi.resources.platform.oauth import OAuth

        return OAuth(self._session, self._options)

    async def request(
        self,
        method: Method,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        family: str = "platform",
    ) -> Reply:
        """Any endpoint, also one this version does not know: `status`, `headers` and decoded `body` of the answer.

        `path` begins with the version (`/2/…`, `/12/…`) and is percent-encoded; parameters go into `params`. `family`
        (platform, platform_user, platform_caller, ads, ads_sandbox) chooses host and credentials. Authentication, retries and limits are those of
        every other call; only GET and PUT are repeated after an unknown outcome. Raises ApiError for an answer that
        is no success, InvalidInput for a path that would not arrive as it is.
        """
        if family not in _OPEN_FAMILIES:
            raise InvalidInput(f"family must be one of {', '.join(_OPEN_FAMILIES)}")
        if not _PATH.fullmatch(path) or any(unquote(segment) in (".", "..") for segment in path.split("/")):
            raise InvalidInput(
                "path must begin with a slash, for example /2/tweets, and have percent-encoded segments, none of which "
                "is . or ..; query parameters go into params"
            )
        verb = cast("Method", method.upper())
        from socialapi.routes.matching import documented_limit, label_of

        limit, counted_by = documented_limit(verb, FAMILIES[family], path)
        repeatable = verb in ("GET", "PUT")
        route = Route(
            verb,
            FAMILIES[family],
            path,
            object,
            None,
            "json",
            repeatable=repeatable,
            rate_limit=limit,
            label=label_of(path),
        )
        return await self._session.request(route.at(**counted_by), options=self._options, query=params, body=json)
