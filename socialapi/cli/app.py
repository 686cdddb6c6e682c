"""The `socialapi` application: its commands, and an exit status and message for every error."""

import contextlib
import gc
import inspect
import io
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnusedCliTokensError,
    ValidationError,
)

from socialapi import _speedups
from socialapi.cli import output
from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.internal.logs import level_of
from socialapi.version import __version__

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

DEMO_HELP: Final = """Upload a dirty CRM export and load a dirty product feed into a private emulator, with faults,
and prove the outcome.

For example: `socialapi demo --rows 10000`. Writes both to a temporary folder, uploads them (killing the upload once and resuming it), and compares the emulator's content with
the expected content: the audience identifier by identifier, the catalog product by product. Exits
with 0 only if both match.
"""
EMULATOR_HELP: Final = """Run the service on this machine until interrupted, or in the background.

For example: `socialapi emulator --detach --port 8080 --env-file emulator.env`, or `socialapi emulator --stop --port 8080`.
The first line of output is a JSON object with the addresses and working credentials (with --detach --env-file, they are only in the file). The
control plane under /_emulator shows the content of the service, scripts faults and advances its
clock. It also has a page for browsers.

Exit status: 0 ended by a signal, serving in the background, or nothing left to --stop, 2 wrong
usage, a port in use, or an emulator that did not start or end in time.
"""

DOCTOR_HELP: Final = """Check the setup: version, hosts, this machine's clock, each credential, limits and files.

For example: `socialapi doctor --json`. Makes one harmless call with each credential, without renewing tokens. Exit status: 0 no problems,
2 a setting is missing or wrong, 3 the service refused a credential or could not be reached.
"""
LIMITS_HELP: Final = """Show the rate limits of one harmless call with each credential, as the service reports them.

For example: `socialapi limits --json`. With SOCIALAPI_REDIS_URL, shows the state that all processes share. The limits of a running job are
in its program's `client.limits`.
"""

_FIRST: Final = (
    "--account",
    "--audience",
    "--list",
    "--operation",
    "--snapshot",
    "--dry-run",
    "--journal",
    "--digests",
    "--rejects",
    "--key",
    "--outcomes",
)
_LAST: Final = ("--output", "--output-file", "--escape-formulas", "--json")
_EXAMPLES: Final = re.compile(r"For example:\s(.*?)\.(?=\s|\Z)", re.DOTALL)
_PLACEHOLDERS: Final[Mapping[str, str]] = {
    "STR": "TEXT",
    "STR...": "TEXT",
    "INT": "NUMBER",
    "FLOAT": "NUMBER",
    "PATH": "FILE",
}


class Help:
    """Shows help: examples first, required options before optional ones, and text without markup."""

    show_metavar = True

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        """Prints a panel of commands or options."""
        from cyclopts.help.formatters import DefaultFormatter

        entries = [self._entry(each) for each in panel.entries]
        DefaultFormatter()(console, options, panel.copy(entries=sorted(entries, key=self._rank)))

    @staticmethod
    def render_usage(console: "Console", options: "ConsoleOptions", usage: object) -> None:
        """Prints the usage, with option names as placeholders for ids."""
        named = re.sub(r"(?<=--)([\w-]+) STR", lambda found: f"{found[1]} {_placeholder(found[1])}", str(usage).strip())
        named = re.sub(" PATH| INT", lambda found: f" {_PLACEHOLDERS[found[0].strip()]}", named)
        named = re.sub(" FILE$", " FILE...", named.replace(" COMMAND [OPTIONS]", " [COMMAND] [OPTIONS]"))
        if "[ARGS" in named:
            _, apps, _ = app.parse_commands(named.split("[")[0].split()[1:])
            positional = [
                each.name
                for each in apps[-1].assemble_argument_collection()
                if each.field_info.kind in (each.field_info.POSITIONAL_ONLY, each.field_info.VAR_POSITIONAL)
            ]
            named = named.replace("[ARGS", f"[{positional[-1]}")
        console.print(f"Usage: {named}\n", style="bold", markup=False, highlight=False)

    @staticmethod
    def render_description(console: "Console", options: "ConsoleOptions", description: object) -> None:
        """Prints the description of a command, with its examples after the first sentence."""
        text = _written(description)
        examples = _EXAMPLES.search(text)
        summary, *more = re.split(r"\n\n\s*|\s(?=Exit\s+status:)", _EXAMPLES.sub("", text).strip())
        _print_folded(console, summary)
        if examples is not None:
            console.print("\nExamples:", style="bold")
            for example in re.findall("`([^`]*)`", examples[1]):
                console.print(f"  {' '.join(example.split())}", markup=False, highlight=False, soft_wrap=True)
        for paragraph in more:
            console.print()
            _print_folded(console, paragraph)
        console.print()

    @staticmethod
    def _entry(entry: "HelpEntry") -> "HelpEntry":
        from attrs import evolve

        metavar = _PLACEHOLDERS.get(entry.metavar or "", entry.metavar)
        if entry.metavar == "STR" and entry.required and entry.positive_names:
            metavar = _placeholder(entry.positive_names[0].lstrip("-"))
        default = None if entry.default in ("False", "()") else entry.default
        return evolve(entry, metavar=metavar, default=default, description=_written(entry.description))

    @staticmethod
    def _rank(entry: "HelpEntry") -> int:
        name = next(iter(entry.positive_names), "")
        after = len(_FIRST)
        place = _FIRST.index(name) if name in _FIRST else after + (_LAST.index(name) + 1 if name in _LAST else 0)
        return place - after * entry.required


