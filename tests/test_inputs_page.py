"""The tables of the pages on inputs: every cell is tried against an emulator, and says what happened.

python -m tests.test_inputs_page    writes the tables into the pages
"""

import asyncio
import collections
import contextlib
import csv
import dataclasses
import functools
import gzip
import hashlib
import io
import itertools
import json
import os
import re
import sqlite3
import sys
import tempfile
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import asyncpg
import attrs
import duckdb
import msgspec
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pydantic
import pytest
import pytest_asyncio
import sqlalchemy
from asyncpg.protocol import protocol as asyncpg_protocol
from sqlalchemy import orm

from socialapi import AudienceUser, Client, Operation, Product
from socialapi.bulk.audiences import column_names
from socialapi.bulk.inputs.null_words import NO_ADDRESS, NO_PERSON, NULL_WORDS
from socialapi.emulator import Emulator
from socialapi.errors import BulkError, InvalidInput
from socialapi.resources.audiences import CustomAudience, DoNotReachListResource
from socialapi.types import DoNotReachOperation, DoNotReachParams, DoNotReachUser
from tests.bulk import catalog_feeds
from tests.cli.terminal import last_json, program

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("inputs page")]

DOCS: Final = Path(__file__).parents[1] / "docs"
ACCEPTED, *WITH_LISTS = (DOCS / f"inputs-{name}.md" for name in ("accepted", "columns", "values"))
AGAIN: Final = "run: python -m tests.test_inputs_page"

What = Literal["people", "products"]
Shape = dict[str, Any]


# What goes in --------------------------------------------------------------------------------------------------------

PEOPLE: Final[Sequence[Shape]] = (
    {"customer_id": 1, "E-Mail": " Ada@Example.com", "Phone": "+1 (415) 555-2671", "note": 'a,b;c|d "e"'},
    {"customer_id": 2, "E-Mail": "grace@example.com", "Phone": None, "note": "Kännchen"},
    {"customer_id": 3, "E-Mail": None, "Phone": "+44 7911 123456", "note": None},
)
IDENTIFIERS: Final = (
    ("email", "ada@example.com"),
    ("phone_number", "+14155552671"),
    ("email", "grace@example.com"),
    ("phone_number", "+447911123456"),
)
MEMBERS: Final = {(kind, hashlib.sha256(text.encode()).hexdigest()) for kind, text in IDENTIFIERS}
PRODUCTS: Final = catalog_feeds.generated(3, seed=1)
FIELDS: Final = [field.name for field in attrs.fields(Product) if not field.name.endswith("_key")]
"""What a shop says of a product; keys are given by the service."""
NOT_READ: Final = {"customer_id", "note", "atom:id", "shipping", "shipping.country", "shipping.price"}
"""Columns of the inputs that are of no interest."""


def shapes_of(what: What) -> Sequence[Shape]:
    """The rows as mappings of the same names."""
    if what == "people":
        return PEOPLE
    return [{field: product.get(field) for field in FIELDS} for product in PRODUCTS]


# Jobs ----------------------------------------------------------------------------------------------------------------

ACCOUNT: Final = "18ce54d4x5t"
AUDIENCE: Final = "1nmth"
LIST: Final = "7b2f1"
CATALOG: Final = "7pc01"


@attrs.frozen
class Job:
    """A column of the tables: how the job is run, from a program and by a command, and what it has to lead to."""

    name: str
    what: What
    run: Callable[[Client, Any, Path], Awaitable[Any]]
    command: tuple[str, ...]
    check: Callable[[Emulator, Shape], None]


def check_counts(report: Shape, warnings: int = 0) -> None:
    counts = [report[name] for name in ("read", "accepted", "rejected", "duplicate", "pending", "warnings")]
    assert counts == [3, 3, 0, 0, 0, warnings], counts
    assert set(report["ignored_columns"]) <= NOT_READ, report["ignored_columns"]


def check_audience(emulator: Emulator, report: Shape) -> None:
    check_counts(report)
    assert emulator.members(ACCOUNT, AUDIENCE) == MEMBERS


def check_list(emulator: Emulator, report: Shape) -> None:
    check_counts(report)
    assert emulator.do_not_reach_members(ACCOUNT, LIST) == MEMBERS


