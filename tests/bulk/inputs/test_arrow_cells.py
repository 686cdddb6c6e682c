"""Cells of tables and Parquet: how large they may be, and memory that they point to and is not theirs."""

import io
import itertools
import json
import struct
import subprocess
import sys
import textwrap
import time
import tracemalloc
from asyncio import create_task, sleep
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pytest

from socialapi.bulk.audiences.cells import TOO_MANY_TEXTS
from socialapi.bulk.audiences.normalize import TOO_LONG
from socialapi.bulk.inputs.arrow_cells import check_cells
from socialapi.bulk.inputs.csv import LONG_CELL, LONG_ROW
from socialapi.bulk.inputs.reader import BYTES_PER_BLOCK
from socialapi.errors import InvalidInput
from tests.bulk.input_files import in_parquet, open_users, read, read_until_error, values
from tests.bulk.model_service import ModelService, job_of

LIMIT: Final = 131_072
GOOD: Final = "a@b.example"


def texts(long: str) -> list[str | None]:
    return [GOOD, long, None, "c@d.example"]


def encoded(kind: Any) -> Callable[[str], Any]:
    return lambda long: pa.array(texts(long)).cast(kind)


TEXT: Final = pa.string()


def listed(make: Callable[..., Any], kind: Any = TEXT) -> Callable[[str], Any]:
    return lambda long: pa.array([None if text is None else [text] for text in texts(long)], make(kind))


CELLS: Final[dict[str, Callable[[str], Any]]] = {
    "string": encoded(pa.string()),
    "large_string": encoded(pa.large_string()),
    "string_view": encoded(pa.string_view()),
    "binary": encoded(pa.binary()),
    "large_binary": encoded(pa.large_binary()),
    "binary_view": lambda long: pa.array([text and text.encode() for text in texts(long)], pa.binary_view()),
    "dictionary": lambda long: pa.array(texts(long)).dictionary_encode(),
    "list": listed(pa.list_),
    "large_list": listed(pa.large_list),
    "list_view": listed(pa.list_view),
    "list of dictionary": listed(pa.list_, pa.dictionary(pa.int32(), pa.string())),
    "list of views": listed(pa.list_, pa.string_view()),
    "run ends": lambda long: pa.RunEndEncodedArray.from_arrays(
        pa.array([1, 2, 3, 4], pa.int32()), pa.array(texts(long))
    ),
    "struct": lambda long: pa.array([{"email": text} for text in texts(long)]),
    "map": lambda long: pa.array([[("email", text)] for text in texts(long)], pa.map_(pa.string(), pa.string())),
}
NO_PARQUET: Final = ("list_view", "run ends")
PATHS: Final = ("struct", "map")


def repeated(text: str, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.repeat(0, times).cast(pa.int32()), [text])


def run_of(text: str) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array([2_000], pa.int32()), pa.array([text]))


async def rows_of(name: str, long: str, as_file: Callable[[pa.Table], Any]) -> list[Any]:
    table = pa.table({"user": CELLS[name](long)})
    return await read(as_file(table), columns={"email": "user.email" if name in PATHS else "user"})


@pytest.mark.parametrize("as_file", [lambda table: table, in_parquet], ids=["table", "parquet"])
@pytest.mark.parametrize("name", CELLS)
async def test_a_row_with_a_cell_that_is_too_long_is_rejected_as_in_a_table_of_text(name: str, as_file: Any) -> None:
    if as_file is in_parquet and name in NO_PARQUET:
        pytest.skip("pyarrow writes none into Parquet")
    rows = await rows_of(name, "x" * (LIMIT + 1), as_file)
    assert values(rows) == [[GOOD], [], [], ["c@d.example"]]
    assert [row.problem for row in rows] == [None, ("", LONG_CELL), None, None]
    fitting = "x" * (LIMIT - (16 if name in PATHS else 0))  # with the name in a map
    assert values(await rows_of(name, fitting, as_file)) == [[GOOD], [fitting], [], ["c@d.example"]]


@pytest.mark.parametrize("name", ["string", "large_string", "string_view", "dictionary", "list"])
async def test_texts_are_measured_in_characters(name: str) -> None:
    fitting = "\N{GREEK SMALL LETTER ALPHA}" * LIMIT
    assert values(await rows_of(name, fitting, lambda table: table))[1] == [fitting]
    assert (await rows_of(name, fitting + "a", lambda table: table))[1].problem == ("", LONG_CELL)


