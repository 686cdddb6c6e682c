"""What users install: the wheel alone, in an environment that holds nothing else."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

import socialapi

ROOT: Final = Path(__file__).parents[1]
VERSION: Final = socialapi.__version__

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("wheel")]


def run(command: Sequence[str | Path], *, cwd: Path, **variables: str) -> str:
    """The output of a command that has to succeed, run without anything that leads back to the checkout."""
    unwanted = ("PYTHON", "COVERAGE_", "SOCIALAPI_NO_SPEEDUPS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)} | variables
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def build(out: Path, **variables: str) -> Path:
    """A wheel, built from a copy of what the package is built from: a build leaves files behind."""
    source = out / "source"
    shutil.copytree(ROOT / "socialapi", source / "socialapi", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source],
        cwd=out,
        **variables,
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel without the extension, which is the same on every machine."""
    return build(tmp_path_factory.mktemp("wheel"), SOCIALAPI_NO_SPEEDUPS="1")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a new environment that has the wheel, and its work folder beside it."""
    room = tmp_path_factory.mktemp("elsewhere")
    venv.create(room / "venv", with_pip=True, symlinks=True)
    programs = room / "venv" / "bin"
    install: list[str | Path] = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*install, "--constraint", ROOT / "constraints.txt", wheel], cwd=room)
    return programs


def test_the_wheel_has_the_package_its_types_and_its_licence_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry_points = archive.read(f"aiosocialapi-{VERSION}.dist-info/entry_points.txt").decode()
    assert wheel.name == f"aiosocialapi-{VERSION}-py3-none-any.whl"
    assert {name.partition("/")[0] for name in names} == {"socialapi", f"aiosocialapi-{VERSION}.dist-info"}
    assert {"socialapi/py.typed", "socialapi/emulator/dashboard.html"} <= set(names)
    assert f"aiosocialapi-{VERSION}.dist-info/licenses/LICENSE" in names
    assert not [name for name in names if "test_" in name or "__pycache__" in name]
    assert "socialapi = socialapi.cli:main" in entry_points
    assert "[pytest11]" in entry_points


def test_every_module_of_the_package_and_its_data_are_in_the_wheel(wheel: Path) -> None:
    suffixes = (".py", ".pyi", ".json", ".lua", ".html")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(suffixes)}
    assert packed == {
        str(path.relative_to(ROOT)) for path in (ROOT / "socialapi").rglob("*") if path.suffix in suffixes
    }
    assert "socialapi/emulator/seed/users.json" in packed


def extensions(built: Path) -> list[str]:
    with zipfile.ZipFile(built) as archive:
        return [name for name in archive.namelist() if "_native." in name and not name.endswith(".pyi")]


def description_by(built: Path, room: Path) -> str:
    """What the package says of its extension, imported from where the wheel is unpacked."""
    with zipfile.ZipFile(built) as archive:
        archive.extractall(room)
    script = "import sys; sys.path.insert(0, '.'); from socialapi import _speedups; print(_speedups.description())"
    return run([sys.executable, "-I", "-c", script], cwd=room).strip()


def test_a_wheel_has_the_extension_where_there_is_a_compiler(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    built = build(tmp_path)
    assert "none-any" not in built.name
    assert len(extensions(built)) == 1
    assert description_by(built, tmp_path / "room").startswith("with speedups (")


def test_an_install_without_a_compiler_succeeds_and_says_that_it_has_no_extension(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    built = build(tmp_path, PATH=str(programs), CC="cc")
    assert not extensions(built)
    assert "not built" in description_by(built, tmp_path / "room")


def test_the_installed_package_is_complete_and_can_be_imported(installed: Path) -> None:
    script = "import socialapi, sys; print(socialapi.__version__, socialapi.__file__)"
    version, file = run([installed / "python", "-W", "error", "-c", script], cwd=installed.parent).split()
    assert version == VERSION
    assert Path(file).is_relative_to(installed.parent)
    run([installed / "python", "-m", "pip", "check"], cwd=installed.parent)


def test_the_installed_command_tells_its_version_and_its_use(installed: Path) -> None:
    room = installed.parents[1]
    assert VERSION in run([installed / "python", "-m", "socialapi", "--version"], cwd=room)
    assert VERSION in run([installed / "socialapi", "--version"], cwd=room)
    assert "audience" in run([installed / "socialapi", "--help"], cwd=room)


def test_the_installed_command_reads_a_file(installed: Path) -> None:
    room = installed.parents[1]
    (room / "crm.csv").write_text("email,phone_number\nanna@example.com,+14155552671\nnobody,\n", "utf-8")
    command = ["audience", "upload", "crm.csv", "--account", "a", "--audience", "b", "--dry-run", "--json"]
    done = subprocess.run(
        [installed / "socialapi", *command], cwd=room, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 1, done.stderr  # the second row is rejected
    report = json.loads(done.stdout.splitlines()[-1])
    assert (report["read"], report["pending"], report["rejected"]) == (2, 1, 1)
