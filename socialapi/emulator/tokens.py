"""App-only tokens: one outstanding token per app, until it is invalidated (platform sections 3.2, 5.2 and 7.3)."""

from typing import Final

from socialapi.emulator.authentication import app_by_key
from socialapi.emulator.call import Call, handles
from socialapi.emulator.envelopes import Answer, Refusal, answer
from socialapi.models.validation import broken_rules
from socialapi.routes import oauth as routes
from socialapi.routes.route import RateLimit

APP_ONLY_TOKENS: Final = RateLimit("app_only_tokens", 60, 60.0)
"""The documentation says that asking too often gives code 99, not how often that is; this much is allowed here."""

_BAD_PARAMETER: Final = 170
_NOT_YOURS: Final = 348


@handles(routes.APP_ONLY_TOKEN, caller=app_by_key)
async def create_app_only_token(call: Call) -> Answer:
    """The outstanding token of the app, the same one until it is invalidated."""
    app = call.caller.app
    if not call.state.limits.take(APP_ONLY_TOKENS, (app.api_key,)).granted:
        raise Refusal(403, 99, "The app-only token was requested too often.")
    grant_type = _parameter(call, "grant_type")
    if broken := broken_rules(call.route.body, {"grant_type": grant_type}, now=call.state.clock.datetime()):
        raise Refusal(400, _BAD_PARAMETER, str(broken[0]))
    return answer({"token_type": "bearer", "access_token": call.state.app_only_token(app)})


@handles(routes.INVALIDATE_APP_ONLY_TOKEN, caller=app_by_key)
async def invalidate_app_only_token(call: Call) -> Answer:
    """The token, which is of no use from now on."""
    app = call.caller.app
    token = _parameter(call, "access_token")
    if app.bearer_token is None or token != app.bearer_token:
        raise Refusal(403, _NOT_YOURS, "This is no live app-only token of the app.")
    call.state.end_bearer(token)
    return answer({"access_token": token})


def _parameter(call: Call, name: str) -> str:
    value = call.received.parameters().get(name)
    if not value:
        raise Refusal(400, _BAD_PARAMETER, f"{name} is required")
    return value
