"""The stored logins of `socialapi auth login`, by host, in a file that only the user can read.

Only the command line uses it. A `Client` takes credentials from its arguments or the environment,
never from a file that happens to exist.
"""

import contextlib
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from socialapi.cli import output
from socialapi.cli.output import printable
from socialapi.client import Client, redis_telemetry, redis_url
from socialapi.config import SETTINGS_OF_ENVIRONMENT, Config, user_folder, variable
from socialapi.credentials import PARTS_OF_ENVIRONMENT, AppOnly, Credentials, OAuth2User, credentials_from_env
from socialapi.errors import ConfigurationError
from socialapi.internal.private_files import make_private_folder, read_small, replacement
from socialapi.models.spelling import near_name
from socialapi.session.token_cache import FileTokenCache, TokenCache

if TYPE_CHECKING:
    from socialapi.integrations.redis import RedisTokenCache

LOCK_TIMEOUT_SECONDS: Final = 10.0

Kind = Literal["oauth1", "oauth2"]
KINDS: Final[tuple[Kind, ...]] = ("oauth1", "oauth2")

# The parts of each credential, named like the environment variables.
SECRETS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "oauth1": ("api_key", "api_key_secret", "access_token", "access_token_secret"),
    "oauth2": ("oauth2_access_token", "oauth2_refresh_token", "oauth2_client_id", "oauth2_client_secret"),
}
# If one of these is set, the environment has its own credential of that kind.
_BROUGHT: Final[Mapping[Kind, tuple[str, ...]]] = {
    "oauth1": ("access_token", "access_token_secret"),
    "oauth2": ("oauth2_access_token", "oauth2_refresh_token"),
}
# If this is set to another value, the environment belongs to another app.
_APP: Final[Mapping[Kind, str]] = {"oauth1": "api_key", "oauth2": "oauth2_client_id"}


KNOWN_VARIABLES: Final = tuple(
    variable(name)
    for name in (
        *SETTINGS_OF_ENVIRONMENT,
        *PARTS_OF_ENVIRONMENT,
        *("proxy", "ca_file", "client_cert", "client_key", "client_key_password"),
        *("config_file", "credentials_file", "state_dir"),
        *("redis_url", "redis_namespace", "telemetry", "no_speedups", "hashing", "previous_api_key_secret", "log"),
    )
)
"""The environment variables that the package reads."""


def misspelled_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns misspelled variables, each with the unset known variable that was probably meant."""
    found: dict[str, str] = {}
    for name in sorted(environ):
        if name.startswith(variable("")) and name not in KNOWN_VARIABLES:
            meant = near_name(name, KNOWN_VARIABLES)
            found |= {name: meant} if meant is not None and meant not in environ else {}
    return found


@attrs.frozen(kw_only=True)
class Login:
    """A stored credential, with the user's name and id for messages, if known."""

    host: str
    kind: Kind
    secrets: Mapping[str, str] = attrs.field(repr=False)
    user_id: str | None = None
    screen_name: str | None = None
    scope: str | None = None

    def unused_because(self, environ: Mapping[str, str], base_url: str) -> str | None:
        """Returns why the login is not used in this environment; None if it is used."""
        if base_url != self.host:
            return "another host is configured" if base_url else "no base_url is configured"
        if any(environ.get(variable(name)) for name in _BROUGHT[self.kind]):
            return "the environment contains a credential of this kind"
        app = _APP[self.kind]
        if environ.get(variable(app)) not in (None, "", self.secrets.get(app)):
            return f"{variable(app)} belongs to another app"
        return None


