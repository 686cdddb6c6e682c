"""The configuration of a client: hosts, timeouts, retries and limits."""

import contextlib
import ipaddress
import os
import re
import string
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import SplitResult, urlsplit

import attrs

from socialapi.errors import ConfigurationError
from socialapi.internal.private_files import read_small

HOSTS: Final = ("base_url", "ads_url", "ads_sandbox_url")
ADS_VERSIONS: Final = ("12", "5")
"""The documented versions of the advertising API."""


def is_loopback(host: str) -> bool:
    """Returns whether a host is this machine, so that requests to it never leave the machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_host(name: str) -> bool:
    """Returns whether this is a valid host: an IP address, or a name whose labels are valid in DNS."""
    try:
        if ":" in name or name.rpartition(".")[2].isdigit():
            ipaddress.ip_address(name)
            return True
        # Rejects empty and overlong labels, and invalid Punycode.
        name.encode("ascii").decode("idna").encode("idna")
    except ValueError:
        return False
    return len(name) <= _LONGEST_HOST and _is_host_text(name) is not None


_LONGEST_HOST: Final = 253
_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_is_host_text: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?").fullmatch

_LARGEST: Final = 2**53
"""The upper limit of all settings. It excludes infinity, which is not a valid limit for a wait."""

_URL_TEXT: Final = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*")
_HOST_AND_PORT: Final = re.compile(r"(?:\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%[^\[\]]+)?\]|[^\[\]:]*)(?::\d*)?")
_PATH_TEXT: Final = re.compile(r"(/(?!\.{0,2}(/|$))([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}|\{[a-z_]+\})*)+/?")
"""Matches a path with {parameters}, without segments that are empty, . or .."""
_HEADER_NAME: Final = re.compile("[a-z0-9!#$%&'*+.^_`|~-]*")


def split_address(text: str) -> SplitResult | None:
    """Returns the parts of a URL, or None if it is invalid. Its host may be empty."""
    try:
        parts = urlsplit(text)
        usable = parts.port != 0
    except ValueError:
        return None
    # `urlsplit` ignores text around the brackets of an IPv6 address.
    return parts if usable and _HOST_AND_PORT.fullmatch(parts.netloc.rpartition("@")[2]) else None


def _split_url(text: object) -> SplitResult | None:
    parts = split_address(text) if isinstance(text, str) and _URL_TEXT.fullmatch(text) else None
    usable = parts and parts.scheme in ("https", "http") and not parts.query and not parts.fragment
    return parts if usable else None


def _check_host(instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if value == "":
        return
    parts = _split_url(value)
    if parts is None or not parts.hostname or not is_host(parts.hostname):
        raise ConfigurationError(f"{attribute.name} is not a URL of the form https://host[/path]")
    if parts.username or parts.password:
        raise ConfigurationError(f"{attribute.name} contains a user name or password; pass credentials=[…] instead")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ConfigurationError(f"{attribute.name} must be https: credentials are never sent in the clear")


def _numbers(bounds: str, fits: Callable[[float], bool]) -> "Callable[[object, attrs.Attribute[Any], Any], None]":
    """Returns a validator for the numbers that fit. None is valid only if it is the default."""

    def check(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is None and attribute.default is None:
            return
        is_whole = _scalar_type(attribute.type) is int
        is_number = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
        if not (is_number and -_LARGEST < value < _LARGEST and fits(value)):
            kind = "a whole number" if is_whole else "a number"
            raise ConfigurationError(f"{attribute.name} must be {kind} {bounds}, not {value!r}")

    return check


_positive: Final = _numbers("greater than zero", lambda value: value > 0)
_not_negative: Final = _numbers("of at least zero", lambda value: value >= 0)
_share: Final = _numbers("from 0 to below 1", lambda value: 0 <= value < 1)
_share_above_zero: Final = _numbers("above 0 and at most 1", lambda value: 0 < value <= 1)


def _boolean(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{attribute.name} must be True or False, not {value!r}")


def _table(attribute: "attrs.Attribute[Any]", value: object) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{attribute.name} must be a table")
    return value


def _check_text(instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if not isinstance(value, str):
        raise ConfigurationError(f"{attribute.name} must be a string, not {type(value).__name__}")


def _check_rate_limits(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    for name, limit in _table(attribute, value).items():
        pair = isinstance(limit, tuple) and len(limit) == 2 and not any(isinstance(each, bool) for each in limit)
        whole = pair and isinstance(limit[0], int) and isinstance(limit[1], int | float) and limit[1] < _LARGEST
        if not (isinstance(name, str) and whole and limit[0] >= 1 and limit[1] > 0):
            raise ConfigurationError(
                f"{attribute.name}: {name} must be (requests, window in seconds), a whole number and a number, both above zero"
            )


def _check_paths(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    for documented, path in _table(attribute, value).items():
        known = isinstance(documented, str) and isinstance(path, str)
        if not known or not path.startswith("/") or not _parameters(path) <= _parameters(documented):
            raise ConfigurationError(
                f"{attribute.name}: {path} must start with a slash and have no {{parameters}} other than those in {documented}"
            )
        if not _PATH_TEXT.fullmatch(path):
            raise ConfigurationError(
                f"{attribute.name}: {path!r} must have percent-encoded segments, none of which is empty, . or .."
            )


def _check_versions(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    for documented, version in _table(attribute, value).items():
        if documented not in ADS_VERSIONS:
            raise ConfigurationError(
                f"{attribute.name}: {documented!r} is not one of the documented versions, {' and '.join(ADS_VERSIONS)}"
            )
        if not isinstance(version, str) or not (version.isascii() and version.isalnum()):
            raise ConfigurationError(
                f"{attribute.name}: the version that replaces {documented} must consist of ASCII letters and digits"
            )


def _check_prefixes(instance: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(each, str) and each == each.lower() for each in value):
        raise ConfigurationError(f"{attribute.name} must be a tuple of lowercase strings")
    if not all(_HEADER_NAME.fullmatch(each) for each in value):
        raise ConfigurationError(f"{attribute.name} contains characters that are not allowed in a header name")


def _parameters(path: str) -> set[str | None]:
    try:
        return {name for _, name, _, _ in string.Formatter().parse(path) if name is not None}
    except ValueError:
        return {None}


# The annotation of a converter declares what callers may pass. The validators reject other types, with the name of the
# field.


def _prefixes(value: Sequence[str]) -> tuple[str, ...]:
    prefixes: tuple[str, ...] = _tuples(value)
    return prefixes


def _rate_limits(value: Mapping[str, Sequence[float]]) -> Mapping[str, tuple[int, float]]:
    limits: Mapping[str, tuple[int, float]] = _tuples(value)
    return limits


def _without_slash(value: str) -> str:
    given: Any = value
    return given.strip().rstrip("/") if isinstance(given, str) else given


def _tuples(value: Any) -> Any:
    """Returns arrays of a configuration file as tuples."""
    if isinstance(value, Mapping):
        return {name: _tuples(each) for name, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


@attrs.frozen(kw_only=True)
class Config:
    """The settings of a `Client`. All are optional. A missing host is reported when a call needs it.

    Raises ConfigurationError for a host that is not https (except on loopback) and for invalid
    values.
    """

    base_url: str = attrs.field(default="", converter=_without_slash, validator=_check_host)
    """Host of the core platform API."""
    ads_url: str = attrs.field(default="", converter=_without_slash, validator=_check_host)
    """Host of the advertising API, without the version segment."""
    ads_sandbox_url: str = attrs.field(default="", converter=_without_slash, validator=_check_host)
    """Host of the advertising sandbox, without the version segment."""
    problem_base_url: str = attrs.field(default="", converter=_without_slash, validator=_check_text)
    """The base URL of problem types. Not needed to recognize them: only their last segment is compared."""

    timeout_seconds: float = attrs.field(default=60.0, validator=_positive)
    """The timeout of one attempt, from connecting to the last byte of the response."""
    connect_timeout_seconds: float = attrs.field(default=10.0, validator=_positive)
    """The timeout for opening a connection."""
    max_wait_seconds: float = attrs.field(default=120.0, validator=_not_negative)
    """The maximum total wait of an interactive call: for rate limits, between attempts, and for tokens."""
    retries: int = attrs.field(default=4, validator=_not_negative)
    """The maximum number of retries of an interactive call, where retrying is safe."""

    max_elapsed_seconds: float = attrs.field(default=90.0, validator=_positive)
    """How long a bulk job keeps retrying a failing batch, with at least 12 attempts."""
    bulk_max_wait_seconds: float = attrs.field(default=960.0, validator=_not_negative)
    """The longest single wait of a bulk job for a rate limit: 16 minutes by default."""
    max_concurrency: int = attrs.field(default=32, validator=_positive)
    """The maximum number of requests that a bulk job has in flight if it chooses the concurrency."""
    max_bytes_in_flight: int | None = attrs.field(default=None, validator=_positive)
    """The maximum number of request bytes in flight across all bulk jobs of a client; None for 12 MB. A larger batch is
    sent when nothing else is in flight. While this setting and `max_rows_in_flight` are None, packed jobs have separate
    limits of 64 MB and 500,000 rows; if either is set, both settings also apply to packed jobs.
    """
    max_rows_in_flight: int | None = attrs.field(default=None, validator=_positive)
    """The maximum number of rows in flight across all bulk jobs of a client; None for 130,000. In memory, a row takes
    at least twice as many bytes as in the request.
    """

    max_connections: int = attrs.field(default=100, validator=_positive)
    """The maximum number of open connections, including streams. Further requests wait for a free connection."""
    pool_wait_seconds: float = attrs.field(default=600.0, validator=_not_negative)
    """The maximum time that a request waits for a free connection."""
    max_response_bytes: int = attrs.field(default=64_000_000, validator=_positive)
    """The maximum size of a response. A larger response raises an error."""
    max_line_bytes: int = attrs.field(default=16_000_000, validator=_positive)
    """The maximum length of a line in a stream. A longer line raises an error."""
    stall_seconds: float = attrs.field(default=20.0, validator=_positive)
    """How long a stream may be silent, without even a keep-alive, before it reconnects."""
    slow_reader_seconds: float = attrs.field(default=10.0, validator=_positive)
    """How long a stream may be read more slowly than its items arrive before a warning is logged."""
    gap_margin_seconds: float = attrs.field(default=1.0, validator=_not_negative)
    """How long an item of a stream may be in transit. A gap is assumed to have started this much earlier than observed.
    """
    page_growth: bool = attrs.field(default=True, validator=_boolean)
    """Whether pagers request larger pages than the service's default, as described at `Pager`."""
    retry_budget: int = attrs.field(default=100, validator=_positive)
    """How many retries per host are available before calls stop retrying. Each successful call restores one."""
    interactive_reserve: float = attrs.field(default=0.02, validator=_share)
    """The share of every rate limit (at least one request) that bulk jobs leave to interactive calls."""
    redis_fallback_share: float | None = attrs.field(default=None, validator=_share_above_zero)
    """The share of every rate limit that each process may use for interactive calls while the Redis server of a
    `RedisPacer` does not reply; None to wait for the server.
    """
    rate_limit_header_prefixes: tuple[str, ...] = attrs.field(
        default=("x-account-rate-limit-", "x-rate-limit-"), converter=_prefixes, validator=_check_prefixes
    )
    """Prefixes of the `limit`, `remaining` and `reset` headers, in order of preference."""
    rate_limits: Mapping[str, tuple[int, float]] = attrs.field(
        factory=dict, converter=_rate_limits, validator=_check_rate_limits
    )
    """Limits that differ from the documented ones, or a share of them: a mapping from limit name to (requests, window
    in seconds). If the service reports a lower number of requests, that number applies; a higher number is ignored.
    """
    max_operations: int | None = attrs.field(default=None, validator=_positive)
    """The maximum number of operations in one upload request, if the service differs from its documentation."""
    max_batch_bytes: int | None = attrs.field(default=None, validator=_positive)
    """The maximum number of bytes in one upload request, if the service differs from its documentation."""
    ads_versions: Mapping[str, str] = attrs.field(factory=dict, validator=_check_versions)
    """Version segments of the advertising API that differ from the documented ones: `{"12": "13"}`."""
    paths: Mapping[str, str] = attrs.field(factory=dict, validator=_check_paths)
    """Paths that differ from the documented ones: a mapping from the documented path, with its {parameters}, to the
    actual path.
    """

    @property
    def addresses(self) -> str:
        """The hosts of the configured APIs, separated by commas."""
        hosts = (urlsplit(getattr(self, name)).netloc for name in HOSTS)
        return ", ".join(filter(None, dict.fromkeys(hosts))) or "no host"

    def host(self, name: str) -> str:
        """Returns the URL of one of `HOSTS`. Raises ConfigurationError if it is not set."""
        address: str = getattr(self, name)
        if not address:
            raise ConfigurationError(
                f"no {name} is configured: pass Config({name}=…) or set SOCIALAPI_{name.upper()} "
                "(`socialapi emulator` prints the addresses of a local one)"
            )
        return address

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> "Config":
        """Returns the settings from `SOCIALAPI_<NAME>` variables.

        They override the settings in the file `SOCIALAPI_CONFIG_FILE`. Raises ConfigurationError for invalid values,
        and for a file that cannot be read.
        """
        env = environment(environ)
        path = env.get("SOCIALAPI_CONFIG_FILE")
        settings = _read_file(path) if path else {}
        given = {name: text for name in _SCALARS if (text := env.get(variable(name), "").strip())}
        for name, text in given.items():
            settings[name] = _number(variable(name), text, _SCALARS[name])
        try:
            return cls(**settings)
        except ConfigurationError as problem:
            name, blank, fault = str(problem).partition(" ")
            if name not in given:
                raise
            raise ConfigurationError(f"{variable(name)}{blank}{fault}") from None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "Config":
        """Returns the settings from a TOML file whose keys are the attributes of this class.

        Raises ConfigurationError for unknown keys, invalid values, and a file that cannot be read.
        """
        return cls(**_read_file(path))


