"""The program as people run it: signals, pipes, a service that goes away."""

import asyncio
import gzip
import json
import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.cli import app, output
from socialapi.emulator import Emulator
from tests.cli.terminal import IN_THE_BACKGROUND, Printed, Program, answered, last_json, program, write_people

pytestmark = pytest.mark.slow

TO_AUDIENCE: Final = ("--account", "18ce54d4x5t", "--audience", "1nmth")
TO_LIST: Final = ("--account", "18ce54d4x5t", "--list", "7b2f1")
UNREACHABLE: Final = (
    "socialapi: the upload stopped: POST /ads/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users: 127.0.0.1:"
)
HURRY: Final = {
    "SOCIALAPI_MAX_OPERATIONS": "10",
    "SOCIALAPI_MAX_ELAPSED_SECONDS": "0.1",
    "SOCIALAPI_BULK_MAX_WAIT_SECONDS": "0.02",
}


def check_stopped(status: int, out: str, err: str, *, expected: int, says: str) -> dict[str, Any]:
    assert "Traceback" not in err
    assert says in err
    assert err.count("\n") == 1
    report = last_json(out)
    assert report["read"] == sum(report[name] for name in ("accepted", "rejected", "duplicate", "pending"))
    assert 0 < report["accepted"] < 500
    assert status == expected
    return report


async def test_a_service_that_goes_away_ends_the_job_with_3(tmp_path: Path) -> None:
    file = write_people(tmp_path / "people.csv", 500)
    async with Emulator() as emulator:
        emulator.faults.add("latency", delay_seconds=0.05)
        running = program("audience", "upload", file, *TO_AUDIENCE, "--json", environment=emulator.environment | HURRY)
        job = await running.__aenter__()
        await answered(emulator, 200, 20)  # of which 8 at most are still on their way back
    try:
        report = check_stopped(*await job.ended(), expected=3, says=UNREACHABLE)
    finally:
        await running.__aexit__(None, None, None)
    assert report["pending"] > 0
    assert report["retries"] >= 11


async def test_a_job_in_the_background_of_a_shell_ends_on_sigterm_with_its_report(tmp_path: Path) -> None:
    file = write_people(tmp_path / "people.csv", 500)
    async with Emulator() as emulator:
        emulator.faults.add("latency", delay_seconds=0.05)
        environment = emulator.environment | HURRY
        arguments = ("audience", "upload", file, *TO_AUDIENCE, "--json")
        async with program(*arguments, environment=environment, before=IN_THE_BACKGROUND) as job:
            await answered(emulator, 200, 20)
            job.interrupt(signal.SIGINT)  # which stays ignored
            await answered(emulator, 200, 25)
            job.interrupt(signal.SIGTERM)
            status, out, err = await job.ended()
    report = check_stopped(status, out, err, expected=130, says="socialapi: interrupted\n")
    assert report["pending"] > 0


async def test_sigterm_ends_a_job_in_the_background_that_waits_for_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "people.csv"
    os.mkfifo(pipe)
    environment = {"SOCIALAPI_ADS_URL": "https://ads.invalid", "SOCIALAPI_BEARER_TOKEN": "token"}
    arguments = ("audience", "upload", pipe, *TO_AUDIENCE)
    async with program(*arguments, environment=environment, before=IN_THE_BACKGROUND) as job:
        with await asyncio.to_thread(pipe.open, "wb", buffering=0):
            job.interrupt(signal.SIGTERM)
            status, _, err = await asyncio.wait_for(job.ended(), 10)
    assert (status, err) == (130, "socialapi: interrupted\n")


