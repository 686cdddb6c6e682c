"""Tables of people as other programs write them, undamaged and damaged at one place, and what a reader has to make of them.

Every row begins with a mark of its own, by which its place in the text is known, whoever has written it.
"""

import csv
import functools
import io
import random
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, Final

import attrs

from socialapi.bulk.audiences.cells import user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.csv import read_csv
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS

PIECES: Final = (
    *(
        "Ann",
        "Lee",
        "rue",
        "Straße",
        "東京",
        "O'Neil",
        "Dr.",
        "5",
        "12 m",
        "null",
        "=1+2",
        "#",
        "N/A",
        "x",
        "é",
        "-",
        "+",
    ),
    *('"', '""', "'", ",", ";", "|", "\t", "\n", "\r\n", "\\", "\\n", " ", "  ", '", ', '"\n', "\n\n", "\\N", ":", "/"),
)
TEXT_COLUMNS: Final = ("name", "note", "city", "Titel, Anrede", "remarks; internal")
EMAIL: Final = ("email", "E-Mail", "email_address")
PHONE: Final = ("phone", "Mobile")


@attrs.frozen
class Table:
    """The names of columns, and rows that begin with a mark; None is nothing."""

    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    email: int
    phone: int | None

    def identifiers(self, index: int) -> list[str]:
        """Returns what is to be read of a row."""
        wanted = (self.rows[index][at] for at in (self.email, self.phone) if at is not None)
        return [value for value in wanted if value]


def table(chance: random.Random, *, most_rows: int = 25, lines: bool = True) -> Table:
    """Returns a random table; without `lines`, no cell has a line end or a tab."""
    columns = ["mark", *chance.sample(TEXT_COLUMNS, chance.randint(0, 3)), chance.choice(EMAIL)]
    if has_phone := chance.random() < 0.5:
        columns.append(chance.choice(PHONE))
    first, *others = columns
    chance.shuffle(others)
    names = [first, *others]
    email = next(at for at, name in enumerate(names) if name in EMAIL)
    phone = next((at for at, name in enumerate(names) if name in PHONE), None) if has_phone else None
    odd = chance.choice((0.0, 0.2, 0.6))
    rows = [
        [_cell(chance, name, number, odd, lines=lines) for name in names]
        for number in range(chance.randint(1, most_rows))
    ]
    return Table(names, rows, email, phone)


def _cell(chance: random.Random, name: str, number: int, odd: float, *, lines: bool) -> str | None:
    if name == "mark":
        return f"r{number}x"
    if name in EMAIL:
        return f"p{number}@example.com"
    if name in PHONE:
        return None if chance.random() < 0.2 else f"+1415555{number:04}"
    if chance.random() >= odd:
        return chance.choice((f"Name {number}", "Ann", "Zürich", "", None))
    text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 6)))
    return text if lines else re.sub(r"[\r\n\t]", " ", text)


Write = Callable[[Table, random.Random], str]


def by_csv(given: Table, chance: random.Random) -> str:
    """As Python's module writes it, in every way of quoting."""
    way = chance.choice(("minimal", "all", "nonnumeric", "escaped", "unquoted"))
    quoting: dict[str, Any] = {"all": csv.QUOTE_ALL, "nonnumeric": csv.QUOTE_NONNUMERIC, "unquoted": csv.QUOTE_NONE}
    text = io.StringIO(newline="")
    escape = "\\" if way in ("escaped", "unquoted") else None
    writer = csv.writer(
        text,
        delimiter=chance.choice(",;\t|"),
        lineterminator=chance.choice(("\n", "\r\n")),
        quoting=quoting.get(way, csv.QUOTE_MINIMAL),
        escapechar=escape,
        doublequote=escape is None,
    )
    writer.writerows([given.names, *given.rows])
    return text.getvalue()


def by_pandas(given: Table, chance: random.Random) -> str:
    """As a DataFrame of pandas writes it."""
    import pandas

    written = pandas.DataFrame(given.rows, columns=list(given.names)).to_csv(
        sep=chance.choice(",;\t|"),
        index=False,
        quoting=chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)),
        lineterminator=chance.choice(("\n", "\r\n")),
    )
    return str(written)


def by_polars(given: Table, chance: random.Random) -> str:
    """As a DataFrame of Polars writes it."""
    import polars

    frame = polars.DataFrame([list(row) for row in given.rows], schema=list(given.names), orient="row")
    styles: Any = ("necessary", "always", "non_numeric")
    return str(frame.write_csv(separator=chance.choice(",;\t|"), quote_style=chance.choice(styles)))