def check_sync(emulator: Emulator, report: Shape) -> None:
    check_audience(emulator, report)
    assert report["additions"]["accepted"] == 3
    assert (report["identifiers_before"], report["identifiers_after"]) == (0, len(MEMBERS))


def check_catalog(emulator: Emulator, report: Shape) -> None:
    check_counts(report, warnings=3)  # the service warns of the tags in their descriptions
    assert report["created"] == 3
    held = emulator.products(CATALOG)
    for product in PRODUCTS:
        found = {field: value for field, value in held[product["id"]].items() if field in FIELDS}
        assert found == product, found.items() ^ product.items()


def check_lint(emulator: Emulator, report: Shape, several: int, present: Mapping[str, int]) -> None:
    """Everything is usable, and nothing is sent."""
    assert (report["rows"], report["unusable_rows"], report["duplicates"]) == (3, 0, 0)
    assert report["rows_with_several"] == several
    assert {each["kind"]: each["usable"] for each in report["kinds"] if each["present"]} == dict(present)
    assert not any(each["is_error"] for each in report["findings"])
    assert set(report["ignored_columns"]) <= NOT_READ, report["ignored_columns"]
    assert not emulator.requests


def check_people_lint(emulator: Emulator, report: Shape) -> None:
    check_lint(emulator, report, 1, {"email": 2, "phone_number": 2})


def check_products_lint(emulator: Emulator, report: Shape) -> None:
    check_lint(emulator, report, 0, collections.Counter(field for product in PRODUCTS for field in product))


def audience_of(client: Client) -> CustomAudience:
    return client.ads.account(ACCOUNT).custom_audience(AUDIENCE)


def list_of(client: Client) -> DoNotReachListResource:
    return client.ads.account(ACCOUNT).do_not_reach_list(LIST)


JOBS: Final = (
    Job(
        "audience `upload`",
        "people",
        lambda client, records, _: audience_of(client).upload(records),
        ("audience", "upload", "--account", ACCOUNT, "--audience", AUDIENCE),
        check_audience,
    ),
    Job(
        "audience `sync`",
        "people",
        lambda client, records, folder: audience_of(client).sync(records, snapshot=folder / "snapshot"),
        ("audience", "sync", "--account", ACCOUNT, "--audience", AUDIENCE, "--snapshot", "snapshot"),
        check_sync,
    ),
    Job(
        "audience `lint`",
        "people",
        lambda client, records, _: audience_of(client).lint(records),
        ("audience", "lint"),
        check_people_lint,
    ),
    Job(
        "list `upload`",
        "people",
        lambda client, records, _: list_of(client).upload(records),
        ("do-not-reach", "upload", "--account", ACCOUNT, "--list", LIST),
        check_list,
    ),
    Job(
        "list `lint`",
        "people",
        lambda client, records, _: list_of(client).lint(records),
        ("do-not-reach", "lint"),
        check_people_lint,
    ),
    Job(
        "products `upsert`",
        "products",
        lambda client, records, _: client.catalog(CATALOG).products.upsert(records),
        ("catalog", "upsert", "--catalog", CATALOG),
        check_catalog,
    ),
    Job(
        "products `lint`",
        "products",
        lambda client, records, _: client.catalog(CATALOG).products.lint(records),
        ("catalog", "lint"),
        check_products_lint,
    ),
)

REASONS: Final = {
    "this is XML, which is supported only for product feeds": "only for products",
    "Parquet can only be read from a file": "only readable as a file",
    "but a sync has no operations": "a sync accepts no operations",
    "item 1 is (an AudienceUser|a DoNotReachUser): give Product": "users are not products",
    "item 1 is (an Operation|a DoNotReachOperation): give Product": "operations are not products",
    "item 1 is or holds a Product, where": "products are not people",
    "; a row must name its columns": "its columns have no names",
    "; an ORM entity may query the database": "select columns instead",
    "; pass a table itself": "pass the table itself",
}
"""What a cell says of an error, by the words that the message has."""


@attrs.frozen
class Standing:
    """A file for the standard input of the command line."""

    content: bytes