def _print_folded(console: "Console", text: str) -> None:
    folded = output.folded(" ".join(text.split()), console.file, indent="")
    console.print(folded, markup=False, highlight=False, soft_wrap=True)


def _placeholder(option: str) -> str:
    return option.upper().replace("-", "_")


def _written(text: object) -> str:
    return str(getattr(getattr(text, "primary_renderable", text), "markup", "")).strip()


app: App = App(
    name="socialapi",
    help="A social platform's APIs from the command line, with an emulator of the service to try them on.\n\n"
    "For example: `socialapi demo`, `socialapi emulator --detach --env-file emulator.env`, or `socialapi help audience upload`.",
    version_flags=(),
    help_epilogue="Hosts and credentials come from SOCIALAPI_* variables. `socialapi emulator` prints a working set, "
    "and `socialapi auth login` stores a user's credentials. Every command accepts -v and -vv to show retries, waits and each "
    "request, and -q to show only errors.",
    help_formatter=Help(),
    # Options have no --no-… or --empty-… twins, and values may begin with a bracket, as patterns ([ab].csv) and rules do.
    default_parameter=Parameter(negative=(), json_list=False),
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)


@app.command(name="help")
def help_(
    *command: Annotated[str, Parameter(help="A command, for example audience upload. By default, all commands.")],
) -> None:
    """Show the help of a command, like --help.

    For example: `socialapi help audience upload`.
    """
    found, apps, unknown = app.parse_commands(list(command))
    if unknown:
        from socialapi.models.spelling import near_name

        meant = near_name(unknown[0], tuple(apps[-1]))
        hint = f": did you mean {' '.join((*found, meant))}?" if meant else ""
        help_ = " ".join(("socialapi", "help", *found))
        raise InvalidInput(f"there is no command {' '.join(command)}{hint} (see `{help_}`)")
    from socialapi.internal.console import Output

    app.help_print(list(command), console=Output())


@app.command(name="--version")
def version() -> None:
    """Print the version, and whether the C extension is used."""
    print(f"socialapi {__version__}\n{_speedups.description()}")  # one line each, even in a narrow terminal


