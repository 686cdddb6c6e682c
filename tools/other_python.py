"""Tries the source archive on another Python of this machine than the one that runs this.

    python -m tools.other_python

Of those that the package is classified for, the newest one is taken that is found by its name or
where pyenv keeps it. The archive is built, installed with its newest dependencies into a new
temporary environment, and has to run a small demo and the tests of the extension there. That is
what `.ci/run` tries; `make test-pythons` runs all tests. Exit status: 0 if it passed, or if there
is no other Python; 1 with the reason if not.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.release_check import ROOT, Installation, Refusal, Report, check_installation, copy_sources, run, version_of

TESTS: Final = "tests/speedups"
NEEDED_BY_TESTS: Final = ("asyncpg", "hypothesis", "pytest", "pytest-asyncio", "pytest-timeout")
DEMO_ROWS: Final = 2_000
_ABOUT: Final = "import sys; print('%d.%d' % sys.version_info[:2], getattr(sys, 'abiflags', ''))"


def classified(root: Path) -> list[str]:
    """Returns the versions that the package is classified for, the newest first."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in project["classifiers"]]
    return [each[1] for each in reversed(found) if each]


def candidates(versions: Iterable[str], pyenv: Path) -> list[str]:
    """Returns the interpreters to look at: by name, and where pyenv has them."""
    return [
        each
        for version in versions
        for each in (f"python{version}", *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))))
    ]


def version_at(python: str) -> str | None:
    """Returns the version of an interpreter such as 3.13; None if it is not there or free-threaded."""
    try:
        done = subprocess.run([python, "-c", _ABOUT], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    version, _, flags = done.stdout.strip().partition(" ")
    return version if "t" not in flags else None


def other_python(root: Path, pyenv: Path) -> str | None:
    """Returns the newest other interpreter of this machine; None if there is none."""
    own = "{}.{}".format(*sys.version_info)
    wanted = [each for each in classified(root) if each != own]
    return next((each for each in candidates(wanted, pyenv) if version_at(each) in wanted), None)


def try_on(python: str, root: Path, folder: Path) -> None:
    """Installs the source archive, runs the demo and the tests, and says so. Raises Refusal."""
    report, source, built = Report(), folder / "source", folder / "built"
    copy_sources(root, source)
    run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", built, source], folder)
    (archive,) = built.glob("*.tar.gz")
    report.done(f"built {archive.name}")
    programs = folder / "environment" / "bin"
    run([python, "-m", "venv", programs.parent], folder)
    pip: list[str | Path] = [programs / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    run([*pip, archive, *NEEDED_BY_TESTS], folder)
    report.done(f"installed on Python {version_at(python)}")
    installation = Installation(f"the sources on {python}", archive, has_compiler=True, has_extension=True)
    check_installation(installation, programs, folder, version_of(root), DEMO_ROWS)
    report.done("the demo proved its outcome")
    (source / "socialapi").rename(folder / "not-imported")  # what is installed is tested
    tested = run([programs / "python", "-m", "pytest", "-q", TESTS], source, HYPOTHESIS_PROFILE="few")
    report.done(tested.splitlines()[-1])
    report.ended()


def main() -> int:
    """Runs the check and returns the exit status."""
    python = other_python(ROOT, Path.home() / ".pyenv")
    if python is None:
        print(f"no other Python is installed here: the package is tried on {sys.version.split()[0]} alone")
        return 0
    with tempfile.TemporaryDirectory(prefix="other-python-") as folder:
        try:
            try_on(python, ROOT, Path(folder))
        except Refusal as problem:
            print(f"the package does not work on {python}: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
