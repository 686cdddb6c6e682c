"""Chooses the credential for a request, and stores pending sign-ins."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from socialapi.config import Config
from socialapi.credentials import AppOnly, Bearer, Credentials, OAuth1, by_kind
from socialapi.errors import ConfigurationError
from socialapi.routes.route import Family
from socialapi.session.auth import AppOnlyAuthenticator, Authenticator, Fetch, OAuth1Authenticator, StaticAuthenticator
from socialapi.session.clock import Clock
from socialapi.session.token_cache import TokenCache
from socialapi.wire.oauth1 import bearer_header

if TYPE_CHECKING:
    from socialapi.session.oauth2_user import Ask, OAuth2UserAuthenticator

MAX_PENDING_SIGN_INS: Final = 1_000


class PendingSignIns:
    """The token secrets of pending OAuth 1.0a sign-ins, bounded to the most recent ones."""

    def __init__(self) -> None:
        self._secrets: OrderedDict[str, str] = OrderedDict()

    def began(self, token: str, secret: str) -> None:
        """Stores the secret of a request token and drops the oldest one when there are too many."""
        self._secrets[token] = secret
        while len(self._secrets) > MAX_PENDING_SIGN_INS:
            self._secrets.popitem(last=False)

    def secret(self, token: str) -> str | None:
        """Returns the secret, or None if the sign-in is unknown or was dropped."""
        return self._secrets.get(token)

    def ended(self, token: str) -> None:
        """Forgets a request token that has been exchanged."""
        self._secrets.pop(token, None)


class Authenticators:
    """Chooses the credential for a request: the first kind that the API family accepts and the user has provided."""

    def __init__(
        self,
        credentials: Sequence[Credentials],
        config: Config,
        cache: TokenCache,
        clock: Clock,
        fetch: Fetch,
        ask: "Ask",
    ) -> None:
        self.sign_ins: PendingSignIns = PendingSignIns()
        self._by_kind: dict[str, Authenticator] = {}
        self._credentials = tuple(credentials)
        self._timeout_seconds = config.timeout_seconds
        self._app: AppOnlyAuthenticator | None = None
        self._renewing: list[OAuth2UserAuthenticator] = []
        for kind, credential in by_kind(credentials).items():
            if isinstance(credential, AppOnly):
                self._app = AppOnlyAuthenticator(credential, cache, clock, fetch, config.base_url)
                self._by_kind[kind] = self._app
            elif isinstance(credential, OAuth1):
                self._by_kind[kind] = OAuth1Authenticator(credential, clock)
            elif isinstance(credential, Bearer):
                self._by_kind[kind] = StaticAuthenticator(bearer_header(credential.token))
            elif credential.refresh_token is None:
                self._by_kind[kind] = StaticAuthenticator(bearer_header(credential.access_token))
            else:
                from socialapi.session import oauth2_user

                user = oauth2_user.OAuth2UserAuthenticator(credential, cache, clock, ask, config.base_url)
                self._renewing.append(user)
                self._by_kind[kind] = user

    def choose(self, family: Family) -> Authenticator:
        """Returns the authenticator for the family.

        Raises ConfigurationError if the family accepts none of the given credentials.
        """
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
        """Returns the app-only authenticator. Raises ConfigurationError if no AppOnly credential was given."""
        if self._app is not None:
            return self._app
        raise ConfigurationError(
            "app-only tokens need the app's key and secret: pass credentials=[AppOnly(…)] or set SOCIALAPI_API_KEY "
            "and SOCIALAPI_API_KEY_SECRET"
        )

    def app_key(self) -> tuple[str, str]:
        """Returns the app's key and secret, which sign-ins need.

        Raises ConfigurationError if no given credential has them.
        """
        for credential in self._credentials:
            if isinstance(credential, AppOnly | OAuth1):
                return credential.api_key, credential.api_key_secret
        raise ConfigurationError(
            "signing in needs the app's key and secret: pass credentials=[AppOnly(…)] or set SOCIALAPI_API_KEY and "
            "SOCIALAPI_API_KEY_SECRET"
        )

    def user(self) -> Authenticator:
        """Returns the authenticator that signs with the user's OAuth 1.0a token.

        Raises ConfigurationError if no OAuth1 credential was given.
        """
        if OAuth1.__name__ in self._by_kind:
            return self._by_kind[OAuth1.__name__]
        raise ConfigurationError(
            "this needs a user's OAuth 1.0a token: pass credentials=[OAuth1(…)] or set SOCIALAPI_API_KEY, "
            "_API_KEY_SECRET, _ACCESS_TOKEN and _ACCESS_TOKEN_SECRET"
        )

    def begin_anew(self) -> None:
        """Forgets token requests that belong to a closed event loop. Keeps the tokens."""
        if self._app is not None:
            self._app.begin_anew()
        for user in self._renewing:
            user.begin_anew()

    async def aclose(self) -> None:
        """Waits for token renewals in progress, for at most the configured `timeout_seconds`."""
        for user in self._renewing:
            await user.aclose(self._timeout_seconds)
