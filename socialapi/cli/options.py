"""Options that several commands share: input files, columns and numbers."""

import contextlib
import datetime
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import attrs
from cyclopts import Parameter, Token, validators

from socialapi.bulk.inputs.reader import BinaryFile, NoRows
from socialapi.bulk.progress import title_of as title_of_records
from socialapi.errors import InvalidInput

STANDARD_INPUT: Final = "-"


def _inputs(kind: Any, names: Sequence[str]) -> None:
    if odd := [name for name in names if name.startswith("-") and name != STANDARD_INPUT]:
        raise InvalidInput(f"there is no option {odd[0]}; to use a file of this name, write ./{odd[0]}")
    if len(names) > 1 and STANDARD_INPUT in names:
        raise InvalidInput("standard input cannot be combined with other files")


KIND_FORM: Final = "KIND=NAME, for example --column email=Contact"
FIELD_FORM: Final = "FIELD=NAME, for example --column price=Preis"
AsReport = Annotated[bool, Parameter(help="Print the report as one JSON object, the last line of the output.")]

# Declared as a path, so that shells complete file names. A `Path` would remove a slash from addresses.
if TYPE_CHECKING:
    FileName = str
else:
    FileName = Path


def _files(help: str, pattern: str) -> Parameter:  # noqa: A002  # as Parameter has it
    return Parameter(
        converter=lambda _, tokens: [token.value for token in tokens],
        name="FILE",
        help=f"{help}, optionally compressed with gzip or Zstandard, or Parquet. Several files, or a quoted pattern "
        f"({pattern}), are read as one. https:// and s3:// addresses work too, and - is standard input.",
        allow_leading_hyphen=True,  # allows `-`, which means standard input
        validator=_inputs,
    )


Files = Annotated[
    list[FileName], _files("CSV (any usual delimiter), JSON Lines or a JSON array in UTF-8", "'exports/*.csv'")
]
Feeds = Annotated[
    list[FileName],
    _files(
        "A feed as merchants write it: CSV or TSV, RSS or Atom with g: names, JSON Lines, or a JSON array",
        "'feeds/*.xml'",
    ),
]


FieldColumn = Annotated[
    list[str] | None,
    Parameter(help="Column with a field, as FIELD=NAME (price=Preis); repeatable. FIELD= ignores a field."),
]
FieldValue = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        help="Value of a field for products without one, as FIELD=VALUE (condition=new); repeatable. "
        "currency=USD sets the currency of prices that have none.",
    ),
]
Column = Annotated[
    list[str] | None,
    Parameter(
        help="Column with an identifier, or with the country of phone numbers, as KIND=NAME (email=Contact, region=Land); "
        "repeatable. KIND= ignores a kind.",
    ),
]


Region = Annotated[str | None, Parameter(help="Country of phone numbers without a country code, as two letters (US).")]
PhoneFormatOption = Annotated[
    Literal["auto", "international", "national"],
    Parameter(help="How to read phone numbers without a plus sign: auto takes whichever reading is valid."),
]
RequireHashed = Annotated[bool, Parameter(help="Accept only SHA-256 digests and partner_user_id, no raw values.")]
EffectiveAt = Annotated[str | None, Parameter(help="Start of membership, ISO 8601 with a time zone.")]
ExpiresAt = Annotated[str | None, Parameter(help="End of membership, ISO 8601 with a time zone.")]


def records_of(files: Sequence[str]) -> str | BinaryFile | list[str]:
    """Returns the records argument of a job. For standard input, it is a new file object, because reading `sys.stdin`
    cannot be interrupted.
    """
    if files[0] == STANDARD_INPUT:
        return open(0, "rb", buffering=0, closefd=False)
    return files[0] if len(files) == 1 else list(files)


def title_of(files: Sequence[str]) -> str:
    """Returns the title of the inputs for the progress display."""
    return "standard input" if files[0] == STANDARD_INPUT else title_of_records(files)


def mapping_of(columns: Sequence[str] | None, *, form: str = KIND_FORM) -> dict[str, list[str]] | None:
    """Returns the `--column` options in the form that jobs accept. Raises InvalidInput if one is invalid."""
    mapping: dict[str, list[str]] = {}
    for text in columns or ():
        kind, equals, name = text.partition("=")
        if not equals or not kind:
            raise InvalidInput(f"--column takes {form}, not {text!r}")
        mapping.setdefault(kind, []).extend([name] if name else [])
    return mapping or None


def constants_of(values: Sequence[str] | None) -> dict[str, str] | None:
    """Returns the `--set` options in the form that loads accept. Raises InvalidInput if one is invalid."""
    constants: dict[str, str] = {}
    for text in values or ():
        field, equals, value = text.partition("=")
        if not (field and equals and value):
            raise InvalidInput(f"--set takes FIELD=VALUE, for example --set condition=new, not {text!r}")
        if field in constants:
            raise InvalidInput(f"--set specifies {field} twice")
        constants[field] = value
    return constants or None


def keywords_of(flags: "attrs.AttrsInstance", *without: str) -> dict[str, Any]:
    """Returns the options of a command, except those in `without`, as the arguments of its job or lint."""
    given = attrs.asdict(flags, recurse=False)
    columns, form = given.pop("column"), FIELD_FORM if "set_" in given else KIND_FORM
    found: dict[str, Any] = {"columns": mapping_of(columns, form=form), "header": not given.pop("no_header")}
    if "set_" in given:
        found["constants"] = constants_of(given.pop("set_"))
    if given.get("concurrency", ...) is None:
        del given["concurrency"]
    return found | {name: value for name, value in given.items() if name not in ("json", *without)}


