"""What proves who is calling. Each credential is plain data; how it signs a request is the session's business.

No `repr` shows any part of a secret.
"""

import os
from collections.abc import Mapping

import attrs

from socialapi.errors import ConfigurationError


def _filled(instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    name = f"{type(instance).__name__}.{attribute.name}"
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} is empty")
    if any(letter.isspace() or not letter.isprintable() for letter in value):
        raise ConfigurationError(f"{name} holds a blank, line break or control character, which no secret has")


def _secret() -> str:
    field: str = attrs.field(repr=False, validator=_filled)
    return field


@attrs.frozen
class AppOnly:
    """The app itself (OAuth 2.0 app-only, platform section 5.2): a bearer token is fetched, cached and renewed."""

    api_key: str = _secret()
    api_key_secret: str = _secret()


@attrs.frozen
class Bearer:
    """A ready app-only bearer token (platform section 5.1). It cannot be renewed here."""

    token: str = _secret()


@attrs.frozen
class OAuth1:
    """A user of an app (OAuth 1.0a, platform section 5.3): every attempt is signed anew with HMAC-SHA1."""

    api_key: str = _secret()
    api_key_secret: str = _secret()
    access_token: str = _secret()
    access_token_secret: str = _secret()


@attrs.frozen
class OAuth2User:
    """A user's OAuth 2.0 access token (platform section 5.4), sent as a bearer token."""

    access_token: str = _secret()


Credentials = AppOnly | Bearer | OAuth1 | OAuth2User


def credentials_from_env(environ: Mapping[str, str] | None = None) -> tuple[Credentials, ...]:
    """Every credential that the `SOCIALAPI_*` variables make up completely.

    Raises ConfigurationError when a variable is set whose companions are missing, since the call that needs them
    would otherwise be made with some other credential.
    """
    env = os.environ if environ is None else environ
    values = {name: env.get(f"SOCIALAPI_{name}", "").strip() for name in _VARIABLES}
    found: list[Credentials] = []
    app = (values["API_KEY"], values["API_KEY_SECRET"])
    user = (values["ACCESS_TOKEN"], values["ACCESS_TOKEN_SECRET"])
    if any(user):
        _complete(values, "API_KEY", "API_KEY_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET")
        found.append(OAuth1(*app, *user))
    if any(app):
        _complete(values, "API_KEY", "API_KEY_SECRET")
        found.append(AppOnly(*app))
    if values["OAUTH2_ACCESS_TOKEN"]:
        found.append(OAuth2User(values["OAUTH2_ACCESS_TOKEN"]))
    if values["BEARER_TOKEN"]:
        found.append(Bearer(values["BEARER_TOKEN"]))
    return tuple(found)


_VARIABLES = (
    "API_KEY",
    "API_KEY_SECRET",
    "ACCESS_TOKEN",
    "ACCESS_TOKEN_SECRET",
    "BEARER_TOKEN",
    "OAUTH2_ACCESS_TOKEN",
)


def _complete(values: Mapping[str, str], *names: str) -> None:
    missing = [f"SOCIALAPI_{name}" for name in names if not values[name]]
    if missing:
        raise ConfigurationError(f"the credentials in the environment are incomplete: set {' and '.join(missing)}")
