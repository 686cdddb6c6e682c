"""A consumer of a queue commits what is settled, is killed at random moments, and nobody is lost."""

import contextlib
import hashlib
import random
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.proofs.processes import service, telling

pytestmark = [pytest.mark.timeout(1_800), pytest.mark.xdist_group("outcomes")]

ROWS: Final = 40_000
KILLS: Final = 100
LONGEST_RUN_SECONDS: Final = 1.0
"""A process is killed at any moment after its first sign of life, up to this one."""
FAULTS: Final = ("status", "reset_before", "reset_after", "truncate", "html", "count_mismatch")
LIKELY: Final = 0.05


@pytest.mark.parametrize("packing", ["single", "packed"])
def test_a_consumer_that_goes_on_at_its_offset_after_every_kill_loses_nobody(
    tmp_path: Path, proof_scale: float, packing: str
) -> None:
    rng, rows, kills = random.Random(packing), int(ROWS * proof_scale), 0
    addresses = ["nonsense" if rng.randrange(40) == 0 else f"p{number}@example.com" for number in range(rows)]
    members = ["" if each == "nonsense" else hashlib.sha256(each.encode()).hexdigest() for each in addresses]
    queue, offset = tmp_path / "queue", tmp_path / "offset"
    queue.write_text("".join(f"{each}\n" for each in addresses), "ascii")
    offset.write_text("0", "ascii")
    order: dict[str, Any] = {
        "offset": str(offset),
        "pause_seconds": 0.0005,
        "options": {"packing": packing, "flush_after_seconds": 0.05},
        "config": {"max_operations": 50},
        "timeout_seconds": 2.0,
    }
    offsets = [0]
    with service() as emulator:
        account, audience = emulator.audience
        for number, fault in enumerate(FAULTS):
            emulator.fault(fault, probability=LIKELY, seed=number)
        while offsets[-1] < rows:
            with telling(
                "upload_client.py", emulator, queue, {**order, "account": account, "audience": audience}
            ) as run:
                assert run.stdout is not None
                run.stdout.readline()
                if kills < KILLS * proof_scale:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        run.wait(rng.uniform(0, LONGEST_RUN_SECONDS))
                    run.kill()
                    kills += 1
                run.stdout.read()
            offsets.append(int(offset.read_text("ascii")))
            assert {each for each in members[: offsets[-1]] if each} <= {value for _, value in emulator.members()}
    assert offsets == sorted(offsets)
    print(f"\n{packing}: {rows:,} rows, killed {kills} times, which went on at {offsets}")
