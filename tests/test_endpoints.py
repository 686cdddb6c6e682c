"""The table of endpoints: complete, and what the code says."""

from pathlib import Path

import pytest

from tests.support.modules import module_at

SCRIPT = Path(__file__).parents[1] / "docs" / "endpoints.py"


table = module_at(SCRIPT)


@pytest.mark.parametrize("row", table.rows(), ids=lambda row: f"{row.route.method} {row.route.path}")
def test_every_route_has_a_method_an_emulator_handler_and_a_section(row: object) -> None:
    assert row.methods, "no public method of the SDK calls it"  # type: ignore[attr-defined]  # a class of the script
    assert row.emulated, "the emulator does not serve it"  # type: ignore[attr-defined]
    assert row.route.section, "it does not say where it is documented"  # type: ignore[attr-defined]


def test_the_page_is_what_the_code_says() -> None:
    assert table.TABLE.read_text("utf-8") == table.markdown(), "run: python docs/endpoints.py"
