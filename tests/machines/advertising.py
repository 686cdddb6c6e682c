"""What the machines of the advertising API share: patience with its limits, and jobs whose runs end
in many ways.
"""

import asyncio
import functools
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeVar

import attrs
from hypothesis import strategies as st

from socialapi import Client
from socialapi.errors import BulkError, InvalidInput, RateLimitTooLong
from tests.machines.faults import trouble
from tests.machines.machine import Asked, Machine, check
from tests.support.clock import turns

T = TypeVar("T")

Trouble = Mapping[str, Any] | None

LOST_ANSWERS: Final = trouble(*[{"fault": "reset_after"}] * 20)
"""For what must not be done twice."""
ANSWERED_WELL: Final = (None, "slow")
"""The faults of requests that are answered well nevertheless."""


def check_refused_here(asked: Asked[Any], fields: set[str] | None = None) -> None:
    """The SDK refuses it and names these fields alone, unless the call was cancelled before."""
    assert not asked.requests
    if isinstance(asked.error, InvalidInput):
        paths = {rule.path.partition("[")[0] for rule in asked.error.broken_rules}
        assert paths
        assert fields is None or paths <= fields
    else:
        assert isinstance(asked.error, asyncio.CancelledError)


@attrs.frozen
class End:
    """A run is cancelled at one of its requests: before it is sent, while it is on its way, or once
    it is answered.
    """

    request: int
    when: Literal["before", "on its way", "answered"]


@attrs.frozen
class Run:
    """How a run ends, and what comes before it if it is not the first one."""

    end: End | None
    pause_seconds: float
    has_new_client: bool
    trouble: Trouble


ENDS: Final = st.none() | st.builds(End, st.integers(1, 4), st.sampled_from(["before", "on its way", "answered"]))


def runs(troubles: st.SearchStrategy[Trouble]) -> st.SearchStrategy[list[Run]]:
    """The first runs of a job. The last one may end early as well."""
    pauses = st.sampled_from([0.0, 0.0, 10.0, 3_001.0, 90_001.0])
    return st.lists(st.builds(Run, ENDS, pauses, st.booleans(), st.none() | troubles), min_size=1, max_size=3)


def visible(record: Mapping[str, Any] | None) -> Any:
    """What is compared: everything but the time of the last change, and nothing of what is gone."""
    if record is None or record["deleted"]:
        return "gone"
    return {name: value for name, value in record.items() if name != "updated_at"}


class PatientMachine(Machine):
    """A machine that waits where a limit asks for it, so that the next call is made."""

    async def ask(self, work: Coroutine[Any, Any, T], *, repeatable: bool = False) -> Asked[T]:
        """Makes a call like `Machine.ask`."""
        asked = await super().ask(work, repeatable=repeatable)
        error = asked.error.__cause__ if isinstance(asked.error, BulkError) else asked.error
        if isinstance(error, RateLimitTooLong):
            self.clock.advance(error.wait_seconds)
        return asked


class JobMachine(PatientMachine):
    """A machine whose calls may be cancelled at a request, with a folder for each example."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """The settings of the clients."""

    async def open(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="machine-")
        self._files = 0
        self._end_of_run: End | None = None
        self._running: asyncio.Task[Any] | None = None
        self._unhandled: list[Mapping[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self._unhandled.append(context))
        await super().open()

    async def close(self) -> None:
        await super().close()
        self._folder.cleanup()

    def new_file(self, suffix: str) -> Path:
        """A path in the folder at which there is nothing yet."""
        self._files += 1
        return Path(self._folder.name, f"{self._files}.{suffix}")

    def new_client(self) -> Client:
        client = self.harness.client(settings=self.settings)
        transport: Any = client._session._transport
        transport.send = self._ending(transport.send)
        return client

    async def ask_until(self, end: End | None, make: Callable[[], Coroutine[Any, Any, T]]) -> Asked[T]:
        """Makes a call like `ask`, which ends at one of its requests."""

        async def running() -> T:
            self._running = asyncio.current_task()
            return await make()

        self._end_of_run = end
        try:
            return await self.ask(running(), repeatable=True)
        finally:
            self._running = self._end_of_run = None

    def runs_of(self, runs: list[Run]) -> Iterator[Run]:
        """Each run, after what comes before it."""
        for number, run in enumerate(runs):
            if number:
                self.clock.advance(run.pause_seconds)
                self.trouble = None if run.trouble is None else dict(run.trouble)
            yield run

    def _ending(self, send: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        @functools.wraps(send)
        async def ending(*arguments: Any, **options: Any) -> T:
            end, running = self._end_of_run, self._running
            if end is None or running is None:
                return await send(*arguments, **options)
            self._end_of_run = attrs.evolve(end, request=end.request - 1) if end.request > 1 else None
            if end.request > 1:
                return await send(*arguments, **options)
            if end.when != "answered":
                running.cancel()
            if end.when == "before":
                await turns()
            answer = await send(*arguments, **options)
            running.cancel()
            return answer

        return ending

    @check
    def nothing_is_unhandled(self) -> None:
        assert not self._unhandled
