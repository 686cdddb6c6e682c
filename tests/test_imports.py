"""What is imported when: nothing before it is used, so that a program pays for its own part of the package alone."""

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

import socialapi
from socialapi import Client, types
from socialapi.lazy import on_first_use

LIBRARIES: Final = frozenset(
    [
        "annotated_types",
        "cattrs",
        "cyclopts",
        "filelock",
        "oauthlib",
        "orjson",
        "phonenumbers",
        "platformdirs",
        "rich",
        "sqlite3",
        "tomllib",
    ]
)
WEB: Final = frozenset({"aiohttp.web", "aiohttp.web_app", "aiohttp.web_protocol", "aiohttp.web_server"})
OUTER: Final = ("socialapi.cli", "socialapi.emulator", "socialapi.testing", "socialapi.webhooks")

BASE: Final = frozenset({"socialapi", "socialapi.errors", "socialapi.lazy", "socialapi.version"})
FRONT_DOOR: Final = BASE | {
    *("socialapi.client", "socialapi.config", "socialapi.credentials"),
    *("socialapi.session", "socialapi.session.clock", "socialapi.session.token_cache"),
}
CLIENT: Final = """
from socialapi import AppOnly, Client, Config, OAuth1
client = Client(Config(base_url="https://api.example.com"), [AppOnly("k", "s"), OAuth1("k", "s", "t", "ts")])
"""


