"""The state of the service: apps, users, tokens, audiences and the records of each API."""

import hashlib
from typing import Any, Final, Literal

import attrs

from socialapi.emulator.advertising.audience_members import Members
from socialapi.emulator.advertising.state import Advertising
from socialapi.emulator.catalogs.state import Catalog
from socialapi.emulator.clock import EmulatorClock
from socialapi.emulator.oauth.state import PendingSignIns
from socialapi.emulator.oauth1 import NonceMemory
from socialapi.emulator.platform.state import Platform
from socialapi.emulator.rate_limits import RateLimits

Access = Literal["read", "write"]
Tier = Literal["not-enrolled", "self-serve", "enterprise"]

REGISTERED_CALLBACK: Final = "https://app.example/callback"
"""The callback address that every app has registered. Loopback addresses are also allowed."""


@attrs.define
class App:
    """A client app. `bearer_token` is its app-only token.

    `signs_in` is its sign-in setting: if it is on, users who granted access before are not asked again. `access` limits
    what its users' tokens permit. Apps on the self-serve `tier` have restricted programmatic replies, and no stream
    links unless `stream_webhooks` is on. An app that is not enrolled may use only the token endpoints of the platform
    API. `names_advertisers` is whether the app may set the `advertiser_user_id` of line items.
    """

    api_key: str
    api_key_secret: str = attrs.field(repr=False)
    name: str = ""
    signs_in: bool = True
    tier: Tier = "self-serve"
    stream_webhooks: bool = False
    access: Access = "write"
    names_advertisers: bool = True
    bearer_token: str | None = attrs.field(default=None, repr=False)
    tokens_made: int = 0


@attrs.define
class User:
    """A user. `account_ids` are the associated ad accounts, and `profile` holds the fields that the platform API shows."""

    id: str
    username: str
    account_ids: set[str] = attrs.field(factory=set)
    profile: dict[str, Any] = attrs.field(factory=dict)

    @property
    def is_premium(self) -> bool:
        """Whether the user has a premium subscription."""
        return bool(self.profile.get("subscription_type", "None") != "None")


@attrs.frozen
class Caller:
    """The sender of a request. App-only tokens have no user; OAuth 2.0 user tokens are bearer tokens with a user.

    `access` is what a user's OAuth 1.0a token permits, and `scopes` is what an OAuth 2.0 token permits (None for other
    tokens). `expires_at` is the expiry of a token that has one.
    """

    app: App
    user: User | None = None
    access: Access = "write"
    scopes: frozenset[str] | None = None
    expires_at: float | None = None


@attrs.frozen
class AccessToken:
    """A user's OAuth 1.0a access token."""

    token: str = attrs.field(repr=False)
    secret: str = attrs.field(repr=False)
    caller: Caller


@attrs.define
class Audience:
    """A custom audience."""

    id: str
    name: str
    members: Members = attrs.field(factory=Members)


@attrs.define
class DoNotReach:
    """A do-not-reach list."""

    id: str
    name: str
    description: str
    created_at: float
    updated_at: float
    deleted: bool = False
    members: Members = attrs.field(factory=Members)


OwnedId = tuple[str, str]
"""An account id and the id of something that belongs to the account."""


@attrs.define
class State:
    """All state that `reset` replaces with the seed data."""

    clock: EmulatorClock
    limits: RateLimits
    problem_base_url: str = ""
    """The URL with which the problem types start."""
    nonces: NonceMemory = attrs.field(factory=NonceMemory)
    apps: dict[str, App] = attrs.field(factory=dict)
    users: dict[str, User] = attrs.field(factory=dict)
    access_tokens: dict[str, AccessToken] = attrs.field(factory=dict)
    bearers: dict[str, Caller] = attrs.field(factory=dict)
    """Maps each live bearer token to its caller."""
    advertising: Advertising = attrs.field(factory=Advertising)
    catalogs: dict[str, Catalog] = attrs.field(factory=dict)
    audiences: dict[OwnedId, Audience] = attrs.field(factory=dict)
    do_not_reach_lists: dict[OwnedId, DoNotReach] = attrs.field(factory=dict)
    sign_ins: PendingSignIns = attrs.field(factory=PendingSignIns)
    platform: Platform = attrs.field(factory=Platform)

    def new_app(self, user: User) -> AccessToken:
        """Creates another app with an app-only token, and returns the user's access token for it."""
        number = len(self.apps) + 1
        key, secret = derived(f"api key {number}", 25), derived(f"api key secret {number}", 50)
        app = App(key, secret, name=f"Example app {number}")
        self.apps[app.api_key] = app
        self.app_only_token(app)
        return self.new_access_token(app, user)

    def new_access_token(self, app: App, user: User, access: Access = "write") -> AccessToken:
        """Returns a new OAuth 1.0a access token with which the app acts for the user."""
        self.sign_ins.access_tokens_made += 1
        label = f"{app.api_key} {user.id} {self.sign_ins.access_tokens_made}"
        made = AccessToken(
            f"{user.id}-{derived(f'access token {label}', 40)}",
            derived(f"access token secret {label}", 45),
            Caller(app, user, access),
        )
        self.access_tokens[made.token] = made
        return made

    def user_named(self, username: str) -> User | None:
        """Returns the user with the screen name, ignoring case and a leading @."""
        wanted = username.strip().removeprefix("@").lower()
        return next((user for user in self.users.values() if user.username.lower() == wanted), None)

    def app_only_token(self, app: App) -> str:
        """Returns the app's current app-only token, or creates one."""
        if app.bearer_token is None:
            app.tokens_made += 1
            app.bearer_token = derived(f"bearer token {app.api_key} {app.tokens_made}", 104)
            self.bearers[app.bearer_token] = Caller(app)
        return app.bearer_token

    def end_bearer(self, token: str) -> None:
        """Invalidates a live bearer token."""
        caller = self.bearers.pop(token)
        if caller.app.bearer_token == token:
            caller.app.bearer_token = None


def derived(label: str, length: int) -> str:
    """Returns a string of letters and digits that looks like a secret and is the same at every start."""
    return hashlib.sha512(f"socialapi emulator {label}".encode()).hexdigest()[:length]
