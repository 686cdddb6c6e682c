"""Files of every format with every fault that files have: each ends in rows or in one sentence, in bounded memory."""

import csv
import gzip
import io
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.audiences.cells import user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.files import opened, read_file
from socialapi.bulk.inputs.reader import Selection
from socialapi.bulk.inputs.remote import Stores
from socialapi.bulk.linting.linter import lint_records
from socialapi.bulk.linting.product_linter import lint_products
from socialapi.bulk.products.cells import product_rows
from socialapi.bulk.products.feed import ProductColumns
from socialapi.errors import BulkError, InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS, AudienceUser
from socialapi.reports import LintReport, UploadReport
from tests.bulk import catalog_feeds
from tests.bulk.input_files import Repeated
from tests.bulk.model_service import ModelService, synced
from tests.bulk.model_service import job_of as upload_of
from tests.bulk.products.model_catalog import ModelCatalog, product
from tests.bulk.products.model_catalog import job_of as load_of
from tests.support.full_size import FULL_SIZE

pytestmark = pytest.mark.slow

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter
    from compression.zstd import compress as compress_zstd
else:
    from backports.zstd import CompressionParameter
    from backports.zstd import compress as compress_zstd

# Files and jobs ----------------------------------------------------------------------------------------------------

SECRET: Final = "ada.secret"
"""Is in the values of every file, and in no message."""


