"""The files of jobs on a disk that fills up, from another version, and with two processes at once.

Jobs run as a user runs them, by the command line, and are killed besides.
"""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
import pytest

from socialapi.cli.demo_data import write_product_feed
from tests.proofs.processes import ROOT, Service, service
from tests.proofs.test_catalogs import plain, seed_catalog
from tests.proofs.test_sync import write as write_people
from tests.proofs.test_webhooks import AT_ONCE, Receiver, publish, register, replay, settle
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.timeout(3600), pytest.mark.xdist_group("uploads")]

ROWS: Final = 100_000
PRODUCTS: Final = 20_000
EVENTS: Final = 20_000
DISKS: Final = 12
"""How many sizes of a disk are tried for each job."""
CONCURRENCY: Final = 2
"""Requests that a job may have on its way. It takes many times as many, so that the bound of what is sent again is small
beside all of them.
"""
ROWS_OF_UPLOAD: Final = 250
PRODUCTS_OF_LOAD: Final = 25
"""What a request has at most."""


@attrs.frozen
class Ended:
    """What a command ended with."""

    status: int
    report: dict[str, Any]
    err: str


@attrs.frozen
class Job:
    """A command whose files are in a folder, and what the service holds after it."""

    arguments: Callable[[Path, Service], list[str]]
    held: Callable[[Service], Any]
    expected: Any
    files: Sequence[str]
    """The names of the files that it must find again to go on."""
    sends: int
    """How many users or products it sends if nothing interrupts it."""
    of_request: int
    """How many of them a request has at most."""
    skips: int = 0
    """How many of them a run that goes on may leave out: rows that repeat a product as an earlier run has loaded it."""


def audience_arguments(emulator: Service, *arguments: str) -> list[str]:
    account, audience = emulator.audience
    return ["audience", *arguments, "--account", account, "--audience", audience, "--json"]


@pytest.fixture(scope="module", params=["upload", "sync", "load"])
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, proof_scale: float) -> Job:
    source = tmp_path_factory.mktemp("source") / "rows.csv"
    if request.param == "load":
        feed = write_product_feed(source, int(PRODUCTS * proof_scale))
        return Job(
            lambda folder, emulator: [
                *("catalog", "upsert", str(source), "--catalog", seed_catalog(emulator), "--json"),
                *("--journal", str(folder / "journal"), "--digests", str(folder / "digests")),
                *("--concurrency", str(CONCURRENCY)),
            ],
            lambda emulator: plain(emulator.products(seed_catalog(emulator))).items() >= feed.products.items(),
            True,
            ("journal", "digests"),
            feed.accepted,
            PRODUCTS_OF_LOAD,
            feed.unchanged,
        )
    rows = int(ROWS * proof_scale)
    members = write_people(source, range(rows))
    option = "snapshot" if request.param == "sync" else "journal"
    return Job(
        lambda folder, emulator: [
            *audience_arguments(emulator, request.param, str(source), f"--{option}", str(folder / option)),
            *("--concurrency", str(CONCURRENCY)),
        ],
        Service.members,
        members,
        (option,),
        rows,
        ROWS_OF_UPLOAD,
    )


@pytest.fixture(scope="module")
def emulator() -> Iterator[Service]:
    with service() as running:
        yield running


@contextlib.contextmanager
def started(emulator: Service, arguments: Sequence[str], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """The command in a process of its own, with everything that it writes in the folder."""
    variables = {
        **os.environ,
        **emulator.environment,
        "TMPDIR": str(folder),
        "SOCIALAPI_STATE_DIR": str(folder.parent / "state"),
        "SOCIALAPI_MAX_OPERATIONS": str(ROWS_OF_UPLOAD),
    }
    command = [sys.executable, "-m", "socialapi", *arguments]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=variables, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]") -> Ended:
    out, err = process.communicate(timeout=600)
    lines = out.splitlines()
    return Ended(process.returncode, orjson.loads(lines[-1]) if lines else {}, err)


def run(emulator: Service, arguments: Sequence[str], folder: Path) -> Ended:
    with started(emulator, arguments, folder) as process:
        return ended(process)


def kill_after(emulator: Service, requests: int, process: "subprocess.Popen[str]") -> None:
    """Kills the process once the service has received so many further requests, unless it ends
    before.
    """
    wanted = len(emulator.requests()) + requests
    wait_until(lambda: process.poll() is not None or len(emulator.requests()) >= wanted, seconds=600.0)
    process.send_signal(signal.SIGKILL)


