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
from socialapi.internal.lazy import on_first_use

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

BASE: Final = frozenset(
    {
        *("socialapi", "socialapi.errors", "socialapi.version"),
        *("socialapi.internal", "socialapi.internal.lazy", "socialapi.internal.statuses"),
    }
)
FRONT_DOOR: Final = BASE | {
    *("socialapi.client", "socialapi.config", "socialapi.credentials"),
    *("socialapi.session", "socialapi.session.clock", "socialapi.session.token_cache", "socialapi.internal.shielded"),
    *("socialapi.internal.logs", "socialapi.internal.private_files", "socialapi.internal.secret"),
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


def names_at_the_top() -> list[str]:
    module: ModuleType = socialapi
    names: list[str] = module.__all__
    return names


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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(names_at_the_top()) - {"Client", "Stream"}))
def test_a_name_that_is_neither_client_nor_stream_loads_no_aiohttp(name: str) -> None:
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
            ["socialapi.bulk.audiences.job", "socialapi.models.audiences", "socialapi.routes.audiences"],
            [
                "socialapi.models.line_items",
                "socialapi.routes.platform",
                "socialapi.routes.catalogs",
                "socialapi.models.products",
                "socialapi.streams",
            ],
        ),
        (
            "client.ads.accounts",
            ["socialapi.models.accounts", "socialapi.routes.ads"],
            ["socialapi.routes.audiences", "socialapi.models.audiences", "socialapi.models.cards", "socialapi.bulk"],
        ),
        (
            "client.catalog('7pc01').product_sets",
            ["socialapi.models.catalogs", "socialapi.routes.catalogs"],
            ["socialapi.routes.ads", "socialapi.routes.platform", "socialapi.models.cards", "socialapi.bulk"],
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


def test_entering_a_client_loads_what_every_call_needs_and_no_area() -> None:
    modules = loaded(
        f"{CLIENT}\nimport asyncio\nasync def enter():\n    async with client:\n        pass\nasyncio.run(enter())"
    )
    assert {"socialapi.session.session", "socialapi.wire.response", "cattrs", "orjson"} <= modules
    areas = {name for name in modules if name.startswith(("socialapi.resources.", "socialapi.routes."))}
    assert areas == {"socialapi.resources.arguments", "socialapi.resources.resource", "socialapi.routes.route"}
    assert not below(modules, "socialapi.bulk", "socialapi.streams", "socialapi.models.audiences", "oauthlib", *WEB)


@pytest.mark.parametrize(
    "job",
    [
        "client.ads.account('a').custom_audience('c').upload([{'email': 'ada@example.com'}], dry_run=True)",
        "client.catalog('c').products.upsert([{'id': '1'}], dry_run=True)",
    ],
)
def test_a_job_that_reads_no_file_loads_no_reader_of_files(job: str) -> None:
    modules = loaded(
        f"{CLIENT}\nimport asyncio\nasync def work():\n    async with client:\n        await {job}\nasyncio.run(work())"
    )
    assert "socialapi.bulk.inputs.iterables" in modules
    readers = [f"socialapi.bulk.inputs.{name}" for name in ("arrow", "csv", "feed_xml", "files", "json")]
    assert not below(modules, *readers, "gzip", "phonenumbers", "pyarrow", "sqlite3", "xml")


def test_telemetry_is_loaded_by_a_client_that_wants_it_and_by_nothing_else() -> None:
    modules = loaded(CLIENT.replace(")])", ")], telemetry=True)"))
    assert {"socialapi.session.telemetry", "opentelemetry.trace", "opentelemetry.metrics"} <= modules
    assert not below(modules, "opentelemetry.sdk", "socialapi.session.session")
    enter = "import asyncio\nasync def enter():\n    async with client:\n        client.posts, client.filtered_stream\n"
    used = "client.ads.account('a').custom_audience('c'), client.catalog('c').products\n"
    modules = loaded(f"{CLIENT}\n{enter}        {used}asyncio.run(enter())\nimport socialapi.webhooks.receiver")
    assert "socialapi.bulk.audiences.job" in modules
    assert not below(modules, "opentelemetry", "socialapi.session.telemetry")


def test_a_type_is_loaded_without_those_that_have_nothing_to_do_with_it() -> None:
    modules = loaded("from socialapi.types import Micros")
    own = {"socialapi.types", "socialapi.models", "socialapi.models.money", "socialapi.internal.records"}
    assert of_package(modules) == BASE | own


def test_anything_that_is_written_out_loads_the_limits_of_the_advertising_api_only_for_it() -> None:
    script = "from socialapi.routes.undeclared import ad_hoc_target\nad_hoc_target('GET', '/12/accounts', {!r}, None)"
    assert "socialapi.routes.audiences" not in loaded(script.format("platform"))
    assert "socialapi.routes.audiences" in loaded(script.format("ads"))


# The public modules list their names for Python in a table, and for type checkers as imports.

LAZY: Final = [
    "socialapi",
    *(f"socialapi.{name}" for name in ["emulator", "journals", "resources", "streams", "types", "webhooks"]),
]


def names_for_type_checkers(module: ModuleType) -> dict[str, str]:
    """Each name that the module imports to export it, with the module that it lives in."""
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    return {
        alias.name: str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name  # what type checkers take for an export
    }


@pytest.mark.parametrize("name", LAZY)
def test_python_finds_what_type_checkers_find_and_nothing_else(name: str) -> None:
    module = importlib.import_module(name)
    promised = names_for_type_checkers(module)
    listed = set(module.__all__)
    assert sorted(promised.keys() - listed) == [], f"list these in the table of {module.__file__}, too"
    assert sorted(listed - promised.keys()) == [], f"import these below TYPE_CHECKING in {module.__file__}, too"
    for each, home in promised.items():
        assert getattr(module, each) is getattr(importlib.import_module(home), each)
    offered = {each for each in dir(module) if not each.startswith("_")}
    modules_of_its_own = {each for each in offered if isinstance(getattr(module, each), ModuleType)} - {"errors"}
    assert offered - modules_of_its_own - {"TYPE_CHECKING", "on_first_use"} == promised.keys() - {"__version__"}


def test_the_only_stub_is_that_of_the_extension() -> None:
    package = Path(str(socialapi.__file__)).parent
    found = [path.relative_to(package).as_posix() for path in package.rglob("*.pyi")]
    assert found == ["_speedups/_native.pyi"]


def test_names_are_listed_before_they_are_used() -> None:
    script = "import socialapi, sys\nlisted = set(dir(socialapi))\nassert set(socialapi.__all__) <= listed, listed"
    assert "socialapi.client" not in loaded(script)


def test_a_star_imports_every_name() -> None:
    names: dict[str, object] = {}
    exec("from socialapi import *", names)
    assert names.keys() - {"__builtins__"} == set(names_at_the_top())
    assert names["Client"] is Client


def test_a_name_that_was_asked_for_once_is_an_ordinary_one_and_an_unknown_one_is_refused() -> None:
    module = ModuleType("offering")
    sys.modules[module.__name__] = module
    try:
        get_attribute, directory, listed = on_first_use(module.__name__, {"json": "loads dumps", "re": "compile"})
        assert listed == ["compile", "dumps", "loads"]
        assert {*listed} <= set(directory())
        assert get_attribute("loads") is json.loads
        assert vars(module)["loads"] is json.loads
        assert "dumps" not in vars(module)
        for unknown in ("JSONDecoder", "__path__"):
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
