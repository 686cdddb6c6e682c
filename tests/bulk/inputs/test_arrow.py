"""Tables of other libraries, and Parquet files, as rows: texts as texts, and nothing made up."""

import asyncio
import builtins
import datetime
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.inputs.arrow import MAX_WORDS
from socialapi.bulk.inputs.numbers import NESTED, NOT_TEXT
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.errors import InvalidInput
from socialapi.models.validation import NO_TIME, NO_TIME_ZONE
from tests.bulk.input_files import in_parquet, open_users, read, read_until_error, values, why_empty, write
from tests.bulk.inputs.test_files_archives import without
from tests.bulk.model_service import ModelService, job_of

PEOPLE = {"email": ["a@b.example", None, "c@d.example"], "id": [1, 2, 3], "Phone": [None, "+14155550101", ""]}
READ = [["a@b.example"], ["+14155550101"], ["c@d.example"]]


def relation() -> Any:
    return duckdb.connect().from_arrow(pyarrow.table(PEOPLE))


TABLES: dict[str, Any] = {
    "pandas": lambda: pandas.DataFrame(PEOPLE),
    "pandas with an index": lambda: pandas.DataFrame(PEOPLE, index=["x", "y", "z"]),
    "polars": lambda: polars.DataFrame(PEOPLE),
    "pyarrow": lambda: pyarrow.table(PEOPLE),
    "a stream of pyarrow": lambda: pyarrow.table(PEOPLE).to_reader(),
    "duckdb": relation,
    "parquet": lambda: in_parquet(pyarrow.table(PEOPLE)),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
async def test_every_table_is_read_alike_and_its_texts_side_by_side(make: Any) -> None:
    async with open_users(make()) as reader:
        block = await reader.read_block()
        assert block is not None
        assert block.layout.identifiers == ((0, "email", "email"), (1, "Phone", "phone_number"))
        assert block.columns == [["a@b.example", None, "c@d.example"], [None, "+14155550101", ""]]
        assert values(block) == READ
        assert not await reader.read_block()
        assert reader.fraction_read == 1.0


async def test_rows_are_numbered_through_and_come_in_chunks() -> None:
    emails = [f"person.{number}@b.example" for number in range(3 * ROWS_PER_BLOCK)]
    table = pyarrow.table({"email": emails})
    batches = pyarrow.Table.from_batches(table.to_batches(max_chunksize=ROWS_PER_BLOCK + 100))
    async with open_users(batches) as reader:
        chunks = [(len(chunk), reader.fraction_read) async for chunk in reader]
    assert [size for size, _ in chunks] == [1_250, 100, 1_250, 100, 1_050]
    assert next(fraction for _, fraction in chunks) == pytest.approx(1 / 3)
    rows = await read(batches)
    assert [row.number for row in rows] == list(range(1, len(emails) + 1))
    assert values(rows) == [[email] for email in emails]


@pytest.mark.parametrize(
    "kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.null()], ids=str
)
async def test_texts_of_every_type(kind: pyarrow.DataType) -> None:
    given = [None, None] if kind == pyarrow.null() else ["a@b.example", None]
    table = pyarrow.table({"email": pyarrow.array(given, kind), "handle": ["h", "h"]})
    assert values(await read(table)) == [[each, "h"] if each else ["h"] for each in given]


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        (pyarrow.array([4_155_550_101, None, 0], pyarrow.int64()), [["4155550101"], [], ["0"]]),
        (pyarrow.array([2**64 - 1], pyarrow.uint64()), [["18446744073709551615"]]),
        (pyarrow.array([10**30], pyarrow.decimal128(38, 0)), [["1" + "0" * 30]]),
        (pyarrow.array(["+1", None, "+2", "+1"]).dictionary_encode(), [["+1"], [], ["+2"], ["+1"]]),
        (pyarrow.array([5, 5, None]).dictionary_encode(), [["5"], ["5"], []]),
        (pyarrow.array([["+1", "+2"], None, [], [None, "+3"]]), [["+1", "+2"], [], [], ["+3"]]),
        (pyarrow.array([[1, 2]], pyarrow.large_list(pyarrow.int32())), [["1", "2"]]),
        (pyarrow.array([["+1", "+2"]], pyarrow.list_(pyarrow.string(), 2)), [["+1", "+2"]]),
    ],
    ids=lambda each: str(getattr(each, "type", "")),
)
async def test_numbers_dictionaries_and_lists(array: pyarrow.Array, texts: list[list[str]]) -> None:
    assert values(await read(pyarrow.table({"phone": array}))) == texts


