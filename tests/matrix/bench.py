"""The bench on which a pair is tried: an emulator, a client of it in virtual time, and what they are left with."""

import asyncio
import contextlib
import random
import re
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

import aiohttp
import attrs

from socialapi import Bearer, Client, OAuth1
from socialapi.credentials import Credentials
from socialapi.emulator import Emulator
from socialapi.emulator.ledger import RequestRecord
from socialapi.emulator.routing import mounted_path
from socialapi.errors import SocialApiError
from socialapi.routes.route import OAUTH
from tests.emulator.platform.receiving import Owner, owner_of_webhook
from tests.matrix.documented import RETRIES, WHATEVER_COMES, Script
from tests.support.clock import VirtualClock
from tests.support.endpoint_table import DIGEST, Row, Scene
from tests.support.planted import told_by
from tests.support.routes import ROUTES, name_of

PROCESSED = (
    *("latency", "slow", "truncate", "reset_after", "count_mismatch", "product_missing", "product_error", None),
    *("joined_headers", "decimal_headers", "odd_token", "link_error"),
)
"""Faults of requests that the emulator carries out all the same."""

MANY = (100_000, 900.0)
TOTAL_COUNTS = {"total_count_reads": MANY}
_OF_OAUTH = tuple(name_of(route) for route in ROUTES if route.family is OAUTH and route.method == "POST")


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
    """Tries one call of the client against faults. Its emulator has the client's clock, and limits
    that no pair reaches.
    """

    def __init__(self, owner: Owner, http: aiohttp.ClientSession) -> None:
        self.clock = VirtualClock(start=time.time())
        limits = {**dict.fromkeys(_OF_OAUTH, MANY), **TOTAL_COUNTS, "app_only_tokens": MANY}
        self.emulator = Emulator(clock=self._time, rate_limits=limits)
        self.client: Client
        self._owner, self._http = owner, http
        self.scene: Scene
        self._row: Row
        self._auth = ""
        self._closing = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self.emulator.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()
        await self.emulator.__aexit__(None, None, None)

    def _time(self) -> float:
        """By the clock of the client that is there now."""
        return self.clock.time()

    async def set_up(self, row: Row, auth: str = "") -> None:
        """The seed data, what the call needs, and a client with these credentials that has asked nothing yet."""
        await self._closing.aclose()
        # It has run ahead, and others sign with the time of day.
        self.clock = VirtualClock(start=time.time())
        self._row, self._auth = row, auth
        self.scene = await row.prepare(self.emulator, self._owner, self._http)
        settings = attrs.evolve(self.emulator.config, retries=RETRIES, retry_budget=1_000_000, rate_limits=TOTAL_COUNTS)
        client = Client(settings, self._credentials(), clock=self.clock, rng=random.Random(1))  # jitter
        self.client = await self._closing.enter_async_context(client)
        self.clock.busy = lambda: any(status.in_flight for status in client.limits.values())

    def _credentials(self) -> Sequence[Credentials]:
        if self._auth == "app":
            return [Bearer(self.emulator.ready["bearer_token"])]
        if self._auth == "user":
            return [each for each in self.emulator.credentials if isinstance(each, OAuth1)]
        return self.emulator.credentials

    async def renew(self) -> None:
        """As it was before the last call."""
        await self.set_up(self._row, self._auth)

    async def meet(self, script: Script, *, always: bool = False, after_requests: int = 0) -> CallResult:
        """Has the first attempt after so many, or every one, meet the fault."""
        route = self._row.route
        path = re.sub(r"{\w+}", "*", mounted_path(route))
        fields = {**script.fields, "times": WHATEVER_COMES if always else 1, "after_requests": after_requests}
        self.emulator.faults.add(script.fault, method=route.method, path=path, **fields)
        before = self._newest()
        client = self.client.with_options(timeout_seconds=script.timeout_seconds) if script.timeout_seconds else None
        try:
            result, error = await self._row.ask(client or self.client, self.scene), None
        except SocialApiError as problem:
            result, error = None, problem
        finally:
            self.emulator.faults.clear()
        return CallResult(result, error, self._attempts(before))

    def _newest(self) -> int:
        return self.emulator.requests[-1].number if self.emulator.requests else 0

    def _attempts(self, before: int) -> Sequence[RequestRecord]:
        asked = (self._row.route.method, mounted_path(self._row.route))
        return [each for each in self.emulator.requests if each.number > before and (each.method, each.route) == asked]

    async def works(self) -> None:
        """Asks once more without a fault. Raises what comes of it."""
        if self._row.kind in ("read", "replace", "upload", "products"):
            await self._row.ask(self.client, self.scene)
        elif self._row.is_of_platform:
            await self.client.news.get(self.emulator.seed["news_ids"][0])
        elif self._row.route.family.envelope:
            await self.client.ads.account("18ce54d4x5t").curated_categories.get("cc0007")
        else:
            await self.client.oauth.request_token("oob")

    def left_behind(self) -> list[str]:
        """Places of limits that were not given back."""
        return [name for name, status in self.client.limits.items() if status.in_flight]

    def leaks(self, error: SocialApiError) -> list[str]:
        """The secrets and personal values that the error tells to whoever prints, logs or pickles it."""
        secrets = [self.emulator.ready[name] for name in ("api_key_secret", "access_token_secret", "bearer_token")]
        secrets += [self.emulator.ready["access_token"], DIGEST]
        return [secret for line in told_by(error) for secret in secrets if secret in line]


@contextlib.asynccontextmanager
async def open_bench() -> AsyncIterator[Bench]:
    """A bench that leaves no task behind."""
    async with owner_of_webhook("") as owner, aiohttp.ClientSession() as http, Bench(owner, http) as bench:
        yield bench
    assert asyncio.all_tasks() == {asyncio.current_task()}
