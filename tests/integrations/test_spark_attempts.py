"""Two attempts at a partition, each in a process of its own, as Spark makes them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi.integrations.spark_options import WriteSettings
from tests.proofs.processes import ROOT, Service, service
from tests.support.redis import redis_running

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]

ROWS: Final = 4_000
TIMEOUT_SECONDS: Final = 3


def settings(emulator: Service, **more: Any) -> WriteSettings:
    account, audience = emulator.audience
    return WriteSettings(
        **{
            "write": "monday",
            "started_at": "2027-01-15T08:00:00Z",
            "kind": "audience",
            "account": account,
            "target": audience,
            "keywords": {"operation": "Update"},
            "job": "crm",
            **more,
        }
    )


def attempt(
    emulator: Service, redis_url: str | None, number: int, *, stops_after: int | None = None, **more: Any
) -> "subprocess.Popen[str]":
    """Starts an attempt at partition 0."""
    order = {
        "settings": attrs.asdict(settings(emulator, **more)),
        "attempt": {"partition": 0, "number": number, "task": 10 + number},
        "rows": ROWS,
        "stops_after": stops_after,
    }
    environment = {**os.environ, **emulator.environment, "SOCIALAPI_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS)}
    environment |= {"SOCIALAPI_MAX_OPERATIONS": "1000"}
    if redis_url is not None:
        environment["SOCIALAPI_REDIS_URL"] = redis_url
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integrations.partition_client"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(order))
    process.stdin.close()
    process.stdin = None
    return process


def test_an_attempt_that_hung_sends_nothing_after_its_successor_began() -> None:
    with redis_running() as redis_url, service() as emulator:
        first = attempt(emulator, redis_url, 0, stops_after=2_500)
        try:
            _, status = os.waitpid(first.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            sent_before = len(emulator.requests())
            second = attempt(emulator, redis_url, 1)
            told, _ = second.communicate(timeout=60)
            assert json.loads(told)["accepted"] == ROWS
            records = emulator.requests()
            assert len(records) == sent_before + 4
            waited = records[sent_before]["time"] - records[sent_before - 1]["time"]
            assert waited > TIMEOUT_SECONDS
            first.send_signal(signal.SIGCONT)
            said, _ = first.communicate(timeout=60)
        finally:
            first.kill()
            first.wait()
        assert first.returncode == 3
        assert "partition 0, attempt 0: the upload stopped: another attempt at this part of the job has started" in said
        assert len(emulator.requests()) == len(records)
        assert len(emulator.members()) == ROWS


def test_a_write_that_hung_sends_nothing_after_the_next_write_of_its_job_began() -> None:
    """Whom the next one deletes would be added again."""
    with redis_running() as redis_url, service() as emulator:
        first = attempt(emulator, redis_url, 0, stops_after=2_500)
        try:
            _, status = os.waitpid(first.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            second = attempt(emulator, redis_url, 0, write="tuesday", keywords={"operation": "Delete"})
            told, _ = second.communicate(timeout=60)
            assert json.loads(told)["accepted"] == ROWS
            first.send_signal(signal.SIGCONT)
            said, _ = first.communicate(timeout=60)
        finally:
            first.kill()
            first.wait()
        assert "another run of the job has started" in said
        assert emulator.members() == set()


def test_without_redis_another_attempt_is_refused_by_its_number_or_by_the_report_of_the_first(tmp_path: Path) -> None:
    with service() as emulator:
        said, _ = attempt(emulator, None, 1).communicate(timeout=60)
        assert "set SOCIALAPI_REDIS_URL in the environment of the executors" in said
        for number, expected in ((0, "{"), (0, "{"), (1, "partition 0, attempt 1")):
            said, _ = attempt(emulator, None, number, report=str(tmp_path)).communicate(timeout=60)
            assert said.startswith(expected)
        # A stage that is run again counts its attempts from zero, and has another task.
        (report,) = tmp_path.glob("part-monday-00000-10.json")
        report.rename(tmp_path / "part-monday-00000-7.json")
        said, _ = attempt(emulator, None, 0, report=str(tmp_path)).communicate(timeout=60)
        assert "this partition was attempted before" in said
