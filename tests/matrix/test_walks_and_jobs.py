"""Walks through collections, and jobs, against every fault: nothing is lost, and nothing comes twice."""

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import attrs
import pytest

from socialapi import errors
from socialapi.routes import audiences, catalogs
from tests.bulk.products.model_catalog import product
from tests.matrix.bench import Bench, CallResult, open_bench
from tests.matrix.documented import COVERING, SCRIPTS, Promise, Script, promise, wait_bounds
from tests.matrix.test_emulator_faults import judge_error
from tests.support.comparing import assert_holds
from tests.support.endpoint_table import FIRST, WALKS, Row, account
from tests.support.full_size import FULL_SIZE


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with open_bench() as bench:
        yield bench


# Walks


def walk_of(row: Row) -> Row:
    return attrs.evolve(
        row, sdk=lambda client, scene, **page: row.sdk(client, scene, **page).collect(limit=limit_of(row))
    )


def limit_of(row: Row) -> int:
    """So many items that they are on three pages, where there are as many."""
    return 12 if row.pages else 450


async def items_by_hand(bench: Bench, row: Row) -> list[Any]:
    """The items of a collection as the independent client finds them on larger pages, up to the limit of the walk."""
    items: list[Any] = []
    query = row.query_of(bench.scene) | {name: str(count + 2) for name, count in (row.pages or {}).items()}
    cursor: dict[str, str] | None = {}
    while cursor is not None and len(items) < limit_of(row):
        answer = await row.ask_by_hand(bench.scene, query | cursor)
        assert answer.status == 200, answer.body
        items += answer.body["data"]
        following = answer.body.get("next_cursor") or answer.body.get("meta", {}).get("next_token")
        cursor = {row.route.family.page_token_parameter: following} if following else None
    return items[: limit_of(row)]


NO_FAULT: Final = Script("latency", "nothing", {"delay_seconds": 0.0})


def judge_walk(script: Script, promised: Promise, call: CallResult, whole: list[Any], pages: int) -> list[str]:
    """What is wrong with a walk whose second page met the fault."""
    wrong: list[str] = []
    met = sum(each.fault == script.fault for each in call.attempts)
    if met != (promised.attempts if promised.error else 1):
        wrong.append(f"{met} requests met the fault")
    if len(call.attempts) - met > pages:
        wrong.append(f"{len(call.attempts)} requests arrived for {pages} pages")
    if promised.error is None:
        if call.error is not None:
            wrong.append(f"it raised {call.error!r}")
        elif call.result != whole:
            wrong.append("its items are others")
    elif type(call.error) is not promised.error:
        wrong.append(f"it raised {call.error!r}, not {promised.error.__name__}")
    else:
        wrong += judge_error(script, promised, call, call.error)
    return wrong


async def judge_rest(bench: Bench, row: Row, error: errors.SocialApiError, whole: list[Any]) -> list[str]:
    """What is wrong with how a walk goes on that an error has ended."""
    if isinstance(error, errors.RateLimitTooLong):
        bench.clock.advance(error.wait_seconds + 1.0)
    if not 0 < len(error.collected) < len(whole):
        return [f"it has collected {len(error.collected)} items"]
    pager = row.sdk(bench.client, bench.scene, **(row.pages or {}), start=error.position)
    rest = await pager.collect(limit=len(whole) - len(error.collected))
    return [] if [*error.collected, *rest] == whole else ["the walk does not go on where it ended"]


def scripts_for(row: Row) -> list[tuple[Script, bool]]:
    """Those of the first attempt and, as a walk that an error ends has more to tell, of every one."""
    chosen = [each for each in SCRIPTS if each.applies_to(row) and (FULL_SIZE or each.name in COVERING)]
    return [
        (script, always)
        for script in chosen
        for always in ((False,) if script.happened == "nothing" else (False, True))
    ]