for _name, _imports, _help in (
    ("audience", "audience:app", "Upload files to custom audiences, or keep audiences equal to them."),
    ("do-not-reach", "audience:do_not_reach_app", "Upload files to do-not-reach lists."),
    ("catalog", "catalog:app", "Load feeds into product catalogs, and list their products."),
    ("jobs", "jobs:app", "List, resume and forget the jobs that were started with --journal."),
    ("auth", "auth:app", "Sign in as a user, see who is signed in, sign out."),
    ("ads", "ads:app", "Print ad accounts, their history and insights, and change line items."),
    ("posts", "posts:app", "Print the posts of a user."),
    ("stream", "stream:app", "Print posts and activity as they happen."),
    ("webhooks", "webhooks:app", "Register webhooks and receive their events."),
    ("doctor", "doctor:doctor", DOCTOR_HELP),
    ("limits", "doctor:limits", LIMITS_HELP),
    ("demo", "demo:demo", DEMO_HELP),
    ("emulator", "emulator:app", EMULATOR_HELP),
):
    # A command is imported when it is called, so a process loads only its own command.
    app.command(f"socialapi.cli.{_imports}", name=_name, help=_help)

Shell = Literal["bash", "zsh", "fish"]
HOW_TO_LOAD: Final[Mapping[Shell, str]] = {
    "bash": "bash-completion loads it in new shells; without bash-completion, add this line to ~/.bashrc:  . {path}",
    "zsh": "add this line to ~/.zshrc, before the one that calls compinit:  fpath=({folder} $fpath)",
    "fish": "new shells load it",
}


@app.command
def completion(
    shell: Annotated[Shell, Parameter(help="The shell to generate completions for.")],
    /,
    *,
    install: Annotated[
        bool, Parameter(help="Save the script where the shell looks for it. No startup file is changed.")
    ] = False,
) -> None:
    """Print a script that completes `socialapi` commands on TAB, without starting Python.

    For example: `socialapi completion bash --install`. To try it in bash or zsh: `source <(socialapi completion bash)`,
    with the name of the shell; in fish: `socialapi completion fish | source`.
    """
    if not install:
        print(_completion_script(shell), end="")
        return
    with contextlib.suppress(RuntimeError):  # pathlib raises this for a user without a home folder
        path = app.install_completion(shell=shell, add_to_startup=False)
        output.say(f"wrote {path}; {HOW_TO_LOAD[shell].format(path=path, folder=path.parent)}")
        return
    raise ConfigurationError("this user has no home folder: set HOME, or print the script")


