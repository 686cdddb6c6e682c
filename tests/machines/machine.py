"""State machines: hypothesis chooses the steps, the SDK takes them against the emulator, and a
small model says what must be true after each of them.

A machine is a `Machine` with rules (`step`), what has to hold after each of them (`check`), and a
model in plain dictionaries and sets, which is written from the specification. Its test is one line,
`run_machine(ItsClass)`. The call that a step makes with `ask` may meet a fault or be cancelled.
Every machine has steps beside its own: time passes, all connections break, and the client is closed
and made anew.

What a call came to may differ from one run of the same steps to the next. So no rule has a
precondition that depends on it: a rule that cannot do anything returns.

What a call may meet is in `faults.py`, and what may be true after one whose outcome is unknown in
`worlds.py`.
"""

import asyncio
import contextlib
import functools
import inspect
import logging
import os
import random
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, cast

import attrs
import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from socialapi import Client
from socialapi.credentials import Credentials
from socialapi.emulator import Emulator
from socialapi.emulator.ledger import RequestRecord
from socialapi.errors import (
    ApiError,
    BulkError,
    DecodeError,
    OutcomeUnknown,
    RateLimitTooLong,
    ServerError,
    SocialApiError,
)
from tests.machines.faults import TROUBLE
from tests.machines.worlds import Executed
from tests.support.clock import VirtualClock
from tests.support.full_size import FULL_SIZE
from tests.support.planted import told_by
from tests.support.records import LogLines

T = TypeVar("T")
M = TypeVar("M", bound="Machine")

_LOOK_AGAIN_SECONDS: Final = 0.0005
STEP_SECONDS: Final = 60.0
"""Real time: a step that takes longer hangs."""
EXAMPLES: Final = int(os.environ.get("SOCIALAPI_MACHINE_EXAMPLES") or 300)
"""How many sequences of steps `make machines` tries with each machine."""


# What became of it ----------------------------------------------------------------------------------------------------


@attrs.frozen
class Asked(Generic[T]):
    """What became of a call: its result or its error, and what the service has logged of it."""

    result: T | None
    error: BaseException | None
    requests: Sequence[RequestRecord]
    repeatable: bool

    @property
    def value(self) -> T:
        """The result. Raises the error."""
        if self.error is not None:
            raise self.error
        return cast("T", self.result)

    @property
    def is_done(self) -> bool:
        return self.error is None

    @property
    def is_undisturbed(self) -> bool:
        """Whether no fault was met now or left a limit behind, so that the result is the one of the
        documentation.
        """
        is_cut_short = isinstance(self.error, asyncio.CancelledError | RateLimitTooLong)
        return not is_cut_short and all(record.fault is None for record in self.requests)

    @property
    def executed(self) -> Executed:
        """What the caller knows by what the documentation of `socialapi.errors` says."""
        if self.error is None:
            return "yes"
        return _executed(self.error, repeatable=self.repeatable)


NOT_EXECUTED: Final = frozenset({429, 503})
"""The statuses of requests that were not executed (docs/errors.md, "Which requests are retried")."""


def _executed(error: BaseException, *, repeatable: bool) -> Executed:
    # An answer of 200 that nobody can read may be that of a proxy, which the service knows nothing of.
    if isinstance(error, OutcomeUnknown | DecodeError | BulkError | asyncio.CancelledError):
        return "unknown"
    # An attempt before this one may have been executed, where the route allows another one.
    if repeatable and getattr(error, "attempts", 1) > 1:
        return "unknown"
    if isinstance(error, ServerError) and error.status not in NOT_EXECUTED:
        return "unknown"
    if isinstance(error, ApiError) and error.status < 300 and not error.problems and not error.errors:
        return "unknown"
    return "no"


# The harness ----------------------------------------------------------------------------------------------------------


