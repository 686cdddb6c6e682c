"""The table of advertising resources: what is documented is there, and the page is what the code says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "resources.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("resources_table", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


table = _load()


@pytest.mark.parametrize("resource", table.RESOURCES, ids=lambda each: each.name)
def test_a_class_has_the_documented_fields_and_no_others(resource: Any) -> None:
    assert set(resource.fields) == set(table.declared(resource.model))
    assert len(set(resource.fields)) == len(resource.fields)


def test_the_page_is_what_the_code_says() -> None:
    assert table.PAGE.read_text("utf-8") == table.markdown(), "run: python docs/resources.py"
