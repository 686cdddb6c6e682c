"""The `socialapi` application: its commands, and the exit status and message of every error."""

import asyncio
import contextlib
import inspect
import io
import os
import signal
import socket
import sys
import threading
from collections.abc import Coroutine, Sequence
from types import FrameType
from typing import NoReturn

from cyclopts import App, CycloptsError

from socialapi import _speedups
from socialapi.cli import ads, audience, auth, catalog, jobs, output, posts, stream, webhooks
from socialapi.cli.demo import demo
from socialapi.cli.emulator import emulator
from socialapi.version import __version__

app: App = App(
    name="socialapi",
    help="A social platform's APIs from the command line, with an emulator of the service to try them on.",
    version=f"socialapi {__version__}\n{_speedups.description()}",
    version_format="plaintext",
    help_epilogue="Hosts and credentials come from SOCIALAPI_* variables; `socialapi emulator` prints a set that works, and "
    "`socialapi auth login` keeps the credentials of a user.",
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)
for group in (
    audience.app,
    audience.do_not_reach_app,
    catalog.app,
    jobs.app,
    auth.app,
    ads.app,
    posts.app,
    stream.app,
    webhooks.app,
):
    app.command(group)
app.command(demo)
app.command(emulator)


@jobs.app.command
def resume(job: jobs.JobArgument, /) -> int:
    """Go on with a job: run its command again, with the same journal. What is confirmed there is
    not sent again.

    Hosts and credentials are not kept with a job: they come from the environment, or from
    `socialapi auth login`, as they did the first time. A job that is finished sends nothing, and
    reports once more what it did.

    Exit status: that of the command, or 2 when there is no such job or it is running.
    """
    result = call(jobs.arguments_to_resume(job))
    return result if isinstance(result, int) else output.DONE


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status."""
    try:
        with output.saying_warnings():
            result = call(list(sys.argv[1:] if arguments is None else arguments))
    except CycloptsError as problem:
        output.say(f"{problem} (see --help)")
        return output.USAGE
    except KeyboardInterrupt:
        output.say("interrupted")
        return output.INTERRUPTED
    except output.EXPECTED as problem:
        output.say(output.sentence(problem))
        return output.status_of(problem)
    return result if isinstance(result, int) else output.DONE


def call(arguments: list[str]) -> object:
    """Calls the command that the arguments name and returns its result."""
    command, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    result = command(*bound.args, **bound.kwargs)
    return asyncio.run(_woken_by_signals(result)) if inspect.iscoroutine(result) else result


async def _woken_by_signals(command: Coroutine[object, object, object]) -> object:
    """Awaits a command in an event loop that every signal wakes.

    asyncio.Runner handles Ctrl-C without a wakeup descriptor. A signal that arrives between the
    last check for pending signals and epoll_wait() is then noticed only when something else
    happens. A job that waits for a pipe may wait forever: 1 of 120 such jobs did not end.
    """
    # Only the main thread gets signals.
    if threading.current_thread() is not threading.main_thread():
        return await command
    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(reading, reading.recv, 4096)
        earlier = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            return await command
        finally:
            signal.set_wakeup_fd(earlier)
            loop.remove_reader(reading)


def main() -> NoReturn:
    """Runs the `socialapi` command; the entry point of the package."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal lacks must not fail the command.
        sys.stdout.reconfigure(errors="backslashreplace")
    # SIGTERM of a supervisor is handled like Ctrl-C: the command ends cleanly, with a report so
    # far. If the shell has Ctrl-C ignored, in the background, SIGTERM keeps its default, or it
    # could not be ended.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, _as_interrupt)
    status = run()
    try:
        if sys.stdout is not None:  # None if standard output was closed by the parent
            sys.stdout.flush()
    except OSError as problem:
        status = _without_output(status, problem)
    sys.exit(status)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


def _without_output(status: int, problem: OSError) -> int:
    """Reports that standard output failed, unless it was reported, and keeps Python from reporting
    it again.
    """
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if status in (output.DONE, output.SOME_REJECTED):
        output.say(output.sentence(problem))
        return output.USAGE
    return status
