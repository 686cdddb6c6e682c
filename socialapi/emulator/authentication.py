"""Who is asking: the ways a request proves it, one function for each kind of endpoint."""

import base64
import binascii
import hmac
from collections.abc import Mapping
from urllib.parse import unquote

from socialapi.emulator import oauth1
from socialapi.emulator.envelopes import Refusal
from socialapi.emulator.received import Received
from socialapi.emulator.state import App, Caller, State, User


def account_user(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """The user behind a call about an ad account, which must be associated with them (advertising section 5).

    The scheme is not documented: OAuth 1.0a is taken, and the OAuth 2.0 bearer token of a user.
    """
    caller = _caller(state, received)
    if caller.user is None:
        raise Refusal(403, "FORBIDDEN", "this endpoint acts for a user, and an app-only token has none")
    _check_account(state, caller.user, path_parameters["account_id"])
    return caller


def app_by_key(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """The app whose key and secret come by HTTP Basic authentication (platform section 5.2)."""
    scheme, _, encoded = received.headers.get("Authorization", "").partition(" ")
    try:
        key, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        scheme, key, colon, secret = "", "", "", ""
    if scheme.lower() != "basic" or not colon:
        raise Refusal(401, 215, "the app's key and secret are needed, by HTTP Basic authentication")
    # Keys and secrets may be percent-encoded, as RFC 6749 has it; what is made here holds no percent sign.
    app = state.apps.get(unquote(key))
    if not _has_secret(app, unquote(secret)) or app is None:
        raise Refusal(401, 32, "there is no app with this key and secret")
    return Caller(app)


def _has_secret(app: App | None, secret: str) -> bool:
    return hmac.compare_digest((app.api_key_secret if app else "").encode(), secret.encode())


def _caller(state: State, received: Received) -> Caller:
    header = received.headers.get("Authorization", "")
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() == "bearer":
        return _by_bearer(state, credentials.strip())
    if scheme.lower() == "oauth":
        return _by_signature(state, received, header)
    raise oauth1.unauthorized("this request is not authenticated")


def _by_bearer(state: State, token: str) -> Caller:
    caller = state.bearers.get(token)
    if caller is None:
        raise expired_token()
    return caller


def expired_token() -> Refusal:
    """The refusal of a token that never was or is no more (platform section 7.3)."""
    return Refusal(401, 89, "Invalid or expired token.")


def _by_signature(state: State, received: Received, header: str) -> Caller:
    protocol = oauth1.header_parameters(header)
    wall = state.clock.wall()
    oauth1.check_parameters(protocol, wall)
    app = state.apps.get(protocol["oauth_consumer_key"])
    if app is None:
        raise oauth1.unauthorized("oauth_consumer_key names no app")
    token = state.access_tokens.get(protocol.get("oauth_token", ""))
    if token is None or token.caller.app is not app:
        raise expired_token()
    oauth1.check_signature(received.signed(), protocol, (app.api_key_secret, token.secret))
    nonce = (app.api_key, token.token, protocol["oauth_nonce"])
    # Only now: what anybody can make up must not fill the memory.
    if not state.nonces.is_new(int(protocol["oauth_timestamp"]), nonce, wall):
        raise oauth1.unauthorized("this nonce was used before")
    return token.caller


def _check_account(state: State, user: User, account_id: str) -> None:
    if account_id not in state.accounts:
        raise Refusal(404, "NOT_FOUND", "there is no such account", parameter="account_id")
    if account_id not in user.account_ids:
        raise Refusal(403, "FORBIDDEN", "the account is not associated with the user", parameter="account_id")
