"""A sync that is killed again and again, and goes on each time where it was."""

import hashlib
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.proofs.processes import Member, Service, service, upload_until

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
