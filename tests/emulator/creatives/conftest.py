"""A client of the advertising API that is not the SDK."""

import pytest

from tests.emulator.advertising.asking_ads import Ads
from tests.emulator.asking import Asker


@pytest.fixture
def ads(ask: Asker) -> Ads:
    return Ads(ask)
