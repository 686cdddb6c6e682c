"""A user's OAuth 2.0 tokens: renewed once for everybody, and saved before they are used (platform section 5.4)."""

import asyncio
import hashlib
import json
import logging
import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import attrs

from socialapi.credentials import OAuth2User
from socialapi.errors import ApiError, SocialApiError, Unauthorized
from socialapi.models.oauth import OAuth2Token, OAuth2TokenRequest
from socialapi.problems import ServiceError
from socialapi.session.auth import Authenticator, Authorization, client_authentication
from socialapi.session.clock import Clock
from socialapi.session.token_cache import TokenCache, cache_key
from socialapi.wire.oauth1 import bearer_header, is_token
from socialapi.wire.request import Request

if TYPE_CHECKING:
    from socialapi.session.session import CallOptions

logger: Final = logging.getLogger("socialapi")

ENDED_GRANT: Final = "invalid_grant"
"""What a token endpoint answers when a code or refresh token is of no use any more (RFC 6749, section 5.2)."""

RENEW_AHEAD_SECONDS: Final = 60.0
RENEW_AHEAD_SHARE: Final = 0.1
"""A token is renewed this long before its end, or in the last tenth of its life if that is shorter."""

EARLY_RETRY_SECONDS: Final = 10.0
"""How long nothing is tried after a renewal ahead of time that failed, while the old token still serves."""

Ask = Callable[[OAuth2TokenRequest, Authenticator], Awaitable[OAuth2Token]]


@attrs.frozen
class TokenPair:
    """An access token and what renews it; the times are epoch seconds, None when the service did not say."""

    access_token: str = attrs.field(repr=False)
    refresh_token: str = attrs.field(repr=False)
    renew_at: float | None = None
    expires_at: float | None = None

    @classmethod
    def answered(cls, token: OAuth2Token, *, used: str, now: float) -> "TokenPair":
        """The pair of an answer; a service that does not rotate refresh tokens leaves the one that was `used`."""
        lifetime = token.expires_in
        if lifetime is None or lifetime < 1:
            return cls(token.access_token, token.refresh_token or used)
        ahead = min(RENEW_AHEAD_SECONDS, lifetime * RENEW_AHEAD_SHARE)
        return cls(token.access_token, token.refresh_token or used, now + lifetime - ahead, now + lifetime)

    @classmethod
    def from_text(cls, text: str | None) -> "TokenPair | None":
        """What `to_text` made; None for anything else, which is then as good as nothing."""
        try:
            given = json.loads(text or "")
            texts = [given["access_token"], given["refresh_token"]]
            times = [given["renew_at"], given["expires_at"]]
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        right = all(map(is_token, texts)) and all(isinstance(t, int | float | None) for t in times)
        return cls(*texts, *times) if right else None

    def to_text(self) -> str:
        """The pair as JSON, for a token cache."""
        return json.dumps(attrs.asdict(self))

    def is_due(self, now: float) -> bool:
        """Whether it is time to renew it."""
        return self.renew_at is not None and now >= self.renew_at

    def is_over(self, now: float) -> bool:
        """Whether its end is known to have come."""
        return self.expires_at is not None and now >= self.expires_at


def pair_key(host: str, credential: OAuth2User) -> str:
    """Where the newest pair of a credential is kept: named after the refresh token it began with, which it outlives."""
    began_with = hashlib.sha256((credential.refresh_token or "").encode()).hexdigest()
    return cache_key("oauth2 user", host, credential.client_id or "", began_with)


