"""Eight processes share the quota of an account through a real Redis."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from tests.proofs.processes import ROOT, Service, service, telling
from tests.support.redis import own_redis, redis_running

LIMIT: Final = "custom_audience_uploads"
PROCESSES: Final = 8
LATENCY_SECONDS: Final = 0.2
WINDOWS: Final = 5
LEAST_USED: Final = 0.95
LARGEST_DEVIATION: Final = 0.2
# On a busy machine the processes take a good part of the short windows to start.
LEAST_USED_OF_SHORT_WINDOWS: Final = 0.8
LARGEST_DEVIATION_IN_SHORT_WINDOWS: Final = 0.5
TIMEOUT_SECONDS: Final = 3.0


@pytest.fixture
def redis_url() -> Iterator[str]:
    with redis_running() as url:
        redis.Redis.from_url(url).flushdb()
        yield url


def write_people(path: Path, process: int, count: int) -> Path:
    file = path / f"people{process}.csv"
    file.write_text("email\n" + "".join(f"p{process}.{number}@example.com\n" for number in range(count)), "utf-8")
    return file


def rest_of(client: "subprocess.Popen[str]") -> str:
    """What a client still writes until it ends."""
    assert client.stdout is not None
    return client.stdout.read()


def order_of(redis_url: str, emulator: Service, window: tuple[int, float]) -> dict[str, Any]:
    """One row makes a request, so that the limit is what a job has to wait for."""
    account, audience = emulator.audience
    config = {"max_operations": 1, "rate_limits": {LIMIT: window}, "timeout_seconds": TIMEOUT_SECONDS}
    return {"redis_url": redis_url, "account": account, "audience": audience, "config": config}


def accepted_of(stdout: str) -> int:
    """How many rows a process was told to be accepted last, each of them by a request of its own."""
    told: list[int] = [json.loads(line).get("accepted", 0) for line in stdout.splitlines() if line.endswith("}")]
    return max(told, default=0)


@pytest.mark.timeout(600)
def test_eight_processes_use_one_quota_up_in_equal_shares_and_meet_no_429(
    tmp_path: Path, proof_scale: float, redis_url: str
) -> None:
    requests, seconds = window = (1_500, 60.0) if proof_scale == 1 else (150, 6.0)
    share = requests * WINDOWS / PROCESSES
    with service({LIMIT: window}) as emulator, contextlib.ExitStack() as running:
        emulator.fault("latency", delay_seconds=LATENCY_SECONDS)
        order = order_of(redis_url, emulator, window)
        files = [write_people(tmp_path, process, int(2 * share)) for process in range(PROCESSES)]
        clients = [running.enter_context(telling("upload_client.py", emulator, file, order)) for file in files]
        first = wait_for_request(emulator)
        wait_until(first + WINDOWS * seconds)
        for client in clients:
            client.send_signal(signal.SIGTERM)
        shares = [accepted_of(rest_of(client)) for client in clients]
        records = [each for each in emulator.requests() if each["time"] < first + WINDOWS * seconds]
    used = len(records) / (requests * WINDOWS)
    print(
        f"\n{PROCESSES} processes at {LATENCY_SECONDS} s of latency under a limit of {requests:,} in {seconds:g} s: "
        f"{used:.1%} of the quota of {WINDOWS} windows; {sum(each['status'] == 429 for each in records)} times 429; "
        f"requests of each: {', '.join(f'{each:,}' for each in sorted(shares))}"
    )
    assert {each["status"] for each in records} - {None} == {200}  # none where a process ended before the answer
    assert used >= (LEAST_USED if proof_scale == 1 else LEAST_USED_OF_SHORT_WINDOWS)
    deviation = LARGEST_DEVIATION if proof_scale == 1 else LARGEST_DEVIATION_IN_SHORT_WINDOWS
    mean = sum(shares) / PROCESSES
    assert (1 - deviation) * mean <= min(shares) <= max(shares) <= (1 + deviation) * mean


def wait_for_request(emulator: Service) -> float:
    """When the first request was counted."""
    while not (records := emulator.requests()):
        wait_until(time.time() + 0.05)
    first: float = records[0]["time"]
    return first


def wait_until(at: float) -> None:
    """Waits in real time: other processes work meanwhile."""
    time.sleep(max(0.0, at - time.time()))


@pytest.mark.timeout(300)
def test_a_job_waits_for_redis_then_stops_with_a_sentence_and_goes_on_exactly_when_it_is_back(
    tmp_path: Path, proof_scale: float
) -> None:
    rows = int(20_000 * proof_scale)
    journal = tmp_path / "upload.journal"
    with own_redis() as server, service({LIMIT: (1_000_000, 60.0)}) as emulator:
        emulator.fault("latency", delay_seconds=0.05)
        account, audience = emulator.audience
        environment = emulator.environment | {
            "SOCIALAPI_REDIS_URL": server.url,
            "SOCIALAPI_MAX_OPERATIONS": "1",
            "SOCIALAPI_MAX_ELAPSED_SECONDS": "3",
        }
        file = write_people(tmp_path, 0, rows)
        upload_it = ["audience", "upload", str(file), "--account", account, "--audience", audience]
        with command([*upload_it, "--journal", str(journal)], environment) as running:
            while len(emulator.requests()) < rows / 4:
                wait_until(time.time() + 0.02)
            server.stop()
            stopped = time.time()
            said = running.communicate()[1]
        waited_seconds = time.time() - stopped
        before = len(emulator.members())
        print(f"\nexit status {running.returncode} after {waited_seconds:.1f} s: {said.splitlines()[-1]}")
        assert running.returncode == 3
        assert re.search(r"the Redis server that keeps the rate limits did not answer for \d s", said), said
        assert 3.0 <= waited_seconds < 20.0
        assert rows / 4 <= before < rows
        server.start()
        with command(["jobs", "resume", str(journal)], environment) as resumed:
            said = resumed.communicate()[1]
        assert resumed.returncode == 0, said
        assert len(emulator.members()) == rows
        assert {each["status"] for each in emulator.requests()} == {200}
        assert len(emulator.requests()) <= rows + 32  # what was on its way may have been sent twice


def command(arguments: list[str], environment: dict[str, str]) -> "subprocess.Popen[str]":
    """Runs the command line."""
    return subprocess.Popen(
        [sys.executable, "-m", "socialapi", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
