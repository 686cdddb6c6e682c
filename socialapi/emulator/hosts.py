"""Rules for hosts: which are this machine or public, who may use the control plane, and where webhooks may be
delivered.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Final

import attrs
from multidict import CIMultiDictProxy
from yarl import URL

from socialapi.emulator.responses import forbidden
from socialapi.errors import ConfigurationError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+,;=-]+)(?::([0-9]{0,5}))?")
_ABSOLUTE: Final = re.compile(r"https?://([^/?#]*)(/[^?#]*)?", re.IGNORECASE)
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PRIVATE_DOMAINS: Final = frozenset(
    ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "arpa")
)
_LONGEST_NAME: Final = 253
_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


@attrs.frozen
class Authority:
    """A host in lower case, an IPv6 address without its brackets, and the port if one is given."""

    host: str
    port: int | None = None


def parse_authority(text: str) -> Authority | None:
    """Returns the host and port of a `Host` header or a URL, or None if the string is invalid or has user information."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    host = match[1].lower().strip("[]")
    if match[1].startswith("[") and not isinstance(parse_address(host), ipaddress.IPv6Address):
        return None
    return Authority(host, int(match[2]) if match[2] else None)


def parse_address(host: str) -> Address | None:
    """Returns the IP address if it has the usual form, or None for names and for forms such as `0x7f.1`."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_localhost(name: str) -> bool:
    """Returns whether a name is `localhost` or below it, which is always this machine."""
    plain = name.lower().removesuffix(".")
    return plain == "localhost" or plain.endswith(".localhost")


def is_loopback(host: str) -> bool:
    """Returns whether a host always refers to this machine: `localhost`, a name below it, or a loopback address."""
    address = parse_address(host)
    if address is None:
        return is_localhost(host)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def is_public(host: str) -> bool:
    """Returns whether the host of a URL can be reached from everywhere: a name in a public domain, a
    global IPv4 address, or a global IPv6 address in brackets.

    IPv4 addresses in any form but four decimal numbers are refused, because only some clients accept them.
    """
    if host.startswith("["):
        address = parse_address(host.strip("[]"))
        return isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address).is_global
    try:
        ascii_host = host.removesuffix(".").encode("idna").decode().lower()
    except UnicodeError:
        return False
    labels = ascii_host.split(".")
    if len(ascii_host) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        return False
    try:
        return ipaddress.IPv4Address(host).is_global
    except ValueError:
        return len(labels) > 1 and not labels[-1][0].isdigit() and labels[-1] not in _PRIVATE_DOMAINS


def split_target(raw_target: str) -> tuple[str | None, str]:
    """Returns the authority of a request target, which usually has none, and its path without the query."""
    match = _ABSOLUTE.match(raw_target)
    if match is None:
        return None, raw_target.partition("?")[0]
    return match[1], match[2] or "/"


class ControlAccess:
    """The rule that decides which requests to the control plane are allowed.

    A web page elsewhere can make a browser send requests here. It can also read the responses if it makes its own host
    name resolve to this machine (DNS rebinding). So the host must be one that such a page cannot have, and requests
    that a browser marks as coming from another origin are refused.
    """

    def __init__(self, allow_hosts: Iterable[str] = ()) -> None:
        self._allowed = frozenset(map(_host_name, allow_hosts))

    def check(self, raw_target: str, headers: CIMultiDictProxy[str]) -> None:
        """Refuses a request with 403 unless its host is allowed and its origin, if it has one, is that host."""
        named, _ = split_target(raw_target)
        hosts = headers.getall("Host", []) if named is None else [named]
        own = parse_authority(hosts[0]) if len(hosts) == 1 else None
        if own is None:
            raise forbidden("a request to the control plane needs exactly one valid Host header")
        host = own.host
        if parse_address(host) is None and not is_localhost(host) and host.removesuffix(".") not in self._allowed:
            raise forbidden(
                f"the control plane does not accept the host {host!r}: if this is a name of the emulator, "
                f"start it with --allow-host {host} (allow_hosts= of Emulator)"
            )
        origins = headers.getall("Origin", [])
        if any(not _is_same_origin(origin, own) for origin in origins):
            raise forbidden("the control plane does not accept requests from web pages of another origin")
        if not origins and headers.get("Sec-Fetch-Site", "").strip().lower() in ("cross-site", "same-site"):
            raise forbidden("the control plane does not accept requests from another site")


def _is_same_origin(origin: str, own: Authority) -> bool:
    scheme, _, rest = origin.strip().lower().partition("://")
    given = parse_authority(rest)
    default_port = _DEFAULT_PORTS.get(scheme)
    if given is None or default_port is None or (scheme == "https" and own.port not in (None, default_port)):
        return False
    return (given.host, given.port or default_port) == (own.host, own.port or default_port)


def _host_name(name: str) -> str:
    found = parse_authority(name)
    if found is None or found.port is not None or ":" in name:
        raise ConfigurationError(f"an allowed host must be a name without scheme and port, not {name!r}")
    return found.host.removesuffix(".")


@attrs.frozen
class DeliveryTargets:
    """The rule that decides where the requests for a webhook's URL may be sent."""

    allow_remote: bool = False

    def problem(self, target: str) -> str | None:
        """Returns the error in a URL, or None if requests may be sent to it."""
        try:
            url = URL(target)
            host, user_info = url.host, url.raw_user or url.raw_password
        except ValueError:
            host = user_info = None
        if not host or url.scheme not in _DEFAULT_PORTS:
            return f"the target {target!r} is not an http address"
        if user_info:
            return "a target must not contain a user name or password"
        if self.allow_remote or is_loopback(host):
            return None
        return (
            f"the target's host {host!r} is neither localhost nor a loopback address: to deliver to it, "
            "start the emulator with --allow-remote-targets (allow_remote_targets= of Emulator)"
        )
