"""The front door."""

import asyncio
import inspect
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import aiohttp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from socialapi import AppOnly, Bearer, Client, Config, MemoryTokenCache, OAuth1
from socialapi.errors import ApiError, ConfigurationError, InvalidInput, NotFound, RateLimitTooLong, TransportError
from socialapi.routes.route import RateLimit
from socialapi.session.rate_limiter import LimitStatus, Slot
from socialapi.session.session import Session
from socialapi.wire.rate_limit_headers import LimitReading
from tests.support.clients import BEARER, OPERATION, USER, client_of
from tests.support.clock import VirtualClock
from tests.support.server import Server, answer

# The escape hatch


async def test_any_endpoint_can_be_asked_and_its_answer_comes_as_it_is() -> None:
    made = answer({"data": {"id": "1"}}, status=201, X_Request_Id="abc")
    async with Server(made) as server, client_of(server) as client:
        reply = await client.request("POST", "/2/anything", params={"a": [1, 2], "b": True}, json={"text": "hallo"})
    assert (reply.status, reply.headers["x-request-id"], reply.body) == (201, "abc", {"data": {"id": "1"}})
    (request,) = server.requests
    assert (request.method, request.path, request.json) == ("POST", "/2/anything?a=1%2C2&b=true", {"text": "hallo"})
    assert request.headers["content-type"] == "application/json"


async def test_an_answer_without_a_body_is_fine() -> None:
    async with Server(answer(status=204)) as server, client_of(server) as client:
        reply = await client.request("DELETE", "/2/anything")
    assert (reply.status, reply.body) == (204, b"")


async def test_an_answer_that_is_no_success_is_an_error() -> None:
    missing = answer({"title": "Not Found", "type": "about:blank"}, status=404)
    async with Server(missing) as server, client_of(server) as client:
        with pytest.raises(NotFound, match="GET /2/anything: 404: Not Found"):
            await client.request("GET", "/2/anything")


@pytest.mark.parametrize(
    ("api", "auth", "path", "scheme"),
    [
        ("platform", None, "/2/x", "Bearer"),
        ("platform", "app", "/2/x", "Bearer"),
        ("platform", "user", "/2/x", "OAuth"),
        ("ads", None, "/ads/2/x", "OAuth"),
        ("ads", "app", "/ads/2/x", "Bearer"),
        ("ads_sandbox", None, "/ads-sandbox/2/x", "OAuth"),
    ],
)
async def test_the_api_chooses_the_host_and_auth_the_credential(api: Any, auth: Any, path: str, scheme: str) -> None:
    async with Server() as server, client_of(server) as client:
        await client.request("GET", "/2/x", api=api, auth=auth)
    (request,) = server.requests
    assert request.path == path
    assert request.headers["authorization"].startswith(scheme)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "2/tweets",
        "https://evil.example.com/2/tweets",
        "/2/tweets?ids=1",
        "/2/tweets#top",
        "/2/a b",
        "/2/é",
        "/2/{id}",
        "/2/50%",
        "/2/%zz",
        "/2/x HTTP/1.1\r\nX-Evil: 1",
        "/2/x\n",
        "/2/x\\y",
        "/2/../oauth2/token",
        "/2/./x",
        "/2/..",
        "/2/%2e%2E/oauth2/token",
    ],
)
async def test_a_path_that_would_not_arrive_as_it_is_given_is_refused(path: str) -> None:
    async with Server() as server, client_of(server) as client:
        with pytest.raises(InvalidInput, match="path must start with a slash, for example /2/tweets"):
            await client.request("GET", path)
    assert server.requests == []


@given(st.text(st.sampled_from("/ab.%2eF?# \r\n\t\\{}é@:")))
@example("/2/tweets")
def test_no_path_reaches_another_host_or_smuggles_a_second_request(path: str) -> None:
    async def run() -> None:
        async with Client(Config(base_url="http://127.0.0.1:1", retries=0), [BEARER]) as client:
            with pytest.raises((InvalidInput, TransportError)) as caught:
                await client.request("GET", path)
            if not isinstance(caught.value, InvalidInput):
                assert path.startswith("/")
                assert path.isascii()
                assert not set(path) & set(' \r\n\t\0?#\\{}<>"`^|')
                assert not {".", ".."} & set(unquote(path).split("/"))

    asyncio.run(run())


