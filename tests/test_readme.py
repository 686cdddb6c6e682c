"""The README and the pages of the documentation are run: the snippets of a page in their order, in one folder, against
an emulator of its own.

    ```python     runs as a script; `await` is fine at its top level
    ```console    a line `$ command` is typed into a shell (`> ` goes on with it), and what it prints is compared with
                  the lines below it. A command that ends with another status than 0 is followed by `$ echo $?`.
                  `…` stands for anything in its line, and for any number of lines when it stands alone.
    ```py         a program with another library, which tests/clients runs
    ```sh         how to install or start something: what it names has to exist. A line that starts with `curl` is
                  sent to the emulator. The others are run on the pages of `PASTED` alone.

Pages are found by their names, so that a new one is run as well.

Numbers with a unit of time, rates, ports and temporary paths may differ, and so may the number of blanks and of signs
in a rule, which follow from them.
"""

import ast
import functools
import json
import os
import re
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import attrs
import pytest
import readme_renderer.markdown

from benchmarks.harness.figures import read_run
from docs import endpoints
from socialapi.emulator.server import variables

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
DOCS: Final = sorted((ROOT / "docs").glob("*.md"))
PAGES: Final = [README, *DOCS]
WITH_A_TEST_OF_THEIR_OWN: Final = {
    "deployment.md": "test_deployment_page.py",
    "networks.md": "test_networks_page.py",
    "several-processes.md": "integrations/test_several_processes_page.py",
    "spark.md": "spark/test_page.py",
}
"""Pages whose snippets need more than an emulator, and what runs them."""
NOT_RUN: Final = {
    "pip install": "tests/test_wheel.py installs the distribution",
    "make demo": "tests/cli/test_demo.py runs the demo",
    "make test": "this is one of the tests",
    "socialapi demo": "tests/cli/test_demo.py runs the demo",
    "socialapi emulator": "each page has an emulator of its own",
    ". ./emulator.env": "each page has its variables",
    "socialapi auth login": "it asks a person; tests/cli/test_sign_in.py answers",
    "socialapi auth status": "tests/cli/test_auth.py runs it",
}
"""How the lines of `sh` blocks begin that no test runs as they stand, and why."""
PASTED: Final = [README, ROOT / "docs" / "getting-started.md"]
"""Pages whose `sh` and `console` blocks a newcomer pastes into a shell, from top to bottom."""
NOT_PASTED: Final = {
    "pip install": "tests/test_wheel.py installs the distribution, and there may be no network",
    "make demo": "tests/cli/test_demo.py runs the demo",
    "make test": "this is one of the tests",
    "socialapi demo": "test_every_snippet_does_what_it_shows runs it, and it starts an emulator of its own",
}
"""How the lines begin that are left out there, and why."""
RUN_HERE: Final = [
    pytest.param(page, id=page.name, marks=() if page == README else pytest.mark.slow)
    for page in PAGES
    if page.name not in WITH_A_TEST_OF_THEIR_OWN
]
TEXTS: Final = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]
MAX_COLUMNS: Final = 100

Environment = Mapping[str, str]


# Reading -----------------------------------------------------------------------------------------------------------


@attrs.frozen
class Snippet:
    """A fenced block; `line` is where its first line stands in `page`."""

    language: str
    line: int
    text: str
    page: str = README.name


@attrs.frozen
class Command:
    """A command of a console block and what it is said to print."""

    line: int
    text: str
    output: str


def snippets(markdown: str, page: str = README.name) -> list[Snippet]:
    """The fenced blocks that name a language."""
    found: list[Snippet] = []
    lines = iter(enumerate(markdown.splitlines(), start=1))
    for number, line in lines:
        opening = re.fullmatch(r"(\s*)(`{3,})(\w+).*", line)
        if opening is None:
            continue
        indent, fence, language = opening.groups()
        body: list[str] = []
        for _, inner in lines:
            if inner.strip() == fence:
                break
            body.append(inner.removeprefix(indent))
        found.append(Snippet(language, number + 1, "\n".join(body) + "\n", page))
    return found


def snippets_of(path: Path) -> list[Snippet]:
    """The fenced blocks of a page."""
    return snippets(path.read_text("utf-8"), path.name)


