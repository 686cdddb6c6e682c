"""The service as a whole: its state, its faults, its log, and what the control plane and `Emulator` do with them."""

from collections.abc import Mapping

import attrs

from socialapi.emulator.clock import EmulatorClock
from socialapi.emulator.faults import Faults
from socialapi.emulator.pauses import Pauses
from socialapi.emulator.platform.challenges import Challenges
from socialapi.emulator.platform.records import DEFAULT_MAX_RULES, DEFAULT_MAX_WEBHOOKS
from socialapi.emulator.rate_limits import RateLimits
from socialapi.emulator.request_log import RequestLog
from socialapi.emulator.seed import SeedIds, plant
from socialapi.emulator.state import AccessToken, State


@attrs.frozen(kw_only=True)
class Settings:
    """What can be chosen when an emulator is made."""

    empty: bool = False
    rate_limits: Mapping[str, tuple[int, float]] = attrs.field(factory=dict)
    max_webhooks: int = DEFAULT_MAX_WEBHOOKS
    max_rules: int = DEFAULT_MAX_RULES


class Service:
    """One emulated service. `pauses` is where its requests wait, `challenges` what it asks of webhooks."""

    state: State
    access_token: AccessToken
    seed: SeedIds

    def __init__(self, settings: Settings, clock: EmulatorClock) -> None:
        self._settings = settings
        self.clock = clock
        self.faults = Faults()
        self.log = RequestLog()
        self.pauses = Pauses()
        self.challenges = Challenges(lambda: self.state)
        self.base_url = ""
        self.reset()

    async def open(self, base_url: str) -> None:
        """The service is reachable from now on."""
        self.base_url = base_url
        self.pauses = Pauses()
        await self.challenges.open()

    async def close(self) -> None:
        """Nothing that waits or runs by itself is left."""
        self.pauses.end()
        await self.challenges.close()

    def advance(self, seconds: float) -> None:
        """Move the clock forward; what becomes due by that is done soon."""
        self.clock.advance(seconds)
        self.challenges.time_moved()

    @property
    def problem_base_url(self) -> str:
        """What the types of problems start with."""
        return f"{self.base_url}/problems"

    def reset(self) -> None:
        """Back to the seed data: also no faults, log, webhook targets or advance of the clock, and the first app alone."""
        self.clock.advanced = 0.0
        self.faults.clear()
        self.log.clear()
        self.challenges.targets.clear()
        chosen = self._settings
        self.state = State(self.clock, RateLimits(self.clock, chosen.rate_limits))
        self.state.platform.max_webhooks = chosen.max_webhooks
        self.state.platform.max_rules = chosen.max_rules
        self.access_token, self.seed = plant(self.state, empty=chosen.empty)

    def credentials(self, access_token: AccessToken) -> dict[str, str]:
        """All secrets of an app, by the names that the ready line gives them."""
        app = access_token.caller.app
        return {
            "api_key": app.api_key,
            "api_key_secret": app.api_key_secret,
            "access_token": access_token.token,
            "access_token_secret": access_token.secret,
            "bearer_token": self.state.app_only_token(app),
        }