async def test_categories_of_polars_and_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["a@b.example", None, "c@d.example", "a@b.example"]
    expected = [["a@b.example"], [], ["c@d.example"], ["a@b.example"]]
    assert values(await read(polars.DataFrame({"email": polars.Series(given, dtype=polars.Categorical)}))) == expected
    assert values(await read(pandas.DataFrame({"email": pandas.Categorical(given)}))) == expected


async def test_a_dictionary_too_large_to_be_kept_is_read_entry_by_entry() -> None:
    words = pyarrow.array([f"w{number}" for number in range(MAX_WORDS + 1)])
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([MAX_WORDS, None, 0]), words)
    assert values(await read(pyarrow.table({"handle": column}))) == [[f"w{MAX_WORDS}"], [], ["w0"]]


async def test_the_dictionaries_of_several_batches_are_told_apart() -> None:
    columns = [pyarrow.array([f"a{number}", f"b{number}"]).dictionary_encode() for number in range(20)]
    stream = (pyarrow.record_batch({"handle": column}) for column in columns)
    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"handle": columns[0].type}), stream)
    assert values(await read(reader)) == [[f"{letter}{number}"] for number in range(20) for letter in "ab"]


@pytest.mark.parametrize(
    "array",
    [
        pyarrow.array([4.5, None]),
        pyarrow.array([True, None]),
        pyarrow.array([b"\xff\xfe", None]),
        pyarrow.array([datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC), None]),
        pyarrow.array([[4.5], None]),
        pyarrow.array(["1.5", None]).cast(pyarrow.decimal128(3, 1)),
    ],
    ids=lambda each: str(each.type),
)
async def test_what_is_no_text_is_unusable_and_never_converted(array: pyarrow.Array) -> None:
    first, second = await read(pyarrow.table({"email": ["a@b.example", "c@d.example"], "phone": array}))
    assert (values([first]), first.unusable) == ([["a@b.example"]], (("phone", NOT_TEXT),))
    assert (values([second]), second.unusable) == ([["c@d.example"]], ())


async def test_a_phone_column_that_pandas_made_floats_of_is_one_of_digits() -> None:
    frame = pandas.DataFrame({"email": ["a@b.example", "c@d.example", None], "phone": [14_155_550_101, None, 1.5]})
    report = await job_of(ModelService(), frame, default_region="US").run()
    assert (report.accepted, report.rejected, report.warnings) == (2, 1, 0)
    assert [(issue.row, issue.reason) for issue in report.rejects] == [(3, NOT_TEXT)]


async def test_times_and_operation_types_override_the_options_row_by_row() -> None:
    berlin = pandas.to_datetime(
        ["2030-01-31 09:00", None, "2031-01-01 00:00:00.123456789"], format="ISO8601"
    ).tz_localize("Europe/Berlin")
    frame = pandas.DataFrame(
        {
            "email": ["a@b.example"] * 3,
            "operation_type": ["Delete", None, " "],
            "effective_at": ["2029-01-01T00:00:00Z", None, ""],
            "expires_at": berlin,
        }
    )
    rows = await read(frame)
    assert [row.operation_type for row in rows] == ["Delete", None, None]
    assert [row.effective_at for row in rows] == ["2029-01-01T00:00:00Z", None, None]
    utc = datetime.UTC
    assert [row.expires_at for row in rows] == [
        datetime.datetime(2030, 1, 31, 8, tzinfo=utc),
        None,
        datetime.datetime(2030, 12, 31, 23, 0, 0, 123_456, tzinfo=utc),
    ]


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (pyarrow.array([4_102_444_800], pyarrow.timestamp("s")), NO_TIME_ZONE),
        (pyarrow.array([datetime.date(2099, 1, 1)]), NO_TIME_ZONE),
        (pyarrow.array([4_102_444_800]), NO_TIME),
        (pyarrow.array([1.5]), NO_TIME),
        (pyarrow.array([1.0]), NO_TIME),
        (pyarrow.array([2**62], pyarrow.timestamp("s", "UTC")), NO_TIME),
    ],
    ids=lambda each: str(getattr(each, "type", "")),
)
async def test_a_time_without_a_zone_is_refused_as_in_a_file_and_so_is_what_is_none(
    array: pyarrow.Array, reason: str
) -> None:
    table = pyarrow.table({"email": ["a@b.example"], "expires_at": array})
    report = await job_of(ModelService(), table).run()
    advice = ' (to ignore the column: columns={"expires_at": ""})'
    assert [(issue.field, issue.reason) for issue in report.rejects] == [("expires_at", reason + advice)]


