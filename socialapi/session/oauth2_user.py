"""OAuth 2.0 user tokens, renewed once for all callers and stored before use."""

import asyncio
import hashlib
import json
import logging
import math
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs

from socialapi.credentials import OAuth2User
from socialapi.errors import ApiError, DecodeError, SocialApiError, TransportError, Unauthorized
from socialapi.internal.secret import Secret
from socialapi.internal.shielded import shielded
from socialapi.models.oauth import OAuth2TokenRequest, RenewedTokens
from socialapi.session.auth import (
    RENEWAL_PAUSE_SECONDS,
    Authorization,
    RenewalPause,
    TokenRequester,
    client_header,
)
from socialapi.session.clock import Clock
from socialapi.session.options import CallOptions
from socialapi.session.token_cache import TokenCache, cache_key
from socialapi.wire.oauth1 import bearer_header, is_token
from socialapi.wire.request import Request

logger: Final = logging.getLogger("socialapi")

ENDED_GRANTS: Final = frozenset(
    ("invalid_grant", "invalid_token", "expired_token", "access_denied", "login_required", "interaction_required", "89")
)
"""The errors of a token endpoint for a code or refresh token that is no longer valid (RFC 6749, section 5.2, and other
codes that services use).
"""

RENEW_AHEAD_SECONDS: Final = 60.0
RENEW_AHEAD_SHARE: Final = 0.1
"""A token is renewed this many seconds before it expires, or in the last tenth of its lifetime if that is shorter."""

EARLY_RETRY_SECONDS: Final = 10.0
"""How long to wait after a failed early renewal, while the old token is still valid."""

Ask = Callable[[OAuth2TokenRequest, TokenRequester], Awaitable[tuple[RenewedTokens, DecodeError | None]]]


_LAST_SECOND: Final = 2**53


@attrs.frozen
class TokenPair:
    """An access token and its refresh token.

    Times are epoch seconds, or None if the service reported no lifetime.
    """

    access_token: str = attrs.field(repr=False, converter=Secret)
    refresh_token: str = attrs.field(repr=False, converter=Secret)
    renew_at: float | None = None
    expires_at: float | None = None

    @classmethod
    def from_answer(cls, tokens: RenewedTokens, *, old: "TokenPair", now: float) -> "TokenPair":
        """Returns the pair from a response of the token endpoint.

        Keeps the old refresh token if the service does not rotate refresh tokens, and the old
        access token if the response has none.
        """
        refresh_token = tokens.refresh_token or old.refresh_token
        if tokens.access_token is None:
            return attrs.evolve(old, refresh_token=refresh_token)
        lifetime = tokens.expires_in
        if lifetime is None or not 1 <= lifetime < _LAST_SECOND - now:
            return cls(tokens.access_token, refresh_token)
        ahead = min(RENEW_AHEAD_SECONDS, lifetime * RENEW_AHEAD_SHARE)
        return cls(tokens.access_token, refresh_token, now + lifetime - ahead, now + lifetime)

    @classmethod
    def from_text(cls, text: str | None) -> "TokenPair | None":
        """Returns the pair that `to_text` wrote, or None for any other string."""
        try:
            given = json.loads(text or "")
            texts = [given["access_token"], given["refresh_token"]]
            times = [given["renew_at"], given["expires_at"]]
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        right = all(map(is_token, texts)) and all(t is None or _is_time(t) for t in times)
        return cls(*texts, *times) if right else None

    def to_text(self) -> str:
        """Returns the pair as JSON, to store in a token cache."""
        return Secret(json.dumps(attrs.asdict(self)))

    def is_due(self, now: float) -> bool:
        """Returns whether the pair should be renewed now."""
        return self.renew_at is not None and now >= self.renew_at

    def is_expired(self, now: float) -> bool:
        """Returns whether the access token is known to have expired."""
        return self.expires_at is not None and now >= self.expires_at


