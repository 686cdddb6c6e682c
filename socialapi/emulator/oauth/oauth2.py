"""OAuth 2.0: app-only tokens, and sign-in with PKCE (RFC 6749 and 7636)."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

import attrs

from socialapi.emulator.auth import app_by_key, basic_pair, has_secret, named_app
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.oauth import html
from socialapi.emulator.oauth.authorize import (
    PageShown,
    Question,
    approver,
    check_seal,
    consent_page,
    shows_pages,
    sign_in,
    submitted,
)
from socialapi.emulator.oauth.state import CODE_SECONDS, Code, RefreshGrant
from socialapi.emulator.oauth.three_legged import BAD_PARAMETER, is_registered, with_parameters
from socialapi.emulator.request import FORM
from socialapi.emulator.responses import Answer, Refusal, answer
from socialapi.emulator.state import App, Caller
from socialapi.models.oauth import OAuth2TokenRequest
from socialapi.models.validation import broken_rules
from socialapi.routes import oauth as routes
from socialapi.routes.route import OAUTH, RateLimit, Route

APP_ONLY_TOKENS: Final = RateLimit("app_only_tokens", 60, 60.0)
"""The limit for app-only token requests, chosen by the emulator. The documentation specifies code 99 for too many
requests, but no number.
"""

_NOT_YOURS: Final = 348


@serves(routes.APP_ONLY_TOKEN, caller=app_by_key)
async def create_app_only_token(call: Call) -> Answer:
    """Returns the app-only token of the app, which stays the same until it is invalidated."""
    app = call.caller.app
    granted, _ = call.state.limits.take(APP_ONLY_TOKENS, (app.api_key,))
    if not granted:
        raise Refusal(403, 99, "The app-only token was requested too often.")
    grant_type = _parameter(call, "grant_type")
    if broken := broken_rules(call.route.body, {"grant_type": grant_type}, now=call.state.clock.datetime()):
        raise Refusal(400, BAD_PARAMETER, str(broken[0]))
    return answer({"token_type": "bearer", "access_token": call.state.app_only_token(app)})


@serves(routes.INVALIDATE_APP_ONLY_TOKEN, caller=app_by_key)
async def invalidate_app_only_token(call: Call) -> Answer:
    """Invalidates the token, and returns it."""
    app = call.caller.app
    token = _parameter(call, "access_token")
    if app.bearer_token is None or token != app.bearer_token:
        reason = "The token is not the app's current one." if app.bearer_token else "The app has no app-only token."
        raise Refusal(403, _NOT_YOURS, reason)
    call.state.end_bearer(token)
    return answer({"access_token": token})


def _parameter(call: Call, name: str) -> str:
    value = call.received.parameters().get(name)
    if not value:
        raise Refusal(400, BAD_PARAMETER, f"{name} is required")
    return value


DECISION: Final = Route("POST", OAUTH, routes.OAUTH2_AUTHORIZE.path, object)
"""The route to which the page's form is sent. Clients never call it, so it is declared here."""

_AUTHORIZE_PARAMETERS: Final = frozenset(routes.OAUTH2_AUTHORIZE.query.__annotations__)
OFFLINE_SCOPE: Final = "offline.access"
"""The scope that is required for a refresh token."""
_SCOPE: Final = re.compile(r"[a-z]+(\.[a-z]+)*")
_SCOPES: Final[Mapping[str, str]] = {
    "tweet.read": "See your posts",
    "tweet.write": "Create posts and articles in your name",
    "users.read": "See your profile",
    "follow.read": "See whom you follow and who follows you",
    OFFLINE_SCOPE: "Stay connected until you disconnect it",
}


@serves(routes.OAUTH2_AUTHORIZE, caller=named_app)
@shows_pages
async def authorize(call: Call) -> Answer:
    """Returns the page on which the user grants scopes."""
    return consent_page(call, _question(call, _recognized(call.received.parameters())))


