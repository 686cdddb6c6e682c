"""Targets: files of users and merchants, and what is in their cells."""

import datetime
import gzip
import io
import itertools
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Final

from socialapi.bulk.audiences.cells import user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.audiences.normalize import Unusable, hashed_column, normalizers, plain_value
from socialapi.bulk.audiences.phone_numbers import check_region
from socialapi.bulk.audiences.prepare import Preparer
from socialapi.bulk.inputs.feed_xml import read_xml
from socialapi.bulk.inputs.files import _format_of, opened
from socialapi.bulk.inputs.numbers import NoDigits, digits_of
from socialapi.bulk.inputs.reader import Block
from socialapi.bulk.inputs.remote import Stores
from socialapi.bulk.products import merchant_values
from socialapi.bulk.products.cells import product_rows
from socialapi.bulk.products.feed import ProductColumns
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS
from socialapi.models.money import Micros
from tests.bulk.blocks import prepared_of, rows_of
from tests.fuzz.target import MARKER, Pieces, target

if sys.version_info >= (3, 14):
    from compression.zstd import compress as compress_zstd
else:
    from backports.zstd import compress as compress_zstd

NOW: Final = datetime.datetime(2027, 1, 15, 8, tzinfo=datetime.UTC)
MOST_ROWS: Final = 4_000
"""Of a file that is unpacked, how much is read."""
MOST_BYTES: Final = 4_000_000


class Input(io.BytesIO):
    """A file with a name that gives its content in pieces of some size."""

    def __init__(self, content: bytes, name: str, piece: int | None = None) -> None:
        super().__init__(content)
        self.name = name
        self._piece = piece

    def read1(self, size: int | None = -1, /) -> bytes:
        """As a pipe does, at most a piece."""
        return super().read1(size if self._piece is None else min(self._piece, size or self._piece))


RowsAndEnd = tuple[list[Any], str]
Read = Callable[[Any, Any], Generator[Block[Any], None, None]]


def rows_and_end(
    source: Input, selection: Any, understand: Callable[[Block[Any]], Iterable[Any]], reads: list[Read]
) -> RowsAndEnd:
    """The rows of a file, and the sentence that ends it. How it is read is added to `reads`, or
    taken from there.
    """
    rows: list[Any] = []
    try:
        with opened(source, "", Stores(None).open) as file:
            if not reads:
                reads.append(_format_of(file, selection))
            elif source.getvalue().startswith(BOM_UTF8) and reads[0] is not read_xml:
                file.content.read(len(BOM_UTF8))
            for row in itertools.chain.from_iterable(map(understand, _checked(reads[0](file.content, selection)))):
                rows.append(repr(row))
                if len(rows) >= MOST_ROWS:
                    break
    except InvalidInput as error:
        return rows, str(error)
    return rows, ""


def _checked(blocks: Generator[Block[Any], None, None]) -> Iterator[Block[Any]]:
    number = 1
    for block in blocks:
        assert block.first_number == number, f"a block begins at row {block.first_number}, and not at {number}"
        assert len(block) >= 1, f"a block at row {number} is empty"
        lengths = [len(cells) for cells in block.columns]
        assert all(each == len(block) for each in lengths), f"{lengths} cells in columns of {len(block)} rows"
        number += len(block)
        yield block


def users_of(block: Block[Any]) -> Iterator[Any]:
    """What an upload makes of a block: its rows, and what becomes of each."""
    for row in user_rows(block):
        yield row.number, row.identifiers, row.operation_type, row.expires_at, row.problem, row.unusable
    prepared = prepared_of(Preparer(now=NOW, default_region="US"), block)
    issues = [*prepared.rejects, *prepared.warnings, *prepared.cleaned]
    yield from issues
    assert [each for each in issues if MARKER.decode() in repr(each)] == [], "an issue shows a value"
    sent, rejected = rows_of(prepared.blocks), {each.row for each in prepared.rejects}
    assert len(block) == len(sent) + len(rejected), f"of {len(block)} rows {sent} are sent and {rejected} rejected"


def products_of(block: Block[Any]) -> Iterator[Any]:
    """What a load makes of a block."""
    for row in product_rows(block):
        yield row.number, row.shape, row.problem, row.values, row.warnings, row.converted, row.location, row.is_blank
        shown = repr((row.problem, row.warnings, row))
        assert MARKER.decode() not in shown, f"a product shows a value: {shown[:500]}"


