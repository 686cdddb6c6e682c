"""The bench on which a pair is tried: an emulator, a client of it in virtual time, and what they
are left with.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

import aiohttp
import attrs

from socialapi import Bearer, Client
from socialapi.credentials import Credentials
from socialapi.emulator import Emulator
from socialapi.emulator.ledger import RequestRecord
from socialapi.errors import SocialApiError
from socialapi.routes import oauth
from socialapi.routes.route import Route
from tests.emulator.platform.receiving import Owner, owner_of_webhook
from tests.matrix.calls import Stage, Way, mounted, on_the_wire, user_of
from tests.matrix.documented import RETRIES, WHATEVER_COMES, Script
from tests.resources.ads_rows import DIGEST
from tests.resources.agreeing import name_of
from tests.support.clock import VirtualClock
from tests.support.independent import Independent
from tests.support.planted import told_by

PROCESSED = ("latency", "slow", "truncate", "reset_after", "count_mismatch", "product_missing", "product_error", None)
"""Faults of requests that the emulator carries out all the same."""

MANY = (100_000, 900.0)
TOTAL_COUNTS = {"total_count_reads": MANY}
_OF_OAUTH = tuple(
    name_of(route) for route in vars(oauth).values() if isinstance(route, Route) and route.method == "POST"
)


@attrs.frozen
class CallResult:
    """What came of a call, and the attempts that arrived for it."""

    result: Any
    error: SocialApiError | None
    attempts: Sequence[RequestRecord]

    @property
    def executed(self) -> int:
        """How many attempts the emulator carried out."""
        return sum(each.fault in PROCESSED and (each.status is None or each.status < 300) for each in self.attempts)


class Bench:
    """Tries one way of the client against faults. Its emulator has the client's clock, and limits
    that no pair reaches.
    """

    def __init__(self, owner: Owner, http: aiohttp.ClientSession) -> None:
        self.clock = VirtualClock(start=time.time())
        limits = {**dict.fromkeys(_OF_OAUTH, MANY), **TOTAL_COUNTS, "app_only_tokens": MANY}
        self.emulator = Emulator(clock=self._time, rate_limits=limits)
        self.client: Client
        self._stage = Stage(self.emulator, owner, http)
        self.scene: Any = None
        self._way: Way | None = None
        self._auth = ""
        self._closing = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self.emulator.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()
        await self.emulator.__aexit__(None, None, None)

    @property
    def plain(self) -> Independent:
        return self._stage.plain

    def _time(self) -> float:
        """By the clock of the client that is there now."""
        return self.clock.time()

    async def set_up(self, way: Way, auth: str = "") -> None:
        """The seed data, what the way needs, and a client with these credentials that has asked
        nothing yet.
        """
        await self._closing.aclose()
        # It has run ahead, and others sign with the time of day.
        self.clock = VirtualClock(start=time.time())
        self.emulator.reset()
        self._stage.owner.secret = self.emulator.ready["api_key_secret"]
        self._way, self._auth = way, auth
        self.scene = await way.prepare(self._stage)
        settings = attrs.evolve(self.emulator.config, retries=RETRIES, retry_budget=1_000_000, rate_limits=TOTAL_COUNTS)
        client = Client(settings, self._credentials(), clock=self.clock, rng=random.Random(1))  # jitter
        self.client = await self._closing.enter_async_context(client)
        self.clock.busy = lambda: any(status.in_flight for status in client.limits.values())

    def _credentials(self) -> Sequence[Credentials]:
        if self._auth == "app":
            return [Bearer(self.emulator.ready["bearer_token"])]
        return [user_of(self.emulator)] if self._auth == "user" else self.emulator.credentials

    async def renew(self) -> None:
        """As it was before the last call."""
        assert self._way is not None
        await self.set_up(self._way, self._auth)

    async def meet(self, script: Script, *, always: bool = False, after_requests: int = 0) -> CallResult:
        """Has the first attempt after so many, or every one, meet the fault."""
        assert self._way is not None
        route = self._way.route
        fields = {**script.fields, "times": WHATEVER_COMES if always else 1, "after_requests": after_requests}
        self.emulator.faults.add(script.fault, method=route.method, path=on_the_wire(route), **fields)
        before = self._newest()
        client = self.client.with_options(timeout_seconds=script.timeout_seconds) if script.timeout_seconds else None
        try:
            result, error = await self._way.ask(client or self.client, self.scene), None
        except SocialApiError as problem:
            result, error = None, problem
        finally:
            self.emulator.faults.clear()
        return CallResult(result, error, self._attempts(before))

    def _newest(self) -> int:
        return self.emulator.requests[-1].number if self.emulator.requests else 0

    def _attempts(self, before: int) -> Sequence[RequestRecord]:
        assert self._way is not None
        asked = (self._way.route.method, mounted(self._way.route))
        return [each for each in self.emulator.requests if each.number > before and (each.method, each.route) == asked]

    async def works(self) -> None:
        """Asks once more without a fault. Raises what comes of it."""
        assert self._way is not None
        if self._way.kind in ("read", "replace", "upload", "products"):
            await self._way.ask(self.client, self.scene)
        elif self._way.is_of_platform:
            await self.client.news.get(self.emulator.seed["news_ids"][0])
        elif self._way.route.family.envelope:
            await self.client.ads.account("18ce54d4x5t").curated_categories.get("cc0007")
        else:
            await self.client.oauth.request_token("oob")

    def left_behind(self) -> list[str]:
        """Places of limits that were not given back."""
        return [name for name, status in self.client.limits.items() if status.in_flight]

    def leaks(self, error: SocialApiError) -> list[str]:
        """The secrets and personal values that the error tells to whoever prints, logs or pickles
        it.
        """
        secrets = [self.emulator.ready[name] for name in ("api_key_secret", "access_token_secret", "bearer_token")]
        secrets += [self.emulator.ready["access_token"], DIGEST]
        return [secret for line in told_by(error) for secret in secrets if secret in line]


@contextlib.asynccontextmanager
async def open_bench() -> AsyncIterator[Bench]:
    """A bench that leaves no task behind."""
    async with owner_of_webhook("") as owner, aiohttp.ClientSession() as http, Bench(owner, http) as bench:
        yield bench
    assert asyncio.all_tasks() == {asyncio.current_task()}
