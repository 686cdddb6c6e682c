"""Tokens: one row per endpoint (platform documentation, section 5.2)."""

from typing import Final

from socialapi.models.oauth import AppOnlyToken, AppOnlyTokenRequest, InvalidatedToken, InvalidateTokenRequest
from socialapi.routes.route import OAUTH, Route

APP_ONLY_TOKEN: Final = Route(
    # Repeatable: the service answers the same token until it is invalidated.
    "POST",
    OAUTH,
    "/oauth2/token",
    AppOnlyToken,
    AppOnlyTokenRequest,
    "form",
    repeatable=True,
    section="5.2",
)
INVALIDATE_APP_ONLY_TOKEN: Final = Route(
    "POST", OAUTH, "/oauth2/invalidate_token", InvalidatedToken, InvalidateTokenRequest, "form", section="5.2"
)