@attrs.define
class StepCounts:
    """What the examples of a machine have met."""

    examples: int = 0
    steps: Counter[str] = attrs.field(factory=Counter)
    changes: Counter[str] = attrs.field(factory=Counter)
    faults: Counter[str] = attrs.field(factory=Counter)
    outcomes: Counter[str] = attrs.field(factory=Counter)
    requests: int = 0

    def __str__(self) -> str:
        return (
            f"{self.examples} examples, {self.steps.total()} steps, {self.requests} requests, "
            f"{self.faults.total()} faults met\n"
            f"  steps:    {_counts(self.steps)}\n"
            f"  changes:  {_counts(self.changes)}\n"
            f"  faults:   {_counts(self.faults)}\n"
            f"  outcomes: {_counts(self.outcomes)}"
        )


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])))


class Harness:
    """One emulator, one event loop and one virtual clock for all examples of a machine.

    Time stands still while a request is on its way, and else passes as fast as anybody waits.
    """

    def __init__(self, **options: Any) -> None:
        self.counts = StepCounts()
        self.clock = VirtualClock(busy=self._is_busy)
        self.emulator = Emulator(clock=self._time, **options)
        self.on_their_way = 0
        self._runner = asyncio.Runner()
        self._logged = LogLines()
        self.secrets: set[str] = set()
        """What no error and no log record may show."""

    def _time(self) -> float:
        return self.clock.time()

    def __enter__(self) -> Self:
        self.run(self.emulator.__aenter__())
        logging.getLogger("socialapi").addHandler(self._logged)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger("socialapi").removeHandler(self._logged)
        self.run(self.emulator.__aexit__(None, None, None))
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the event loop until the work is done."""
        return self._runner.run(_within_time(work))

    def begin(self) -> None:
        """Begins an example: the seed data, no faults, and a new clock."""
        self.counts.examples += 1
        self.clock = VirtualClock(busy=self._is_busy)
        self.on_their_way = 0
        self.run(self._reset())
        self.secrets = _secrets_of(self.emulator)
        self._logged.lines.clear()

    async def _reset(self) -> None:
        self.emulator.reset()

    def _is_busy(self) -> bool:
        return self.on_their_way > 0

    def client(self, credentials: Sequence[Credentials] | None = None, **options: Any) -> Client:
        """A client of the emulator on the virtual clock. `settings` among the options are those of
        its `Config`.
        """
        settings = options.pop("settings", {})
        config = attrs.evolve(self.emulator.config, **settings)
        given = self.emulator.credentials if credentials is None else credentials
        client = Client(config, given, clock=self.clock, rng=random.Random(0), proxy=False, **options)
        transport: Any = client._session._transport
        transport.send = self._counted(transport.send)
        return client

    def _counted(self, send: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        @functools.wraps(send)
        async def counted(*arguments: Any, **options: Any) -> T:
            clock = self.clock
            self.on_their_way += 1
            try:
                return await send(*arguments, **options)
            finally:
                if clock is self.clock:
                    self.on_their_way -= 1

        return counted

    async def settled(self) -> None:
        """Returns when the emulator has done with every request that it has received."""
        for _ in range(4):
            await asyncio.sleep(0)
        while any(  # noqa: ASYNC110  # aiohttp tells nobody
            getattr(each, "_current_request", None) is not None for each in self._connections()
        ):
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def _connections(self) -> Sequence[Any]:
        server: Any = self.emulator._runner
        return tuple(server.server.connections)

    async def break_connections(self) -> None:
        """Ends every connection at the side of the emulator, without a goodbye."""
        for connection in self._connections():
            if connection.transport is not None:
                connection.transport.abort()

    def hold_no_secret(self, error: BaseException | None) -> None:
        """Fails if the error, what caused it, or what was logged since the last time shows a
        secret.
        """
        texts = [*self._logged.lines, *(told_by(error) if error is not None else ())]
        self._logged.lines.clear()
        for text in texts:
            assert not any(secret in text for secret in self.secrets), "a secret is shown"


async def _within_time(work: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(STEP_SECONDS):
        return await work


def _secrets_of(emulator: Emulator) -> set[str]:
    ready = emulator.ready
    return {ready[name] for name in ("api_key_secret", "access_token", "access_token_secret", "bearer_token")}


def copy_files(files: Sequence[Path], to: Path) -> None:
    """Copies files and folders as they are on the disk into a new folder.

    In another process, because closing a file here would end this one's locks on it.
    """
    to.mkdir()
    if files:
        subprocess.run(["cp", "-r", *files, to], check=True)


def tasks_of_package() -> set["asyncio.Task[Any]"]:
    """Tasks that run code of the package, but for the emulator's."""
    return {task for task in asyncio.all_tasks() if not task.done() and _is_of_package(task)}


