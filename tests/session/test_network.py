"""What the environment says about proxies and certificates, without a network."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import ConfigurationError
from socialapi.session.network import Certificates, Network, Proxies, Proxy, read_proxy
from tests.support.tls import Authority

P = "http://proxy.example:3128"


def chosen(environ: dict[str, str], url: tuple[str, str, int | None], *, own: bool = False) -> str | None:
    proxy = Proxies.from_env(environ, own=own).choose(*url)
    return proxy.url if proxy is not None else None


API = ("https", "api.northwind.example", None)
PLAIN = ("http", "api.northwind.example", None)


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({}, API, None),
        ({"HTTPS_PROXY": P}, API, P),
        ({"https_proxy": P}, API, P),
        ({"HTTPS_PROXY": "http://other.example", "https_proxy": P}, API, P),
        ({"HTTPS_PROXY": P, "https_proxy": ""}, API, None),
        ({"HTTPS_PROXY": "  "}, API, None),
        ({"HTTPS_PROXY": P}, PLAIN, None),
        ({"HTTP_PROXY": P}, PLAIN, P),
        ({"HTTP_PROXY": P}, API, None),
        ({"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, PLAIN, None),
        ({"http_proxy": P, "REQUEST_METHOD": "GET"}, PLAIN, P),
        ({"HTTPS_PROXY": P, "REQUEST_METHOD": "GET"}, API, P),
        ({"ALL_PROXY": P}, API, None),
        ({"SOCIALAPI_PROXY": P}, API, None),
        ({"HTTPS_PROXY": "proxy.example:3128"}, API, P),
        ({"HTTPS_PROXY": "https://proxy.example/"}, API, "https://proxy.example"),
    ],
)
def test_the_variable_of_the_scheme_counts(environ: dict[str, str], url: Any, proxy: str | None) -> None:
    assert chosen(environ, url) == proxy


def test_the_variable_of_this_package_takes_the_place_of_the_others() -> None:
    environ = {"SOCIALAPI_PROXY": P, "HTTPS_PROXY": "http://other.example", "NO_PROXY": "intern.example"}
    assert chosen(environ, API, own=True) == P
    assert chosen(environ, PLAIN, own=True) == P
    assert chosen(environ, ("https", "a.intern.example", None), own=True) is None
    assert chosen(environ, ("http", "127.0.0.1", 8080), own=True) is None


@pytest.mark.parametrize(
    ("exempt", "host", "port", "direct"),
    [
        ("*", "api.example", None, True),
        ("api.example", "api.example", None, True),
        ("api.example", "API.EXAMPLE.", None, True),
        (".example", "api.example", None, True),
        ("*.example", "api.example", None, True),
        ("pi.example", "api.example", None, False),
        ("a.api.example", "api.example", None, False),
        (" other.example ,api.example", "api.example", None, True),
        ("other.example api.example", "api.example", None, True),
        (",,", "api.example", None, False),
        (".", "api.example", None, False),
        ("api.example:443", "api.example", None, True),
        ("api.example:443", "api.example", 8443, False),
        ("api.example:8443", "api.example", 8443, True),
        ("api.example:https", "api.example", None, False),
        ("api.example:", "api.example", None, False),
        ("api.example:" + "9" * 5000, "api.example", None, False),
        ("10.0.0.0/8", "10.1.2.3", None, True),
        ("10.0.0.5/8", "10.1.2.3", None, True),
        ("10.0.0.0/8", "11.1.2.3", None, False),
        ("10.1.2.3", "10.1.2.3", None, True),
        ("10.1.2.3:443", "10.1.2.3", None, True),
        ("10.1.2.3:8443", "10.1.2.3", None, False),
        ("2.3", "10.1.2.3", None, False),
        ("2001:db8::1", "2001:db8::1", None, True),
        ("[2001:db8::1]", "2001:db8::1", None, True),
        ("[2001:db8::/32]", "2001:db8:5::1", None, True),
        ("[2001:db8::1]:443", "2001:db8::1", None, True),
        ("[2001:db8::1]:8443", "2001:db8::1", None, False),
        ("2001:db8::/32", "2001:db8:5::1", None, True),
        ("999.0.0.0/8", "10.1.2.3", None, False),
    ],
)
def test_hosts_that_no_proxy_lists_are_asked_directly(exempt: str, host: str, port: int | None, direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        assert (chosen({"HTTPS_PROXY": P, name: exempt}, ("https", host, port)) is None) == direct


@given(st.text(), st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True), st.integers(1, 65_535))
def test_no_text_in_no_proxy_is_an_error(exempt: str, host: str, port: int) -> None:
    assert chosen({"HTTPS_PROXY": P, "NO_PROXY": exempt}, ("https", host, port)) in (P, None)


@pytest.mark.parametrize(
    ("address", "url", "user"),
    [
        ("http://ada:moss@proxy.example:3128", P, b"ada:moss"),
        ("ada:moss@proxy.example:3128", P, b"ada:moss"),
        ("http://ada@proxy.example:3128", P, b"ada:"),
        ("http://:moss@proxy.example:3128", P, b":moss"),
        ("http://a%40b:p%3A%2F%C3%BC@proxy.example:3128/", P, "a@b:p:/ü".encode()),
        ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128", None),
        ("http://PROXY.example", "http://proxy.example", None),
    ],
)
def test_the_user_name_and_the_password_of_an_address_become_a_header(address: str, url: str, user: Any) -> None:
    proxy = read_proxy("proxy", address)
    assert proxy == Proxy(url, None if user is None else "Basic " + base64.b64encode(user).decode())
    assert "moss" not in repr(proxy)


@pytest.mark.parametrize(
    "address",
    [
        "",
        " ",
        "socks5://secret@proxy.example",
        "ftp://secret@proxy.example",
        "http://",
        "http://secret@",
        "http://proxy.example:0",
        "http://proxy.example:70000",
        "http://proxy.example:secret",
        "http://proxy.example/secret",
        "http://proxy.example?secret",
        "http://proxy.example#secret",
        "http://secret proxy.example",
        "http://proxy.example\r\nsecret: 1",
        "http://[::1",
        "http://[::1]secret.example",
        "[::1]secret:80",
        "http://user:p@secret[::1]:80",
        "http://secret@bücher.example",
        "http://secret\\@proxy.example",
        5,
        True,
        b"http://secret@proxy.example",
        ["http://secret@proxy.example"],
    ],
)
def test_what_is_no_address_of_a_proxy_is_refused_without_being_shown(address: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^proxy must be the address of an HTTP proxy") as caught:
        Network.of({}, own=False, proxy=address)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@given(st.text(), st.text())
def test_any_user_name_and_password_can_be_written_into_an_address(user: str, password: str) -> None:
    if not user and not password:
        return
    proxy = read_proxy("proxy", f"http://{quote(user, safe='')}:{quote(password, safe='')}@proxy.example")
    assert proxy.authorization is not None
    assert base64.b64decode(proxy.authorization.removeprefix("Basic ")).decode() == f"{user}:{password}"


@given(st.text())
def test_any_other_text_is_an_address_or_refused(text: str) -> None:
    try:
        proxy = read_proxy("HTTPS_PROXY", text)
    except ConfigurationError as error:
        assert error.__context__ is None  # noqa: PT017  # either is right
    else:
        assert proxy.url.startswith(("http://", "https://"))
        assert proxy.url.isascii()
        assert proxy.url.isprintable()


# Certificates


@pytest.mark.parametrize("ssl_", [None, 5, "yes", object()])
def test_ssl_is_a_context_or_whether_to_check(ssl_: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"ssl must be an ssl\.SSLContext, True or False"):
        Network.of({}, own=False, ssl=ssl_)


def test_without_variables_the_usual_authorities_are_trusted() -> None:
    assert Certificates.from_env({}, own=True) is None
    assert Certificates.from_env({"SSL_CERT_FILE": " ", "SOCIALAPI_CA_FILE": "x"}, own=False) is None
    assert Network.of({}, own=True).tls is True


def test_a_file_replaces_the_authorities_or_the_default_that_it_stands_for(tmp_path: Path) -> None:
    file = str(Authority(tmp_path).file)
    own = Certificates.from_env({"SOCIALAPI_CA_FILE": file, "SSL_CERT_FILE": "/elsewhere"}, own=True)
    assert own is not None
    (only,) = own.context().get_ca_certs()
    assert only["subject"] == ((("commonName", "socialapi test authority"),),)
    common = Certificates.from_env({"SSL_CERT_FILE": file}, own=False)
    assert common is not None
    context = common.context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert file not in repr(common)


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SOCIALAPI_CA_FILE", "SOCIALAPI_CLIENT_CERT"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, r"the file cannot be read \(No such file or directory\)"),
        (b"", "the file contains no readable certificate"),
        (b"no certificate", "the file contains no readable certificate"),
        (
            b"-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----\n",
            "the file contains no readable certificate",
        ),
    ],
)
def test_a_file_that_is_none_is_named_by_its_variable(
    name: str, content: bytes | None, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.pem"
    if content is not None:
        file.write_bytes(content)
    certificates = Certificates.from_env({name: str(file)}, own=True)
    assert certificates is not None
    with pytest.raises(ConfigurationError, match=f"^{name}: {reason}") as caught:
        certificates.context()
    assert caught.value.__context__ is None


def test_directories_that_are_not_there_are_named_by_their_variable(tmp_path: Path) -> None:
    some = Certificates.from_env({"SSL_CERT_DIR": f"/nowhere:{tmp_path}"}, own=False)
    none = Certificates.from_env({"SSL_CERT_DIR": "/nowhere:/elsewhere"}, own=False)
    assert some is not None
    assert none is not None
    some.context()
    with pytest.raises(ConfigurationError, match="SSL_CERT_DIR does not name an existing directory"):
        none.context()


def test_a_locked_key_needs_its_password_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    locked = Authority(tmp_path).issue("ada.example", password=b"moss")
    environ = {"SOCIALAPI_CLIENT_CERT": str(locked)}
    right = Certificates.from_env(environ | {"SOCIALAPI_CLIENT_KEY_PASSWORD": "moss"}, own=True)
    assert right is not None
    right.context()
    assert "moss" not in repr(right)
    for password in ("", "wrong"):
        wrong = Certificates.from_env(environ | {"SOCIALAPI_CLIENT_KEY_PASSWORD": password}, own=True)
        assert wrong is not None
        with pytest.raises(
            ConfigurationError, match="SOCIALAPI_CLIENT_CERT: the key is encrypted: set SOCIALAPI_CLIENT_KEY_PASSWORD"
        ):
            wrong.context()


def test_the_key_belongs_to_the_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    one, other = str(authority.issue("one.example")), str(authority.issue("other.example"))
    certificates = Certificates.from_env({"SOCIALAPI_CLIENT_CERT": one, "SOCIALAPI_CLIENT_KEY": other}, own=True)
    assert certificates is not None
    with pytest.raises(ConfigurationError, match="the key does not belong to the certificate"):
        certificates.context()
    with pytest.raises(ConfigurationError, match="is set without SOCIALAPI_CLIENT_CERT"):
        Certificates.from_env({"SOCIALAPI_CLIENT_KEY": other}, own=True)


async def test_calls_at_the_same_time_share_the_certificates(tmp_path: Path) -> None:
    path = Authority(tmp_path).file
    network = Network.of({"SSL_CERT_FILE": str(path)}, own=False)
    ways = await asyncio.gather(*(network.options_for("https", f"host{number}.example", 443) for number in range(4)))
    assert len({id(way.options["ssl"]) for way in ways}) == 1
