"""Authenticators, which create the `Authorization` header of each attempt and renew expired tokens."""

import asyncio
import copy
import datetime
import math
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import attrs

from socialapi.credentials import AppOnly, OAuth1
from socialapi.errors import (
    ApiError,
    Forbidden,
    RateLimited,
    RateLimitTooLong,
    ServerError,
    SocialApiError,
    TransportError,
)
from socialapi.internal.secret import Secret
from socialapi.internal.statuses import RATE_LIMITED
from socialapi.problems import Problem
from socialapi.session.clock import Clock
from socialapi.session.options import CallOptions
from socialapi.session.token_cache import TokenCache, cache_key
from socialapi.wire.oauth1 import OAuth1Signer, SignIn, basic_header, bearer_header, is_token
from socialapi.wire.request import Request
from socialapi.wire.retry import Attempt

INVALID_TOKEN_CODE: Final = 89
_DEAD_TOKEN: Final = frozenset({str(INVALID_TOKEN_CODE), "invalid_token", "expired_token"})
"""The error codes for a token that is no longer valid (RFC 6750, section 3.1)."""
RENEWAL_PAUSE_SECONDS: Final = 60.0
"""How long renewals of a credential pause after the service has rejected a newly renewed token."""
TOKEN_RATE_CODE: Final = 99
TOKEN_RATE_PAUSE_SECONDS: Final = 60.0
"""How long the client waits after code 99 before it requests another token. The documentation specifies no duration."""
_TRANSIENT_ERRORS: Final = (TransportError, RateLimited, RateLimitTooLong, ServerError)
"""Failures that a longer timeout or more retries may avoid."""


def refuses_token(refusal: ApiError) -> bool:
    """Returns whether a response with status 401 rejects the token. The service may then accept a new token."""
    codes = {str(code).lower() for code in refusal.codes}
    if codes & _DEAD_TOKEN or "invalid_token" in refusal.headers.get("www-authenticate", "").lower():
        return True
    # A problem of a known type names a different cause.
    return bool(refusal.problems) and not refusal.codes and all(type(each) is Problem for each in refusal.problems)


@attrs.frozen
class Authorization:
    """The `Authorization` header of one attempt (no header if empty), and its token if that token can be renewed."""

    header: str = attrs.field(repr=False)
    token: str | None = attrs.field(default=None, repr=False)

    headers: Mapping[str, str] = attrs.field(init=False, repr=False)
    """The headers to send: one, or none."""

    @headers.default
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": Secret(self.header)} if self.header else {}


class Authenticator(Protocol):
    """Makes the `Authorization` header of each attempt."""

    async def authorize(self, request: Request[Any], options: CallOptions | None = None) -> Authorization:
        """Returns the header for this attempt of a call with these options."""

    async def renew(self, dead: Authorization, options: CallOptions | None = None) -> bool:
        """Tries to replace a rejected token. Returns whether the next attempt will use a different one."""

    def refused_anew(self, token: str) -> None:
        """Records that the service has also rejected the token that replaced a rejected one."""


class _NotRenewed:
    """An authenticator that has nothing to renew."""

    async def renew(self, dead: Authorization, options: CallOptions | None = None) -> bool:
        """Returns False: there is no other token to send."""
        return False

    def refused_anew(self, token: str) -> None:
        """Does nothing, because nothing is renewed."""


