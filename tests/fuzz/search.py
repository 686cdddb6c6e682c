"""Searches with one target for inputs that break its promises, guided by the coverage of the
package.

`make fuzz` runs it for each target, in a process of its own: libFuzzer ends the process.
"""

import importlib
import sys
from pathlib import Path
from typing import Final

import atheris

# The module of the target alone: to instrument the whole package takes most of a minute.
with atheris.instrument_imports(include=["socialapi"]):
    importlib.import_module(sys.argv[1])

from tests.fuzz.kept import SEARCHED, inputs_of
from tests.fuzz.target import MAX_INPUT_BYTES, TARGETS

FOUND: Final = SEARCHED / "found"
MAX_SECONDS: Final = 30
MAX_MEGABYTES: Final = 2_000


def main(module: str, name: str, seconds: str) -> None:
    """Searches for so many seconds. What reaches something new is kept in `.fuzz`, and what breaks
    a promise in `.fuzz/found`.
    """
    folder = SEARCHED / name
    for each in (folder, FOUND):
        each.mkdir(parents=True, exist_ok=True)
    for number, kept in enumerate(inputs_of(name)):
        Path(folder / f"kept-{number}").write_bytes(kept.data)
    options = [
        f"-max_total_time={seconds}",
        f"-artifact_prefix={FOUND / name}-",
        f"-max_len={MAX_INPUT_BYTES}",
        f"-timeout={MAX_SECONDS}",
        f"-report_slow_units={MAX_SECONDS}",  # the first input imports libraries
        f"-rss_limit_mb={MAX_MEGABYTES}",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
