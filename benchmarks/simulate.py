"""Simulates thousands of workers on one rate limit in virtual time: `make simulate`.

Writes the section “Many workers, one quota” of docs/planning.md and its plot. The script of shared
windows runs as it is, on a redis-server of its own, under an injected clock.
"""

import argparse
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from benchmarks.harness.plots import lines
from benchmarks.harness.processes import ROOT
from benchmarks.harness.sections import Section
from benchmarks.simulation.fleet import DEFAULTS, Result, Scenario, simulate
from benchmarks.simulation.window_script import server
from socialapi.integrations.redis_window import MAX_POLL_SECONDS

PAGE: Final = ROOT / "docs" / "planning.md"
PLOT: Final = ROOT / "benchmarks" / "plots" / "simulation.svg"
SECTION: Final = Section("simulate")
FLEETS: Final = (8, 100, 1_000, 5_000)
FEWEST_AT_ONCE: Final = 256
LONG: Final = "all goes well"
UNRESERVED: Final = "no reserve for interactive calls"
SLOW: Final = "2 s a response"
LOSING: Final = "1% of responses lost"
RESTARTED: Final = "Redis restarted without its data"
CALLED: Final = "20 interactive calls a minute"
CALLED_UNRESERVED: Final = "the same without a reserve"


def scenarios(workers: int, fleets: Sequence[int], hours: float, long_hours: float) -> list[Scenario]:
    """Returns all of them: one for `long_hours`, and the others for `hours`; the fleets are of other
    sizes than `workers`.
    """
    many = Scenario("", workers, hours)
    failing = attrs.evolve(many, lost_replies=0.01, lost_answers=0.01, deaths_an_hour=0.1)
    return [
        attrs.evolve(many, name=LONG, hours=long_hours),
        attrs.evolve(many, name=UNRESERVED, reserve_share=0.0),
        *(_of_size(many, size, _fleet(size)) for size in fleets),
        attrs.evolve(many, name="20 ms a response", latency_seconds=0.02),
        attrs.evolve(many, name=SLOW, latency_seconds=2.0),
        attrs.evolve(many, name=LOSING, lost_replies=0.01),
        attrs.evolve(many, name="1% of Redis responses lost", lost_answers=0.01),
        attrs.evolve(many, name="a tenth of the workers killed each hour", deaths_an_hour=0.1),
        *(_of_size(failing, size, _failing(size)) for size in fleets),
        attrs.evolve(many, name=RESTARTED, loses_data=True),
        attrs.evolve(many, name=CALLED, interactive_a_minute=20.0),
        attrs.evolve(many, name=CALLED_UNRESERVED, interactive_a_minute=20.0, reserve_share=0.0),
        attrs.evolve(failing, name="everything combined", loses_data=True, interactive_a_minute=20.0),
    ]


def _of_size(scenario: Scenario, workers: int, name: str) -> Scenario:
    """Few workers need more requests at once, so that those without a reply do not use up all of them."""
    at_once = max(scenario.requests_at_once, FEWEST_AT_ONCE // workers)
    return attrs.evolve(scenario, name=name, workers=workers, requests_at_once=at_once)


def _fleet(workers: int) -> str:
    return f"{workers:,} workers"


def _failing(workers: int) -> str:
    return f"{workers:,} workers, the last three combined"


def section(results: Sequence[Result], where: str, plot: str) -> str:
    """Returns the part of the page: what was simulated, what it means, the plot and the table."""
    by_name = {result.scenario.name: result for result in results}
    parts = [
        _wrapped(_introduction(by_name[LONG], where)),
        "\n".join(_wrapped(f"- {each}", "  ") for each in (_of_quota(by_name), _of_costs(by_name), _of_turns(by_name))),
        f"![% of the quota used by workers]({plot})",
        "\n".join(_table(results)),
    ]
    return "\n\n".join(parts)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()), 100, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def _introduction(long: Result, where: str) -> str:
    scenario = long.scenario
    seconds = f"{scenario.window_seconds:.0f} s"
    return f"""
        `make simulate` writes this section: it runs the script of `RedisPacer` on {where}, with a simulated clock and
        service, and simulated workers that follow its protocol. Each worker has {scenario.requests_at_once} job requests in
        flight or waiting ({FEWEST_AT_ONCE // 8} with 8 workers). The service allows {scenario.limit:,} requests in a window
        of {seconds} that opens with a request, and no more in any sliding {seconds}, which is stricter than documented. It
        counts a request at a random time before its response, which takes {1_000 * scenario.latency_seconds:.0f} ms. Unless
        stated otherwise, there are {scenario.workers:,} workers, `interactive_reserve` is
        {_percent(scenario.reserve_share, 0)}, and the quota is the complete limit, including that reserve."""


def _of_quota(results: Mapping[str, Result]) -> str:
    long, free = results[LONG], results[UNRESERVED]
    scenario = long.scenario
    allowed = scenario.limit * scenario.seconds / scenario.window_seconds
    return f"""
        **Workers use the quota and do not exceed it.** In {scenario.hours:g} hours {scenario.workers:,} workers send
        {long.accepted:,} of {allowed:,.0f} requests, {_percent(long.quota_used)} in steady state, and get
        {_count(long.refused_by_window + long.refused_by_sliding_window)}. The reserve for interactive calls takes
        {_percent(scenario.reserve_share, 0)}, and latency the rest, because a slot is free one window after the *response*.
        Without the reserve, they use {_percent(free.quota_used)}. The number of workers makes no difference."""


