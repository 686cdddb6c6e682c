"""The project's own files agree with each other."""

import inspect
import itertools
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi.bulk.audiences.job import UploadOptions
from socialapi.bulk.products.job import UpsertOptions
from socialapi.bulk.sync.reading import SyncOptions
from socialapi.client import Client
from socialapi.config import Config
from socialapi.emulator import Emulator
from socialapi.routes import audiences
from socialapi.routes.route import TOTAL_COUNT_READS
from socialapi.streams.link import LinkOptions
from socialapi.version import __version__
from socialapi.webhooks import Receiver

ROOT: Final = Path(__file__).parents[1]
MAKEFILE: Final = (ROOT / "Makefile").read_text("utf-8")
NONE: Final = "\N{EN DASH}"
NOT_WITH_THE_OLDEST: Final = frozenset({"all", "dev", "testing", "spark"})
"""The sum of the others, what only tests need, and PySpark, which has an environment of its own."""


@pytest.fixture
def project() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return settings


def pinned(file: str = "constraints.txt") -> dict[str, str]:
    """The lines of a file of versions by the name of their distribution, without extras."""
    lines = (ROOT / file).read_text("utf-8").splitlines()
    return {re.split(r"\[|==", line)[0]: line for line in lines}


def test_the_constraints_are_names_and_versions_without_addresses() -> None:
    for line in pinned().values():
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[0-9][0-9a-z.]*( ; .+)?", line), line


