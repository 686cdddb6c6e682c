"""Workers on one rate limit in virtual time. Each follows the protocol of `RedisPacer`."""

import collections
import heapq
import itertools
import random
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final

import attrs

from benchmarks.simulation.service import Service, Verdict
from benchmarks.simulation.window_script import Call, Server, Values
from socialapi.config import Config
from socialapi.integrations.redis_server import REPLY_SECONDS, retry_wait_seconds
from socialapi.integrations.redis_window import (
    LEASE_MARGIN_SECONDS,
    MAX_PLACES_AT_ONCE,
    MAX_POLL_SECONDS,
    MAX_REPORTED_AT_ONCE,
    Answer,
    Outcome,
    Question,
)
from socialapi.routes.route import RateLimit
from socialapi.wire.rate_limit_headers import LimitReading

START: Final = 1_800_000_000.25
"""2027-01-15T08:00:00.25Z: a time like any, so that its digits are as many as in use."""
ONE_WAY_SECONDS: Final = 0.0005
"""How long a call is on its way to Redis, and its answer back."""
MEAN_LATENESS_SECONDS: Final = 0.002
"""How much later than it asked for a worker wakes up."""
SLICE_SECONDS: Final = 300.0
"""The parts of a run for which the use of the quota is told apart."""
DEFAULTS: Final = Config()


@attrs.frozen
class Scenario:
    """Who shares the limit, for how long, and what goes wrong."""

    name: str
    workers: int
    hours: float
    latency_seconds: float = 0.2
    """The mean; a reply takes half of it at least."""
    reserve_share: float = DEFAULTS.interactive_reserve
    requests_at_once: int = 2
    """How many requests of its job a worker has on their way, or waiting for a place."""
    interactive_a_minute: float = 0.0
    lost_replies: float = 0.0
    """The share of requests without a reply, half of which were executed."""
    lost_answers: float = 0.0
    """The share of calls to Redis of which the answer is lost, half of them without a sign."""
    deaths_an_hour: float = 0.0
    """The share of the workers that die in an hour, each with places, and are replaced."""
    loses_data: bool = False
    """Whether Redis is restarted without its data, after half of the time."""
    limit: int = 1_500
    window_seconds: float = 60.0

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.hours * 3_600


@attrs.frozen
class Result:
    """What came out. Waits are in seconds, from asking for a place to having it; shares are those of
    the workers that lived throughout, relative to the mean.
    """

    scenario: Scenario
    quota_used: float
    accepted: int
    refused_by_window: int
    refused_by_sliding_window: int
    most_in_a_window: int
    job_waits: Sequence[float]
    interactive_waits: Sequence[float]
    shares: Sequence[float]
    calls_a_second: float
    used_by_slice: Sequence[float]


