"""Authenticators: what makes the `Authorization` header of each attempt, and renews what has expired."""

import asyncio
import copy
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from socialapi.config import Config
from socialapi.credentials import AppOnly, Bearer, Credentials, OAuth1, OAuth2User, by_kind
from socialapi.errors import (
    ConfigurationError,
    Forbidden,
    RateLimited,
    RateLimitTooLong,
    ServerError,
    SocialApiError,
    TransportError,
)
from socialapi.routes.route import Family
from socialapi.session.clock import Clock
from socialapi.session.token_cache import TokenCache, cache_key
from socialapi.wire.oauth1 import SignIn, basic_header, bearer_header, is_token, oauth1_header
from socialapi.wire.request import Request

SIGN_INS_REMEMBERED: Final = 1_000


class PendingSignIns:
    """The secrets of request tokens whose sign-ins have begun here, the latest ones."""

    def __init__(self, capacity: int = SIGN_INS_REMEMBERED) -> None:
        self._capacity = capacity
        self._secrets: OrderedDict[str, str] = OrderedDict()

    def began(self, token: str, secret: str) -> None:
        """Keeps the secret of a request token, in place of the oldest one if there are too many."""
        self._secrets[token] = secret
        while len(self._secrets) > self._capacity:
            self._secrets.popitem(last=False)

    def secret(self, token: str) -> str | None:
        """The secret, or None if the sign-in did not begin here or is long ago."""
        return self._secrets.get(token)

    def ended(self, token: str) -> None:
        """Forgets a request token that was used."""
        self._secrets.pop(token, None)


if TYPE_CHECKING:
    from socialapi.session.oauth2_user import Ask, OAuth2UserAuthenticator
    from socialapi.session.session import CallOptions

    Fetch = Callable[[AppOnly, CallOptions | None], Awaitable[str]]

DEAD_TOKEN: Final = 89
ASKED_TOO_OFTEN: Final = 99
ASKED_TOO_OFTEN_PAUSE_SECONDS: Final = 60.0
"""How long no token is asked for after code 99; no number is documented."""
_MAY_PASS: Final = (TransportError, RateLimited, RateLimitTooLong, ServerError)
"""Failures that a call with more patience might not see."""


@attrs.frozen
class Authorization:
    """A header for one attempt (none if it is empty), and the token in it, if one can be renewed."""

    header: str = attrs.field(repr=False)
    token: str | None = attrs.field(default=None, repr=False)

    headers: Mapping[str, str] = attrs.field(init=False, repr=False)
    """What is sent."""

    @headers.default
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": self.header} if self.header else {}


class Authenticator(Protocol):
    """Makes the `Authorization` header of each attempt."""

    async def authorize(self, request: Request[Any], options: "CallOptions | None" = None) -> Authorization:
        """The header for this attempt of a call with these options."""

    async def renew(self, dead: Authorization, options: "CallOptions | None" = None) -> bool:
        """Called after a 401 with code 89; whether another attempt will carry something new."""


class StaticAuthenticator:
    """A header that never changes: a ready bearer token, or an app's key and secret."""

    def __init__(self, header: str) -> None:
        self._authorization = Authorization(header)

    async def authorize(self, request: Request[Any], options: "CallOptions | None" = None) -> Authorization:
        """The header."""
        return self._authorization

    async def renew(self, dead: Authorization, options: "CallOptions | None" = None) -> bool:
        """Nothing new can be had."""
        return False


class OAuth1Authenticator:
    """Signs with a user's token, or a step of a sign-in: nonce and timestamp are fresh for every attempt, so none is
    taken for a replay.
    """

    def __init__(self, credential: OAuth1 | SignIn, clock: Clock) -> None:
        self._credential = credential
        self._clock = clock

    async def authorize(self, request: Request[Any], options: "CallOptions | None" = None) -> Authorization:
        """The signature of this very request."""
        header = oauth1_header(
            self._credential,
            request.method,
            request.url,
            form=request.form,
            nonce=secrets.token_hex(16),
            timestamp=int(self._clock.time()),
        )
        return Authorization(header)

    async def renew(self, dead: Authorization, options: "CallOptions | None" = None) -> bool:
        """A user's token can only be granted anew by the user."""
        return False


