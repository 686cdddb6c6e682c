"""Proxies and certificates over real sockets: where requests really go, and what is said when they cannot."""

import asyncio
import base64
import contextlib
import os
import ssl
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import yarl

from socialapi import AppOnly, AudienceUser, Client, Config
from socialapi.emulator import Emulator
from socialapi.errors import ConfigurationError, SocialApiError, TransportError
from socialapi.session.forwarder import Forwarder
from socialapi.session.network import Network
from tests.support.clients import BEARER, USER, client_of
from tests.support.clock import VirtualClock
from tests.support.proxy import ForwardProxy
from tests.support.server import OK, Received, Server, answer
from tests.support.tls import Authority

HOST: Final = "api.northwind.example"
VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SOCIALAPI_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing of the machine's own."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture
def trusted(environment: pytest.MonkeyPatch, authority: Authority) -> None:
    environment.setenv("SSL_CERT_FILE", str(authority.file))


def secure(authority: Authority, *script: Any, then: Any = OK) -> Server:
    return Server(*script, then=then, tls=authority.server(HOST, "127.0.0.1"))


def client_at(**options: Any) -> Client:
    """A client of a host that only a proxy knows."""
    return client_of(f"https://{HOST}", VirtualClock(), retries=0, options=options)


async def get(client: Client) -> Any:
    return await client.request("GET", "/2/tweets")


async def error_of(client: Client) -> SocialApiError:
    async with client:
        with pytest.raises(SocialApiError) as caught:
            await get(client)
    return caught.value


# Which proxy


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
@pytest.mark.usefixtures("trusted")
async def test_a_proxy_of_the_environment_is_asked_for_a_tunnel(
    name: str, authority: Authority, environment: pytest.MonkeyPatch
) -> None:
    async with secure(authority) as server, ForwardProxy({HOST: server.port}) as proxy:
        environment.setenv(name, proxy.url)
        async with client_at() as client:
            assert (await get(client)).ok
            assert (await get(client)).ok
    assert proxy.connects == [f"{HOST}:443"], "once, since the connection is kept"
    assert len(server.requests) == 2


@pytest.mark.usefixtures("trusted")
async def test_the_proxy_sees_no_header_of_the_request(authority: Authority, environment: pytest.MonkeyPatch) -> None:
    async with secure(authority) as server, ForwardProxy({HOST: server.port}) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        async with client_at() as client:
            await get(client)
    (asked,) = proxy.asked
    assert not {"authorization", "proxy-authorization", "cookie"} & asked.headers.keys()
    assert "authorization" in server.requests[0].headers
    assert "proxy-authorization" not in server.requests[0].headers


@pytest.mark.usefixtures("trusted")
async def test_proxy_false_takes_none(authority: Authority, environment: pytest.MonkeyPatch) -> None:
    async with ForwardProxy({}) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        error = await error_of(client_at(proxy=False))
    assert isinstance(error, TransportError)
    assert proxy.asked == []


async def test_what_is_meant_for_this_machine_goes_there_whatever_the_environment_says(
    environment: pytest.MonkeyPatch,
) -> None:
    async with ForwardProxy({}) as proxy, Emulator() as emulator:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "SOCIALAPI_PROXY"):
            environment.setenv(name, proxy.url)
        async with Client(emulator.config, emulator.credentials) as client:
            await client.posts.lookup(emulator.seed["post_ids"][0])
        async with Client.from_env({**os.environ, **emulator.environment}) as client:
            await client.posts.lookup(emulator.seed["post_ids"][0])
    assert proxy.asked == []


