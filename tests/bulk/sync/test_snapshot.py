"""The file that says what an audience holds: its states, and what it never says."""

import sqlite3
import stat
from pathlib import Path
from typing import Final

import pytest

from socialapi.bulk.sync import snapshot as sync_snapshot
from socialapi.bulk.sync.snapshot import Difference, Snapshot, StagedRow
from socialapi.errors import ConfigurationError
from socialapi.models.audiences import AudienceUser, Operation, OperationParams
from socialapi.models.validation import parse_timestamp

NOW: Final = 1_000_000
SOON: Final = NOW + 100
LATER: Final = NOW + 10_000
ADA, BOB, EVE = (letter * 32 for letter in (b"a", b"b", b"e"))

Held = dict[bytes, tuple[int, int]]


def row(number: int, *digests: bytes, until: int = LATER, expires_at: str | None = None) -> StagedRow:
    return StagedRow(number, [(1, digest) for digest in digests], until, None, expires_at)


def held(path: Path) -> Held:
    """Digest to the times until which it is held for sure, and perhaps."""
    with sqlite3.connect(path) as connection:
        found = dict[bytes, tuple[int, int]](
            (digest, (sure, perhaps))
            for digest, sure, perhaps in connection.execute("SELECT digest, sure_until, perhaps_until FROM members")
        )
    connection.close()
    return found


def bytes_in(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


async def opened(path: Path) -> Snapshot:
    snapshot = Snapshot(path, "account", "audience")
    await snapshot.open()
    return snapshot


async def holding(path: Path, *rows: StagedRow) -> None:
    """A file that says of these rows that they were accepted."""
    snapshot = await opened(path)
    await snapshot.stage(rows)
    await snapshot.compare(now=NOW, soon=SOON)
    await send_additions(snapshot)
    await snapshot.accept("Update", [range(1, len(rows) + 1)])
    await snapshot.confirm_additions(refused=False, repeated=False)
    await snapshot.finish()
    await snapshot.aclose()


async def send_additions(snapshot: Snapshot, *, now: int = NOW) -> None:
    await snapshot.expect_additions(now=now)
    await snapshot.additions(1)


async def compared(snapshot: Snapshot, *rows: StagedRow, now: int = NOW) -> Difference:
    await snapshot.stage(rows)
    return await snapshot.compare(now=now, soon=now + 100)


async def test_what_was_accepted_is_held_for_sure_and_the_file_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA, BOB), row(2, EVE, until=SOON + 1))
    assert held(path) == {ADA: (LATER, LATER), BOB: (LATER, LATER), EVE: (SOON + 1, SOON + 1)}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_row_is_added_whole_when_one_of_its_identifiers_is_not_held(tmp_path: Path) -> None:
    await holding(tmp_path / "snapshot", row(1, ADA))
    snapshot = await opened(tmp_path / "snapshot")
    assert await compared(snapshot, row(1, ADA), row(4, ADA, BOB), row(9, ADA)) == Difference(
        known=1, additions=1, removals=0
    )
    assert await snapshot.additions(1) == [AudienceUser(email=[ADA.hex(), BOB.hex()])]
    assert await snapshot.additions(2) == []
    assert await snapshot.numbers_of([1]) == {1: 4}
    await snapshot.aclose()


async def test_what_is_not_desired_is_removed_one_identifier_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA, BOB), row(2, EVE))
    snapshot = await opened(path)
    assert await compared(snapshot, row(1, EVE)) == Difference(known=3, additions=0, removals=2)
    assert await snapshot.removals(1) == [AudienceUser(email=ADA.hex()), AudienceUser(email=BOB.hex())]
    await snapshot.expect_removals()
    await snapshot.accept("Delete", [[1]])
    await snapshot.finish()
    await snapshot.aclose()
    assert held(path) == {BOB: (0, LATER), EVE: (LATER, LATER)}


async def test_an_addition_without_an_answer_is_perhaps_held_added_again_and_removed_when_not_desired(
    tmp_path: Path,
) -> None:
    path = tmp_path / "snapshot"
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA))
    await send_additions(snapshot)
    await snapshot.aclose()
    snapshot = await opened(path)
    assert await compared(snapshot, row(1, ADA)) == Difference(known=1, additions=1, removals=0)
    await snapshot.aclose()
    assert held(path) == {ADA: (0, LATER)}
    snapshot = await opened(path)
    assert await compared(snapshot) == Difference(known=1, additions=0, removals=1)
    await snapshot.aclose()


