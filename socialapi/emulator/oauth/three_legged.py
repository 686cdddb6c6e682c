"""Handlers for the three steps of the OAuth 1.0a sign-in, and the callback URLs of an app."""

import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlencode, urlsplit, urlunsplit

from socialapi.config import split_address
from socialapi.emulator import oauth1
from socialapi.emulator.auth import expired_token, signing_token, verified
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.oauth.state import OUT_OF_BAND, REQUEST_TOKEN_SECONDS, RequestToken
from socialapi.emulator.request import FORM, Received
from socialapi.emulator.responses import Answer, Refusal, answer
from socialapi.emulator.state import REGISTERED_CALLBACK, App, Caller, State
from socialapi.models.validation import broken_rules
from socialapi.routes import oauth as routes

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def is_registered(url: str) -> bool:
    """Returns whether the URL is registered for every app, ignoring its query, or is a loopback URL, with any port.

    A loopback listener uses a free port, which cannot be registered beforehand (RFC 8252, section
    7.3).
    """
    parts = _parts(url)
    if parts is None:
        return False
    if parts.scheme == "http" and parts.hostname in _LOOPBACK:
        return True
    return urlunsplit(parts._replace(query="")) == REGISTERED_CALLBACK


def _parts(url: str) -> SplitResult | None:
    """Returns the parts of an absolute web address, or None if it has a user, a fragment, or
    anything that could break a header.
    """
    parts = split_address(url) if url.isascii() and url.isprintable() and " " not in url else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return None if parts.fragment or "@" in parts.netloc else parts


def with_parameters(url: str, parameters: Mapping[str, str]) -> str:
    """Returns the address with these parameters appended to its query."""
    parts = urlsplit(url)
    query = "&".join(each for each in (parts.query, urlencode(parameters)) if each)
    return urlunsplit(parts._replace(query=query, path=parts.path or "/"))


NOT_AUTHENTICATED: Final = 32
MISSING_PARAMETER: Final = 215
BAD_PARAMETER: Final = 170
CALLBACK_NOT_APPROVED: Final = 415


def signing_app(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """Returns the app that signed the request without a token."""
    return Caller(verified(state, received, lambda *_: "")[0])


def signing_request_token(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """Returns the app that signed the request with its own unused request token."""

    def secret_of(app: App, protocol: Mapping[str, str]) -> str:
        token = state.sign_ins.request_tokens.get(protocol.get("oauth_token", ""))
        if token is None:
            raise expired_token(" There is no such request token.")
        if token.app_key != app.api_key:
            raise expired_token(" The request token is another app's.")
        if token.state == "used":
            raise expired_token(" The request token was already exchanged.")
        if _is_over(state, token):
            raise expired_token(f" The request token is older than {REQUEST_TOKEN_SECONDS / 60:.0f} minutes.")
        return token.secret

    return Caller(verified(state, received, secret_of)[0])


def signing_user(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
    """Returns the user whose access token signed the request, regardless of its permissions."""
    return signing_token(state, received).caller


@serves(routes.REQUEST_TOKEN, caller=signing_app)
async def create_request_token(call: Call) -> Answer:
    """Creates a token for one sign-in. Its callback address cannot change later."""
    app = call.caller.app
    callback = _protocol(call).get("oauth_callback", "")
    if not callback:
        raise Refusal(400, MISSING_PARAMETER, "oauth_callback is missing: a URL registered for the app, or oob")
    if callback != OUT_OF_BAND and not is_registered(callback):
        message = "Callback URL not approved for this client application. Approved URLs are registered for the app."
        raise Refusal(403, CALLBACK_NOT_APPROVED, message)
    parameters = call.received.parameters()
    if broken := broken_rules(call.route.body, parameters, now=call.state.clock.datetime()):
        raise Refusal(400, BAD_PARAMETER, str(broken[0]))
    made = RequestToken(
        token=secrets.token_urlsafe(20),
        secret=secrets.token_urlsafe(24),
        app_key=app.api_key,
        callback=callback,
        access="read" if parameters.get("service_auth_access_type") == "read" else "write",
        expires_at=call.now + REQUEST_TOKEN_SECONDS,
    )
    call.state.sign_ins.request_tokens[made.token] = made
    return _pairs(oauth_token=made.token, oauth_token_secret=made.secret, oauth_callback_confirmed="true")


@serves(routes.ACCESS_TOKEN, caller=signing_request_token)
async def create_access_token(call: Call) -> Answer:
    """Returns the user's access token in exchange for the verifier that was issued to the user."""
    protocol = _protocol(call)
    given = {**call.received.parameters(), **protocol}
    request_token = call.state.sign_ins.request_tokens[protocol["oauth_token"]]
    verifier = given.get("oauth_verifier", "")
    if not verifier:
        raise Refusal(401, NOT_AUTHENTICATED, "oauth_verifier is missing: the callback's value, or the PIN")
    if request_token.state != "approved":
        raise Refusal(401, NOT_AUTHENTICATED, "the user has not approved this request token")
    if not secrets.compare_digest(verifier.encode(), request_token.verifier.encode()):
        raise Refusal(401, NOT_AUTHENTICATED, "oauth_verifier is not the one that was issued to the user")
    request_token.state = "used"
    user = call.state.users[request_token.user_id]
    made = call.state.new_access_token(call.caller.app, user, request_token.access)
    return _pairs(oauth_token=made.token, oauth_token_secret=made.secret, user_id=user.id, screen_name=user.username)


@serves(routes.INVALIDATE_TOKEN, caller=signing_user)
async def invalidate_token(call: Call) -> Answer:
    """Invalidates the token with which the request is signed, and returns it."""
    token = _protocol(call)["oauth_token"]
    del call.state.access_tokens[token]
    return answer({"access_token": token})


def is_open(state: State, token: RequestToken) -> bool:
    """Returns whether the user can still approve or deny the token."""
    return token.state == "pending" and not _is_over(state, token)


def _is_over(state: State, token: RequestToken) -> bool:
    return state.clock.now() >= token.expires_at


def _protocol(call: Call) -> dict[str, str]:
    return oauth1.header_parameters(call.received.headers["Authorization"])


def _pairs(**values: str) -> Answer:
    """Returns pairs joined by ampersands, as in the documented example."""
    return Answer(200, urlencode(values).encode(), {"Cache-Control": "no-store"}, f"{FORM}; charset=utf-8")
