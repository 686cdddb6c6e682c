"""Asks the advisory database about every version that `constraints.txt` names.

    python -m tools.audit

Needs pip-audit and the network. An answer of "nothing known" is worth something only if the
database was asked, and pip-audit ends with 0 also when it was not. So a version with well-known
advisories is asked about first, and each distribution that could not be looked up counts. Versions
for other systems and other Pythons than this one are asked about as well.

Exit status: 0 no advisory, 1 advisories, which are listed, 3 not audited.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
CLEAN: Final = 0
ADVISORIES: Final = 1
NOT_AUDITED: Final = 3
KNOWN: Final = "aiohttp==3.8.0"
"""A version with advisories since 2023."""
TIMEOUT_SECONDS: Final = 600

Found = Sequence[Mapping[str, Any]]
"""What pip-audit says of each distribution."""
Ask = Callable[[Path], Found]


class NotAudited(Exception):
    """Why nothing is known, which is not the same as that there is nothing."""


def ask(requirements: Path) -> Found:
    """Returns what pip-audit says of each distribution in a file of versions. Raises NotAudited."""
    options = ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(requirements), *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        found: Found = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        why = f"pip-audit gave no answer within {TIMEOUT_SECONDS} s"
    except (ValueError, KeyError):
        why = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
    else:
        return found
    raise NotAudited(why)


def advisories_in(found: Found) -> list[str]:
    """Returns a line for each advisory: which, of what, and the versions that fix it."""
    return [
        f"{each['name']} {each['version']}: {advisory['id']}, {_fixed_in(advisory['fix_versions'])}"
        for each in found
        for advisory in each.get("vulns", [])
    ]


def _fixed_in(versions: Sequence[str]) -> str:
    return f"fixed in {', '.join(versions)}" if versions else "no fix yet"


def versions_in(constraints: str) -> list[list[str]]:
    """Returns the versions that a file names, without their markers: pip-audit passes over lines
    whose marker is false here. It takes one version of a name at a time, so the second ones are in
    a second list.
    """
    lines = sorted({line.partition(";")[0].strip() for line in constraints.splitlines()} - {""})
    by_name = [list(group) for _, group in itertools.groupby(lines, key=lambda line: line.partition("==")[0])]
    return [[each for each in group if each] for group in itertools.zip_longest(*by_name)]


def audit(constraints: Path, ask: Ask = ask) -> list[str]:
    """Returns the advisories of the versions in a file. Raises NotAudited."""

    def ask_about(versions: Sequence[str]) -> Found:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "versions.txt"
            file.write_text("".join(f"{each}\n" for each in versions), "utf-8")
            return ask(file)

    if not advisories_in(ask_about([KNOWN])):
        raise NotAudited(f"the database that answers here knows no advisory of {KNOWN}, which has some")
    found = [each for versions in versions_in(constraints.read_text("utf-8")) for each in ask_about(versions)]
    skipped = [each["name"] for each in found if "skip_reason" in each]
    if skipped or not found:
        raise NotAudited(f"{len(skipped)} of {len(found)} distributions could not be looked up: {', '.join(skipped)}")
    return advisories_in(found)


def main(constraints: Path = ROOT / "constraints.txt", ask: Ask = ask) -> int:
    """Prints the advisories, or that nothing is known, and returns the exit status."""
    try:
        found = audit(constraints, ask)
    except NotAudited as problem:
        print(f"NOT AUDITED: {problem}", file=sys.stderr)
        return NOT_AUDITED
    for line in found:
        print(line)
    print(f"{len(found)} advisories of the versions in {constraints.name}")
    return ADVISORIES if found else CLEAN


if __name__ == "__main__":
    sys.exit(main())
