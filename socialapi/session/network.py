"""Proxies and TLS certificates, from arguments or the environment.

The client does not use aiohttp's own support for the environment (`trust_env`), which also reads credentials from netrc
files and uses the proxy for requests to this machine.
"""

import asyncio
import base64
import errno
import functools
import ipaddress
import os
import ssl as ssl_module
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar
from urllib.parse import SplitResult, unquote
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed leaves it out

import attrs

from socialapi.config import is_loopback, split_address
from socialapi.errors import ConfigurationError
from socialapi.internal.private_files import MAX_BYTES, too_large
from socialapi.internal.secret import Secret

T = TypeVar("T")

_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


# Proxies


@attrs.frozen(repr=False)
class Proxy:
    """A proxy's URL, and the `Proxy-Authorization` header to send to it."""

    url: str
    authorization: str | None = attrs.field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Proxy({self.url!r})"


def read_proxy(name: str, text: object) -> Proxy:
    """Returns the proxy at a URL, which may contain a user name and password; `http://` is optional.

    Raises ConfigurationError, without showing the URL; `name` is the argument or variable that contained it.
    """
    parts = _parse_proxy(text)
    if parts is None:
        raise ConfigurationError(f"{name} must be the address of an HTTP proxy: http://[user:password@]host[:port]")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port is not None else ""
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    header = None
    if user or password:
        header = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Proxy(f"{parts.scheme}://{host}{port}", header and Secret(header))


def _parse_proxy(text: object) -> SplitResult | None:
    """Returns the parts of a proxy's URL; None if it is invalid."""
    if not isinstance(text, str) or not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        return None
    parts = split_address(text if "://" in text else f"http://{text}")
    usable = parts and parts.scheme in _DEFAULT_PORTS and parts.hostname and parts.path in ("", "/")
    return parts if parts and usable and not parts.query and not parts.fragment else None