@pytest.mark.parametrize("name", ["oauth", "nonsense", "", None, 5])
async def test_an_api_that_is_not_there_is_refused(name: Any) -> None:
    async with client_of("http://localhost:1") as client:
        with pytest.raises(InvalidInput, match="api must be one of platform, ads, ads_sandbox"):
            await client.request("GET", "/2/x", api=name)


async def test_a_body_that_cannot_be_sent_is_refused() -> None:
    async with client_of("http://localhost:1") as client:
        with pytest.raises(InvalidInput, match="cannot be sent as JSON"):
            await client.request("POST", "/2/x", json={"a": {1, 2}})


# Views


async def test_a_view_has_limits_of_its_own_and_shares_everything_else(clock: VirtualClock) -> None:
    async with Server(then=answer(status=503)) as server, client_of(server, clock) as client:
        view = client.with_options(retries=1, max_wait_seconds=0.1, timeout_seconds=3.0)
        with pytest.raises(ApiError) as caught:
            await view.request("GET", "/2/x")
        assert caught.value.attempts == len(server.requests) == 2
        assert clock.sleeps == [0.1]
        assert view.limits.keys() == client.limits.keys() == {"GET /2/*"}
        assert view._session is client._session
        assert (view.config.retries, client.config.retries) == (1, 4)
        nested = view.with_options(retries=0)
        with pytest.raises(ApiError):
            await nested.request("GET", "/2/x")
        assert (len(server.requests), nested.config.max_wait_seconds) == (3, 0.1)


async def test_a_view_that_may_not_wait_is_refused_at_once(clock: VirtualClock) -> None:
    said = answer({}, x_rate_limit_limit="15", x_rate_limit_remaining="0", x_rate_limit_reset="1800000030")
    async with Server(said) as server, client_of(server, clock) as client:
        await client.request("GET", "/2/x")
        with pytest.raises(RateLimitTooLong, match="frees up in 30 s"):
            await client.with_options(max_wait_seconds=29).request("GET", "/2/x")
        assert clock.sleeps == []
        await client.request("GET", "/2/x")
        assert clock.monotonic() == 30.0


@pytest.mark.parametrize("options", [{"retries": -1}, {"timeout_seconds": 0}, {"max_wait_seconds": -1.0}])
def test_a_view_with_limits_that_make_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        client_of("http://localhost:1").with_options(**options)


async def test_a_view_of_a_client_that_is_closed_is_closed() -> None:
    async with Server() as server:
        client = client_of(server)
        view = client.with_options(retries=0)
        await client.aclose()
        with pytest.raises(RuntimeError, match="this client is closed"):
            await view.request("GET", "/2/x")


# Further headers


async def test_further_headers_go_with_every_call(clock: VirtualClock) -> None:
    token = answer({"token_type": "bearer", "access_token": "abc"})
    async with Server(token, then=answer({"data": []})) as server:
        options = {"headers": {"X-Gateway": "one", "x-b": "2"}}
        async with client_of(server, clock, credentials=(AppOnly("key", "secret"),), options=options) as client:
            await client.posts.by_user("1").first()
            view = client.with_options(headers={"x-gateway": "two"}).with_options(retries=0, headers={"X-C": "3"})
            await view.posts.by_user("1").first()
            await view.request("GET", "/2/x")
            await client.request("GET", "/2/x")
    sent = [{name: each.headers.get(name) for name in ("x-gateway", "x-b", "x-c")} for each in server.requests]
    plain, changed = {"x-gateway": "one", "x-b": "2", "x-c": None}, {"x-gateway": "two", "x-b": "2", "x-c": "3"}
    assert sent == [plain, plain, changed, changed, plain]
    assert all(each.headers["user-agent"].startswith("aiosocialapi/") for each in server.requests)


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        *(
            ({name: "planted"}, f"the header {name} is set by the SDK")
            for name in ("Authorization", "user-agent", "HOST")
        ),
        *(
            ({name: "planted"}, "is set by the SDK")
            for name in ("Accept", "Content-Type", "Content-Length", "Connection")
        ),
        ({"two words": "planted"}, "map header names"),
        ({"": "planted"}, "map header names"),
        ({"x-a": 5}, "to strings"),
        ({5: "planted"}, "map header names"),
        ({"x-a": "planted\r\nx-b: 1"}, "the header x-a would contain"),
        ({"x-a": "planted\u00e9"}, "the header x-a would contain"),
        ({"x-a": "planted", "X-A": "planted"}, "twice"),
        ([("x-a", "planted")], "headers must be a mapping"),
        ("x-a: planted", "headers must be a mapping"),
    ],
)
def test_headers_that_cannot_go_out_are_refused(headers: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        Client(headers=headers)
    assert "planted" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=says):
        Client().with_options(headers=headers)


