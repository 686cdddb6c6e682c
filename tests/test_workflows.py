"""The workflows of the public host agree with the rest of the project, which cannot run them."""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml  # type: ignore[import-untyped]

from tools.release_check import MACHINES, TAG_VARIABLE

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / ".github" / "workflows"
NAMES: Final = sorted(path.name for path in FOLDER.glob("*.yml"))
PYTHON: Final = "Programming Language :: Python :: "


def workflow(name: str) -> dict[str, Any]:
    # A bare `on` is true in YAML 1.1.
    found = yaml.safe_load((FOLDER / name).read_text("utf-8"))
    return {"on" if key is True else key: value for key, value in found.items()}


def steps(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The steps of all jobs, each with the name of its job."""
    for job, content in workflow(name)["jobs"].items():
        for step in content["steps"]:
            yield job, step


def commands(name: str) -> list[str]:
    return [step["run"] for _, step in steps(name) if "run" in step]


def make_targets(texts: list[str]) -> set[str]:
    """The targets that commands make; variables, such as PYTHON=python, are none."""
    words = [line.split()[1:] for text in texts for line in text.splitlines() if line.startswith("make ")]
    return {word for line in words for word in line[:1]}


def test_the_pythons_that_have_to_pass_are_those_that_the_package_is_classified_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    classified = [each.removeprefix(PYTHON) for each in project["classifiers"] if re.match(rf"{PYTHON}3\.", each)]
    matrix = workflow("ci.yml")["jobs"]["linux"]["strategy"]["matrix"]
    assert matrix["python"] == classified
    assert matrix["experimental"] == [False]
    tried = [each["python"] for each in matrix["include"]]
    assert not set(tried) & set(classified)
    assert all(each["experimental"] is True for each in matrix["include"])
    assert project["requires-python"] == f">={classified[0]}"
    assert wheels()["build"] == [f"cp{version.replace('.', '')}-*" for version in classified]


def wheels() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    return found


def test_each_machine_that_has_wheels_has_a_runner_that_builds_them() -> None:
    job = workflow("release.yml")["jobs"]["wheels"]
    built = {(each["runner"].split("-")[0], each["archs"]) for each in job["strategy"]["matrix"]["include"]}
    runners = {"linux": "ubuntu", "macos": "macos", "windows": "windows"}
    assert built == {(runners[platform], arch) for platform in MACHINES for arch in wheels()[platform]["archs"]}
    machines = {arch.lower() for platform in MACHINES for arch in wheels()[platform]["archs"]}
    assert machines == {each.partition("_")[2] for names in MACHINES.values() for each in names}
    assert {"CIBW_ARCHS": "${{ matrix.archs }}"} in [step.get("env") for step in job["steps"]]


def test_what_builds_a_release_is_named_with_its_hash_and_no_address() -> None:
    text = (ROOT / "tools" / "requirements-build.txt").read_text("utf-8").replace("\\\n", "")
    named = [line for line in text.splitlines() if not line.startswith("#")]
    assert [
        line for line in named if not re.fullmatch(r"[\w-]+==[^ ]+ +(; .+?)?( +--hash=sha256:[0-9a-f]{64})+", line)
    ] == []
    assert {"build", "cibuildwheel", "setuptools"} <= {line.partition("==")[0] for line in named}
    install = "pip install --require-hashes --requirement"
    assert f"python -m {install} tools/requirements-build.txt" in commands("release.yml")
    assert wheels()["before-build"] == f"python -m {install} {{project}}/tools/requirements-build.txt"
    assert wheels()["build-frontend"]["args"] == ["--no-isolation"]


def test_whatever_is_pinned_is_kept_current() -> None:
    updates = yaml.safe_load((FOLDER.parent / "dependabot.yml").read_text("utf-8"))["updates"]
    assert {each["package-ecosystem"] for each in updates} == {"github-actions", "docker", "pip"}
    (folders,) = [each["directories"] for each in updates if each["package-ecosystem"] == "pip"]
    pinned = [*ROOT.glob("constraints*.txt"), *ROOT.glob("[a-z]*/**/requirements*.txt")]
    assert {f"/{path.parent.relative_to(ROOT)}".removesuffix("/.") or "/" for path in pinned} == set(folders)


def test_the_containers_that_build_wheels_know_what_makes_the_links_of_the_description_absolute() -> None:
    passed = wheels()["linux"]["environment-pass"]
    assert passed == sorted(set(re.findall(r"GITHUB_\w+", (ROOT / "setup.py").read_text("utf-8"))))


@pytest.mark.parametrize("name", NAMES)
def test_every_target_that_is_made_exists(name: str) -> None:
    declared = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    made = make_targets(commands(name))
    assert made
    assert made <= set(declared)


@pytest.mark.parametrize("name", NAMES)
def test_every_job_has_an_end_and_may_only_read(name: str) -> None:
    found = workflow(name)
    assert found["permissions"] == {"contents": "read"}
    for job, content in found["jobs"].items():
        assert 0 < content["timeout-minutes"] <= 120, job
        assert content.get("permissions") == ({"id-token": "write"} if job == "publish" else None)


def test_actions_are_commits() -> None:
    used = re.findall(r"uses: (.+)", "".join((FOLDER / name).read_text("utf-8") for name in NAMES))
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line)] == []
    commits = dict(line.split("@") for line in used)
    assert {f"{action}@{commit}" for action, commit in commits.items()} == set(used), "one commit of each action"


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_read_and_what_others_choose_is_no_part_of_a_command(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in text
    # The name of a branch or a tag goes into commands by variables of the environment alone. An argument of make is not
    # one: make writes it into a command, which a shell reads once more.
    assert not [command for command in commands(name) if "${{" in command]
    assert not [command for command in commands(name) if re.search(r"\bmake\b[^#\n]*\$", command)]


def test_the_name_of_a_tag_reaches_the_release_check_and_no_shell() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    (step,) = [step for job, step in steps("release.yml") if job == "check" and "run" in step]
    assert step["env"] == {TAG_VARIABLE: "${{ github.ref_name }}"}
    environment = os.environ | {TAG_VARIABLE: "v1;echo${IFS}INJECTED", "MAKEFLAGS": "n"}
    done = subprocess.run(
        ["sh", "-c", step["run"]], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert "-m tools.release_check --out dist" in done.stdout
    assert "INJECTED" not in done.stdout


def test_nothing_is_published_before_it_was_checked() -> None:
    found = workflow("release.yml")
    assert found["on"] == {"push": {"tags": ["v*"]}}
    jobs = found["jobs"]
    assert jobs["publish"]["needs"] == ["check", "wheels"]
    assert jobs["wheels"]["needs"] == "check"
    assert "release-check" in make_targets([step["run"] for step in jobs["check"]["steps"] if "run" in step])
    assert not any("run" in step for step in jobs["publish"]["steps"])
