"""A job that is killed again and again, and goes on each time where it was."""

import random
import sqlite3
import time
from collections import Counter
from pathlib import Path
from typing import Final

import attrs
import pytest

from socialapi.cli.demo_data import DEFAULT_REGION, ExpectedOutcome, write_crm_export
from tests.proofs.processes import Service, service, upload_until

pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("uploads")]

ROWS: Final = 2_000_000
KILLS: Final = 20
RNG: Final = random.Random(20_261_120)

Export = tuple[Path, ExpectedOutcome]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory, proof_scale: float) -> Export:
    path = tmp_path_factory.mktemp("export") / "crm.csv"
    return path, write_crm_export(path, int(ROWS * proof_scale))


@attrs.frozen
class Recorded:
    """What the journal of a killed job says: digests of bodies, and how many requests the log of the service had."""

    confirmed: frozenset[str]
    in_flight: frozenset[str]
    requests_so_far: int


def recorded(journal: Path, emulator: Service) -> Recorded:
    # Opened for writing, as the next run will: what a killed process leaves behind is put in order by whoever comes.
    with sqlite3.connect(journal) as connection:
        found = connection.execute("SELECT digest, confirmed FROM batches").fetchall()
    connection.close()
    confirmed = frozenset(digest.hex() for digest, is_confirmed in found if is_confirmed)
    return Recorded(confirmed, frozenset(d.hex() for d, _ in found) - confirmed, len(emulator.requests()))


def test_a_job_killed_at_random_moments_sends_no_confirmed_batch_twice(
    export: Export, proof_scale: float, tmp_path: Path
) -> None:
    path, expected = export
    kills = KILLS if proof_scale == 1 else 3
    moments = sorted(RNG.randrange(expected.accepted) for _ in range(kills))
    journal, rejects = tmp_path / "job.journal", tmp_path / "rejects.csv"
    options = {"default_region": DEFAULT_REGION, "journal": str(journal), "rejects": str(rejects)}
    # Batches of a size that makes the small job as many requests as the large one.
    config = {"max_operations": 2_500 if proof_scale == 1 else 250}
    states: list[Recorded] = []
    started = time.monotonic()
    with service() as emulator:
        for moment in moments:
            assert upload_until(emulator, path, moment, options=options, config=config) is None
            states.append(recorded(journal, emulator))
        told = upload_until(emulator, path, None, options=options, config=config)
        seconds = time.monotonic() - started
        assert told is not None
        log = emulator.requests()
        assert emulator.members() == expected.members
    report = told["report"]
    assert told["adds_up"]
    assert (report["read"], report["accepted"], report["rejected"], report["duplicate"], report["pending"]) == (
        expected.read,
        expected.accepted,
        expected.rejected,
        expected.duplicate,
        0,
    )
    assert rejects.read_text("utf-8").count("\n") == expected.rejected + 1

    sent = [request["body_sha256"] for request in log]
    twice = [state.confirmed & set(sent[state.requests_so_far :]) for state in states]
    times = Counter(sent)
    extra = len(sent) - len(times)
    in_flight = sum(len(state.in_flight) for state in states)
    print(
        f"\n{expected.read:,} rows, killed {len(moments)} times: {seconds:.1f} s in all, {len(sent):,} requests for "
        f"{len(times):,} batches, {extra} of them again; in flight when killed: {in_flight}; confirmed batches that "
        f"were sent again: {sum(map(len, twice))}"
    )
    assert not any(twice)
    assert extra <= in_flight
    assert {request["status"] for request in log} <= {200, None}
