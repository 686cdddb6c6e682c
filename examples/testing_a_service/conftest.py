"""Settings for the emulators of all tests."""

from typing import Any

import pytest


@pytest.fixture(scope="session")
def socialapi_emulator_options() -> dict[str, Any]:
    """The newest posts of a user can be read twice in a quarter of an hour."""
    return {"rate_limits": {"GET /2/users/{id}/tweets": (2, 900.0)}}
