"""The token endpoint of OAuth 2.0 with PKCE: codes and refresh tokens in exchange for tokens (platform section 5.4)."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import attrs

from socialapi.emulator.authentication import basic_pair, has_secret, nobody
from socialapi.emulator.call import Call, handles
from socialapi.emulator.envelopes import Answer, answer
from socialapi.emulator.oauth.sign_ins import RefreshGrant
from socialapi.emulator.received import FORM
from socialapi.emulator.state import App, Caller
from socialapi.models.oauth import OAuth2TokenRequest
from socialapi.models.validation import broken_rules
from socialapi.routes import oauth as routes

ACCESS_TOKEN_SECONDS: Final = 7_200
"""How long an access token is good for, on the emulator's clock; nothing is documented."""
_PARAMETERS: Final = frozenset(field.name for field in attrs.fields(OAuth2TokenRequest))
"""What is not known is passed over (RFC 6749, section 3.2)."""


class TokenError(Exception):
    """A refusal of RFC 6749, section 5.2."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(error)
        self.error = error
        self.description = description
        self.status = status


@handles(routes.OAUTH2_TOKEN, caller=nobody)
async def create_tokens(call: Call) -> Answer:
    """An access token that ends, and a refresh token that serves once."""
    try:
        form = _form(call)
        app = _client(call, form)
        _check(call, form)
        return _issued(call, _redeemed(call, app, form))
    except TokenError as refusal:
        body = {"error": refusal.error, "error_description": refusal.description}
        headers = {"WWW-Authenticate": "Basic"} if refusal.status == 401 else {}
        return _uncached(answer(body, refusal.status), headers)


def _form(call: Call) -> dict[str, str]:
    if call.received.content_type != FORM or not call.received.complete:
        raise TokenError("invalid_request", f"the body must be sent as {FORM}")
    return dict(parse_qsl(call.received.body.decode("utf-8", "replace"), keep_blank_values=True))


def _client(call: Call, form: dict[str, str]) -> App:
    """The app: by its key and secret, or by its key alone, since PKCE proves that it is the same one throughout."""
    pair = basic_pair(call.received)
    if "client_secret" in form:
        pair = (form.get("client_id", ""), form.pop("client_secret"))
    if pair is not None:
        form.setdefault("client_id", pair[0])
    app = call.state.apps.get(form.get("client_id", ""))
    is_unproven = pair is not None and (pair[0] != form["client_id"] or not has_secret(app, pair[1]))
    if "client_id" in form and (app is None or is_unproven):
        raise TokenError("invalid_client", "there is no app with this client_id and secret", 401)
    if app is None:
        raise TokenError("invalid_request", "client_id: is required")
    return app


def _check(call: Call, form: Mapping[str, str]) -> None:
    known = {name: value for name, value in form.items() if name in _PARAMETERS}
    if broken := broken_rules(call.route.body, known, now=call.state.clock.datetime()):
        unknown = broken[0].path == "grant_type" and "grant_type" in form
        raise TokenError("unsupported_grant_type" if unknown else "invalid_request", str(broken[0]))


def _redeemed(call: Call, app: App, form: Mapping[str, str]) -> RefreshGrant:
    """What the code or the refresh token stands for; it is of no use any more."""
    if form["grant_type"] == "refresh_token":
        held = call.state.sign_ins.refresh_tokens
        grant = held.get(form["refresh_token"])
        if grant is None or grant.app_key != app.api_key:
            raise TokenError("invalid_grant", "the refresh token was used already, or is not one of this app")
        del held[form["refresh_token"]]
        return grant
    return _redeemed_code(call, app, form)


def _redeemed_code(call: Call, app: App, form: Mapping[str, str]) -> RefreshGrant:
    code = call.state.sign_ins.codes.pop(form["code"], None)
    if code is None or code.app_key != app.api_key or call.now >= code.expires_at:
        raise TokenError("invalid_grant", "the code was used already, has expired, or is not one of this app")
    if code.redirect_uri != form["redirect_uri"]:
        raise TokenError("invalid_grant", "redirect_uri is not the one that the code was made for")
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    if not hmac.compare_digest(challenge.encode(), code.challenge.encode()):
        raise TokenError("invalid_grant", "code_verifier does not fit the challenge that the code was made for")
    return RefreshGrant(app_key=code.app_key, user_id=code.user_id, scopes=code.scopes)


def _issued(call: Call, grant: RefreshGrant) -> Answer:
    state = call.state
    access_token, refresh_token = secrets.token_urlsafe(48), secrets.token_urlsafe(48)
    expires_at = call.now + ACCESS_TOKEN_SECONDS
    state.bearers[access_token] = Caller(
        state.apps[grant.app_key], state.users[grant.user_id], scopes=grant.scopes, expires_at=expires_at
    )
    state.sign_ins.refresh_tokens[refresh_token] = grant
    body = {
        "token_type": "bearer",
        "expires_in": ACCESS_TOKEN_SECONDS,
        "access_token": access_token,
        "refresh_token": refresh_token,
        "scope": " ".join(sorted(grant.scopes)),
    }
    return _uncached(answer(body), {})


def _uncached(made: Answer, headers: Mapping[str, str]) -> Answer:
    return Answer(made.status, made.body, {"Cache-Control": "no-store", **headers})