async def test_a_proxy_that_was_given_is_obeyed_for_this_machine_too(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("NO_PROXY", "*")
    async with (
        Server() as server,
        ForwardProxy({}) as proxy,
        client_of(server, options={"proxy": proxy.url}) as client,
    ):
        await get(client)
        assert proxy.handed_on == [f"{server.url}/2/tweets"]
        assert len(server.requests) == 1


@pytest.mark.usefixtures("trusted")
async def test_socialapi_proxy_is_read_by_from_env_alone(authority: Authority, environment: pytest.MonkeyPatch) -> None:
    async with secure(authority) as server, ForwardProxy({HOST: server.port}) as ours, ForwardProxy({}) as other:
        variables = {
            "SOCIALAPI_PROXY": ours.url,
            "HTTPS_PROXY": other.url,
            "SOCIALAPI_BASE_URL": f"https://{HOST}",
            "SOCIALAPI_BEARER_TOKEN": "bearer",
            "SSL_CERT_FILE": str(authority.file),
        }
        async with Client.from_env(variables) as client:
            await get(client)
        assert (ours.connects, other.connects) == ([f"{HOST}:443"], [])
        async with Client.from_env({**variables, "SOCIALAPI_PROXY": ""}, proxy=ours.url) as client:
            await get(client)
        assert (len(ours.connects), other.connects) == (2, [])


@pytest.mark.usefixtures("trusted")
async def test_a_netrc_entry_for_the_host_changes_nothing(
    authority: Authority, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(
        f"machine {HOST} login planted password planted\nmachine 127.0.0.1 login planted password planted\n"
    )
    netrc.chmod(0o600)
    environment.setenv("NETRC", str(netrc))
    async with secure(authority) as server, ForwardProxy({HOST: server.port}) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        async with client_at() as client:
            await get(client)
    assert server.requests[0].headers["authorization"] == "Bearer bearer-token"
    assert "proxy-authorization" not in proxy.asked[0].headers


async def test_a_session_that_sends_other_credentials_is_refused(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"default login planted password {SECRET}\n")
    netrc.chmod(0o600)
    environment.setenv("NETRC", str(netrc))
    async with Server() as server, aiohttp.ClientSession(trust_env=True) as session:
        error = await error_of(client_of(server, options={"session": session}))
    assert isinstance(error, ConfigurationError)
    assert "its own credentials" in str(error)
    assert SECRET not in str(error)
    assert server.requests == []


async def test_a_certificate_that_is_not_trusted_is_looked_at_once(authority: Authority) -> None:
    async with secure(authority) as server, ForwardProxy({HOST: server.port}) as proxy:
        async with client_at(proxy=proxy.url) as client:
            with pytest.raises(TransportError) as caught:
                await get(client)
        assert (caught.value.attempts, len(proxy.asked)) == (1, 1)
    assert caught.value.is_lasting


@pytest.mark.usefixtures("trusted")
async def test_a_connector_of_the_users_takes_the_proxies_of_the_environment(
    environment: pytest.MonkeyPatch, authority: Authority
) -> None:
    async with secure(authority) as server, ForwardProxy({HOST: server.port}) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        context = ssl.create_default_context(cafile=str(authority.file))
        async with aiohttp.TCPConnector(ssl=context) as connector, client_at(connector=connector) as client:
            await get(client)
    assert proxy.connects == [f"{HOST}:443"]


# Everything goes the same way


@pytest.mark.usefixtures("trusted")
async def test_tokens_uploads_and_streams_go_through_the_proxy(
    authority: Authority, environment: pytest.MonkeyPatch
) -> None:
    async def service(received: Received) -> bytes:
        if received.path == "/oauth2/token":
            return answer({"access_token": "fetched", "token_type": "bearer"})
        if "stream" in received.path:
            return answer({"title": "no", "type": "about:blank"}, status=404)
        return OK

    async with secure(authority, then=service) as server, ForwardProxy({HOST: server.port}) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        config = Config(base_url=f"https://{HOST}", ads_url=f"https://{HOST}/ads")
        async with Client(config, [AppOnly("key", "secret"), USER]) as client:
            await client.oauth.app_only_token()
            audience = client.ads.account("1").custom_audience("2")
            assert (await audience.upload([AudienceUser(email="ada@northwind.example")])).accepted == 1
            with pytest.raises(SocialApiError):
                async with client.activity.stream() as events:
                    await anext(aiter(events))
    assert {received.path.partition("?")[0] for received in server.requests} == {
        "/oauth2/token",
        "/ads/12/accounts/1/custom_audiences/2/users",
        "/2/activity/stream",
    }
    assert len(proxy.connects) == len({received.connection for received in server.requests})


@pytest.mark.usefixtures("trusted")
async def test_events_are_passed_on_through_the_proxy(authority: Authority, environment: pytest.MonkeyPatch) -> None:
    async with secure(authority, then=answer(status=204)) as server, ForwardProxy({HOST: server.port}) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.url)
        async with Forwarder(f"https://{HOST}/hook", clock=VirtualClock()) as forwarder:
            assert await forwarder.post(b"{}", {}) == 204
        network = Network.of({"SOCIALAPI_PROXY": proxy.url, "SSL_CERT_FILE": str(authority.file)}, own=True)
        async with Forwarder(f"https://{HOST}/hook", clock=VirtualClock(), network=network) as forwarder:
            assert await forwarder.post(b"{}", {}) == 204
    assert proxy.connects == [f"{HOST}:443"] * 2


async def test_the_deliveries_of_the_emulator_take_no_proxy(environment: pytest.MonkeyPatch) -> None:
    async with ForwardProxy({}) as proxy, Server(then=answer(status=400)) as target:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "SOCIALAPI_PROXY"):
            environment.setenv(name, proxy.url)
        async with Emulator() as emulator, Client(emulator.config, emulator.credentials) as client:
            emulator.webhook_targets[f"https://{HOST}/hook"] = f"{target.url}/hook"
            with pytest.raises(SocialApiError, match="CrcValidationFailed"):
                await client.webhooks.create(f"https://{HOST}/hook")
    assert proxy.asked == []
    assert target.requests[0].path.startswith("/hook?crc_token=")