class RenewalPause:
    """Prevents repeated renewals of a credential while the service rejects its new tokens."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = -math.inf
        self._fetched: str | None = None

    def fetched(self, token: str) -> None:
        """Records the token that the service has just issued."""
        self._fetched = token

    def refused(self, token: str) -> None:
        """Starts the pause if the rejected token came directly from the service. A cached token from another process
        may have expired in the meantime, so the next one may be valid.
        """
        if token == self._fetched:
            self.begin()

    def begin(self) -> None:
        """Starts the pause."""
        self._until = self._clock.monotonic() + RENEWAL_PAUSE_SECONDS

    @property
    def is_on(self) -> bool:
        """Whether renewals are currently paused."""
        return self._clock.monotonic() < self._until


class StaticAuthenticator(_NotRenewed):
    """Sends a header that never changes: a fixed bearer token, or HTTP Basic authentication."""

    def __init__(self, header: str) -> None:
        self._authorization = Authorization(header)

    async def authorize(self, request: Request[Any], options: CallOptions | None = None) -> Authorization:
        """Returns the header."""
        return self._authorization


class TokenRequester(StaticAuthenticator):
    """Authenticates the requests for one token, and tracks the state of the current request."""

    def __init__(self, header: str, clock: Clock) -> None:
        super().__init__(header)
        self._clock = clock
        self._free_at = -math.inf
        self.is_sent: bool = False
        """Whether a response with tokens may be in flight."""

    async def authorize(self, request: Request[Any], options: CallOptions | None = None) -> Authorization:
        """Returns the header of a request that is about to be sent."""
        self.is_sent = True
        return await super().authorize(request, options)

    def note(self, attempt: Attempt) -> None:
        """Records the outcome of an attempt."""
        self.is_sent, failure = False, attempt.failure
        if failure is not None and failure.status in RATE_LIMITED and failure.retry_after_seconds is not None:
            self._free_at = self._clock.monotonic() + failure.retry_after_seconds

    def too_late(self, reason: str) -> SocialApiError:
        """Returns the error for a call that has reached its maximum wait: RateLimitTooLong while the token endpoint is
        rate limited, otherwise TransportError.
        """
        wait_seconds = self._free_at - self._clock.monotonic()
        if wait_seconds <= 0:
            return TransportError(reason)
        resets_at = datetime.datetime.fromtimestamp(self._clock.time() + wait_seconds, datetime.UTC)
        return RateLimitTooLong("the token endpoint", wait_seconds, resets_at)


Fetch = Callable[[TokenRequester, CallOptions | None], Awaitable[str]]


class OAuth1Authenticator(_NotRenewed):
    """Signs requests with OAuth 1.0a, for a user's token or for a step of a sign-in.

    Every attempt has a fresh nonce and timestamp, so that the service never mistakes one for a replay.
    """

    def __init__(self, credential: OAuth1 | SignIn, clock: Clock) -> None:
        self._signer = OAuth1Signer(credential)
        self._clock = clock

    async def authorize(self, request: Request[Any], options: CallOptions | None = None) -> Authorization:
        """Returns the OAuth 1.0a signature of this request."""
        header = self._signer.header(
            request.method,
            request.url,
            form=request.form,
            nonce=secrets.token_hex(16),
            timestamp=int(self._clock.time()),
        )
        return Authorization(header)


class AppOnlyAuthenticator:
    """Holds one app-only token per app and fetches a new one when the service rejects it.

    Concurrent calls, and processes that share the token cache, trigger only one fetch. The fetch uses the timeout and
    retries of the call that triggered it. Calls that wait for the fetch share its token. They also share its failure,
    unless their own options could have led to a different outcome.
    """

    def __init__(
        self,
        credential: AppOnly,
        cache: TokenCache,
        clock: Clock,
        fetch: Fetch,
        host: str,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._fetch = fetch
        self.requester: TokenRequester = TokenRequester(
            basic_header(credential.api_key, credential.api_key_secret), clock
        )
        self._key = cache_key(host, credential.api_key)
        self._pause = RenewalPause(clock)
        self._token: str | None = None
        self._failure: SocialApiError | None = None
        self._failures = 0
        self._failed_with: CallOptions | None = None
        self._refused_until = 0.0
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forgets fetches that belong to a closed event loop."""
        self._lock = asyncio.Lock()

    async def authorize(self, request: Request[Any], options: CallOptions | None = None) -> Authorization:
        """Returns the header with the app's token. Raises the error of the token request."""
        token = self._token or await self.token(options)
        return Authorization(bearer_header(token), token)

    async def token(self, options: CallOptions | None = None) -> str:
        """Returns the token from memory, the cache, or the service, in this order."""
        failures = self._failures
        seconds = None if options is None else options.token_wait_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._lock.acquire()
        except TimeoutError:
            reason = f"another call is still fetching the token after {round(seconds or 0, 2):g} s"
            raise self.requester.too_late(reason) from None
        try:
            failure = self._failure if self._token is None and self._failures > failures else None
            # The fetch that this call waited for has failed. After a transient failure, a call with other options
            # fetches the token itself.
            if failure is not None and (options == self._failed_with or not isinstance(failure, _TRANSIENT_ERRORS)):
                raise copy.copy(failure)
            if self._token is None:
                self._token = await self._cached() or await self._fetch_once(options)
            return self._token
        finally:
            self._lock.release()

    async def _cached(self) -> str | None:
        """Returns the cached token, or None if there is none or it cannot be sent in a header."""
        token = await self._cache.load(self._key)
        return Secret(token) if token is not None and is_token(token) else None

    async def _fetch_once(self, options: CallOptions | None) -> str:
        if self._failure is not None and self._clock.monotonic() < self._refused_until:
            raise copy.copy(self._failure)
        async with self._cache.lock(self._key):
            # Another process may have fetched a token while this one waited for the lock.
            if (token := await self._cached()) is not None:
                return token
            try:
                token = Secret(await self._fetch(self.requester, options))
            except SocialApiError as failure:
                self._failures += 1
                self._failed_with = options
                self._failure = failure
                if isinstance(failure, Forbidden) and TOKEN_RATE_CODE in failure.codes:
                    self._refused_until = self._clock.monotonic() + TOKEN_RATE_PAUSE_SECONDS
                raise
            self._pause.fetched(token)
            # Kept in memory before it is stored, so that the next call does not fetch again if the disk is full.
            self._token = token
            await self._cache.store(self._key, token)
            return token

    async def renew(self, dead: Authorization, options: CallOptions | None = None) -> bool:
        """Drops the rejected token and fetches a new one, unless another task has already replaced it.

        Returns False if the service issues the same token again, because that token would be rejected.
        """
        if dead.token is None or (self._token == dead.token and self._pause.is_on):
            return False
        await self.forget(dead.token)
        if await self.token(options) == dead.token:
            self._pause.begin()
            return False
        return True

    def refused_anew(self, token: str) -> None:
        """Pauses renewals if the token came directly from the service."""
        self._pause.refused(token)

    async def forget(self, token: str) -> None:
        """Drops the token from memory and from the cache. Keeps any other token."""
        async with self._lock:
            if self._token == token:
                self._token = None
            await self._cache.discard(self._key, token)


def client_header(client_id: str, client_secret: str | None) -> str:
    """Returns the `Authorization` header of an OAuth 2.0 client at the token endpoint.

    A client with a secret uses HTTP Basic. A client without one sends no header, only its
    `client_id` in the body (RFC 6749, section 2.3.1).
    """
    return basic_header(client_id, client_secret) if client_secret else ""
