"""Every route against every fault of the emulator: what the documentation promises, with the
emulator's log as judge.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, get_args

import pytest

from socialapi import errors
from socialapi.emulator.faults import DELIVERY_FAULTS, PROBLEM_FIELDS, STREAM_FAULTS, FaultKind
from tests.matrix.bench import Bench, CallResult, open_bench
from tests.matrix.documented import COVERING, SCRIPTS, Promise, Script, promise, wait_bounds
from tests.support.endpoint_table import CALLS, PAGES, Row
from tests.support.full_size import FULL_SIZE
from tests.support.routes import name_of

AUTHS: Final = ("", "app", "user")
"""Both credentials of the app and the user, or one of them alone."""


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with open_bench() as bench:
        yield bench


def judge(row: Row, script: Script, promised: Promise, call: CallResult) -> list[str]:
    """What is other than promised."""
    wrong: list[str] = []
    if len(call.attempts) != promised.attempts:
        wrong.append(f"{len(call.attempts)} attempts arrived, not {promised.attempts}")
    if row.kind == "write" and call.executed > 1:
        wrong.append(f"it was executed {call.executed} times")
    if promised.error is None:
        if call.error is not None:
            wrong.append(f"it raised {call.error!r}")
        elif call.executed < 1:
            wrong.append("it returned, and nothing was executed")
    elif type(call.error) is not promised.error:
        wrong.append(f"it raised {call.error!r}, not {promised.error.__name__}")
    else:
        wrong += judge_error(script, promised, call, call.error)
    return wrong + judge_waits(script, call)


def judge_error(script: Script, promised: Promise, call: CallResult, error: Any) -> list[str]:
    """What the error says otherwise than promised."""
    expectations: dict[str, tuple[Any, Any]] = {"is_lasting": (error.is_lasting, promised.is_lasting)}
    if isinstance(error, errors.DecodeError):
        expectations |= {"status": (error.status, promised.status), "executed": (error.executed, promised.executed)}
    if isinstance(error, errors.TransportError | errors.ApiError):
        expectations["attempts"] = (error.attempts, promised.attempts)
    if isinstance(error, errors.ApiError):
        ids = [each.transaction_id for each in call.attempts]
        expectations |= {"status": (error.status, promised.status), "request_id": (error.request_id, ids[-1])}
        if "problem" in script.fields:
            expectations["problems"] = ([each.slug for each in error.problems], [script.fields["problem"]])
        if script.fault == "operation_error":
            expectations["operation_errors"] = ([each.index for each in error.operation_errors], [0])
    if isinstance(error, errors.RateLimitTooLong):
        wait = script.fields["retry_after_seconds"]
        expectations["wait_seconds"] = (wait <= error.wait_seconds <= wait + 1, True)
    if isinstance(error, errors.TransportError):
        expectations["may_be_executed"] = (error.may_be_executed, True)
    return [f"{name} is {is_!r}, not {ought!r}" for name, (is_, ought) in expectations.items() if is_ != ought]


def judge_waits(script: Script, call: CallResult) -> list[str]:
    """Pauses between attempts, by the emulator's clock, that are shorter or longer than documented."""
    times = [each.time for each in call.attempts]
    wrong: list[str] = []
    for number in range(1, len(times)):
        shortest, longest = wait_bounds(script, number)
        waited = times[number] - times[number - 1]
        if not shortest - 1e-3 <= waited <= longest + 1e-3:
            wrong.append(f"it waited {waited:.3f} s after attempt {number}, not {shortest:g} to {longest:g}")
    return wrong


async def try_pair(bench: Bench, row: Row, script: Script, *, always: bool) -> tuple[str, list[str]]:
    """What came of the pair, in a word, and what is wrong with it."""
    promised = promise(row.kind, script, always=always)
    call = await bench.meet(script, always=always)
    wrong = judge(row, script, promised, call)
    if call.error is not None and (leaked := bench.leaks(call.error)):
        wrong.append(f"the error tells {leaked}")
    if isinstance(call.error, errors.RateLimitTooLong):
        bench.clock.advance(call.error.wait_seconds + 1.0)  # until then the limit is known to be used up
    try:
        await bench.works()
    except Exception as problem:  # noqa: BLE001  # whatever it is, the client is not as it was
        wrong.append(f"the client does not work any more: {problem!r}")
    wrong += [f"{name} is still in flight" for name in bench.left_behind()]
    if call.executed and row.kind in ("write", "token"):
        await bench.renew()
    outcome = type(call.error).__name__ if call.error else "repeated" if promised.attempts > 1 else "succeeded"
    return outcome, wrong


def scripts_of(row: Row) -> list[tuple[Script, bool]]:
    """The scripts for a route, each for its first attempt and for all."""
    chosen = [script for script in SCRIPTS if script.applies_to(row) and (FULL_SIZE or script.name in COVERING)]
    return [(script, always) for script in chosen for always in ((False, True) if FULL_SIZE else (False,))]


def auths_of(row: Row) -> tuple[str, ...]:
    """The credentials with which a route is asked: with both, and where either is enough, with one of them."""
    has_both = {"Bearer", "OAuth1"} <= set(row.route.family.credentials)
    return AUTHS if FULL_SIZE and row.is_of_platform and has_both else ("",)


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.name)
async def test_a_call_that_meets_a_fault_ends_as_documented(
    row: Row, bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    for auth in auths_of(row):
        await bench.set_up(row, auth)
        for script, always in scripts_of(row):
            outcome, found = await try_pair(bench, row, script, always=always)
            outcomes[outcome] += 1
            pair = f"{row.name} with {script.name}{', every time' * always}{f' as {auth}' * bool(auth)}"
            wrong += [f"{pair}: {each}" for each in found]
    record_property("emulator pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)


@pytest.mark.parametrize("route", PAGES, ids=name_of)
async def test_the_address_of_a_page_is_told_whatever_the_service_does(route: Any, bench: Bench) -> None:
    await bench.set_up(CALLS[0])
    for fault in get_args(FaultKind):
        bench.emulator.faults.add(fault)
        assert PAGES[route](bench.client).startswith(f"{bench.emulator.ready['base_url']}{route.path}?"), fault
    assert len(bench.emulator.requests) == 0


def test_every_fault_is_in_the_matrix() -> None:
    scripted = {script.fault for script in SCRIPTS}
    assert scripted | {*STREAM_FAULTS, *DELIVERY_FAULTS} == set(get_args(FaultKind))
    assert {script.fields["problem"] for script in SCRIPTS if "problem" in script.fields} == set(PROBLEM_FIELDS)
    named = {script.name for script in SCRIPTS}
    assert named >= COVERING
    assert {script.fault for script in SCRIPTS if script.name in COVERING} == scripted
    assert {script.happened for script in SCRIPTS if script.name in COVERING} == {script.happened for script in SCRIPTS}
