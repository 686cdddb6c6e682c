"""Files of people, as the works upload them."""

import csv
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

ROWS_A_GROUP: Final = 100_000
COLUMNS: Final = ("email", "phone_number")
People = Iterable[tuple[str, ...]]


def write_csv(path: Path, people: People, columns: Sequence[str] = COLUMNS) -> None:
    """A file with these people."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(people)


def write_parquet(path: Path, people: People, names: Sequence[str] = COLUMNS) -> None:
    """The same people, in row groups of the usual size; nothing where pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        return
    schema = pa.schema([(name, pa.string()) for name in names])
    rows = iter(people)
    with pq.ParquetWriter(path, schema) as writer:
        while group := list(itertools.islice(rows, ROWS_A_GROUP)):
            columns = zip(*group, strict=True)
            writer.write_table(pa.table([pa.array(each) for each in columns], schema=schema))