def test_nothing_that_shows_a_client_shows_its_headers() -> None:
    client = Client(headers={"x-key": "planted"})
    assert "planted" not in repr(client) + repr(vars(client)) + repr(client._options)


# How it is made


async def test_a_client_comes_from_the_environment() -> None:
    async with Server() as server:
        env = {"SOCIALAPI_BASE_URL": server.url, "SOCIALAPI_BEARER_TOKEN": "from-env", "SOCIALAPI_RETRIES": "0"}
        async with Client.from_env(env) as client:
            await client.request("GET", "/2/x")
        assert client.config.retries == 0
    assert server.requests[0].headers["authorization"] == "Bearer from-env"


def test_an_environment_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="set SOCIALAPI_API_KEY_SECRET"):
        Client.from_env({"SOCIALAPI_API_KEY": "k"})


async def test_what_is_missing_is_said_when_a_call_needs_it() -> None:
    async with Client() as client:
        with pytest.raises(ConfigurationError, match="no base_url is configured"):
            await client.request("GET", "/2/x")
    async with Client(Config(base_url="https://api.example.com")) as client:
        with pytest.raises(ConfigurationError, match=r"credentials given are: none\. Pass credentials="):
            await client.request("GET", "/2/x")
        with pytest.raises(ConfigurationError, match=r"pass credentials=\[AppOnly"):
            await client.oauth.app_only_token()


async def test_a_session_of_the_users_own_is_used_and_stays_open() -> None:
    async with Server() as server, aiohttp.ClientSession(headers={"X-Own": "1"}) as session:
        async with client_of(server, options={"session": session}) as client:
            await client.request("GET", "/2/x")
        assert not session.closed
        assert server.requests[0].headers["x-own"] == "1"
        assert server.requests[0].headers["user-agent"].startswith("aiosocialapi/")


async def test_a_connector_of_the_users_own_is_used_and_stays_open() -> None:
    async with Server() as server, aiohttp.TCPConnector(limit=1) as connector:
        async with client_of(server, options={"connector": connector}) as client:
            await asyncio.gather(*(client.request("GET", f"/2/{number}") for number in range(5)))
        assert not connector.closed
        assert (len(server.requests), server.connections) == (5, 1)


async def test_the_pool_is_as_large_as_configured() -> None:
    async with Server() as server, client_of(server, max_connections=2) as client:
        await asyncio.gather(*(client.request("GET", f"/2/{number}") for number in range(20)))
    assert server.connections == 2


async def test_trace_hooks_of_the_user_are_called() -> None:
    traced: list[str] = []

    async def on_end(session: Any, context: Any, end: aiohttp.TraceRequestEndParams) -> None:
        traced.append(f"{end.method} {end.url.path} {end.response.status}")

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(on_end)
    async with Server() as server, client_of(server, options={"trace_configs": [trace]}) as client:
        await client.request("GET", "/2/x")
    assert traced == ["GET /2/x 200"]


async def test_a_client_needs_no_loop_to_be_made_and_may_never_be_used() -> None:
    client = await asyncio.to_thread(Client, Config(base_url="https://api.example.com"), [BEARER])
    await client.aclose()
    async with Client() as unused:
        assert unused.limits == {}