class Named(io.BytesIO):
    """A file in memory that has a name."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


def people(count: int) -> list[dict[str, str]]:
    return [{"email": f"{SECRET}.{n}@b.example", "phone": f"+1415555{n:04}", "city": "Zürich"} for n in range(count)]


def table(rows: Sequence[Mapping[str, Any]], delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def in_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
    return file.getvalue()


def in_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def user_files(count: int) -> dict[str, bytes]:
    rows = people(count)
    return {
        "users.csv": table(rows, ";"),
        "users.tsv": table(rows, "\t"),
        "users.jsonl": b"".join(in_json(row) + b"\n" for row in rows),
        "users.json": in_json(rows),
        "users_wrapped.json": in_json({"users": rows}),
        "users.parquet": in_parquet(rows),
    }


def product_files(count: int) -> dict[str, bytes]:
    products = [{**each, "title": f"{SECRET}@b.example é"} for each in catalog_feeds.generated(count)]
    return {name: write(products) for name, write in catalog_feeds.FORMATS.items()}


USERS: Final = user_files(3)
PRODUCTS: Final = product_files(2)
TEXTS: Final = {name: content for name, content in {**USERS, **PRODUCTS}.items() if not name.endswith(".parquet")}
BY_LINE: Final = ("csv", "tsv", "jsonl")

Job = Callable[[Any, Path], Any]


USER_JOBS: Final[Mapping[str, Job]] = {
    "upload": lambda source, _: upload_of(ModelService(), source).run(),
    "sync": lambda source, folder: synced(ModelService(), source, folder / "snapshot", max_removal_share=1.0),
    "lint": lambda source, _: lint_records(source),
}
PRODUCT_JOBS: Final[Mapping[str, Job]] = {
    "upsert": lambda source, _: load_of(ModelCatalog(), source).run(),
    "lint": lambda source, _: lint_products(source),
}


class Outcome(NamedTuple):
    """How many rows a job has read, and what it says if it has not read all."""

    rows: int
    says: str


_not_for_people: Final = re.compile(r"Traceback|\bobject at 0x|\bErrno\b|Exception\(|codec can|<class").search


def sentence(text: str) -> str:
    """What an error says, if it may be said."""
    assert text.isprintable(), ascii(text)
    assert len(text) < 1_500
    assert SECRET not in text
    assert not _not_for_people(text), text
    return text


async def outcome(job: Job, source: Any, folder: Path) -> Outcome:
    """Runs a job, which may raise nothing but two errors, and whose report has to add up."""
    try:
        report = await job(source, folder)
    except InvalidInput as error:
        return Outcome(0, sentence(str(error)))
    except BulkError as error:
        if not isinstance(error.__cause__, InvalidInput):
            raise
        check(error.report)
        return Outcome(error.report.read, sentence(str(error)))
    if isinstance(report, LintReport):
        return Outcome(report.rows, sentence(report.broken_off or ""))
    check(report)
    return Outcome(report.read, "")


def check(report: UploadReport) -> None:
    """Every row has one outcome, and those that were refused a reason."""
    assert report.adds_up
    assert len(report.rejects) == min(report.rejected, 1_000)
    for each in report.rejects:
        sentence(each.reason)


@attrs.frozen
class Reading:
    """The rows that a reader has handed out, and what it said in the end."""

    rows: list[Any]
    says: str


def reading(source: Any) -> Reading:
    """Reads a file of users or products, in this thread."""
    rows: list[Any] = []
    name = getattr(source, "name", "")
    is_users = name.startswith("users")
    selection: Selection[Any] = IdentifierColumns.of(None, IDENTIFIER_KINDS) if is_users else ProductColumns.of(None)
    try:
        with opened(source, "", Stores(None).open) as file:
            for block in read_file(file, selection):
                if isinstance(selection, ProductColumns):
                    rows += [(row.shape, row.problem) for row in product_rows(block)]
                else:
                    rows += [(row.identifiers, row.problem) for row in user_rows(block)]
    except InvalidInput as error:
        return Reading(rows, sentence(str(error)))
    return Reading(rows, "")


# Cut off -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*USERS, *PRODUCTS])
def test_of_a_file_that_was_cut_off_anywhere_the_whole_rows_before_are_read_and_the_fault_is_said(name: str) -> None:
    content = {**USERS, **PRODUCTS}[name]
    whole = reading(Named(name, content))
    assert (len(whole.rows), whole.says) == (3 if name in USERS else 2, "")
    for size in range(len(content)):
        found = reading(Named(name, content[:size]))
        if name.endswith(BY_LINE):  # the last line may be cut off without anybody knowing
            assert found.rows[:-1] == whole.rows[: max(0, len(found.rows) - 1)]
        else:
            assert found.rows == whole.rows[: len(found.rows)]
            assert found.says or content[size:].isspace()


@pytest.mark.parametrize("pack", [gzip.compress, compress_zstd])
@pytest.mark.parametrize("name", TEXTS)
def test_of_an_archive_that_was_cut_off_anywhere_the_whole_rows_before_are_read(
    name: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(TEXTS[name])
    whole = reading(Named(name, packed))
    assert whole == reading(Named(name, TEXTS[name]))
    for size in range(0, len(packed), 7):
        found = reading(Named(name, packed[:size]))
        assert found.says
        assert found.rows == whole.rows[: len(found.rows)]


# Damaged -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["users.parquet", "feed.parquet"])
def test_a_byte_of_a_parquet_file_that_is_another_one_ends_it_or_changes_a_value(name: str) -> None:
    content = {**USERS, **PRODUCTS}[name]
    for at in range(0, len(content), 5):
        changed = bytearray(content)
        changed[at] ^= 0x11
        reading(Named(name, bytes(changed)))


# Encodings ---------------------------------------------------------------------------------------------------------

ENCODINGS: Final = (
    "latin-1",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "shift_jis",
    "cp1252",
    "utf-8-sig",
    "utf-7",
)
UNREADABLE: Final = frozenset({"utf-16-le", "utf-16-be", "utf-32"})


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", TEXTS)
async def test_text_in_another_encoding_is_refused_as_a_whole_or_touches_the_cells_that_are_not_utf_8(
    name: str, encoding: str, tmp_path: Path
) -> None:
    content = TEXTS[name].decode("utf-8-sig").encode(encoding, "ignore")
    for run in (USER_JOBS if name in USERS else PRODUCT_JOBS).values():
        rows, says = await outcome(run, Named(name, content), tmp_path)
        assert rows or says
        if encoding in UNREADABLE and not name.endswith("xml"):
            assert f"this looks like {encoding.upper().replace('-', '', 2).replace('UTF', 'UTF-')}" in says
        if encoding == "utf-8-sig":
            assert not says


# Bombs -------------------------------------------------------------------------------------------------------------

MB: Final = 1_000_000
SIZE: Final = 1_000 * MB if FULL_SIZE else 100 * MB
STATUS: Final = Path("/proc/self/status")
PERSON: Final = b'{"email":"a@b.example"'
PRODUCT: Final = json.dumps(product("a")).encode()[:-1]
ITEM: Final = b"<item><id>a</id>"
HEADER: Final = ",".join(product("a")).encode()


def resident(which: str) -> int:
    (line,) = (line for line in STATUS.read_text("ascii").splitlines() if line.startswith(which))
    return int(line.split()[1]) * 1_024


async def added_memory(running: Any) -> tuple[Any, int]:
    """What comes of it, and how much it added to the memory of this process at its peak."""
    if not STATUS.exists():
        return await running, 0
    forget_peak()
    before = resident("VmRSS")
    return await running, resident("VmHWM") - before


def forget_peak() -> None:
    """The peak is from now on."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")


