"""What `make release-check` refuses, on small projects; the whole of it takes minutes and the network."""

import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tools.release_check import (
    ROOT,
    TAG_VARIABLE,
    Refusal,
    check_metadata,
    check_names,
    check_sdist,
    check_version,
    check_wheel,
    copy_sources,
    installations,
    main,
    version_of,
)

CHANGELOG: Final = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-15\n\n### Added\n\n- A.\n\n## [0.1.0]\n"
PROJECT: Final = """[project]
name = "small"
license = "MIT"
requires-python = ">=3.11"
optional-dependencies = {arrow = []}
"""
METADATA: Final = (
    "Metadata-Version: 2.4\nName: small\nVersion: 0.2.0\nLicense-Expression: MIT\nRequires-Python: >=3.11\n"
    "Provides-Extra: arrow\n\n"
)
ABOUT: Final = "small-0.2.0.dist-info"
FILES: Final = {
    "pyproject.toml": PROJECT,
    "LICENSE": "",
    "tests/test_small.py": "",
    "socialapi/version.py": '__version__: Final = "0.2.0"\n',
    "socialapi/py.typed": "",
    "socialapi/_speedups/_native.pyi": "",
    "socialapi/page.html": "",
    "socialapi/window.lua": "",
    "socialapi/_speedups/module.c": "",
}
IN_WHEEL: Final = sorted(name for name in FILES if name.startswith("socialapi/") and not name.endswith(".c"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that can be released."""
    for name, content in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return tmp_path / "project"


def wheel_of(folder: Path, names: Sequence[str], *, tag: str = "py3-none-any", metadata: str = METADATA) -> Path:
    path = folder / f"small-0.2.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (*names, f"{ABOUT}/licenses/LICENSE", f"{ABOUT}/entry_points.txt"):
            archive.writestr(name, "")
        archive.writestr(f"{ABOUT}/METADATA", metadata)
    return path


def sdist_of(folder: Path, project: Path, *, without: str = "") -> Path:
    path = folder / "small-0.2.0.tar.gz"
    (project / "PKG-INFO").write_text(METADATA, "utf-8")
    with tarfile.open(path, "w:gz") as archive:
        for name in (*FILES, "PKG-INFO"):
            if name != without:
                archive.add(project / name, f"small-0.2.0/{name}")
    return path


# The version


@pytest.mark.parametrize(
    ("version", "changelog", "tag", "reason"),
    [
        ("0.3.0", CHANGELOG, None, "begins with 'Unreleased' and '0.2.0', not with 'Unreleased' and '0.3.0'"),
        ("0.2.0", CHANGELOG.replace("[Unreleased]", "[0.3.0]"), None, "begins with '0.3.0' and '0.2.0'"),
        ("0.2.0", "# Changelog\n", None, "begins with '' and ''"),
        ("0.2.0", CHANGELOG, "0.2.0", "the tag is '0.2.0', and the version '0.2.0' has the tag 'v0.2.0'"),
        ("0.2.0", CHANGELOG.replace("ed]\n", "ed]\n\n- B.\n"), "v0.2.0", "has changes under Unreleased"),
    ],
)
def test_a_version_that_the_changelog_or_the_tag_contradicts_is_refused(
    version: str, changelog: str, tag: str | None, reason: str
) -> None:
    with pytest.raises(Refusal) as refused:
        check_version(version, changelog, tag)
    assert reason in str(refused.value)


def test_this_project_agrees_with_itself() -> None:
    assert check_version(version_of(ROOT), (ROOT / "CHANGELOG.md").read_text("utf-8"), None)


def test_the_tag_is_that_of_the_arguments_or_else_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TAG_VARIABLE, "v0;of the environment")
    assert main([]) == 1
    assert "the tag is 'v0;of the environment', and the version" in capsys.readouterr().err
    assert main(["--tag", "v0"]) == 1
    assert "the tag is 'v0', and the version" in capsys.readouterr().err


# The archives


def test_archives_that_have_everything_are_accepted(project: Path, tmp_path: Path) -> None:
    check_wheel(wheel_of(tmp_path, IN_WHEEL), project)
    check_sdist(sdist_of(tmp_path, project), project)


@pytest.mark.parametrize("missing", IN_WHEEL)
def test_a_wheel_without_one_of_the_packages_files_is_refused(project: Path, tmp_path: Path, missing: str) -> None:
    with pytest.raises(Refusal, match=f"lacks {missing}"):
        check_wheel(wheel_of(tmp_path, [name for name in IN_WHEEL if name != missing]), project)


@pytest.mark.parametrize("missing", ["LICENSE", "tests/test_small.py", "socialapi/_speedups/module.c"])
def test_sources_without_what_builds_and_tests_them_are_refused(project: Path, tmp_path: Path, missing: str) -> None:
    with pytest.raises(Refusal, match=f"lacks small-0.2.0/{missing}"):
        check_sdist(sdist_of(tmp_path, project, without=missing), project)


@pytest.mark.parametrize("unwanted", ["socialapi/_native.so", "socialapi/__pycache__/x.pyc"])
def test_what_was_compiled_here_has_no_business_in_an_archive(unwanted: str) -> None:
    with pytest.raises(Refusal, match=f"has {unwanted}"):
        check_names("a.whl", [unwanted], set())


def test_a_wheel_for_one_machine_or_with_another_package_is_refused(project: Path, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="is not for every machine"):
        check_wheel(wheel_of(tmp_path, IN_WHEEL, tag="cp311-cp311-linux_x86_64"), project)
    with pytest.raises(Refusal, match="would install tests beside the package"):
        check_wheel(wheel_of(tmp_path, [*IN_WHEEL, "tests/test_small.py"]), project)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Version: 0.1.0", "says Version '0.1.0', not '0.2.0'"),
        ("Requires-Python: >=3.9", "says Requires-Python '>=3.9', not '>=3.11'"),
        ("Provides-Extra: redis", "differ in the extras arrow, redis"),
    ],
)
def test_metadata_that_say_something_else_are_refused(project: Path, line: str, reason: str) -> None:
    field = line.partition(":")[0]
    lines = [line if each.startswith(f"{field}:") else each for each in METADATA.splitlines()]
    with pytest.raises(Refusal) as refused:
        check_metadata("a.whl", "\n".join(lines), project)
    assert reason in str(refused.value)


# Building and installing


def test_sources_are_those_of_the_repository_with_what_is_new_and_without_what_tools_made(
    project: Path, tmp_path: Path
) -> None:
    (project / ".gitignore").write_text("made\n", "utf-8")
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*git, *command], check=True)
    assert not copy_sources(project, tmp_path / "copy")
    (project / "made").touch()
    (project / "new.py").touch()
    assert copy_sources(project, tmp_path / "changed")
    copied = {path.name for path in (tmp_path / "changed").iterdir()}
    assert "new.py" in copied
    assert not copied & {"made", ".git"}


def test_the_sources_are_tried_with_a_compiler_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found() -> list[tuple[bool, bool]]:
        archives = tmp_path / "a.whl", tmp_path / "a.tar.gz"
        return [(each.has_compiler, each.has_extension) for each in installations(*archives)]

    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/cc")
    assert found() == [(True, False), (False, False), (True, True)]
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert found() == [(True, False), (False, False)]
    assert "not tried with one" in capsys.readouterr().out
