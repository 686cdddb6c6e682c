"""An audit that could not ask its database never looks like one that found nothing."""

from pathlib import Path
from typing import Any, Final

import pytest

from tools.audit import ADVISORIES, CLEAN, KNOWN, NOT_AUDITED, Found, main

ADVISED: Final = {
    "name": "aiohttp",
    "version": "3.8.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.8.5", "3.9.0"]}, {"id": "PYSEC-2", "fix_versions": []}],
}
FINE: Final = {"name": "attrs", "version": "26.1.0", "vulns": []}
SKIPPED: Final = {"name": "orjson", "skip_reason": "Dependency not found on PyPI"}


def answering(*found: dict[str, Any], known: Found = (ADVISED,)) -> Any:
    """Answers for the version with known advisories, and for all others."""
    return lambda file: known if file.read_text("utf-8") == f"{KNOWN}\n" else found


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    file = tmp_path / "versions.txt"
    file.write_text("attrs==26.1.0\norjson==3.13.0\n", "utf-8")
    return file


def test_versions_without_advisories_are_clean(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(versions, answering(FINE)) == CLEAN
    assert capsys.readouterr().out == "0 advisories of the versions in versions.txt\n"


def test_versions_for_other_systems_and_pythons_are_asked_about_too(versions: Path) -> None:
    versions.write_text(
        "attrs==26.1.0\nnumpy==2.4.6 ; python_full_version < '3.12'\nnumpy==2.5.5 ; python_full_version >= '3.12'\n"
        "pywin32==312 ; sys_platform == 'win32'\n",
        "utf-8",
    )
    asked = list[list[str]]()

    def ask(file: Path) -> Found:
        asked.append(file.read_text("utf-8").splitlines())
        return (ADVISED,)

    assert main(versions, ask) == ADVISORIES
    assert asked == [[KNOWN], ["attrs==26.1.0", "numpy==2.4.6", "pywin32==312"], ["numpy==2.5.5"]]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            answering(FINE, known=[SKIPPED]),
            f"the database that answers here knows no advisory of {KNOWN}, which has some",
        ),
        (answering(FINE, known=[FINE]), f"the database that answers here knows no advisory of {KNOWN}, which has some"),
        (answering(FINE, SKIPPED), "1 of 2 distributions could not be looked up: orjson"),
        (answering(), "0 of 0 distributions could not be looked up: "),
    ],
)
def test_what_could_not_be_asked_is_not_audited(
    versions: Path, answer: Any, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(versions, answer) == NOT_AUDITED
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"NOT AUDITED: {reason}\n")