def test_ctrl_c_ends_a_job_though_another_thread_gets_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    """Then nothing interrupts the wait of the event loop, as when the signal arrives just before the wait."""
    pipe = tmp_path / "people.csv"
    os.mkfifo(pipe)
    monkeypatch.setenv("SOCIALAPI_ADS_URL", "https://ads.invalid")
    monkeypatch.setenv("SOCIALAPI_BEARER_TOKEN", "token")
    ended = threading.Event()

    def interrupt() -> None:
        with pipe.open("wb", buffering=0):
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            ended.wait(30)

    thread = threading.Thread(target=interrupt)
    thread.start()
    status = app.run(["audience", "upload", str(pipe), *TO_AUDIENCE])
    in_time = not ended.is_set() and thread.is_alive()
    ended.set()
    thread.join()
    assert (status, in_time) == (130, True)
    assert "socialapi: interrupted\n" in capsys.readouterr().err


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
async def test_standard_input_is_read_as_a_file_is(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    write_people(tmp_path / "people.csv", 5, "wrong")
    data = pack((tmp_path / "people.csv").read_bytes())
    commands = [
        ("audience", "upload", "-", *TO_AUDIENCE),
        ("do-not-reach", "upload", *TO_LIST, "-"),
    ]
    async with Emulator() as emulator:
        for command in commands:
            async with program(
                *command, "--json", environment=emulator.environment, stdin=asyncio.subprocess.PIPE
            ) as job:
                status, out, err = await job.ended(data)
            assert (status, err) == (1, "")
            report = json.loads(out)
            assert (report["read"], report["accepted"], report["rejected"]) == (6, 5, 1)
        assert len(emulator.members("18ce54d4x5t", "1nmth")) == 5
        assert len(emulator.do_not_reach_members("18ce54d4x5t", "7b2f1")) == 5


async def test_ctrl_c_ends_a_job_that_waits_for_standard_input(tmp_path: Path) -> None:
    """Two requests are full, the first of them is settled and the second one waits; a third one is being filled."""
    reading, writing = os.pipe()
    # So wide that all but few of the rows are in blocks that are full, and read.
    rows = [f"p{number}@example.com,{'x' * 1_000}\n".encode() for number in range(2_900)]
    async with Emulator() as emulator:
        command = ("audience", "upload", "-", *TO_AUDIENCE, "--concurrency", "1", "--json")
        environment = emulator.environment | {"SOCIALAPI_MAX_OPERATIONS": "1000"}
        async with program(*command, environment=environment, stdin=reading) as job:
            os.close(reading)
            with os.fdopen(writing, "wb", buffering=0) as pipe:
                await asyncio.to_thread(pipe.write, b"email,note\n" + b"".join(rows[:1_500]))
                await answered(emulator, 200, 1)
                emulator.faults.add("status", retry_after_seconds=60)
                await asyncio.to_thread(pipe.write, b"".join(rows[1_500:]))
                await answered(emulator, 503, 1)
                job.interrupt()
                status, out, err = await job.ended()
    report = json.loads(out)
    assert (status, err) == (130, "socialapi: interrupted\n")
    assert report["accepted"] == 1_000
    assert 2_000 <= report["read"] < 3_000


@pytest.mark.parametrize("json_flag", [(), ("--json",)])
async def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path, json_flag: tuple[str, ...]) -> None:
    file = write_people(tmp_path / "people.csv", 3)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        async with program("audience", "upload", file, *TO_AUDIENCE, "--dry-run", *json_flag, stdout=writing) as job:
            status, _, err = await job.ended()
    finally:
        os.close(writing)
    assert (status, err) == (output.READER_LEFT, "")


@pytest.mark.parametrize("json_flag", [(), ("--json",)])
async def test_a_reader_that_leaves_does_not_take_the_reason_of_a_stop_along(
    tmp_path: Path, json_flag: tuple[str, ...]
) -> None:
    file, journal = write_people(tmp_path / "people.csv", 3), tmp_path / "upload.journal"
    reading, writing = os.pipe()
    os.close(reading)
    command = ("audience", "upload", file, "--account", "18ce54d4x5t", "--audience", "unknown", "--journal", journal)
    try:
        async with (
            Emulator() as emulator,
            program(*command, *json_flag, stdout=writing, environment=emulator.environment) as job,
        ):
            status, _, err = await job.ended()
    finally:
        os.close(writing)
    assert status == 3
    way_on, reason = err.splitlines()
    assert f"progress is saved in {journal}. To resume, run" in way_on
    assert re.search("the upload stopped: POST /.*: 404 NOT_FOUND", reason)
    assert journal.stat().st_size > 0


async def test_a_reader_that_leaves_as_the_job_is_interrupted(tmp_path: Path) -> None:
    """As in a pipe, where Ctrl-C ends both."""
    file = write_people(tmp_path / "people.csv", 500)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        async with Emulator() as emulator:
            emulator.faults.add("latency", delay_seconds=0.05)
            environment = emulator.environment | HURRY
            async with program(
                "audience", "upload", file, *TO_AUDIENCE, stdout=writing, environment=environment
            ) as job:
                await answered(emulator, 200, 20)
                job.interrupt()
                status, _, err = await job.ended()
    finally:
        os.close(writing)
    assert (status, err) == (130, "socialapi: interrupted\n")


PRINTS: Final = ("ads accounts", "ads accounts --json", "ads account 18ce54d4x5t", "auth status", "--version", "--help")