class CredentialStore:
    """Logins in one JSON file (mode 0600), replaced atomically."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "CredentialStore":
        """Returns the store in the file `SOCIALAPI_CREDENTIALS_FILE`, or in the user's configuration folder.

        Raises ConfigurationError if there is neither.
        """
        named = environ.get("SOCIALAPI_CREDENTIALS_FILE")
        return cls(named or user_folder("config", "SOCIALAPI_CREDENTIALS_FILE") / "credentials.json")

    @property
    def token_cache_path(self) -> Path:
        """The file for tokens that are renewed while commands run. It is next to the logins."""
        return self.path.with_name(f"{self.path.stem}.tokens.json")

    def logins(self) -> list[Login]:
        """Returns all stored logins. Raises ConfigurationError if the file cannot be read."""
        return [
            self._login(host, kind, login)
            for host, kinds in self._read().items()
            for kind in KINDS
            if isinstance(login := kinds.get(kind), dict)
        ]

    def _login(self, host: str, kind: Kind, stored: Mapping[str, Any]) -> Login:
        texts = {name: value for name, value in stored.items() if isinstance(value, str) and value}
        return Login(
            host=host,
            kind=kind,
            secrets={name: texts[name] for name in SECRETS[kind] if name in texts},
            user_id=texts.get("user_id"),
            screen_name=texts.get("screen_name"),
            scope=texts.get("scope"),
        )

    def prepare(self) -> None:
        """Raises ConfigurationError if a login could not be saved. Called before the user signs in."""
        with self._locked():
            self._read()

    def save(self, login: Login) -> None:
        """Stores a login in place of an earlier one with the same kind and host."""
        about = {"user_id": login.user_id, "screen_name": login.screen_name, "scope": login.scope}
        with self._locked():
            hosts = self._read()
            hosts.setdefault(login.host, {})[login.kind] = {
                **login.secrets,
                **{name: value for name, value in about.items() if value},
            }
            self._replace(hosts)

    def remove(self, login: Login) -> None:
        """Deletes a login, unless it has been replaced by a newer one."""
        with self._locked():
            hosts = self._read()
            kept = hosts.get(login.host, {})
            if (
                isinstance(stored := kept.get(login.kind), dict)
                and self._login(login.host, login.kind, stored) == login
            ):
                del kept[login.kind]
                self._replace({host: kinds for host, kinds in hosts.items() if kinds})

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        try:
            make_private_folder(self.path.parent)
            lock = FileLock(f"{self.path}.lock", timeout=LOCK_TIMEOUT_SECONDS, mode=0o600)
            with lock:
                yield
        except Timeout:
            raise ConfigurationError(f"the credentials file {self.path} stays locked by another process") from None
        except OSError as problem:
            raise ConfigurationError(
                f"the credentials file {self.path} cannot be written: {problem.strerror}"
            ) from None

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            stored = json.loads(read_small(self.path))
            hosts = stored["hosts"]
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as problem:
            raise ConfigurationError(f"the credentials file {self.path} cannot be read: {problem.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            hosts = None
        if not isinstance(hosts, dict) or not all(isinstance(kinds, dict) for kinds in hosts.values()):
            raise ConfigurationError(
                f"the credentials file {self.path} was not written by `socialapi auth login`; move it away and sign in"
            )
        return hosts

    def _replace(self, hosts: Mapping[str, Any]) -> None:
        with replacement(self.path) as file:
            file.write(json.dumps({"version": 1, "hosts": hosts}, indent=1).encode())


class SharedTokens:
    """A token cache in Redis for all machines, with a copy in the file of this machine.

    Because of the copy, a login keeps working when commands start or stop using Redis.
    """

    def __init__(self, in_redis: "RedisTokenCache", in_file: TokenCache) -> None:
        self._in_redis = in_redis
        self._in_file = in_file

    async def load(self, key: str) -> str | None:
        """Returns the token, or None."""
        token = await self._in_redis.load(key)
        if token is None and (token := await self._in_file.load(key)) is not None:
            await self._in_redis.store(key, token)
        return token

    async def store(self, key: str, token: str) -> None:
        """Stores the token and replaces any other."""
        await self._in_redis.store(key, token)
        await self._in_file.store(key, token)

    async def discard(self, key: str, token: str) -> None:
        """Deletes the token unless it was replaced by a newer one."""
        await self._in_redis.discard(key, token)
        await self._in_file.discard(key, token)

    def lock(self, key: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Returns a context manager that only one task in all processes can hold at a time."""
        return self._in_redis.lock(key)


@contextlib.asynccontextmanager
async def shared_tokens(environ: Mapping[str, str], in_file: FileTokenCache | None) -> AsyncIterator[TokenCache | None]:
    """Yields the token cache of a command: the file, and Redis if it is configured."""
    url = redis_url(environ)
    if url is None:
        yield in_file
        return
    from socialapi.integrations.redis import RedisTokenCache

    in_redis = RedisTokenCache(url, telemetry=redis_telemetry(environ))
    try:
        yield in_redis if in_file is None else SharedTokens(in_redis, in_file)
    finally:
        await in_redis.aclose()


def say_misspelled_variables(environ: Mapping[str, str]) -> None:
    """Prints misspelled variables, which have no effect, and the names that may be meant."""
    for name, meant in misspelled_variables(environ).items():
        output.say(printable(f"there is no variable {name}; did you mean {meant}?"))


@contextlib.asynccontextmanager
async def open_client(environ: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
    """Opens a client for the configured host.

    A stored login is used only for its own host, and only if the environment has no credential of its kind. Fetched and
    renewed tokens are stored next to the login for the next command.
    """
    env = os.environ if environ is None else environ
    say_misspelled_variables(env)
    store = CredentialStore.of(env)
    config = Config.from_env(env)
    credentials = credentials_from_env(with_logins(env, store, config.base_url))
    async with (
        shared_tokens(env, _token_cache(store, credentials)) as token_cache,
        Client.from_env(env, config=config, credentials=credentials, token_cache=token_cache) as client,
    ):
        yield client


def _token_cache(store: CredentialStore, credentials: Sequence[Credentials]) -> FileTokenCache | None:
    """Returns a token cache in a file if tokens must be stored; None otherwise.

    A renewed pair must be stored, because a refresh token can be used only once. An app-only token is stored if
    possible, because the service would soon refuse to issue one for every command.
    """
    renewed = any(isinstance(each, OAuth2User) and each.refresh_token for each in credentials)
    fetched = any(isinstance(each, AppOnly) for each in credentials)
    if renewed or (fetched and _is_writable(store.token_cache_path.parent)):
        return FileTokenCache(store.token_cache_path)
    return None


def _is_writable(folder: Path) -> bool:
    """Returns whether a file can be created in the folder, or in its nearest existing parent."""
    nearest = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def with_logins(environ: Mapping[str, str], store: CredentialStore, base_url: str) -> Mapping[str, str]:
    """Returns the environment with the variables of the stored logins added. Existing variables take precedence."""
    merged: dict[str, str] = {}
    for login in store.logins() if base_url else ():
        if login.unused_because(environ, base_url) is None:
            merged |= {variable(name): value for name, value in login.secrets.items()}
    return merged | {name: value for name, value in environ.items() if value or name not in merged}
