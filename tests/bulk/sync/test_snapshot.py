"""The file that says what an audience holds: its states, and what it never says."""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi._speedups import Digests
from socialapi.bulk.rows import Action, RowBlock
from socialapi.bulk.sync import snapshot as sync_snapshot
from socialapi.bulk.sync.buckets import digests_of
from socialapi.bulk.sync.scratch import FILES, scratch_folder
from socialapi.bulk.sync.snapshot import Difference, Snapshot
from socialapi.errors import ConfigurationError
from tests.support.files import mode_of, names_in

NOW: Final = 1_000_000
SOON: Final = NOW + 100
LATER: Final = NOW + 10_000
ADA, BOB, EVE = (letter * 32 for letter in (b"a", b"b", b"e"))

Held = dict[bytes, tuple[int, int]]
Staged = tuple[RowBlock, int]


def row(number: int, *digests: bytes, until: int = LATER, expires_at: str | None = None) -> Staged:
    columns = tuple(("email", Digests([digest.hex()])) for digest in digests)
    return RowBlock(Action("Update", None, expires_at), [number], columns), until  # type: ignore[arg-type]


def held(path: Path) -> Held:
    """Digest to the times until which it is held for sure, and perhaps."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT digests, sure, perhaps FROM members").fetchall()
    all_digests = [(digest, times) for packed, *times in found for digest in digests_of(packed)]
    assert len(dict(all_digests)) == len(all_digests)
    return {digest: (sure, perhaps) for digest, (sure, perhaps) in all_digests}


def bytes_in(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())


def shown(blocks: Iterable[RowBlock]) -> list[tuple[Action, int, list[str]]]:
    """The rows that are handed out: what is done, their positions, and their identifiers."""
    return [
        (block.action, block.numbers[at], [value for _, values in block.columns if (value := values[at])])
        for block in blocks
        for at in range(len(block))
    ]


async def opened(path: Path) -> Snapshot:
    snapshot = Snapshot(path, "account", "audience")
    await snapshot.open()
    return snapshot


async def holding(path: Path, *rows: Staged) -> None:
    """A file that says of these rows that they were accepted."""
    snapshot = await opened(path)
    await compared(snapshot, *rows)
    await send_additions(snapshot)
    await snapshot.accept("Update", [range(1, len(rows) + 1)])
    await snapshot.confirm_additions(refused=False, repeated=False)
    await snapshot.finish()
    await snapshot.aclose()


async def send_additions(snapshot: Snapshot, *, now: int = NOW) -> None:
    await snapshot.announce(now=now)
    while await snapshot.additions():
        pass


async def compared(snapshot: Snapshot, *rows: Staged, now: int = NOW) -> Difference:
    await snapshot.stage(rows)
    return await snapshot.compare(now=now, soon=now + 100)


async def ended(snapshot: Snapshot, path: Path) -> Held:
    """What is held after the process was ended, and the file was opened again."""
    await snapshot.aclose()
    await (await opened(path)).aclose()
    return held(path)


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
async def test_of_removals_that_were_broken_off_what_was_accepted_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_finished: bool
) -> None:
    path = tmp_path / "snapshot"
    monkeypatch.setattr(sync_snapshot, "ROWS_PER_PAGE", 3)
    await holding(path, row(1, ADA), row(2, BOB), row(3, EVE), row(4, b"z" * 32))
    snapshot = await opened(path)
    await compared(snapshot, row(1, b"r" * 32), row(2, b"t" * 32))
    await send_additions(snapshot)
    await snapshot.accept("Update", [[2]])
    await snapshot.confirm_additions(refused=True, repeated=True)
    assert len(shown(await snapshot.removals())) == 3
    await snapshot.accept("Delete", [[1], [3]])
    if is_finished:
        await snapshot.finish()
    # What was never handed out is held as it was.
    assert await ended(snapshot, path) == {
        BOB: (0, LATER),
        b"z" * 32: (LATER, LATER),
        b"r" * 32: (0, LATER),
        b"t" * 32: (LATER, LATER),
    }


async def test_a_removal_without_an_answer_is_removed_again_or_added_again(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA))
    snapshot = await opened(path)
    await compared(snapshot)
    await snapshot.announce(now=NOW)
    await snapshot.removals()
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
        # What was there before is not forgotten, however the new attempt ended.
        assert await ended(snapshot, path) == {ADA: (0, LATER)} | expected
    snapshot = await opened(path)
    await compared(snapshot, row(1, EVE), row(2, ADA))
    await send_additions(snapshot)
    await snapshot.accept("Update", [[2]])
    await snapshot.confirm_additions(refused=True, repeated=False)
    assert await ended(snapshot, path) == {ADA: (LATER, LATER), BOB: (0, LATER)}


async def test_who_was_held_stays_held_when_a_new_attempt_is_refused_for_sure(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA))
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA, BOB))
    await send_additions(snapshot)
    await snapshot.confirm_additions(refused=True, repeated=False)
    assert await ended(snapshot, path) == {ADA: (LATER, LATER)}


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
    assert await ended(snapshot, path) == {ADA: (SOON if repeated else LATER, LATER)} | bob


async def test_what_was_announced_and_never_handed_out_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_snapshot, "ROWS_PER_PAGE", 2)
    path = tmp_path / "snapshot"
    await holding(path, row(1, EVE))
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA), row(2, BOB), row(3, BOB, b"x" * 32), row(4, EVE, b"y" * 32))
    await snapshot.announce(now=NOW)
    await snapshot.additions()
    await snapshot.accept("Update", [[1]])
    assert await ended(snapshot, path) == {ADA: (LATER, LATER), BOB: (0, LATER), EVE: (LATER, LATER)}


async def test_what_has_expired_is_absent_and_forgotten_without_a_removal(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA, BOB))
    snapshot = await opened(path)
    found = await compared(snapshot, row(1, ADA, until=LATER + 500), now=LATER)
    assert found == Difference(known=0, additions=1, removals=0)
    await send_additions(snapshot, now=LATER)
    await snapshot.accept("Update", [[1]])
    await snapshot.confirm_additions(refused=False, repeated=False)
    assert await ended(snapshot, path) == {ADA: (LATER + 500, LATER + 500)}


@pytest.mark.parametrize(("until", "additions"), [(LATER, 0), (LATER + 1, 1)])
async def test_what_ends_soon_is_added_again_only_to_last_longer(tmp_path: Path, until: int, additions: int) -> None:
    await holding(tmp_path / "snapshot", row(1, ADA))
    snapshot = await opened(tmp_path / "snapshot")
    assert (await compared(snapshot, row(1, ADA, until=until), now=LATER - 101)).additions == 0
    await snapshot.aclose()
    snapshot = await opened(tmp_path / "snapshot")
    assert (await compared(snapshot, row(1, ADA, until=until), now=LATER - 99)).additions == additions
    await snapshot.aclose()


async def test_rows_of_one_block_keep_their_numbers_and_their_gaps(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, BOB))
    snapshot = await opened(path)
    columns: Any = (
        ("handle", Digests(["", ADA.hex(), EVE.hex(), ""])),
        ("email", Digests([BOB.hex(), "", "", BOB.hex()])),
        ("email", Digests([ADA.hex(), "", BOB.hex(), ""])),
    )
    block = RowBlock(Action("Update"), [3, 4, 7, 9], columns)
    assert await compared(snapshot, (block, LATER)) == Difference(known=1, additions=3, removals=0)
    (page,) = await snapshot.additions()
    assert page.numbers == range(1, 4)
    assert tuple((kind, list(values)) for kind, values in page.columns) == (
        ("handle", ["", ADA.hex(), EVE.hex()]),
        ("email", [BOB.hex(), "", ""]),
        ("email", [ADA.hex(), "", BOB.hex()]),
    )
    assert await snapshot.numbers_of([3, 1, 2]) == {1: 3, 2: 4, 3: 7}
    await snapshot.aclose()


# What is left behind -------------------------------------------------------------------------------------------------


async def test_nothing_of_a_sync_stays_but_what_is_held(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA), row(2, BOB))
    snapshot = await opened(path)
    await compared(snapshot, row(1, ADA), row(2, EVE))
    await snapshot.hold_back()
    assert await snapshot.removals() == []
    await snapshot.finish()
    everything = bytes_in(tmp_path)
    await snapshot.aclose()
    assert (ADA in everything, BOB in everything, EVE in everything) == (True, True, False)
    assert names_in(tmp_path) == ["snapshot"]


async def test_a_snapshot_takes_at_most_36_bytes_an_identifier_after_a_first_sync(tmp_path: Path) -> None:
    path, rows = tmp_path / "snapshot", 60_000
    digests = Digests([hashlib.sha256(b"%d" % number).hexdigest() for number in range(rows)])
    snapshot = await opened(path)
    await compared(snapshot, (RowBlock(Action("Update"), range(1, rows + 1), (("email", digests),)), LATER))
    await send_additions(snapshot)
    # As of rows that are scattered between others that repeat them: a line for each until the end.
    await snapshot.accept("Update", [[number] for number in range(1, rows + 1)])
    await snapshot.confirm_additions(refused=False, repeated=False)
    await snapshot.finish()
    await snapshot.aclose()
    assert len(held(path)) == rows
    assert path.stat().st_size <= 36 * rows


async def test_the_scratch_files_are_their_owners_and_are_removed(tmp_path: Path) -> None:
    path, folder = tmp_path / "snapshot", scratch_folder(tmp_path / "snapshot")
    snapshot = await opened(path)
    assert not folder.exists()
    await compared(snapshot, row(1, ADA))
    await snapshot.announce(now=NOW)
    assert mode_of(folder) == 0o700
    assert {each.name: mode_of(each) for each in folder.iterdir()} == dict.fromkeys(
        ("rows", "digests", "removals", "state"), 0o600
    )
    await snapshot.finish()
    assert not folder.exists()
    await compared(snapshot, row(1, BOB))
    await snapshot.aclose()
    assert not folder.exists()


@pytest.mark.parametrize("left", [(), ("rows",), ("state", "finer"), FILES])
async def test_scratch_files_that_were_left_behind_are_removed_at_the_next_opening(
    tmp_path: Path, left: Sequence[str]
) -> None:
    path, folder = tmp_path / "snapshot", scratch_folder(tmp_path / "snapshot")
    await holding(path, row(1, ADA))
    folder.mkdir()
    for name in left:
        (folder / name).write_bytes(b"x")
    assert await ended(await opened(path), path) == {ADA: (LATER, LATER)}
    assert not folder.exists()


@pytest.mark.parametrize("what", ["a file", "a folder", "a link"])
async def test_something_else_in_the_place_of_the_scratch_folder_is_refused_and_stays(
    tmp_path: Path, what: str
) -> None:
    path, folder = tmp_path / "snapshot", scratch_folder(tmp_path / "snapshot")
    if what == "a file":
        folder.write_bytes(b"mine")
    elif what == "a folder":
        folder.mkdir()
        (folder / "rows").write_bytes(b"mine")
        (folder / "photos").write_bytes(b"mine")
    else:
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    before = bytes_in(folder) if folder.is_dir() else folder.read_bytes()
    with pytest.raises(ConfigurationError, match=r"snapshot\.sync contains other files"):
        await opened(path)
    assert (bytes_in(folder) if folder.is_dir() else folder.read_bytes()) == before


@pytest.mark.parametrize("missing", ["digests", "removals", "state", None])
@pytest.mark.parametrize("is_cut", [True, False])
async def test_a_sync_that_was_sending_needs_its_scratch_files(
    tmp_path: Path, missing: str | None, is_cut: bool
) -> None:
    path, folder = tmp_path / "snapshot", scratch_folder(tmp_path / "snapshot")
    await holding(path, row(1, ADA))
    snapshot = await opened(path)
    await compared(snapshot, row(1, BOB))
    await snapshot.announce(now=NOW)
    await snapshot.aclose()
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    if missing is None:
        shutil.rmtree(folder)
    elif is_cut:
        os.truncate(folder / missing, (folder / missing).stat().st_size - 1)
    else:
        (folder / missing).unlink()
    with pytest.raises(ConfigurationError) as caught:
        await opened(path)
    assert str(caught.value) == (
        f"the snapshot {path} needs the folder {folder}, where the last sync recorded what it was sending, but the "
        "folder is missing or damaged: restore it, or delete the snapshot and sync again: everyone is then added again, "
        "and people who left since are not removed"
    )
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)
    assert await ended(await opened(path), path) == {ADA: (LATER, LATER)}


# Files that are no snapshots -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [("account", "other"), ("other", "audience")])
async def test_a_snapshot_of_another_audience_is_refused_with_both_named(
    tmp_path: Path, other: tuple[str, str]
) -> None:
    path = tmp_path / "snapshot"
    await holding(path, row(1, ADA))
    with pytest.raises(ConfigurationError) as caught:
        await Snapshot(path, *other).open()
    assert str(caught.value) == (
        f"the snapshot {path} belongs to audience audience of account account, not to audience {other[1]} of "
        f"account {other[0]}: choose another path, or delete the file if it is not needed (socialapi jobs forget {path})"
    )


async def test_a_file_that_fails_on_the_way_is_told(tmp_path: Path) -> None:
    def drop(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE announced")

    snapshot = await opened(tmp_path / "snapshot")
    await snapshot._database.run(drop)
    await compared(snapshot, row(1, ADA))
    with pytest.raises(ConfigurationError, match="cannot be written: no such table: announced"):
        await snapshot.announce(now=NOW)
    await snapshot.aclose()