@attrs.frozen
class Bench:
    """What a cell is tried with."""

    emulator: Emulator
    client: Client
    folder: Path

    async def outcome(self, job: Job, records: Any) -> str:
        """Runs the job, and returns what the cell says. What goes in has to lead to exactly what it should."""
        self.emulator.reset()
        (self.folder / "snapshot").unlink(missing_ok=True)
        try:
            if isinstance(records, Standing):
                report = await self._by_command(job, records)
            else:
                report = (await job.run(self.client, records, self.folder)).to_dict()
        except (InvalidInput, BulkError) as error:
            message = str(error.__cause__ or error)
            assert not self.emulator.requests, "what is refused has sent something"
            found = [reason for pattern, reason in REASONS.items() if re.search(pattern, message)]
            return f"no: {found[0] if found else message}"
        job.check(self.emulator, report)
        return "yes"

    async def _by_command(self, job: Job, given: Standing) -> Shape:
        command = [str(self.folder / each) if each == "snapshot" else each for each in job.command]
        environment = self.emulator.environment
        async with program(*command, "-", "--json", environment=environment, stdin=asyncio.subprocess.PIPE) as running:
            status, out, err = await running.ended(given.content)
        if status:
            raise InvalidInput(err)
        return last_json(out)

    async def line(self, row: "Row") -> str:
        """Tries a row, and returns its line of the table. However its input is given, the outcome is the same."""
        outcomes: dict[What, dict[str, list[str]]] = {"people": {}, "products": {}}
        for job in JOBS:
            seen: dict[str, list[str]] = {}
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                for name, records in row.inputs(job.what, Path(folder)):
                    try:
                        seen.setdefault(await self.outcome(job, records), []).append(name)
                    except AssertionError as fault:
                        raise AssertionError(f"{job.name} of {row.labels}, {name}: {fault}") from fault
            assert len(seen) == 1, f"{job.name} of {row.labels}: {seen}"
            (outcome,) = seen
            outcomes[job.what].setdefault(outcome, []).append(job.name)
        return line_of((*row.labels, *map(cell_of, outcomes.values())))


def cell_of(outcomes: Mapping[str, Sequence[str]]) -> str:
    """Returns the outcome of most jobs, then any other outcome after the names of its jobs."""
    usual, *others = sorted(outcomes, key=lambda outcome: -len(outcomes[outcome]))
    return usual + "".join(f", except {', '.join(outcomes[each])}: {each.removeprefix('no: ')}" for each in others)


def line_of(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


@attrs.frozen
class Row:
    """A row of a table. `inputs` makes the same input in each way that the labels stand for, with a name for it."""

    labels: tuple[str, str]
    inputs: Callable[[What, Path], Iterator[tuple[str, Any]]]

    @property
    def id(self) -> str:
        return ", ".join(self.labels).replace("`", "")


# Files ---------------------------------------------------------------------------------------------------------------

Writer = Callable[[Sequence[Shape]], bytes]


def people_table(people: Sequence[Shape], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    table = csv.writer(text, delimiter=delimiter)
    table.writerow(people[0])
    table.writerows(each.values() for each in people)
    return text.getvalue().encode()


def people_array(people: Sequence[Shape]) -> bytes:
    return json.dumps(people, indent=1).encode()


def wrapped_people(people: Sequence[Shape]) -> bytes:
    return json.dumps({"next": None, "people": list(people)}).encode()


def people_lines(people: Sequence[Shape]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in people)


def people_parquet(people: Sequence[Shape]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(people)), file)
    return file.getvalue()


def with_separator(write: Writer, separator: str) -> Writer:
    return lambda rows: f"sep={separator}\r\n".encode() + write(rows).removeprefix(b"\xef\xbb\xbf")


def of_products(write: Writer) -> Writer:
    """Writes products, whatever is asked for."""
    return lambda _: write(PRODUCTS)


@attrs.frozen
class Format:
    """A format of files: the extensions of their names, and the writers of both kinds of rows."""

    name: str
    extensions: tuple[str, ...]
    people: tuple[Writer, ...]
    products: tuple[Writer, ...]

    def writers(self, what: What) -> tuple[Writer, ...]:
        return self.people if what == "people" else self.products


def delimited(write: Callable[[Sequence[Shape], str], bytes], delimiter: str) -> Writer:
    return lambda rows: write(rows, delimiter)


CSV: Final = Format(
    "CSV",
    (".csv", ".txt"),
    tuple(delimited(people_table, each) for each in ",;|"),
    tuple(delimited(catalog_feeds.csv_table, each) for each in ",;|"),
)
WITH_SEPARATOR: Final = Format(
    "CSV with a line `sep=;`",
    (".csv",),
    (with_separator(delimited(people_table, ";"), ";"),),
    (with_separator(delimited(catalog_feeds.csv_table, ";"), ";"),),
)
TSV: Final = Format("TSV", (".tsv", ".txt"), (delimited(people_table, "\t"),), (catalog_feeds.tsv,))
JSON_LINES: Final = Format("JSON Lines", (".jsonl", ".ndjson", ".json"), (people_lines,), (catalog_feeds.json_lines,))
JSON_ARRAY: Final = Format("JSON array", (".json",), (people_array,), (catalog_feeds.json_array,))
WRAPPED: Final = Format("JSON array under one key", (".json",), (wrapped_people,), (catalog_feeds.wrapped_json,))
RSS: Final = Format("RSS", (".xml", ".rss"), (of_products(catalog_feeds.rss),), (catalog_feeds.rss,))
ATOM: Final = Format("Atom", (".xml", ".atom"), (of_products(catalog_feeds.atom),), (catalog_feeds.atom,))
PARQUET: Final = Format("Parquet", (".parquet",), (people_parquet,), (catalog_feeds.parquet,))

PACKINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}


