"""How broken rules of a product are told; the models' tests have each at its edge (sections 4.7 and 8)."""

import pytest

from tests.emulator.catalogs.asking_catalogs import Catalogs, broken_fields, product

REQUIRED = ("id", "title", "description", "availability", "condition", "price", "link", "image_link")


@pytest.mark.parametrize("name", REQUIRED)
async def test_what_is_required_is_missed(own: Catalogs, name: str) -> None:
    without = {field: value for field, value in product().items() if field != name}
    assert broken_fields((await own.put(without))[0]) == [("MISSING_PARAMETER", name)]
    assert broken_fields((await own.put({**without, name: None}))[0]) == [("INVALID_PARAMETER", name)]


async def test_every_broken_rule_of_a_product_is_listed(own: Catalogs) -> None:
    (result,) = await own.put({"id": "SKU-1", "title": "x" * 151, "colour": "red"})
    assert broken_fields(result) == [
        *(("MISSING_PARAMETER", name) for name in REQUIRED[2:]),
        ("INVALID_PARAMETER", "title"),
        ("INVALID_PARAMETER", "colour"),
    ]
