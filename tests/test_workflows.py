"""The workflows of the public host agree with the rest of the project, which cannot run them."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml  # type: ignore[import-untyped]

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


def test_there_are_two_workflows() -> None:
    assert NAMES == ["ci.yml", "release.yml"]


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


def test_what_was_never_tried_may_fail_and_says_so() -> None:
    jobs = workflow("ci.yml")["jobs"]
    for name in ("macos", "windows"):
        assert jobs[name]["continue-on-error"] is True
        assert jobs[name]["name"].endswith("(not tried yet)")
    assert [name for name, job in jobs.items() if job.get("continue-on-error") is True] == ["macos", "windows"]


@pytest.mark.parametrize("name", NAMES)
def test_every_target_that_is_made_exists(name: str) -> None:
    declared = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    made = make_targets(commands(name))
    assert made
    assert made <= set(declared)


def test_everything_that_a_change_has_to_pass_is_run() -> None:
    assert ".ci/run" in commands("ci.yml")
    assert {"test-oldest", "audit", "release-check"} <= make_targets(commands("ci.yml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_job_has_an_end_and_may_only_read(name: str) -> None:
    found = workflow(name)
    assert found["permissions"] == {"contents": "read"}
    for job, content in found["jobs"].items():
        assert 0 < content["timeout-minutes"] <= 120, job
        assert content.get("permissions") == ({"id-token": "write"} if job == "publish" else None)


@pytest.mark.parametrize("name", NAMES)
def test_actions_have_a_major_version_and_no_secret_is_read(name: str) -> None:
    for job, step in steps(name):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"]), job
    text = (FOLDER / name).read_text("utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in text
    # What others choose, such as the name of a branch, goes into commands by variables of the environment alone.
    assert not [command for command in commands(name) if "${{" in command]


def test_nothing_is_published_before_it_was_checked() -> None:
    found = workflow("release.yml")
    assert found["on"] == {"push": {"tags": ["v*"]}}
    jobs = found["jobs"]
    assert jobs["publish"]["needs"] == ["check", "wheels"]
    assert jobs["wheels"]["needs"] == "check"
    assert any("release-check" in step.get("run", "") and "--tag" in step["run"] for step in jobs["check"]["steps"])
    assert not any("run" in step for step in jobs["publish"]["steps"])


def test_files_that_steps_name_exist() -> None:
    named = [step["with"]["cache-dependency-path"] for _, step in steps("ci.yml") if "cache" in step.get("with", {})]
    assert named
    assert all((ROOT / each).is_file() for each in named)
