"""What the models of endpoints share: each is in the place of the network, in memory.

A random number generator chooses the order in which they answer, and the faults that they answer with.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs
import orjson

from socialapi.config import Config
from socialapi.credentials import Bearer
from socialapi.errors import OutcomeUnknown, TransportError
from socialapi.session.network import Network
from socialapi.session.rate_limiter import SlidingWindowPacer
from socialapi.session.session import Session
from socialapi.session.token_cache import MemoryTokenCache
from socialapi.wire.response import Reply
from tests.support.clock import VirtualClock


def answer(body: Any, status: int = 200) -> Reply:
    return Reply(status, {"content-type": "application/json"}, orjson.dumps(body))


def refusal(status: int, code: str = "SOMETHING") -> Reply:
    return answer({"errors": [{"code": code, "message": "no"}]}, status)


def _iterator_of(script: Iterable[Any]) -> Iterator[Any]:
    return iter(script)


@attrs.define(eq=False)
class ModelTransport:
    """Takes the place of the transport; the `send` of a model hands what is asked to `_serve`.

    `script` are the first answers, as replies, errors to raise, or functions of what is asked; None processes the
    request. After it, each request meets a fault of `faults` with the `likely` probability.
    """

    _script: Iterator[Any] = attrs.field(default=(), converter=_iterator_of)
    _rng: random.Random = attrs.field(factory=lambda: random.Random(0), kw_only=True)
    _faults: Sequence[str] = attrs.field(default=(), kw_only=True)
    _likely: float = attrs.field(default=0.0, kw_only=True)
    _clock: VirtualClock | None = attrs.field(default=None, kw_only=True)
    _latency_seconds: float = attrs.field(default=0.0, kw_only=True)
    requests: list[list[dict[str, Any]]] = attrs.field(factory=list, init=False)
    bodies: list[bytes] = attrs.field(factory=list, init=False)
    in_flight: int = attrs.field(default=0, init=False)
    most_in_flight: int = attrs.field(default=0, init=False)
    most_bytes_in_flight: int = attrs.field(default=0, init=False)
    gate: asyncio.Event | None = attrs.field(default=None, init=False)
    """While it is there and not set, nothing is answered that has to pass it."""
    started: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    cancelled: int = attrs.field(default=0, init=False)
    network: Network = attrs.field(factory=Network, init=False)
    _bytes_in_flight: int = attrs.field(default=0, init=False)
    _on_its_way: Counter[Any] = attrs.field(factory=Counter, init=False)

    async def aclose(self) -> None:
        return

    async def close_connections(self) -> None:
        return

    async def until_in_flight(self, number: int) -> None:
        async with asyncio.timeout(10):
            while self.in_flight < number:  # noqa: ASYNC110  # for tests: turns of the loop, not time
                await asyncio.sleep(0)

    async def _serve(
        self, body: bytes, asked: list[dict[str, Any]], carried: set[Any], process: Callable[[Any], Reply]
    ) -> Reply:
        """The answer, some time later; until then the request and what it carries are on their way."""
        self.bodies.append(body)
        self.requests.append(asked)
        self._on_its_way.update(carried)
        self.in_flight += 1
        self._bytes_in_flight += len(body)
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.most_bytes_in_flight = max(self.most_bytes_in_flight, self._bytes_in_flight)
        self.started.set()
        try:
            await self._pause()
            reply = self._answer(asked, process)
            await self._pause()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        else:
            return reply
        finally:
            self.in_flight -= 1
            self._bytes_in_flight -= len(body)
            self._on_its_way -= Counter(carried)

    async def _pause(self) -> None:
        if self.gate is not None and self._has_to_pass_the_gate():
            await self.gate.wait()
        for _ in range(self._rng.randrange(6)):
            await asyncio.sleep(0)
        if self._clock is not None:
            await self._clock.sleep(self._latency_seconds / 2)

    def _has_to_pass_the_gate(self) -> bool:
        return True

    def _answer(self, asked: Any, process: Callable[[Any], Reply]) -> Reply:
        scripted = next(self._script, None)
        if isinstance(scripted, Exception):
            raise scripted
        if isinstance(scripted, Reply):
            return scripted
        if scripted is not None:
            reply: Reply = scripted(asked)
            return reply
        fault = self._rng.choice(self._faults) if self._rng.random() < self._likely else None
        return self._met(fault, asked, process)

    def _met(self, fault: str | None, asked: Any, process: Callable[[Any], Reply]) -> Reply:
        """What comes of a fault that any endpoint may have; a model adds those of its own."""
        match fault:
            case "503" | "500" | "429":
                return refusal(int(fault))
            case "html":
                return Reply(502, {"content-type": "text/html"}, b"<html>")
            case "reset_before":
                raise TransportError("no connection", "host")
            case "reset_after" | "truncate":
                process(asked)
                raise OutcomeUnknown("the connection was lost", "host")
        return process(asked)


def session_of(service: ModelTransport, clock: VirtualClock | None = None, **settings: Any) -> Session:
    clock = clock or VirtualClock()
    config = Config(ads_url="https://ads.example.com", **settings)
    return Session(
        config,
        credentials=(Bearer("token"),),
        network=service.network,
        open_transport=lambda *_: service,  # type: ignore[arg-type]  # the network's place
        token_cache=MemoryTokenCache(),
        pacer=SlidingWindowPacer(config, clock),
        clock=clock,
        rng=random.Random(0),
    )
