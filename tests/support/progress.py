"""What a run of the tests shows: a progress bar on a terminal, and at the end what was left out."""

import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

LEFT_OUT: Final = "left_out"


class ProgressBar:
    """Shows a bar in place of pytest's dots. Failures are printed above it as they come."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, TextColumn("left:"), TimeRemainingColumn(), console=Console(stderr=True))
        self._task = self._progress.add_task("tests", total=None)
        self._failed = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Starts the bar when the first worker has collected the tests."""
        self._progress.update(self._task, total=len(ids))
        self._progress.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Keeps the category of a report, and takes its dot or letter away."""
        if report.when == "call" or report.skipped:
            return report.outcome, "", ""
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a test when it is torn down."""
        if report.failed:
            self._failed += 1
            self._progress.console.print(f"FAILED {report.nodeid}", highlight=False, markup=False)
            self._progress.update(self._task, description=f"{self._failed} failed")
        if report.when == "teardown":
            self._progress.advance(self._task)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Ends the bar before pytest prints its summary."""
        self._progress.stop()


class LeftOut:
    """Says at the very end how many slow tests were left out, and how to run them."""

    def __init__(self) -> None:
        self._folders: dict[str, int] = {}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Counts the tests by what they are below `tests`. With xdist, each worker sees all of them."""
        for item in items:
            if item.get_closest_marker("slow"):
                name = item.path.relative_to(Path(__file__).parents[1]).parts[0].removesuffix(".py")
                self._folders[name] = self._folders.get(name, 0) + 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes over what a worker counted."""
        self._folders = getattr(node, "workeroutput", {}).get(LEFT_OUT, self._folders)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Prints the line behind pytest's own last one."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[LEFT_OUT] = self._folders
        yield
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if output is None and self._folders and reporter:
            names = ", ".join(name.removeprefix("test_") for name in sorted(self._folders))
            reporter.write_line(
                f"{sum(self._folders.values()):,} slow tests were left out ({names}). All: make test-all"
            )


def register(config: pytest.Config) -> None:
    """Adds both to a run, as far as they apply. The bar needs a terminal and the workers of xdist."""
    if "not slow" in config.option.markexpr:
        config.pluginmanager.register(LeftOut())
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    workers = getattr(config.option, "numprocesses", None)
    if (
        reporter
        and reporter.isatty
        and workers
        and config.option.verbose == 0
        and "PYTEST_XDIST_WORKER" not in os.environ
    ):
        config.pluginmanager.register(ProgressBar())
