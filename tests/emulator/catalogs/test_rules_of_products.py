"""How broken rules of a product are told; the models' tests have each at its edge (sections 4.7 and 8)."""

from tests.emulator.catalogs.asking_catalogs import Catalogs, broken_fields

REQUIRED = ("id", "title", "description", "availability", "condition", "price", "link", "image_link")


async def test_every_broken_rule_of_a_product_is_listed(own: Catalogs) -> None:
    (result,) = await own.put({"id": "SKU-1", "title": "x" * 151, "colour": "red"})
    assert broken_fields(result) == [
        *(("MISSING_PARAMETER", name) for name in REQUIRED[2:]),
        ("INVALID_PARAMETER", "title"),
        ("INVALID_PARAMETER", "colour"),
    ]