def prose(markdown: str) -> Iterator[tuple[int, str]]:
    """The lines outside of fenced blocks, with their numbers."""
    inside = False
    for number, line in enumerate(markdown.splitlines(), start=1):
        is_fence = line.strip().startswith("```")
        if not inside and not is_fence:
            yield number, line
        inside ^= is_fence


def commands(snippet: Snippet) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for number, line in enumerate(snippet.text.splitlines(), start=snippet.line):
        if line.startswith("$ "):
            found.append(Command(number, line[2:], ""))
        elif not found:
            raise AssertionError(f"{snippet.page}:{number}: a console block starts with `$ `")
        elif line.startswith("> ") and not found[-1].output:
            found[-1] = attrs.evolve(found[-1], text=f"{found[-1].text}\n{line[2:]}")
        else:
            found[-1] = attrs.evolve(found[-1], output=f"{found[-1].output}{line}\n")
    return found


# Comparing ---------------------------------------------------------------------------------------------------------

_NUMBER: Final = r"\d[\d,]*(?:\.\d+)?"
_RUN_DEPENDENT: Final = (
    (r"\x1b\[[\d;?]*[A-Za-z]", ""),
    # Progress, which a job prints every ten seconds on a machine that is slow.
    (r"(?m)^.*: \d+ %, [\d,]+ of ~?[\d,]+ rows, .*\n", ""),
    (rf"\b{_NUMBER} ?(rows|requests|records|operations|B|kB|MB|GB|[kM]?)/(s|min)\b", r"# \1/\2"),
    (rf"\b{_NUMBER} ?(µs|ms|s|min|h|seconds?|minutes?)\b", r"# \1"),
    (rf"\b(rows/s|seconds)[ \t]+{_NUMBER}", r"\1 #"),
    (r"\b\d+:\d\d(:\d\d)?\b", "#:##"),
    (r"(127\.0\.0\.1|localhost|\[::1\]):\d+", r"\1:#"),
    (rf"(?:{re.escape(os.environ.get('TMPDIR', '/tmp').rstrip('/'))}|/tmp|/var/folders)/[^\s'\"…]*", "<path>"),
    (r"[ \t]+", " "),
    (r"([─━═-])\1{2,}", r"\1\1\1"),
)


def settled(text: str) -> str:
    """The text without what differs from run to run, and without blanks at the ends of its lines and its own."""
    for pattern, replacement in _RUN_DEPENDENT:
        text = re.sub(pattern, replacement, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def matches(shown: str, printed: str) -> bool:
    """Whether what is printed is what the page shows."""
    pattern = ""
    for line in settled(shown).splitlines():
        if line == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, settled(printed) + "\n" if settled(printed) else "") is not None


# Running -----------------------------------------------------------------------------------------------------------

_RUN_SCRIPT: Final = """
import ast, asyncio, inspect, pathlib, sys
path, line, page = sys.argv[1], int(sys.argv[2]), sys.argv[3]
source = "\\n" * (line - 1) + pathlib.Path(path).read_text("utf-8")
code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
result = eval(code, {"__name__": "__main__"})
if inspect.iscoroutine(result):
    asyncio.run(result)
"""


