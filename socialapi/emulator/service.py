"""The emulated service: its state, faults, log and background work."""

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from typing import Final

import attrs

from socialapi.emulator.clock import EmulatorClock
from socialapi.emulator.exchanges import Exchanges
from socialapi.emulator.faults import Faults, Pauses
from socialapi.emulator.hosts import ControlAccess, DeliveryTargets
from socialapi.emulator.ledger import RequestLog
from socialapi.emulator.platform.challenges import Challenges
from socialapi.emulator.platform.deliveries import Deliveries, Outgoing
from socialapi.emulator.platform.fan_out import StreamHub
from socialapi.emulator.platform.publishing import Publishing
from socialapi.emulator.platform.state import DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_WEBHOOKS
from socialapi.emulator.rate_limits import RateLimits
from socialapi.emulator.seed.plant import SeedIds, plant
from socialapi.emulator.state import AccessToken, State
from socialapi.emulator.stubs import Stubs
from socialapi.models.streams import MAX_RULES

SETTLE_SECONDS: Final = 60.0
"""The maximum wall-clock time to wait until everything is written and delivered."""


@attrs.frozen(kw_only=True)
class Settings:
    """The settings of an emulator."""

    empty: bool = False
    lenient_fields: bool = False
    rate_limits: Mapping[str, tuple[int, float]] = attrs.field(factory=dict)
    max_webhooks: int = DEFAULT_MAX_WEBHOOKS
    max_rules: int = MAX_RULES
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    webhook_targets: Mapping[str, str] = attrs.field(factory=dict)
    allow_hosts: Collection[str] = ()
    allow_remote_targets: bool = False


class Service:
    """One emulated service.

    `pauses` delays its requests, `challenges` checks webhooks, and `deliveries` sends to them.
    """

    state: State
    access_token: AccessToken
    seed: SeedIds

    def __init__(self, settings: Settings, clock: EmulatorClock) -> None:
        self.settings = settings
        self.clock = clock
        self.faults: Faults = Faults()
        self.log: RequestLog = RequestLog()
        self.exchanges: Exchanges = Exchanges()
        self.pauses: Pauses = Pauses()
        self.outgoing: Outgoing = Outgoing(settings.webhook_targets, DeliveryTargets(settings.allow_remote_targets))
        self.challenges: Challenges = Challenges(self.outgoing, lambda: self.state)
        self.deliveries: Deliveries = Deliveries(self.outgoing, self.faults, lambda: self.state)
        self.streams: StreamHub = StreamHub(lambda: self.state)
        self.publishing: Publishing = Publishing(self.streams, self.deliveries, lambda: self.state)
        self.stubs: Stubs = Stubs()
        self.control_access: ControlAccess = ControlAccess(settings.allow_hosts)
        self.base_url: str = ""
        self.resets: int = 0
        """The number of resets, counting the start as the first."""
        self.reset()

    async def open(self, base_url: str) -> None:
        """Starts the background work; the service is reachable at this address."""
        self.base_url = base_url
        self.state.problem_base_url = f"{base_url}/problems"
        self.pauses = Pauses()
        await self.outgoing.open()
        await self.challenges.open()
        await self.streams.open()

    async def close(self) -> None:
        """Stops all background work."""
        self.pauses.end()
        await self.streams.close()
        await self.challenges.close()
        await self.deliveries.close()
        await self.outgoing.close()

    def advance(self, seconds: float) -> None:
        """Advances the clock. Work that becomes due is done soon."""
        self.clock.advance(seconds)
        self.streams.time_moved()
        self.challenges.time_moved()

    async def settle(self) -> None:
        """Waits until everything that is due is done, written to streams and delivered to webhooks.

        Waits for at most `SETTLE_SECONDS`, because clients may have stopped reading.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self.challenges.settle()
                await self.streams.settle()
                await self.deliveries.settle()

    def reset(self) -> None:
        """Restores the seed data, with only the first app. Clears the faults, stubs and log, restores the webhook
        targets, and resets the clock.

        Ends all streams, and drops the waiting deliveries.
        """
        self.resets += 1
        limits = RateLimits(self.clock, self.settings.rate_limits)
        self.state = State(self.clock, limits, f"{self.base_url}/problems")
        self.state.platform.max_webhooks = self.settings.max_webhooks
        self.state.platform.max_rules = self.settings.max_rules
        self.state.platform.max_connections = self.settings.max_connections
        self.streams.reset()
        self.deliveries.reset()
        self.publishing.reset()
        self.stubs.clear()
        self.clock.advanced = 0.0
        self.faults.clear()
        self.log.clear()
        self.exchanges.clear()
        self.outgoing.reset()
        self.access_token, self.seed = plant(self.state, empty=self.settings.empty)

    def credentials(self, access_token: AccessToken) -> dict[str, str]:
        """Returns all secrets of an app, by their names in the ready line."""
        app = access_token.caller.app
        return {
            "api_key": app.api_key,
            "api_key_secret": app.api_key_secret,
            "access_token": access_token.token,
            "access_token_secret": access_token.secret,
            "bearer_token": self.state.app_only_token(app),
        }