@contextlib.contextmanager
def telling_how_to_allow_nothing() -> Iterator[None]:
    """Adds `--allow-empty` to the error for an input without rows."""
    try:
        yield
    except NoRows as empty:
        says = f"{empty.message}; --allow-empty accepts that"
    else:
        return
    raise InvalidInput(says)


DATE_CODES: Final = "YymdFjGVuHMS"
"""The strftime codes allowed in file names: codes whose values are numbers without a slash."""


@functools.cache
def started_at() -> datetime.datetime:
    """Returns the local time of the first call in this process, so that all files of the process have the same date."""
    return datetime.datetime.now().astimezone()


def dated_path(kind: Any, tokens: Sequence[Token]) -> Path:
    """Returns the path with its codes replaced by the date, and `%%` by a percent sign. Raises ValueError for other
    codes.
    """
    return Path(re.sub("%(.?)", _part_of_date, tokens[0].value, flags=re.DOTALL))


def _part_of_date(code: re.Match[str]) -> str:
    if code[1] == "%":
        return "%"
    if not code[1] or code[1] not in DATE_CODES:
        known = ", ".join(f"%{each}" for each in DATE_CODES)
        raise ValueError(f"{code[0]} is not part of a date: use {known}, or %% for a percent sign")
    return started_at().strftime(code[0])


def undated(path: Path) -> str:
    """Returns the path with `%` escaped, which `dated_path` converts back."""
    return str(path).replace("%", "%%")


def lasting(option: str) -> Callable[[Any, Path | None], None]:
    """Returns the validator for a file that every run must find again, so its name must not contain a date."""

    def check(kind: Any, path: Path | None) -> None:
        if path is not None and (code := re.search(f"%[{DATE_CODES}]", str(path))):
            raise InvalidInput(
                f"{option} is the same file in every run, so its name cannot contain a date: remove {code[0]}"
            )

    return check


JournalOption = Annotated[
    Path | None,
    Parameter(
        converter=dated_path,
        help="Record the progress here. If the job stops or is killed, `socialapi jobs resume` or the same command "
        "sends only the rest. Use one journal per run: %Y-%m-%d in the name becomes the date.",
    ),
]
KeyOption = Annotated[
    str | None,
    Parameter(help="Column whose values identify rows in --outcomes. They are written unchanged: avoid personal data."),
]
OutcomesOption = Annotated[
    Path | None,
    Parameter(
        help="Write the outcome of each row here: row, key, outcome, reason. .csv, .jsonl or .parquet; %Y-%m-%d in the "
        "name becomes the date.",
        converter=dated_path,
    ),
]
DryRun = Annotated[bool, Parameter(help="Read and check everything, send nothing, and print a forecast.")]
AllowEmpty = Annotated[bool, Parameter(help="Accept an input without rows.")]
MaxRejectShare = Annotated[
    float | None,
    Parameter(
        help="Largest share of the rows that may be rejected (0 to 1); if more are rejected, no new requests are sent.",
        validator=validators.Number(gte=0, lte=1),
    ),
]
_WHOLE: Final = re.compile("[+-]?[0-9]{1,18}")


def whole_number(*, help: str, least: int | None = None, most: int | None = None) -> Parameter:  # noqa: A002  # as Parameter has it
    """Returns the declaration of an integer option. Fractions are rejected, not rounded."""
    bounds = validators.Number(gte=least, lte=most)
    return Parameter(help=help, converter=_whole, validator=bounds)


def _whole(kind: Any, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    if not _WHOLE.fullmatch(text):
        raise ValueError("must be a whole number")
    return int(text)


NoHeader = Annotated[
    bool, Parameter(help="The file has no header: --column contains column numbers (email=1, title=2).")
]
HeaderLine = Annotated[
    int | None,
    whole_number(help="Number of the header line, if a title or comments come first.", least=1),
]


LayoutOption = Annotated[
    Path | None,
    Parameter(
        help="Read the file with this layout, which lint --write-layout wrote. Nothing is guessed, and a file that "
        "does not match is rejected before anything is sent.",
        validator=lasting("--layout"),
    ),
]
WriteLayout = Annotated[
    Path | None,
    Parameter(
        help="Write the layout of the file here: its format, and the field of each column. Jobs read it with --layout.",
        validator=lasting("--write-layout"),
    ),
]


def time(option: str, text: str) -> datetime.datetime:
    """Returns the time of an option: a date (midnight UTC), or a time with its zone. Raises InvalidInput."""
    value = None
    with contextlib.suppress(ValueError):
        value = datetime.datetime.fromisoformat(text)
    if value is None:
        raise InvalidInput(f"{option} must be a date (2025-01-06) or a time (2025-01-06T09:00Z)")
    if "T" not in text.upper() and value.tzinfo is None and value.time() == datetime.time():
        return value.replace(tzinfo=datetime.UTC)
    if value.tzinfo is None:
        raise InvalidInput(f"{option} has no time zone: append Z for UTC, or an offset such as +02:00")
    return value