@pytest.mark.parametrize(
    "array",
    [
        repeated("x" * 130_000, 2_000),
        repeated("x" * 50_000_000, 2_000),
        pa.array([[GOOD]] * 3 + [["x" * 50_000_000]]),
        run_of("x" * 130_000),
        run_of("x" * 50_000_000),
        pa.ListArray.from_arrays(
            pa.array(range(0, 2_000_001, 1_000), pa.int32()), repeated("x" * 50_000_000, 2_000_000)
        ),
    ],
)
async def test_what_a_few_bytes_stand_for_is_never_in_memory_together(array: Any) -> None:
    tracemalloc.start()
    try:
        async with open_users(pa.table({"email": array})) as reader:
            async for block in reader:
                taken = sum(len(cell) for cell in block.columns[0] if isinstance(cell, str))
                assert taken <= BYTES_PER_BLOCK + LIMIT
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


async def test_a_row_of_many_cells_that_are_nearly_too_long_is_rejected_as_a_whole() -> None:
    columns = {f"email_{at}": [GOOD, "x" * 130_000, GOOD] for at in range(20)}
    rows = await read(pa.table(columns), columns={"email": list(columns)})
    assert [row.problem for row in rows] == [None, ("", LONG_ROW), None]


async def test_a_long_identifier_is_unusable_before_it_is_searched() -> None:
    table = pa.table({"email": [f"{'a@' * 60_000}b.example"], "phone": ["1" * 131_000], "handle": ["é" * 131_000]})
    report = await job_of(ModelService(), table).run()
    assert [each.reason for each in report.rejects] == ["; ".join([TOO_LONG] * 3)]


@pytest.mark.parametrize("how", [list, pa.Table.from_pylist, lambda rows: io.BytesIO(json.dumps(rows[0]).encode())])
async def test_a_list_of_thousands_is_unusable_and_the_rest_of_its_row_is_not(how: Any) -> None:
    row = {"email": ["a@b.example"] * 101, "handle": [f"h{n}" for n in range(100)], "country": ["DE"] * 10_000}
    report = await job_of(ModelService(), how([row])).run()
    assert (report.accepted, report.warning_details[-1].reason) == (1, TOO_MANY_TEXTS)


async def test_a_row_of_hundreds_of_identifiers_and_a_table_of_hundreds_of_columns_are_rejected() -> None:
    rows = [{f"email{at}": [f"a{at}.{n}@b.example" for n in range(most)] for at in range(3)} for most in (83, 84)]
    report = await job_of(ModelService(), rows).run()
    assert report.accepted == 1
    assert [(each.row, each.reason) for each in report.rejects] == [(2, "has more than 250 identifiers")]
    with pytest.raises(InvalidInput, match="more than 100 columns are read as identifiers"):
        await job_of(ModelService(), pa.table({f"email{at}": ["a@b.example"] for at in range(101)})).run()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        ["1"] * 10_000,
        "x" * 131_000,
        "1" * 131_000,
        "a@" * 65_000,
        "é" * 131_000,
        " " * 131_000 + "@",
        "a@b.example:::" * 9_000,
    ],
)
@pytest.mark.parametrize("column", ["email", "phone", "handle", "partner_user_id", "customer_name"])
async def test_long_cells_do_not_hold_up_the_event_loop(column: str, text: str) -> None:
    """Counts the time of the processor that this thread used between two turns of another task.

    Proves that no step but one takes 20 ms with 40 such cells, where one regular expression that is not
    linear takes seconds. Does not prove the 2 ms that a step takes on an idle machine: the largest
    turn is that of the garbage collector or of a first import, and the bound leaves room for a busy machine.
    """
    turns = list[float]()

    async def tick() -> None:
        while True:
            turns.append(time.thread_time())
            await sleep(0)

    await job_of(ModelService(), pa.table({column: [GOOD], "device_id": ["0" * 31 + "1"]})).run()  # imports
    ticking = create_task(tick())
    await job_of(ModelService(), pa.table({column: [text] * 40, "device_id": ["0" * 31 + "1"] * 40})).run()
    ticking.cancel()
    longest = sorted(after - before for before, after in itertools.pairwise(turns))
    assert longest[-2] < 0.02, longest[-5:]


# Damaged ---------------------------------------------------------------------------------------------

