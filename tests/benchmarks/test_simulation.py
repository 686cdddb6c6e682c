"""The simulation runs the script that is in use, its workers say what a pacer says, and its service counts by itself."""

import asyncio
import difflib
import importlib.resources
import itertools
import math
import shutil
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import attrs
import fakeredis
import pytest

from benchmarks import simulate as program
from benchmarks.harness.processes import ROOT
from benchmarks.simulation import fleet as fleets
from benchmarks.simulation import window_script
from benchmarks.simulation.fleet import START, Fleet, Result, Scenario, simulate
from benchmarks.simulation.service import Service
from benchmarks.simulation.window_script import Call, FakeServer, Server, script_text
from socialapi.integrations.redis import RedisPacer
from socialapi.routes.route import RateLimit
from tests.support.clock import VirtualClock
from tests.support.redis import imitation, skip, time_of_redis

pytestmark = pytest.mark.xdist_group("benchmarks")

QUICK: Final = Scenario("quick", workers=100, hours=0.25, limit=300)
PLANNED: Final = program.scenarios(1_000, program.FLEETS, 1.0, 24.0)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if shutil.which("redis-server") is None:
        skip("there is no redis-server (Debian: apt-get install redis-server)")
    with window_script.server() as running:
        yield running


def outcome(scenario: Scenario, server: Server) -> Result:
    (result,) = simulate([scenario], server, lambda _: None)
    return result


# What comes out


def test_many_workers_use_the_quota_and_none_is_refused(server: Server) -> None:
    result = outcome(QUICK, server)
    assert result.refused_by_window == result.refused_by_sliding_window == 0
    assert result.quota_used >= 0.97
    assert result.most_in_a_window == QUICK.limit - math.ceil(0.02 * QUICK.limit)
    assert 0.75 <= result.shares[0] <= result.shares[-1] <= 1.25
    assert result.calls_a_second < 4 * QUICK.limit / 60


def test_workers_that_die_and_answers_that_are_lost_cost_no_429_and_little_of_the_quota(server: Server) -> None:
    faulty = attrs.evolve(QUICK, name="faulty", lost_replies=0.01, lost_answers=0.01, deaths_an_hour=0.5)
    result = outcome(faulty, server)
    assert result.refused_by_window == result.refused_by_sliding_window == 0
    assert result.quota_used >= 0.95


def test_an_interactive_call_waits_for_a_job_only_where_no_places_are_left_to_it(server: Server) -> None:
    called = attrs.evolve(QUICK, name="called", interactive_a_minute=3.0)
    crowded = attrs.evolve(called, name="crowded", reserve_share=0.0)
    assert outcome(called, server).interactive_waits[-1] < 1.0
    assert outcome(crowded, server).interactive_waits[-1] > 10.0


# The script and the workers are those in use


def test_the_script_differs_in_the_line_that_reads_the_clock() -> None:
    text = importlib.resources.files("socialapi.integrations").joinpath("shared_window.lua").read_text("utf-8")
    different = difflib.ndiff(text.splitlines(), script_text().splitlines())
    assert [line for line in different if line[0] in "+-"] == [
        "-   local time = redis.call('TIME')",
        "+   local time = { KEYS[7], '0' }",
    ]


SAID: Final = Scenario("said", workers=1, hours=40 / 3_600, latency_seconds=0.43, limit=5, window_seconds=10.0)
LOST_AT: Final = 20.75
INTERACTIVE_AT: Final = 20.8


class Certain:
    """Chance without surprises: nothing is lost, and no two requests in a row take as long."""

    def __init__(self) -> None:
        self._latencies = itertools.cycle((0.11, 0.47, 0.29, 0.83, 0.61))

    def random(self) -> float:
        return 1.0

    def uniform(self, least: float, _: float) -> float:
        return least

    def expovariate(self, rate: float) -> float:
        # Else it is how late somebody wakes up. Who does so at the very microsecond may be early.
        return next(self._latencies) if rate == 2.0 else 0.001 / rate