def _completion_script(shell: Shell) -> str:
    script = app.generate_completion(shell=shell)
    # The zsh script only defines a function, which is enough for a file in `fpath`. A sourced script
    # must also register the function.
    function = re.search(r"(?m)^(_\w+)\(\)", script) if shell == "zsh" else None
    if function is None:
        return script
    is_autoloaded = f'[[ "$funcstack[1]" == "{function[1]}" ]]'
    return f'{script}\n{is_autoloaded} && {function[1]} "$@" || compdef {function[1]} socialapi\n'


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status."""
    words, level = _without_verbosity(list(sys.argv[1:] if arguments is None else arguments))
    try:
        with output.saying_logs(level or level_of(os.environ) or logging.WARNING):
            result = call(words)
    except CycloptsError as problem:
        output.say(output.printable(_refusal(problem, words)))
        return output.USAGE
    except KeyboardInterrupt:
        output.say("interrupted")
        return output.INTERRUPTED
    except output.EXPECTED as problem:
        output.say_problem(problem)
        return output.status_of(problem)
    return result if isinstance(result, int) else output.DONE


WORDS_OF_TYPES: Final[Mapping[object, str]] = {int: "a whole number", float: "a number", bool: "true or false"}


def _refusal(problem: CycloptsError, words: Sequence[str]) -> str:
    """Returns the error in a command line, and the `--help` command that shows the correct usage."""
    commands, apps, _ = app.parse_commands(list(words))
    help_ = f"(see `{' '.join(('socialapi', *commands))} --help`)"
    problem.verbose = False  # the verbose text is meant for developers of the command
    name = "" if problem.argument is None else problem.argument.name
    match problem:
        case ValidationError() if isinstance(problem.__cause__, InvalidInput):
            text = problem.exception_message
            if unknown := re.match("there is no option ([^;]+)", text):  # if one of the files is `-`
                from socialapi.models.spelling import near_name

                declared = apps[-1].assemble_argument_collection(default_parameter=app.default_parameter)
                options = tuple(each for argument in declared for each in argument.names)
                near = near_name(unknown[1].partition("=")[0], options)
                return f"{unknown[0]}; did you mean {near}? {help_}" if near else f"{text} {help_}"
            return text
        case MissingArgumentError(keyword=str(option)):
            text = f"{option} needs a value"
        case MissingArgumentError(argument=argument) if argument is not None and not problem.unused_tokens:
            about = (argument.parameter.help or "").partition(". ")[0].rstrip(".")
            text = f"{name} is missing{about and f': {about}'}"
        case UnusedCliTokensError(unused_tokens=[word, *_]):
            takes_files = any(each.name == "FILE" for each in apps[-1].assemble_argument_collection())
            text = f"unexpected argument {word!r}{'; list the files one after another' if takes_files else ''}"
        case CoercionError(target_type=kind, token=token) if token is not None and kind in WORDS_OF_TYPES:
            text = f"Invalid value for {token.keyword or name}: must be {WORDS_OF_TYPES[kind]}"
        case _:
            text = str(problem)
    return f"{text} {help_}"


VERBOSITY: Final[Mapping[str, int]] = {
    "-v": logging.INFO,
    "-vv": logging.DEBUG,
    "--verbose": logging.INFO,
    "-q": logging.ERROR,
    "--quiet": logging.ERROR,
}
"""The verbosity options that every command accepts."""


def _without_verbosity(words: Sequence[str]) -> tuple[list[str], int | None]:
    """Returns the command line without its verbosity options, and the log level that these options set."""
    end = words.index("--") if "--" in words else len(words)
    found = [VERBOSITY[word] for word in words[:end] if word in VERBOSITY]
    left = [word for word in words[:end] if word not in VERBOSITY]
    level = logging.DEBUG if found.count(logging.INFO) > 1 else min(found, default=None)
    return [*left, *words[end:]], level


def call(arguments: list[str]) -> object:
    """Calls the command of a command line and returns its result."""
    command, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    output.OPTIONS.clear()
    if not inspect.ismethod(command):  # --help is a method of the parser
        declared = app.parse_commands(arguments)[1][-1].assemble_argument_collection()
        output.OPTIONS.update({name: each.name for each in declared for name in each.field_info.names})
    if gc.get_freeze_count():  # in a command-line process (see `main`), also freezes the imported objects
        gc.freeze()
        gc.enable()
    if "console" in bound.arguments:  # only help and a few other commands import rich
        from socialapi.internal.console import Output

        bound.arguments["console"] = Output()
    result = command(*bound.args, **bound.kwargs)
    if not inspect.iscoroutine(result):
        return result
    import asyncio  # importing it takes a quarter of the time of `--version`

    try:
        return asyncio.run(_woken_by_signals(result))
    except asyncio.CancelledError:  # by SIGTERM, see `_cancel_on_sigterm`
        raise KeyboardInterrupt from None


async def _woken_by_signals(command: Coroutine[object, object, object]) -> object:
    """Awaits a command in an event loop that every signal wakes.

    asyncio.Runner handles Ctrl-C without a wakeup descriptor. A signal that arrives between the last check for pending
    signals and epoll_wait() is then noticed only when something else happens. A job that waits for a pipe may then wait
    forever: 1 of 120 such jobs did not end.
    """
    # Only the main thread gets signals.
    if threading.current_thread() is not threading.main_thread():
        return await command
    import asyncio
    import socket

    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(reading, reading.recv, 4096)
        earlier = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            _cancel_on_sigterm()
        try:
            return await command
        finally:
            signal.set_wakeup_fd(earlier)
            loop.remove_reader(reading)


def _cancel_on_sigterm() -> None:
    """Makes the first SIGTERM cancel this task, and the next one raise KeyboardInterrupt.

    asyncio handles Ctrl-C in the same way. Commands that a shell runs in the background ignore Ctrl-C, and continue to
    do so.
    """
    import asyncio

    task = asyncio.current_task()

    def end(number: int, frame: FrameType | None) -> None:
        if task is None or task.done() or task.cancelling():
            raise KeyboardInterrupt
        task.cancel()

    signal.signal(signal.SIGTERM, end)


def main() -> NoReturn:
    """Runs a command of `socialapi`, and exits with its status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal cannot display must not make the command fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(output.end(run()))