def variable(name: str) -> str:
    """Returns the name of the environment variable for a setting or a part of a credential."""
    return f"SOCIALAPI_{name.upper()}"


def is_file_path(value: object) -> bool:
    """Returns whether a value is a valid file path.

    Empty paths, and paths with a NUL or a lone surrogate, are invalid.
    """
    try:
        return isinstance(value, str | os.PathLike) and os.fsencode(value) != b"" and b"\0" not in os.fsencode(value)
    except (ValueError, TypeError):
        return False


def user_folder(kind: Literal["cache", "config", "state"], instead: str) -> Path:
    """Returns this package's folder below the user's home folder.

    Raises ConfigurationError for a user without a home folder, as in containers. The error suggests `instead`: another
    setting for the location of the files.
    """
    import platformdirs

    folder = Path()
    with contextlib.suppress(RuntimeError):  # reported below
        folder = getattr(platformdirs, f"user_{kind}_path")("socialapi")
    if not folder.is_absolute():  # some versions of the library return ~/… unchanged
        raise ConfigurationError(f"this user has no home folder: set HOME, or {instead}")
    return folder


def environment(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    """Returns the given environment variables, or by default the variables of the process.

    Raises ConfigurationError for anything but a mapping of strings.
    """
    given: object = os.environ if environ is None else environ
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"environ must be a mapping of variables, not {type(given).__name__}")
    if odd := [name for name, value in given.items() if not (isinstance(name, str) and isinstance(value, str))]:
        raise ConfigurationError(f"the variable {odd[0]} must be a string")
    return given


