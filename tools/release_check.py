"""Builds the package as it is released, installs what was built, and runs the demo from each.

    python -m tools.release_check                 the version, the archives, three installations
    python -m tools.release_check --tag v0.1.0    as a release: nothing may be unreleased then
    python -m tools.release_check --out dist      keeps the archives

A workflow gives the tag as the variable RELEASE_TAG. Everything happens in a new temporary folder,
so that neither the checkout nor what was built before has a part in it. Exit status: 0 if it can be
released, 1 with the reason if not.
"""

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Sequence
from email.message import Message
from pathlib import Path
from typing import Final

import attrs

ROOT: Final = Path(__file__).parents[1]
PACKED: Final = (".py", ".pyi", ".json", ".lua", ".html", "py.typed")
"""How the names of the package's files end that have to be in both archives."""
BESIDE: Final = ("LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "Makefile", "constraints.txt", "setup.py")
"""What the source archive has besides, so that whoever has it alone can build and test."""
MACHINES: Final = {
    "linux": ("manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"),
    "macos": ("macosx_arm64", "macosx_x86_64"),
    "windows": ("win_amd64",),
}
"""The machines that have a wheel with the extension, by what cibuildwheel calls their platform."""
TIMEOUT_SECONDS: Final = 300
TAG_VARIABLE: Final = "RELEASE_TAG"
_SWITCH: Final = "SOCIALAPI_NO_SPEEDUPS"
_HEADING: Final = re.compile(r"^## \[([^\]]+)\](?: - \d{4}-\d\d-\d\d)?$", re.MULTILINE)


class Refusal(Exception):
    """Why this must not be released."""


# The version ----------------------------------------------------------------------------------------------------------


def version_of(root: Path) -> str:
    """Returns the version in `socialapi/version.py`."""
    found = re.search(
        r'^__version__: Final = "([^"]+)"$', (root / "socialapi/version.py").read_text("utf-8"), re.MULTILINE
    )
    if found is None:
        raise Refusal("socialapi/version.py has no version")
    return found[1]


def sections_of(changelog: str) -> dict[str, str]:
    """Returns the text of each version, the newest first, by the version or `Unreleased`."""
    _, *parts = _HEADING.split(changelog)
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def check_version(version: str, changelog: str, tag: str | None) -> str:
    """Returns what the changelog says of the version.

    Its first section is `Unreleased`, the second the version. With a tag, which is the version
    behind a v, `Unreleased` is empty. Raises Refusal.
    """
    sections = sections_of(changelog)
    unreleased, newest, *_ = [*sections, "", ""]
    if (unreleased, newest) != ("Unreleased", version):
        raise Refusal(f"CHANGELOG.md begins with {unreleased!r} and {newest!r}, not with 'Unreleased' and {version!r}")
    if tag is not None and tag != f"v{version}":
        raise Refusal(f"the tag is {tag!r}, and the version {version!r} has the tag 'v{version}'")
    if tag is not None and sections["Unreleased"]:
        raise Refusal(
            f"CHANGELOG.md has changes under Unreleased: they belong to {version}, or to a version of their own"
        )
    return sections[version]


# The archives ---------------------------------------------------------------------------------------------------------


def expected_in(root: Path) -> set[str]:
    """Returns the files of the package that both archives have, as paths in the project."""
    return {path.relative_to(root).as_posix() for path in (root / "socialapi").rglob("*") if path.name.endswith(PACKED)}


def check_names(archive: str, names: Iterable[str], expected: set[str]) -> None:
    """Raises Refusal for what is missing in an archive, and for what has no business there."""
    found = set(names)
    if missing := sorted(expected - found):
        raise Refusal(f"{archive} lacks {', '.join(missing)}")
    if unwanted := sorted(name for name in found if "__pycache__" in name or name.endswith((".pyc", ".so", ".pyd"))):
        raise Refusal(f"{archive} has {', '.join(unwanted)}")


def check_metadata(archive: str, text: str, root: Path) -> None:
    """Raises Refusal unless the metadata are those of `pyproject.toml` and the version."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    said: Message = email.message_from_string(text)
    expected = {
        "Name": project["name"],
        "Version": version_of(root),
        "Requires-Python": project["requires-python"],
        "License-Expression": project["license"],
    }
    for field, value in expected.items():
        if said[field] != value:
            raise Refusal(f"{archive} says {field} {said[field]!r}, not {value!r}")
    if extras := set(project["optional-dependencies"]) ^ set(said.get_all("Provides-Extra", [])):
        raise Refusal(f"{archive} and pyproject.toml differ in the extras {', '.join(sorted(extras))}")


def check_wheel(path: Path, root: Path) -> None:
    """Raises Refusal unless the wheel is one for every machine and has all of the package."""
    name, version = path.name.split("-")[:2]
    if not path.name.endswith("-py3-none-any.whl"):
        raise Refusal(f"{path.name} is not for every machine, although {_SWITCH} is set")
    with zipfile.ZipFile(path) as archive:
        check_names(path.name, archive.namelist(), expected_in(root))
        about = f"{name}-{version}.dist-info"
        check_names(path.name, archive.namelist(), {f"{about}/licenses/LICENSE", f"{about}/entry_points.txt"})
        if others := {each.partition("/")[0] for each in archive.namelist()} - {"socialapi", about}:
            raise Refusal(f"{path.name} would install {', '.join(sorted(others))} beside the package")
        check_metadata(path.name, archive.read(f"{about}/METADATA").decode(), root)


def check_sdist(path: Path, root: Path) -> None:
    """Raises Refusal unless the source archive has the package, its tests and what builds it."""
    folder = path.name.removesuffix(".tar.gz")
    sources = {f"socialapi/_speedups/{each.name}" for each in (root / "socialapi/_speedups").glob("*.[ch]")}
    tests = {each.relative_to(root).as_posix() for each in (root / "tests").rglob("*.py")}
    expected = expected_in(root) | sources | tests | {each for each in BESIDE if (root / each).exists()}
    with tarfile.open(path) as archive:
        check_names(path.name, archive.getnames(), {f"{folder}/{each}" for each in expected})
        info = archive.extractfile(f"{folder}/PKG-INFO")
        assert info is not None
        check_metadata(path.name, info.read().decode(), root)


def check_planned_wheels(source: Path) -> list[str]:
    """Returns the wheels that a release would build, as cibuildwheel names them. Raises Refusal unless each Python of the
    classifiers has one for each of MACHINES.
    """
    classifiers = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    pythons = re.findall(r"Python :: 3\.(\d+)", "\n".join(classifiers))
    ask = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform"]
    planned = [each for platform in MACHINES for each in run([*ask, platform], source).split()]
    machines = [machine for each in MACHINES.values() for machine in each]
    if differ := set(planned) ^ {f"cp3{python}-{machine}" for python in pythons for machine in machines}:
        raise Refusal(f"the wheels of the release and the supported ones differ in {', '.join(sorted(differ))}")
    return planned


# Building and installing ----------------------------------------------------------------------------------------------


def run(command: Sequence[str | Path], folder: Path, **variables: str) -> str:
    """Returns the output of a command, which knows nothing of the checkout. Raises Refusal if it
    fails.
    """
    unwanted = ("PYTHON", "COVERAGE_", "SOCIALAPI_", "VIRTUAL_ENV", "CFLAGS", "LDFLAGS", "CC")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)} | variables
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise Refusal(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def copy_sources(root: Path, to: Path) -> bool:
    """Copies what is in the repository, or will be with the next commit. Returns whether the two
    differ.

    Without git, everything is copied but what tools make.
    """
    if not (root / ".git").exists():
        made = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info", "dist", "build", ".*")
        shutil.copytree(root, to, ignore=made)
        return False
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], root).split("\0")
    for name in filter(None, listed):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    return bool(run(["git", "status", "--porcelain"], root))


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """Returns the wheel without the extension and the source archive that it was built from."""
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source], out.parent, **{_SWITCH: "1"})
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def run_checkers(archives: Sequence[Path], folder: Path) -> None:
    """Runs twine and check-wheel-contents on the archives. Raises Refusal if one finds a fault."""
    run([sys.executable, "-m", "twine", "check", "--strict", *archives], folder)
    wheels = [each for each in archives if each.suffix == ".whl"]
    # W004: PyInstaller finds its hook by the file's name, which no module has.
    run([sys.executable, "-m", "check_wheel_contents", "--no-config", "--ignore", "W004", *wheels], folder)


@attrs.frozen
class Installation:
    """A way to install: from which archive, and whether a C compiler can be found."""

    name: str
    archive: Path
    has_compiler: bool
    has_extension: bool


def install(installation: Installation, folder: Path) -> Path:
    """Returns the folder of the programs of a new environment that has the archive, with the newest
    dependencies.
    """
    environment = folder / installation.name.replace(" ", "-")
    venv.create(environment, with_pip=True, symlinks=True)
    programs = environment / "bin"
    pip: list[str | Path] = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    nothing = folder / "no-programs"
    nothing.mkdir(exist_ok=True)
    run(
        [*pip, installation.archive],
        folder,
        **({} if installation.has_compiler else {"PATH": str(nothing), "CC": "cc"}),
    )
    return programs


def check_installation(installation: Installation, programs: Path, folder: Path, version: str, rows: int) -> None:
    """Runs the command and the demo from outside of the sources. Raises Refusal."""
    said = run([programs / "socialapi", "--version"], folder)
    if said.splitlines()[0] != f"socialapi {version}":
        raise Refusal(f"{installation.name}: socialapi --version says {said!r}")
    if ("with speedups" in said) != installation.has_extension:
        raise Refusal(
            f"{installation.name}: the extension {'is missing' if installation.has_extension else 'is there'}: {said!r}"
        )
    where = "import socialapi; print(socialapi.__file__)"
    if not Path(run([programs / "python", "-c", where], folder).strip()).is_relative_to(programs.parent):
        raise Refusal(f"{installation.name}: another copy of the package was imported")
    run([programs / "python", "-m", "pip", "check"], folder)
    run([programs / "socialapi", "demo", "--rows", str(rows), "--products", str(max(rows // 20, 1))], folder)


# All of it ------------------------------------------------------------------------------------------------------------


class Report:
    """Prints each check with the seconds that it took."""

    def __init__(self) -> None:
        self._last = self._first = time.monotonic()

    def done(self, what: str) -> None:
        """Says that a check has passed."""
        now = time.monotonic()
        print(f"{now - self._last:6.1f} s  {what}", flush=True)
        self._last = now

    def ended(self) -> None:
        """Says how long all of it took."""
        print(f"{self._last - self._first:6.1f} s  in all", flush=True)


def check_release(root: Path, folder: Path, *, tag: str | None, rows: int, out: Path | None) -> None:
    """Checks everything. Raises Refusal at the first thing that is wrong."""
    report, version = Report(), version_of(root)
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    notes = check_version(version, changelog, tag)
    source, built = folder / "source", folder / "built"
    built.mkdir()
    is_changed = copy_sources(root, source)
    if is_changed and tag is not None:
        raise Refusal("there are changes that are not committed")
    report.done(f"version {version}, as the changelog says")
    planned = check_planned_wheels(source)
    report.done(f"a release has {len(planned)} wheels with the extension: {', '.join(planned)}")
    wheel, sdist = build(source, built)
    report.done(f"built {wheel.name} ({wheel.stat().st_size:,} bytes) and {sdist.name} ({sdist.stat().st_size:,})")
    check_wheel(wheel, source)
    check_sdist(sdist, source)
    report.done("both have the package, its types, scripts and pages, and the right metadata")
    run_checkers([wheel, sdist], folder)
    report.done("twine and check-wheel-contents find no fault")
    for each in installations(wheel, sdist):
        check_installation(each, install(each, folder), folder, version, rows)
        report.done(f"{each.name}: installed, and the demo proved its outcome")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for archive in (wheel, sdist):
            shutil.copy2(archive, out)
    report.ended()
    _say_what_is_left(version, notes, is_unreleased=bool(sections_of(changelog)["Unreleased"]), is_changed=is_changed)


def installations(wheel: Path, sdist: Path) -> list[Installation]:
    """Returns the installations to check, the one with a compiler only where there is one."""
    found = [
        Installation("the wheel", wheel, has_compiler=True, has_extension=False),
        Installation("the sources without a compiler", sdist, has_compiler=False, has_extension=False),
    ]
    if shutil.which("cc") is None:
        print("        there is no C compiler here: the sources are not tried with one", flush=True)
        return found
    return [*found, Installation("the sources with a compiler", sdist, has_compiler=True, has_extension=True)]


def _say_what_is_left(version: str, notes: str, *, is_unreleased: bool, is_changed: bool) -> None:
    if is_changed:
        print("There are changes that are not committed; they were built, too.")
    if is_unreleased:
        print("CHANGELOG.md has changes under Unreleased: raise the version and give them its heading before you tag.")
        return
    print(f"To release it: git tag --annotate v{version} --message 'aiosocialapi {version}', and push the tag.")
    print(f"The changelog has {len(notes.splitlines())} lines about it.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the check and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.release_check", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--tag",
        default=os.environ.get(TAG_VARIABLE),
        help=f"the tag that is released, such as v0.1.0: nothing may be unreleased then (default: ${TAG_VARIABLE})",
    )
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the demo (default: 20000)")
    parser.add_argument("--out", type=Path, help="folder to copy the archives to")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="release-check-") as folder:
        try:
            check_release(ROOT, Path(folder), tag=options.tag or None, rows=options.rows, out=options.out)
        except Refusal as problem:
            print(f"release-check: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
