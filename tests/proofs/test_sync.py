"""A sync that is killed again and again, and goes on each time where it was; and what a large one takes."""

import asyncio
import contextlib
import hashlib
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi._speedups import Digests
from socialapi.bulk.sync.buckets import KINDS
from socialapi.bulk.sync.snapshot import Snapshot
from tests.proofs.processes import (
    Member,
    Service,
    counting_service,
    run_client,
    service,
    sync_until,
    upload_until,
)
from tests.proofs.test_memory import write_csv

pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("uploads")]

ROWS: Final = 500_000
GONE_SHARE: Final = 0.3
IN_FLIGHT: Final = 4
"""Requests that a job has on its way at most, each of them until it is noted that it was accepted."""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(path: Path, rows: range) -> set[Member]:
    """A file of as many people, whose addresses and numbers are as they are hashed."""
    people = [(f"person.{row}@example.com", f"+1415{2_000_000 + row:07}") for row in rows]
    path.write_text("".join(f"{email},{phone}\n" for email, phone in (("email", "phone_number"), *people)), "utf-8")
    return {(kind, digest(text)) for each in people for kind, text in zip(("email", "phone_number"), each, strict=True)}


class Syncs:
    """Syncs of an audience with one snapshot, and what the service has seen of them."""

    def __init__(self, emulator: Service, folder: Path, max_operations: int) -> None:
        self.emulator = emulator
        self._options = {"snapshot": str(folder / "snapshot"), "max_removal_share": 1.0}
        self._config = {"max_operations": max_operations, "max_concurrency": IN_FLIGHT}
        self.max_operations = max_operations
        self._requests_before = 0

    def run(self, path: Path, kill_after: int | None = None) -> dict[str, Any] | None:
        return upload_until(self.emulator, path, kill_after, method="sync", options=self._options, config=self._config)

    def users_sent(self) -> int:
        """Users in the requests that came since this was asked last."""
        log = self.emulator.requests()
        new, self._requests_before = log[self._requests_before :], len(log)
        assert {request["status"] for request in new} <= {200, None}
        return sum(request["users"] or 0 for request in new)


def killed(syncs: Syncs, path: Path, moments: Sequence[int], left: Callable[[], int]) -> tuple[dict[str, Any], int]:
    """Syncs until the end, killed whenever so many of this run are accepted, and once as it comes to its end.

    Returns how it ended, and users sent in all; `left` says how much there is to do.
    """
    sent = syncs.users_sent()
    for moment in moments:
        assert syncs.run(path, kill_after=moment) is None
        sent += syncs.users_sent()
    assert syncs.run(path, kill_after=left() - syncs.max_operations) is None
    sent += syncs.users_sent()
    told = syncs.run(path)
    assert told is not None
    assert told["adds_up"]
    return told["report"], sent + syncs.users_sent()


