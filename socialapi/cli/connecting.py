"""A client for a command: hosts and credentials from the environment, and what `socialapi auth login` has stored."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from socialapi.cli.credential_store import CredentialStore, variable
from socialapi.client import Client
from socialapi.config import Config
from socialapi.credentials import AppOnly, Credentials, OAuth2User, credentials_from_env
from socialapi.session.token_cache import FileTokenCache, TokenCache


def open_client(environ: Mapping[str, str] | None = None) -> Client:
    """A client of the configured host, to be used in `async with`.

    A stored login is used where the environment names no credential of its kind, and only for the host it was made
    for. Tokens that are fetched or renewed are kept beside it for the next command.
    """
    env = os.environ if environ is None else environ
    store = CredentialStore.of(env)
    config = Config.from_env(env)
    credentials = credentials_from_env(with_logins(env, store, config.base_url))
    return Client.from_env(env, config=config, credentials=credentials, token_cache=_token_cache(store, credentials))


def _token_cache(store: CredentialStore, credentials: Sequence[Credentials]) -> TokenCache | None:
    """A file, where there is something to keep: a renewed pair must be, since a refresh token serves once; an app-only
    token is, if it can be, since asking for it at every command is refused before long (section 5.2).
    """
    renewed = any(isinstance(each, OAuth2User) and each.refresh_token for each in credentials)
    fetched = any(isinstance(each, AppOnly) for each in credentials)
    if renewed or (fetched and _is_writable(store.token_cache_path.parent)):
        return FileTokenCache(store.token_cache_path)
    return None


def _is_writable(folder: Path) -> bool:
    """Whether a file can be made there, or in what has to be made first."""
    nearest = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def with_logins(environ: Mapping[str, str], store: CredentialStore, base_url: str) -> Mapping[str, str]:
    """The environment as it would be with the stored logins in it; what it says itself stays."""
    merged: dict[str, str] = {}
    for login in store.logins() if base_url else ():
        if login.unused_because(environ, base_url) is None:
            merged |= {variable(name): value for name, value in login.secrets.items()}
    return merged | {name: value for name, value in environ.items() if value or name not in merged}
