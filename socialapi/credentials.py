"""Credentials as plain data. The session signs requests with them.

No `repr` shows any part of a secret.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from socialapi.errors import ConfigurationError

_QUOTES: Final = frozenset("\"'`\u2018\u2019\u201c\u201d")


def _filled(instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    name = f"{type(instance).__name__}.{attribute.name}"
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} is empty")
    if value[0] in _QUOTES or value[-1] in _QUOTES:
        raise ConfigurationError(
            f"{name} begins or ends with a quotation mark: remove it, because some programs do not strip quotes in env files"
        )
    if any(letter.isspace() or not letter.isprintable() for letter in value):
        raise ConfigurationError(f"{name} contains a space, line break or control character, which secrets never do")


def _token(instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    """Checks a token, which must also be ASCII because it is sent in a header unchanged."""
    _filled(instance, attribute, value)
    if not str(value).isascii():
        raise ConfigurationError(
            f"{type(instance).__name__}.{attribute.name} contains non-ASCII characters, which tokens never do"
        )


def _bearer_token() -> str:
    field: str = attrs.field(repr=False, validator=_token)
    return field


def _secret() -> str:
    field: str = attrs.field(repr=False, validator=_filled)
    return field


def _optional_secret() -> str | None:
    field: str | None = attrs.field(default=None, repr=False, validator=attrs.validators.optional(_filled))
    return field


@attrs.frozen
class AppOnly:
    """The app itself (OAuth 2.0 app-only).

    The client fetches a bearer token with it, caches it and renews it.
    """

    api_key: str = _secret()
    api_key_secret: str = _secret()


@attrs.frozen
class Bearer:
    """A ready app-only bearer token. It cannot be renewed."""

    token: str = _bearer_token()


@attrs.frozen
class OAuth1:
    """A user of an app (OAuth 1.0a). Every attempt is signed with HMAC-SHA1."""

    api_key: str = _secret()
    api_key_secret: str = _secret()
    access_token: str = _secret()
    access_token_secret: str = _secret()


@attrs.frozen
class OAuth2User:
    """A user's OAuth 2.0 access token, sent as a bearer token.

    With a `refresh_token` and the app's `client_id` (and `client_secret`, if the app has one), it is renewed when it
    expires. The service replaces the refresh token on every use. So pass the client a token cache that outlives the
    process, such as `FileTokenCache()`: it stores the newest pair and finds it by the original credential.

    Raises ConfigurationError for a `refresh_token` or `client_secret` without a `client_id`.
    """

    access_token: str = _bearer_token()
    refresh_token: str | None = _optional_secret()
    client_id: str | None = _optional_secret()
    client_secret: str | None = _optional_secret()

    def __attrs_post_init__(self) -> None:
        if self.client_id is None and (self.refresh_token is not None or self.client_secret is not None):
            raise ConfigurationError("OAuth2User.client_id is needed to use a refresh token or a client secret")


Credentials = AppOnly | Bearer | OAuth1 | OAuth2User


def by_kind(credentials: Iterable[Credentials]) -> dict[str, Credentials]:
    """Returns the credentials by the name of their kind.

    Raises ConfigurationError for two credentials of the same kind, which would be ambiguous, and for other types.
    """
    found: dict[str, Credentials] = {}
    for credential in credentials:
        kind = type(credential).__name__
        if not isinstance(credential, Credentials):
            raise ConfigurationError(f"{kind} is not a credential of this package")
        if kind in found:
            raise ConfigurationError(f"there are two credentials of the kind {kind}: create a separate client for each")
        found[kind] = credential
    return found


def credentials_from_env(environ: Mapping[str, str] | None = None) -> tuple[Credentials, ...]:
    """Returns every credential for which all `SOCIALAPI_*` variables are set.

    Raises ConfigurationError if only some variables of a credential are set, because calls would silently use a
    different credential.
    """
    env = os.environ if environ is None else environ
    values = {name: env.get(f"SOCIALAPI_{name}", "").strip() for name in PARTS_OF_ENVIRONMENT}
    found: list[Credentials] = []
    app = (values["API_KEY"], values["API_KEY_SECRET"])
    user = (values["ACCESS_TOKEN"], values["ACCESS_TOKEN_SECRET"])
    if any(user):
        _complete(values, "API_KEY", "API_KEY_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET")
        found.append(OAuth1(*app, *user))
    if any(app):
        _complete(values, "API_KEY", "API_KEY_SECRET")
        found.append(AppOnly(*app))
    if values["OAUTH2_ACCESS_TOKEN"] or values["OAUTH2_REFRESH_TOKEN"]:
        # A refresh token needs the client id. An access token alone is valid until it expires.
        wanted = ("OAUTH2_CLIENT_ID",) if values["OAUTH2_REFRESH_TOKEN"] or values["OAUTH2_CLIENT_SECRET"] else ()
        _complete(values, "OAUTH2_ACCESS_TOKEN", *wanted)
        names = ("OAUTH2_ACCESS_TOKEN", "OAUTH2_REFRESH_TOKEN", "OAUTH2_CLIENT_ID", "OAUTH2_CLIENT_SECRET")
        access_token, *renewal = (values[name] for name in names)
        found.append(OAuth2User(access_token, *(value or None for value in renewal)))
    if values["BEARER_TOKEN"]:
        found.append(Bearer(values["BEARER_TOKEN"]))
    return tuple(found)


PARTS_OF_ENVIRONMENT: Final = (
    "API_KEY",
    "API_KEY_SECRET",
    "ACCESS_TOKEN",
    "ACCESS_TOKEN_SECRET",
    "BEARER_TOKEN",
    "OAUTH2_ACCESS_TOKEN",
    "OAUTH2_REFRESH_TOKEN",
    "OAUTH2_CLIENT_ID",
    "OAUTH2_CLIENT_SECRET",
)


def _complete(values: Mapping[str, str], *names: str) -> None:
    missing = [f"SOCIALAPI_{name}" for name in names if not values[name]]
    if missing:
        raise ConfigurationError(f"the credentials in the environment are incomplete: set {' and '.join(missing)}")
