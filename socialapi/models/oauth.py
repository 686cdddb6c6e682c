"""What the token endpoints take and answer (platform documentation, sections 2.7 and 5.2)."""

from typing import Any, Literal

import attrs


@attrs.define(kw_only=True)
class AppOnlyTokenRequest:
    """What an app-only token is asked for with."""

    grant_type: Literal["client_credentials"] = "client_credentials"


@attrs.define(kw_only=True)
class InvalidateTokenRequest:
    """The app-only token that is to end."""

    access_token: str = attrs.field(repr=False)


@attrs.define(kw_only=True)
class AppOnlyToken:
    """The one outstanding bearer token of an app; `token_type` is `bearer`."""

    access_token: str = attrs.field(repr=False)
    token_type: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class InvalidatedToken:
    """The token that was invalidated."""

    access_token: str = attrs.field(repr=False)
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)