@attrs.frozen(repr=False)
class Proxies:
    """Chooses the proxy of a request: the given one, or the environment's proxy for the host."""

    given: Proxy | None = None
    by_scheme: Mapping[str, tuple[str, str]] = attrs.field(factory=dict, repr=False)
    """The environment variable that sets the proxy, and its value, by URL scheme. Values are parsed when they are
    needed.
    """
    exempt: tuple[str, ...] = ()
    """The entries of `NO_PROXY`."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, own: bool) -> Self:
        """Returns the proxies that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` configure.

        Lower-case names take precedence. With `own`, `SOCIALAPI_PROXY` replaces the first two if it
        is set.
        """
        found = {scheme: _variable(environ, f"{scheme.upper()}_PROXY") for scheme in _DEFAULT_PORTS}
        proxy = Secret(environ.get("SOCIALAPI_PROXY", "").strip() if own else "")
        if proxy:
            found = dict.fromkeys(_DEFAULT_PORTS, ("SOCIALAPI_PROXY", proxy))
        exempt = _variable(environ, "NO_PROXY")[1].replace(",", " ").split()
        return cls(by_scheme={scheme: each for scheme, each in found.items() if each[1]}, exempt=tuple(exempt))

    def choose(self, scheme: str, host: str, port: int | None) -> Proxy | None:
        """Returns the proxy for requests to a host, or None. A proxy from the environment is never used for loopback.

        Raises ConfigurationError if the variable does not contain the URL of a proxy.
        """
        if self.given is not None:
            return self.given
        name, text = self.by_scheme.get(scheme, ("", ""))
        if not text or is_loopback(host):
            return None
        is_exempt = _is_exempt(host, port or _DEFAULT_PORTS[scheme], self.exempt)
        return None if is_exempt else read_proxy(name, text)

    def __repr__(self) -> str:
        return f"Proxies({self.given or ', '.join(name for name, _ in self.by_scheme.values()) or 'none'})"


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Returns a variable's name and value; the lower-case name takes precedence."""
    small = name.lower()
    if small in environ:
        return small, Secret(environ[small].strip())
    if name == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
        return name, ""  # in a CGI program, this is the client's `Proxy` header
    return name, Secret(environ.get(name, "").strip())


def _is_exempt(host: str, port: int, entries: Sequence[str]) -> bool:
    """Returns whether an entry of `NO_PROXY` matches the host. The entry may be a network, `*`, or, with or without a
    port, an address or a domain. A domain includes its subdomains.
    """
    if "*" in entries:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        domains = ",".join(entry.removeprefix("*").rstrip(".") for entry in entries)
        return bool(proxy_bypass_environment(f"{host.rstrip('.')}:{port}", {"no": domains}))
    # `urllib` compares addresses as strings, and does not support networks.
    shown = f"[{host}]" if address.version == 6 else host
    return f"{shown}:{port}" in entries or any(_is_in(address, entry.strip("[]")) for entry in entries)


def _is_in(address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


# Certificates


@attrs.frozen(kw_only=True, repr=False)
class Certificates:
    """The certificate files of TLS connections, each with the variable that specifies it."""

    authorities: tuple[str, str] | None = None
    """A file with the trusted authorities."""
    directory: tuple[str, str] | None = None
    """Directories with one file per trusted authority, in OpenSSL's format."""
    alone: bool = False
    """Whether only these authorities are trusted. Otherwise, OpenSSL's default replaces a missing file or directory."""
    client: tuple[str, str] | None = None
    """The client certificate (mTLS), in a file that may also contain its key."""
    key: tuple[str, str] | None = None
    password: str | None = None

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, own: bool, common: bool = True) -> Self | None:
        """Returns the certificates that the environment specifies, or None if it specifies none.

        `common` reads OpenSSL's variables, `SSL_CERT_FILE` and `SSL_CERT_DIR`. `own` reads
        `SOCIALAPI_CA_FILE`, `SOCIALAPI_CLIENT_CERT`, `SOCIALAPI_CLIENT_KEY` and
        `SOCIALAPI_CLIENT_KEY_PASSWORD`. Raises ConfigurationError for a key without a certificate.
        """

        def read(name: str, wanted: bool) -> tuple[str, str] | None:
            text = environ.get(name, "").strip() if wanted else ""
            return (name, text) if text else None

        authorities = read("SOCIALAPI_CA_FILE", own)
        client, key = read("SOCIALAPI_CLIENT_CERT", own), read("SOCIALAPI_CLIENT_KEY", own)
        if key is not None and client is None:
            raise ConfigurationError("SOCIALAPI_CLIENT_KEY is set without SOCIALAPI_CLIENT_CERT")
        found = cls(
            authorities=authorities or read("SSL_CERT_FILE", common),
            directory=None if authorities else read("SSL_CERT_DIR", common),
            alone=authorities is not None,
            client=client,
            key=key,
            password=environ.get("SOCIALAPI_CLIENT_KEY_PASSWORD") or None if own else None,
        )
        return found if found.authorities or found.directory or found.client else None

    def context(self) -> ssl_module.SSLContext:
        """Reads the files and returns the TLS context. Raises ConfigurationError, naming the variable, if a file is
        unusable.
        """
        for each in filter(None, (self.authorities, self.client, self.key)):
            _use(each[0], functools.partial(_check_size, each[1]))
        name, _ = self.authorities or ("", "")
        file, folder = self._trusted()
        context = _use(name, lambda: ssl_module.create_default_context(cafile=file, capath=folder))
        context.set_alpn_protocols(["http/1.1"])  # the same as aiohttp's own context
        if self.client is None:
            return context
        name, certificate = self.client
        key = self.key[1] if self.key else None
        asked: list[bool] = []

        def tell_password() -> str:
            # OpenSSL would otherwise prompt on the terminal, and does not report a wrong password.
            asked.append(True)
            return self.password or ""

        _use(name, lambda: context.load_cert_chain(certificate, key, tell_password), asked)
        return context

    def _trusted(self) -> tuple[str | None, str | None]:
        """Returns the file and the directories of trusted authorities, or None and None for the defaults."""
        file = self.authorities[1] if self.authorities else None
        folder = self.directory[1] if self.directory else None
        if folder is not None and self.directory and not any(Path(each).is_dir() for each in folder.split(os.pathsep)):
            raise ConfigurationError(f"{self.directory[0]} does not name an existing directory")
        if self.alone or (file is None and folder is None):
            return file, folder
        # As in OpenSSL, each variable replaces only its own default.
        defaults = ssl_module.get_default_verify_paths()
        if file is None and Path(defaults.openssl_cafile).is_file():
            file = defaults.openssl_cafile
        if folder is None and Path(defaults.openssl_capath).is_dir():
            folder = defaults.openssl_capath
        return file, folder

    def __repr__(self) -> str:
        named = (self.authorities, self.directory, self.client, self.key)
        return f"Certificates({', '.join(each[0] for each in named if each)})"


def _check_size(path: str) -> None:
    """Raises OSError for a device or a file that is too large, because OpenSSL would read all of it."""
    found = Path(path).stat()
    if stat.S_ISCHR(found.st_mode):
        raise OSError(errno.EINVAL, "it is a device")
    if found.st_size > MAX_BYTES:
        raise too_large()


def _use(name: str, load: Callable[[], T], asked_for_password: Sequence[bool] = ()) -> T:
    """Returns the result of loading a file. Raises ConfigurationError with the variable and the problem."""
    try:
        return load()
    except ssl_module.SSLError as problem:
        reason = "the file contains no readable certificate (and key) in PEM format"
        if problem.reason == "KEY_VALUES_MISMATCH":
            reason = "the key does not belong to the certificate"
    except OSError as problem:
        reason = f"the file cannot be read ({problem.strerror or type(problem).__name__})"
    except ValueError:
        reason = "is not a path"
    if asked_for_password:
        reason = "the key is encrypted: set SOCIALAPI_CLIENT_KEY_PASSWORD to its password"
    raise ConfigurationError(f"{name}: {reason}")


# Both


@attrs.frozen
class ConnectionOptions:
    """The connection options of one request: arguments for aiohttp, and additional headers."""

    options: Mapping[str, Any] = attrs.field(repr=False)
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    is_relayed: bool = False
    """Whether a proxy reads the request and responds to it, rather than relaying an encrypted connection."""


@attrs.define(repr=False)
class Network:
    """The proxies and certificates of all hosts."""

    proxies: Proxies = Proxies()
    tls: ssl_module.SSLContext | bool | Certificates = True
    _context: ssl_module.SSLContext | None = attrs.field(default=None, init=False)
    _loading: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)

    def begin_anew(self) -> None:
        """Forgets reads of certificates that belong to a closed event loop."""
        self._loading = asyncio.Lock()

    @classmethod
    def of(
        cls,
        environ: Mapping[str, str],
        *,
        own: bool,
        proxy: str | Literal[False] | None = None,
        ssl: ssl_module.SSLContext | bool = True,
        has_session: bool = False,
        has_connector: bool = False,
    ) -> Self:
        """Returns the given network settings, or the environment's.

        `own` also reads this package's variables. A user's session keeps its own proxy and certificates; a user's
        connector keeps its own certificates. Raises ConfigurationError for invalid arguments.
        """
        if not isinstance(ssl, ssl_module.SSLContext | bool):
            raise ConfigurationError(f"ssl must be an ssl.SSLContext, True or False, not {type(ssl).__name__}")
        if proxy is not None and proxy is not False:
            if proxy.__class__ is str:
                proxy = Secret(proxy)
            proxies = Proxies(read_proxy("proxy", proxy))
        else:
            from_env = proxy is None and not has_session
            proxies = Proxies.from_env(environ, own=own) if from_env else Proxies()
        if ssl is not True or has_session:
            return cls(proxies, ssl)
        return cls(proxies, Certificates.from_env(environ, own=own, common=not has_connector) or True)

    async def options_for(self, scheme: str, host: str, port: int | None) -> ConnectionOptions:
        """Returns the connection options for a host.

        Raises ConfigurationError if the environment's settings for it are invalid.
        """
        proxy = self.proxies.choose(scheme, host, port)
        is_encrypted = scheme == "https" or (proxy is not None and proxy.url.startswith("https:"))
        options: dict[str, Any] = {"ssl": await self._tls() if is_encrypted else True}
        if proxy is None:
            return ConnectionOptions(options)
        options["proxy"] = proxy.url
        header = {"Proxy-Authorization": proxy.authorization} if proxy.authorization is not None else {}
        if scheme == "https":  # the proxy reads only the CONNECT request
            return ConnectionOptions({**options, "proxy_headers": header} if header else options)
        return ConnectionOptions(options, header, is_relayed=True)

    async def _tls(self) -> ssl_module.SSLContext | bool:
        if not isinstance(self.tls, Certificates):
            return self.tls
        # Connections are shared only between requests with the same context. Waiting here takes no thread.
        async with self._loading:
            if self._context is None:
                # In a thread, because reading a hundred certificates takes a while.
                self._context = await asyncio.to_thread(self.tls.context)
        return self._context

    def __repr__(self) -> str:
        return f"Network({self.proxies!r}, {self.tls!r})"
