"""The service as a whole: its state, its faults, its log, and what the control plane and `Emulator` do with them."""

from collections.abc import Mapping

from socialapi.emulator.clock import EmulatorClock
from socialapi.emulator.faults import Faults
from socialapi.emulator.pauses import Pauses
from socialapi.emulator.rate_limits import RateLimits
from socialapi.emulator.request_log import RequestLog
from socialapi.emulator.seed import SeedIds, plant
from socialapi.emulator.state import AccessToken, State


class Service:
    """One emulated service. `pauses` is where its requests wait."""

    state: State
    access_token: AccessToken
    seed: SeedIds

    def __init__(self, *, empty: bool, clock: EmulatorClock, rate_limits: Mapping[str, tuple[int, float]]) -> None:
        self._empty = empty
        self._rate_limits = rate_limits
        self.clock = clock
        self.faults = Faults()
        self.log = RequestLog()
        self.pauses = Pauses()
        self.base_url = ""
        self.reset()

    @property
    def problem_base_url(self) -> str:
        """What the types of problems start with."""
        return f"{self.base_url}/problems"

    def reset(self) -> None:
        """Back to the seed data: also no faults, no log, no advance of the clock, and the first app alone."""
        self.clock.advanced = 0.0
        self.faults.clear()
        self.log.clear()
        self.state = State(self.clock, RateLimits(self.clock, self._rate_limits))
        self.access_token, self.seed = plant(self.state, empty=self._empty)

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