@pytest.mark.parametrize("ids", [[1, 2], [1, "A-2"]])
async def test_a_named_index_of_a_dataframe_is_a_column_whatever_the_other_columns_hold(ids: list[Any]) -> None:
    table = pandas.DataFrame({"email": ["a@b.example", "c@d.example"], "n": ids})
    for indexed in (table.set_index("email"), table.set_index("email", drop=False), table.set_index(["n", "email"])):
        assert values(await read(indexed)) == [["a@b.example"], ["c@d.example"]]


@pytest.mark.parametrize("ids", [[1, 2], [1, "A-2"]])
async def test_no_column_of_a_dataframe_is_lost_because_another_is_written_alike(ids: list[Any]) -> None:
    table = pandas.DataFrame({"email": ["a@b.example", "c@d.example"], "n": ids, 1: ["x", "y"], "1": ["ada", "bob"]})
    with pytest.raises(InvalidInput, match='2 columns called "1": give each column a different name'):
        await read(table, columns={"handle": "1"})


async def test_bytes_that_are_not_utf8_make_their_cell_unusable_and_no_other() -> None:
    texts = pyarrow.array([b"a@b.example", b"caf\xe9@b.example", None], pyarrow.binary()).view(pyarrow.string())
    assert values(await read(pyarrow.table({"email": texts}))) == [["a@b.example"], ["caf\udce9@b.example"], []]


@pytest.mark.parametrize(
    "column",
    [
        pandas.Series(["secret@example.com"], name="email"),
        polars.Series("email", ["secret@example.com"]),
        pyarrow.chunked_array([["secret@example.com"]]),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
async def test_one_column_is_no_table_and_is_told_how_it_becomes_one(column: Any) -> None:
    with pytest.raises(InvalidInput, match=r"read: a \w+ is a single column: make a table") as error:
        await read(column)
    assert "secret" not in repr(error.value)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["email", "email"], r"it has 2 columns called \"email\": give each column a different name"),
        (["x", "x"], r"it has 2 columns called \"x\": "),
        ([7, 7], r"it has 2 columns called \"7\": "),
        (["secret@example.com"] * 2, "it has 2 columns called <hidden>: "),
    ],
)
async def test_columns_of_the_same_name_that_a_library_does_not_hand_out_are_named(names: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as error:
        await read(pandas.DataFrame([["a@b.example", "c@d.example"]], columns=names))
    assert "secret" not in repr(error.value)


async def test_a_table_without_rows_has_none_and_so_has_one_without_columns() -> None:
    empty = pyarrow.table({"email": pyarrow.array([], pyarrow.string())})
    assert await why_empty(empty) is None
    assert await why_empty(in_parquet(empty)) == "the BytesIO: the file has no rows, only column names"
    for nothing in (pyarrow.table({}), pandas.DataFrame(), polars.DataFrame()):
        assert await why_empty(nothing) == "the table has neither columns nor rows"
    assert await why_empty(in_parquet(pyarrow.table({}))) == "the BytesIO: the table has neither columns nor rows"


async def test_columns_with_numbers_and_text_are_read_as_the_rows_of_a_program() -> None:
    frame = pandas.DataFrame(
        {
            "phone": [491701234567, "+49 170 1234568", None, 491701234569.0],
            "service_id": [7.0, 8.0, float("nan"), 9.0],
            7: ["x", 1, 2, 3],
        }
    )
    found = values(await read(pandas.concat([frame] * ROWS_PER_BLOCK)))
    expected = [["7", "491701234567"], ["8", "+49 170 1234568"], [], ["9", "491701234569"]]
    assert found == expected * ROWS_PER_BLOCK
    nested = pandas.DataFrame({"contact": [{"email": "a@b.example"}, "x"]})
    assert values(await read(nested, columns={"email": "contact.email"})) == [["a@b.example"], []]
    with pytest.raises(InvalidInput, match=r'give its path, as in columns=\{"email": "contact\.email"\}'):
        await read(nested)
    with pytest.raises(InvalidInput, match="no column of identifiers was found") as error:
        await read(pandas.DataFrame({"secret@example.com": ["x", 1]}))
    assert "secret" not in repr(error.value)


class NoTable:
    columns = None

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise ValueError("a@b.example is no number")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (polars.Series(["a@b.example"]), "a Series is a single column: make a table with a name for the column"),
        (NoTable(), r"it is damaged, or pyarrow does not support it \(ValueError\)"),
    ],
)
async def test_what_is_no_table_is_refused_in_our_own_words(table: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"the table cannot be read: {says}") as error:
        await read(table)
    assert "a@b" not in str(error.value)


