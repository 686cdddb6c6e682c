"""The commands, and what becomes of their errors: one sentence and a documented exit status, never a traceback."""

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

from socialapi.cli import ads, auth, catalog, posts, stream, webhooks
from socialapi.cli import ads as line_items
from socialapi.cli import audience as lint
from socialapi.cli import jobs as kept_jobs
from socialapi.cli import output as exits
from socialapi.cli.audience import sync_audience, upload_audience, upload_do_not_reach
from socialapi.cli.demo import demo
from socialapi.cli.emulator import emulator
from socialapi.cli.webhooks import listen
from socialapi.version import __version__

app: App = App(
    name="socialapi",
    help="A social platform's APIs from the command line, with an emulator of the service to try them on.",
    version=f"socialapi {__version__}",
    help_epilogue="Hosts and credentials come from SOCIALAPI_* variables; `socialapi emulator` prints a set that works, and "
    "`socialapi auth login` keeps the credentials of a user.",
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)
audience: App = App(name="audience", help="Custom audiences.")
do_not_reach: App = App(name="do-not-reach", help="Do-not-reach lists.")
auth_commands: App = App(name="auth", help="Sign in as a user, see who is signed in, sign out.")
ads_commands: App = App(name="ads", help="Advertising accounts, their line items and history, insights.")
line_item_commands: App = App(name="line-item", help="Line items.")
post_commands: App = App(name="posts", help="Posts.")
webhook_commands: App = App(name="webhooks", help="Addresses that events are delivered to.")
app.command(audience)
app.command(do_not_reach)
app.command(demo)
app.command(emulator)
audience.command(upload_audience, name="upload")
audience.command(sync_audience, name="sync")
audience.command(lint.lint_audience, name="lint")
do_not_reach.command(upload_do_not_reach, name="upload")
do_not_reach.command(lint.lint_do_not_reach, name="lint")
catalog_commands: App = App(name="catalog", help="Product catalogs.")
app.command(catalog_commands)
catalog_commands.command(catalog.upsert)
catalog_commands.command(catalog.list_, name="list")
catalog_commands.command(catalog.create)
catalog_commands.command(catalog.products)
job_commands: App = App(
    name="jobs", help="Jobs that were started with --journal: see them, go on with them, forget them."
)
app.command(job_commands)
job_commands.command(kept_jobs.list_, name="list")
job_commands.command(kept_jobs.show)
job_commands.command(kept_jobs.resume)
job_commands.command(kept_jobs.forget)
app.command(auth_commands)
auth_commands.command(auth.login)
auth_commands.command(auth.status)
auth_commands.command(auth.logout)
app.command(ads_commands)
ads_commands.command(ads.accounts)
ads_commands.command(ads.account)
ads_commands.command(ads.history)
ads_commands.command(ads.insights)
ads_commands.command(ads.targeted)
ads_commands.command(line_item_commands)
line_item_commands.command(line_items.update)
app.command(post_commands)
post_commands.command(posts.by_user, name="by-user")
stream_commands: App = App(name="stream", help="Posts and activity as they happen.")
rule_commands: App = App(name="rules", help="Rules of the filtered stream.")
app.command(stream_commands)
stream_commands.command(stream.posts)
stream_commands.command(stream.activity)
stream_commands.command(rule_commands)
rule_commands.command(stream.list_rules, name="list")
rule_commands.command(stream.add_rules, name="add")
rule_commands.command(stream.delete_rules, name="delete")
app.command(webhook_commands)
webhook_commands.command(webhooks.create)
webhook_commands.command(webhooks.list_, name="list")
webhook_commands.command(webhooks.validate)
webhook_commands.command(webhooks.delete)
webhook_commands.command(webhooks.replay)
webhook_commands.command(listen)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status."""
    try:
        with exits.saying_warnings():
            result = call(list(sys.argv[1:] if arguments is None else arguments))
    except CycloptsError as problem:
        exits.say(f"{problem} (see --help)")
        return exits.USAGE
    except KeyboardInterrupt:
        exits.say("interrupted")
        return exits.INTERRUPTED
    except exits.EXPECTED as problem:
        exits.say(exits.sentence(problem))
        return exits.status_of(problem)
    return result if isinstance(result, int) else exits.DONE


def call(arguments: list[str]) -> object:
    """Calls the command that the arguments name and returns what it returns."""
    command, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    result = command(*bound.args, **bound.kwargs)
    return asyncio.run(_woken_by_signals(result)) if inspect.iscoroutine(result) else result


async def _woken_by_signals(command: Coroutine[object, object, object]) -> object:
    """Awaits a command in an event loop that every signal wakes.

    asyncio.Runner handles Ctrl-C without a wakeup descriptor. A signal that arrives between the last look at pending
    signals and epoll_wait() is then not seen before something else happens, which a job that waits for a pipe never
    does: 1 of 120 such jobs did not end.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
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
    """The entry point of the `socialapi` command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a sign that the terminal does not have is no reason to fail
    # A supervisor that ends the process gets what Ctrl-C gets: a clean end, and the report so far.
    # Where a shell has it ignore Ctrl-C, in the background, SIGTERM stays what it is, or it could not be ended.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, _as_interrupt)
    status = run()
    try:
        if sys.stdout is not None:  # as it is when it was closed by who started this
            sys.stdout.flush()
    except OSError as problem:
        status = _without_output(status, problem)
    sys.exit(status)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


def _without_output(status: int, problem: OSError) -> int:
    """Standard output does not take what is left: says so, unless it was said, and keeps Python from saying it again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if status in (exits.DONE, exits.SOME_REJECTED):
        exits.say(exits.sentence(problem))
        return exits.USAGE
    return status