def files_of(form: Format, packings: Sequence[str], what: What, folder: Path) -> Iterator[tuple[str, Path]]:
    """Files of a format, by the extensions that they may have and without any, and packed."""
    for number, write in enumerate(form.writers(what)):
        content = write(PEOPLE if what == "people" else PRODUCTS)
        names = [f"{number}{extension}" for extension in (*form.extensions, "")]
        for packing in packings:
            for name in names if packing == packings[0] else names[:1]:
                path = folder / f"{name}{packing}"
                path.write_bytes(PACKINGS[packing](content))
                yield path.name, path


def file_row(form: Format, shown: str, *packings: str) -> Row:
    return Row((form.name, shown), functools.partial(files_of, form, packings))


def write_rows(form: Format, what: What, path: Path, rows: slice = slice(None)) -> Path:
    """Writes some of the rows into a file whose name does not say what it is."""
    path.write_bytes(form.writers(what)[0]((PEOPLE if what == "people" else PRODUCTS)[rows]))
    return path


def texts_and_paths(path: Path) -> Iterator[Any]:
    yield str(path)
    yield path


def open_files(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        yield file
    with path.open("rb", buffering=0) as unbuffered:
        yield unbuffered
    yield io.BytesIO(path.read_bytes())


def pipes(path: Path) -> Iterator[Any]:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as end:
        end.write(path.read_bytes())
    with os.fdopen(reading, "rb") as pipe:
        yield pipe


def standing(path: Path) -> Iterator[Any]:
    yield Standing(path.read_bytes())


Forms = Sequence[Format]


def taken(forms: Forms, what: What) -> Forms:
    """The formats that make sense for the rows: people are in no XML."""
    return [form for form in forms if what == "products" or form is not RSS]


def each_format(
    forms: Forms, give: Callable[[Path], Iterator[Any]], what: What, folder: Path
) -> Iterator[tuple[str, Any]]:
    for form in taken(forms, what):
        for records in give(write_rows(form, what, folder / form.name)):
            yield f"{form.name} as {type(records).__name__}", records


def two_files(one: Format, other: Format, what: What, folder: Path) -> tuple[Path, Path]:
    """The first rows in a format, and the others in another."""
    folder.mkdir()
    return (
        write_rows(one, what, folder / "first", slice(2)),
        write_rows(other, what, folder / "second", slice(2, None)),
    )


def patterns(forms: Forms, what: What, folder: Path) -> Iterator[tuple[str, Any]]:
    for form in taken(forms, what):
        two_files(form, form, what, folder / form.name)
        yield f"text, {form.name}", str(folder / form.name / "*")
        yield f"path, {form.name}", folder / form.name / "**" / "*"


def lists(forms: Forms, what: What, folder: Path) -> Iterator[tuple[str, Any]]:
    for one, other in itertools.pairwise(taken(forms, what)):
        first, second = two_files(one, other, what, folder / one.name)
        yield f"list, {one.name} and {other.name}", [first, str(second)]
        yield f"tuple, {one.name} and {other.name}", (str(first), second.with_name("sec*"))


TEXTS: Final = (CSV, JSON_LINES, JSON_ARRAY, RSS)
FORMS: Final = (*TEXTS, PARQUET)

FILE_ROWS: Final = (
    *(
        file_row(form, "plain, gzip, Zstandard", *PACKINGS)
        for form in (CSV, WITH_SEPARATOR, TSV, JSON_LINES, JSON_ARRAY, WRAPPED, RSS, ATOM)
    ),
    file_row(PARQUET, "plain", ""),
    file_row(PARQUET, "gzip, Zstandard", ".gz", ".zst"),
    Row(("any of these", "path: `str`, `pathlib.Path`"), functools.partial(each_format, FORMS, texts_and_paths)),
    Row(("any of these", "pattern"), functools.partial(patterns, FORMS)),
    Row(("any of these", "list of paths and patterns"), functools.partial(lists, FORMS)),
    Row(("any of these", "open binary file, `io.BytesIO`"), functools.partial(each_format, FORMS, open_files)),
    Row(("any but Parquet", "pipe"), functools.partial(each_format, TEXTS, pipes)),
    Row(("any but Parquet", "standard input (`-`)"), functools.partial(each_format, (CSV,), standing)),
    Row(("Parquet", "pipe"), functools.partial(each_format, (PARQUET,), pipes)),
    Row(("Parquet", "standard input (`-`)"), functools.partial(each_format, (PARQUET,), standing)),
)


# Rows in memory ------------------------------------------------------------------------------------------------------


async def asynchronously(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


def each_way(make: Callable[[What], Sequence[Any]], what: What, folder: Path) -> Iterator[tuple[str, Any]]:
    items = make(what)
    yield "list", list(items)
    yield "generator", (item for item in items)
    yield "async generator", asynchronously(items)


def item_row(name: str, make: Callable[[What], Sequence[Any]]) -> Row:
    return Row((name, "list, generator, async generator"), functools.partial(each_way, make))


def table_row(name: str, make: Callable[[Sequence[Shape]], Any]) -> Row:
    return Row((name, "itself"), lambda what, _: iter([(name, make(shapes_of(what)))]))


def identifiers_of(person: Shape) -> Shape:
    return {"email": person["E-Mail"], "phone_number": person["Phone"]}


def users(what: What) -> Sequence[Any]:
    return [AudienceUser(**identifiers_of(each)) for each in PEOPLE]


def do_not_reach_users(what: What) -> Sequence[DoNotReachUser]:
    return [DoNotReachUser(**identifiers_of(each)) for each in PEOPLE]


def operations(what: What) -> Sequence[Operation]:
    first, *others = users(what)
    return [Operation.update([first]), Operation.update(others)]


def do_not_reach_operations(what: What) -> Sequence[DoNotReachOperation]:
    first, *others = do_not_reach_users(what)
    return [
        DoNotReachOperation("Update", DoNotReachParams(users=(first,))),
        DoNotReachOperation("Update", DoNotReachParams(users=tuple(others))),
    ]


def products(what: What) -> Sequence[Product]:
    return [Product(**each) for each in PRODUCTS]


def each_by(make: Callable[[Shape], Any]) -> Callable[[What], Sequence[Any]]:
    return lambda what: [make(each) for each in shapes_of(what)]


def by_type(make: Callable[[Sequence[str]], Callable[..., Any]]) -> Callable[[What], Sequence[Any]]:
    """Instances of a type that is made from names, which are identifiers of Python."""

    def items(what: What) -> Sequence[Any]:
        shapes = [{name.replace("-", ""): value for name, value in each.items()} for each in shapes_of(what)]
        of_names = make(list(shapes[0]))
        return [of_names(**shape) for shape in shapes]

    return items


def named_tuple(names: Sequence[str]) -> Callable[..., Any]:
    return collections.namedtuple("Line", names)  # noqa: PYI024 - whose names are known at run time


def pydantic_model(names: Sequence[str]) -> Callable[..., Any]:
    fields: dict[str, Any] = dict.fromkeys(names, (Any, None))
    model: Callable[..., Any] = pydantic.create_model("Line", **fields)
    return model


def record_of(shape: Shape) -> Any:
    """What asyncpg makes of a row, without a server."""
    make: Any = asyncpg_protocol.__dict__["_create_record"]
    return make(collections.OrderedDict((name, at) for at, name in enumerate(shape)), tuple(shape.values()))


def columns_of(what: What) -> str:
    integers = {"customer_id", "inventory"}
    return ", ".join(f'"{name}" {"integer" if name in integers else "text"}' for name in shapes_of(what)[0])


def sqlite_rows(what: What) -> Sequence[sqlite3.Row]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute(f"create table shop ({columns_of(what)})")
        shapes = shapes_of(what)
        connection.executemany(
            f"insert into shop values ({', '.join('?' * len(shapes[0]))})", [tuple(each.values()) for each in shapes]
        )
        return connection.execute("select * from shop").fetchall()


def sqlalchemy_result(what: What) -> Any:
    names = list(shapes_of(what)[0])
    select = "select " + ", ".join(f':p{at} as "{name}"' for at, name in enumerate(names))
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        for shape in shapes_of(what):
            values = {f"p{at}": value for at, value in enumerate(shape.values())}
            yield connection.execute(sqlalchemy.text(select), values)
    engine.dispose()


class Base(orm.DeclarativeBase):
    """What entities are derived from."""


class Customer(Base):
    """An entity."""

    __tablename__ = "customers"
    email: orm.Mapped[str] = orm.mapped_column(primary_key=True)


KIND_ROWS: Final = (
    item_row("`AudienceUser`", users),
    item_row("`DoNotReachUser`", do_not_reach_users),
    item_row("`Operation`", operations),
    item_row("`DoNotReachOperation`", do_not_reach_operations),
    item_row("`Product`", products),
    item_row("`dict`", shapes_of),
    item_row("`types.MappingProxyType`", each_by(types.MappingProxyType)),
    item_row("`sqlite3.Row`", sqlite_rows),
    item_row("`asyncpg.Record`", each_by(record_of)),
    item_row("SQLAlchemy `Row`", lambda what: [each.one() for each in sqlalchemy_result(what)]),
    item_row("SQLAlchemy `RowMapping`", lambda what: [each.mappings().one() for each in sqlalchemy_result(what)]),
    item_row("named tuple", by_type(named_tuple)),
    item_row("dataclass", by_type(functools.partial(dataclasses.make_dataclass, "Line"))),
    item_row("attrs class", by_type(functools.partial(attrs.make_class, "Line"))),
    item_row("pydantic model", by_type(pydantic_model)),
    item_row("msgspec `Struct`", by_type(functools.partial(msgspec.defstruct, "Line"))),
    table_row("pandas `DataFrame`", pandas.DataFrame),
    table_row("Polars `DataFrame`", polars.DataFrame),
    table_row("pyarrow `Table`", lambda shapes: pyarrow.Table.from_pylist(list(shapes))),
    table_row("pyarrow `RecordBatchReader`", lambda shapes: pyarrow.Table.from_pylist(list(shapes)).to_reader(2)),
    table_row("DuckDB relation", lambda shapes: duckdb.connect().from_arrow(pyarrow.Table.from_pylist(list(shapes)))),
    item_row("tables", lambda what: [pandas.DataFrame(shapes_of(what)), polars.DataFrame(shapes_of(what))]),
    item_row("plain tuple or list", each_by(lambda shape: tuple(shape.values()))),
    item_row("entity of an ORM", each_by(lambda _: Customer(email="ada@example.com"))),
)


# The tables ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class Table:
    """A table of the page, which is found there by what its first line begins with."""

    titles: tuple[str, str]
    rows: Sequence[Row]

    @property
    def head(self) -> list[str]:
        return [line_of((*self.titles, "People", "Products")), f"|{'---|' * 4}"]

    def span(self, lines: Sequence[str]) -> slice:
        """Where the table stands in the page."""
        start = next(at for at, line in enumerate(lines) if line.startswith(f"| {' | '.join(self.titles)} |"))
        stop = next(at for at, line in enumerate([*lines[start:], ""], start) if not line.startswith("|"))
        return slice(start, stop)


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`".replace("|", "\\|") for name in names)


LISTS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "| Read as | Names |": (
        *(
            (
                f"`{kind}`" + {"region": ", the country of the row", "area_code": ", an area code"}.get(kind, ""),
                listed(names),
            )
            for kind, names in column_names.NAMES.items()
        ),
    ),
    "| Words | |": (
        ("before any of these names", listed(dict.fromkeys(column_names.WHICH_ONE))),
        ("after any of these names", listed(dict.fromkeys(column_names.TYPES))),
        *((f"before a name of `{kind}`", listed(words)) for kind, words in column_names.BEFORE.items()),
        *((f"after a name of `{kind}`", listed(words)) for kind, words in column_names.AFTER.items()),
        ("between a name and such a word", listed(filter(None, column_names.LINKS))),
    ),
    "| Placeholder words | |": (
        ("in all data", listed(sorted(NULL_WORDS))),
        ("only in data about people", listed(sorted(NO_PERSON))),
        ("before the `@` of an address", listed(sorted(NO_ADDRESS))),
    ),
}
"""The lists of words that the pages print, by the first lines of their tables."""


def with_list(lines: list[str], head: str) -> list[str]:
    """The lines of the page with this list as the code has it."""
    start = lines.index(head) + 2
    stop = next(at for at, line in enumerate(lines[start:], start) if not line.startswith("|"))
    return [*lines[:start], *(f"| {label} | {names} |" for label, names in LISTS[head]), *lines[stop:]]


TABLES: Final = (Table(("Files", "Given as"), FILE_ROWS), Table(("Rows in memory", "Given as"), KIND_ROWS))


def lines_of(page: Path) -> list[str]:
    return page.read_text("utf-8").splitlines()


@contextlib.asynccontextmanager
async def new_bench() -> AsyncIterator[Bench]:
    with tempfile.TemporaryDirectory() as folder:
        async with Emulator() as emulator, Client(emulator.config, emulator.credentials) as client:
            yield Bench(emulator, client, Path(folder))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench() -> AsyncIterator[Bench]:
    async with new_bench() as made:
        yield made


@pytest.mark.parametrize("head", LISTS)
async def test_a_page_prints_every_word_of_a_list(head: str) -> None:
    (lines,) = (lines for lines in map(lines_of, WITH_LISTS) if head in lines)
    assert with_list(lines, head) == lines, AGAIN


def labels(line: str) -> tuple[str, ...]:
    return tuple(line.split(" | ")[:2])


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.titles[0])
async def test_a_table_of_the_page_has_the_rows_and_columns_that_are_tried(table: Table) -> None:
    lines = lines_of(ACCEPTED)
    head, rule, *rows = lines[table.span(lines)]
    assert [head, rule] == table.head, AGAIN
    assert [labels(line) for line in rows] == [labels(line_of((*row.labels, ""))) for row in table.rows], AGAIN


@pytest.mark.slow
@pytest.mark.parametrize("row", [*FILE_ROWS, *KIND_ROWS], ids=lambda row: row.id)
async def test_every_cell_of_a_row_is_what_happens(bench: Bench, row: Row) -> None:
    line = await bench.line(row)
    assert [each for each in lines_of(ACCEPTED) if labels(each) == labels(line)] == [line], AGAIN


async def test_records_of_a_server_are_read_as_the_table_says(bench: Bench, postgresql: str) -> None:
    async def fetched(what: What) -> Sequence[asyncpg.Record]:
        connection = await asyncpg.connect(postgresql)
        await connection.execute(f"create table {what} ({columns_of(what)})")
        await connection.copy_records_to_table(what, records=[tuple(each.values()) for each in shapes_of(what)])
        found = await connection.fetch(f"select * from {what}")
        await connection.close()
        return found

    records: dict[What, Sequence[asyncpg.Record]] = {
        "people": await fetched("people"),
        "products": await fetched("products"),
    }
    line = await bench.line(item_row("`asyncpg.Record`", lambda what: records[what]))
    assert line in lines_of(ACCEPTED)


async def write() -> None:
    """Tries everything, and writes the tables into the pages."""
    lines = lines_of(ACCEPTED)
    async with new_bench() as made:
        for table in TABLES:
            lines[table.span(lines)] = [*table.head, *[await made.line(row) for row in table.rows]]
    ACCEPTED.write_text("\n".join(lines) + "\n", "utf-8")
    for page in WITH_LISTS:
        lines = lines_of(page)
        for head in LISTS:
            lines = with_list(lines, head) if head in lines else lines
        page.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(write())
