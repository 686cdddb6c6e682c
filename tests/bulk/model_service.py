"""The upload endpoints in memory, in the place of the network: what a job is held against.

It takes requests as the service does (whole or not at all, operation errors by index) and answers them in an order,
and with faults, that a random number generator chooses. It also watches what no request and no order may do.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from socialapi.bulk.audiences.audience_job import UploadJob
from socialapi.bulk.audiences.upload_options import Destination, UploadOptions
from socialapi.config import Config
from socialapi.credentials import Bearer
from socialapi.errors import OutcomeUnknown, TransportError
from socialapi.models.audiences import IDENTIFIER_KINDS
from socialapi.routes import ads
from socialapi.session.calls import CallOptions
from socialapi.session.pacer import SlidingWindowPacer
from socialapi.session.session import Session
from socialapi.session.token_cache import MemoryTokenCache
from socialapi.wire.request import Request
from socialapi.wire.response import Reply
from tests.support.clock import VirtualClock

Identifier = tuple[str, str]
Times = tuple[str | None, str | None]
Operation = dict[str, Any]

FAULTS: Final = ("503", "500", "html", "reset_before", "reset_after", "truncate", "count_mismatch", "429")
BAD: Final = "bad"
"""A partner_user_id that contains this makes the service refuse the operation."""


def users_of(operation: Operation) -> list[dict[str, list[str]]]:
    users: list[dict[str, list[str]]] = operation["params"]["users"]
    return users


def identifiers_of(operation: Operation) -> Iterator[Identifier]:
    for user in users_of(operation):
        for kind, values in user.items():
            for value in values:
                yield kind, value


def doing(operation: Operation) -> tuple[str, str | None, str | None]:
    params = operation["params"]
    return operation["operation_type"], params.get("effective_at"), params.get("expires_at")


def answer(body: Any, status: int = 200) -> Reply:
    return Reply(status, {"content-type": "application/json"}, orjson.dumps(body))


def counted(success: int, total: int | None = None) -> Reply:
    return answer({"data": {"success_count": success, "total_count": success if total is None else total}})


def operation_errors(indexes: Iterable[int], status: int = 400, code: str = "INVALID_PARAMETER") -> Reply:
    errors = [{"index": index, "code": code, "message": "is refused", "parameter": "params"} for index in indexes]
    return answer({"operation_errors": errors}, status)


def refusal(status: int, code: str = "SOMETHING") -> Reply:
    return answer({"errors": [{"code": code, "message": "no"}]}, status)


class ModelService:
    """Takes the place of the transport.

    `script` are the first answers, as replies, errors to raise, or functions of the operations; None processes the
    request. After it, each request meets a fault of `faults` with the `likely` probability.
    """

    def __init__(
        self,
        script: Iterable[Any] = (),
        *,
        rng: random.Random | None = None,
        faults: Sequence[str] = FAULTS,
        likely: float = 0.0,
        clock: VirtualClock | None = None,
        latency_seconds: float = 0.0,
    ) -> None:
        self.members: dict[Identifier, Times] = {}
        self.requests: list[list[Operation]] = []
        self.bodies: list[bytes] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.most_bytes_in_flight = 0
        self.gate: asyncio.Event | None = None
        """While it is there and not set, nothing is answered."""
        self.started = asyncio.Event()
        self.cancelled = 0
        self._bytes_in_flight = 0
        self._script = iter(script)
        self._rng = rng or random.Random(0)
        self._faults = faults
        self._likely = likely
        self._clock = clock
        self._latency_seconds = latency_seconds
        self._on_its_way: Counter[tuple[Identifier, tuple[str, str | None, str | None]]] = Counter()

    async def send(self, request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float) -> Reply:
        body = b"".join(request.body)
        operations: list[Operation] = orjson.loads(body)
        self.bodies.append(body)
        self.requests.append(operations)
        self._watch(operations)
        carried = {(each, doing(operation)) for operation in operations for each in identifiers_of(operation)}
        self._on_its_way.update(carried)
        self.in_flight += 1
        self._bytes_in_flight += len(body)
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.most_bytes_in_flight = max(self.most_bytes_in_flight, self._bytes_in_flight)
        self.started.set()
        try:
            await self._pause()
            reply = self._answer(operations)
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

    async def aclose(self) -> None:
        return

    async def until_in_flight(self, number: int) -> None:
        async with asyncio.timeout(10):
            while self.in_flight < number:  # noqa: ASYNC110  # for tests: turns of the loop, not time
                await asyncio.sleep(0)

    async def _pause(self) -> None:
        if self.gate is not None:
            await self.gate.wait()
        for _ in range(self._rng.randrange(6)):
            await asyncio.sleep(0)
        if self._clock is not None:
            await self._clock.sleep(self._latency_seconds / 2)

    def _watch(self, operations: Sequence[Operation]) -> None:
        """No identifier is in two different operations of a request, nor in different ones that are on their way."""
        seen: dict[Identifier, tuple[str, str | None, str | None]] = {}
        for operation in operations:
            for identifier in identifiers_of(operation):
                assert seen.setdefault(identifier, doing(operation)) == doing(operation), "two operations on one"
        for (identifier, action), count in self._on_its_way.items():
            assert not count or seen.get(identifier, action) == action, "overtaken"

    def _answer(self, operations: list[Operation]) -> Reply:
        scripted = next(self._script, None)
        if isinstance(scripted, Exception):
            raise scripted
        if isinstance(scripted, Reply):
            return scripted
        if scripted is not None:
            reply: Reply = scripted(operations)
            return reply
        fault = self._rng.choice(self._faults) if self._rng.random() < self._likely else None
        return self._met(fault, operations)

    def _met(self, fault: str | None, operations: list[Operation]) -> Reply:
        match fault:
            case "503" | "500" | "429":
                return refusal(int(fault))
            case "html":
                return Reply(502, {"content-type": "text/html"}, b"<html>")
            case "reset_before":
                raise TransportError("no connection", "host")
            case "count_mismatch":
                return counted(0, sum(len(users_of(each)) for each in operations))
            case "operation_error":
                return operation_errors([self._rng.randrange(len(operations))])
            case "reset_after" | "truncate":
                self.process(operations)
                raise OutcomeUnknown("the connection was lost", "host")
        return self.process(operations)

    def process(self, operations: list[Operation]) -> Reply:
        bad = [
            index
            for index, operation in enumerate(operations)
            if any(BAD in value for kind, value in identifiers_of(operation) if kind == "partner_user_id")
        ]
        if bad:
            return operation_errors(bad, status=self._rng.choice((200, 400)))
        for operation in operations:
            for identifier in identifiers_of(operation):
                if operation["operation_type"] == "Delete":
                    self.members.pop(identifier, None)
                else:
                    params = operation["params"]
                    self.members[identifier] = (params.get("effective_at"), params.get("expires_at"))
        return counted(sum(len(users_of(each)) for each in operations))

    @property
    def values(self) -> list[list[list[str]]]:
        """The values of the users of each request, one list for each operation."""
        return [[[v for _, v in identifiers_of(operation)] for operation in operations] for operations in self.requests]


DESTINATION: Final = Destination(
    kind="audience upload",
    target=ads.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="c"),
    kinds=IDENTIFIER_KINDS,
    takes_effective_at=True,
)


def session_of(service: ModelService, clock: VirtualClock | None = None, **settings: Any) -> Session:
    clock = clock or VirtualClock()
    config = Config(ads_url="https://ads.example.com", **settings)
    return Session(
        config,
        credentials=(Bearer("token"),),
        transport=service,  # type: ignore[arg-type]  # the network's place
        token_cache=MemoryTokenCache(),
        pacer=SlidingWindowPacer(config, clock),
        clock=clock,
        rng=random.Random(0),
    )


def job_of(
    service: ModelService,
    records: Any,
    *,
    clock: VirtualClock | None = None,
    settings: Mapping[str, Any] | None = None,
    destination: Destination = DESTINATION,
    **options: Any,
) -> UploadJob:
    session = session_of(service, clock, **(settings or {}))
    return UploadJob(session, destination, records, UploadOptions(**options), CallOptions.interactive(session.config))


def people(*names: str) -> list[dict[str, str]]:
    """Records whose identifiers are as they are sent."""
    return [{"partner_user_id": name} for name in names]


def when(condition: Callable[[list[Operation]], bool], reply: Reply, service: ModelService) -> Callable[..., Reply]:
    """A scripted answer: the reply if the condition holds, else what the service says."""
    return lambda operations: reply if condition(operations) else service.process(operations)