def loaded(script: str) -> frozenset[str]:
    """The modules that a script loads in a new process, but for those that were there at its start."""
    program = (
        f"import json, sys\nbefore = set(sys.modules)\n{script}\nprint(json.dumps(sorted(sys.modules.keys() - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(json.loads(done.stdout))


def of_package(modules: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in modules if name.partition(".")[0] == "socialapi")


def below(modules: Iterable[str], *packages: str) -> list[str]:
    return sorted(name for name in modules if any(f"{name}.".startswith(f"{package}.") for package in packages))


def test_the_package_alone_loads_neither_a_library_nor_a_model() -> None:
    modules = loaded("import socialapi")
    assert of_package(modules) == BASE
    assert not below(modules, "aiohttp", "attr", "attrs", *LIBRARIES)


@pytest.mark.parametrize(
    "script",
    [
        "from socialapi import Client",
        "from socialapi import AppOnly, Bearer, Client, Config, OAuth1, OAuth2User, errors",
        CLIENT,
        "from socialapi import Client; client = Client.from_env({'SOCIALAPI_BEARER_TOKEN': 'b', 'SOCIALAPI_RETRIES': '1'})",
    ],
)
def test_a_client_that_was_not_used_loads_aiohttp_and_next_to_nothing_else(script: str) -> None:
    modules = loaded(script)
    assert of_package(modules) <= FRONT_DOOR
    assert not below(modules, *LIBRARIES, *WEB)
    assert "aiohttp" in modules  # so that its time is not taken from the event loop by the first call


@pytest.mark.parametrize("name", sorted(set(socialapi.__all__) - {"Client"}))
def test_a_name_that_is_no_client_loads_no_aiohttp(name: str) -> None:
    assert not below(loaded(f"from socialapi import {name}"), "aiohttp", "socialapi.client")


@pytest.mark.parametrize(
    ("used", "needed", "unneeded"),
    [
        (
            "client.posts",
            ["socialapi.models.posts", "socialapi.routes.platform"],
            ["socialapi.routes.ads", "socialapi.routes.catalogs", "socialapi.models.products", "socialapi.bulk"],
        ),
        (
            "client.filtered_stream",
            ["socialapi.streams.stream", "socialapi.routes.platform"],
            ["socialapi.routes.ads", "socialapi.routes.catalogs", "socialapi.models.cards", "socialapi.bulk"],
        ),
        (
            "client.ads.account('a').custom_audience('c')",
            ["socialapi.bulk.audiences.job", "socialapi.models.audiences", "socialapi.routes.ads"],
            [
                "socialapi.routes.platform",
                "socialapi.routes.catalogs",
                "socialapi.models.products",
                "socialapi.streams",
            ],
        ),
        (
            "client.catalog('7pc01').product_sets",
            ["socialapi.models.catalogs", "socialapi.routes.catalogs"],
            ["socialapi.routes.ads", "socialapi.routes.platform", "socialapi.models.cards", "socialapi.streams"],
        ),
        (
            "client.with_options(retries=0).limits",
            ["socialapi.session.session", "socialapi.session.rate_limiter"],
            ["socialapi.routes.ads", "socialapi.routes.platform", "socialapi.resources", "socialapi.bulk"],
        ),
    ],
)
def test_an_area_is_loaded_on_first_use_and_no_other_with_it(used: str, needed: list[str], unneeded: list[str]) -> None:
    modules = loaded(f"{CLIENT}\n{used}")
    assert set(needed) <= modules
    assert not below(modules, *unneeded)
    assert not below(modules, *OUTER, *WEB, "oauthlib", "phonenumbers", "filelock", "platformdirs", "rich", "cyclopts")


def test_a_type_is_loaded_without_those_that_have_nothing_to_do_with_it() -> None:
    modules = loaded("from socialapi.types import Micros")
    assert of_package(modules) == BASE | {"socialapi.types", "socialapi.models", "socialapi.models.money"}


def test_anything_that_is_written_out_loads_the_limits_of_the_advertising_api_only_for_it() -> None:
    script = "from socialapi.routes.undeclared import ad_hoc_target\nad_hoc_target('GET', '/12/accounts', {!r}, None)"
    assert "socialapi.routes.ads" not in loaded(script.format("platform"))
    assert "socialapi.routes.ads" in loaded(script.format("ads"))


# The public modules, whose names are in a table for Python, in imports for type checkers, and in `__all__`.


def names_for_type_checkers(module: ModuleType) -> dict[str, tuple[str, str]]:
    """What is imported under `if TYPE_CHECKING`: each name with the module that it lives in and what it is there."""
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    (block,) = [each for each in tree.body if isinstance(each, ast.If)]
    return {
        alias.asname or alias.name: (str(each.module), alias.name)
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }


@pytest.mark.parametrize("module", [socialapi, types], ids=["socialapi", "types"])
def test_python_finds_what_type_checkers_find_and_nothing_else(module: ModuleType) -> None:
    promised = names_for_type_checkers(module)
    for name, (home, there) in promised.items():
        assert getattr(module, name) is getattr(importlib.import_module(home), there)
    eager = {"__version__", "errors"} if module is socialapi else set()
    assert set(module.__all__) == promised.keys() | eager
    offered = {name for name in module.__dir__() if not name.startswith("_")}
    modules_of_its_own = {name for name in offered if isinstance(getattr(module, name), ModuleType)}
    assert offered - modules_of_its_own - {"TYPE_CHECKING", "on_first_use"} == promised.keys()


def test_names_are_listed_before_they_are_used() -> None:
    script = "import socialapi, sys\nlisted = set(dir(socialapi))\nassert set(socialapi.__all__) <= listed, listed"
    assert "socialapi.client" not in loaded(script)


def test_a_star_imports_every_name() -> None:
    names: dict[str, object] = {}
    exec("from socialapi import *", names)
    assert names.keys() - {"__builtins__"} == set(socialapi.__all__)
    assert names["Client"] is Client


def test_a_name_that_was_asked_for_once_is_an_ordinary_one_and_an_unknown_one_is_refused() -> None:
    module = ModuleType("offering")
    sys.modules[module.__name__] = module
    try:
        get_attribute, directory = on_first_use(module.__name__, {"json": "dumps loads:read"})
        assert {"dumps", "read"} <= set(directory())
        assert get_attribute("read") is json.loads
        assert vars(module)["read"] is json.loads
        assert "dumps" not in vars(module)
        for unknown in ("loads", "Nothing"):
            with pytest.raises(AttributeError, match=f"module 'offering' has no attribute '{unknown}'"):
                get_attribute(unknown)
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("module", [socialapi, types], ids=["socialapi", "types"])
def test_a_name_that_there_is_not_is_an_error_as_of_any_module(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'Nothing'"):
        _ = module.Nothing
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec(f"from {module.__name__} import Nothing")