def reset(emulator: Service) -> None:
    list(emulator.control("POST", "reset"))


def sent_again(job: Job, emulator: Service) -> int:
    """How many users or products arrived once more. A load that goes on packs them into other bodies."""
    arrived = sum(each["users"] or each["operations"] or 0 for each in emulator.requests())
    return arrived - job.sends


def check_sent(job: Job, emulator: Service, interruptions: int) -> None:
    """At most what was on its way at each interruption is sent again, and nothing if there was none."""
    fewest = -job.skips if interruptions else 0
    assert fewest <= sent_again(job, emulator) <= interruptions * CONCURRENCY * job.of_request


def check_end(job: Job, emulator: Service, end: Ended) -> None:
    report = end.report
    assert end.status in {0, 1}, end.err
    assert report["read"] == sum(report[name] for name in ("accepted", "rejected", "duplicate", "pending"))
    assert report["pending"] == 0
    assert job.held(emulator) == job.expected


# A disk that fills up ----------------------------------------------------------------------------------------------


class Disk:
    """A file system in memory, of a size that can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resize(self, size_bytes: int) -> None:
        self._mount(f"remount,size={size_bytes}")

    def mount(self) -> None:
        self._mount("size=1g")

    def _mount(self, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(self.folder)]
        subprocess.run(command, check=True, capture_output=True)

    def empty(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()

    @property
    def used_bytes(self) -> int:
        found = os.statvfs(self.folder)
        return (found.f_blocks - found.f_bfree) * found.f_frsize


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path / "disk")
    made.folder.mkdir()
    try:
        made.mount()
    except (OSError, subprocess.CalledProcessError) as problem:
        if os.environ.get("SOCIALAPI_REQUIRE_MOUNT"):
            pytest.fail(f"no file system can be mounted: {problem}")
        pytest.skip("no file system can be mounted here")
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", str(made.folder)], check=True)  # a process that failed may use it


def most_used(disk: Disk, work: Callable[[], Ended]) -> tuple[Ended, int]:
    """How the work ended, and how much of the disk it used at most."""
    most, is_over = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not is_over.wait(0.001):
            most = max(most, disk.used_bytes)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        end = work()
    finally:
        is_over.set()
        watching.join()
    return end, most


def test_a_job_whose_disk_fills_up_says_so_and_goes_on_exactly_when_there_is_room(
    job: Job, emulator: Service, disk: Disk, proof_scale: float
) -> None:
    """At most what was on its way when the disk was full, or the process was killed, is sent again."""
    rng = random.Random(20_261_123)
    reset(emulator)
    arguments = job.arguments(disk.folder, emulator)
    end, most = most_used(disk, lambda: run(emulator, arguments, disk.folder))
    check_end(job, emulator, end)
    check_sent(job, emulator, 0)
    stopped = killed = 0
    for number in range(DISKS if proof_scale == 1 else 2):
        disk.empty()
        reset(emulator)
        disk.resize(int(most * rng.uniform(0.05, 0.95)))
        stops = kills = 0
        for is_killed in (number % 2 == 1, False):
            with started(emulator, arguments, disk.folder) as process:
                if is_killed:
                    kill_after(emulator, rng.randint(0, 10), process)
                end = ended(process)
            if end.status == -signal.SIGKILL:
                kills += 1
            elif end.status not in {0, 1}:
                assert end.status == 2, end.err
                assert "Traceback" not in end.err
                assert "the disk is full" in end.err or "No space left on device" in end.err
                stops += 1
        stopped, killed = stopped + stops, killed + kills
        disk.resize(2**30)
        check_end(job, emulator, run(emulator, arguments, disk.folder))
        check_sent(job, emulator, stops + kills)
    print(f"\ndisks of up to {most:,} bytes: stopped {stopped} times, killed {killed} times besides")
    assert stopped


def deliveries(emulator: Service) -> dict[str, Any]:
    (outcome,) = emulator.ask("GET", "ledger")["deliveries"].values()
    return dict(outcome)


def all_handled(receiver: Receiver, count: int) -> set[Any]:
    """The events that were handled, once there are so many, or after a minute."""

    def handled() -> set[Any]:
        return {event for run in receiver.handled() for event in run}

    with contextlib.suppress(TimeoutError):
        wait_until(lambda: len(handled()) >= count)
    return handled()


def test_a_receiver_whose_disk_fills_up_refuses_events_and_loses_none(
    tmp_path: Path, disk: Disk, proof_scale: float
) -> None:
    """It is killed while the disk is full. What it refused comes again once the owner has it
    replayed.
    """
    count = int(EVENTS * proof_scale)
    with service() as emulator:
        receiver = Receiver(emulator, tmp_path, disk.folder / "inbox")
        receiver.start()
        register(emulator, receiver)
        publish(emulator, range(count // 10))
        settle(emulator)
        disk.resize(disk.used_bytes + 50_000)
        for first in range(count // 10, count, AT_ONCE):  # so many may wait for the targets
            publish(emulator, range(first, min(first + AT_ONCE, count)))
        settle(emulator)
        refused = deliveries(emulator)["failed"]
        receiver.stop(signal.SIGKILL)
        disk.resize(2**30)
        receiver.start()
        replay(emulator)
        settle(emulator)
        handled = all_handled(receiver, count)
        receiver.stop(signal.SIGINT)
    print(f"\n{count:,} events; on a full disk {refused} deliveries were refused")
    assert refused
    assert handled == {(str(1_000_000 + n), n) for n in range(count)}


# Files of another version ------------------------------------------------------------------------------------------


def version_of(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def set_version(path: Path, version: int) -> bytes:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute(f"PRAGMA user_version = {version}")
    return path.read_bytes()


def test_files_of_another_version_are_left_alone_and_say_what_to_do(
    job: Job, emulator: Service, tmp_path: Path
) -> None:
    reset(emulator)
    folder = tmp_path / "job"
    folder.mkdir()
    arguments = job.arguments(folder, emulator)
    with started(emulator, arguments, folder) as process:
        kill_after(emulator, 5, process)
    for name in job.files:
        path = folder / name
        ours = version_of(path)
        requests = len(emulator.requests())
        for other in (ours - 1, ours + 1):
            before = set_version(path, other)
            end = run(emulator, arguments, folder)
            assert end.status == 2
            assert f"{path} was written by another version of this package" in end.err
            assert path.read_bytes() == before
        assert len(emulator.requests()) == requests
        set_version(path, ours)
    check_end(job, emulator, run(emulator, arguments, folder))
    check_sent(job, emulator, 1)


# Two processes at once ---------------------------------------------------------------------------------------------


def run_beside(emulator: Service, first: "subprocess.Popen[str]", arguments: Sequence[str], folder: Path) -> Ended:
    """How a second process ends that begins and ends while the first one works."""
    while first.poll() is None and not emulator.requests():
        pass
    second = run(emulator, arguments, folder)
    assert first.poll() is None
    emulator.ask("DELETE", "faults")
    return second


def test_of_two_processes_with_the_same_files_one_works_and_the_other_says_who(
    job: Job, emulator: Service, tmp_path: Path, proof_scale: float
) -> None:
    """When the first is killed, the next one goes on at once. The second begins while the first one works, whose answers
    take long until then, and in every other round at the same time.
    """
    rng = random.Random(20_261_124)
    for number in range(8 if proof_scale == 1 else 2):
        reset(emulator)
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = job.arguments(folder, emulator)
        is_at_once = number % 2 == 1
        if not is_at_once:
            emulator.ask("POST", "faults", {"fault": "latency", "delay_seconds": 2.0, "times": 1_000})
        with started(emulator, arguments, folder) as first, contextlib.ExitStack() as stack:
            others = [stack.enter_context(started(emulator, arguments, folder))] if is_at_once else []
            ends = [] if is_at_once else [run_beside(emulator, first, arguments, folder)]
            kill_after(emulator, rng.randint(5, 12), first)
            ends += [ended(each) for each in (first, *others)]
        refused = [end for end in ends if end.status == 2]
        for end in refused:
            assert "is in use by another process: wait for that one, or end it (held by process " in end.err
            assert not end.report
        assert len(refused) <= 1
        assert is_at_once or ends[0].status == 2, ends[0].err
        check_end(job, emulator, run(emulator, arguments, folder))
        check_sent(job, emulator, 1)