async def test_a_stream_that_breaks_gives_the_rows_before_and_not_the_words_of_its_library() -> None:
    def batches() -> Iterator[pyarrow.RecordBatch]:
        yield pyarrow.record_batch({"email": ["a@b.example"]})
        raise ValueError("could not convert secret@example.com")

    stream = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"email": pyarrow.string()}), batches())
    rows, error = await read_until_error(stream, InvalidInput)
    assert values(rows) == [["a@b.example"]]
    assert "the table cannot be read any further" in str(error)
    assert "secret" not in str(error)


async def test_a_relation_of_duckdb_is_computed_while_it_is_read() -> None:
    rows = 3_000_000
    relation = duckdb.connect().sql(f"select 'u' || i as handle, i::hugeint as service_id from range({rows}) t(i)")
    async with open_users(relation) as reader:
        first = await reader.read_block()
        assert values(first)[0] == ["u0", "0"]
        assert reader.fraction_read is None


async def test_without_the_library_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    file = in_parquet(pyarrow.table(PEOPLE))
    monkeypatch.setattr(builtins, "__import__", without("pyarrow"))
    for records, what in ((file, "Parquet"), (polars.DataFrame(PEOPLE), "a table")):
        with pytest.raises(InvalidInput, match=rf"reading {what} needs pyarrow: pip install 'aiosocialapi\[arrow"):
            await read(records)


# Parquet -----------------------------------------------------------------------------------------------------------


async def test_a_parquet_file_is_read_in_order_over_row_groups_and_measured(tmp_path: Path) -> None:
    rows = 3 * 10_000 + 7
    table = pyarrow.table({"note": ["x" * 20] * rows, "handle": [f"u{number}" for number in range(rows)]})
    parquet.write_table(table, tmp_path / "crm.parquet", row_group_size=ROWS_PER_BLOCK + 1)
    async with open_users(tmp_path / "crm.parquet") as reader:
        chunks = [(chunk, reader.fraction_read or 0.0) async for chunk in reader]
    assert [text for chunk, _ in chunks for (text,) in values(chunk)] == table["handle"].to_pylist()
    assert all(len(chunk) <= ROWS_PER_BLOCK for chunk, _ in chunks)
    fractions = [fraction for _, fraction in chunks]
    assert fractions == sorted(fractions)


async def test_columns_of_dictionaries_lists_and_dotted_names_in_parquet(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "contact.e-mail": pyarrow.array(["a@b.example", "a@b.example"]).dictionary_encode(),
            "phones": [["+1", "+2"], None],
            "contact": ["x", "y"],
        }
    )
    parquet.write_table(table, tmp_path / "crm.parquet")
    rows = await read(tmp_path / "crm.parquet", columns={"email": "contact.e-mail"})
    assert values(rows) == [["a@b.example", "+1", "+2"], ["a@b.example"]]


@pytest.mark.parametrize("make", [lambda table: table, in_parquet], ids=["a table", "Parquet"])
async def test_a_path_leads_into_structs_lists_and_maps_of_tables(make: Any) -> None:
    table = pyarrow.table(
        {
            "contact": [{"email": "a@b.example", "id": 1}, None],
            "phones": [[{"value": "+14155550101"}, {"value": "+14155550102"}], []],
            "tags": pyarrow.array([[("handle", "h")], None], pyarrow.map_(pyarrow.string(), pyarrow.string())),
        }
    )
    columns = {"email": "contact.email", "phone_number": "phones.value", "handle": "tags.handle"}
    rows = await read(make(table), columns=columns)
    assert values(rows) == [["a@b.example", "h", "+14155550101", "+14155550102"], []]
    with pytest.raises(InvalidInput, match=r'columns=\{"email": "contact\.email"\}'):
        await read(make(table.select(["contact", "tags"])))
    with pytest.raises(InvalidInput, match=r'there is no column "handle\.value"'):
        await read(make(table), columns={"email": "contact.email", "handle": "handle.value"})
    row, _ = await read(make(table), columns={"email": "contact", "phone_number": ""})
    assert row.unusable == (("contact", NESTED),)


