"""What the tests of the extension share."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def a_collector_that_looks_at_new_objects_alone() -> Iterator[None]:
    """The process of the tests holds a million objects. To look at all of them hundreds of times took minutes."""
    gc.freeze()
    yield
    gc.unfreeze()
