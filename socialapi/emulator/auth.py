"""Authentication of requests: the caller, the credentials, and whether a route accepts them."""

import base64
import hmac
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from urllib.parse import unquote

from socialapi.emulator import oauth1
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Refusal, ads_not_found, forbidden, style_of
from socialapi.emulator.state import AccessToken, App, Caller, State
from socialapi.routes.route import APP_CREDENTIALS, USER_CREDENTIALS, Route

Authenticate = Callable[[State, Received, Mapping[str, str]], Caller]
"""A function that returns the caller of a request, based on its credentials and path parameters, or raises Refusal."""

NOBODY: Final = Caller(App("", ""))
"""The caller of an endpoint that needs no credentials, or checks them itself."""


def caller_of(route: Route[Any]) -> Authenticate:
    """Returns the default authentication of a route, which depends on its API.

    In the advertising API, the caller must be a user who is associated with the account in the path. Elsewhere, it must
    be an app or a user, as the API allows, with the scopes of the route.
    """
    if style_of(route.family) == "ads":
        return account_user if "{account_id}" in route.path else signed_in_user

    def authenticate(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
        caller = any_caller(state, received, path_parameters)
        kinds = frozenset(route.family.credentials)
        if caller.app.tier == "not-enrolled":
            raise not_enrolled("the app is not enrolled for this API")
        if caller.user is None and kinds.isdisjoint(APP_CREDENTIALS):
            raise _unsupported("this endpoint acts for a user: use OAuth 1.0a or a user's OAuth 2.0 token")
        if caller.user is not None and kinds.isdisjoint(USER_CREDENTIALS):
            raise _unsupported("this endpoint acts for an app: use its app-only token")
        require_scopes(caller, route.scopes)
        return caller

    return authenticate


def require_scopes(caller: Caller, scopes: Collection[str]) -> None:
    """Refuses a user's OAuth 2.0 token that lacks any of the scopes. Other credentials have no scopes."""
    if caller.scopes is not None and (lacking := sorted(set(scopes) - caller.scopes)):
        raise forbidden(f"the access token lacks the scope {', '.join(lacking)}")


def require_permission(state: State, caller: Caller, scopes: Collection[str]) -> None:
    """Refuses a user's OAuth 2.0 token that lacks any of the scopes, unless the user has granted the app OAuth 1.0a
    permissions, which override the scopes.
    """
    tokens = [token.caller for token in state.access_tokens.values()]
    granted = {each.access for each in tokens if each.app is caller.app and each.user is caller.user}
    if caller.scopes is None or not granted:
        require_scopes(caller, scopes)
    elif "write" not in granted:
        raise forbidden("the user granted the app read-only OAuth 1.0a permissions, which override the scopes")


def not_enrolled(message: str) -> Refusal:
    """Returns the error for an app without the necessary access."""
    return Refusal(
        403,
        "FORBIDDEN",
        message,
        problem="client-forbidden",
        extra={"reason": "client-not-enrolled", "registration_url": "https://developer.example/enrol"},
    )


def _unsupported(message: str) -> Refusal:
    return Refusal(403, "FORBIDDEN", message, problem="unsupported-authentication")


def account_user(
    state: State, received: Received, path_parameters: Mapping[str, str], *, with_deleted: bool = False
) -> Caller:
    """Returns the user who makes a call about an ad account, which must be associated with that user.

    The scheme is not documented: OAuth 1.0a signatures and users' OAuth 2.0 bearer tokens are accepted.
    """
    caller = signed_in_user(state, received, path_parameters)
    assert caller.user is not None
    account_id = path_parameters["account_id"]
    if state.advertising.accounts.get(account_id, with_deleted=with_deleted) is None:
        raise ads_not_found("account_id")
    if account_id not in caller.user.account_ids:
        raise forbidden("the account is not associated with the user", "account_id")
    return caller


def signed_in_user(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """Returns the user who makes a call to the advertising API. Any user is accepted."""
    caller = any_caller(state, received, path_parameters)
    if caller.user is None:
        raise forbidden("this endpoint acts for a user, but an app-only token has none")
    return caller


def any_caller(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """Returns the calling app or user, identified by a bearer token or an OAuth 1.0a signature."""
    header = received.headers.get("Authorization", "")
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() == "bearer":
        found = state.bearers.get(credentials.strip())
        if found is None or (found.expires_at is not None and state.clock.now() >= found.expires_at):
            raise expired_token()
        caller = found
    elif scheme.lower() == "oauth":
        caller = signing_token(state, received).caller
    else:
        raise oauth1.unauthorized("this request is not authenticated")
    if caller.user is not None and received.method != "GET":
        if caller.access == "read":
            raise forbidden("the access token is read-only")
        if caller.app.access == "read":
            raise forbidden("the app has read-only access")
    return caller


def app_by_key(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """Returns the app whose key and secret are sent by HTTP Basic authentication."""
    pair = basic_pair(received)
    if pair is None:
        raise Refusal(401, 215, "the app's key and secret must be sent by HTTP Basic authentication")
    # Keys and secrets made here contain no percent sign, so unquoting does not change them.
    app = state.apps.get(pair[0])
    if app is None:
        raise Refusal(401, 32, "there is no app with this key")
    if not has_secret(app, pair[1]):
        raise Refusal(401, 32, "the secret is not the app's")
    return Caller(app)


def named_app(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """Returns the app that a request to a page or a token endpoint identifies, or `NOBODY`.

    The endpoint verifies the credentials itself. The app is only needed to count the request against its rate limit.
    """
    pair, given = basic_pair(received), received.parameters()
    sign_in = state.sign_ins.request_tokens.get(given.get("oauth_token", ""))
    key = pair[0] if pair else sign_in.app_key if sign_in else given.get("client_id", "")
    app = state.apps.get(key)
    return NOBODY if app is None else Caller(app)


def basic_pair(received: Received) -> tuple[str, str] | None:
    """Returns the two parts of HTTP Basic authentication, which may be percent-encoded (RFC 6749)."""
    scheme, _, encoded = received.headers.get("Authorization", "").partition(" ")
    try:
        name, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except ValueError:
        return None
    return (unquote(name), unquote(secret)) if scheme.lower() == "basic" and colon else None


def has_secret(app: App, secret: str) -> bool:
    """Returns whether this is the app's secret. The comparison takes constant time."""
    return hmac.compare_digest(app.api_key_secret.encode(), secret.encode())


def expired_token(cause: str = "") -> Refusal:
    """Returns the error for a token that is unknown or no longer valid."""
    return Refusal(401, 89, f"Invalid or expired token.{cause}")


def signing_token(state: State, received: Received) -> AccessToken:
    """Returns the access token that the request is signed with."""

    def secret_of(app: App, protocol: Mapping[str, str]) -> str:
        token = state.access_tokens.get(protocol.get("oauth_token", ""))
        if token is None or token.caller.app is not app:
            raise expired_token()
        return token.secret

    _, protocol = verified(state, received, secret_of)
    return state.access_tokens[protocol["oauth_token"]]


def verified(
    state: State, received: Received, secret_of: Callable[[App, Mapping[str, str]], str]
) -> tuple[App, Mapping[str, str]]:
    """Returns the app that signed the request, and the protocol parameters. `secret_of` returns the secret of the
    token.
    """
    protocol = oauth1.header_parameters(received.headers.get("Authorization", ""))
    wall = state.clock.wall()
    oauth1.check_parameters(protocol, wall)
    app = state.apps.get(protocol["oauth_consumer_key"])
    if app is None:
        raise oauth1.unauthorized("oauth_consumer_key does not match any app")
    oauth1.check_signature(received, protocol, (app.api_key_secret, secret_of(app, protocol)))
    nonce = (app.api_key, protocol.get("oauth_token", ""), protocol["oauth_nonce"])
    # Nonces are stored only after the signature is verified, so that forged requests cannot fill the memory.
    if not state.nonces.is_new(int(protocol["oauth_timestamp"]), nonce, wall):
        raise oauth1.unauthorized("this nonce was already used")
    return app, protocol
