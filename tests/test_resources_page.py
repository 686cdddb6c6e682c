"""The table of advertising resources: what is documented is there, and the page is what the code says."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.modules import module_at

SCRIPT = Path(__file__).parents[1] / "docs" / "resources.py"


table = module_at(SCRIPT)


@pytest.mark.parametrize("resource", table.RESOURCES, ids=lambda each: each.name)
def test_a_class_has_the_documented_fields_and_no_others(resource: Any) -> None:
    assert set(resource.fields) == set(table.declared(resource.model))
    assert len(set(resource.fields)) == len(resource.fields)


def test_the_page_is_what_the_code_says() -> None:
    assert table.PAGE.read_text("utf-8") == table.markdown(), "run: python docs/resources.py"