JOBS: Final[tuple[tuple[Callable[[], Any], Callable[[Block[Any]], Iterable[Any]]], ...]] = (
    (lambda: IdentifierColumns.of(None, IDENTIFIER_KINDS), users_of),
    (lambda: ProductColumns.of(None), products_of),
)


def check_file(content: bytes, name: str, job: int, piece: int) -> None:
    """A file in pieces is what it is at once: rows, and a sentence without values.

    What it is, is told by its beginning, of which a pipe may give less: it is told once.
    """
    select, understand = JOBS[job]
    reads: list[Read] = []
    at_once = rows_and_end(Input(content, name), select(), understand, reads)
    assert MARKER.decode() not in at_once[1], f"an error shows a value: {at_once[1][:500]}"
    if reads and not name.endswith((".gz", ".zst")):
        in_pieces = rows_and_end(Input(content, name, piece), select(), understand, reads)
        assert in_pieces == at_once, f"{name} in pieces of {piece} bytes: {_difference(in_pieces, at_once)}"


def _difference(in_pieces: RowsAndEnd, at_once: RowsAndEnd) -> str:
    """The first row, or the end, that is not the same in both."""
    for number, (one, other) in enumerate(itertools.zip_longest(in_pieces[0], at_once[0]), 1):
        if one != other:
            return f"row {number} is {one}, and at once {other}"
    return f"it ends with {in_pieces[1]!r}, and at once with {at_once[1]!r}"


def _text_file(data: bytes, names: tuple[str, ...]) -> None:
    pieces = Pieces(data)
    job, name, piece = pieces.number(2), pieces.one_of(*names), 1 + pieces.number(40)
    check_file(pieces.rest(), name, job, piece)


@target("csv", *(f"FORMATS:{each}" for each in (".csv", ".tsv", ".txt")), "bulk.inputs.csv:read_csv")
def _csv(data: bytes) -> None:
    """Tables of any encoding, quoting and delimiter."""
    _text_file(data, ("x.csv", "x.tsv", "x.txt", "x"))


@target("json-file", *(f"FORMATS:{each}" for each in (".jsonl", ".ndjson", ".json")), "bulk.inputs.json:JsonWindow")
def _json_file(data: bytes) -> None:
    """Objects on lines, in an array, or in an array of an object."""
    _text_file(data, ("x.json", "x.jsonl", "x.ndjson", "x"))


@target("xml", *(f"FORMATS:{each}" for each in (".xml", ".rss", ".atom")), "bulk.inputs.feed_xml:read_items")
def _xml(data: bytes) -> None:
    """Feeds with any entities, encodings and depth."""
    pieces = Pieces(data)
    name, piece, times = pieces.one_of("x.xml", "x.rss", "x.atom", "x"), 1 + pieces.number(40), pieces.number(8)
    before, again, after = pieces.part(), pieces.part(), pieces.rest()
    content = before + again * 4**times + after
    check_file(content[:2_000_000], name, 1, piece if len(content) < 20_000 else 60_000)


def _as_it_is(content: bytes) -> bytes:
    return content


PACKED: Final[tuple[tuple[Callable[[bytes], bytes], str], ...]] = (
    (_as_it_is, "x.gz"),
    (gzip.compress, "x.csv.gz"),
    (compress_zstd, "x.csv.zst"),
)


@target("archive", "archive:1f8b", "archive:28b52ffd", "bulk.inputs.files:unpacked")
def _archive(data: bytes) -> None:
    """An archive gives what was packed, and at most so much; a damaged one gives what comes before
    the fault.
    """
    pieces = Pieces(data)
    pack, name = pieces.one_of(*PACKED)
    times, cut, flipped = pieces.number(10), pieces.number(65_536), pieces.number(65_536)
    content = pieces.rest()[:2_000]
    head, _, rest = content.partition(b"\n")
    content = head + b"\n" + rest * min(4**times, MOST_BYTES // max(1, len(rest)))
    stored = bytearray(pack(content))
    if flipped:
        stored[flipped % len(stored)] ^= 1 + flipped % 255
    check_file(bytes(stored[: cut or None]), name, 0, 1 + cut % 1_000)


def _parquet_files() -> list[bytes]:
    """Small files of every type that tables have."""
    import pyarrow
    from pyarrow import parquet

    zone = datetime.UTC
    columns: dict[str, Any] = {
        "email": pyarrow.array(["a@b.example", None, MARKER.decode(), "é" * 40]),
        "phone": pyarrow.array(["+14155550123"] * 4).dictionary_encode(),
        "service_id": pyarrow.array([1, 2**40, None, 7]),
        "device_id": pyarrow.array([["a", "b"], [], None, ["c"]]),
        "expires_at": pyarrow.array([datetime.datetime(2030, 1, 1, tzinfo=zone)] * 4),
        "handle": pyarrow.array([1.5, float("nan"), 2e300, None]),
    }
    files = []
    for options in ({"compression": "none"}, {"compression": "snappy", "use_dictionary": False, "row_group_size": 2}):
        file = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), file, **options)
        files.append(file.getvalue())
    return files


