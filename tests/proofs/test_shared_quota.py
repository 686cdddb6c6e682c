"""Eight processes share the quota of an account through a real Redis."""

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import redis

from socialapi.config import Config
from socialapi.integrations.redis import RedisPacer
from socialapi.routes.route import RateLimit
from socialapi.session.rate_limiter import LimitStatus
from tests.proofs.processes import ROOT, Service, service, telling, upload
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


@pytest.mark.timeout(600)
def test_the_places_of_a_killed_process_return_one_window_after_its_lease(
    tmp_path: Path, proof_scale: float, redis_url: str
) -> None:
    requests, seconds = window = (1_500, 60.0) if proof_scale == 1 else (150, 6.0)
    rows = int(1.5 * requests / PROCESSES)
    rng = random.Random(proof_scale)
    with service({LIMIT: window}) as emulator, contextlib.ExitStack() as running:
        emulator.fault("latency", delay_seconds=LATENCY_SECONDS)
        order = order_of(redis_url, emulator, window)
        files = [write_people(tmp_path, process, rows) for process in range(PROCESSES)]
        orders = [{**order, "options": {"journal": str(tmp_path / f"{number}.journal")}} for number in range(PROCESSES)]
        clients = [
            running.enter_context(telling("upload_client.py", emulator, file, each))
            for file, each in zip(files, orders, strict=True)
        ]
        kill_after, dead = kill_with_places(clients[0], redis_url, at_least=rng.randrange(1, rows // 4))
        wait_until(max(dead.values()) + 0.1)
        status = asyncio.run(status_of(redis_url, order["config"], emulator.ready["ads_url"], order["account"]))
        returning = places(redis_url, "counted")
        outputs = [rest_of(client) for client in clients[1:]]
        rest = upload(emulator, files[0], **orders[0])
        records = emulator.requests()
        members = emulator.members()
    print(
        f"\nkilled after {kill_after:,} of {rows:,} rows with {len(dead)} places, which return "
        f"{', '.join(sorted({f'{returning[each] - at:.3f} s' for each, at in dead.items()}))} after their lease; "
        f"{len(records):,} requests, {sum(each['status'] == 429 for each in records)} times 429"
    )
    assert [accepted_of(output) for output in outputs] == [rows] * (PROCESSES - 1)
    assert rest["report"]["accepted"] == rows
    assert len(members) == PROCESSES * rows
    assert {each["status"] for each in records} == {200}
    assert 1 <= len(dead) <= 32
    assert returning.keys() >= dead.keys()
    assert all(abs(returning[place] - lease_ends - seconds) < 0.001 for place, lease_ends in dead.items())
    assert status.remaining is not None
    assert status.remaining <= requests - 1 - len(dead)


def kill_with_places(client: "subprocess.Popen[str]", redis_url: str, *, at_least: int) -> tuple[int, dict[str, float]]:
    """Kills a client while it has requests on their way: how many rows were accepted, and its places."""
    assert client.stdout is not None
    worker = json.loads(client.stdout.readline())["worker"]
    for line in client.stdout:
        if (accepted := json.loads(line).get("accepted", 0)) < at_least:
            continue
        client.send_signal(signal.SIGSTOP)
        own = {place: at for place, at in places(redis_url, "flying").items() if place.startswith(f"{worker}:")}
        if own:
            client.kill()
            return accepted, own
        client.send_signal(signal.SIGCONT)
    raise AssertionError("the client came to its end")


async def status_of(redis_url: str, settings: dict[str, Any], ads_url: str, account: str) -> LimitStatus:
    """The state of the window when one more place is taken."""
    config = attrs.evolve(Config(ads_url=ads_url), **settings)
    key = f"{LIMIT}/{account}"
    async with RedisPacer(redis_url, config) as pacer:
        limit = RateLimit(LIMIT, *config.rate_limits[LIMIT])
        await pacer.acquire(key, limit, bulk=False, max_wait_seconds=60.0)
        return pacer.limits()[key]


def places(redis_url: str, name: str) -> dict[str, float]:
    """The places of a sorted set of the one window, with their times."""
    with redis.Redis.from_url(redis_url, decode_responses=True) as asking:
        (key,) = asking.scan_iter(match=f"socialapi:*:{name}")
        scores = dict(asking.zrange(key, 0, -1, withscores=True))
    return {place: at for place, at in scores.items() if not place.startswith("epoch:")}


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