CHILD: Final = """
    import asyncio, sys
    import pyarrow as pa
    from socialapi.bulk.linting.linter import lint_records
    from socialapi.errors import InvalidInput

    async def main():
        content = sys.stdin.buffer.read()
        opened = pa.ipc.open_stream(content) if sys.argv[1] == "stream" else pa.ipc.open_file(content).read_all()
        report = await lint_records(opened, columns={"email": sys.argv[2]})
        print(report.rows, report.broken_off)

    asyncio.run(main())
"""
THREE: Final = ["a@b.example", "c@d.example", "person.number.three@e.example"]


def numbers(*found: int, kind: str = "i") -> bytes:
    return struct.pack(f"<{len(found)}{kind}", *found)


DAMAGED: Final[dict[str, tuple[Any, bytes, bytes]]] = {
    "offsets beyond the end": (pa.array(THREE), numbers(0, 11, 22, 51), numbers(0, 2**30, 22, 51)),
    "negative offsets": (pa.array(THREE), numbers(0, 11, 22, 51), numbers(0, -(2**30), 22, 51)),
    "offsets that go back": (pa.array(THREE), numbers(0, 11, 22, 51), numbers(0, 22, 11, 2**31 - 1)),
    "large offsets": (
        pa.array(THREE, pa.large_string()),
        numbers(0, 11, 22, 51, kind="q"),
        numbers(0, 2**50, 22, 51, kind="q"),
    ),
    "bytes": (pa.array([text.encode() for text in THREE]), numbers(0, 11, 22, 51), numbers(0, 2**30, 22, 51)),
    "lists": (pa.array([[t] for t in THREE]), numbers(0, 1, 2, 3), numbers(0, 2**30, 2, 3)),
    "texts in lists": (pa.array([[t] for t in THREE]), numbers(0, 11, 22, 51), numbers(0, 11, 2**30, 51)),
    "a struct": (pa.array([{"email": t} for t in THREE]), numbers(0, 11, 22, 51), numbers(0, 2**30, 22, 51)),
    "a view": (
        pa.array([*THREE, THREE[2] + "x"], pa.string_view()),
        numbers(29) + b"pers" + numbers(0, 0),
        numbers(2**30) + b"pers" + numbers(0, 2**20),
    ),
    "a buffer of views": (
        pa.array([*THREE, THREE[2] + "x"], pa.string_view()),
        numbers(29) + b"pers" + numbers(0, 0),
        numbers(29) + b"pers" + numbers(77, 0),
    ),
    "indexes": (
        pa.DictionaryArray.from_arrays(pa.array([2, 1, 0], pa.int32()), THREE),
        numbers(2, 1, 0),
        numbers(2**30, 1, 0),
    ),
    "words of a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([2, 1, 0], pa.int32()), THREE),
        numbers(0, 11, 22, 51),
        numbers(0, 2**30, 22, 51),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["stream", "file"])
@pytest.mark.parametrize("name", DAMAGED)
def test_a_table_that_points_out_of_its_memory_is_refused_and_ends_no_process(name: str, form: str) -> None:
    array, right, wrong = DAMAGED[name]
    table, sink = pa.table({"user": array}), io.BytesIO()
    with (pa.ipc.new_stream if form == "stream" else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue()
    assert content.count(right) == 1
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), form, "user.email" if name == "a struct" else "user"],
        input=content.replace(right, wrong),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.returncode  # it was not ended by a signal
    said = (done.stdout + done.stderr).decode()
    assert "the table cannot be read any further: it is damaged" in said or "Arrow" in said.splitlines()[-1], said


async def test_texts_that_are_not_utf8_are_no_damage() -> None:
    bad = pa.StringArray.from_buffers(
        2, pa.array([0, 11, 14], pa.int32()).buffers()[1], pa.py_buffer(b"a@b.example\xff@b")
    )
    check_cells(bad)
    for array in (bad, pa.ListArray.from_arrays([0, 1, 2], bad), bad.dictionary_encode()):
        rows = await read(pa.table({"email": array}))
        assert [values(rows)[0], len(rows)] == [[GOOD], 2]
    off = pa.StringArray.from_buffers(2, pa.array([0, 99, 3], pa.int32()).buffers()[1], pa.py_buffer(b"\xff@b"))
    rows, error = await read_until_error(pa.table({"email": pa.chunked_array([bad, off])}), InvalidInput)
    assert (len(rows), "it is damaged" in str(error)) == (2, True)