class AppOnlyAuthenticator:
    """One token per app, fetched once however many tasks and processes ask, renewed when the service refuses it.

    A fetch takes as long, and is repeated as often, as the options of the call that waits for it say. Calls that wait for
    the fetch of another one share its token, and its failure where theirs would be no other.
    """

    def __init__(
        self,
        credential: AppOnly,
        cache: TokenCache,
        clock: Clock,
        fetch: "Fetch",
        host: str,
    ) -> None:
        self.credential = credential
        self._cache = cache
        self._clock = clock
        self._fetch = fetch
        self._key = cache_key(host, credential.api_key)
        self._turn = asyncio.Lock()
        self._token: str | None = None
        self._failure: SocialApiError | None = None
        self._failures = 0
        self._failed_with: CallOptions | None = None
        self._refused_until = 0.0

    async def authorize(self, request: Request[Any], options: "CallOptions | None" = None) -> Authorization:
        """The app's token. Raises what the token endpoint raised."""
        token = self._token or await self.token(options)
        return Authorization(bearer_header(token), token)

    async def token(self, options: "CallOptions | None" = None) -> str:
        """The token from memory, the cache, or the service, in this order."""
        failures = self._failures
        async with self._turn:
            if self._token is None and self._failures > failures:
                self._raise_failure_for(options)
            if self._token is None:
                self._token = await self._cached() or await self._fetch_once(options)
            return self._token

    def _raise_failure_for(self, options: "CallOptions | None") -> None:
        """What whoever went first was told holds for those who waited, unless they have more or less patience."""
        if self._failure is None or (isinstance(self._failure, _MAY_PASS) and options != self._failed_with):
            return
        raise copy.copy(self._failure)

    async def _cached(self) -> str | None:
        """The token of the cache; one that could not be sent counts as none, and is replaced."""
        token = await self._cache.load(self._key)
        return token if is_token(token) else None

    async def _fetch_once(self, options: "CallOptions | None") -> str:
        if self._failure is not None and self._clock.monotonic() < self._refused_until:
            raise copy.copy(self._failure)
        async with self._cache.lock(self._key):
            # Another process may have fetched one while this one waited.
            token = await self._cached()
            if token is None:
                # Kept before it is stored: a full disk must not make the next call ask for it again.
                token = self._token = await self._ask(options)
                await self._cache.store(self._key, token)
        return token

    async def _ask(self, options: "CallOptions | None") -> str:
        try:
            return await self._fetch(self.credential, options)
        except SocialApiError as failure:
            self._failures += 1
            self._failed_with = options
            self._failure = failure
            if isinstance(failure, Forbidden) and ASKED_TOO_OFTEN in failure.codes:
                self._refused_until = self._clock.monotonic() + ASKED_TOO_OFTEN_PAUSE_SECONDS
            raise

    async def renew(self, dead: Authorization, options: "CallOptions | None" = None) -> bool:
        """Drops the token that was refused, unless another task has replaced it already, and gets the one after it.

        A service that still hands out the refused token would only refuse it again.
        """
        if dead.token is None:
            return False
        await self.forget(dead.token)
        return await self.token(options) != dead.token

    async def forget(self, token: str) -> None:
        """Drops exactly this token, here and in the cache."""
        async with self._turn:
            if self._token == token:
                self._token = None
            await self._cache.discard(self._key, token)