class OAuth2UserAuthenticator:
    """Bearer tokens of a user, one renewal at a time in all tasks, and in all processes that share the token cache.

    The pair in the cache goes before the one of the credential, since the service takes each refresh token once. A
    new pair is used only after the cache has it. A renewal under way is not cancelled together with who waits for
    it: the pair in its answer would be lost, and the user would have to sign in again. For the same reason it follows
    the client's own options, and not those of a call.
    """

    def __init__(self, credential: OAuth2User, cache: TokenCache, clock: Clock, ask: Ask, host: str) -> None:
        assert credential.refresh_token is not None
        assert credential.client_id is not None
        self._client_id = credential.client_id
        self._client_secret = credential.client_secret
        self._given = TokenPair(credential.access_token, credential.refresh_token)
        self._cache = cache
        self._clock = clock
        self._ask = ask
        self._key = pair_key(host, credential)
        self._turn = asyncio.Lock()
        self._pair: TokenPair | None = None
        self._unsaved: TokenPair | None = None
        self._refusal: tuple[str, ApiError] | None = None
        self._renewal: asyncio.Task[TokenPair] | None = None
        self._early_again_at = -math.inf

    async def authorize(self, request: Request[Any], options: "CallOptions | None" = None) -> Authorization:
        """The newest access token; renewed first when it is known to end soon."""
        pair = self._pair or await self._load()
        if pair.is_due(self._clock.time()):
            pair = await self._renew_early(pair)
        return Authorization(bearer_header(pair.access_token), pair.access_token)

    async def renew(self, dead: Authorization, options: "CallOptions | None" = None) -> bool:
        """Whether there is another token than the one that was refused. Raises Unauthorized when there can be none."""
        pair = self._pair or await self._load()
        if pair.access_token == dead.token:
            pair = await self._renewed(pair)
        return pair.access_token != dead.token

    async def _load(self) -> TokenPair:
        async with self._turn:
            if self._pair is None:
                self._pair = TokenPair.from_text(await self._cache.load(self._key)) or self._given
            return self._pair

    async def _renew_early(self, pair: TokenPair) -> TokenPair:
        """The next pair, or this one if it still serves and no other can be had."""
        is_over = pair.is_over(self._clock.time())
        if not is_over and self._clock.monotonic() < self._early_again_at:
            return pair
        try:
            return await self._renewed(pair)
        except SocialApiError as problem:
            if is_over:
                raise
            logger.warning("an access token that ends soon was not renewed: %s", problem)
            self._early_again_at = self._clock.monotonic() + EARLY_RETRY_SECONDS
            return pair

    async def _renewed(self, old: TokenPair) -> TokenPair:
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.get_running_loop().create_task(self._renew(old))
            self._renewal.add_done_callback(_look_at_error)
        return await asyncio.shield(self._renewal)

    async def _renew(self, old: TokenPair) -> TokenPair:
        """The pair after the old one, from another process or from the service, in the cache before it is used."""
        async with self._cache.lock(self._key):
            stored = TokenPair.from_text(await self._cache.load(self._key))
            if self._unsaved is None:
                if stored and stored.access_token != old.access_token and not stored.is_due(self._clock.time()):
                    self._pair = stored
                    return stored
                self._unsaved = await self._next(stored or old)
            # Should the cache fail here, the pair waits for the next call to save it; nothing else renews it any more.
            await self._cache.store(self._key, self._unsaved.to_text())
            self._pair, self._unsaved = self._unsaved, None
            return self._pair

    async def _next(self, newest: TokenPair) -> TokenPair:
        used = newest.refresh_token
        if self._refusal is not None and self._refusal[0] == used:
            raise self._refusal[1].with_traceback(None)  # or its traceback would grow with every call
        body = OAuth2TokenRequest(grant_type="refresh_token", client_id=self._client_id, refresh_token=used)
        try:
            token = await self._ask(body, client_authentication(self._client_id, self._client_secret))
        except ApiError as refusal:
            error = with_advice(refusal, REFRESH_ADVICE)
            if ENDED_GRANT in error.codes:
                self._refusal = (used, error)
            raise error from None
        return TokenPair.answered(token, used=used, now=self._clock.time())

    async def aclose(self, timeout_seconds: float) -> None:
        """Lets a renewal under way end, for so long: its answer may hold the only refresh token that is still good."""
        renewal = self._renewal
        if renewal is not None and not renewal.done():
            await asyncio.wait({renewal}, timeout=timeout_seconds)
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)


def _look_at_error(renewal: asyncio.Task[TokenPair]) -> None:
    """Those who waited have the error; there may be none left, and then nobody needs it."""
    if not renewal.cancelled():
        renewal.exception()


def with_advice(refusal: ApiError, advice: str) -> ApiError:
    """The refusal of a code or refresh token that is of no use any more, with what to do; any other as it is."""
    if ENDED_GRANT not in refusal.codes:
        return refusal
    said = next((each.message for each in refusal.errors if each.message), None)
    return Unauthorized(
        refusal.status,
        headers=refusal.headers,
        errors=(ServiceError(code=ENDED_GRANT, message=f"{said or 'refused'}; {advice}"),),
        request_id=refusal.request_id,
        attempts=refusal.attempts,
    )


REFRESH_ADVICE: Final = "the refresh token was used, withdrawn or has ended: the user has to sign in again (`socialapi auth login --oauth2`)"
CODE_ADVICE: Final = "the code was used, has ended or belongs to another sign-in: begin the sign-in again"