@serves(DECISION, caller=named_app)
@shows_pages
async def decide(call: Call) -> Answer:
    """Redirects back to the app, with a code or with the user's refusal."""
    form = submitted(call)
    given = _recognized(form)
    question = _question(call, given)
    check_seal(call, question, form)
    user = approver(call, question, form)
    if user is None:
        return _back(given, error="access_denied", error_description="the user denied access")
    code = secrets.token_urlsafe(32)
    call.state.sign_ins.codes[code] = Code(
        app_key=given["client_id"],
        user_id=user.id,
        redirect_uri=given["redirect_uri"],
        challenge=given["code_challenge"],
        scopes=frozenset(given["scope"].split()),
        expires_at=call.now + CODE_SECONDS,
    )
    return html.redirect(with_parameters(given["redirect_uri"], {"code": code, **_state(given)}), sign_in(call, user))


def _recognized(parameters: Mapping[str, str]) -> dict[str, str]:
    """Returns the known parameters; others are ignored (RFC 6749, section 3.1)."""
    return {name: value for name, value in parameters.items() if name in _AUTHORIZE_PARAMETERS}


def _question(call: Call, given: Mapping[str, str]) -> Question:
    """Returns the question for the user. Redirects errors only if the URL is known to belong to the app."""
    app = call.state.apps.get(given.get("client_id", ""))
    if app is None or not is_registered(given.get("redirect_uri", "")):
        sentence = "The app is unknown, or its redirect URL is not registered."
        raise PageShown(html.message_page("This link is invalid", sentence, status=400))
    _check_authorize(call, given)
    scopes = dict.fromkeys(given["scope"].split())
    return Question(
        app=app,
        may=[_SCOPES.get(scope, f"Use the permission {scope}") for scope in scopes],
        may_not=[] if "tweet.write" in scopes else [_SCOPES["tweet.write"]],
        action=DECISION.path,
        fields=dict(given),
    )


def _check_authorize(call: Call, given: Mapping[str, str]) -> None:
    if given.get("response_type") not in (None, "code"):
        raise PageShown(_back(given, error="unsupported_response_type", error_description="response_type must be code"))
    if broken := broken_rules(routes.OAUTH2_AUTHORIZE.query, given, now=call.state.clock.datetime()):
        error = "invalid_scope" if broken[0].path == "scope" else "invalid_request"
        raise PageShown(_back(given, error=error, error_description=str(broken[0])))
    scopes = given["scope"].split()
    if not scopes or not all(_SCOPE.fullmatch(scope) for scope in scopes):
        raise PageShown(_back(given, error="invalid_scope", error_description="scope must be a space-separated list"))


def _back(given: Mapping[str, str], **parameters: str) -> Answer:
    return html.redirect(with_parameters(given["redirect_uri"], {**parameters, **_state(given)}))