@pytest.mark.parametrize("command", PRINTS)
async def test_a_reader_that_is_gone_before_the_first_line_ends_the_command_silently(
    command: str, socialapi_emulator: Emulator
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        async with program(*command.split(), environment=socialapi_emulator.environment, stdout=writing) as running:
            assert await running.ended() == (141, "", "")
    finally:
        os.close(writing)


async def test_a_reader_that_takes_the_first_line_ends_a_list_silently(socialapi_emulator: Emulator) -> None:
    command = ("posts", "by-user", socialapi_emulator.seed["user_ids"][0])
    async with program(*command, environment=socialapi_emulator.environment) as running:
        status, line, err = await after_a_line(running)
    assert (status, err) == (141, "")
    assert line.endswith("\n")


async def test_a_reader_that_leaves_a_quiet_stream_ends_it_at_once(socialapi_emulator: Emulator) -> None:
    await socialapi_emulator.publish({"events": []})
    async with program("stream", "activity", environment=socialapi_emulator.environment) as running:
        assert running.process.stderr is not None
        assert await running.process.stderr.readline() == b"socialapi: connected\n"
        await socialapi_emulator.publish({"event_type": "profile.update.bio", "user_id": "17", "event_id": "5"})
        status, line, err = await after_a_line(running)  # and nothing comes any more
    assert (status, err) == (141, "")
    assert "profile.update.bio  5\n" in line


async def test_a_pipe_that_is_open_in_both_directions_is_no_reader_that_left(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = os.fdopen(os.open(tmp_path / "pipe", os.O_RDWR), "rb", buffering=0)
    event = {"event_type": "profile.update.bio", "user_id": "17"}
    command = ("stream", "activity", "--limit", "2")
    with pipe:
        async with program(*command, environment=socialapi_emulator.environment, stdout=pipe.fileno()) as running:
            assert running.process.stderr is not None
            await running.process.stderr.readline()
            for number in ("5", "6"):
                await socialapi_emulator.publish({**event, "event_id": number})
                line = await asyncio.to_thread(pipe.readline)
                assert line.endswith(f"profile.update.bio  {number}\n".encode())
            assert (await running.ended())[0] == 0


async def test_a_reader_of_both_outputs_that_leaves_changes_no_status() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    both = ("sh", "-c", 'exec "$@" 2>&1', "sh")
    try:
        async with program("ads", "nothing", stdout=writing, before=both) as running:
            assert (await running.ended())[0] == output.USAGE
    finally:
        os.close(writing)


async def after_a_line(running: Program) -> tuple[int, str, str]:
    """The status of a program whose reader leaves after a line, that line, and what it said."""
    assert running.process.stdout is not None
    assert running.process.stderr is not None
    async with asyncio.timeout(30):
        line = await running.process.stdout.readline()
        close(running.process)
        err = await running.process.stderr.read()
        return await running.process.wait(), line.decode(), err.decode()


def close(process: asyncio.subprocess.Process) -> None:
    """Closes the end of standard output that is read."""
    transport: Any = process._transport  # type: ignore[attr-defined]
    transport.get_pipe_transport(1).close()


@pytest.mark.parametrize(("audience", "status", "says"), [("1nmth", 0, ""), ("unknown", 3, ": 404 NOT_FOUND")])
async def test_without_a_standard_output_the_status_is_the_same(
    tmp_path: Path, audience: str, status: int, says: str
) -> None:
    file = write_people(tmp_path / "people.csv", 3)
    command = ("audience", "upload", file, "--account", "18ce54d4x5t", "--audience", audience)
    without = ("sh", "-c", 'exec "$@" >&-', "sh")
    async with (
        Emulator() as emulator,
        program(*command, environment=emulator.environment, before=without) as job,
    ):
        found, _, err = await job.ended()
    assert found == status
    assert says in err
    assert err.count("\n") == bool(says)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_emulator_says_when_it_is_ready_and_ends_when_it_is_told_to(number: int, tmp_path: Path) -> None:
    variables_file = tmp_path / "emulator.env"
    async with program("emulator", "--port", "0", "--empty", "--env-file", variables_file) as emulator:
        assert emulator.process.stdout is not None
        ready = json.loads(await asyncio.wait_for(emulator.process.stdout.readline(), 30))
        assert ready["event"] == "ready"
        assert ready.keys() == {
            *("event", "base_url", "ads_url", "ads_sandbox_url", "problem_base_url", "api_key", "api_key_secret"),
            *("access_token", "access_token_secret", "bearer_token"),
        }
        exported = dict(line.removeprefix("export ").split("=") for line in variables_file.read_text().splitlines())
        assert exported == {f"SOCIALAPI_{name.upper()}": value for name, value in ready.items() if name != "event"}
        assert variables_file.stat().st_mode & 0o777 == 0o600
        emulator.interrupt(number)
        assert await emulator.ended() == (0, "", "")