def by_duckdb(given: Table, chance: random.Random) -> str:
    """As DuckDB copies it into a file."""
    import pyarrow

    columns = {name: [row[at] for row in given.rows] for at, name in enumerate(given.names)}
    table = pyarrow.table({name: pyarrow.array(cells, pyarrow.string()) for name, cells in columns.items()})
    forced = ", force_quote *" if chance.random() < 0.5 else ""
    delimiter = chance.choice(",;\t|")
    with tempfile.TemporaryDirectory() as folder:
        path, connection = Path(folder, "people.csv"), _connection()
        connection.register("people", table)
        connection.execute(f"copy people to '{path}' (format csv, header, delimiter '{delimiter}'{forced})")
        return path.read_bytes().decode()


@functools.cache
def _connection() -> Any:
    import duckdb

    return duckdb.connect()


def _joined(rows: Sequence[Sequence[str]], delimiter: str, end: str) -> str:
    return "".join(delimiter.join(row) + end for row in rows)


def _quoted_if(needed: Callable[[str], Any], cell: str | None) -> str:
    text = cell or ""
    return '"' + text.replace('"', '""') + '"' if needed(text) else text


def as_excel(given: Table, chance: random.Random) -> str:
    """As Excel saves CSV: a mark of UTF-8, the delimiter of the region, and quotes only where they are needed."""
    delimiter = chance.choice(",;\t")
    special = re.compile(f'[",\n\r{delimiter}]').search  # a comma is quoted in tab-separated text as well
    rows = [[_quoted_if(special, (cell or "").replace("\r\n", "\n")) for cell in row] for row in _all(given)]
    first = f"sep={delimiter}\r\n" if chance.random() < 0.2 else ""
    return "\ufeff" + first + _joined(rows, delimiter, "\r\n")


def as_libreoffice(given: Table, chance: random.Random) -> str:
    """As LibreOffice exports it, with or without `Quote all text cells`."""
    delimiter, every = chance.choice(",;\t"), chance.random() < 0.5
    special = re.compile(f'["\n\r{delimiter}]').search
    rows = [[_quoted_if(lambda text: text and (every or special(text)), cell) for cell in row] for row in _all(given)]
    return _joined(rows, delimiter, "\n")


def as_mysql(given: Table, chance: random.Random) -> str:
    r"""As `SELECT … INTO OUTFILE` writes it: backslashes before what is special, and `\N` for nothing."""
    enclosed, delimiter = chance.choice((("", "\t"), ('"', ",")))
    special = re.compile(rf"[\\\n{re.escape(enclosed or delimiter)}]" if enclosed else rf"[\\\n{delimiter}]")

    def cell_of(cell: str | None) -> str:
        return r"\N" if cell is None else enclosed + special.sub(lambda found: "\\" + found[0], cell) + enclosed

    return _joined([[cell_of(cell) for cell in row] for row in _all(given)], delimiter, "\n")


def as_bigquery(given: Table, chance: random.Random) -> str:
    """As BigQuery extracts it."""
    delimiter = chance.choice(",\t|")
    special = re.compile(f'["\n\r{re.escape(delimiter)}]').search
    return _joined([[_quoted_if(special, cell) for cell in row] for row in _all(given)], delimiter, "\n")


def as_spark(given: Table, chance: random.Random) -> str:
    """As Spark writes it: marks within quotes have a backslash, and nothing and an empty text differ."""
    delimiter = chance.choice(",;\t|")
    special = re.compile(f'["\n\r{re.escape(delimiter)}]').search

    def cell_of(cell: str | None) -> str:
        if cell is None:
            return ""
        cell = cell.strip(" ")  # as its options say, unless they are changed
        if cell and not special(cell):
            return cell
        return '"' + re.sub(r'\\(?=\\*(?:"|$))|"', lambda found: "\\" + found[0], cell) + '"'

    return _joined([[cell_of(cell) for cell in row] for row in _all(given)], delimiter, "\n")


def _all(given: Table) -> Sequence[Sequence[str | None]]:
    return [given.names, *given.rows]


WRITERS: Final[Mapping[str, Write]] = {
    "csv": by_csv,
    "pandas": by_pandas,
    "Polars": by_polars,
    "DuckDB": by_duckdb,
    "Excel": as_excel,
    "LibreOffice": as_libreoffice,
    "MySQL": as_mysql,
    "BigQuery": as_bigquery,
    "Spark": as_spark,
}