async def test_closing_a_client_that_was_not_used_makes_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(Session, "__init__", lambda self, *_, **__: made.append(self))
    async with Client() as client:
        pass
    await client.aclose()
    assert made == []


async def test_a_client_that_was_not_used_before_it_was_closed_stays_closed() -> None:
    client = client_of("http://localhost:1")
    await client.aclose()
    with pytest.raises(RuntimeError, match="this client is closed"):
        await client.request("GET", "/2/x")
    with pytest.raises(RuntimeError, match="this client is closed"):
        await client.posts.by_user("1").first()


async def test_what_contradicts_itself_is_refused_when_the_client_is_made() -> None:
    with pytest.raises(ConfigurationError, match="two credentials of the kind Bearer"):
        Client(credentials=[BEARER, Bearer("another")])
    with pytest.raises(ConfigurationError, match="str is not a credential of this package"):
        Client(credentials=["a token"])  # type: ignore[list-item]  # as it happens
    async with aiohttp.ClientSession() as session, aiohttp.TCPConnector() as connector:
        with pytest.raises(ConfigurationError, match="connector and trace_configs belong to a session"):
            Client(session=session, connector=connector)
        with pytest.raises(ConfigurationError, match="connector and trace_configs belong to a session"):
            Client(session=session, trace_configs=[aiohttp.TraceConfig()])


async def test_leaving_the_block_closes_the_connections() -> None:
    async with Server() as server:
        async with client_of(server) as client:
            await client.request("GET", "/2/x")
            session = client._session._transport._session
            assert session is not None
        assert session.closed


