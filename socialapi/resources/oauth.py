"""Sign-in with OAuth 1.0a and OAuth 2.0, and app-only tokens."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import attrs

from socialapi.config import split_address
from socialapi.errors import ApiError, DecodeError, InvalidInput
from socialapi.internal.secret import hidden
from socialapi.internal.unset import UNSET
from socialapi.models.oauth import (
    AccessToken,
    AppOnlyToken,
    InvalidatedToken,
    InvalidateTokenRequest,
    OAuth2SignIn,
    OAuth2Token,
    OAuth2TokenRequest,
    RequestToken,
    RequestTokenQuery,
)
from socialapi.models.queries import names_of
from socialapi.resources.arguments import check_argument
from socialapi.resources.resource import Resource
from socialapi.routes import oauth as routes
from socialapi.routes.route import Route
from socialapi.session.auth import OAuth1Authenticator, StaticAuthenticator, client_header
from socialapi.session.oauth2_user import CODE_ADVICE, REFRESH_ADVICE, with_advice
from socialapi.wire.oauth1 import SignIn
from socialapi.wire.request import check, refuse_unfit

MIN_RANDOM_BYTES: Final = 32
MAX_RANDOM_BYTES: Final = 96
"""With these limits, a verifier has 43 to 128 characters, as RFC 7636, section 4.1 requires."""

_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def code_verifier(random: bytes) -> str:
    """Returns a PKCE code verifier made of 32 to 96 random bytes (RFC 7636, section 4.1).

    Keep it secret until the code is exchanged. Raises InvalidInput for any other number of bytes.
    """
    if not MIN_RANDOM_BYTES <= len(random) <= MAX_RANDOM_BYTES:
        raise InvalidInput(f"a code verifier is made of {MIN_RANDOM_BYTES} to {MAX_RANDOM_BYTES} random bytes")
    return _base64url(random)


def code_challenge(verifier: str) -> str:
    """Returns the S256 code challenge of a verifier (RFC 7636, section 4.2).

    Raises InvalidInput for an invalid verifier.
    """
    if not _VERIFIER.fullmatch(verifier):
        raise InvalidInput("a code verifier has 43 to 128 characters, each a letter, a digit or one of - . _ ~")
    return _base64url(hashlib.sha256(verifier.encode("ascii")).digest())


def equal_in_constant_time(given: str, expected: str) -> bool:
    """Returns whether two strings are equal, compared in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


OUT_OF_BAND: Final = "oob"
"""The callback value for PIN mode."""

DOCUMENTED_SCOPES: Final = ("tweet.read", "tweet.write", "users.read")
"""The scopes needed to write. The full list of scopes is not documented."""