def _is_time(value: object) -> bool:
    """Returns whether a value is a number of seconds. NaN does not count, because a token with that time would never
    expire.
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LAST_SECOND


def pair_key(host: str, credential: OAuth2User) -> str:
    """Returns the cache key of a credential's newest pair.

    The key is derived from the first refresh token, so renewals do not change it.
    """
    began_with = hashlib.sha256((credential.refresh_token or "").encode()).hexdigest()
    return cache_key("oauth2 user", host, credential.client_id or "", began_with)


class OAuth2UserAuthenticator:
    """Holds a user's bearer token and renews it, once for all tasks and for all processes that share the token cache.

    A pair in the cache takes precedence over the one in the credential, because the service accepts each refresh token
    only once. A new pair is used only after it is stored. A renewal is not cancelled with the call that waits for it,
    because its response may hold the only valid refresh token. Without that token, the user would have to sign in
    again. For the same reason, it uses the client's options and not the call's.
    """

    def __init__(self, credential: OAuth2User, cache: TokenCache, clock: Clock, ask: Ask, host: str) -> None:
        assert credential.refresh_token is not None
        assert credential.client_id is not None
        self._client_id = credential.client_id
        self._given = TokenPair(credential.access_token, credential.refresh_token)
        self._cache = cache
        self._clock = clock
        self._ask = ask
        self._requester = TokenRequester(client_header(credential.client_id, credential.client_secret), clock)
        self._key = pair_key(host, credential)
        self._pause = RenewalPause(clock)
        self._pair: TokenPair | None = None
        self._unsaved: TokenPair | None = None
        self._refusal: _Refusal | None = None
        self._early_again_at = -math.inf
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forgets renewals that belong to a closed event loop. If such a renewal stored its tokens, they are in the
        cache.
        """
        self._renewal: asyncio.Task[TokenPair] | None = None

    async def authorize(self, request: Request[Any], options: CallOptions | None = None) -> Authorization:
        """Returns the newest access token. Renews it first if it is about to expire."""
        pair = self._pair or await self._load()
        if pair.is_due(self._clock.time()):
            pair = await self._renew_early(pair, options)
        return Authorization(bearer_header(pair.access_token), pair.access_token)

    async def renew(self, dead: Authorization, options: CallOptions | None = None) -> bool:
        """Returns whether there is a token other than the rejected one. Raises Unauthorized if the refresh token is no
        longer valid.
        """
        pair = self._pair or await self._load()
        if pair.access_token == dead.token:
            if self._pause.is_on:
                return False
            pair = await self._renewed(pair, options)
        if pair.access_token == dead.token:
            self._pause.begin()
            return False
        return True

    def refused_anew(self, token: str) -> None:
        """Pauses renewals if the token came directly from the service."""
        self._pause.refused(token)

    async def _load(self) -> TokenPair:
        loaded = TokenPair.from_text(await self._cache.load(self._key)) or self._given
        self._pair = self._pair or loaded  # another task may have renewed it in the meantime
        return self._pair

    async def _renew_early(self, pair: TokenPair, options: CallOptions | None) -> TokenPair:
        """Returns the next pair, or the current one if the renewal fails while the current one is still valid."""
        is_over = pair.is_expired(self._clock.time())
        if not is_over and self._clock.monotonic() < self._early_again_at:
            return pair
        try:
            return await self._renewed(pair, options)
        except SocialApiError as problem:
            if is_over:
                raise
            facts = {"socialapi_error": type(problem).__name__}
            logger.warning("an access token that expires soon was not renewed: %s", problem, extra=facts)
            self._early_again_at = self._clock.monotonic() + EARLY_RETRY_SECONDS
            return pair

    async def _renewed(self, old: TokenPair, options: CallOptions | None) -> TokenPair:
        """Returns the pair that replaces the old one. Waits for it as long as the call may wait."""
        renewal = self._renewal
        if renewal is None or renewal.done():
            renewal = self._renewal = asyncio.get_running_loop().create_task(self._renew(old))
        seconds = None if options is None else options.token_wait_seconds
        try:
            async with asyncio.timeout(seconds):
                return await shielded(renewal)
        except TimeoutError:
            reason = f"the token is still being renewed after {round(seconds or 0, 2):g} s"
            raise self._requester.too_late(reason) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # `aclose` cancelled the renewal, not this call.
            raise TransportError("the client was closed while its token was being renewed") from None

    async def _renew(self, old: TokenPair) -> TokenPair:
        """Returns the pair that replaces the old one, from another process or from the service. Stores it before use.
        If the response was incomplete, stores what it contained and then raises an error.
        """
        problem = None
        async with self._cache.lock(self._key):
            stored = TokenPair.from_text(await self._cache.load(self._key))
            if self._unsaved is None:
                if stored and stored.access_token != old.access_token and not stored.is_due(self._clock.time()):
                    self._pair = stored
                    return stored
                self._unsaved, problem = await self._next(stored or old)
            # If the cache fails here, the next call stores this pair. Until then no other renewal starts.
            await self._cache.store(self._key, self._unsaved.to_text())
            self._pair, self._unsaved = self._unsaved, None
            if problem is not None:
                raise problem
            return self._pair

    async def _next(self, newest: TokenPair) -> tuple[TokenPair, DecodeError | None]:
        """Returns the pair in the service's response, and an error if it is incomplete."""
        used = newest.refresh_token
        refusal = self._refusal
        if refusal is not None and refusal.token == used and self._clock.monotonic() < refusal.until:
            # Otherwise the traceback would grow with every call.
            raise refusal.error.with_traceback(None)
        body = OAuth2TokenRequest(grant_type="refresh_token", client_id=self._client_id, refresh_token=used)
        try:
            tokens, problem = await self._ask(body, self._requester)
        except ApiError as error:
            refused = with_advice(error, REFRESH_ADVICE)
            if refused.is_lasting:
                pause = math.inf if refused is not error else RENEWAL_PAUSE_SECONDS
                self._refusal = _Refusal(used, refused, self._clock.monotonic() + pause)
            raise refused from None
        pair = TokenPair.from_answer(tokens, old=newest, now=self._clock.time())
        self._pause.fetched(pair.access_token)
        return pair, problem

    async def aclose(self, timeout_seconds: float) -> None:
        """Ends a renewal in progress. If its request has been sent, waits at most `timeout_seconds` for the response,
        which may contain the only valid refresh token.
        """
        renewal = self._renewal
        if renewal is not None and not renewal.done():
            if self._requester.is_sent or self._unsaved is not None:
                await asyncio.wait({renewal}, timeout=timeout_seconds)
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)