@pytest.mark.parametrize("is_finished", [True, False])
async def test_of_additions_that_were_broken_off_what_was_accepted_is_held(tmp_path: Path, is_finished: bool) -> None:
    path = tmp_path / "snapshot"
    await holding(path, *(row(number, bytes([number]) * 32) for number in range(8, 15)))
    snapshot = await opened(path)
    found = await compared(snapshot, *(row(number, bytes([number]) * 32) for number in range(1, 8)))
    assert (found.additions, found.removals) == (7, 7)
    await send_additions(snapshot)
    await snapshot.accept("Update", [[2, 3, 5], [7]])
    if is_finished:
        await snapshot.finish()
    await snapshot.aclose()
    await (await opened(path)).aclose()
    assert {digest[0]: bounds for digest, bounds in held(path).items()} == {
        number: (0 if number in (1, 4, 6) else LATER, LATER) for number in range(1, 15)
    }


async def test_an_answer_that_is_missing_shortens_what_another_row_has_for_sure(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA, until=LATER + 500), row(2, ADA, BOB))
    await send_additions(snapshot)
    await snapshot.accept("Update", [[1]])
    await snapshot.aclose()
    await (await opened(path)).aclose()
    assert held(path) == {ADA: (LATER, LATER + 500), BOB: (0, LATER)}


@pytest.mark.parametrize("is_finished", [True, False])
async def test_of_removals_that_were_broken_off_what_was_accepted_is_forgotten(
    tmp_path: Path, is_finished: bool
) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA), row(2, BOB), row(3, EVE))
    snapshot = await opened(path)
    await compared(snapshot, row(1, b"r" * 32), row(2, b"t" * 32))
    await send_additions(snapshot)
    await snapshot.accept("Update", [[2]])
    await snapshot.confirm_additions(refused=True, repeated=True)
    await snapshot.expect_removals()
    await snapshot.accept("Delete", [[1], [3]])
    if is_finished:
        await snapshot.finish()
    await snapshot.aclose()
    await (await opened(path)).aclose()
    assert held(path) == {BOB: (0, LATER), b"r" * 32: (0, LATER), b"t" * 32: (LATER, LATER)}


async def test_a_removal_without_an_answer_is_removed_again_or_added_again(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA))
    snapshot = await opened(path)
    await compared(snapshot)
    await snapshot.expect_removals()
    await snapshot.aclose()
    for rows, expected in (((), (0, 1)), ((row(1, ADA),), (1, 0))):
        snapshot = await opened(path)
        found = await compared(snapshot, *rows)
        assert (found.additions, found.removals) == expected
        await snapshot.aclose()


async def test_what_was_refused_for_sure_is_not_held_and_otherwise_it_may_be(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA))
    for repeated, expected in ((True, {BOB: (0, LATER)}), (False, {BOB: (0, LATER)})):
        snapshot = await opened(path)
        await compared(snapshot, row(1, ADA, BOB))
        await send_additions(snapshot)
        await snapshot.confirm_additions(refused=True, repeated=repeated)
        await snapshot.aclose()
        # What was there before is not forgotten, however the new attempt ended.
        assert held(path) == {ADA: (0, LATER)} | expected
    snapshot = await opened(path)
    await compared(snapshot, row(1, EVE), row(2, ADA))
    await send_additions(snapshot)
    await snapshot.accept("Update", [[2]])
    await snapshot.confirm_additions(refused=True, repeated=False)
    await snapshot.aclose()
    assert held(path) == {ADA: (LATER, LATER), BOB: (0, LATER)}


@pytest.mark.parametrize(("repeated", "bob"), [(False, {}), (True, {BOB: (0, SOON)})])
async def test_an_identifier_of_a_refused_row_and_of_a_taken_one_is_held(
    tmp_path: Path, repeated: bool, bob: Held
) -> None:
    path = tmp_path / "snapshot"
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA, BOB, until=SOON), row(2, ADA))
    await send_additions(snapshot)
    await snapshot.accept("Update", [[2]])
    await snapshot.confirm_additions(refused=True, repeated=repeated)
    await snapshot.aclose()
    assert held(path) == {ADA: (SOON if repeated else LATER, LATER)} | bob