DEBRIS: Final = ('"', '"', '"', "", "", ",", ";", "\t", "\n", "'", "\\", " ", '""')


@attrs.frozen
class Damaged:
    """A text that is damaged at one place, and the rows, by index, and the lines that it touches."""

    text: str
    rows: frozenset[int]
    lines: range
    is_small: bool

    @property
    def is_ambiguous(self) -> bool:
        """Whether there are backslashes before what is special, and too few other rows to tell what they are."""
        return self.is_small and re.search(r'\\["\r\n,;\t|]', self.text) is not None


def damaged(text: str, given: Table, chance: random.Random) -> Damaged:
    """Replaces up to one character, below the names."""
    starts = [_start(text, row[0]) for row in given.rows]
    at = chance.randrange(starts[0], len(text))
    if chance.random() < 0.5:  # where marks and delimiters are, or belong
        at = chance.choice(
            [place.start() for place in re.finditer(r'[",;\t|\n\\]|(?<=[,;\t|])', text[starts[0] :])] or [0]
        )
        at += starts[0]
    stop = at + chance.choice((0, 1))
    new = chance.choice(DEBRIS)
    row = max(index for index, start in enumerate(starts) if start <= at)
    rows = {row}
    ends = [start - (2 if text[start - 2 : start] == "\r\n" else 1) for start in starts[1:]]
    if row < len(ends) and stop > ends[row]:  # the end of its line
        rows.add(row + 1)
    first = min(rows)
    stop_at = starts[max(rows) + 1] if max(rows) + 1 < len(starts) else len(text)
    lines = range(1 + _line_ends(text[: starts[first]]), 2 + _line_ends(text[:stop_at]) + new.count("\n") + 1)
    return Damaged(text[:at] + new + text[stop:], frozenset(rows), lines, len(given.rows) < 3)


def _start(text: str, mark: str | None) -> int:
    found = re.search(rf'^"?{mark}', text, re.MULTILINE)
    assert found is not None
    return found.start()


def _line_ends(text: str) -> int:
    return len(re.findall("\r\n|\n|\r", text))


@attrs.frozen
class Found:
    """The identifiers of each row that was read, and the error that ended the input."""

    rows: Sequence[Sequence[str]]
    error: str


def read(text: str) -> Found:
    """Reads a text as a file of users."""
    content = text.encode("utf-8", "surrogateescape").removeprefix(b"\xef\xbb\xbf")
    rows = list[Sequence[str]]()
    try:
        for block in read_csv(BufferedReader(BytesIO(content)), IdentifierColumns.of(None, IDENTIFIER_KINDS)):
            for index, row in enumerate(user_rows(block)):
                problem = block.ambiguous.get(index)
                columns = problem.columns if problem else ()
                names = {name for at, name, _ in block.layout.identifiers if block.layout.positions[at] + 1 in columns}
                rows.append([value for name, _, value in row.identifiers if name not in names and value != "\\N"])
    except InvalidInput as error:
        return Found(rows, error.message)
    return Found(rows, "")


def wrong_of(given: Table, text: str) -> str | None:
    """Returns what is wrong with the reading of an undamaged text."""
    found = read(text)
    if found.error:
        return found.error
    wanted = [given.identifiers(index) for index in range(len(given.rows))]
    return None if found.rows == wanted else f"read {found.rows}, not {wanted}"


def wrong_of_damaged(given: Table, hurt: Damaged) -> str | None:
    """Returns what is wrong with the reading of a damaged text: an undamaged row is missing, without an error there."""
    found = read(hurt.text)
    accepted = {value for row in found.rows for value in row}
    undamaged = {index: given.rows[index][given.email] for index in range(len(given.rows)) if index not in hurt.rows}
    missing = [index for index, email in undamaged.items() if email not in accepted]
    if not missing:
        return None
    if not found.error:
        return f"rows {missing} are missing without a word, of damaged {sorted(hurt.rows)}"
    line = re.match(r"line (\d+)", found.error)
    if line is None or int(line[1]) not in hurt.lines:
        return f"ends at another line than {hurt.lines}: {found.error}"
    before = [index for index in missing if index < min(hurt.rows)]
    return f"rows {before} before the error are missing: {found.error}" if before else None