def _is_of_package(task: "asyncio.Task[Any]") -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    path = getattr(code, "co_filename", "")
    return "/socialapi/" in path and "/socialapi/emulator/" not in path


# The machine ----------------------------------------------------------------------------------------------------------


def step(*, trouble: st.SearchStrategy[dict[str, Any] | None] | None = TROUBLE, **arguments: Any) -> Callable[..., Any]:
    """A rule of hypothesis, whose function may be asynchronous. The steps are counted by its name.

    The first `ask` of each meets some `trouble`, unless that is None.
    """
    drawn = arguments if trouble is None else arguments | {"trouble": trouble}

    def decorated(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def counted(machine: "Machine", trouble: dict[str, Any] | None = None, **given: Any) -> Any:
            machine.harness.counts.steps[function.__name__] += 1
            machine.trouble = trouble
            made = machine.result(function(machine, **given))
            machine.check_all()
            return made

        make: Any = rule(**drawn)
        return make(counted)

    return decorated


def check(function: Callable[[M], object]) -> Callable[[M], object]:
    """What has to hold after each step. It may be asynchronous.

    It is no invariant of hypothesis, which would print all of them between the steps of a failure.
    """
    function.__dict__["is_check"] = True
    return function


class Machine(RuleBasedStateMachine):
    """What all machines do. `open` and `close` are of each example; in between `self.client` is
    open.
    """

    harness: ClassVar[Harness]
    emulator_options: ClassVar[Mapping[str, Any]] = {}
    max_examples: ClassVar[int] = 25
    """How many sequences `make test-all` tries."""
    max_steps: ClassVar[int] = 25
    """How many steps a sequence has at most; with `make machines` twice as many."""

    def __init__(self) -> None:
        super().__init__()
        self.trouble: dict[str, Any] | None = None
        self.asking: asyncio.Task[Any] | None = None
        """The call that is being made."""
        self.harness.begin()
        self.result(self.open())

    # What a machine may replace ---------------------------------------------------------------------------------------

    def new_client(self) -> Client:
        """Returns the client of the steps, which is not entered yet."""
        return self.harness.client()

    async def open(self) -> None:
        """Begins an example."""
        self.client = self.new_client()
        await self.client.__aenter__()

    async def close(self) -> None:
        """Ends an example. Nothing of the package may run afterwards."""
        await self.client.aclose()

    async def restart(self) -> None:
        """Closes the client, and goes on with another one."""
        await self.client.aclose()
        assert self.tasks_left() == set()
        self.client = self.new_client()
        await self.client.__aenter__()

    async def wait_for_background(self) -> None:
        """Waits for what goes on by design after a call was cancelled."""

    def tasks_left(self) -> set["asyncio.Task[Any]"]:
        """Returns the tasks of the package that should not be there between two steps."""
        return tasks_of_package()

    # What rules use ---------------------------------------------------------------------------------------------------

    @property
    def emulator(self) -> Emulator:
        return self.harness.emulator

    @property
    def clock(self) -> VirtualClock:
        return self.harness.clock

    def result(self, made: Any) -> Any:
        """Returns what a function has made, which may be a coroutine."""
        return self.harness.run(made) if inspect.iscoroutine(made) else made

    async def ask(self, work: Coroutine[Any, Any, T], *, repeatable: bool = False) -> Asked[T]:
        """Makes a call, which meets the trouble of the step.

        `repeatable` calls are those that the SDK sends again after an unknown outcome, so that
        their error says nothing of the attempts before. Errors that are none of the package are
        raised.
        """
        log, counts = self.emulator._service.log, self.harness.counts
        before = log.received
        result, error = await self._carried_out(work)
        requests = log.after(before, log.received - before)
        counts.requests += len(requests)
        counts.faults.update(record.fault for record in requests if record.fault is not None)
        counts.outcomes["done" if error is None else type(error).__name__] += 1
        self.harness.hold_no_secret(error)
        return Asked(result, error, requests, repeatable)

    async def look(self, make: Callable[[], Awaitable[T]]) -> T:
        """Makes a call that meets no fault, after as much time as a limit asks for."""
        while True:
            try:
                return await make()
            except RateLimitTooLong as too_long:
                self.clock.advance(too_long.wait_seconds)

    async def _carried_out(self, work: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
        trouble, self.trouble = self.trouble or {}, None
        if "fault" in trouble:
            self.emulator.faults.script(trouble)
        self.asking = task = asyncio.ensure_future(work)
        if "cancel_after" in trouble:
            await _cancel_after(trouble["cancel_after"], task)
        try:
            return await task, None
        except SocialApiError as error:
            return None, error
        except asyncio.CancelledError as error:
            mine = asyncio.current_task()
            if not task.cancelled() or (mine is not None and mine.cancelling()):
                raise  # by Ctrl-C
            return None, error
        finally:
            await self.wait_for_background()
            self.emulator.faults.clear()
            await self.harness.settled()

    # What can happen to every machine ---------------------------------------------------------------------------------

    @step(trouble=None, change=st.sampled_from(["restart", "broken connections", 1, 60, 900, 3_600, 90_000]))
    async def surroundings_change(self, change: str | int) -> None:
        """Seconds pass, all connections break, or the client is closed and made anew.

        One step for all, because hypothesis chooses each step as often as any other.
        """
        if isinstance(change, int):
            self.clock.advance(change)
        elif change == "restart":
            await self.restart()
        else:
            await self.harness.break_connections()
        self.harness.counts.changes[change if isinstance(change, str) else "time"] += 1

    @check
    async def no_task_is_left(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        assert self.tasks_left() == set()

    def check_all(self) -> None:
        """Runs every check of the machine."""
        for name, function in inspect.getmembers(type(self), inspect.isfunction):
            if hasattr(function, "is_check"):
                self.result(getattr(self, name)())

    def teardown(self) -> None:
        self.harness.run(self._end())

    async def _end(self) -> None:
        self.emulator.faults.clear()
        await self.close()
        await asyncio.sleep(0)
        assert tasks_of_package() == set()
        self.harness.hold_no_secret(None)


async def _cancel_after(turns: int, task: "asyncio.Task[Any]") -> None:
    for _ in range(turns):
        if task.done():
            return
        await asyncio.sleep(0)
    task.cancel()


# Running it -----------------------------------------------------------------------------------------------------------


def run_machine(machine: type[M]) -> StepCounts:
    """Runs the examples of a machine, and prints what they met: at full size with `make machines`."""
    with Harness(**machine.emulator_options) as harness, _with_harness(machine, harness):
        try:
            run_state_machine_as_test(machine, settings=_settings(machine))
        finally:
            print(f"\n{machine.__name__}: {harness.counts}")  # noqa: T201  # what a search met is its result
    return harness.counts


def hold_floor(count: int, floor: int, what: str) -> None:
    """Fails if the sequences of `make test-all` met too little of what a machine is there for. They are
    the same each time; those of `make machines` are as many as its user wants.
    """
    assert FULL_SIZE or count > floor, f"{count} {what} are too few: more than {floor} are wanted"


@contextlib.contextmanager
def _with_harness(machine: type[Machine], harness: Harness) -> Iterator[None]:
    machine.harness = harness
    try:
        yield
    finally:
        del machine.harness


def _settings(machine: type[Machine]) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=EXAMPLES if FULL_SIZE else machine.max_examples,
        stateful_step_count=machine.max_steps * 2 if FULL_SIZE else machine.max_steps,
        # The tests of every run are the same, and those of a search are not.
        derandomize=not FULL_SIZE,
        database=None,
        deadline=None,
        print_blob=False,
        # Shrinking takes minutes, and explaining a failure would trace every line of it.
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink) if FULL_SIZE else (hypothesis.Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
