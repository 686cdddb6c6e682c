"""What `import socialapi` offers is a promise: it is listed here, and changed on purpose only."""

import inspect
from types import ModuleType
from typing import Final

import pytest

import socialapi

PUBLIC_NAMES: Final = frozenset(
    {
        "UNSET",
        "AppOnly",
        "AudienceUser",
        "Bearer",
        "Client",
        "Clock",
        "Config",
        "Credentials",
        "Fields",
        "FileTokenCache",
        "Journal",
        "LimitStatus",
        "MemoryTokenCache",
        "OAuth1",
        "OAuth2User",
        "Operation",
        "OperationParams",
        "Pacer",
        "Page",
        "Pager",
        "Product",
        "Progress",
        "Reply",
        "SlidingWindowPacer",
        "Slot",
        "Stream",
        "SyncReport",
        "TokenCache",
        "UploadReport",
        "UpsertReport",
        "Usage",
        "__version__",
        "errors",
    }
)


def test_the_package_exports_exactly_what_is_listed() -> None:
    module: ModuleType = socialapi
    assert frozenset(module.__all__) == PUBLIC_NAMES
    assert len(module.__all__) == len(PUBLIC_NAMES)


def test_every_listed_name_is_shown_by_dir_and_no_other_is_invented() -> None:
    assert frozenset(dir(socialapi)) >= PUBLIC_NAMES
    for invented in ("Nothing", "aiohttp_client"):
        assert not hasattr(socialapi, invented)


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES))
def test_every_public_name_is_there_and_documented(name: str) -> None:
    exported = getattr(socialapi, name)
    documented = exported if inspect.isclass(exported) or inspect.ismodule(exported) else type(exported)
    assert inspect.cleandoc(vars(documented).get("__doc__") or "").strip(), f"socialapi.{name} has no docstring"


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES - {"UNSET", "Credentials", "errors", "__version__"}))
def test_every_public_method_is_documented(name: str) -> None:
    members = vars(getattr(socialapi, name)).items()
    own = {key: value for key, value in members if not key.startswith("_") and _is_callable(value)}
    assert not [key for key, value in own.items() if not inspect.getdoc(value)]


def _is_callable(value: object) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)
