"""`socialapi emulator`: what of its options is not the emulator itself, and how it runs in the background."""

import contextlib
import json
import os
import platform
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from socialapi.cli import app, emulator
from socialapi.emulator import Emulator, server
from socialapi.internal.file_lock import FileLock
from tests.cli.running import Shell

pytestmark = pytest.mark.slow


def test_webhook_targets_and_hosts_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    served: dict[str, Any] = {}

    async def pretend(emulator: object, **options: Any) -> None:
        pass

    monkeypatch.setattr(server, "Emulator", lambda *_, **options: served.update(options))
    monkeypatch.setattr(server, "serve", pretend)
    targets = {
        "https://hooks.example.com/in?a=b=c": "http://127.0.0.1:9000/in?d=e",
        "https://hooks.example.com/": "https://localhost:9443/",
    }
    options = [text for url, local in targets.items() for text in ("--webhook-target", f"{url}={local}")]
    hosts = ["--allow-host", "emulator", "--allow-host", "emulator.test"]
    assert app.run(["emulator", *options, *hosts, "--allow-remote-targets"]) == 0
    names = ("webhook_targets", "allow_hosts", "allow_remote_targets")
    assert [served[name] for name in names] == [targets, ("emulator", "emulator.test"), True]
    assert app.run(["emulator"]) == 0
    assert [served[name] for name in names] == [{}, (), False]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("https://hooks.example.com/in", "takes URL=LOCAL"),
        ("http://hooks.example.com/in=http://127.0.0.1:9000/", "takes URL=LOCAL"),
        ("https://hooks.example.com/in=127.0.0.1:9000", "takes URL=LOCAL"),
        ("https://hooks.example.com:8443/in=http://127.0.0.1:9000/", "must be a public https URL without a port"),
    ],
)
def test_a_target_that_makes_no_sense_is_one_sentence(
    value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["emulator", "--webhook-target", value]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.startswith("socialapi: ")
    assert printed.err.count("\n") == 1
    assert not printed.out


async def test_a_target_is_added_to_an_emulator_that_runs(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    url, local = "https://hooks.example.com/in", "http://127.0.0.1:9000/in"
    async with Emulator() as running:
        port = running.ready["base_url"].rpartition(":")[2]
        done = await shell.run("emulator", "target", url, local, "--port", port)
        assert (done.status, done.out) == (0, "")
        assert done.err == f"socialapi: the requests for {url} go to {local}\n"
        assert running.webhook_targets == {url: local}
        monkeypatch.setenv("SOCIALAPI_BASE_URL", running.ready["base_url"])
        assert (await shell.run("emulator", "target", url, "http://localhost:9/")).status == 0
        assert running.webhook_targets == {url: "http://localhost:9/"}
        for wrong, says in (
            (("https://hooks.example.com:8443/in", local), "must be a public https URL"),
            ((url, "http://hooks.example.net/"), "remote"),
        ):
            done = await shell.run("emulator", "target", *wrong)
            assert (done.status, says in done.err) == (2, True)
    done = await shell.run("emulator", "target", url, local, "--port", port)
    assert (done.status, done.err) == (3, f"socialapi: 127.0.0.1:{port}: no emulator answers\n")
    for no_url in ("http://127.0.0.1:x", "http://[1", "http://[::1]x:80", "http://a..b:1"):
        monkeypatch.setenv("SOCIALAPI_BASE_URL", no_url)
        done = await shell.run("emulator", "target", url, local)
        says = "socialapi: SOCIALAPI_BASE_URL is not a URL of the form http://127.0.0.1:8080\n"
        assert (done.status, done.out, done.err) == (2, "", says)


# In the background -------------------------------------------------------------------------------


@attrs.frozen
class Terminal:
    """Runs commands of `socialapi` as processes, with a folder of their own for state."""

    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "state" / "emulators"

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALAPI_")}
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "socialapi", *arguments],
            cwd=self.folder,
            env=kept | {"SOCIALAPI_STATE_DIR": str(self.folder / "state")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def detach(self, *arguments: str) -> dict[str, str]:
        """The ready line of an emulator in the background."""
        done = self.run("emulator", "--detach", *arguments)
        assert done.returncode == 0, done.stderr
        ready: dict[str, str] = json.loads(done.stdout)
        return ready

    def stop(self, port: str) -> str:
        """What `--stop` says."""
        done = self.run("emulator", "--stop", "--port", port)
        assert (done.returncode, done.stdout) == (0, "")
        return done.stderr

    def note(self, port: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / f"{port}.json").read_text())
        return found


def answers(base_url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{base_url}/_emulator/overview", timeout=30) as reply:
        found: dict[str, Any] = json.load(reply)
        return found


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def port_of(ready: Mapping[str, str]) -> str:
    return ready["base_url"].rpartition(":")[2]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """Ends what a test leaves in the background."""
    terminal = Terminal(tmp_path)
    try:
        yield terminal
    finally:
        for note in list(terminal.state.glob("*.json")):
            terminal.stop(note.stem)


@pytest.fixture
def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def test_it_goes_on_in_the_background_until_it_is_stopped(terminal: Terminal, free_port: str) -> None:
    done = terminal.run("emulator", "--detach", "--port", free_port, "--empty", "--env-file", "emulator.env")
    assert done.returncode == 0
    base_url = f"http://127.0.0.1:{free_port}"
    assert json.loads(done.stdout)["base_url"] == base_url
    assert not any("key" in name or "token" in name for name in json.loads(done.stdout))  # the file has them
    assert done.stderr == (
        f"socialapi: the emulator is running at {base_url}, with its log in {terminal.note(free_port)['log']}\n"
        "socialapi: its addresses and credentials are in emulator.env; `. ./emulator.env` loads them\n"
        f"socialapi: `socialapi emulator --stop --port {free_port}` ends it\n"
    )
    assert f"export SOCIALAPI_BASE_URL={base_url}\n" in (terminal.folder / "emulator.env").read_text()
    assert answers(base_url)["posts"] == 0
    process = int(terminal.note(free_port)["process"])
    assert os.getsid(process) == process != os.getsid(0)
    assert terminal.state.stat().st_mode & 0o777 == 0o700
    assert terminal.stop(free_port) == f"socialapi: the emulator on port {free_port} has ended\n"
    assert not list(terminal.state.iterdir())
    with pytest.raises(urllib.error.URLError):
        answers(base_url)


def test_a_free_port_is_told_and_found_again(terminal: Terminal) -> None:
    ready = [terminal.detach("--port", "0", "--empty") for _ in range(2)]
    first, second = map(port_of, ready)
    assert first != second
    assert "has ended" in terminal.stop(first)
    assert answers(ready[1]["base_url"])["users"] == 1
    assert "has ended" in terminal.stop(second)


def test_a_port_that_is_taken_is_told_by_the_command_that_was_run(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        done = terminal.run("emulator", "--detach", "--port", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"socialapi: cannot listen on 127.0.0.1 port {port}: ")
    assert done.stderr.count("\n") == 1
    assert not list(terminal.state.iterdir())


def test_modules_in_the_current_folder_are_not_imported(terminal: Terminal, free_port: str) -> None:
    (terminal.folder / "html.py").write_text("raise RuntimeError('not to be imported')")
    ready = terminal.detach("--port", free_port, "--empty")
    assert answers(ready["base_url"])


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_it_serves_though_an_output_is_closed(terminal: Terminal, free_port: str, closed: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m socialapi emulator --detach --empty --port {free_port} {closed}"
    environment = os.environ | {"SOCIALAPI_STATE_DIR": str(terminal.folder / "state")}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=terminal.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert answers(f"http://127.0.0.1:{free_port}")


def test_an_interrupted_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(process: object, seconds: float) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(tmp_path))
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **_: started.append(words))
    monkeypatch.setattr(emulator, "_ready_line_within", interrupt)
    assert app.run(["emulator", "--detach", "--port", "0"]) == 130
    assert len(started) == 1
    assert not list((tmp_path / "emulators").iterdir())


def test_a_file_of_variables_is_replaced_only_if_an_emulator_wrote_it(terminal: Terminal, free_port: str) -> None:
    path = terminal.folder / "own.env"
    path.write_text("export SOCIALAPI_BASE_URL=https://api.example.com\n")
    for more in ((), ("--detach",)):
        done = terminal.run("emulator", *more, "--port", free_port, "--env-file", "own.env")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "socialapi: --env-file: own.env exists and was not written by an emulator: name another file\n"
        )
    assert path.read_text() == "export SOCIALAPI_BASE_URL=https://api.example.com\n"
    path.write_text("")
    for _ in range(2):
        path.chmod(0o644)
        terminal.detach("--port", free_port, "--empty", "--env-file", "own.env")
        terminal.stop(free_port)
        assert path.read_text().startswith(f"export SOCIALAPI_BASE_URL=http://127.0.0.1:{free_port}\n")
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "options", [("--detach", "--stop"), ("--detach", "--until-stdin-closes"), ("--stop", "--port", "0")]
)
def test_what_makes_no_sense_together_is_refused(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["emulator", *options]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("socialapi: --")
    assert not said.out


def test_one_that_was_killed_is_recognised_and_its_log_is_named(terminal: Terminal, free_port: str) -> None:
    ready = terminal.detach("--port", free_port, "--empty")
    note = terminal.note(free_port)
    os.kill(note["process"], signal.SIGKILL)
    _wait_until_gone(ready["base_url"])
    assert terminal.stop(free_port) == (
        f"socialapi: no emulator runs in the background on port {free_port}; the last one ended by itself, and its log is "
        f"{note['log']}\n"
    )
    terminal.detach("--port", free_port, "--empty")
    assert not Path(note["log"]).exists()


def test_a_process_that_has_the_number_of_an_earlier_emulator_is_left_alone(terminal: Terminal, free_port: str) -> None:
    terminal.state.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as foreign:
        note = {"process": foreign.pid, "machine": platform.node(), "base_url": "http://127.0.0.1:1", "log": "a.log"}
        path = terminal.state / f"{free_port}.json"
        path.write_text(json.dumps(note))
        Path(f"{path}.lock").write_text(
            f' {{"socialapi_lock": {{"pid": {foreign.pid}, "since": "2026-01-01T00:00:00Z"}}}}\n'
        )
        assert "no emulator runs in the background" in terminal.stop(free_port)
        assert foreign.poll() is None
        terminal.detach("--port", free_port, "--empty")
        assert terminal.note(free_port)["process"] != foreign.pid
        assert "has ended" in terminal.stop(free_port)
        assert foreign.poll() is None
        assert foreign.stdin is not None
        foreign.stdin.close()


def test_a_command_that_looks_at_the_lock_is_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the lock for a moment, beside the note of an emulator that was killed."""
    folder = tmp_path / "emulators"
    folder.mkdir()
    (folder / "8080.json").write_text(json.dumps({"process": 1, "machine": platform.node(), "log": "a.log"}))
    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(tmp_path))
    looking = FileLock(folder / "8080.json")
    assert looking.take() is None
    try:
        assert app.run(["emulator", "--stop"]) == 0
    finally:
        looking.release()


def test_one_of_another_machine_is_not_ended_from_here(
    terminal: Terminal, free_port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Containers may share the folder, and number their processes by themselves."""
    terminal.detach("--port", free_port, "--empty")
    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(terminal.state.parent))
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    assert app.run(["emulator", "--stop", "--port", free_port]) == 2
    assert "runs on another machine" in capsys.readouterr().err
    assert is_alive(terminal.note(free_port)["process"])