def test_a_sync_killed_at_random_moments_sends_again_only_what_is_in_doubt(proof_scale: float, tmp_path: Path) -> None:
    rows, rng = int(ROWS * proof_scale), random.Random(20_261_120)
    max_operations = 2_500 if proof_scale == 1 else 250
    kills = 6 if proof_scale == 1 else 3
    gone = int(rows * GONE_SHARE)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    everybody, staying = write(first, range(rows)), write(second, range(gone, rows))
    # About half of everything is accepted in runs that are killed: sent again, it would be far more than what is allowed.
    added, removed = [[int(rng.uniform(0.4, 0.6) * most / kills) for _ in range(kills)] for most in (rows, 2 * gone)]
    started = time.monotonic()
    with service() as emulator:
        syncs = Syncs(emulator, tmp_path, max_operations)
        report, users_added = killed(syncs, first, added, lambda: len(everybody - emulator.members()) // 2)
        assert emulator.members() == everybody
        assert (report["read"], report["accepted"], report["identifiers_after"]) == (rows, rows, 2 * rows)
        report, users_removed = killed(syncs, second, removed, lambda: len(emulator.members() - staying))
        assert emulator.members() == staying
        assert (report["unchanged"], report["identifiers_after"]) == (rows - gone, 2 * (rows - gone))
    extra = (users_added - rows) + (users_removed - 2 * gone)
    print(
        f"\n{rows:,} rows added, {2 * gone:,} identifiers removed, killed {2 * (kills + 1)} times: "
        f"{time.monotonic() - started:.1f} s in all; {extra:,} users sent again, {max_operations:,} in a request"
    )
    assert extra <= 2 * (kills + 1) * IN_FLIGHT * max_operations


# Killed in every phase -----------------------------------------------------------------------------------------------

SYNC: Final = "socialapi.bulk.sync"
PHASES: Final[dict[str, tuple[str, int, str]]] = {
    # What is called in the phase, how often at most it is called before the kill, and when that comes.
    "reading": ("scratch.Scratch.add", 2, "after"),
    "comparing": ("members.compare", 300, "after"),
    "before announcing": ("scratch.Scratch.persist", 0, "before"),
    "while announcing": ("scratch.Scratch.persist", 0, "after"),
    "announced": ("snapshot.Snapshot.announce", 0, "after"),
    "handing out": ("snapshot.Snapshot.additions", 1, "after"),
    "adding": ("snapshot.Snapshot.accept", 4, "before"),
    "added": ("snapshot.Snapshot.accept", 4, "after"),
    "between both": ("snapshot.Snapshot.confirm_additions", 0, "after"),
    "removing": ("snapshot.Snapshot.removals", 2, "after"),
    "removed": ("snapshot.Snapshot.accept", 16, "after"),
    "taking over": ("members.take_over", 400, "before"),
    "between transactions": ("snapshot.Snapshot._take_over_some", 4, "after"),
    "tidying": ("snapshot.remove_scratch", 1, "before"),
    "tidied": ("snapshot.remove_scratch", 1, "after"),
}
KILLED_ROWS: Final = 60_000
ROUNDS: Final = 8


def claimed(snapshot: Path, folder: Path) -> tuple[set[Member], set[Member]]:
    """What a snapshot claims for sure once it is opened, and all that it says may be held. A copy is opened."""

    async def opened() -> None:
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            ((account, audience),) = connection.execute("SELECT account_id, custom_audience_id FROM target")
        it = Snapshot(copy, account, audience)
        await it.open()
        await it.aclose()

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(snapshot.parent, folder)
    copy = folder / snapshot.name
    asyncio.run(opened())
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        found = connection.execute("SELECT kind, digests, sure > 0 FROM members").fetchall()
    everything: dict[Member, bool] = {
        (KINDS[kind], digest): is_sure
        for kind, packed, is_sure in found
        for digest in filter(None, Digests.unpacked(packed, []))
    }
    return {each for each, is_sure in everything.items() if is_sure}, set(everything)


class Killed:
    """Syncs that are killed in a phase, each of another part of the people."""

    def __init__(self, emulator: Service, folder: Path, rows: int, rng: random.Random) -> None:
        self._emulator, self._folder, self._rows, self._rng = emulator, folder, rows, rng
        self._snapshot = folder / "held" / "snapshot"
        self._snapshot.parent.mkdir()
        self._order: dict[str, Any] = {
            "options": {"snapshot": str(self._snapshot), "max_removal_share": 1.0},
            "config": {"max_operations": rows // 60, "max_concurrency": IN_FLIGHT},
            # Small enough that buckets are divided, and what was accepted is taken over in several transactions.
            "constants": {
                f"{SYNC}.members.DIGESTS_AT_ONCE": rows // 100,
                f"{SYNC}.snapshot.BYTES_PER_TRANSACTION": rows * 4,
                f"{SYNC}.snapshot.ROWS_PER_PAGE": rows // 10,
            },
        }

    def write(self) -> tuple[Path, set[Member]]:
        """Another list of people, of whom many are no members yet, and many members are not among them."""
        path, members = self._folder / "desired.csv", self._emulator.members()
        while True:
            first = self._rng.randrange(2 * self._rows)
            desired = write(path, range(first, first + self._rows // 2))
            if not members or min(len(desired - members), len(members - desired)) > self._rows // 4:
                return path, desired

    def kill(self, phase: str) -> bool:
        name, most, when = PHASES[phase]
        path, _ = self.write()
        return sync_until(self._emulator, path, (f"{SYNC}.{name}", self._rng.randint(0, most), when), **self._order)

    def check_claims(self) -> None:
        sure, everything = claimed(self._snapshot, self._folder / "copy")
        members = self._emulator.members()
        assert sure <= members <= everything

    def sync(self) -> None:
        path, desired = self.write()
        told = upload_until(self._emulator, path, None, method="sync", **self._order)
        assert told is not None
        assert told["adds_up"]
        assert self._emulator.members() == desired
        assert claimed(self._snapshot, self._folder / "copy") == (desired, desired)
        assert {each.name for each in self._snapshot.parent.iterdir()} == {"snapshot"}


def test_a_sync_killed_in_any_phase_is_followed_exactly_by_one_of_another_list(
    proof_scale: float, tmp_path: Path
) -> None:
    rows, rounds = (KILLED_ROWS, ROUNDS) if proof_scale == 1 else (int(KILLED_ROWS * proof_scale), 1)
    phases = list(PHASES) if proof_scale == 1 else list(PHASES)[::2]
    kills = dict.fromkeys(phases, 0)
    with service() as emulator:
        syncs = Killed(emulator, tmp_path, rows, random.Random(20_261_122))
        syncs.sync()
        for _ in range(rounds):
            for phase in phases:
                kills[phase] += syncs.kill(phase)
                syncs.check_claims()
                if syncs._rng.random() < 0.5:
                    syncs.sync()
            syncs.sync()
    print(f"\nkilled: {', '.join(f'{phase} {count}' for phase, count in kills.items())}")
    assert all(kills.values())


# What it takes -------------------------------------------------------------------------------------------------------

SIZES: Final = (100_000, 1_000_000, 5_000_000)
MAX_RESIDENT: Final = 100_000_000
MAX_BYTES_AT_REST: Final = 36


def test_a_large_sync_takes_little_memory_and_few_bytes_an_identifier(proof_scale: float, tmp_path: Path) -> None:
    path, snapshot = tmp_path / "crm.csv", tmp_path / "snapshot"
    order: dict[str, Any] = {"account": "a", "audience": "c", "method": "sync", "options": {"snapshot": str(snapshot)}}
    with counting_service() as counting:
        for rows in (int(size * proof_scale) for size in SIZES):
            snapshot.unlink(missing_ok=True)
            write_csv(path, rows)
            first, again = [run_client("upload_client.py", counting, path, order) for _ in range(2)]
            at_rest = snapshot.stat().st_size / (2 * rows)
            seconds, sending = first["processor_seconds"], first["sending_seconds"]
            print(
                f"\n{rows:,} rows with e-mail and phone, processor time a row: {(seconds - sending) / rows * 1e6:.1f} us for "
                f"a first comparison, {seconds / rows * 1e6:.1f} with sending, "
                f"{again['processor_seconds'] / rows * 1e6:.1f} unchanged; peak {first['peak'] / 1e6:.0f} and "
                f"{again['peak'] / 1e6:.0f} MB; {at_rest:.1f} bytes an identifier at rest"
            )
            assert (first["report"]["accepted"], first["report"]["identifiers_after"]) == (rows, 2 * rows)
            assert (again["report"]["unchanged"], again["report"]["requests"]) == (rows, 0)
            assert max(first["peak"], again["peak"]) < MAX_RESIDENT
            # A bucket takes whole pages of the file, of which a small snapshot fills fewer.
            assert at_rest < MAX_BYTES_AT_REST or rows < 200_000
    path.unlink()  # which pytest would keep for three runs