@attrs.frozen
class Bomb:
    """A file that is large, or seems to be, how a job ends with it, and how much memory that may take in megabytes."""

    job: str
    start: bytes
    part: bytes
    end: bytes
    says: str
    rows: int | None = 0
    megabytes: int = 60
    share: float = 1.0
    """Of the size that is tried."""
    name: str = ""


LONG_ITEM: Final = "an item is longer than 1,048,576 characters"
NO_OBJECT: Final = "none of the first lines is a JSON object"
BOMBS: Final[Mapping[str, Bomb]] = {
    "a cell": Bomb("upload", b"email\na@b.example\n", b"x", b"\na@b.example", "", 3),
    "a cell of quoted lines": Bomb("upload", b'email\na@b.example\n"', b"x\n", b"", "a cell has more than 131,072", 1),
    "a row of quoted lines": Bomb("upload", b"email\na@b.example\n", b'"\n",', b"", "the row has more than", 1, 150),
    "a line of commas": Bomb("upload", b"email\na@b.example", b",", b"\nb@c.example\n", "", 2, 100),
    "lines of a million commas": Bomb(
        "upload", b"email\n", b"a@b.example" + b"," * MB + b"\n", b"", "", None, 150, 0.05
    ),
    "lines of a megabyte": Bomb("upload", b"email\n", b"a@b.example," + b"x" * 99_999 + b"\n", b"", "", None),
    "blank lines": Bomb("lint", b"email\n", b"\n", b"a@b.example\n", "", 1_251),
    "blank lines of JSON": Bomb("upload", PERSON + b"}\n", b"\r\n", PERSON + b"}", "", 1_252),
    "a header": Bomb("upload", b"email,", b"column,", b"\na@b.example\n", "line 1: the line has more than 1,048,576"),
    "a name": Bomb("upload", b"email,", b"1", b"\na@b.example\n", "a cell has more than 131,072"),
    "NUL bytes": Bomb("upload", b"", b"\0", b"", "binary file"),
    "NUL bytes behind text": Bomb("upload", b"email\n" + b"a@b.example\n" * 9_000, b"\0", b"", "", 9_001),
    "a JSON line": Bomb("upload", PERSON + b"}\n" + PERSON + b',"a":"', b"x", b'"}\n' + PERSON + b"}", "", 3),
    "a JSON line alone": Bomb("upload", PERSON + b',"a":"', b"x", b'"}', NO_OBJECT),
    "JSON lines of a megabyte": Bomb("upload", b"", PERSON + b',"a":"' + b"x" * MB + b'"}\n', b"", "", None, 120, 2.0),
    "JSON lines of arrays": Bomb(
        "upsert", b"", PRODUCT + b',"a":[' + b"[]," * 300_000 + b"1]}\n", b"", "", None, 150, 0.05
    ),
    "a nested JSON line": Bomb("upsert", PRODUCT + b"}\n" + PRODUCT + b',"a":', b"[", b"", "", 2),
    "an item of an array": Bomb("upload", b"[" + PERSON + b'},{"email":"', b"x", b'"}]', LONG_ITEM, 1),
    "a number": Bomb("upload", b"[" + PERSON + b"},", b"1", b"]", LONG_ITEM, 1),
    "a fraction": Bomb("upload", b"[" + PERSON + b"},1.", b"1", b"]", LONG_ITEM, 1),
    "nested arrays": Bomb("upsert", b"[" + PRODUCT + b"},", b"[", b"", "is nested too deeply", 1),
    "nested objects": Bomb("upsert", b"[" + PRODUCT + b"},", b'{"a":', b"", "is nested too deeply", 1),
    "blanks in an array": Bomb("upload", b"[" + PERSON + b"},", b" \n", PERSON + b"}]", "", 2),
    "blanks before an array": Bomb(
        "upload", b"", b" ", b"[" + PERSON + b"}]", "the line has more than 1,048,576 characters"
    ),
    "a member before the array": Bomb("upsert", b'{"a":"', b"x", b'","products":[' + PRODUCT + b"}]}", NO_OBJECT),
    "a product": Bomb(
        "upsert", b"<rss><channel>" + ITEM + b"</item>" + ITEM + b"<title>", b"x", b"", "a product is longer", 1
    ),
    "CDATA": Bomb("upsert", b"<rss><channel>" + ITEM + b"<title><![CDATA[", b"x", b"", "a product is longer"),
    "a comment": Bomb("upsert", b"<rss><channel><!--", b"x", b"", "a tag or a comment is longer"),
    "an attribute": Bomb("upsert", b'<rss><channel><item a="', b"x", b"", "a tag or a comment is longer"),
    "a tag": Bomb("upsert", b"<rss><channel><", b"x", b"", "longer than"),
    "attributes": Bomb("upsert", b"<rss><channel><item", b' a="1"', b"", "longer than"),
    "nested elements": Bomb("upsert", b"<rss><channel>", b"<a>", b"", "nested more than 100 deep"),
    "nested elements of a product": Bomb("upsert", b"<rss><channel><item>", b"<a>", b"", "nested more than 100 deep"),
    "blanks in a feed": Bomb("upsert", b"<rss><channel>" + ITEM + b"</item>", b" ", b"</channel></rss>", "", 1),
    "blanks before a feed": Bomb(
        "upsert", b"", b" \n", b"<rss><channel>" + ITEM + b"</item></channel></rss>", "", 1, name="feed.xml"
    ),
    "empty products": Bomb("lint products", b"<rss><channel>", b"<item/>", b"</channel></rss>", "", None, share=0.005),
    "a document type": Bomb("upsert", b"<!DOCTYPE ", b"x", b"", "longer than"),
}
JOBS: Final[Mapping[str, Job]] = {**PRODUCT_JOBS, **USER_JOBS, "lint products": PRODUCT_JOBS["lint"]}


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", BOMBS)
async def test_of_a_file_that_never_seems_to_end_the_memory_and_the_time_are_bounded(
    name: str, is_packed: bool, tmp_path: Path
) -> None:
    bomb = BOMBS[name]
    size = int(SIZE * bomb.share)
    source: Any = Repeated(bomb.start, bomb.part, size, bomb.end)
    if is_packed:
        unpacked = len(bomb.part) * max(1, min(MB, size) // len(bomb.part))
        part = gzip.compress(bomb.part * (unpacked // len(bomb.part)), 1)
        source = Repeated(
            gzip.compress(bomb.start), part, len(part) * max(1, size // unpacked), gzip.compress(bomb.end)
        )
    if bomb.name:
        source.name = bomb.name
    (rows, says), added = await added_memory(outcome(JOBS[bomb.job], source, tmp_path))
    assert bomb.says in says
    assert bool(bomb.says) == bool(says)
    assert rows == bomb.rows if bomb.rows is not None else rows > 0
    assert added < bomb.megabytes * MB


async def test_of_an_archive_with_a_window_of_a_hundred_megabytes_no_more_than_that_is_held(tmp_path: Path) -> None:
    """Zstandard lets an archive ask for that much, and `zstd --ultra` does."""
    options = {int(CompressionParameter.window_log): 27, int(CompressionParameter.compression_level): 1}
    archive = compress_zstd(b"email\na@b.example\n" + b"x" * 200 * MB, options=options)
    (rows, says), added = await added_memory(outcome(JOBS["upload"], io.BytesIO(archive), tmp_path))
    assert (rows, says) == (2, "")
    assert added < 250 * MB


# Columns that are many, or change midway ---------------------------------------------------------------------------


def user_rows_with(names: Callable[[int], Sequence[str]], count: int) -> bytes:
    return b"".join(in_json({"email": f"p{n}@b.example", **dict.fromkeys(names(n), 1)}) + b"\n" for n in range(count))


MANY: Final = 20_000 if FULL_SIZE else 2_000
WIDE: Final[Mapping[str, tuple[str, Callable[[], Any], int, str]]] = {
    "a million names over a file": (
        "upload",
        lambda: user_rows_with(lambda n: [f"k{n}_{i}" for i in range(50)], MANY),
        MANY,
        "",
    ),
    "names that are long": ("upload", lambda: user_rows_with(lambda n: [f"{n}" + "k" * 500_000], 40), 40, ""),
    "many names in every object": (
        "upload",
        lambda: user_rows_with(lambda n: [f"{n}_{i}" for i in range(9_000)], 10),
        10,
        "",
    ),
    "more names than an object may have": (
        "upload",
        lambda: PERSON + b"}\n" + user_rows_with(lambda n: [f"{n}_{i}" for i in range(10_001)], 5),
        6,
        "",
    ),
    "100,000 columns": (
        "upload",
        lambda: b"email" + b",c" * 100_000 + b"\na@b.example\n",
        0,
        "there are 100,001 columns",
    ),
    "100,000 columns of a feed": (
        "upsert",
        lambda: HEADER + b",c" * 100_000 + b"\na\n",
        0,
        "there are 100,009 columns",
    ),
    "16,000 columns of a feed": ("upsert", lambda: HEADER + b",c" * 16_000 + b"\n" + b"a\n" * 100, 100, ""),
    "columns with the same name": ("upload", lambda: b"email,email\na@b.example,c@d.example\n", 1, ""),
    "columns of a feed with the same name": ("upsert", lambda: b"id," + HEADER + b"\n", 0, "are both called id"),
    "names of elements": (
        "upsert",
        lambda: b"<rss><channel><item>" + b"".join(b"<a%d/>" % n for n in range(100_000)) + b"</item></channel></rss>",
        0,
        "too many different names",
    ),
    "100,000 columns of Parquet": (
        "upload",
        lambda: in_parquet([{"email": "a@b.example", **{f"c{n}": 1 for n in range(20_000)}}]),
        1,
        "",
    ),
}


@pytest.mark.parametrize("name", WIDE)
async def test_of_files_with_any_number_of_names_the_memory_is_bounded(name: str, tmp_path: Path) -> None:
    job, content, rows, says = WIDE[name]
    source = io.BytesIO(content())
    found, added = await added_memory(outcome(JOBS[job], source, tmp_path))
    assert found.rows == rows
    assert says in found.says
    assert bool(says) == bool(found.says)
    assert added < 100 * MB


A, B, C = (product(each) for each in "abc")


def renamed(shape: Mapping[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in shape.items()}


def in_xml(shape: Mapping[str, Any]) -> bytes:
    return b"<item>" + b"".join(f"<{name}>{value}</{name}>".encode() for name, value in shape.items()) + b"</item>"


CHANGING: Final[Mapping[str, tuple[Any, list[bool]]]] = {
    "JSON Lines": (
        in_json(A) + b"\n" + in_json(renamed(B, id="sku", link="url")) + b"\n" + in_json({"no": 1}),
        [True, True, False],
    ),
    "JSON": (in_json([A, renamed(B, title="name", image_link="image_url"), 5, C]), [True, True, False, True]),
    "XML": (
        b"<rss><channel>" + in_xml(A) + in_xml(renamed(B, title="g:title", id="g:id")) + b"<item/></channel></rss>",
        [True, True, False],
    ),
    "CSV with a second header": (table([A, B], ",") + table([C], ","), [True, True, False, True]),
    "CSV with rows of other widths": (
        table([A], ",") + b"b,short\n" + table([C], ",").splitlines()[1] + b",more\n",
        [True, False, False],
    ),
    "a generator": ([A, renamed(B, id="offer_id"), {**C, "sku": "other"}, {}], [True, True, True, False]),
}


@pytest.mark.parametrize("name", CHANGING)
async def test_columns_that_change_midway_are_looked_up_again_row_by_row(name: str) -> None:
    given, good = CHANGING[name]
    service = ModelCatalog()
    source = io.BytesIO(given) if isinstance(given, bytes) else iter(given)
    report = await load_of(service, source).run()
    check(report)
    assert [each.row for each in report.rejects] == [number for number, is_good in enumerate(good, 1) if not is_good]
    assert set(service.products) == {each for each, is_good in zip("abc", good, strict=False) if is_good} | (
        {"c"} if len(good) > 3 and name != "a generator" else set()
    )


class User(NamedTuple):
    email: str


async def asynchronous(items: Sequence[Any]) -> AsyncIterator[Any]:
    for each in items:
        yield each


ITEMS: Final[Sequence[Any]] = (
    {"email": "a@b.example"},
    AudienceUser(email="c@d.example"),
    User("e@f.example"),
    {"phone": "+14155550123", 5: "a key that is no text"},
    {"email": [["nested"]], "phone": object()},
    {},
)


@pytest.mark.parametrize("job", USER_JOBS)
async def test_a_generator_may_change_its_mind_about_what_rows_are(job: str, tmp_path: Path) -> None:
    for give in (iter, asynchronous):
        folder = tmp_path / give.__name__
        folder.mkdir()
        assert await outcome(USER_JOBS[job], give(ITEMS), folder) == (6, "")
        other: Any = [*ITEMS, (f"{SECRET}@b.example",), {"email": "g@h.example"}]
        rows, says = await outcome(USER_JOBS[job], give(other), folder)
        assert (rows, "item 7 is or holds a tuple" in says) == (6, True)


@pytest.mark.parametrize("job", USER_JOBS)
async def test_a_stream_whose_batches_change_type_ends_after_the_rows_before(job: str, tmp_path: Path) -> None:
    class Changing:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            schema = pyarrow.schema({"email": pyarrow.string()})

            def batches() -> Iterator[Any]:
                yield pyarrow.record_batch({"email": [f"p{n}@b.example" for n in range(2_000)]})
                yield pyarrow.record_batch({"email": [1]})

            return pyarrow.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__(requested_schema)

    rows, says = await outcome(USER_JOBS[job], Changing(), tmp_path)
    assert (rows, "the table cannot be read any further" in says) == (2_000, True)


# Time --------------------------------------------------------------------------------------------------------------

GROWING: Final[Mapping[str, tuple[str, Callable[[int], bytes]]]] = {
    "rows with wrong quotes": ("lint", lambda n: b"email,x\n" + b'"a"b@c.example,1\n' * n),
    "rows with fields over lines": ("lint", lambda n: b"email,x\n" + b'"a@c.example","\n\n"\n' * n),
    "ever other names": ("lint", lambda n: user_rows_with(lambda at: [f"k{at}"], n)),
    "names in turns": ("lint", lambda n: user_rows_with(lambda at: ["sku", "id"][at % 2 :], n)),
    "lines that are no JSON": ("lint", lambda n: PERSON + b"}\n" + b'{"email"\n' * n),
    "lines that are not UTF-8": ("lint", lambda n: b"email\n" + b"\xff\n" * n),
    "a header": ("lint", lambda n: b"email" + b"".join(b",%d" % at for at in range(n)) + b"\na@b.example\n"),
    "a name": ("lint", lambda n: in_json({"email": "a@b.example", "1" * (n * 20) + "x": 1})),
    "images": ("upsert", lambda n: in_json({**A, "additional_image_link": ["https://a.example/1.jpg"] * n})),
    "elements of a product": (
        "upsert",
        lambda n: b"<rss><channel><item>" + b"<a>1</a>" * (n * 4) + b"</item></channel></rss>",
    ),
    "attributes": (
        "upsert",
        lambda n: b"<rss><channel><item" + b"".join(b" a%d='1'" % at for at in range(n // 4)) + b"/></channel></rss>",
    ),
    "parts of an archive": ("lint", lambda n: gzip.compress(b"email\n") + gzip.compress(b"x") * n),
}


@pytest.mark.parametrize("name", GROWING)
async def test_four_times_the_file_takes_no_more_than_about_four_times_the_time(name: str, tmp_path: Path) -> None:
    job, content = GROWING[name]

    async def seconds(size: int) -> float:
        found: list[float] = []
        for _ in range(3):
            source = io.BytesIO(content(size))
            started = time.process_time()
            await outcome(JOBS[job], source, tmp_path)
            found.append(time.process_time() - started)
        return min(found)

    # Of what takes the square of it, sixteen times.
    assert await seconds(8_000) < 9 * await seconds(2_000) + 0.05