# User names and passwords of proxies

SECRET: Final = "p@ss/w:rd%"
WANTED: Final = "Basic " + base64.b64encode(f"lovelace:{SECRET}".encode()).decode()


def with_password(url: str) -> str:
    return str(yarl.URL(url).with_user("lovelace").with_password(SECRET))


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.usefixtures("trusted")
async def test_a_user_name_and_a_password_in_the_address_are_sent_to_the_proxy_alone(
    given: bool, authority: Authority, environment: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with secure(authority) as server, ForwardProxy({HOST: server.port}, wanted=WANTED) as proxy:
        if not given:
            environment.setenv("HTTPS_PROXY", with_password(proxy.url))
        async with client_at(**({"proxy": with_password(proxy.url)} if given else {})) as client:
            assert (await get(client)).ok
            assert "lovelace" not in repr(client._session._transport.network) + repr(client.__dict__)
    assert "proxy-authorization" not in server.requests[0].headers
    assert SECRET not in caplog.text


async def test_a_request_that_the_proxy_reads_has_them_in_a_header_too() -> None:
    async with Server() as server, ForwardProxy({}, wanted=WANTED) as proxy:
        async with client_of(server, options={"proxy": with_password(proxy.url)}) as client:
            assert (await get(client)).ok
        async with client_of(server, retries=0, options={"proxy": proxy.url}) as client:
            with pytest.raises(TransportError, match=r"the proxy refused to connect \(HTTP 407\)"):
                await get(client)
    assert len(server.requests) == 1


@pytest.mark.parametrize("refusal", [407, 403, 502])
async def test_an_error_of_the_proxy_shows_no_password(refusal: int, environment: pytest.MonkeyPatch) -> None:
    async with ForwardProxy({}, refusal=refusal) as proxy:
        environment.setenv("HTTPS_PROXY", with_password(proxy.url))
        error = await error_of(client_at())
    assert type(error) is TransportError
    hint = ": add the user name and password to its address" if refusal == 407 else ""
    assert str(error) == f"GET /2/tweets: {HOST}:443: the proxy refused to connect (HTTP {refusal}){hint}"
    assert error.is_lasting is (refusal == 407)
    assert SECRET not in repr(error) + repr(vars(error))
    assert error.__context__ is error.__cause__ is None


async def test_a_variable_that_holds_no_proxy_is_an_error_where_it_counts(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTPS_PROXY", "socks5://ada:secret@127.0.0.1:1")
    async with Server() as server, client_of(server) as client:
        assert (await get(client)).ok
    error = await error_of(client_at())
    assert isinstance(error, ConfigurationError)
    assert str(error).startswith("HTTPS_PROXY must be the address of an HTTP proxy")
    assert "secret" not in str(error)


async def test_a_proxy_may_itself_be_reached_by_tls(authority: Authority, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("SSL_CERT_FILE", str(authority.file))
    tls = authority.server("127.0.0.1")
    async with (
        Server() as server,
        ForwardProxy({}, tls=tls) as proxy,
        client_of(server, options={"proxy": proxy.url}) as client,
    ):
        assert (await get(client)).ok
        assert proxy.handed_on == [f"{server.url}/2/tweets"]


# Certificates


@pytest.mark.parametrize("by", ["SSL_CERT_FILE", "SSL_CERT_DIR", "SOCIALAPI_CA_FILE", "ssl"])
async def test_an_authority_of_ones_own_is_trusted(
    by: str, authority: Authority, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if by != "ssl":
        environment.setenv(by, str(authority.directory() if by == "SSL_CERT_DIR" else authority.file))
    context: Any = ssl.create_default_context(cafile=str(authority.file)) if by == "ssl" else True
    async with secure(authority) as server:
        config = Config(base_url=server.url)
        async with Client.from_env(config=config, credentials=[BEARER], ssl=context) as client:
            assert (await get(client)).ok


@pytest.mark.parametrize(
    ("hosts", "days", "says"),
    [
        (
            ("127.0.0.1",),
            1,
            "it is not signed by a trusted authority. If its authority is your own, set SSL_CERT_FILE (or",
        ),
        (("elsewhere.example",), 1, "it is for another host: check the address"),
        (("127.0.0.1",), -1, "it has expired: the host's operator has to renew it"),
    ],
)
async def test_a_certificate_that_cannot_be_accepted_is_an_error_that_says_what_to_do(
    hosts: tuple[str, ...], days: int, says: str, authority: Authority, environment: pytest.MonkeyPatch
) -> None:
    if not says.startswith("it is not signed"):
        environment.setenv("SSL_CERT_FILE", str(authority.file))
    async with Server(tls=authority.server(*hosts, days=days)) as server:
        error = await error_of(client_of(server, retries=0))
        assert server.requests == []
    assert type(error) is TransportError
    assert error.reason.startswith(f"its certificate is not valid: {says}")


async def test_a_certificate_by_one_that_is_no_authority_is_an_error_that_says_so(authority: Authority) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.issue_by_host("127.0.0.1"))
    context = ssl.create_default_context(cafile=str(authority.file))
    async with Server(tls=tls) as server:
        error = await error_of(client_of(server, retries=0, options={"ssl": context}))
        assert server.requests == []
    assert type(error) is TransportError
    assert error.reason == (
        "its certificate is not valid: its issuer is not a certificate authority. Have it issued by an authority"
    )


async def test_a_certificate_that_only_earlier_pythons_accept_is_an_error_that_says_so(authority: Authority) -> None:
    """Python 3.13 and later check as RFC 5280 has it: the certificate has to name the key of its authority."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.issue("127.0.0.1", is_strict=False))
    context = ssl.create_default_context(cafile=str(authority.file))
    async with Server(tls=tls) as server:
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        error = await error_of(client_of(server, retries=0, options={"ssl": context}))
        assert server.requests == []
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        async with client_of(server, options={"ssl": context}) as client:
            assert (await get(client)).ok
    assert type(error) is TransportError
    assert error.reason == (
        "its certificate is not valid: it or its authority's certificate violates RFC 5280, which Python 3.13 and later "
        "check. Have it issued again, or pass a context without ssl.VERIFY_X509_STRICT as Client(ssl=…)"
    )


async def test_a_client_certificate_is_shown_where_one_is_wanted(authority: Authority, tmp_path: Path) -> None:
    whole = authority.issue("ada.example")
    locked = authority.issue("ada.example", password=b"moss")
    variables = {"SOCIALAPI_CA_FILE": str(authority.file), "SOCIALAPI_CLIENT_CERT": str(whole)}
    apart = variables | {"SOCIALAPI_CLIENT_KEY": str(whole)}
    with_password = variables | {"SOCIALAPI_CLIENT_CERT": str(locked), "SOCIALAPI_CLIENT_KEY_PASSWORD": "moss"}
    async with Server(tls=authority.server("127.0.0.1", wants_client=True)) as server:
        config = Config(base_url=server.url, retries=0)
        for environ in (variables, apart, with_password):
            async with Client.from_env(environ, config=config, credentials=[BEARER]) as client:
                assert (await get(client)).ok


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_certificate_that_is_wanted_and_not_there_is_an_error_that_says_so(
    version: ssl.TLSVersion, authority: Authority, tmp_path: Path
) -> None:
    """In TLS 1.3 the request goes out before the host says no: it was not executed all the same."""
    stranger = Authority(tmp_path, common_name="stranger")
    context = ssl.create_default_context(cafile=str(authority.file))
    if version is ssl.TLSVersion.TLSv1_2:  # which has no word of its own for a certificate that is missing
        context.load_cert_chain(stranger.issue("ada.example"))
    tls = authority.server("127.0.0.1", wants_client=True)
    tls.maximum_version = version
    async with Alerting(tls) as url:
        error = await error_of(client_of(url, retries=0, options={"ssl": context}))
    assert type(error) is TransportError
    assert error.reason.startswith("it does not accept the client certificate, or requires one: pass a context")


class Alerting:
    """A server of handshakes that fail: it says why and then waits for the other side to leave, so that its words
    arrive. That of asyncio hangs up at once.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        side = self._tls.wrap_bio(arrived, leaving, server_side=True)
        while piece := await reader.read(65_536):
            arrived.write(piece)
            with contextlib.suppress(ssl.SSLError):
                side.do_handshake()
            writer.write(leaving.read())
        writer.close()


@pytest.mark.parametrize("said", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 2"])
async def test_a_proxy_that_hangs_up_has_passed_nothing_on_and_is_asked_again(said: bytes) -> None:
    asked = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        client = client_of(f"https://{HOST}", VirtualClock(), retries=2, options={"proxy": proxy})
        async with client:
            with pytest.raises(TransportError) as caught:
                await client.request("POST", "/2/tweets", json={"text": "a"})
    assert type(caught.value) is TransportError
    assert (caught.value.attempts, asked) == (3, 3)
