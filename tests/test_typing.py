"""What type checkers see of the package: pyright's own measure of it, and two programs that both checkers read."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

import pytest

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[1]
LEAST_COMPLETENESS: Final = 0.99
NOT_INSTALLED_HERE: Final = ("socialapi.integrations.spark.", "socialapi.integrations.spark_reduce.")
"""What is made of classes of PySpark, which has an environment of its own."""
PROGRAMS: Final = ROOT / "tests" / "typing"


def pyright(*arguments: str) -> dict[str, Any]:
    """Its report on the package of this checkout, with the libraries of this interpreter."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *arguments],
        cwd=ROOT,
        env=os.environ | {"PATH": programs, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.timeout(300)
def test_pyright_knows_the_type_of_nearly_everything_that_is_exported() -> None:
    report = pyright("--verifytypes", "socialapi", "--ignoreexternal")["typeCompleteness"]
    assert report["pyTypedPath"] == str(ROOT / "socialapi" / "py.typed")
    of_others = [each for each in report["symbols"] if not each["name"].startswith(NOT_INSTALLED_HERE)]
    vague = [each for each in of_others if each["isExported"] and not each["isTypeKnown"]]
    unknown = [each["name"] for each in vague]
    assert [each["name"] for each in vague if not each["isTypeAmbiguous"]] == []
    assert report["completenessScore"] >= LEAST_COMPLETENESS, unknown
    # What a program imports from is known whole.
    public = {name.rpartition(".")[2] for name in unknown if name.count(".") == 1}
    assert not public


def test_the_programs_of_users_import_from_public_modules_alone() -> None:
    public = set(re.findall(r"^\| `(socialapi[.\w]*)` \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE))
    for path in PROGRAMS.glob("*.py"):
        used = set(re.findall(r"^(?:from|import) (socialapi[.\w]*)", path.read_text("utf-8"), re.MULTILINE))
        assert used
        assert used <= public


@pytest.mark.timeout(300)
def test_the_cells_of_the_notebook_pass_both_type_checkers(tmp_path: Path) -> None:
    cells = json.loads((ROOT / "examples" / "timeline_notebook.ipynb").read_text("utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    program = tmp_path / "cells.py"
    program.write_text(f"async def cells() -> None:\n{textwrap.indent(code, '    ')}\n", "utf-8")
    assert pyright(str(program))["generalDiagnostics"] == []
    command = [sys.executable, "-m", "mypy", str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_make_lint_and_the_hooks_run_the_same_checks() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile[makefile.index("\nlint:") : makefile.index("\nprove:")]
    linted = {each.removesuffix(" .").removesuffix(" --check") for each in re.findall(r"\$\(BIN\)/(.+)", recipe)}
    hooks = re.findall(r"entry: \.venv/bin/(.+)", (ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert {each.removesuffix(" --fix") for each in hooks} == linted
    assert linted == {"ruff format", "ruff check", "mypy", "pyright"}
