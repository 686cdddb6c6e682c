"""Searches for inputs on which the extension and its twins in Python disagree: `make fuzz`.

The coverage of the twins, which have the same branches, guides the search; Hypothesis makes the
inputs of the bytes that it is given.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import atheris

with atheris.instrument_imports(include=["socialapi"]):
    from socialapi.bulk.audiences.normalize import hashed_plain
    from tests.speedups import test_columns, test_decode, test_recent

from hypothesis import given, settings
from hypothesis import strategies as st

CORPUS: Final = Path(__file__).parents[2] / ".fuzz"


@settings(deadline=None)
@given(
    kind=st.sampled_from(test_columns.HASHED),
    cells=st.lists(test_columns.TEXT | st.none() | test_columns.NO_TEXT, max_size=9),
)
def columns(kind: Any, cells: list[Any]) -> None:
    """A cell is what Python makes of it, or left to Python."""
    for cell, value in zip(cells, hashed_plain(kind, cells), strict=True):
        if cell is not None and cell != "" and value is not None:
            assert value == test_columns.in_python(kind, cell), cell


@settings(deadline=None)
@given(data=st.data(), cls=st.sampled_from(test_decode.MODELS))
def decode(data: st.DataObject, cls: Any) -> None:
    """Both readers return the same object, or refuse for the same reason."""
    plan = test_decode.NATIVE.of(cls).plan
    value = data.draw(test_decode.objects_of(plan) | test_decode.ODD)
    both = [test_decode.outcome(twins.of(cls), value) for twins in (test_decode.NATIVE, test_decode.GENERATED)]
    assert both[0] == both[1], value


TARGETS: Final[dict[str, Callable[..., Any]]] = {
    "columns": columns,
    "decode": decode,
    "recent": test_recent.test_every_sequence_of_operations_has_the_same_answers_as_in_python,
}


def main(name: str, seconds: str) -> None:
    """Runs a target for so many seconds; what libFuzzer finds is kept in `.fuzz`."""
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    target: Any = TARGETS[name]
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={corpus}-", "-max_len=4096", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], target.hypothesis.fuzz_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