@pytest.mark.parametrize("row", WALKS, ids=lambda row: row.name)
async def test_a_walk_whose_second_page_meets_a_fault(
    row: Row, bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    walk = walk_of(row)
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    await bench.set_up(walk)
    clean = await bench.meet(NO_FAULT)
    pages = len(clean.attempts)
    assert pages > 1, f"{row.name} is on one page: add seed data, or records by `before`"
    assert_holds(tuple(clean.result), await items_by_hand(bench, row), "the items")
    for script, always in scripts_for(walk):
        promised = promise("read", script, always=always)
        call = await bench.meet(script, always=always, after_requests=1)
        found = judge_walk(script, promised, call, clean.result, pages)
        if call.error is not None:
            found += await judge_rest(bench, row, call.error, clean.result)
        outcomes[type(call.error).__name__ if call.error else "repeated"] += 1
        wrong += [f"{row.name}, page 2, with {script.name}{', every time' * always}: {each}" for each in found]
    record_property("walk pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)


# Jobs

USERS: Final = [{"email": f"person{number}@northwind.example"} for number in range(5)]
PRODUCTS: Final = [product(f"matrix-{number}") for number in range(5)]


JOBS: Final = (
    Row(
        audiences.CUSTOM_AUDIENCE_USERS,
        "",
        lambda c, _: account(c).custom_audience("1nmth").upload(USERS),
        kind="upload",
    ),
    Row(
        audiences.DO_NOT_REACH_USERS,
        "",
        lambda c, _: account(c).do_not_reach_list("7b2f1").upload(USERS),
        kind="upload",
    ),
    Row(catalogs.PRODUCTS_PUT, "", lambda c, _: c.catalog("7pc01").products.upsert(PRODUCTS), kind="products"),
)
BULK_MAX_WAIT_SECONDS: Final = 960.0
MAX_ELAPSED_SECONDS: Final = 90.0
LEAST_ATTEMPTS: Final = 12
SLACK_SECONDS: Final = 0.1
"""What the work between two attempts may add to a wait."""
ALL: Final = {"accepted": 5, "rejected": 0, "pending": 0}
NONE: Final = {"accepted": 0, "rejected": 0, "pending": 5}
PARTLY: Final = {"accepted": 4, "rejected": 1, "pending": 0}

OF_ROWS: Final = {
    "operation_error": (("finished", PARTLY, 2), ("finished", ALL | {"accepted": 0, "rejected": 5}, 5)),
    "product_error": (("finished", PARTLY, 1), ("finished", PARTLY, 1)),
    "product_missing": (
        ("finished", ALL, 2),
        ("stopped", {"accepted": 4, "rejected": 0, "pending": 1}, LEAST_ATTEMPTS),
    ),
}
"""Faults of single rows: of the first request, and of every one."""


def outcome_of_job(script: Script, *, always: bool) -> tuple[str, dict[str, int], int]:
    """How a job ends, its counts, and the fewest requests (docs/errors.md, "How long a call goes on")."""
    if script.fault in OF_ROWS:
        return OF_ROWS[script.fault][always]
    if script.happened == "nothing":
        return "finished", ALL, 1
    if script.happened == "refused" or (script.named_seconds or 0.0) > BULK_MAX_WAIT_SECONDS:
        return "stopped", NONE, 1
    return ("stopped", NONE, LEAST_ATTEMPTS) if always else ("finished", ALL, 2)


def judge_attempts(script: Script, call: CallResult, elapsed_seconds: float) -> list[str]:
    """What is wrong with the attempts of a job that gave up: it has to, as soon as both bounds are reached."""
    times = [each.time - call.attempts[0].time for each in call.attempts]
    wrong: list[str] = []
    for attempt, (before, after) in enumerate(itertools.pairwise(times), 1):
        least, most = wait_bounds(script, attempt)
        if not least - SLACK_SECONDS <= after - before <= most + SLACK_SECONDS:
            wrong.append(f"it waited {after - before:.2f} s after attempt {attempt}, not {least} to {most}")
    if times[-1] < elapsed_seconds - SLACK_SECONDS:
        wrong.append(f"it gave up after {times[-1]:.0f} s")
    if len(times) > LEAST_ATTEMPTS and times[-2] >= elapsed_seconds:
        wrong.append(f"it went on after {len(times) - 1} attempts and {times[-2]:.0f} s")
    return wrong


def judge_job(row: Row, script: Script, call: CallResult, *, always: bool) -> list[str]:
    """What is wrong with how a job ended."""
    ends, counts, requests = outcome_of_job(script, always=always)
    if call.error is not None and not isinstance(call.error, errors.BulkError):
        return [f"it raised {call.error!r}"]
    report = call.result if call.error is None else call.error.report
    wrong: list[str] = []
    if ("finished" if call.error is None else "stopped") != ends:
        wrong.append(f"it has not {ends}: {call.error!r}")
    found = {name: getattr(report, name) for name in counts}
    if found != counts:
        wrong.append(f"its counts are {found}, not {counts}")
    if (len(call.attempts) < requests) if ends == "stopped" and requests > 2 else len(call.attempts) != requests:
        wrong.append(f"{len(call.attempts)} requests arrived, not {requests}")
    if report.requests != len(call.attempts):
        wrong.append(f"it tells of {report.requests} requests, and {len(call.attempts)} arrived")
    if ends == "stopped" and requests == LEAST_ATTEMPTS:
        # The same mismatch again and again stops a job: its rows will never be confirmed.
        is_mismatch = row.kind == "upload" and script.happened == "unreadable"
        wrong += judge_attempts(script, call, 0.0 if is_mismatch else MAX_ELAPSED_SECONDS)
    return wrong


def held(bench: Bench, row: Row) -> int:
    """How many of the rows of a job the service holds."""
    if row.route is catalogs.PRODUCTS_PUT:
        return sum(each.startswith("matrix-") for each in bench.emulator.products("7pc01"))
    if row.route is audiences.CUSTOM_AUDIENCE_USERS:
        return len(bench.emulator.members(FIRST, "1nmth"))
    return len(bench.emulator.do_not_reach_members(FIRST, "7b2f1"))


@pytest.mark.parametrize("row", JOBS, ids=lambda row: row.name)
async def test_a_job_whose_requests_meet_a_fault(
    row: Row, bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    await bench.set_up(row)
    before = held(bench, row)
    for script, always in scripts_for(row):
        if script.timeout_seconds is not None:
            continue
        call = await bench.meet(script, always=always)
        found = judge_job(row, script, call, always=always)
        bench.clock.advance(1.0)  # members are in force from the next second on
        if call.error is None and held(bench, row) - before != call.result.accepted:
            found.append(f"the service has {held(bench, row) - before} of {call.result.accepted}")
        if call.error is not None and (leaked := bench.leaks(call.error)):
            found.append(f"the error tells {leaked}")
        outcomes["stopped" if call.error else "finished"] += 1
        wrong += [f"job of {row.name} with {script.name}{', every time' * always}: {each}" for each in found]
        await bench.renew()
    record_property("job pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)
