"""What the tests of several folders share."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import hypothesis
import pytest

from tests.support import progress
from tests.support.clock import VirtualClock
from tests.support.postgresql import new_database, postgresql_running

# What fuzz targets and machines assert stands in modules that are no tests, and would fail without a word.
pytest.register_assert_rewrite("tests.fuzz", "tests.machines")

# Machines that run the tests are slow at times; what an example may take is not what is tested.
hypothesis.settings.register_profile("house", deadline=None, max_examples=40)
hypothesis.settings.register_profile("few", deadline=None, max_examples=8)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))

# Programs that the tests start inherit what is ignored, and a shell ignores Ctrl-C for what it runs in the background.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE: Final = Path(__file__).parent
SLOW: Final = ("benchmarks", "clients", "examples", "machines", "matrix", "proofs", "soak")
"""Folders of which every test is slow."""


@pytest.hookimpl(trylast=True)  # when the reporter is there
def pytest_configure(config: pytest.Config) -> None:
    progress.register(config)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] in SLOW:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the jobs of tests out of the list of the person who runs them."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOCIALAPI_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def clock() -> VirtualClock:
    """Virtual time, which begins at 2027-01-15T08:00:00Z."""
    return VirtualClock()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    with postgresql_running() as address:
        yield address


@pytest.fixture
async def postgresql(postgresql_server: str) -> AsyncIterator[str]:
    """The address of an empty database."""
    async with new_database(postgresql_server) as address:
        yield address
