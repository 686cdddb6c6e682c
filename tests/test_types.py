"""`socialapi.types` has every model that comes back, and every enumeration."""

import inspect
import typing

import attrs
import pytest

from socialapi import types
from socialapi.models import (
    account_history,
    accounts,
    audience_permissions,
    categories,
    insights,
    line_items,
    money,
)


@pytest.mark.parametrize(
    "module",
    [account_history, accounts, audience_permissions, categories, insights, line_items, money],
    ids=lambda module: module.__name__.rpartition(".")[2],
)
def test_models_and_enumerations_of_the_advertising_api_are_exported(module: object) -> None:
    own = {
        name
        for name, value in vars(module).items()
        if (inspect.isclass(value) and attrs.has(value) and value.__module__ == module.__name__)  # type: ignore[attr-defined]  # modules have names
        or typing.get_origin(value) is typing.Literal
    }
    assert own
    assert own <= set(types.__all__)
    for name in own:
        assert getattr(types, name) is getattr(module, name)


def test_every_name_is_there_once_and_documented_where_it_is_a_class() -> None:
    assert len(types.__all__) == len(set(types.__all__))
    for name in types.__all__:
        exported = getattr(types, name)
        assert not inspect.isclass(exported) or exported.__doc__, name
