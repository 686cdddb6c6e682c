"""An audit that could not ask its database never looks like one that found nothing."""

from pathlib import Path
from typing import Any, Final

import pytest

from tools.audit import ADVISORIES, CLEAN, KNOWN, NOT_AUDITED, Found, NotAudited, ask, main

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


def test_versions_without_advisories_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(answering(FINE)) == CLEAN
    assert capsys.readouterr().out == "0 advisories of the versions in constraints.txt\n"


def test_every_advisory_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(answering(FINE, ADVISED)) == ADVISORIES
    assert capsys.readouterr().out.splitlines() == [
        "aiohttp 3.8.0: PYSEC-1, mended in 3.8.5, 3.9.0",
        "aiohttp 3.8.0: PYSEC-2, mended in nothing yet",
        "2 advisories of the versions in constraints.txt",
    ]


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
def test_what_could_not_be_asked_is_not_audited(answer: Any, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(answer) == NOT_AUDITED
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"NOT AUDITED: {reason}\n")


def test_an_auditor_that_breaks_off_gives_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho Traceback >&2\necho 'ConnectionError: no route' >&2\nexit 1\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    with pytest.raises(NotAudited, match="ConnectionError: no route"):
        ask(tmp_path / "constraints.txt")
