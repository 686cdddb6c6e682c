"""Settings for the emulators of all tests."""

from typing import Any

import pytest


@pytest.fixture(scope="session")
def socialapi_emulator_options() -> dict[str, Any]:
    """Sets a rate limit: the newest posts of a user can be read twice in 15 minutes."""
    return {"rate_limits": {"GET /2/users/{id}/tweets": (2, 900.0)}}