class OAuth(Resource):
    """The token endpoints.

    API calls fetch the tokens they need automatically. These methods manage tokens and sign users in: `request_token`,
    `authorize_url` and `access_token` for OAuth 1.0a, `authorization_url` and `exchange_code` for OAuth 2.0.
    """

    async def app_only_token(self) -> AppOnlyToken:
        """Returns the app's bearer token, from the cache or the service (`POST /oauth2/token`).

        Raises Forbidden with code 99 if it was requested too often. For the next minute, raises the same error without
        a request.
        """
        token = await self._session.authenticators.app().token(self._options)
        return AppOnlyToken(access_token=token, token_type="bearer")  # noqa: S106  # a kind, no secret

    async def invalidate_app_only_token(self) -> InvalidatedToken:
        """Invalidates the app's token, here and at the service (`POST /oauth2/invalidate_token`). The next call fetches
        a new one.

        Returns the token that was invalidated. Not retried if its outcome is unknown: a second
        request could invalidate the token's replacement.
        """
        app = self._session.authenticators.app()
        token = await app.token(self._options)
        try:
            return await self._call(
                routes.INVALIDATE_APP_ONLY_TOKEN,
                body=InvalidateTokenRequest(access_token=token),
                authenticator=app.requester,
            )
        finally:
            # Forgotten even if the token was already invalid or the outcome is unknown. If it is still valid, the
            # service returns it again.
            await app.forget(token)

    # OAuth 1.0a in three steps

    async def request_token(
        self, callback: str, *, access_type: Literal["read", "write"] | None = None
    ) -> RequestToken:
        """Starts a sign-in (`POST /oauth/request_token`): the first step of OAuth 1.0a. Returns the request token.

        Needs the app's key (AppOnly or OAuth1). `callback` is a URL registered for the app, or
        `oob` to show the user a PIN. `access_type` lowers the access that the app requests. Raises
        DecodeError if the service does not confirm the callback.
        """
        if callback != OUT_OF_BAND:
            _check_url("callback", callback, f", or {OUT_OF_BAND} for a PIN")
        token = await self._call(
            routes.REQUEST_TOKEN,
            body=RequestTokenQuery(service_auth_access_type=UNSET if access_type is None else access_type),
            authenticator=self._signer(callback=callback),
        )
        if token.oauth_callback_confirmed is not True:
            raise DecodeError("oauth_callback_confirmed", "is not true: the service did not accept the callback")
        self._session.authenticators.sign_ins.began(token.oauth_token, token.oauth_token_secret)
        return token

    def authorize_url(
        self,
        request_token: RequestToken | str,
        *,
        force_login: bool | None = None,
        screen_name: str | None = None,
    ) -> str:
        """Returns the URL of the page on which the user allows access (`GET /oauth/authorize`).

        This is the second step. Desktop apps must use this page. `force_login` asks for the
        password even if the user is signed in; `screen_name` prefills the user name. Sends nothing.
        """
        return self._sign_in_url(routes.AUTHORIZE, request_token, force_login, screen_name)

    def authenticate_url(
        self,
        request_token: RequestToken | str,
        *,
        force_login: bool | None = None,
        screen_name: str | None = None,
    ) -> str:
        """Returns the URL of the page on which the user signs in with the service (`GET /oauth/authenticate`).

        Works like `authorize_url`. But if the app's sign-in setting is enabled, users who allowed access before are not
        asked again. Sends nothing.
        """
        return self._sign_in_url(routes.AUTHENTICATE, request_token, force_login, screen_name)

    async def access_token(self, token: RequestToken | str, verifier: str) -> AccessToken:
        """Returns the user's token and secret (`POST /oauth/access_token`): the third step. Not retried if its outcome
        is unknown.

        `token` is the result of `request_token`, or the `oauth_token` in the callback. `verifier`
        comes with the callback, or is the PIN. If another process started the sign-in, pass its
        RequestToken: its secret signs the request. Raises InvalidInput for an empty verifier.
        """
        token, verifier = hidden(token), hidden(verifier)
        check_argument("token", RequestToken | str, token)
        name = token.oauth_token if isinstance(token, RequestToken) else token
        given = {"oauth_token": name, "oauth_verifier": verifier}
        check(routes.ACCESS_TOKEN.body, given, now=self._session.now())
        refuse_unfit(**given)
        sign_ins = self._session.authenticators.sign_ins
        secret = token.oauth_token_secret if isinstance(token, RequestToken) else sign_ins.secret(name)
        # Both are fields of the header (RFC 5849, section 3.5.1), so that they are signed and appear in no log of URLs.
        signer = self._signer(request_token=name, request_token_secret=secret, verifier=verifier)
        result = await self._call(routes.ACCESS_TOKEN, authenticator=signer)
        sign_ins.ended(name)
        return result

    async def invalidate_token(self) -> InvalidatedToken:
        """Invalidates the user's OAuth 1.0a token of this client (`POST /1.1/oauth/invalidate_token`).

        Returns the token that was invalidated. Later calls with it raise Unauthorized with code 89.
        Not retried if its outcome is unknown.
        """
        user = self._session.authenticators.user()
        return await self._call(routes.INVALIDATE_TOKEN, authenticator=user)

    def _signer(self, **fields: str | None) -> OAuth1Authenticator:
        key, secret = self._session.authenticators.app_key()
        return OAuth1Authenticator(SignIn(key, secret, **fields), self._session.clock)

    def _sign_in_url(
        self, route: Route[Any], token: RequestToken | str, force_login: bool | None, screen_name: str | None
    ) -> str:
        check_argument("request_token", RequestToken | str, token)
        name = token.oauth_token if isinstance(token, RequestToken) else token
        return self._url(route, {"oauth_token": name, "force_login": force_login, "screen_name": screen_name})

    def _url(self, route: Route[Any], query: Mapping[str, Any]) -> str:
        return self._session.plan(route).request(route.at(), query, None, self._session.now).url

    # OAuth 2.0 with PKCE

    def authorization_url(
        self,
        *,
        client_id: str,
        redirect_uri: str,
        scopes: Sequence[str] = DOCUMENTED_SCOPES,
        state: str | None = None,
    ) -> OAuth2SignIn:
        """Starts a sign-in with OAuth 2.0 and PKCE (`GET /2/oauth2/authorize`).

        Returns the URL of the page to open and the values to keep. `redirect_uri` must be
        registered for the app. `state` is random unless given; the page sends it back. Sends
        nothing.
        """
        _check_url("redirect_uri", redirect_uri)
        verifier = code_verifier(secrets.token_bytes(MIN_RANDOM_BYTES))
        state = secrets.token_urlsafe(MIN_RANDOM_BYTES) if state is None else state
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(names_of("scopes", scopes)),
            "state": state,
            "code_challenge": code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        url = self._url(routes.OAUTH2_AUTHORIZE, query)
        return OAuth2SignIn(url=url, state=state, code_verifier=verifier, redirect_uri=redirect_uri)

    async def exchange_code(
        self, code: str, *, client_id: str, redirect_uri: str, code_verifier: str, client_secret: str | None = None
    ) -> OAuth2Token:
        """Returns the user's tokens for the code that the page sent back (`POST /2/oauth2/token`).

        `expires_in` is in seconds. Use the code only if its `state` matches the sign-in. Not retried if its outcome is
        unknown, because a code can be used only once. Raises Unauthorized if it was used, has expired, or belongs to a
        different sign-in.
        """
        code, code_verifier, client_secret = hidden(code), hidden(code_verifier), hidden(client_secret)
        body = OAuth2TokenRequest(
            grant_type="authorization_code",
            client_id=client_id,
            code=code,
            redirect_uri=redirect_uri,
            code_verifier=code_verifier,
        )
        return await self._user_tokens(body, client_secret, CODE_ADVICE)

    async def refresh(self, refresh_token: str, *, client_id: str, client_secret: str | None = None) -> OAuth2Token:
        """Returns new tokens for a refresh token (`POST /2/oauth2/token`).

        The service may replace the refresh token: store both before using them. An `OAuth2User` credential with a
        refresh token does this automatically. Not retried if its outcome is unknown. Raises Unauthorized if the refresh
        token is no longer valid.
        """
        refresh_token, client_secret = hidden(refresh_token), hidden(client_secret)
        body = OAuth2TokenRequest(grant_type="refresh_token", client_id=client_id, refresh_token=refresh_token)
        token = await self._user_tokens(body, client_secret, REFRESH_ADVICE)
        return attrs.evolve(token, refresh_token=token.refresh_token or str(refresh_token))

    async def _user_tokens(self, body: OAuth2TokenRequest, client_secret: str | None, advice: str) -> OAuth2Token:
        check_argument("client_id", str, body.client_id)
        check_argument("client_secret", str | None, client_secret)
        refuse_unfit(client_id=body.client_id, client_secret=client_secret)
        client = StaticAuthenticator(client_header(body.client_id, client_secret))
        try:
            return await self._call(routes.OAUTH2_TOKEN, body=body, authenticator=client)
        except ApiError as refusal:
            raise with_advice(refusal, advice) from None


def _check_url(name: str, text: object, or_else: str = "") -> None:
    is_text = isinstance(text, str) and text.isascii() and text.isprintable() and " " not in text
    parts = split_address(str(text)) if is_text else None
    if parts is None or not parts.scheme:
        raise InvalidInput(f"{name} must be a complete URL{or_else}")
