"""Any rows, outcomes and ends of a process: the members are those of a dictionary that follows the same rules."""

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi._speedups import Digests
from socialapi.bulk.rows import Action, RowBlock
from socialapi.bulk.sync import buckets, members, snapshot
from socialapi.bulk.sync.buckets import CODES, KINDS, digests_of
from socialapi.bulk.sync.scratch import scratch_folder
from socialapi.bulk.sync.snapshot import Difference, Snapshot

Identifier = tuple[str, bytes]
Held = dict[Identifier, tuple[int, int]]
Outcome = Literal["accepted", "refused", "lost"]

WEEK: Final = 7
IDENTIFIERS: Final[Sequence[Identifier]] = [
    (kind, bytes((first, second)) + bytes(29) + bytes((last,)))
    for kind in ("email", "phone_number")
    for first in (0, 7, 255)
    for second in (0, 9, 255)
    for last in (1, 2)
]
"""So few and so alike that they meet in buckets, finer ones included."""


@attrs.frozen
class DesiredRow:
    identifiers: Sequence[Identifier]
    days: int
    """From now until its expiry."""


@attrs.frozen
class Step:
    """A sync, and where it ended."""

    rows: Sequence[DesiredRow]
    days_later: int
    additions: Sequence[Outcome]
    removals: Sequence[Outcome]
    pages_of_additions: int
    pages_of_removals: int
    is_confirmed: bool
    is_repeated: bool
    transactions: int | None
    """Of those that take over, how many are done before the process ends; None for all of them."""


desired_rows = st.lists(
    st.builds(
        DesiredRow, st.lists(st.sampled_from(IDENTIFIERS), min_size=1, max_size=3, unique=True), st.integers(1, 30)
    ),
    max_size=12,
)
outcomes = st.lists(st.sampled_from(("accepted", "accepted", "refused", "lost")), min_size=40, max_size=40)
steps = st.lists(
    st.builds(
        Step,
        desired_rows,
        st.sampled_from((0, 0, 1, 6)),
        outcomes,
        outcomes,
        *(st.sampled_from((0, 1, 2, 99, 99, 99)) for _ in range(2)),
        st.booleans(),
        st.booleans(),
        st.none() | st.integers(0, 4),
    ),
    min_size=1,
    max_size=5,
)


# The rules, for a dictionary -----------------------------------------------------------------------------------------


def due_rows(held: Held, step: Step, now: int) -> list[DesiredRow]:
    """Rows of which an identifier is not held for sure, or only for a week although the row asks for longer."""
    return [
        row
        for row in step.rows
        if any(held.get(each, (0, 0))[0] < min(now + row.days, now + WEEK) for each in row.identifiers)
    ]


def removed(held: Held, step: Step, now: int) -> list[Identifier]:
    desired = {each for row in step.rows for each in row.identifiers}
    gone = [each for each, (_, perhaps) in held.items() if perhaps > now and each not in desired]
    return sorted(gone, key=lambda each: (CODES[each[0]], each[1]))  # type: ignore[index]  # kinds as texts


def after_additions(held: Held, sent: Sequence[tuple[DesiredRow, Outcome]], now: int, *, in_doubt: bool) -> Held:
    found: dict[Identifier, list[tuple[int, bool]]] = {}
    for row, outcome in sent:
        if outcome == "accepted" or in_doubt:
            for each in row.identifiers:
                found.setdefault(each, []).append((now + row.days, outcome == "accepted"))
    changed = {
        each: (
            min(ends for ends, _ in times) if any(is_accepted for _, is_accepted in times) else 0,
            max(held.get(each, (0, 0))[1], *(ends for ends, _ in times)),
        )
        for each, times in found.items()
    }
    return held | changed


def after_removals(held: Held, asked: Sequence[tuple[Identifier, Outcome]]) -> Held:
    left = dict(held)
    for each, outcome in asked:
        if outcome == "accepted":
            del left[each]
        else:
            left[each] = (0, left[each][1])
    return left


# The snapshot --------------------------------------------------------------------------------------------------------


def blocks_of(rows: Sequence[DesiredRow], now: int) -> Iterator[tuple[RowBlock, int]]:
    """A block of all neighbours with the same expiry, and rows with odd numbers."""
    at = 0
    while at < len(rows):
        stop = next((n for n in range(at, len(rows)) if rows[n].days != rows[at].days), len(rows))
        some = rows[at:stop]
        columns: list[tuple[Any, Any]] = []
        for place, row in enumerate(some):
            for number, (kind, digest) in enumerate(row.identifiers):
                if number == len(columns) or columns[number][0] != kind:
                    columns.insert(number, (kind, Digests([""] * len(some))))
                columns[number][1][place] = digest.hex()
        yield RowBlock(Action("Update"), [2 * n + 1 for n in range(at, stop)], tuple(columns)), now + rows[at].days
        at = stop