def normalized(arguments: Sequence[Any], worker: str) -> list[Any]:
    """Arguments of the script without what is chosen at random; ages as they are read from two clocks."""
    texts = [str(each) for each in arguments]
    known, settled = ("known" if texts[0] else ""), texts[16:]
    told = [
        (
            settled[at].replace(worker, "worker"),
            settled[at + 1],
            round(float(settled[at + 2]), 3),
            *settled[at + 3 : at + 7],
        )
        for at in range(0, len(settled), 7)
    ]
    return [known, *map(float, texts[1:2] + texts[4:16]), *told]


def said_in_the_simulation(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    monkeypatch.setattr(fleets, "ONE_WAY_SECONDS", 0.0)
    fleet, server, said = Fleet(SAID), FakeServer(), list[list[Any]]()
    fleet.random = Certain()  # type: ignore[assignment]
    fleet.after(INTERACTIVE_AT, lambda _: fleet._workers[0].acquire(bulk=False), None)
    fleet.after(LOST_AT, fleet._lose_data, None)
    run = fleet.run()
    call: Call = next(run)
    while True:
        if call.arguments:
            said.append([round(call.at - START, 3), *normalized(call.arguments, f"{0:016x}")])
        try:
            call = run.send(server.evaluate([call])[0])
        except StopIteration:
            return said


async def said_by_a_pacer() -> list[list[Any]]:
    clock, chance = VirtualClock(start=START), Certain()
    service, said = Service(SAID.limit, SAID.window_seconds), list[list[Any]]()
    server = fakeredis.FakeServer()
    redis = imitation(server)
    evaluate: Any = redis.evalsha

    async def evalsha(digest: str, keys: int, *rest: Any) -> Any:
        answer = await evaluate(digest, keys, *rest)  # raises if the script has to be loaded first
        said.append([round(clock.monotonic(), 3), *normalized(rest[keys:], pacer._script.worker)])
        return answer

    redis.evalsha = cast("Any", evalsha)  # type: ignore[method-assign]
    limit = RateLimit("x", SAID.limit, SAID.window_seconds)

    async def send(*, bulk: bool) -> None:
        slot = await pacer.acquire("k", limit, bulk=bulk, max_wait_seconds=1e6)
        verdict = service.judge(clock.time())
        await clock.sleep(SAID.latency_seconds * (0.5 + chance.expovariate(2.0)))
        slot.replied(verdict.reading, refused_for_seconds=verdict.refused_for_seconds)

    async def job() -> None:
        while True:
            await send(bulk=True)

    async def person() -> None:
        await clock.sleep(INTERACTIVE_AT)
        await send(bulk=False)

    async def loss() -> None:
        await clock.sleep(LOST_AT)
        await imitation(server).flushdb()

    with time_of_redis(clock):
        pacer = RedisPacer(redis, clock=clock)
        tasks = [asyncio.ensure_future(each) for each in (job(), job(), person(), loss())]
        await clock.sleep(SAID.seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return said


async def test_a_simulated_worker_tells_redis_what_a_pacer_tells_it_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With waits, an interactive call, and a Redis that loses its data."""
    simulated = said_in_the_simulation(monkeypatch)
    said = [each for each in await said_by_a_pacer() if each[0] < SAID.seconds]
    assert simulated == said
    kinds = {told[1] for each in said for told in each[15:]}  # outcomes come last
    assert kinds == {"replied", "flying", "former"}
    assert len(said) > 20


# The program and its page


def test_the_page_has_every_scenario_and_a_day_without_a_429() -> None:
    text = (ROOT / "docs" / "planning.md").read_text("utf-8")
    rows = {
        line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1:] for line in text.splitlines() if line[:1] == "|"
    }
    assert {each.name for each in PLANNED} <= rows.keys()
    hours, used, *refused = rows[program.LONG][:4]
    assert (hours, refused) == ("24", ["0", "0"])
    assert float(used.removesuffix("%")) >= 97.0
    assert (ROOT / "benchmarks" / "plots" / "simulation.svg").exists()