def _read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    import tomllib

    settings, fault = {}, ""
    try:
        settings = tomllib.loads(read_small(path).decode())
    except OSError as problem:
        fault = problem.strerror or type(problem).__name__
    except UnicodeError:
        fault = "it is not UTF-8"
    except tomllib.TOMLDecodeError as problem:
        fault = str(problem)
    except RecursionError:
        fault = "its values are nested too deeply"
    except (ValueError, TypeError):
        fault = "it contains a number with too many digits" if is_file_path(path) else "this is not a path"
    if fault:
        raise ConfigurationError(f"cannot read the configuration file {_shown(path)}: {fault}")
    unknown = sorted(settings.keys() - {field.name for field in attrs.fields(Config)})
    if unknown:
        raise ConfigurationError(f"{path}: unknown settings {', '.join(unknown)}")
    return settings


def _shown(path: object) -> str:
    return str(path) if isinstance(path, str | os.PathLike) and str(path).isprintable() else "(not shown)"


def _number(variable: str, text: str, read: type) -> Any:
    try:
        return read(text)
    except ValueError:
        pass
    raise ConfigurationError(f"{variable} is not a number: {text!r}")


def _scalar_type(annotation: object) -> type | None:
    for kind in (str, int, float):
        if annotation in (kind, kind | None):
            return kind
    return None


_SCALARS: Final[Mapping[str, type]] = {
    field.name: kind for field in attrs.fields(Config) for kind in [_scalar_type(field.type)] if kind is not None
}
SETTINGS_OF_ENVIRONMENT: Final = tuple(_SCALARS)
"""The settings that can be set by variables."""