def _of_costs(results: Mapping[str, Result]) -> str:
    slow, losing, restarted = (results[name] for name in (SLOW, LOSING, RESTARTED))
    return f"""
        **Slow and lost responses cost quota.** At 2 s a response, a slot is free again after 62 s:
        {_percent(slow.quota_used)}. A request without a response may be executed until its timeout
        ({DEFAULTS.timeout_seconds:.0f} s), and its slot is free one window later: with 1% of them,
        {_percent(losing.quota_used)}. Killed workers and lost Redis responses cost almost nothing. If Redis loses its data,
        each worker reports its requests again with its next call, within {MAX_POLL_SECONDS:.0f} s: they exceed no window of
        the service ({_count(restarted.refused_by_window)}), but may exceed a sliding one
        ({_count(restarted.refused_by_sliding_window)})."""


def _of_turns(results: Mapping[str, Result]) -> str:
    long, called, behind = (results[name] for name in (LONG, CALLED, CALLED_UNRESERVED))
    scenario = long.scenario
    waiting = DEFAULTS.bulk_max_wait_seconds * scenario.limit / scenario.window_seconds
    return f"""
        **Every worker gets a turn.** Each of the {scenario.workers:,} workers gets between {_percent(long.shares[0])} and
        {_percent(long.shares[-1])} of the mean in {scenario.hours:g} hours. An interactive call waits at most
        {1_000 * _longest(called.interactive_waits):.0f} ms with the reserve, and up to
        {_longest(behind.interactive_waits):.0f} s without. A job's request waits at most
        {_longest(long.job_waits):.0f} s with {scenario.workers:,} workers, and proportionally longer with more, so
        `bulk_max_wait_seconds` ({DEFAULTS.bulk_max_wait_seconds:.0f}) limits the waiting requests to {waiting:,.0f}. Redis
        gets {long.calls_a_second:.0f} calls a second."""


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def _count(refused: int) -> str:
    return f"{refused:,} times 429" if refused else "no 429"


def _longest(waits: Sequence[float]) -> float:
    return waits[-1] if waits else 0.0


def _percentile(waits: Sequence[float], share: float) -> float:
    return waits[int(share * (len(waits) - 1))]


def _table(results: Sequence[Result]) -> Iterator[str]:
    names = (
        *("What happens", "hours", "quota used", "429", "429 by a sliding window"),
        *("wait of a job's request: median, longest, s", "wait of an interactive call: 99%, longest, s"),
        *("smallest and largest share of a worker, relative to the mean", "calls to Redis a second"),
    )
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"
    for result in results:
        cells = (
            *(result.scenario.name, f"{result.scenario.hours:g}", _percent(result.quota_used)),
            *(str(result.refused_by_window), str(result.refused_by_sliding_window)),
            f"{_percentile(result.job_waits, 0.5):.0f}, {_longest(result.job_waits):.0f}",
            _interactive(result.interactive_waits),
            f"{result.shares[0]:.2f}, {result.shares[-1]:.2f}",
            f"{result.calls_a_second:.0f}",
        )
        yield f"| {' | '.join(cells)} |"


def _interactive(waits: Sequence[float]) -> str:
    return f"{_percentile(waits, 0.99):.2f}, {_longest(waits):.2f}" if waits else "–"


def draw(results: Sequence[Result], path: Path) -> bool:
    """Draws the use of the quota by the size of the fleet; False where nothing could be drawn."""
    used = {result.scenario.name: 100 * result.quota_used for result in results}
    series = [
        (name, FLEETS, [used[of(workers)] for workers in FLEETS])
        for name, of in (("all goes well", _fleet), ("replies and answers are lost, workers die", _failing))
    ]
    title = "Many workers on one quota"
    return lines(series, path, title, x="workers", y="% of the quota used", logarithmic="x")


def _say(result: Result) -> None:
    refused = f"{result.refused_by_window} + {result.refused_by_sliding_window}"
    print(f"{result.scenario.name}: {result.quota_used:.2%} of the quota, {refused} times 429", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulates, and writes the section and the plot."""
    parser = argparse.ArgumentParser(prog="benchmarks.simulate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 workers, for minutes; prints the section")
    parser.add_argument("--hours", type=float, help="how long the longest scenario lasts (24)")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page whose section is written")
    asked = parser.parse_args(arguments)
    workers, fleets, hours, long_hours = (100, FLEETS[:2], 0.1, 0.2) if asked.quick else (1_000, FLEETS, 1.0, 24.0)
    started = time.monotonic()
    with server() as running:
        results = simulate(scenarios(workers, fleets, hours, asked.hours or long_hours), running, _say)
        where = running.name
    if asked.quick:
        print(section(results, where, PLOT.name))
    else:
        is_drawn = draw(results, PLOT)
        part = section(results, where, f"../benchmarks/plots/{PLOT.name}")
        asked.out.write_text(SECTION.written_into(asked.out.read_text("utf-8"), part), "utf-8")
        print(asked.out, "and its plot" if is_drawn else "without its plot, for there is no matplotlib")
    print(f"after {time.monotonic() - started:,.0f} s")


if __name__ == "__main__":
    main()
