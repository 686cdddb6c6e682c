"""The rule of syncs: whatever came before, and wherever it was ended, the audience is what was desired last."""

import asyncio
import hashlib
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi._speedups import Digests
from socialapi.bulk.inputs import iterables as iterable_reader
from socialapi.bulk.sync import snapshot as sync_snapshot
from socialapi.bulk.sync.buckets import KINDS
from socialapi.bulk.sync.scratch import remove_scratch
from socialapi.bulk.sync.snapshot import Snapshot
from socialapi.errors import BulkError
from socialapi.internal.sqlite_file import SqliteFile
from socialapi.models.audiences import AudienceUser
from tests.bulk.model_service import FAULTS, ModelService, synced

pytestmark = pytest.mark.slow

NAMES: Final = tuple("abcdeghi")
STEPS: Final = ((SqliteFile, "read"), (SqliteFile, "run"), (SqliteFile, "write"))
"""What a snapshot does, one after another."""

Desired = list[frozenset[str]]
"""A row for each set of names: small letters are handles."""
Identifiers = set[tuple[str, str]]


def users(desired: Desired) -> list[AudienceUser]:
    return [AudienceUser(handle=sorted(names)) for names in desired]


def identifiers(desired: Desired) -> Identifiers:
    return {("handle", hashlib.sha256(name.encode()).hexdigest()) for names in desired for name in names}


def rows_in(path: Path, query: str) -> list[Any]:
    """What a file that may not have been made so far answers."""
    with closing(sqlite3.connect(path)) as connection:
        is_made = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return connection.execute(query).fetchall() if is_made else []


async def held(path: Path) -> tuple[Identifiers, Identifiers]:
    """What the snapshot claims for sure once it is opened, and all that it says may be held; nothing before it is made.

    A copy is opened, since the next sync is to find what was left.
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(path.parent, folder, dirs_exist_ok=True)
        copy = Path(folder) / path.name
        if not (target := rows_in(copy, "SELECT account_id, custom_audience_id FROM target")):
            return set(), set()
        snapshot = Snapshot(copy, *target[0])
        await snapshot.open()
        await snapshot.aclose()
        found = rows_in(copy, "SELECT kind, digests, sure > 0 FROM members")
    everything: dict[tuple[str, str], bool] = {
        (KINDS[kind], digest): is_sure
        for kind, packed, is_sure in found
        for digest in filter(None, Digests.unpacked(packed, []))
    }
    return {each for each, is_sure in everything.items() if is_sure}, set(everything)


class Killer:
    """Ends the process, as far as can be seen from outside: from some step on, nothing that is awaited comes back.

    Steps are what other processes could see: a request before and after it, and what is done with the snapshot and its
    scratch files, before and after it.
    """

    def __init__(self) -> None:
        self.left: int | None = None
        self.struck = asyncio.Event()

    async def step(self) -> None:
        if self.left == 0:
            self.struck.set()
            await asyncio.Event().wait()
        if self.left is not None:
            self.left -= 1

    def around(self, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def wrapped(*arguments: Any, **keywords: Any) -> Any:
            await self.step()
            result = await work(*arguments, **keywords)
            await self.step()
            return result

        return wrapped

    def unless_struck(self, work: Callable[..., None]) -> Callable[..., None]:
        """A process that is ended tidies nothing up."""

        def wrapped(*arguments: Any) -> None:
            if not self.struck.is_set():
                work(*arguments)

        return wrapped

    @contextmanager
    def watching(self, *methods: tuple[type, str]) -> Iterator[None]:
        """Counts the steps of these methods; what is read and sent is so small that few rows are many of them."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sync_snapshot, "ROWS_PER_PAGE", 1)
            patch.setattr(sync_snapshot, "BYTES_PER_TRANSACTION", 1)
            patch.setattr(sync_snapshot, "remove_scratch", self.unless_struck(remove_scratch))
            patch.setattr(iterable_reader, "ROWS_PER_BLOCK", 1)
            for owner, name in methods:
                patch.setattr(owner, name, self.around(getattr(owner, name)))
            yield

    async def ends(self, running: Awaitable[Any], after: int | None) -> bool:
        """Runs it, and ends it after so many steps; whether it was ended."""
        self.left = after
        self.struck.clear()
        task = asyncio.ensure_future(running)
        blow = asyncio.create_task(self.struck.wait())
        await asyncio.wait((task, blow), return_when=asyncio.FIRST_COMPLETED)
        blow.cancel()
        ended = not task.done()
        task.cancel()
        self.left = None
        await asyncio.gather(task, return_exceptions=True)
        self.struck.clear()
        if not ended:
            task.result()
        return ended


rows = st.lists(st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=4)


@attrs.frozen
class FaultyStep:
    desired: Desired
    likely: float
    killed_after: int | None


faulty_steps = st.lists(
    st.builds(FaultyStep, rows, st.sampled_from((0.0, 0.3, 0.6)), st.none() | st.integers(0, 140)),
    min_size=1,
    max_size=5,
)


async def follow_with_faults(plan: Sequence[FaultyStep], seed: int, path: Path, packing: Any) -> None:
    killer = Killer()
    service = ModelService(rng=random.Random(seed), faults=(*FAULTS, "operation_error"))
    options: dict[str, Any] = {"max_removal_share": 1.0, "packing": packing, "settings": {"max_operations": 2}}
    with killer.watching(*STEPS, (ModelService, "send")):
        for step in [*plan, FaultyStep(plan[-1].desired, 0.0, None)]:
            service._likely = step.likely
            running = synced(service, users(step.desired), path, **options)
            try:
                ended = await killer.ends(running, step.killed_after)
            except BulkError:
                ended = True
            service._on_its_way.clear()
            members = set(service.members)
            sure, everything = await held(path)
            assert sure <= members <= everything
            if not ended and not step.likely:
                assert members == identifiers(step.desired) == sure == everything


@settings(max_examples=60)
@given(faulty_steps, st.integers(0, 1_000), st.sampled_from(("single", "packed")))
def test_lost_answers_and_refused_rows_in_between_change_nothing(
    plan: Sequence[FaultyStep], seed: int, packing: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(follow_with_faults(plan, seed, Path(folder) / "snapshot", packing))