class Worker:
    """The part of a process in the window, as `SharedWindow` plays it: one call to Redis at a time
    tells outcomes and asks for places. Leases are not renewed, since no request outlives its own.
    """

    def __init__(self, fleet: "Fleet", name: str, born_at: float) -> None:
        self.name = name
        self.born_at = born_at
        self.sent = 0
        self.is_alive = True
        self.is_doomed = False
        self.asked = 0
        """The number of its last call; an answer to an earlier one comes too late."""
        self._fleet = fleet
        self._callers = {False: collections.deque[float](), True: collections.deque[float]()}
        self._untold = collections.deque[Outcome]()
        self._flying: dict[int, float] = {}
        self._answered: collections.deque[tuple[int, float]] = collections.deque()
        self._told = 0
        self._wanted = {False: 0, True: 0}
        self._next_place = 0
        self._epoch, self._calls = "", 0
        self._known_epoch = ""
        self._is_asking = False
        self._changed = False

    def acquire(self, *, bulk: bool) -> None:
        """Waits for a place; the fleet sends a request when there is one."""
        self._callers[bulk].append(self._fleet.now)
        self._wake()

    def settle(self, place: int, reading: LimitReading | None, refused_for_seconds: float | None) -> None:
        """Has Redis told of a request that was answered, or whose outcome is unknown."""
        now = self._fleet.now
        self._flying.pop(place)
        self._answered.append((place, now))
        self._untold.append(Outcome(str(place), "replied", now, reading, refused_for_seconds))
        self._wake()

    def _wake(self) -> None:
        if not self._changed:
            self._changed = True
            if not self._is_asking:
                self._fleet.after(0.0, self.ask, self.asked)

    def ask(self, asked: int) -> None:
        """Calls Redis, if it was not called since."""
        if asked != self.asked or not self.is_alive:
            return
        self._changed = False
        if not (self._untold or any(self._callers.values())):
            return
        self.asked += 1
        self._is_asking = True
        self._told = min(len(self._untold), MAX_REPORTED_AT_ONCE)
        self._wanted = {bulk: min(len(callers), MAX_PLACES_AT_ONCE) for bulk, callers in self._callers.items()}
        self._fleet.call(self, self.arguments())

    def arguments(self) -> list[str]:
        """Returns the arguments of the script."""
        scenario = self._fleet.scenario
        self._forget_answered()
        self._known_epoch = self._epoch if self._flying or self._answered else ""
        calls = self._calls if self._known_epoch else 0
        told = tuple(itertools.islice(self._untold, self._told))
        arguments = Question(self._known_epoch, calls, self._wanted, self._next_place, told).arguments(
            self.name,
            RateLimit("simulated", scenario.limit, scenario.window_seconds),
            lease_seconds=DEFAULTS.timeout_seconds + LEASE_MARGIN_SECONDS,
            reserve_share=scenario.reserve_share,
            now=self._fleet.now,
        )
        return [str(each) for each in arguments]

    def ask_again(self, asked: int) -> None:
        """Calls Redis once more, because the answer was lost."""
        self._is_asking = False
        self.ask(asked)

    def take_in(self, values: Values) -> None:
        """Reads the answer of the script, and sends what it allows."""
        self._is_asking = False
        answer = Answer.of(values)
        self._epoch, self._calls = answer.epoch, answer.calls
        if self._known_epoch and self._epoch != self._known_epoch:
            self._tell_again()
            self._fleet.after(0.0, self.ask, self.asked)
            return
        for _ in range(self._told):
            self._untold.popleft()
        first = self._next_place
        self._next_place += self._wanted[False] + self._wanted[True]
        for bulk, granted in answer.granted.items():
            self._send(first, granted, bulk=bulk)
            first += self._wanted[bulk]
        self._rest(answer.wait_seconds)

    def _forget_answered(self) -> None:
        while self._answered and self._answered[0][1] + self._fleet.scenario.window_seconds <= self._fleet.now:
            self._answered.popleft()

    def _tell_again(self) -> None:
        answered = [Outcome(str(place), "former", at) for place, at in self._answered]
        flying = [Outcome(str(place), "flying", at) for place, at in self._flying.items()]
        self._untold.extendleft(reversed(answered + flying))

    def _send(self, first: int, granted: int, *, bulk: bool) -> None:
        for place in range(first, first + granted):
            self._flying[place] = self._fleet.now
            self._fleet.send(self, place, self._callers[bulk].popleft(), bulk=bulk)
        if granted and self.is_doomed:
            self._fleet.replace(self)

    def _rest(self, wait_seconds: Mapping[bool, float]) -> None:
        seconds = MAX_POLL_SECONDS
        for bulk, told_seconds in wait_seconds.items():
            if self._callers[bulk]:
                seconds = min(seconds, told_seconds)
        if self._changed or self._untold:
            seconds = 0.0
        elif seconds > 0:
            seconds += self._fleet.random.expovariate(1 / MEAN_LATENESS_SECONDS)
        self._fleet.after(seconds, self.ask, self.asked)


