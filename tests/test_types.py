"""`socialapi.types` has every model that comes back, and every enumeration."""

import inspect
import typing
from types import ModuleType

import attrs
import pytest

from socialapi import resources, types
from socialapi.models import accounts, audiences, insights, line_items, money
from socialapi.resources.ads import AccountResource, Accounts, Ads, Sandbox
from socialapi.resources.audiences import AudiencePermissions, CustomAudience
from socialapi.resources.line_items import CuratedCategories, LineItemCuratedCategories, LineItems

MODULE: typing.Final[ModuleType] = types
NAMES: typing.Final[list[str]] = MODULE.__all__


@pytest.mark.parametrize(
    "module",
    [accounts, audiences, insights, line_items, money],
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
    assert own <= set(NAMES), f"socialapi.types lacks {', '.join(sorted(own - set(NAMES)))}"
    for name in own:
        assert getattr(types, name) is getattr(module, name)


def test_what_stands_in_the_signatures_of_methods_is_exported() -> None:
    groups = (
        *(Ads, Accounts, Sandbox, AccountResource, CuratedCategories, LineItemCuratedCategories, LineItems),
        *(AudiencePermissions, CustomAudience),
    )
    methods = [
        method
        for group in groups
        for name, method in vars(group).items()
        if inspect.isfunction(method) and not name.startswith("_")
    ]
    # Some are imported on first use.
    public = {name: getattr(module, name) for module in (types, resources) for name in module.__all__}
    queries = {
        typing.get_args(kind)[0].__name__
        for method in methods
        for kind in typing.get_type_hints(method, localns=public).values()
        if typing.get_origin(kind) is typing.Unpack
    }
    assert {"AccountsFilter", "HistoryFilter", "RecordQuery"} <= queries
    # The options of uploads are described where uploads are.
    assert {name for name in queries if not name.endswith("Keywords")} <= set(NAMES)


def test_every_name_is_there_once_and_documented_where_it_is_a_class() -> None:
    assert len(NAMES) == len(set(NAMES))
    for name in NAMES:
        exported = getattr(types, name)
        assert not inspect.isclass(exported) or exported.__doc__, name