class Recorder:
    """A pacer that lets everything through and remembers it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, bool]] = []
        self.readings: list[LimitReading | None] = []

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        self.asked.append((key, documented.name if documented else None, bulk))
        return self

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        self.readings.append(reading)

    def unsent(self) -> None:
        raise AssertionError("everything is sent here")

    def limits(self) -> Mapping[str, LimitStatus]:
        return {"all": LimitStatus(None, None, 0, None)}

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        return None


async def test_the_pacer_can_be_another() -> None:
    pacer = Recorder()
    async with Server() as server, client_of(server, options={"pacer": pacer}) as client:
        await client.ads.account("a").custom_audience("c").send([OPERATION])
        assert list(client.limits) == ["all"]
    assert pacer.asked == [("custom_audience_uploads/a", "custom_audience_uploads", False)]
    assert pacer.readings == [None]


async def test_the_token_cache_can_be_another() -> None:
    cache = MemoryTokenCache()
    async with Server(answer({"access_token": "t1"})) as server:
        for _ in range(2):
            async with client_of(server, credentials=(AppOnly("k", "s"),), options={"token_cache": cache}) as client:
                await client.request("GET", "/2/x")
    assert [request.path for request in server.requests] == ["/oauth2/token", "/2/x", "/2/x"]


async def test_the_reprs_of_what_a_client_is_made_of_show_no_secret() -> None:
    credentials = (AppOnly("planted", "planted"), Bearer("planted"), OAuth1("planted", "planted", "planted", "planted"))
    client = Client(Config(base_url="https://api.example.com"), credentials, ssl=ssl.create_default_context())
    for each in (client, client._session, client._session.authenticators, client._session._transport, client._options):
        assert "planted" not in repr(each)
    await client.aclose()


# What it is made of


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"config": "http://localhost:1"}, r"config must be Config\(base_url=…, …\), not str"),
        ({"config": {"base_url": "https://x.example"}}, r"config must be Config\(base_url=…, …\), not dict"),
        ({"credentials": USER}, r"credentials must be a list: credentials=\[OAuth1\(…\)\]"),
        ({"credentials": BEARER}, r"credentials must be a list: credentials=\[Bearer\(…\)\]"),
        ({"credentials": None}, "credentials must be a list of credentials, not NoneType"),
        ({"credentials": "planted"}, "credentials must be a list of credentials, not str"),
        ({"credentials": 5}, "credentials must be a list of credentials, not int"),
        ({"credentials": [("planted", "planted")]}, "tuple is not a credential of this package"),
        ({"credentials": [Bearer]}, "type is not a credential of this package"),
        ({"token_cache": 5}, "token_cache must have the methods load, store, discard, lock.* but int does not"),
        ({"token_cache": MemoryTokenCache}, "token_cache must have the methods load.* but type does not"),
        ({"pacer": object()}, "pacer must have the methods acquire, limits.* but object does not"),
        ({"clock": "now"}, "clock must have the methods time.* but str does not"),
        ({"rng": 5}, "rng must have the methods random.* but int does not"),
        ({"session": "planted"}, "session must have the methods request, close.* but str does not"),
        ({"connector": object()}, "connector must have the methods connect, close.* but object does not"),
        ({"trace_configs": 5}, "trace_configs must be a list of aiohttp.TraceConfig"),
        ({"trace_configs": [5]}, "trace_configs must be a list of aiohttp.TraceConfig"),
        ({"proxy": True}, "proxy must be the address of an HTTP proxy"),
        ({"proxy": 5}, "proxy must be the address of an HTTP proxy"),
        ({"ssl": "no"}, "ssl must be an ssl.SSLContext, True or False, not str"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_by_name(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        Client(**arguments)
    assert "planted" not in str(caught.value)
    if (
        arguments.keys() != {"credentials"} or arguments["credentials"] is not None
    ):  # which are those of the environment
        with pytest.raises(ConfigurationError, match=says):
            Client.from_env({}, **arguments)


def test_from_env_takes_every_keyword_of_the_client() -> None:
    own = inspect.signature(Client).parameters
    taken = inspect.signature(Client.from_env).parameters
    assert own.keys() <= taken.keys()
    for name, parameter in own.items():
        if name not in ("config", "credentials"):  # whose default is the environment
            assert (taken[name].annotation, taken[name].default) == (parameter.annotation, parameter.default), name


def test_what_is_given_takes_the_place_of_the_environment() -> None:
    environ = {"SOCIALAPI_BASE_URL": "https://a.example", "SOCIALAPI_BEARER_TOKEN": "b", "SOCIALAPI_RETRIES": "many"}
    client = Client.from_env(environ, config=Config(base_url="https://b.example"), credentials=[])
    assert client.config.base_url == "https://b.example"
    with pytest.raises(ConfigurationError, match="SOCIALAPI_RETRIES is not a number"):
        Client.from_env(environ)


@pytest.mark.parametrize("environ", [5, "x", [("a", "b")], object()])
def test_an_environment_is_a_mapping(environ: Any) -> None:
    with pytest.raises(ConfigurationError, match="environ must be a mapping of variables"):
        Client.from_env(environ)


@pytest.mark.parametrize("name", ["timeout_seconds", "max_wait_seconds", "retries"])
@pytest.mark.parametrize("value", ["5", True, b"5", [5], {}, object(), -1, float("nan")])
def test_a_limit_of_a_wrong_type_is_refused_by_name(name: str, value: Any) -> None:
    options: Any = {name: value}
    with pytest.raises(ConfigurationError, match=f"^{name} must be"):
        Client().with_options(**options)


@pytest.mark.parametrize("value", [5, None, b"5", ["5"]])
def test_a_variable_is_a_text(value: Any) -> None:
    environ: Any = {"SOCIALAPI_RETRIES": value}
    for read in (Client.from_env, Config.from_env):
        with pytest.raises(ConfigurationError, match="the variable SOCIALAPI_RETRIES must be a string"):
            read(environ)


@given(st.text())
@example("GE T")
@example("GET\r\n")
@example("CONNECT")
@example("trace")
def test_no_text_becomes_a_method_that_could_not_arrive(method: Any) -> None:
    async def run() -> None:
        async with Client(Config(base_url="http://127.0.0.1:1", retries=0), [BEARER]) as client:
            with pytest.raises((InvalidInput, TransportError)) as caught:
                await client.request(method, "/2/tweets")
            sent = not isinstance(caught.value, InvalidInput)
            fit = method.isascii() and method.isalpha() and len(method) <= 32
            assert sent == (fit and method.upper() not in ("CONNECT", "TRACE"))

    asyncio.run(run())
