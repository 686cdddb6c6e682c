"""Proofs run at a twentieth of their size, unless SOCIALAPI_FULL_SIZE is set (`make prove`)."""

import pytest

from tests.support.full_size import FULL_SIZE


@pytest.fixture(scope="session")
def proof_scale() -> float:
    """What the sizes of a proof are multiplied with: 1.0 for the full size, else 0.05."""
    return 1.0 if FULL_SIZE else 0.05
