"""Whether the extension is used, and what the package says of it."""

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from socialapi import _speedups
from tests.speedups.implementations import IN_C, NATIVE, REFERENCE

SCRIPT: Final = "from socialapi import _speedups as s; print(s.IS_ENABLED, s.WHY_DISABLED, sep='|')"


def told(script: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_variable_switches_it_off(value: str) -> None:
    assert told(SCRIPT, SOCIALAPI_NO_SPEEDUPS=value) == "False|switched off by SOCIALAPI_NO_SPEEDUPS"


def test_an_extension_that_was_built_from_other_sources_is_not_used() -> None:
    stale = "import sys, types; sys.modules['socialapi._speedups._native'] = types.SimpleNamespace(INTERFACE=-1)\n"
    enabled, why = told(stale + SCRIPT, SOCIALAPI_NO_SPEEDUPS="").split("|")
    assert enabled == "False"
    assert why == "built for another version: install the package again"


@pytest.mark.parametrize(
    ("switch", "level"), [("", "WARNING"), ("1", "INFO")], ids=["not what was asked for", "switched off"]
)
def test_the_first_job_without_it_logs_once_why(switch: str, level: str) -> None:
    script = f"""
import asyncio, logging, sys
{"" if switch else "sys.modules['socialapi._speedups._native'] = None"}
from socialapi import Client, Config
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s", level="INFO")
async def jobs():
    async with Client(Config()) as client:
        audience = client.ads.account("18ce54d4x5t").custom_audience("1nmth")
        for _ in range(2):
            await audience.upload([{{"email": "ada@example.com"}}], dry_run=True)
asyncio.run(jobs())
"""
    (line,) = told(script, SOCIALAPI_NO_SPEEDUPS=switch).splitlines()
    assert line.startswith(f"{level} jobs run slower without the C extension: ")


def test_the_description_says_why_it_is_off() -> None:
    script = "from socialapi import _speedups; print(_speedups.description())"
    assert told(script, SOCIALAPI_NO_SPEEDUPS="1") == "without speedups (switched off by SOCIALAPI_NO_SPEEDUPS)"


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.skipif("SOCIALAPI_NO_SPEEDUPS" in os.environ, reason="switched off")
def test_a_checkout_with_a_compiler_has_the_extension() -> None:
    assert _speedups.IS_ENABLED, _speedups.WHY_DISABLED


def test_an_extension_that_cannot_be_loaded_is_told_from_one_that_was_not_built() -> None:
    broken = "import sys\nclass Finder:\n    def find_spec(self, name, path, target=None):\n        {raises}\n"
    script = broken + "sys.meta_path.insert(0, Finder())\n" + SCRIPT
    raises = "if name.endswith('_native'): raise ImportError('libc is too old')"
    assert told(script.format(raises=raises), SOCIALAPI_NO_SPEEDUPS="") == "False|cannot be loaded: libc is too old"
    raises = "if name.endswith('_native'): raise ModuleNotFoundError(name)"
    assert "not built" in told(script.format(raises=raises), SOCIALAPI_NO_SPEEDUPS="")


def test_it_is_not_used_where_there_is_no_global_lock() -> None:
    free_threaded = "import sys; sys.version = '3.14.0 free-threading build'\n"
    assert "free-threaded" in told(free_threaded + SCRIPT, SOCIALAPI_NO_SPEEDUPS="")


@IN_C
def test_it_is_not_used_in_another_interpreter_of_the_process() -> None:
    """Its types are those of the process, and web servers may have several interpreters in one."""
    elsewhere = (
        "try: import _interpreters as interpreters\nexcept ImportError: import _xxsubinterpreters as interpreters\n"
        f"there = interpreters.create()\ninterpreters.run_string(there, {SCRIPT!r})\ninterpreters.destroy(there)\n"
    )
    said = told(f"{SCRIPT}\n{elsewhere}{SCRIPT}", SOCIALAPI_NO_SPEEDUPS="", PYTHONUNBUFFERED="1")
    first, there, again = said.splitlines()
    assert there.startswith("False|cannot be loaded: ")
    assert first == again == "True|"


# Who hashes ----------------------------------------------------------------------------------------------------------

COLUMN: Final = """
from socialapi import _speedups as s
column = s.hash_column(["a@b.example", "", None, "nobody"], "email")
print(type(column).__module__, list(column), s.description(), sep="|")
"""
DIGESTS: Final = [hashlib.sha256(b"a@b.example").hexdigest(), "", "", None]
FIPS: Final = "import _hashlib; _hashlib.get_fips_mode = lambda: 1\n"
BROKEN_HASHING: Final = """
import sys, types
native = types.SimpleNamespace(INTERFACE=9, hash_column=lambda cells, kind: ["0" * 64 for _ in cells])
sys.modules["socialapi._speedups._native"] = native
"""


@IN_C
@pytest.mark.parametrize("value", ["hashlib", "hashlb"])
def test_a_variable_leaves_the_hashing_to_hashlib_and_the_rest_to_the_extension(value: str) -> None:
    module, values, says = told(COLUMN, SOCIALAPI_HASHING=value, SOCIALAPI_NO_SPEEDUPS="").split("|")
    assert (module, values) == ("socialapi._speedups._native", str(DIGESTS))
    assert says == "with speedups (SHA-256 by hashlib: set by SOCIALAPI_HASHING)"


@IN_C
def test_where_openssl_is_in_fips_mode_hashlib_hashes() -> None:
    module, values, says = told(FIPS + COLUMN, SOCIALAPI_HASHING="", SOCIALAPI_NO_SPEEDUPS="").split("|")
    assert (module, values) == ("socialapi._speedups._native", str(DIGESTS))
    assert says == "with speedups (SHA-256 by hashlib: OpenSSL is in FIPS mode)"


def test_a_python_without_openssl_is_in_no_fips_mode() -> None:
    without = "import sys, hashlib; sys.modules['_hashlib'] = None\n"
    assert "hashlib" not in told(without + COLUMN, SOCIALAPI_HASHING="").split("|")[2]


def test_an_extension_whose_digests_are_not_those_of_hashlib_is_not_used_and_a_warning_says_so() -> None:
    script = BROKEN_HASHING + COLUMN
    environment = {**os.environ, "SOCIALAPI_NO_SPEEDUPS": ""}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    module, values, says = done.stdout.strip().split("|")
    assert (module, values) == ("socialapi._speedups.reference", str(DIGESTS))
    assert says == "without speedups (its SHA-256 differs from hashlib's)"
    assert "RuntimeWarning: the C extension of socialapi is not used: its SHA-256 differs from hashlib's" in done.stderr


@IN_C
def test_the_self_test_meets_every_number_of_blocks_and_takes_less_than_a_millisecond() -> None:
    blocks = {(size + 9 + 63) // 64 for size in _speedups._TESTED_BYTES}
    assert blocks == {1, 2, 3, 4}
    assert len(_speedups._TESTED_BYTES) % 2  # the last one is hashed alone
    assert min(timeit.repeat(lambda: _speedups._failure_of_self_test(NATIVE), number=1, repeat=20)) < 0.001


# The interface -------------------------------------------------------------------------------------------------------


def test_it_imports_nothing_of_the_package() -> None:
    for path in sorted(Path(_speedups.__file__).parent.glob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for name in names:
                    assert name is not None, path  # no relative import
                    assert not name.startswith("socialapi") or name.startswith("socialapi._speedups"), (path, name)


def test_nobody_else_knows_which_implementation_there_is() -> None:
    package = Path(_speedups.__file__).parents[1]
    inside = package / "_speedups"
    knowing = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if inside not in path.parents
        and ({"IS_ENABLED", "_native", "reference"} & set(re.findall(r"\w+", " ".join(imports_of(path)))))
    ]
    assert knowing == []


def imports_of(path: Path) -> Iterator[str]:
    return (line for line in path.read_text("utf-8").splitlines() if "_speedups" in line)


@IN_C
def test_both_implementations_have_the_same_names() -> None:
    for name in ("Digests", "Users", "IdentifierTable", "ObjectReader"):
        native, reference = getattr(NATIVE, name), getattr(REFERENCE, name)
        methods = {each for each in vars(native) if not each.startswith("_")}
        assert {each for each in methods if not hasattr(reference, each)} == set()
        assert {each for each in vars(reference) if not each.startswith("_")} <= methods
    assert all(
        callable(getattr(each, name)) for each in (NATIVE, REFERENCE) for name in ("hash_column", "add_phone_start")
    )
