"""A client of product catalogs that is not the SDK: for one with nothing in it, the second user's."""

import pytest

from tests.emulator.asking import Asker
from tests.emulator.catalogs.asking_catalogs import Catalogs, of_second_user


@pytest.fixture
def catalogs(ask: Asker) -> Catalogs:
    """The catalog of the seed data."""
    return Catalogs(ask)


@pytest.fixture
async def own(ask: Asker) -> Catalogs:
    """A catalog without products."""
    return await of_second_user(ask)