def _state(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the app's own parameter, unchanged."""
    return {"state": given["state"]} if "state" in given else {}


ACCESS_TOKEN_SECONDS: Final = 7_200
"""The lifetime of an access token, on the emulator's clock. The documentation does not specify one."""
_TOKEN_PARAMETERS: Final = frozenset(field.name for field in attrs.fields(OAuth2TokenRequest))
"""The known parameters; others are ignored (RFC 6749, section 3.2)."""
_UNCACHED: Final = {"Cache-Control": "no-store"}


class TokenError(Exception):
    """An error as defined in RFC 6749, section 5.2."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(error)
        self.error = error
        self.description = description
        self.status = status


@serves(routes.OAUTH2_TOKEN, caller=named_app)
async def create_tokens(call: Call) -> Answer:
    """Returns an expiring access token and, if the scope allows it, a refresh token that can be used once."""
    try:
        return _issued(call, _redeemed(call, *_client_and_form(call)))
    except TokenError as refusal:
        body = {"error": refusal.error, "error_description": refusal.description}
        headers = {"WWW-Authenticate": "Basic"} if refusal.status == 401 else {}
        return attrs.evolve(answer(body, refusal.status), headers=_UNCACHED | headers)


def _client_and_form(call: Call) -> tuple[App, Mapping[str, str]]:
    """Returns the parameters, and the app identified by its key and secret. The key alone is enough, because PKCE
    proves that the same app started the sign-in.
    """
    if call.received.content_type != FORM or not call.received.complete:
        raise TokenError("invalid_request", f"the body must be sent as {FORM}")
    form = dict(call.received.form())
    pair = basic_pair(call.received)
    if "client_secret" in form:
        pair = (form.get("client_id", ""), form.pop("client_secret"))
    if pair is not None:
        form.setdefault("client_id", pair[0])
    if "client_id" not in form:
        raise TokenError("invalid_request", "client_id: is required and must be the app's key")
    app = call.state.apps.get(form["client_id"])
    if app is None:
        raise TokenError("invalid_client", "there is no app with this client_id, which must be the app's key", 401)
    if pair is not None and pair[0] != app.api_key:
        raise TokenError("invalid_client", "client_id differs from the app in the Authorization header", 401)
    if pair is not None and not has_secret(app, pair[1]):
        raise TokenError("invalid_client", "the secret is not the app's", 401)
    known = {name: value for name, value in form.items() if name in _TOKEN_PARAMETERS}
    if broken := broken_rules(call.route.body, known, now=call.state.clock.datetime()):
        unknown = broken[0].path == "grant_type" and "grant_type" in form
        raise TokenError("unsupported_grant_type" if unknown else "invalid_request", str(broken[0]))
    return app, form


def _redeemed(call: Call, app: App, form: Mapping[str, str]) -> RefreshGrant:
    """Redeems the code or the refresh token, and returns its grant."""
    if form["grant_type"] == "authorization_code":
        return _redeemed_code(call, app, form)
    held, token = call.state.sign_ins.refresh_tokens, form["refresh_token"]
    if token not in held:
        raise TokenError("invalid_grant", "there is no such refresh token")
    grant = held[token]
    if grant is None:
        raise TokenError("invalid_grant", "the refresh token was already used: each use returns a new one")
    if grant.app_key != app.api_key:
        raise TokenError("invalid_grant", "the refresh token is another app's")
    held[token] = None
    return grant


def _redeemed_code(call: Call, app: App, form: Mapping[str, str]) -> RefreshGrant:
    code = call.state.sign_ins.codes.get(form["code"])
    if code is None:
        raise TokenError("invalid_grant", "there is no such code")
    was_used, code.used = code.used, True
    if was_used:
        raise TokenError("invalid_grant", "the code has already been used: a code works only once")
    if code.app_key != app.api_key:
        raise TokenError("invalid_grant", "the code is another app's")
    if call.now >= code.expires_at:
        raise TokenError("invalid_grant", f"the code has expired: it is valid for {CODE_SECONDS:.0f} seconds")
    if code.redirect_uri != form["redirect_uri"]:
        raise TokenError("invalid_grant", "redirect_uri does not match the one for which the code was issued")
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    if not hmac.compare_digest(challenge.encode(), code.challenge.encode()):
        raise TokenError("invalid_grant", "code_verifier does not match the code_challenge of the code")
    return RefreshGrant(app_key=code.app_key, user_id=code.user_id, scopes=code.scopes)


def _issued(call: Call, grant: RefreshGrant) -> Answer:
    state = call.state
    access_token = secrets.token_urlsafe(48)
    expires_at = call.now + ACCESS_TOKEN_SECONDS
    state.bearers[access_token] = Caller(
        state.apps[grant.app_key], state.users[grant.user_id], scopes=grant.scopes, expires_at=expires_at
    )
    body: dict[str, Any] = {
        "token_type": "bearer",
        "expires_in": ACCESS_TOKEN_SECONDS,
        "access_token": access_token,
        "scope": " ".join(sorted(grant.scopes)),
    }
    if OFFLINE_SCOPE in grant.scopes:
        body["refresh_token"] = secrets.token_urlsafe(48)
        state.sign_ins.refresh_tokens[body["refresh_token"]] = grant
    return attrs.evolve(answer(body), headers=_UNCACHED)
