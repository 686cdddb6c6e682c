"""Requests and responses of the token endpoints."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Required, TypedDict

import attrs
from annotated_types import MaxLen, MinLen

from socialapi.errors import InvalidInput
from socialapi.internal.records import Exported, FrozenRecord, Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.problems import BrokenRule


class HoldsSecret(Exported):
    """A base class to list before `Record`: its `to_dict` and `to_json` export secrets only on request."""

    __slots__ = ()

    def to_dict(self, *, with_secrets: bool = False) -> dict[str, Any]:
        """Returns the object as JSON-ready values, including its tokens. Raises InvalidInput unless `with_secrets` is
        True, so that no token gets into a log or a file by accident.
        """
        if not with_secrets:
            raise InvalidInput(
                f"{type(self).__name__} contains secrets: to export them, call to_dict(with_secrets=True)"
            )
        return super().to_dict()

    def to_json(self, *, with_secrets: bool = False, indent: bool = False) -> str:
        """Returns `to_dict()` as a JSON string, indented if `indent` is true. Raises InvalidInput unless `with_secrets`
        is true.
        """
        from socialapi.wire import export

        return export.json_text(self.to_dict(with_secrets=with_secrets), indent=indent)


@attrs.define(kw_only=True)
class AppOnlyTokenRequest(Record):
    """The request for an app-only token."""

    grant_type: Literal["client_credentials"] = "client_credentials"


@attrs.define(kw_only=True)
class InvalidateTokenRequest(HoldsSecret, Record):
    """The app-only token to invalidate."""

    access_token: str = attrs.field(repr=False)


@attrs.define(kw_only=True)
class AppOnlyToken(HoldsSecret, Model):
    """The bearer token of an app. `token_type` is `bearer`."""

    access_token: str = attrs.field(repr=False)
    token_type: str | None = None


@attrs.define(kw_only=True)
class InvalidatedToken(HoldsSecret, Model):
    """The token that was invalidated."""

    access_token: str = attrs.field(repr=False)


# OAuth 1.0a in three steps


@attrs.define(kw_only=True)
class RequestTokenQuery(Record):
    """The request for a request token, without the signed `oauth_callback`."""

    service_auth_access_type: Literal["read", "write"] | Unset = UNSET


@attrs.define(kw_only=True)
class RequestToken(HoldsSecret, Model):
    """The token of a started sign-in. Its secret signs the third step."""

    oauth_token: str
    oauth_token_secret: str = attrs.field(repr=False)
    oauth_callback_confirmed: bool | None = None


class AuthorizeQuery(TypedDict, total=False):
    """Parameters of the page on which the user decides. They never include the callback."""

    oauth_token: Required[str]
    force_login: bool
    screen_name: str


@attrs.define(kw_only=True)
class AccessTokenRequest(HoldsSecret, Record):
    """The third step. The verifier comes with the callback or from the PIN page."""

    oauth_token: str
    oauth_verifier: Annotated[str, MinLen(1)] = attrs.field(repr=False)


@attrs.define(kw_only=True)
class AccessToken(HoldsSecret, Model):
    """A user's token and secret."""

    oauth_token: str = attrs.field(repr=False)
    oauth_token_secret: str = attrs.field(repr=False)
    user_id: str | None = None
    screen_name: str | None = None


# OAuth 2.0 with PKCE (RFC 6749 and RFC 7636 define the formats)


class OAuth2AuthorizeQuery(TypedDict, total=False):
    """Parameters of the page on which the user grants scopes."""

    response_type: Required[Literal["code"]]
    client_id: Required[str]
    redirect_uri: Required[str]
    scope: Required[str]
    state: Required[str]
    code_challenge: Required[Annotated[str, MinLen(43), MaxLen(128)]]
    code_challenge_method: Required[Literal["S256"]]


@attrs.define(kw_only=True)
class OAuth2TokenRequest(HoldsSecret, Record):
    """The exchange of a code or a refresh token for tokens."""

    grant_type: Literal["authorization_code", "refresh_token"]
    client_id: str
    code: str | Unset = attrs.field(default=UNSET, repr=False)
    redirect_uri: str | Unset = UNSET
    code_verifier: Annotated[str, MinLen(43), MaxLen(128)] | Unset = attrs.field(default=UNSET, repr=False)
    refresh_token: str | Unset = attrs.field(default=UNSET, repr=False)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation for each missing parameter of the grant type."""
        wanted = ("refresh_token",) if data["grant_type"] == "refresh_token" else _CODE_PARAMETERS
        for name in wanted:
            if name not in data:
                yield BrokenRule(path=name, reason="is required for this grant_type", code="MISSING_PARAMETER")


_CODE_PARAMETERS: Final = ("code", "redirect_uri", "code_verifier")


@attrs.define(kw_only=True)
class OAuth2Token(HoldsSecret, Model):
    """A user's tokens. `expires_in` is in seconds; `scope` is a list separated by spaces."""

    access_token: str = attrs.field(repr=False)
    token_type: str | None = None
    expires_in: int | None = None
    refresh_token: str | None = attrs.field(default=None, repr=False)
    scope: str | None = None


@attrs.define(kw_only=True)
class RenewedTokens(HoldsSecret, Model):
    """The fields of the response to a token refresh, before the client checks that all are present."""

    access_token: str | None = attrs.field(default=None, repr=False)
    expires_in: int | None = None
    refresh_token: str | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class OAuth2SignIn(HoldsSecret, FrozenRecord):
    """A started sign-in: the URL of the page to open, and the values to keep for `exchange_code`.

    The page sends the user back with a `code` and a `state`. Use the code only if the returned state equals this one.
    """

    url: str = attrs.field(repr=False)
    state: str = attrs.field(repr=False)
    code_verifier: str = attrs.field(repr=False)
    redirect_uri: str
