"""Proofs run at a twentieth of their size, unless SOCIALAPI_FULL_SIZE is set (`make prove`)."""

from pathlib import Path

import pytest

from tests.support.full_size import FULL_SIZE

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.proof)


@pytest.fixture(scope="session")
def proof_scale() -> float:
    """What the sizes of a proof are multiplied with: 1.0 for the full size, else 0.05."""
    return 1.0 if FULL_SIZE else 0.05
