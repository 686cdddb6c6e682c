"""Ten million records are uploaded in flat memory, from CSV and from Parquet, and looked at in flat memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow
import pytest
from pyarrow import parquet

from tests.proofs.processes import counting_service, run_client

pytestmark = [pytest.mark.timeout(3_600), pytest.mark.xdist_group("memory")]

ROWS: Final = 10_000_000
ROWS_WRITTEN_AT_ONCE: Final = 100_000
MEGABYTE: Final = 1_000_000
MAX_RESIDENT: Final = {".csv": 150 * MEGABYTE, ".parquet": 200 * MEGABYTE}
FLAT: Final = 10 * MEGABYTE
"""What the second half of the rows may add."""
ORDER: Final = {"account": "a", "audience": "c"}


def people(rows: int) -> Iterator[tuple[list[str], list[str]]]:
    """E-mail addresses and phone numbers, each of them once."""
    for start in range(0, rows, ROWS_WRITTEN_AT_ONCE):
        numbers = range(start, min(start + ROWS_WRITTEN_AT_ONCE, rows))
        yield [f"person.{number}@mail.example" for number in numbers], [f"+1415{number:07}" for number in numbers]


def write_csv(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("customer_id,email,phone\n")
        for emails, phones in people(rows):
            file.writelines(f"17,{email},{phone}\n" for email, phone in zip(emails, phones, strict=True))


def write_parquet(path: Path, rows: int, row_group: int) -> None:
    schema = pyarrow.schema({"customer_id": pyarrow.int64(), "email": pyarrow.string(), "phone": pyarrow.string()})
    with parquet.ParquetWriter(path, schema) as writer:
        gathered: list[pyarrow.Table] = []
        for emails, phones in people(rows):
            gathered.append(
                pyarrow.table({"customer_id": [17] * len(emails), "email": emails, "phone": phones}, schema)
            )
            if sum(map(len, gathered)) >= row_group:
                writer.write_table(pyarrow.concat_tables(gathered), row_group_size=row_group)
                gathered.clear()
        if gathered:
            writer.write_table(pyarrow.concat_tables(gathered), row_group_size=row_group)


def say(title: str, told: dict[str, Any], rows: int) -> None:
    resident = ", ".join(f"{each / MEGABYTE:.0f}" for each in told["resident"])
    print(
        f"\n{title}: {rows:,} rows in {told['seconds']:.1f} s ({rows / told['seconds']:,.0f} rows/s); resident {resident} "
        f"MB at 25, 50, 75 and 100 % of the input, peak {told['peak'] / MEGABYTE:.0f} MB"
    )


def check_memory(told: dict[str, Any], most: int, proof_scale: float) -> None:
    assert told["peak"] < most
    if proof_scale == 1:  # a small job ends before its memory has levelled off
        _, half, _, end = told["resident"]
        assert end - half < FLAT


@pytest.mark.parametrize(("name", "row_group"), [("csv", 0), ("parquet", 1_000_000), ("parquet", 100_000)])
def test_ten_million_records_are_uploaded_in_flat_memory(
    tmp_path: Path, proof_scale: float, name: str, row_group: int
) -> None:
    rows = int(ROWS * proof_scale)
    path = tmp_path / f"crm.{name}"
    if row_group:
        write_parquet(path, rows, row_group)
    else:
        write_csv(path, rows)
    with counting_service() as service:
        told = run_client("upload_client.py", service, path, ORDER)
    path.unlink()  # half a gigabyte, which pytest would keep for three runs
    say(f"{name}, row groups of {row_group:,}" if row_group else name, told, rows)
    assert told["adds_up"]
    assert (told["report"]["read"], told["report"]["accepted"]) == (rows, rows)
    check_memory(told, MAX_RESIDENT[path.suffix], proof_scale)