async def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    whole = in_parquet(pyarrow.table(PEOPLE)).getvalue()
    path = tmp_path / "crm.parquet"
    write(path, whole[:-20])
    with pytest.raises(InvalidInput, match=r"crm\.parquet: the Parquet file cannot be read: it is damaged"):
        await read(path)
    write(path, "email\na@b.example\n")
    with pytest.raises(
        InvalidInput, match=r"crm\.parquet: this is not a Parquet file, although its name ends in .parquet"
    ):
        await read(path)
    write(path, "")
    assert await why_empty(path) == f"{path}: the file is empty"


async def test_a_parquet_file_whose_middle_is_damaged_gives_the_rows_before(tmp_path: Path) -> None:
    rows = 4 * 10_000
    table = pyarrow.table({"handle": [f"user{number}" for number in range(rows)]})
    damaged = bytearray(in_parquet(table, row_group_size=rows // 4, compression="zstd").getvalue())
    half = len(damaged) // 2
    damaged[half : half + 2_000] = bytes(2_000)
    path = tmp_path / "crm.parquet"
    write(path, bytes(damaged))
    found, error = await read_until_error(path, InvalidInput)
    assert [text for (text,) in values(found)] == table["handle"].to_pylist()[: len(found)]
    assert rows // 4 <= len(found) < rows
    assert str(error).startswith(f"{path}: the table cannot be read any further: ")


async def test_parquet_does_not_come_through_a_pipe_or_out_of_an_archive(tmp_path: Path) -> None:
    whole = in_parquet(pyarrow.table(PEOPLE)).getvalue()
    write(tmp_path / "crm.parquet.gz", gzip.compress(whole))
    os.mkfifo(tmp_path / "pipe")
    writing = asyncio.create_task(asyncio.to_thread((tmp_path / "pipe").write_bytes, whole))
    for name in ("crm.parquet.gz", "pipe"):
        with pytest.raises(InvalidInput, match="only be read from a file, not from an archive or a pipe"):
            await read(tmp_path / name)
    await writing


async def test_of_a_long_text_that_many_rows_share_a_few_are_decoded_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "crm.parquet"
    words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 300, pyarrow.int8()), ["x" * 130_000])
    parquet.write_table(pyarrow.table({"email": words}), path, store_schema=False)  # so that it is a column of texts
    assert parquet.read_schema(path).field("email").type == pyarrow.string()
    assert path.stat().st_size < 100_000
    async with open_users(path) as reader:
        sizes = [len(block) async for block in reader]
    assert (sum(sizes), max(sizes)) == (300, 8)  # of a megabyte


async def test_a_list_of_a_million_values_is_no_identifier_and_its_neighbours_are(tmp_path: Path) -> None:
    path = tmp_path / "crm.parquet"
    lists: list[Any] = [["a@b.example"], [None] * 1_000_000, ["c@d.example", "e@f.example"]]
    parquet.write_table(pyarrow.table({"email": pyarrow.array(lists, pyarrow.list_(pyarrow.string()))}), path)
    rows = await read(path)
    assert values(rows) == [["a@b.example"], [], ["c@d.example", "e@f.example"]]
    assert [row.unusable for row in rows] == [(), (("email", NOT_TEXT),), ()]


async def test_a_number_of_a_word_that_there_is_not_ends_the_table_after_the_rows_before_it() -> None:
    words = pyarrow.array(["a@b.example", "c@d.example"])
    batches = [
        pyarrow.record_batch({"email": pyarrow.DictionaryArray.from_arrays(pyarrow.array(numbers), words, safe=False)})
        for numbers in ([0, 1, None], [0, -1])
    ]
    rows, error = await read_until_error(pyarrow.Table.from_batches(batches), InvalidInput)
    assert values(rows) == [["a@b.example"], ["c@d.example"], []]
    assert str(error).endswith("it is damaged, or pyarrow does not support it (ArrowIndexError)")