def test_one_that_does_not_serve_in_time_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(emulator, "READY_TIMEOUT_SECONDS", 0.001)
    assert app.run(["emulator", "--detach", "--port", "0"]) == 2
    said = capsys.readouterr()
    assert said.err == "socialapi: the emulator exited early, or was not ready within 0.001 seconds\n"
    assert not said.out
    assert not list((tmp_path / "emulators").iterdir())


def test_one_that_does_not_end_in_time_is_told(
    terminal: Terminal, free_port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.detach("--port", free_port, "--empty")
    process = terminal.note(free_port)["process"]
    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(terminal.state.parent))
    monkeypatch.setattr(emulator, "END_TIMEOUT_SECONDS", 0.0)
    os.kill(process, signal.SIGSTOP)
    try:
        assert app.run(["emulator", "--stop", "--port", free_port]) == 2
    finally:
        os.kill(process, signal.SIGCONT)
    assert f"(process {process}) has not ended within 0 seconds" in capsys.readouterr().err


def _wait_until_gone(base_url: str) -> None:
    """A killed process may still be on its way out when `kill` returns."""
    port = int(base_url.rpartition(":")[2])
    while True:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return


@pytest.mark.parametrize(
    "content", [b"[" * 5_000, b'{"log": ""}', b'{"log": ".."}', b'{"log": "a\\u0000b"}', b"\xff", b"5"]
)
def test_a_note_that_nobody_can_read_names_no_log(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "8080.json"
    path.write_bytes(content)
    background = emulator._Background(8080, path)
    assert background._earlier_log() is None
