"""Whether the extension is used, and what the package says of it."""

import os
import shutil
import subprocess
import sys
from typing import Final

import pytest

from socialapi import _speedups

SCRIPT: Final = "from socialapi import _speedups as s; print(s.IS_ENABLED, s.WHY_DISABLED, sep='|')"


def told(script: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_variable_switches_it_off(value: str) -> None:
    assert told(SCRIPT, SOCIALAPI_NO_SPEEDUPS=value) == "False|switched off by SOCIALAPI_NO_SPEEDUPS"


def test_zero_and_nothing_leave_it_on() -> None:
    assert told(SCRIPT, SOCIALAPI_NO_SPEEDUPS="0") == told(SCRIPT, SOCIALAPI_NO_SPEEDUPS="")


def test_an_extension_that_was_built_from_other_sources_is_not_used() -> None:
    stale = "import sys, types; sys.modules['socialapi._speedups._native'] = types.SimpleNamespace(INTERFACE=-1)\n"
    enabled, why = told(stale + SCRIPT, SOCIALAPI_NO_SPEEDUPS="").split("|")
    assert enabled == "False"
    assert why == "built for another version: install the package again"


def test_the_description_says_why_it_is_off() -> None:
    script = "from socialapi import _speedups; print(_speedups.description())"
    assert told(script, SOCIALAPI_NO_SPEEDUPS="1") == "without speedups (switched off by SOCIALAPI_NO_SPEEDUPS)"


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.skipif("SOCIALAPI_NO_SPEEDUPS" in os.environ, reason="switched off")
def test_a_checkout_with_a_compiler_has_the_extension() -> None:
    assert _speedups.IS_ENABLED, _speedups.WHY_DISABLED


@pytest.mark.skipif(not _speedups.IS_ENABLED, reason="the extension is not used here")
def test_the_description_names_how_digests_are_made() -> None:
    assert "SHA-256" in _speedups.description()


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


@pytest.mark.skipif(not _speedups.IS_ENABLED, reason="the extension is not used here")
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
