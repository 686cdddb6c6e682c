"""Machines run for as long as they need with `make machines`."""

from pathlib import Path
from typing import Final

import pytest

from tests.support.full_size import FULL_SIZE

HERE: Final = Path(__file__).parent
SECONDS: Final = 0 if FULL_SIZE else 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(SECONDS))