class Authenticators:
    """Chooses the credential for a request: the first kind that the API family takes and the user gave."""

    def __init__(
        self,
        credentials: Sequence[Credentials],
        config: Config,
        cache: TokenCache,
        clock: Clock,
        fetch: "Fetch",
        ask: "Ask",
    ) -> None:
        self.sign_ins: PendingSignIns = PendingSignIns()
        self._by_kind: dict[str, Authenticator] = {}
        self._credentials = tuple(credentials)
        self._ask = ask
        self._renewing: list[OAuth2UserAuthenticator] = []
        self._config = config
        self._apps: dict[AppOnly, AppOnlyAuthenticator] = {}
        for kind, credential in by_kind(credentials).items():
            self._by_kind[kind] = self._make(credential, cache, clock, fetch)

    def _make(
        self,
        credential: Credentials,
        cache: TokenCache,
        clock: Clock,
        fetch: "Fetch",
    ) -> Authenticator:
        if isinstance(credential, AppOnly):
            app = AppOnlyAuthenticator(credential, cache, clock, fetch, self._config.base_url)
            self._apps[credential] = app
            return app
        if isinstance(credential, OAuth1):
            return OAuth1Authenticator(credential, clock)
        if isinstance(credential, Bearer):
            return StaticAuthenticator(bearer_header(credential.token))
        return self._of_user(credential, cache, clock)

    def _of_user(self, credential: OAuth2User, cache: TokenCache, clock: Clock) -> Authenticator:
        if credential.refresh_token is None:
            return StaticAuthenticator(bearer_header(credential.access_token))
        from socialapi.session.oauth2_user import OAuth2UserAuthenticator

        user = OAuth2UserAuthenticator(credential, cache, clock, self._ask, self._config.base_url)
        self._renewing.append(user)
        return user

    def choose(self, family: Family) -> Authenticator:
        """The authenticator for the family. Raises ConfigurationError when no credential given is one it takes."""
        for kind in family.credentials:
            if kind in self._by_kind:
                return self._by_kind[kind]
        given = ", ".join(self._by_kind) or "none"
        wanted = " or ".join(family.credentials) or "an app's key and secret (AppOnly)"
        raise ConfigurationError(
            f"the {family.name} API takes {wanted}, and the credentials given are: {given}. Pass credentials=[…] or set "
            "SOCIALAPI_API_KEY, _API_KEY_SECRET, _ACCESS_TOKEN and _ACCESS_TOKEN_SECRET"
        )

    def app(self) -> AppOnlyAuthenticator:
        """The app's own authenticator. Raises ConfigurationError when no AppOnly credential was given."""
        for app in self._apps.values():
            return app
        raise ConfigurationError(
            "app-only tokens need the app's key and secret: pass credentials=[AppOnly(…)] or set SOCIALAPI_API_KEY "
            "and SOCIALAPI_API_KEY_SECRET"
        )

    def app_key(self) -> tuple[str, str]:
        """The app's key and secret, for signing people in. Raises ConfigurationError when no credential has them."""
        for credential in self._credentials:
            if isinstance(credential, AppOnly | OAuth1):
                return credential.api_key, credential.api_key_secret
        raise ConfigurationError(
            "signing in needs the app's key and secret: pass credentials=[AppOnly(…)] or set SOCIALAPI_API_KEY and "
            "SOCIALAPI_API_KEY_SECRET"
        )

    def user(self) -> Authenticator:
        """What signs with the user's OAuth 1.0a token. Raises ConfigurationError when no such credential was given."""
        if OAuth1.__name__ in self._by_kind:
            return self._by_kind[OAuth1.__name__]
        raise ConfigurationError(
            "this needs a user's OAuth 1.0a token: pass credentials=[OAuth1(…)] or set SOCIALAPI_API_KEY, "
            "_API_KEY_SECRET, _ACCESS_TOKEN and _ACCESS_TOKEN_SECRET"
        )

    async def aclose(self) -> None:
        """Lets renewals under way end, for as long as an attempt may take."""
        for user in self._renewing:
            await user.aclose(self._config.timeout_seconds)


def client_authentication(client_id: str, client_secret: str | None) -> StaticAuthenticator:
    """An OAuth 2.0 client at its token endpoint: by HTTP Basic if it has a secret, else by the `client_id` alone
    (RFC 6749, section 2.3.1).
    """
    return StaticAuthenticator(basic_header(client_id, client_secret) if client_secret else "")


def basic(credential: AppOnly) -> StaticAuthenticator:
    """The app's key and secret as HTTP Basic authentication, for the token endpoints (section 5.2)."""
    return StaticAuthenticator(basic_header(credential.api_key, credential.api_key_secret))
