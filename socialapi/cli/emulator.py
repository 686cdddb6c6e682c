"""`socialapi emulator`, in the foreground or background, and the demo's private emulator in a child process."""

import asyncio
import contextlib
import datetime
import http.client
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import IO, Annotated, Final

import attrs
import orjson
from cyclopts import App, Parameter

from socialapi.cli import output
from socialapi.cli.jobs import command_line, state_folder
from socialapi.cli.options import whole_number
from socialapi.config import is_host, split_address
from socialapi.errors import ConfigurationError, InvalidInput, TransportError
from socialapi.internal.file_lock import FileLock, Holder
from socialapi.internal.private_files import is_written_through, make_private_folder, read_small
from socialapi.models.validation import broken_rules
from socialapi.models.webhooks import WebhookUrl

app: Final = App(name="emulator")

LOCAL_HOST: Final = "127.0.0.1"
READY_TIMEOUT_SECONDS: Final = 30.0
END_TIMEOUT_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.02
ANSWER_TIMEOUT_SECONDS: Final = 10.0
MAX_ANSWER_BYTES: Final = 1_048_576
PROBED_FOR_SECONDS: Final = 1.0
"""How long to wait for the lock, because another command may hold it briefly while probing it."""


def this_program(*arguments: str) -> list[str]:
    """Returns the command that runs this program in another process, without imports from the current folder."""
    return [sys.executable, "-P", "-m", "socialapi", *arguments]