def test_every_dependency_has_a_constraint(project: dict[str, Any]) -> None:
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[\[<>=~ ]", each)[0].lower() for each in wanted}
    assert names <= pinned().keys()


def test_the_extra_for_everything_has_every_other_that_a_program_may_use(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    assert extras["all"] == [f"{project['name']}[{','.join(sorted(extras.keys() - {'all', 'dev', 'testing'}))}]"]
    page = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    assert set(re.findall(r"^\| `aiosocialapi\[(\w+)\]`", page, re.MULTILINE)) == extras.keys() - {"dev"}


def test_the_oldest_dependencies_that_are_tested_are_the_floors_of_the_project(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    tested = extras.keys() - NOT_WITH_THE_OLDEST
    floors = [*project["dependencies"], *(each for name in tested for each in extras[name])]
    expected = {re.sub(r"\[[\w,]+\]", "", each).replace(">=", "==").replace("; ", " ; ") for each in floors}
    assert set(pinned("constraints-oldest.txt").values()) == expected
    installed = re.search(r"--editable '\.\[([a-z,]+)\]' --requirement tools/requirements-oldest", MAKEFILE)
    assert installed is not None
    assert set(installed[1].split(",")) == tested


@pytest.mark.parametrize(
    "file", ["tools/requirements.txt", "tools/requirements-bundle.txt", "tools/requirements-oldest.txt"]
)
def test_what_an_environment_of_its_own_has_is_of_the_versions_of_the_other_targets(file: str) -> None:
    others = {name: line.partition(" ;")[0] for name, line in pinned().items()}
    if file == "tools/requirements-oldest.txt":  # every SDK needs exactly the API of its version
        others["opentelemetry-sdk"] = f"{pinned('constraints-oldest.txt')['opentelemetry-api']}.0"
    for name, line in pinned(file).items():
        assert re.fullmatch(r"[a-z-]+(\[[a-z]+\])?==[0-9.]+", line), line
        assert others.get(name, line).partition("==")[2] == line.partition("==")[2]


def test_make_lists_every_target_with_a_line_of_help() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    listed = subprocess.run([make, "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = dict(re.findall(r"^  make ([\w-]+) +(\S.+)$", listed.stdout, re.MULTILINE))
    declared = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert declared is not None
    assert found.keys() == set(declared[1].split())


def commands_of(*arguments: str) -> str:
    """What make would run for these arguments."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    command = [make, "--dry-run", "--always-make", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_machines_draw_a_seed_unless_one_is_named() -> None:
    drawn = [re.search(r"^seed=(\d*);", commands_of("machines", "SEED=" + each), re.MULTILINE) for each in ("", "7")]
    assert [bool(each and each[1]) for each in drawn] == [True, True]
    assert drawn[1] is not None
    assert drawn[1][1] == "7"


def test_the_environments_that_make_sets_up_are_listed() -> None:
    lines = re.findall(r"^- ((?:`\.[a-z]+`(?: and )?)+): ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    listed = re.findall(r"`(.+?)`", " ".join(lines))
    targets = re.search(r"^((?:\$\(\w+\)/(?:bin/)?python ?)+):$", MAKEFILE, re.MULTILINE)
    assert targets is not None
    variables = dict(re.findall(r"^(\w+) := (.+)$", MAKEFILE, re.MULTILINE))
    names = re.findall(r"\$\((\w+)\)", targets[1].replace("$(BIN)", "$(VENV)"))
    by_calling_itself = re.findall(r"\btest-all VENV=\$\((\w+)\)", MAKEFILE)
    assert sorted(listed) == sorted(variables[name] for name in [*names, *by_calling_itself])


def test_the_readme_says_which_pythons_and_systems_were_tried(project: dict[str, Any]) -> None:
    versions = re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    said = f"Linux (x86-64, glibc) with CPython {versions[0]} to {versions[-1]}; macOS, Windows, musl, ARM, PyPy and"
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"The package is tested on {said} free-threaded builds are untested." in readme
    systems = [each for each in project["classifiers"] if each.startswith("Operating System ::")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    searched = re.search(r"^PYTHONS \?= (.+)$", MAKEFILE, re.MULTILINE)
    assert searched is not None
    assert {f"python{version}" for version in versions} <= set(searched[1].split())


def test_every_override_that_the_choices_name_exists() -> None:
    pages = (page.read_text("utf-8").splitlines() for page in (ROOT / "docs").glob("choices-*.md"))
    lines = itertools.chain.from_iterable(pages)
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| ") and "Question" not in line]
    assert all(len(row) == 3 for row in rows)
    fields = {field.name for field in attrs.fields(Config)}
    # The arguments of a client or of an upload, and the name of a limit, which `rate_limits` takes for a key.
    client = set(inspect.signature(Client).parameters)
    upload = {field.name for options in (UploadOptions, SyncOptions, UpsertOptions) for field in attrs.fields(options)}
    streams = {field.name for field in attrs.fields(LinkOptions)}
    parties = {name for each in (Receiver, Emulator) for name in inspect.signature(each).parameters}
    limits = {audiences.DO_NOT_REACH_UPLOADS.name, TOTAL_COUNT_READS.name}
    others = client | upload | streams | parties | limits | {"SOCIALAPI_CREDENTIALS_FILE", "tier"}
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    assert named
    assert named <= fields | others


def test_the_reference_lists_every_setting_with_its_default() -> None:
    text = (ROOT / "docs" / "reference.md").read_text("utf-8")
    (table,) = re.findall(r"^(\| Setting \|.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    listed = {
        row[1].strip(" `"): row[2].strip() for row in (line.split("|") for line in table.splitlines()[2:]) if row[1:]
    }
    expected = {}
    for field in attrs.fields(Config):
        default = field.default
        shown = ", ".join(f"`{each}`" for each in default) if isinstance(default, tuple) else str(default)
        is_empty = default in ("", None) or isinstance(default, attrs.Factory)  # type: ignore[arg-type]  # it is a class
        expected[field.name] = NONE if is_empty else shown
    assert listed == expected


def test_a_list_of_the_changelog_is_in_one_piece() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^(?:- |  ).*\n\n+(- .*)$", text, re.MULTILINE) == []


def test_the_newest_release_of_the_changelog_is_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    unreleased, newest, *_ = re.findall(r"^## \[([^\]]+)\](?: - \d{4}-\d\d-\d\d)?$", text, re.MULTILINE)
    assert (unreleased, newest) == ("Unreleased", __version__)