class Fleet:
    """The workers of a scenario, the service that they ask, and the time."""

    def __init__(self, scenario: Scenario, seed: int = 1) -> None:
        self.scenario = scenario
        self.random = random.Random(f"{seed} {scenario.name}")
        self.now = START
        self._service = Service(scenario.limit, scenario.window_seconds)
        self._workers: list[Worker] = []
        self._events: list[tuple[float, int, Callable[[Any], object], Any]] = []
        self._order = itertools.count()
        self._call: tuple[Worker | None, Sequence[str]] | None = None
        self._calls = 0
        self._names = itertools.count()
        self._waits = {False: array("d"), True: array("d")}
        self._slices = [0] * (int(scenario.seconds / SLICE_SECONDS) + 1)

    def after(self, seconds: float, act: Callable[[Any], object], what: Any) -> None:
        """Has something done later."""
        heapq.heappush(self._events, (self.now + seconds, next(self._order), act, what))

    def run(self) -> Generator[Call, Values, Result]:
        """Yields each call of the script, is sent what it returned, and returns the result."""
        self._begin()
        yield Call(self.scenario.name, self.now, ())  # an earlier run may have used the window
        while self._events:
            at, _, act, what = heapq.heappop(self._events)
            if at > START + self.scenario.seconds:
                break
            self.now = at
            act(what)
            if self._call is not None:
                (worker, arguments), self._call = self._call, None
                values = yield Call(self.scenario.name, at, arguments)
                if worker is not None:
                    self._answer(worker, values)
        return self._result()

    # What the workers do ---------------------------------------------------------------------------

    def call(self, worker: Worker, arguments: Sequence[str]) -> None:
        """Has the arguments reach Redis."""
        self.after(ONE_WAY_SECONDS, self._arrive, (worker, arguments))

    def _arrive(self, call: tuple[Worker | None, Sequence[str]]) -> None:
        self._calls += 1
        self._call = call

    def _answer(self, worker: Worker, values: Values) -> None:
        if self.random.random() < self.scenario.lost_answers:
            # A connection that breaks shows at once, one that is silent when the time is up.
            seconds = REPLY_SECONDS if self.random.random() < 0.5 else ONE_WAY_SECONDS
            self.after(seconds + retry_wait_seconds(0.0), worker.ask_again, worker.asked)
        else:
            self.after(ONE_WAY_SECONDS, self._take_in, (worker, values))

    def _take_in(self, answer: tuple[Worker, Values]) -> None:
        worker, values = answer
        if worker.is_alive:
            worker.take_in(values)

    def send(self, worker: Worker, place: int, asked_at: float, *, bulk: bool) -> None:
        """Sends a request. The service counts it at a random time before it replies."""
        self._waits[bulk].append(self.now - asked_at)
        worker.sent += 1
        latency_seconds = self.scenario.latency_seconds * (0.5 + self.random.expovariate(2.0))
        judged_seconds = self.random.uniform(0.0, latency_seconds)
        request = _Request(worker, place, bulk, self.now + latency_seconds)
        if self.random.random() >= self.scenario.lost_replies:
            self.after(judged_seconds, self._judge, request)
            return
        if self.random.random() < 0.5:
            self.after(judged_seconds, self._count, None)
        self.after(DEFAULTS.timeout_seconds, self._reply, (request, None))

    def _judge(self, request: "_Request") -> None:
        self.after(request.replied_at - self.now, self._reply, (request, self._count(None)))

    def _count(self, _: None) -> Verdict:
        verdict = self._service.judge(self.now)
        if verdict.refused_for_seconds is None:
            self._slices[int((self.now - START) / SLICE_SECONDS)] += 1
        return verdict

    def _reply(self, reply: "tuple[_Request, Verdict | None]") -> None:
        request, verdict = reply
        if request.worker.is_alive:
            reading, seconds = (verdict.reading, verdict.refused_for_seconds) if verdict else (None, None)
            request.worker.settle(request.place, reading, seconds)
            if request.bulk or seconds is not None:
                request.worker.acquire(bulk=request.bulk)

    # What happens to them --------------------------------------------------------------------------

    def _begin(self) -> None:
        for _ in range(self.scenario.workers):
            self.after(self.random.uniform(0.0, 1.0), self._hire, None)
        if self.scenario.interactive_a_minute:
            self.after(1.0, self._interact, None)
        if self.scenario.deaths_an_hour:
            self.after(1.0, self._doom, None)
        if self.scenario.loses_data:
            self.after(self.scenario.seconds / 2, self._lose_data, None)

    def _hire(self, place: int | None) -> None:
        worker = Worker(self, f"{next(self._names):016x}", self.now)
        if place is None:
            self._workers.append(worker)
        else:
            self._workers[place] = worker
        for _ in range(self.scenario.requests_at_once):
            worker.acquire(bulk=True)

    def _interact(self, _: None) -> None:
        self.random.choice(self._workers).acquire(bulk=False)
        self.after(self.random.expovariate(self.scenario.interactive_a_minute / 60), self._interact, None)

    def _doom(self, _: None) -> None:
        self.random.choice(self._workers).is_doomed = True
        deaths_a_second = self.scenario.deaths_an_hour * self.scenario.workers / 3_600
        self.after(self.random.expovariate(deaths_a_second), self._doom, None)

    def replace(self, worker: Worker) -> None:
        """Has a worker die, after it has sent what it had places for, and another take its work."""
        worker.is_alive = False
        self.after(1.0, self._hire, self._workers.index(worker))

    def _lose_data(self, _: None) -> None:
        self._call = (None, ())

    def _result(self) -> Result:
        scenario = self.scenario
        sent = [worker.sent for worker in self._workers if worker.born_at <= START + 1.0]
        of_a_slice = scenario.limit * SLICE_SECONDS / scenario.window_seconds
        return Result(
            scenario,
            self._service.quota_used(),
            len(self._service.accepted_at),
            self._service.refused_by_window,
            self._service.refused_by_sliding_window,
            self._service.most_in_a_window,
            sorted(self._waits[True]),
            sorted(self._waits[False]),
            sorted(each * len(sent) / max(1, sum(sent)) for each in sent),
            self._calls / scenario.seconds,
            [each / of_a_slice for each in self._slices[: int(scenario.seconds / SLICE_SECONDS)]],
        )


@attrs.frozen
class _Request:
    worker: Worker
    place: int
    bulk: bool
    replied_at: float


def simulate(scenarios: Sequence[Scenario], server: Server, done: Callable[[Result], None]) -> list[Result]:
    """Runs the scenarios side by side, so that their calls share the way to Redis. Returns what came
    out of each, and tells `done` as soon as one has ended.
    """
    results: dict[str, Result] = {}
    running = {scenario.name: Fleet(scenario).run() for scenario in scenarios}
    calls = [next(run) for run in running.values()]
    while calls:
        answered = zip(calls, server.evaluate(calls), strict=True)
        calls = []
        for call, values in answered:
            try:
                calls.append(running[call.window].send(values))
            except StopIteration as end:
                results[call.window] = end.value
                done(end.value)
    return [results[scenario.name] for scenario in scenarios]
