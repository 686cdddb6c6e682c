"""Makes a PyInstaller bundle of a program that uses the package, and runs it.

    python -m tools.bundle

The package is installed from a copy of the sources into the environment that runs this, and
PyInstaller is given no options: whatever the bundle needs, the package's own hook has to say. Exit
status: 0 if the bundle uploads, serves and starts the command line, 1 with the reason if not.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.release_check import ROOT, Refusal, Report, copy_sources, run, version_of

PROGRAM: Final = ROOT / "tools" / "packed_program.py"
HAS_EXTENSION: Final = "from socialapi import _speedups; print(_speedups.IS_ENABLED)"


def try_bundle(root: Path, folder: Path) -> None:
    """Makes the bundle in the folder, runs it, and says so. Raises Refusal."""
    report = Report()
    copy_sources(root, folder / "source")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--constraint", root / "constraints.txt", folder / "source"], folder)
    report.done("installed the package")
    run([sys.executable, "-m", "PyInstaller", "--log-level", "WARN", PROGRAM], folder)
    bundled = folder / "dist" / PROGRAM.stem / PROGRAM.stem
    report.done(f"made a bundle of {sum(each.stat().st_size for each in bundled.parent.rglob('*')):,} bytes")
    has_extension = run([sys.executable, "-c", HAS_EXTENSION], folder).strip() == "True"
    check_output(run([bundled], folder), bundled.parent, has_extension=has_extension)
    report.done("it uploaded to its emulator, and has every public name")
    if f"socialapi {version_of(root)}" not in run([bundled, "--version"], folder):
        raise Refusal("the command line of the bundle does not tell its version")
    report.done("its command line starts")
    report.ended()


def check_output(printed: str, bundle: Path, *, has_extension: bool) -> None:
    """Raises Refusal unless the program did everything, with the package of the bundle. The bundle
    has the extension if the environment that made it has.
    """
    found = json.loads(printed)
    if not Path(found["file"]).is_relative_to(bundle):
        raise Refusal(f"the package is imported from {found['file']}, not from the bundle")
    if (found["accepted"], found["rejected"]) != (2, 1) or not found["posts"] or "</html>" not in found["dashboard"]:
        raise Refusal(f"the upload or the emulator went wrong: {printed}")
    if found["speedups"] != has_extension:
        raise Refusal("the extension in C is missing")


def main() -> int:
    """Runs the check and returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        try:
            try_bundle(ROOT, Path(folder))
        except Refusal as problem:
            print(f"bundle: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
