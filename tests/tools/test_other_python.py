"""Which other Python `.ci/run` tries. The try itself takes a minute and the network."""

import sys
from pathlib import Path
from typing import Final

import pytest

from tools import other_python as module
from tools.other_python import candidates, classified, main, other_python, version_at

OWN: Final = "{}.{}".format(*sys.version_info)
PROJECT: Final = """[project]
classifiers = [
    "Programming Language :: Python :: 3 :: Only",
    "Programming Language :: Python :: %s",
    "Programming Language :: Python :: 3.98",
    "Programming Language :: Python :: 3.99",
    "Typing :: Typed",
]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project on a machine without a Python in its path."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (tmp_path / "pyproject.toml").write_text(PROJECT % OWN)
    return tmp_path


def interpreter(pyenv: Path, version: str, *, says: str) -> Path:
    """A program that answers as an interpreter that pyenv keeps."""
    path = pyenv / "versions" / version / "bin" / f"python{version.rpartition('.')[0]}"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_the_newest_classified_version_comes_first(root: Path) -> None:
    assert classified(root) == ["3.99", "3.98", OWN]
    path = interpreter(root, "3.98.4", says="3.98 ")
    assert candidates(["3.99", "3.98"], root) == ["python3.99", "python3.98", str(path)]


def test_one_that_is_there_is_taken_and_the_running_one_is_none(root: Path) -> None:
    interpreter(root, f"{OWN}.1", says=f"{OWN} ")
    assert other_python(root, root) is None
    older = interpreter(root, "3.98.4", says="3.98 ")
    assert other_python(root, root) == str(older)
    newer = interpreter(root, "3.99.0", says="3.99 ")
    assert other_python(root, root) == str(newer)


@pytest.mark.parametrize("says", ["3.99 t", "3.97 ", "pyenv: python3.99: command not found"])
def test_a_free_threaded_or_another_one_than_its_name_says_is_not_taken(root: Path, says: str) -> None:
    interpreter(root, "3.99.0", says=says)
    assert other_python(root, root) is None


def test_what_is_no_program_has_no_version(root: Path) -> None:
    broken = interpreter(root, "3.99.0", says="")
    broken.write_text("#!/bin/sh\nexit 127\n")
    assert (version_at(str(broken)), version_at(str(root / "nothing"))) == (None, None)
    assert version_at(sys.executable) == OWN


def test_a_machine_with_one_python_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "other_python", lambda *_: None)
    assert main() == 0
    version = sys.version.split()[0]
    assert capsys.readouterr().out == f"no other Python is installed here: the package is tried on {version} alone\n"