@contextlib.asynccontextmanager
async def private_emulator() -> AsyncIterator[Mapping[str, str]]:
    """Starts `socialapi emulator` on a free port and yields its ready line. Stops it when the block ends.

    The child also ends when its standard input closes, so it never outlives this process.
    """
    process = await asyncio.create_subprocess_exec(
        *this_program("emulator", "--port", "0", "--until-stdin-closes"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = b""
        with contextlib.suppress(TimeoutError):
            line = await asyncio.wait_for(process.stdout.readline(), READY_TIMEOUT_SECONDS)
        if not line:
            raise ConfigurationError("the emulator did not start")
        yield json.loads(line)
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_TIMEOUT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class EmulatorFlags:
    """The options of an emulator in the foreground or background."""

    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, whole_number(help="Port to listen on; 0 uses a free one.", least=0, most=65_535)] = 8080
    empty: Annotated[bool, Parameter(help="Start without the seed data.")] = False
    lenient_fields: Annotated[
        bool,
        Parameter(
            help="Ignore undocumented fields, expansions and parameters instead of rejecting them. Programs written "
            "for the public API send some.",
        ),
    ] = False
    env_file: Annotated[
        Path | None, Parameter(help="Also write the addresses and credentials to this file, as shell variables.")
    ] = None
    webhook_target: Annotated[
        tuple[str, ...],
        Parameter(
            help="URL=LOCAL: the local URL to which requests for a webhook's URL are sent, for example "
            "https://hooks.example.com/in=http://127.0.0.1:9000/in; can be repeated.",
        ),
    ] = ()
    allow_remote_targets: Annotated[
        bool, Parameter(help="Also deliver events to webhooks that are not on this machine.")
    ] = False
    allow_host: Annotated[
        tuple[str, ...],
        Parameter(
            help="Additional host name for the control plane, besides localhost and IP addresses; can be repeated."
        ),
    ] = ()

    @property
    def targets(self) -> dict[str, str]:
        """The webhook targets. Raises InvalidInput if one is invalid."""
        return dict(map(_target, self.webhook_target))


DEFAULT_FLAGS: Final = EmulatorFlags()


@app.default
def emulator(
    *,
    flags: EmulatorFlags = DEFAULT_FLAGS,
    detach: Annotated[bool, Parameter(help="Run in the background until --stop; return once it is ready.")] = False,
    stop: Annotated[bool, Parameter(help="Stop the emulator that --detach started on this --port.")] = False,
    until_stdin_closes: Annotated[
        bool, Parameter(help="Also end when standard input closes, so that it never outlives its parent.")
    ] = False,
    detached_log: Annotated[Path | None, Parameter(show=False)] = None,
) -> int | Coroutine[object, object, int]:
    """Serves until interrupted, or in the background. Returns the exit status."""
    ways = {"--detach": detach, "--stop": stop, "--until-stdin-closes": until_stdin_closes}
    given = [name for name, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise InvalidInput(f"{' and '.join(given)} cannot be combined")
    if stop:
        return _stop(flags.port)
    targets = flags.targets
    _check_env_file(flags.env_file)
    if detach:
        return _detach(flags)
    return _serve(flags, targets, detached_log, until_stdin_closes=until_stdin_closes)


@app.command
def target(
    url: Annotated[str, Parameter(help="The public https URL of a webhook, without a port.")],
    local: Annotated[str, Parameter(help="The local address to which requests for the URL are sent.")],
    /,
    *,
    port: Annotated[
        int | None,
        whole_number(
            help="Port of the emulator; by default the port in SOCIALAPI_BASE_URL, or 8080.", least=1, most=65_535
        ),
    ] = None,
) -> int:
    """Add a webhook target to a running emulator.

    For example: `socialapi emulator target https://hooks.example.com/in http://127.0.0.1:9000/in`. Replaces an earlier
    target for the same URL. Exit status: 0 added, 2 rejected by the emulator, 3 no emulator responds.
    """
    host, to_port = _place(os.environ.get("SOCIALAPI_BASE_URL", "")) if port is None else (LOCAL_HOST, port)
    status, answer = None, b""
    connection = http.client.HTTPConnection(host, to_port, timeout=ANSWER_TIMEOUT_SECONDS)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("POST", "/_emulator/webhook-targets", orjson.dumps({"url": url, "target": local}))
        response = connection.getresponse()
        answer = response.read(MAX_ANSWER_BYTES)
        status = response.status
    if status is None:
        raise TransportError("no emulator answers", host, port=to_port)
    if status != 200:
        raise InvalidInput(_reason_of(answer) or f"the server on port {to_port} is not an emulator")
    output.say(f"the requests for {url} go to {local}")
    return output.DONE


def _place(base_url: str) -> tuple[str, int]:
    """Returns the host and port of a base URL, which may be empty. Raises ConfigurationError without quoting it."""
    where = split_address(base_url)
    host = where and (where.hostname or LOCAL_HOST)
    if not (where and host and is_host(host)):
        raise ConfigurationError("SOCIALAPI_BASE_URL is not a URL of the form http://127.0.0.1:8080")
    return host, where.port or DEFAULT_FLAGS.port


def _reason_of(answer: bytes) -> str:
    """Returns the emulator's reason for a rejection, or an empty string if a different server responded."""
    try:
        return "; ".join(str(error["message"]) for error in orjson.loads(answer)["errors"])
    except (ValueError, KeyError, TypeError):
        return ""


async def _serve(
    flags: EmulatorFlags, targets: Mapping[str, str], detached_log: Path | None, *, until_stdin_closes: bool
) -> int:
    from socialapi.emulator.server import Emulator, serve, variables

    with contextlib.ExitStack() as until_the_end:

        def note(ready: Mapping[str, str]) -> None:
            if flags.env_file is not None:
                exports = (f"export {name}={shlex.quote(value)}\n" for name, value in variables(ready).items())
                with output.replacing(flags.env_file) as file:  # readable only by its owner
                    file.write("".join(exports).encode())
            if detached_log is not None:
                background = _Background.on(_port_of(ready["base_url"]))
                until_the_end.enter_context(background.noted(detached_log))

        emulator = Emulator(
            flags.host,
            flags.port,
            empty=flags.empty,
            lenient_fields=flags.lenient_fields,
            webhook_targets=targets,
            allow_hosts=flags.allow_host,
            allow_remote_targets=flags.allow_remote_targets,
        )
        await serve(emulator, until_stdin_closes=until_stdin_closes, on_ready=note)
    return output.DONE


def _port_of(base_url: str) -> int:
    return int(base_url.rpartition(":")[2])


def _target(text: str) -> tuple[str, str]:
    """Returns a webhook's URL and its local address. Both may contain equals signs. Raises InvalidInput if either is
    invalid.
    """
    match = re.fullmatch(r"((?i:https)://.+?)=(https?://\S+)", text)
    if match is None:
        raise InvalidInput(
            "--webhook-target takes URL=LOCAL, for example "
            f"https://hooks.example.com/in=http://127.0.0.1:9000/in, not {text!r}"
        )
    if broken := broken_rules(WebhookUrl, match[1], now=datetime.datetime.now(datetime.UTC)):
        raise InvalidInput(f"the URL of --webhook-target {text!r} {broken[0].reason}")
    return match[1], match[2]


_OWN_BEGINNING: Final = b"export SOCIALAPI_BASE_URL=http://"
"""The beginning of each env file that an emulator writes. Other env files differ, because other services need https."""


def _check_env_file(path: Path | None) -> None:
    """Raises InvalidInput if the file exists and was not written by an emulator."""
    if path is None or not path.is_file() or is_written_through(path):
        return
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(len(_OWN_BEGINNING)) in (b"", _OWN_BEGINNING):
            return
    raise InvalidInput(f"--env-file: {path} exists and was not written by an emulator: name another file")


# In the background -------------------------------------------------------------------------------


_LOG_NAME: Final = re.compile(r"emulator-[A-Za-z0-9_]+\.log").fullmatch


@attrs.frozen
class _Background:
    """The emulator that runs in the background on a port.

    Its process holds a lock on a state file that describes it, so neither a stale file nor another process is mistaken
    for a running emulator.
    """

    port: int
    path: Path

    @classmethod
    def on(cls, port: int) -> "_Background":
        return cls(port, state_folder(os.environ) / "emulators" / f"{port}.json")

    @contextlib.contextmanager
    def noted(self, log: Path) -> Iterator[None]:
        """Keeps a note about this process, and a lock on it, while the block runs.

        Raises ConfigurationError if another process holds the lock.
        """
        lock = FileLock(self.path)
        until = time.monotonic() + PROBED_FOR_SECONDS
        while (holder := lock.take()) is not None:
            if time.monotonic() >= until:
                raise ConfigurationError(f"an emulator already runs in the background on port {self.port}: {holder}")
            time.sleep(POLL_SECONDS)
        if (earlier := self._earlier_log()) is not None:
            earlier.unlink(missing_ok=True)
        note = {"process": os.getpid(), "machine": platform.node(), "log": str(log)}
        self.path.touch(mode=0o600)
        self.path.write_text(json.dumps(note), "utf-8")
        yield
        self.path.unlink(missing_ok=True)
        log.unlink(missing_ok=True)

    def holder(self) -> Holder | None:
        """Returns the process that the note describes; None if the process has ended."""
        lock = FileLock(self.path)
        try:
            return lock.take()
        except FileNotFoundError:  # no note was ever written
            return None
        finally:
            lock.release()

    def note(self) -> Mapping[str, str]:
        """Returns the note, or an empty mapping if there is no readable one."""
        try:
            found = json.loads(read_small(self.path))
        except (OSError, ValueError, RecursionError):
            return {}
        return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}

    def _earlier_log(self) -> Path | None:
        """Returns the log of an earlier emulator that ended without removing it, or None."""
        name = Path(self.note().get("log", "")).name
        return self.path.with_name(name) if _LOG_NAME(name) else None


def _detach(flags: EmulatorFlags) -> int:
    """Starts an emulator in a separate session, and returns when it is ready."""
    background = _Background.on(flags.port)
    if flags.port and (holder := background.holder()) is not None:
        raise InvalidInput(
            f"an emulator already runs in the background on port {flags.port} ({holder}); "
            f"`socialapi emulator --stop --port {flags.port}` ends it"
        )
    folder = background.path.parent
    make_private_folder(folder)
    descriptor, log = tempfile.mkstemp(dir=folder, prefix="emulator-", suffix=".log")  # with mode 0600
    try:
        with os.fdopen(descriptor, "wb") as errors:
            process = _started(flags, log, errors)
        line = _ready_line_within(process, READY_TIMEOUT_SECONDS)
    except BaseException:  # interrupted, or no process could be started: the log would not be found
        Path(log).unlink()
        raise
    if sys.stderr is not None:  # standard error is None if the parent closed it
        sys.stderr.write(Path(log).read_text("utf-8", "replace"))
    if not line:
        Path(log).unlink()
        if (status := process.wait()) > 0:  # the emulator has printed the reason
            return status
        output.say(f"the emulator exited early, or was not ready within {READY_TIMEOUT_SECONDS:g} seconds")
        return output.USAGE
    process.returncode = 0  # otherwise, Python warns that the process is still running
    ready = orjson.loads(line)
    base_url = ready["base_url"]
    if flags.env_file is not None:  # the file contains the secrets, which must not be in a log
        ready = {name: value for name, value in ready.items() if name == "event" or name.endswith("_url")}
    print(orjson.dumps(ready).decode(), flush=True)  # prints nothing if standard output is closed
    output.say(f"the emulator is running at {base_url}, with its log in {log}")
    if flags.env_file is not None:
        path = shlex.quote(os.path.join(".", flags.env_file))  # noqa: PTH118 - Path drops the dot that a shell needs
        output.say(f"its addresses and credentials are in {flags.env_file}; `. {path}` loads them")
    output.say(f"`socialapi emulator --stop --port {_port_of(base_url)}` ends it")
    return output.DONE


def _started(flags: EmulatorFlags, log: str, errors: IO[bytes]) -> "subprocess.Popen[bytes]":
    options = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in attrs.asdict(flags, recurse=False).items()
    }
    arguments = command_line(("emulator",), (), {**options, "detached_log": log})
    return subprocess.Popen(  # noqa: S603  # this program
        this_program(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
    )


def _ready_line_within(process: "subprocess.Popen[bytes]", seconds: float) -> bytes:
    """Returns the ready line of an emulator, or no bytes if the process printed none and ended or was killed."""
    assert process.stdout is not None
    ceiling = threading.Timer(seconds, process.kill)
    ceiling.start()
    try:
        with process.stdout:
            return process.stdout.readline()
    except BaseException:  # interrupted
        process.kill()
        process.wait()
        raise
    finally:
        ceiling.cancel()


def _stop(port: int) -> int:
    if port == 0:
        raise InvalidInput("--stop takes the --port that the emulator listens on")
    background = _Background.on(port)
    holder, note = background.holder(), background.note()
    # A command that probes the lock holds it for a moment, but is not in the note.
    if holder is None or str(holder.process_id) != note.get("process"):
        crashed = f"; the last one ended by itself, and its log is {note['log']}" if "log" in note else ""
        output.say(f"no emulator runs in the background on port {port}{crashed}")
        return output.DONE
    if (machine := note.get("machine")) != platform.node():
        raise ConfigurationError(f"the emulator on port {port} runs on another machine, {machine}")
    # The lock is held, so the process is alive, and its id was not reused.
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(int(note["process"]), signal.SIGTERM)
    until = time.monotonic() + END_TIMEOUT_SECONDS
    while background.holder() is not None:
        if time.monotonic() >= until:
            seconds = f"{END_TIMEOUT_SECONDS:g} seconds"
            raise ConfigurationError(
                f"the emulator on port {port} (process {note['process']}) has not ended within {seconds}"
            )
        time.sleep(POLL_SECONDS)
    output.say(f"the emulator on port {port} has ended")
    return output.DONE