@attrs.frozen
class _Refusal:
    """The rejection of a refresh token, with the monotonic time until which the token is not sent again."""

    token: str = attrs.field(repr=False)
    error: ApiError
    until: float


def with_advice(refusal: ApiError, advice: str) -> ApiError:
    """Returns the error. Adds advice as its hint if the error is final and has a known reason, such as a code or
    refresh token that is no longer valid.
    """
    said = [(str(each.code or "").lower(), each.message or "") for each in refusal.errors]
    said += [(each.slug.lower().replace("-", "_"), f"{each.title} {each.detail}") for each in refusal.problems]
    said.append(("", refusal.summary))
    hint = next(filter(None, (_hint_of(code, text, advice) for code, text in said)), None)
    if hint is None or not refusal.is_lasting:
        return refusal
    error = Unauthorized(
        refusal.status,
        headers=refusal.headers,
        errors=refusal.errors,
        problems=refusal.problems,
        request_id=refusal.request_id,
        summary=refusal.summary,
        attempts=refusal.attempts,
    )
    error.hint = hint
    if refusal.method is not None:
        error.at(refusal.method, refusal.path or "", refusal.host or "")
    return error


def _hint_of(code: str, text: str, advice: str) -> str | None:
    """Returns advice about an error of the token endpoint, or None.

    The service may return `invalid_request` for an invalid refresh token, with a message that names
    the token. The same code also means a malformed request.
    """
    if code.endswith("_client"):  # invalid, unauthorized, deleted, …
        return CLIENT_ADVICE
    if "token" in code:
        text = code.replace("_", " ")
    elif code not in ("", "about:blank", "invalid_request"):
        text = ""
    return advice if code in ENDED_GRANTS or _says_ended(text) else None


_says_ended: Final = re.compile(
    r".*\binvalid_grant\b|(?=.*\b(?:token|authorization code)\b)(?=.*\b(?:invalid|expired|revoked|used|not valid|unknown|bad)\b)",
    re.IGNORECASE | re.DOTALL,
).match


REFRESH_ADVICE: Final = "the refresh token was used, was revoked or has expired: the user has to sign in again (`socialapi auth login --oauth2`)"
CODE_ADVICE: Final = "the code was used, has expired or belongs to another sign-in: start the sign-in again"
CLIENT_ADVICE: Final = (
    "the service refuses the app: are client_id and client_secret (SOCIALAPI_OAUTH2_CLIENT_ID, "
    "SOCIALAPI_OAUTH2_CLIENT_SECRET) right? A confidential app needs its secret, a public one has none"
)
