"""The lock file beside a file that one job at a time may use."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from socialapi.internal.file_lock import FileLock, Holder, is_lock_file

HOLD: Final = """
import sys
from socialapi.internal.file_lock import FileLock
lock = FileLock(sys.argv[1])
assert lock.take() is None
print("held", flush=True)
sys.stdin.read()
"""
FORK: Final = """
import os, sys
from socialapi.internal.file_lock import FileLock
lock = FileLock(sys.argv[1])
assert lock.take() is None
if os.fork():
    os._exit(0)
lock.release()  # which it does not have
print("forked", flush=True)
sys.stdin.read()
"""
INHERIT: Final = """
import os, sys
from socialapi.internal.file_lock import FileLock
inherited, other = FileLock(sys.argv[1]), sys.argv[1] + ".other"
assert inherited.take() is None
if os.fork() == 0:
    own = FileLock(other)
    assert own.take() is None
    inherited.release()  # its descriptor may be that of the other lock by now
    assert FileLock(other).take() is not None
    assert FileLock(sys.argv[1]).take() is not None
    print("still locked", flush=True)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def started(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(30)
    process.stdout.close()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lock of `file`."""
    process = started(HOLD, tmp_path / "file")
    assert said(process) == "held"
    try:
        yield process
    finally:
        end(process)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_what_a_forked_process_inherits_gives_no_lock_away(tmp_path: Path) -> None:
    process = started(INHERIT, tmp_path / "file")
    assert said(process) == "still locked"
    assert process.wait(30) == 0
    end(process)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_keeps_no_lock_of_one_that_ended(tmp_path: Path) -> None:
    process = started(FORK, tmp_path / "file")
    assert said(process) == "forked"
    process.wait(30)
    assert is_lock_file(tmp_path / "file.lock")
    lock = FileLock(tmp_path / "file")
    assert lock.take() is None
    lock.release()
    end(process)


def test_a_second_task_of_the_same_process_is_refused_as_well(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "file"), FileLock(tmp_path / "file")
    assert first.take() is None
    refused = second.take()
    assert refused is not None
    assert str(refused).startswith(f"held by this process, {os.getpid()}, since ")
    second.release()  # which it does not have
    assert FileLock(tmp_path / "file").take() is not None
    first.release()
    assert second.take() is None
    second.release()


def test_one_file_has_one_lock_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    monkeypatch.chdir(tmp_path / "real")
    first = FileLock("file")
    assert first.take() is None
    assert FileLock(tmp_path / "link").take() is not None
    assert FileLock(tmp_path / "real" / ".." / "real" / "file").take() is not None
    first.release()


def test_a_note_of_somebody_who_was_killed_is_not_taken_for_the_one_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(30)
    lock = FileLock(path)
    assert lock.take() is None
    note = (tmp_path / "file.lock").read_bytes()
    stale = note.replace(str(os.getpid()).encode(), str(gone.pid).encode())
    (tmp_path / "file.lock").write_bytes(stale)
    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(FileLock(path).take)
        (tmp_path / "file.lock").write_bytes(note)
        found = refused.result(30)
    lock.release()
    assert found is not None
    assert found.process_id == os.getpid()


@pytest.mark.parametrize(
    "note",
    [b"", b' {"socialapi_lock": {"pid": 1e999, "since": ""}}', b' {"socialapi_lock": {"pid": NaN, "since": ""}}'],
)
def test_a_holder_that_cannot_be_read_is_not_known(tmp_path: Path, note: bytes) -> None:
    lock = FileLock(tmp_path / "file")
    assert lock.take() is None
    (tmp_path / "file.lock").write_bytes(note)
    refused = FileLock(tmp_path / "file").take()
    lock.release()
    assert refused == Holder()
    assert str(refused) == "holder unknown"


@pytest.mark.parametrize("content", [b"[metadata]\nlock-version = 2\n", b"{}"])
def test_a_lock_file_of_something_else_is_neither_used_nor_touched(tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "poetry.lock"
    other.write_bytes(content)
    with pytest.raises(OSError, match=r"its lock file cannot be created: .*poetry\.lock holds something else"):
        FileLock(tmp_path / "poetry").take()
    assert other.read_bytes() == content
    assert not is_lock_file(other)
    assert not is_lock_file(tmp_path / "missing.lock")
    assert not is_lock_file(tmp_path / "exports.csv")


def test_a_link_in_the_place_of_a_lock_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="its lock file cannot be created"):
        FileLock(tmp_path / "file").take()
    assert not (tmp_path / "victim").exists()


def test_what_is_taken_and_released_by_many_at_once_is_had_by_one_at_a_time(tmp_path: Path) -> None:
    inside, most, taken = 0, 0, 0
    counting, start = threading.Lock(), threading.Barrier(4)

    def work() -> None:
        nonlocal inside, most, taken
        start.wait(30)
        for _ in range(200):
            lock = FileLock(tmp_path / "file")
            if lock.take() is not None:
                continue
            with counting:
                inside += 1
                taken += 1
                most = max(most, inside)
            with counting:
                inside -= 1
            lock.release()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result(60)
    assert most == 1
    assert taken >= 200
    assert list(tmp_path.iterdir()) == []
