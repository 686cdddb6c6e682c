"""Says at the end how many pairs were tried, and what came of them. Numbers of several workers are added up."""

from collections import Counter

import pytest

PAIRS = "pairs"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts_by_name: dict[str, Counter[str]] = {}
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, ())]
    for report in reports:
        if isinstance(report, pytest.TestReport):
            for name, outcomes in report.user_properties:
                if name.endswith(PAIRS):
                    counts_by_name.setdefault(name, Counter()).update(dict[str, int](outcomes))  # type: ignore[call-overload]  # as the tests here write it
    if counts_by_name:
        terminalreporter.section("the matrix")
    for name, counts in sorted(counts_by_name.items()):
        terminalreporter.line(
            f"{counts.total():,} {name}: " + ", ".join(f"{n:,} {what}" for what, n in counts.most_common())
        )
