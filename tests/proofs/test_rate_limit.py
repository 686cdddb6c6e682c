"""A long job uses the rate limit up and never runs into it."""

import itertools
from pathlib import Path
from typing import Final

import attrs
import pytest

from tests.proofs.processes import service, upload

LIMIT: Final = "custom_audience_uploads"
LATENCY_SECONDS: Final = 0.4
LEAST_FILLED: Final = 0.95


@attrs.define
class Window:
    opened: float
    requests: int = 0


def windows_of(arrivals: list[float], seconds: float) -> list[Window]:
    """The windows of the service with the requests in each.

    A window opens with the first request that is counted after the one before it ended, as the service has it.
    Requests are counted when their latency is over, which is the same for all of them.
    """
    windows: list[Window] = []
    for arrival in sorted(arrivals):
        if not windows or arrival >= windows[-1].opened + seconds:
            windows.append(Window(arrival))
        windows[-1].requests += 1
    return windows


@pytest.mark.timeout(300)
def test_a_long_job_fills_the_window_and_never_meets_a_429(tmp_path: Path, proof_scale: float) -> None:
    # At a part of the size the window is shorter and holds less, at the same rate and the same latency.
    requests, seconds = (1_500, 60.0) if proof_scale == 1 else (150, 6.0)
    rows = int(2.2 * requests)
    path = tmp_path / "people.csv"
    path.write_text("email\n" + "".join(f"person{number}@example.com\n" for number in range(rows)), "utf-8")
    with service({LIMIT: (requests, seconds)}) as emulator:
        emulator.fault("latency", delay_seconds=LATENCY_SECONDS)
        # One row makes a request, so that the limit is what the job has to wait for.
        told = upload(emulator, path, config={"max_operations": 1, "rate_limits": {LIMIT: (requests, seconds)}})
        records = emulator.requests()
    windows = windows_of([record["time"] for record in records], seconds)
    full = [window.requests for window in windows[:-1]]  # the end of the job cuts the last one short
    between = [later.opened - window.opened for window, later in itertools.pairwise(windows)]
    print(
        f"\n{len(records):,} requests at {LATENCY_SECONDS} s of latency under a limit of {requests:,} in {seconds:g} s: "
        f"{sum(record['status'] == 429 for record in records)} times 429; full windows of the service hold "
        f"{', '.join(f'{count:,} ({count / requests:.1%})' for count in full)}; the "
        f"next one opens after {', '.join(f'{each:.2f} s' for each in between)}; {told['seconds']:.1f} s in all, at most {told['most_in_flight']} at once"
    )
    assert [record["status"] for record in records] == [200] * rows
    assert told["report"]["accepted"] == rows
    assert 10 <= told["most_in_flight"] <= 32  # 25 a second times 0.4 s, and a bit
    assert len(full) >= 2
    assert min(full) >= LEAST_FILLED * requests