def run_python(snippet: Snippet, folder: Path, environment: Environment) -> str:
    """Run a block as a script, or as a test if it is one; its line numbers are those of the page. Returns what it printed."""
    script = folder / "test_snippet.py"
    script.write_text(snippet.text, "utf-8")
    how = ["-c", _RUN_SCRIPT, str(script), str(snippet.line), snippet.page]
    if "def test_" in snippet.text:
        settings = ("asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function")
        how = [
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:schemathesis",
            *(f"--override-ini={each}" for each in settings),
            str(script),
        ]
    done = subprocess.run(
        [sys.executable, "-W", "error", *how],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    script.unlink()
    assert done.returncode == 0, f"{snippet.page}:{snippet.line}: the snippet failed\n{done.stdout}"
    return done.stdout


class Shell:
    """A shell that is typed into: folder, variables and files stay from one command to the next."""

    def __init__(self, folder: Path, environment: Environment, *program: str) -> None:
        self._status = 0
        self._process = subprocess.Popen(
            program or ["/bin/sh"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:
            self._process.kill()

    def run(self, command: str) -> tuple[int, str]:
        """The status of a command and what it printed; `$?` is the status of the one before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        mark = "-- end of the command, status"
        self._process.stdin.write(
            f"(exit {self._status})\n{{ {command}\n}} </dev/null\nprintf '\\n%s %s\\n' '{mark}' $?\n"
        )
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            if line.startswith(mark):
                self._status = int(line.removeprefix(mark))
                return self._status, printed.removesuffix("\n")
            printed += line
        raise AssertionError(f"the shell ended at: {command}\n{printed}")


def run_console(snippet: Snippet, shell: Shell) -> None:
    """Type the commands of a block and compare what they print."""
    typed = commands(snippet)
    for command, following in zip(typed, [*typed[1:], None], strict=True):
        status, printed = shell.run(command.text)
        asked = following is not None and following.text == "echo $?"
        where = f"{snippet.page}:{command.line}: $ {command.text}"
        assert status == 0 or asked, f"{where}\nended with status {status}:\n{printed}"
        assert matches(command.output, printed), f"{where}\nshows:\n{command.output}\nbut printed:\n{printed}"


def check_installation(snippet: Snippet) -> list[str]:
    """What a block of installation commands names that does not exist."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^(\w+):", makefile, re.MULTILINE))
    written = set(re.findall(r"--env-file (\S+)", snippet.text))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [
        f"{snippet.page}:{number}: {line}"
        for number, line in enumerate(snippet.text.splitlines(), start=snippet.line)
        if not _exists(line.partition("#")[0].split(), targets, project["name"], set(project["scripts"]), written)
    ]


def _exists(words: Sequence[str], targets: set[str], distribution: str, scripts: set[str], written: set[str]) -> bool:
    match words:
        case [] | ["git", "clone", *_] | ["cd", _] | ["curl", "-X", "POST", *_]:
            return True  # what curl would send, `send_curl` does
        case ["make", *named]:
            return set(named) <= targets
        case ["pip", "install", *what] | ["python", "-m", "pip", "install", *what]:
            names = [re.split(r"[\[=<>~]", each.strip("'\""))[0] for each in what if not each.startswith("-")]
            return all(name in (distribution, ".") for name in names)
        case [".", path]:
            return path.removeprefix("./") in written
        case [program, *arguments] if program in scripts:
            named_commands = [word for word in arguments if re.fullmatch(r"[a-z-]+", word) and word[0] != "-"][:1]
            return _has_help(program, *named_commands)
    return False


@functools.cache
def _has_help(program: str, *named_commands: str) -> bool:
    command: list[str | Path] = [Path(sys.executable).with_name(program), *named_commands, "--help"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


@pytest.fixture
def emulator_variables() -> Iterator[Environment]:
    """The variables that point at a running `socialapi emulator`, made from its ready line."""
    command = [sys.executable, "-m", "socialapi", "emulator", "--port", "0"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, f"the emulator ended with status {process.wait()} before it was ready"
            yield variables(json.loads(line))
        finally:
            process.send_signal(signal.SIGINT)


@pytest.fixture
def bare_environment(tmp_path: Path) -> dict[str, str]:
    """What a newcomer's terminal has, with the programs of this environment first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALAPI_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    home = tmp_path / "home"
    home.mkdir()
    return kept | {
        "PATH": path,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "COLUMNS": "100",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }


def send_curl(line: str, base_url: str) -> int:
    """The status of the reply to what a `curl` line sends, with this emulator in place of the one on port 8080."""
    match shlex.split(line):
        case ["curl", "-X", "POST", address, "-d", body]:
            url = address.replace("localhost:8080", base_url, 1)
            with urllib.request.urlopen(urllib.request.Request(url, body.encode(), method="POST")) as reply:
                status: int = reply.status
                return status
    raise AssertionError(f"only `curl -X POST address -d body` is understood, not {line}")


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", RUN_HERE)
def test_every_snippet_does_what_it_shows(
    page: Path, tmp_path: Path, bare_environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    found = snippets_of(page)
    assert {snippet.language for snippet in found} <= {"python", "console", "sh", "json", "py"}
    if not found:
        return
    environment = {**bare_environment, **request.getfixturevalue("emulator_variables")}
    folder = tmp_path / "work"
    folder.mkdir()
    with Shell(folder, environment) as shell:
        for snippet in found:
            if snippet.language == "python":
                run_python(snippet, folder, environment)
            elif snippet.language == "console":
                run_console(snippet, shell)
            for line in snippet.text.splitlines() if snippet.language == "sh" else ():
                assert not line.startswith("curl ") or send_curl(line, environment["SOCIALAPI_BASE_URL"]) < 300


@pytest.fixture
def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PASTED, ids=name_of)
def test_a_newcomer_can_paste_the_shell_blocks_from_top_to_bottom(
    page: Path, tmp_path: Path, bare_environment: dict[str, str], free_port: str
) -> None:
    """Nothing is there but an empty folder and the installed program; the emulator is the one that the page starts."""
    folder = tmp_path / "work"
    folder.mkdir()
    pasted = page.read_text("utf-8").replace("8080", free_port)
    with Shell(folder, bare_environment, "bash", "--noprofile", "--norc") as shell:
        try:
            for snippet in snippets(pasted, page.name):
                if snippet.language == "sh":
                    paste(snippet, shell)
                elif snippet.language == "console" and not snippet.text.removeprefix("$ ").startswith((*NOT_PASTED,)):
                    run_console(snippet, shell)
            assert (folder / "crm.csv").exists()
        finally:
            status, said = shell.run(f"socialapi emulator --stop --port {free_port}")
    assert (status, said) == (0, f"socialapi: the emulator on port {free_port} has ended\n")


def paste(snippet: Snippet, shell: Shell) -> None:
    """Paste the lines of a block of commands, each of which has to succeed at once."""
    for number, line in enumerate(snippet.text.splitlines(), start=snippet.line):
        if not line.startswith((*NOT_PASTED,)):
            status, printed = shell.run(line)
            assert status == 0, f"{snippet.page}:{number}: {line}\nended with status {status}:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_line_of_commands_can_be_pasted(page: Path) -> None:
    """It waits for what it starts, and has no comment, which the shell of macOS takes for arguments."""
    lines = [line for snippet in snippets_of(page) if snippet.language == "sh" for line in snippet.text.splitlines()]
    assert not [line for line in lines if line.endswith("&") or "#" in line]


@pytest.mark.parametrize(("page", "tests"), WITH_A_TEST_OF_THEIR_OWN.items())
def test_a_page_that_is_not_run_here_is_run_elsewhere(page: str, tests: str) -> None:
    assert page in (ROOT / "tests" / tests).read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("about", ["on_gap=missed", ".run(show)", "webhooks.ensure(URL)", "receiver.asgi"])
def test_what_shows_how_a_program_starts_can_be_run_again(
    about: str, tmp_path: Path, bare_environment: dict[str, str], emulator_variables: Environment
) -> None:
    """A program is started again and again: what it sets up is there already, and what it kept is read again."""
    (snippet, *_) = [
        each for page in PAGES for each in snippets_of(page) if each.language == "python" and about in each.text
    ]
    environment = {**bare_environment, **emulator_variables}
    printed = [run_python(snippet, tmp_path, environment) for _ in range(2)]
    assert [len(each.splitlines()) for each in printed] == [len(printed[0].splitlines())] * 2


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_says_about_installing_exists(page: Path) -> None:
    assert not [each for s in snippets_of(page) if s.language == "sh" for each in check_installation(s)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_is_run_or_it_is_said_why_not(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(snippets_of(page)) == len(re.findall(r"(?m)^\s*```", text)) / 2, "a block names no language"
    lines = [line for snippet in snippets_of(page) if snippet.language == "sh" for line in snippet.text.splitlines()]
    assert not [line for line in lines if not line.startswith(("curl ", *NOT_RUN))]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_and_json_of_a_page_can_be_read(page: Path) -> None:
    for snippet in snippets_of(page):
        if snippet.language == "python":
            compile(snippet.text, f"{page.name}:{snippet.line}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        elif snippet.language == "json":
            json.loads(snippet.text)


# Texts -------------------------------------------------------------------------------------------------------------


def anchors(path: Path) -> set[str]:
    """What the headings of a page are linked by."""
    headings = [line.lstrip("# ") for _, line in prose(path.read_text("utf-8")) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*TEXTS, *sorted((ROOT / "benchmarks").glob("*.md"))], ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = "\n".join(line for _, line in prose(page.read_text("utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_contents_list_every_page() -> None:
    contents = (ROOT / "docs" / "contents.md").read_text("utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^/\s]+\.md)\):? \S", contents, re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in DOCS if page.name not in ("index.md", "contents.md"))


LANDING: Final = ROOT / "docs" / "index.md"
PLOT: Final = "benchmarks/plots/paging.svg"


def first_screen(page: Path) -> str:
    """The page up to its first section, with its links as paths in the repository."""
    screen = page.read_text("utf-8").partition("\n## ")[0]
    folder = page.parent.relative_to(ROOT)
    return re.sub(r"\]\(([^)\s]+)\)", lambda link: f"]({os.path.normpath(folder / link[1])})", screen)


def test_the_landing_page_has_the_first_screen_of_the_readme_and_a_dozen_links() -> None:
    assert first_screen(LANDING) == first_screen(README)
    _, *groups = LANDING.read_text("utf-8").split("\n## ")
    links = [re.findall(r"^- \[", group, re.MULTILINE) for group in groups]
    assert len(groups) == 3
    assert sum(map(len, links)) <= 12


def test_the_readme_is_short_and_so_are_its_first_three_programs() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 200
    sync, stream, feed, *_ = [each.text for each in snippets_of(README) if each.language == "python"]
    for text, call in ((sync, ".sync("), (stream, ".connect("), (feed, ".upsert(")):
        assert call in text
        assert 6 <= len(text.splitlines()) <= 10


def test_the_figures_of_the_first_screen_are_those_of_one_run_and_of_the_tests() -> None:
    works = read_run(ROOT / "benchmarks" / "figures.json").works
    timeline, stream = [
        100 * works[work].ratios["socialapi"].median / works[work].ratios[tweepy].median
        for work, tweepy in (("paging", "tweepy, session reused"), ("stream", "tweepy"))
    ]
    quota = {name: metrics for name, metrics in works["quota"].metrics.items() if name.startswith("socialapi")}
    least = min(metrics["share"].lower for metrics in quota.values())
    refused = works["quota"].metrics["aiohttp, 16 at once, 200 ms"]["refused"].median
    peak = works["memory"].metrics["socialapi, CSV"]["peak_mb"].median
    assert not any(metrics["refused"].upper for metrics in quota.values())
    journal = (ROOT / "tests" / "proofs" / "test_journal.py").read_text("utf-8")
    assert re.findall(r"^(?:ROWS|KILLS): Final = (\S+)$", journal, re.MULTILINE) == ["2_000_000", "20"]
    screen = " ".join(first_screen(README).split())
    for figure in (
        f"ten million rows takes {peak:.0f} MB of memory",
        f"uses {int(least)}% of the 1,500 requests allowed per minute and never gets a 429",
        f"plain aiohttp with 16 tasks gets {refused:.0f} of them",
        "two million rows 20 times",
        f"a timeline takes {timeline:.0f}% of what tweepy takes, and reading a stream {stream:.0f}%",
        f"all {len(endpoints.rows())} supported endpoints",
    ):
        assert figure in screen


REPOSITORY: Final = {"GITHUB_REPOSITORY": "owner/name", "GITHUB_SHA": "0a1b2c"}


def test_a_package_index_shows_the_readme_with_all_of_its_links_and_pictures() -> None:
    """Rendered as an index does. Its links are absolute once a release knows the address of the repository."""
    setup = runpy.run_path(str(ROOT / "setup.py"))
    description = setup["description"]
    assert setup["urls"]({}) == {}
    assert setup["urls"](REPOSITORY)["Changelog"] == "https://github.com/owner/name/blob/HEAD/CHANGELOG.md"
    readme = README.read_text("utf-8")
    assert description(readme, {}) == readme
    shown = readme_renderer.markdown.render(description(readme, REPOSITORY)) or ""
    links, pictures = (re.findall(rf' {name}="([^"]+)"', shown) for name in ("href", "src"))
    address = "https://github.com/owner/name"
    assert pictures == [f"{address}/raw/0a1b2c/{path}" for path in ("docs/assets/emulator.png", PLOT)]
    assert f"{address}/blob/0a1b2c/docs/getting-started.md" in links
    assert not [each for each in links if not each.startswith((f"{address}/blob/0a1b2c/", "https://", "#"))]
    assert shown.count("<table>") == 2


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_prose_keeps_to_the_width_of_a_page(page: Path) -> None:
    for number, line in prose(page.read_text("utf-8")):
        fits = len(line) <= MAX_COLUMNS or line.lstrip().startswith("|")
        assert fits, f"{page.name}:{number} has {len(line)} columns"