_PARQUET: Final[list[bytes]] = []


@target("parquet", "FORMATS:.parquet", "bulk.inputs.arrow:read_parquet", is_searched_in_tests=False)
def _parquet(data: bytes) -> None:
    """Real files with some bytes changed."""
    if not _PARQUET:
        _PARQUET.extend(_parquet_files())
    pieces = Pieces(data)
    content = bytearray(pieces.one_of(*_PARQUET))
    for _ in range(8):
        if pieces:
            content[pieces.number(65_536) % len(content)] = pieces.number(256)
    rows, says = rows_and_end(Input(bytes(content), "x.parquet"), *_of_users(), [])
    assert len(rows) <= MOST_ROWS, f"{len(rows)} rows"
    assert MARKER.decode() not in says, f"an error shows a value: {says[:500]}"


def _of_users() -> tuple[Any, Callable[[Block[Any]], Iterable[Any]]]:
    select, understand = JOBS[0]
    return select(), understand


@target("identifiers", "bulk.audiences.normalize:normalizers", "bulk.audiences.phone_numbers:e164", hides=False)
def _identifiers(data: bytes) -> None:
    """A column is normalised as its cells are. What is normalised stays as it is."""
    pieces = Pieces(data)
    region = pieces.one_of(None, "US", "DE", "AQ")
    cells = [pieces.text() for _ in range(4)]
    each = normalizers(IDENTIFIER_KINDS, region)
    for kind in IDENTIFIER_KINDS:
        together = list(hashed_column(kind, cells)) if kind != "partner_user_id" else [None] * len(cells)
        together = [plain_value(each[kind], cells[at]) if value is None else value for at, value in enumerate(together)]
        for cell, value in zip(cells, together, strict=True):
            try:
                alone, remark = each[kind](cell)
            except Unusable as refusal:
                assert value is None, f"{kind} {cell!r} is unusable, and {value!r} in a column"
                shown = refusal.reason
                assert MARKER.decode() not in shown, f"a refusal shows a value: {shown}"
                continue
            expected = (None,) if remark or (cell and not alone) else (alone, None)
            assert value in expected, f"{kind} {cell!r} is {value!r} in a column, and not among {expected}"
            again = each[kind](alone)[0]
            assert again == alone, f"{kind} {cell!r} is {alone!r}, which is {again!r} itself"
            assert kind == "partner_user_id" or not alone or len(alone) == 64, f"{kind} {cell!r} is {alone!r}"
    check_region(cells[1][:2] or "US")


@target("merchant-values", "bulk.products.merchant_values:understood", refusals=())
def _merchant_values(data: bytes) -> None:
    """What is understood of a value is understood as itself."""
    pieces = Pieces(data)
    text, other = pieces.text(), pieces.text()
    for field in merchant_values._CONVERSIONS:
        found = merchant_values.understood(field, text)
        again = merchant_values.understood(field, found)
        assert again == found, f"{field} {text!r} is {found!r}, which is {again!r} itself"
        merchant_values.ambiguity(field, text)
        tests = merchant_values.unchanged_tests(field)
        if tests and all(test(text) for test in tests):
            assert found == text, f"{field} {text!r} is {found!r}, though its tests say that it stays"
    merchant_values.with_currency(text, other)
    merchant_values.fields_of([text, other])
    merchant_values.is_amount(text)


@target("money", "models.money:Micros.of", "bulk.inputs.numbers:digits_of", refusals=(InvalidInput, NoDigits))
def _money(data: bytes) -> None:
    """An amount in writing is that amount."""
    text = data.decode("utf-8", "surrogateescape")
    amount = Micros.of(text, "EUR")
    again = Micros.of(str(amount).partition(" ")[0], "EUR")
    assert again == amount, f"{text!r} is {amount}, which is {again} itself"
    assert abs(amount.value) < 2**63, f"{text!r} is {amount.value} micros"
    for value in (amount.decimal, float(amount.decimal)):
        digits = digits_of(value)
        assert digits.lstrip("-").isdecimal(), f"the digits of {value!r} are {digits!r}"
