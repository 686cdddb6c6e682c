"""Routes of the token endpoints."""

from typing import Final

from socialapi.models.oauth import (
    AccessToken,
    AccessTokenRequest,
    AppOnlyToken,
    AppOnlyTokenRequest,
    AuthorizeQuery,
    InvalidatedToken,
    InvalidateTokenRequest,
    OAuth2AuthorizeQuery,
    OAuth2Token,
    OAuth2TokenRequest,
    RequestToken,
    RequestTokenQuery,
)
from socialapi.routes.route import OAUTH, Route

APP_ONLY_TOKEN: Final = Route(
    # Safe to retry: the service returns the same token until it is invalidated.
    "POST",
    OAUTH,
    "/oauth2/token",
    AppOnlyToken,
    AppOnlyTokenRequest,
    "form",
    repeatable=True,
)
INVALIDATE_APP_ONLY_TOKEN: Final = Route(
    "POST", OAUTH, "/oauth2/invalidate_token", InvalidatedToken, InvalidateTokenRequest, "form"
)

# OAuth 1.0a in three steps. An unused request token is harmless, so the first step is repeatable.
REQUEST_TOKEN: Final = Route(
    "POST", OAUTH, "/oauth/request_token", RequestToken, RequestTokenQuery, "query", repeatable=True
)
AUTHORIZE: Final = Route("GET", OAUTH, "/oauth/authorize", object, query=AuthorizeQuery)
AUTHENTICATE: Final = Route("GET", OAUTH, "/oauth/authenticate", object, query=AuthorizeQuery)
ACCESS_TOKEN: Final = Route("POST", OAUTH, "/oauth/access_token", AccessToken, AccessTokenRequest, "query")
INVALIDATE_TOKEN: Final = Route("POST", OAUTH, "/1.1/oauth/invalidate_token", InvalidatedToken)

# OAuth 2.0 with PKCE. The paths are assumed; `Config.paths` can replace them.
OAUTH2_AUTHORIZE: Final = Route("GET", OAUTH, "/2/oauth2/authorize", object, query=OAuth2AuthorizeQuery)
OAUTH2_TOKEN: Final = Route("POST", OAUTH, "/2/oauth2/token", OAuth2Token, OAuth2TokenRequest, "form")
