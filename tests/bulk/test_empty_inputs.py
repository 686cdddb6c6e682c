"""An input without rows is the same thing for every job, whatever kind of input it is."""

import gzip
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.inputs.reader import NoRows
from socialapi.bulk.linting.linter import lint_records
from socialapi.errors import InvalidInput
from socialapi.reports import UploadReport
from tests.bulk.model_service import ModelService
from tests.bulk.model_service import job_of as upload_of
from tests.bulk.products.model_catalog import HEADER, ModelCatalog, numbered
from tests.bulk.products.model_catalog import job_of as load_of

COLUMNS: Final = [*HEADER.split(","), "email"]
HEAD: Final = f"{HEADER},email\n"
CONTENTS: Final = {
    "nothing.csv": b"",
    "mark.csv": b"\xef\xbb\xbf",
    "blank.csv": b"\n \r\n\n",
    "header.csv": HEAD.encode(),
    "header-and-blanks.csv": f"{HEAD}\n\n \t\r\n\n".encode(),
    "header.tsv": HEAD.replace(",", "\t").encode(),
    "nothing.jsonl": b"",
    "blank.jsonl": b"\n\n \n",
    "array.json": b"[]",
    "nothing.parquet": b"",
    "packed.csv.gz": gzip.compress(b""),
    "header.csv.gz": gzip.compress(HEAD.encode()),
    "unnamed": b"",
}


async def nothing() -> AsyncIterator[dict[str, str]]:
    for item in list[dict[str, str]]():
        yield item


def table() -> pyarrow.Table:
    return pyarrow.table({name: pyarrow.array([], pyarrow.string()) for name in COLUMNS})


def in_parquet() -> io.BytesIO:
    file = io.BytesIO()
    parquet.write_table(table(), file)
    file.seek(0)
    return file


IN_MEMORY: Final = {
    "list": list,
    "tuple": tuple,
    "generator": lambda: (each for each in list[Any]()),
    "async generator": nothing,
    "range": lambda: range(0),
    "open file": io.BytesIO,
    "pyarrow": table,
    "without columns": lambda: pyarrow.table({}),
    "pandas": lambda: pandas.DataFrame(columns=COLUMNS, dtype="str"),
    "pandas without columns": pandas.DataFrame,
    "polars": lambda: polars.DataFrame(schema=dict.fromkeys(COLUMNS, polars.String)),
    "parquet": in_parquet,
}


@pytest.fixture(params=[*CONTENTS, *IN_MEMORY])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An input without rows."""
    if request.param in IN_MEMORY:
        return IN_MEMORY[request.param]()
    path = tmp_path / request.param
    path.write_bytes(CONTENTS[request.param])
    return path


def is_empty(report: UploadReport) -> bool:
    return not any(report.counts.values()) and report.adds_up


async def test_an_upload_of_nothing_has_an_empty_report(empty: Any, tmp_path: Path) -> None:
    service = ModelService()
    assert is_empty(await upload_of(service, empty, rejects=tmp_path / "rejects", journal=tmp_path / "journal").run())
    assert not service.requests
    assert not (tmp_path / "rejects").exists()


async def test_a_load_of_nothing_has_an_empty_report(empty: Any, tmp_path: Path) -> None:
    service = ModelCatalog()
    assert is_empty(await load_of(service, empty, digests=tmp_path / "digests", journal=tmp_path / "journal").run())
    assert not service.requests


async def test_a_look_at_nothing_finds_that_there_is_nothing(empty: Any) -> None:
    report = await lint_records(empty)
    assert report.rows == 0
    assert [finding.text for finding in report.findings] == ["there are no rows"]


async def test_where_nothing_is_not_allowed_it_is_refused(empty: Any) -> None:
    service = ModelService()
    with pytest.raises(NoRows):
        await upload_of(service, empty, allow_empty=False).run()
    assert not service.requests


async def test_a_load_that_deletes_never_takes_nothing(empty: Any, tmp_path: Path) -> None:
    service, digests = ModelCatalog(), tmp_path / "of.digests"
    await load_of(service, numbered(3), digests=digests).run()
    service.requests.clear()
    with pytest.raises(InvalidInput, match="an empty feed would delete every product"):
        await load_of(service, empty, digests=digests, delete_vanished=True, max_vanished_share=1.0).run()
    assert (service.requests, service.deletions) == ([], [])
    report = await load_of(service, numbered(3), digests=digests).run()
    assert (report.skipped, report.vanished) == (3, 0)


async def test_a_column_that_is_not_there_is_a_mistake_with_rows_or_without(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("e_male_\n", "utf-8")
    with pytest.raises(InvalidInput, match="no column of identifiers was found"):
        await upload_of(ModelService(), path).run()
    with pytest.raises(InvalidInput, match="there is no column id"):
        await load_of(ModelCatalog(), path).run()