async def test_what_was_announced_and_never_handed_out_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_snapshot, "ROWS_PER_PAGE", 2)
    path = tmp_path / "snapshot"
    await holding(path, row(1, EVE))
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA), row(2, BOB), row(3, BOB, b"x" * 32), row(4, EVE, b"y" * 32))
    await snapshot.expect_additions(now=NOW)
    await snapshot.additions(1)
    await snapshot.accept("Update", [[1]])
    await snapshot.aclose()
    await (await opened(path)).aclose()
    # Eve was held before, and her row would have said so again.
    assert held(path) == {ADA: (LATER, LATER), BOB: (0, LATER), EVE: (0, LATER)}


async def test_what_has_expired_is_absent_and_forgotten_without_a_removal(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA, BOB))
    snapshot = await opened(path)
    found = await compared(snapshot, row(1, ADA, until=LATER + 500), now=LATER)
    assert found == Difference(known=0, additions=1, removals=0)
    await send_additions(snapshot, now=LATER)
    await snapshot.accept("Update", [[1]])
    await snapshot.confirm_additions(refused=False, repeated=False)
    await snapshot.aclose()
    assert held(path) == {ADA: (LATER + 500, LATER + 500)}


@pytest.mark.parametrize(("until", "additions"), [(LATER, 0), (LATER + 1, 1)])
async def test_what_ends_soon_is_added_again_only_to_last_longer(tmp_path: Path, until: int, additions: int) -> None:
    await holding(tmp_path / "snapshot", row(1, ADA))
    snapshot = await opened(tmp_path / "snapshot")
    assert (await compared(snapshot, row(1, ADA, until=until), now=LATER - 101)).additions == 0
    await snapshot.aclose()
    snapshot = await opened(tmp_path / "snapshot")
    assert (await compared(snapshot, row(1, ADA, until=until), now=LATER - 99)).additions == additions
    await snapshot.aclose()


async def test_a_row_is_added_with_its_times(tmp_path: Path) -> None:
    snapshot = await opened(tmp_path / "snapshot")
    ends = "2026-12-01T00:00:00.500000Z"
    await compared(snapshot, row(1, ADA, expires_at=ends))
    expiry = parse_timestamp(ends)
    assert expiry is not None
    user = AudienceUser(email=ADA.hex())
    assert await snapshot.additions(1) == [Operation("Update", OperationParams(users=[user], expires_at=expiry))]
    await snapshot.aclose()


async def test_nothing_of_a_sync_stays_but_what_is_held(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA), row(2, BOB))
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA), row(2, EVE))
    await snapshot.hold_back()
    assert await snapshot.removals(1) == []
    await snapshot.finish()
    everything = bytes_in(tmp_path)
    await snapshot.aclose()
    assert (ADA in everything, BOB in everything, EVE in everything) == (True, True, False)


@pytest.mark.parametrize("other", [("account", "other"), ("other", "audience")])
async def test_a_snapshot_of_another_audience_is_refused_with_both_named(
    tmp_path: Path, other: tuple[str, str]
) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA))
    with pytest.raises(ConfigurationError) as caught:
        await Snapshot(path, *other).open()
    assert str(caught.value) == (
        f"the snapshot {path} is of the audience audience of the account account, not of the audience {other[1]} of the "
        f"account {other[0]}: choose another path"
    )


async def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE things (id)")
    connection.close()
    with pytest.raises(ConfigurationError, match="holds something else: choose another path"):
        await Snapshot(path, "account", "audience").open()


async def test_a_file_that_fails_on_the_way_is_told(tmp_path: Path) -> None:
    def drop(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE staged")

    snapshot = await opened(tmp_path / "snapshot")
    await snapshot._database.run(drop)
    with pytest.raises(ConfigurationError, match="cannot be written: no such table: staged"):
        await snapshot.stage([row(1, ADA)])
    await snapshot.aclose()