def held_in(path: Path) -> Held:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT kind, bucket, digests, sure, perhaps FROM members").fetchall()
    held: Held = {}
    for kind, bucket, packed, sure, perhaps in found:
        for digest in digests_of(packed):
            assert bucket in {257 * digest[0], 257 * digest[0] + 1 + digest[1]}
            assert held.setdefault((KINDS[kind], digest), (sure, perhaps)) == (sure, perhaps)
    assert len(held) == sum(len(packed) for _, _, packed, _, _ in found) / 32
    return held


def rows_in(page: Sequence[RowBlock]) -> list[tuple[int, set[Identifier]]]:
    return [
        (block.numbers[at], {(kind, bytes.fromhex(value)) for kind, values in block.columns if (value := values[at])})
        for block in page
        for at in range(len(block))
    ]


class Ended(Exception):
    """The process ends."""


async def follow(step: Step, path: Path, before: Held, now: int) -> Held:
    """A sync on a file that holds this; returns what it has to hold after it is opened again."""
    snap = Snapshot(path, "account", "audience")
    await snap.open()
    due, gone = due_rows(before, step, now), removed(before, step, now)
    await snap.stage(list(blocks_of(step.rows, now)))
    known = sum(perhaps > now for _, perhaps in before.values())
    assert await snap.compare(now=now, soon=now + WEEK) == Difference(
        known=known, additions=len(due), removals=len(gone)
    )
    await snap.announce(now=now)
    held = {each: times for each, times in before.items() if times[1] > now}

    sent = list[tuple[DesiredRow, Outcome]]()
    for _ in range(step.pages_of_additions):
        if not (page := rows_in(await snap.additions())):
            break
        assert page == [
            (len(sent) + at + 1, set(row.identifiers)) for at, row in enumerate(due[len(sent) : len(sent) + len(page)])
        ]
        sent += zip(due[len(sent) :], step.additions[len(sent) : len(sent) + len(page)], strict=False)
    accepted = [at for at, (_, outcome) in enumerate(sent, 1) if outcome == "accepted"]
    for at in reversed(accepted):
        await snap.accept("Update", [[at]])
    is_confirmed = step.is_confirmed and len(sent) == len(due)
    is_refused = len(accepted) < len(sent)
    if is_confirmed:
        await snap.confirm_additions(refused=is_refused, repeated=step.is_repeated)
    held = after_additions(held, sent, now, in_doubt=not is_confirmed or (is_refused and step.is_repeated))

    asked = list[tuple[Identifier, Outcome]]()
    for _ in range(step.pages_of_removals if is_confirmed else 0):
        if not (page := rows_in(await snap.removals())):
            break
        assert [identifiers for _, identifiers in page] == [
            {each} for each in gone[len(asked) : len(asked) + len(page)]
        ]
        asked += zip(gone[len(asked) :], step.removals[len(asked) : len(asked) + len(page)], strict=False)
    if taken := [at for at, (_, outcome) in enumerate(asked, 1) if outcome == "accepted"]:
        await snap.accept("Delete", [taken])
    held = after_removals(held, asked)

    await finish(snap, step.transactions)
    await snap.aclose()
    return held


async def finish(snap: Snapshot, transactions: int | None) -> None:
    """Finishes, unless the process is ended after so many transactions."""
    if transactions is None:
        await snap.finish()
        return
    left = transactions
    take_over = snap._take_over_some

    def counted(connection: sqlite3.Connection) -> bool:
        nonlocal left
        if left == 0:
            raise Ended
        left -= 1
        return take_over(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snap, "_take_over_some", counted)
        with suppress(Ended):
            await snap.finish()


@contextmanager
def everything_small() -> Iterator[None]:
    """Buckets are divided, and a page, a region and a transaction hold next to nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "DIGESTS_AT_ONCE", 4)
        patch.setattr(buckets, "DIGESTS_PER_REGION", 5)
        patch.setattr(snapshot, "ROWS_PER_PAGE", 2)
        patch.setattr(snapshot, "BYTES_PER_TRANSACTION", 64)
        yield


async def follow_all(plan: Sequence[Step], path: Path) -> None:
    held: Held = {}
    now = 1_000_000
    for step in plan:
        now += step.days_later
        held = await follow(step, path, held, now)
        if step.transactions is None:
            assert held_in(path) == held
            assert not scratch_folder(path).exists()
    snap = Snapshot(path, "account", "audience")
    await snap.open()
    assert await snap.count() == len(held)
    await snap.aclose()
    assert held_in(path) == held


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(steps)
def test_whatever_became_of_a_sync_the_members_are_what_the_rules_say(plan: Sequence[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder, everything_small():
        asyncio.run(follow_all(plan, Path(folder) / "snapshot"))


def test_a_bucket_is_found_by_its_number_however_many_times_its_digests_have() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(members.MEMBERS)
        for query in (members._COUNT, members._SEGMENTS):
            plan = connection.execute(f"EXPLAIN QUERY PLAN {query} WHERE {members._OF_BUCKETS}", (1, 0, 255)).fetchall()
            assert "(kind=? AND bucket>? AND bucket<?)" in plan[0][3]
