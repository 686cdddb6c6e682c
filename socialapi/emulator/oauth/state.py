"""The state of sign-ins: request tokens, codes, grants and browsers."""

import secrets
from typing import Final, Literal

import attrs

REQUEST_TOKEN_SECONDS: Final = 900.0
"""The time that a user has for the sign-in. The documentation does not specify one."""
CODE_SECONDS: Final = 30.0
"""The lifetime of an OAuth 2.0 code. The documentation does not specify one."""
OUT_OF_BAND: Final = "oob"


@attrs.define(kw_only=True)
class RequestToken:
    """The temporary token of an OAuth 1.0a sign-in, from its first to its third step."""

    token: str = attrs.field(repr=False)
    secret: str = attrs.field(repr=False)
    app_key: str
    callback: str
    access: Literal["read", "write"]
    expires_at: float
    state: Literal["pending", "approved", "denied", "used"] = "pending"
    user_id: str = ""
    verifier: str = attrs.field(default="", repr=False)


@attrs.define(kw_only=True)
class Code:
    """An OAuth 2.0 authorization code, with the values to which it is bound."""

    app_key: str
    user_id: str
    redirect_uri: str
    challenge: str
    scopes: frozenset[str]
    expires_at: float
    used: bool = False


@attrs.frozen(kw_only=True)
class RefreshGrant:
    """The app, user and scopes of a refresh token."""

    app_key: str
    user_id: str
    scopes: frozenset[str]


@attrs.define
class PendingSignIns:
    """The pending sign-ins and the grants of an emulator."""

    request_tokens: dict[str, RequestToken] = attrs.field(factory=dict)
    codes: dict[str, Code] = attrs.field(factory=dict)
    refresh_tokens: dict[str, RefreshGrant | None] = attrs.field(factory=dict)
    """The grants by refresh token, or None if the token was used."""
    granted: dict[tuple[str, str], Literal["read", "write"]] = attrs.field(factory=dict)
    """The access that users have granted apps, by (app key, user id)."""
    browsers: dict[str, str] = attrs.field(factory=dict)
    """The ids of the signed-in users, by browser cookie."""
    form_key: bytes = attrs.field(factory=lambda: secrets.token_bytes(32), repr=False)
    """The key that seals the forms of the pages."""
    access_tokens_made: int = 0
