"""The package in a zip file on the path."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "socialapi"
DATA: Final = frozenset({".html", ".json", ".lua"})


@pytest.fixture(params=["sources", "bytecode"])
def packed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The zip file, with the modules as sources or as bytecode alone."""
    with zipfile.PyZipFile(str(tmp_path / "packed.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        if request.param == "bytecode":
            archive.writepy(str(PACKAGE))
        suffixes = DATA | ({".py"} if request.param == "sources" else set())
        for path in PACKAGE.rglob("*"):
            if path.suffix in suffixes:
                archive.write(path, path.relative_to(ROOT))
    return tmp_path / "packed.zip"


def run(packed: Path, *command: str | Path) -> str:
    """What a program prints that has the package from the file alone."""
    environment = os.environ | {"PYTHONPATH": str(packed)}
    done = subprocess.run(
        [sys.executable, *command], cwd=packed.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_uploads_to_an_emulator_and_uses_every_name(packed: Path) -> None:
    found = json.loads(run(packed, ROOT / "tools" / "packed_program.py"))
    assert found["file"].startswith(str(packed))
    assert (found["accepted"], found["rejected"]) == (2, 1)
    assert found["posts"]
    assert "</html>" in found["dashboard"]
    assert not found["speedups"]  # nobody can load a shared library from there


def test_the_command_line_starts_and_scripts_for_redis_are_read(packed: Path) -> None:
    assert run(packed, "-m", "socialapi", "--version").startswith("socialapi ")
    script = "from socialapi.integrations.redis_server import RedisServer as R; print(R('redis://h', 'x').script('fence.lua'))"
    assert "Script object" in run(packed, "-c", script)
