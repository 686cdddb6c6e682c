"""Every route against every fault of the emulator: what the documentation promises, with the emulator's log as judge."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, get_args

import pytest

from socialapi import errors
from socialapi.emulator.faults import DELIVERY_FAULTS, PROBLEM_FIELDS, STREAM_FAULTS, FaultKind
from tests.matrix.bench import Bench, Came, bench
from tests.matrix.calls import PAGES, STREAMS, WAYS, Way, declared
from tests.matrix.documented import COVERING, SCRIPTS, Promise, Script, promise, wait_bounds
from tests.resources.agreeing import name_of
from tests.support.full_size import FULL_SIZE

AUTHS: Final = ("", "app", "user")
"""Both credentials of the app and the user, or one of them alone."""


@pytest.fixture
async def made() -> AsyncIterator[Bench]:
    async with bench() as made:
        yield made


def judge(way: Way, script: Script, promised: Promise, came: Came) -> list[str]:
    """What is other than promised."""
    wrong: list[str] = []
    if len(came.attempts) != promised.attempts:
        wrong.append(f"{len(came.attempts)} attempts arrived, not {promised.attempts}")
    if way.kind == "write" and came.executed > 1:
        wrong.append(f"it was executed {came.executed} times")
    if promised.error is None:
        if came.error is not None:
            wrong.append(f"it raised {came.error!r}")
        elif came.executed < 1:
            wrong.append("it returned, and nothing was executed")
    elif type(came.error) is not promised.error:
        wrong.append(f"it raised {came.error!r}, not {promised.error.__name__}")
    else:
        wrong += judge_error(script, promised, came, came.error)
    return wrong + judge_waits(script, came)


def judge_error(script: Script, promised: Promise, came: Came, error: Any) -> list[str]:
    """What the error says otherwise than promised."""
    told: dict[str, tuple[Any, Any]] = {"is_lasting": (error.is_lasting, promised.is_lasting)}
    if isinstance(error, errors.DecodeError):
        told |= {"status": (error.status, promised.status), "executed": (error.executed, promised.executed)}
    if isinstance(error, errors.TransportError | errors.ApiError):
        told["attempts"] = (error.attempts, promised.attempts)
    if isinstance(error, errors.ApiError):
        ids = [each.transaction_id for each in came.attempts]
        told |= {"status": (error.status, promised.status), "request_id": (error.request_id, ids[-1])}
        if "problem" in script.fields:
            told["problems"] = ([each.slug for each in error.problems], [script.fields["problem"]])
        if script.fault == "operation_error":
            told["operation_errors"] = ([each.index for each in error.operation_errors], [0])
    if isinstance(error, errors.RateLimitTooLong):
        wait = script.fields["retry_after_seconds"]
        told["wait_seconds"] = (wait <= error.wait_seconds <= wait + 1, True)
    if isinstance(error, errors.TransportError):
        told["may_be_executed"] = (error.may_be_executed, True)
    return [f"{name} is {is_!r}, not {ought!r}" for name, (is_, ought) in told.items() if is_ != ought]


def judge_waits(script: Script, came: Came) -> list[str]:
    """Pauses between attempts, by the emulator's clock, that are shorter or longer than documented."""
    times = [each.time for each in came.attempts]
    wrong: list[str] = []
    for number in range(1, len(times)):
        shortest, longest = wait_bounds(script, number)
        waited = times[number] - times[number - 1]
        if not shortest - 1e-3 <= waited <= longest + 1e-3:
            wrong.append(f"it waited {waited:.3f} s after attempt {number}, not {shortest:g} to {longest:g}")
    return wrong


async def try_pair(made: Bench, way: Way, script: Script, *, always: bool) -> tuple[str, list[str]]:
    """What came of the pair, in a word, and what is wrong with it."""
    promised = promise(way.kind, script, always=always)
    came = await made.meet(script, always=always)
    wrong = judge(way, script, promised, came)
    if came.error is not None and (leaked := made.leaks(came.error)):
        wrong.append(f"the error tells {leaked}")
    if isinstance(came.error, errors.RateLimitTooLong):
        made.clock.advance(came.error.wait_seconds + 1.0)  # until then the limit is known to be used up
    try:
        await made.works()
    except Exception as problem:  # noqa: BLE001  # whatever it is, the client is not as it was
        wrong.append(f"the client does not work any more: {problem!r}")
    wrong += [f"{name} is still in flight" for name in made.left_behind()]
    if came.executed and way.is_undone:
        await made.renew()
    outcome = type(came.error).__name__ if came.error else "repeated" if promised.attempts > 1 else "succeeded"
    return outcome, wrong


def scripts_of(way: Way) -> list[tuple[Script, bool]]:
    """The scripts for a route, each for its first attempt and for all."""
    chosen = [script for script in SCRIPTS if script.applies_to(way) and (FULL_SIZE or script.name in COVERING)]
    return [(script, always) for script in chosen for always in ((False, True) if FULL_SIZE else (False,))]


def auths_of(way: Way) -> tuple[str, ...]:
    """The credentials with which a route is asked: with both, and where either is enough, with one of them."""
    has_both = {"Bearer", "OAuth1"} <= set(way.route.family.credentials)
    return AUTHS if FULL_SIZE and way.is_of_platform and has_both else ("",)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_a_call_that_meets_a_fault_ends_as_documented(
    way: Way, made: Bench, record_property: Callable[[str, object], None]
) -> None:
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    for auth in auths_of(way):
        await made.set_up(way, auth)
        for script, always in scripts_of(way):
            outcome, found = await try_pair(made, way, script, always=always)
            outcomes[outcome] += 1
            pair = f"{way.name} with {script.name}{', every time' * always}{f' as {auth}' * bool(auth)}"
            wrong += [f"{pair}: {each}" for each in found]
    record_property("emulator pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)


@pytest.mark.parametrize("route", PAGES, ids=name_of)
async def test_the_address_of_a_page_is_told_whatever_the_service_does(route: Any, made: Bench) -> None:
    await made.set_up(WAYS[0])
    for fault in get_args(FaultKind):
        made.emulator.faults.add(fault)
        assert PAGES[route](made.client).startswith(f"{made.emulator.ready['base_url']}{route.path}?"), fault
    assert len(made.emulator.requests) == 0


def test_every_route_is_in_the_matrix_once() -> None:
    held = [*(way.route for way in WAYS), *STREAMS, *PAGES]
    assert sorted(map(name_of, held)) == sorted(map(name_of, declared()))
    assert set(held) == set(declared())


def test_every_fault_is_in_the_matrix() -> None:
    scripted = {script.fault for script in SCRIPTS}
    assert scripted | {*STREAM_FAULTS, *DELIVERY_FAULTS} == set(get_args(FaultKind))
    assert {script.fields["problem"] for script in SCRIPTS if "problem" in script.fields} == set(PROBLEM_FIELDS)
    named = {script.name for script in SCRIPTS}
    assert named >= COVERING
    assert {script.fault for script in SCRIPTS if script.name in COVERING} == scripted
    assert {script.happened for script in SCRIPTS if script.name in COVERING} == {script.happened for script in SCRIPTS}
