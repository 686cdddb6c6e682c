"""Options that several commands share: input files, columns and numbers."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import Parameter, Token, validators

from socialapi.bulk.inputs.reader import BinaryFile, NoRows
from socialapi.errors import InvalidInput

STANDARD_INPUT: Final = "-"

Files = Annotated[
    list[Path],
    Parameter(
        name="FILE",
        help="CSV (any usual delimiter), JSON Lines or a JSON array in UTF-8, also packed with gzip or Zstandard, or Parquet. Several, "
        "or a quoted pattern ('exports/*.csv'), are read as one; - is standard input.",
        allow_leading_hyphen=True,  # allows `-`, which means standard input
        json_list=False,  # [ab].csv is a pattern
    ),
]
Feeds = Annotated[
    list[Path],
    Parameter(
        name="FILE",
        help="A feed as merchants write it: CSV or TSV, RSS or Atom with g: names, JSON Lines, or a JSON array, also packed "
        "with gzip or Zstandard, or Parquet. Several, or a quoted pattern ('feeds/*.xml'), are read as one; - is standard "
        "input.",
        allow_leading_hyphen=True,
        json_list=False,
    ),
]
FieldColumn = Annotated[
    list[str] | None,
    Parameter(
        help="Column that holds a field, as FIELD=NAME (price=Preis); repeatable. FIELD= ignores a field.", negative=()
    ),
]
Column = Annotated[
    list[str] | None,
    Parameter(
        help="Column that holds an identifier, as KIND=NAME (email=Contact); repeatable. KIND= ignores a kind.",
        negative=(),
    ),
]
Region = Annotated[str | None, Parameter(help="Country of phone numbers without a country code, as two letters (US).")]


def records_of(files: Sequence[Path]) -> str | BinaryFile | list[str]:
    """Returns the records argument of a job. Raises InvalidInput as `input_of` does."""
    names = list(map(str, files))
    inputs = [input_of(name) for name in names]
    if len(inputs) == 1:
        return inputs[0]
    if STANDARD_INPUT in names:
        raise InvalidInput("standard input is read alone, without files beside it")
    return names


def input_of(file: str) -> str | BinaryFile:
    """Returns the file, or standard input opened anew: reading Python's own cannot be interrupted.

    Raises InvalidInput for an option that does not exist.
    """
    if file == STANDARD_INPUT:
        return open(0, "rb", buffering=0, closefd=False)
    if file.startswith("-"):
        raise InvalidInput(f"there is no option {file} (see --help); a file of this name is ./{file}")
    return file


def title_of(files: Sequence[Path]) -> str:
    """Returns the title of the inputs for the progress display."""
    if len(files) > 1:
        return f"{len(files)} files"
    return "standard input" if str(files[0]) == STANDARD_INPUT else files[0].name


def mapping_of(
    columns: Sequence[str] | None, *, form: str = "KIND=NAME, for example --column email=Contact"
) -> dict[str, list[str]] | None:
    """Returns the `--column` options in the form that jobs take. Raises InvalidInput for others."""
    mapping: dict[str, list[str]] = {}
    for text in columns or ():
        kind, equals, name = text.partition("=")
        if not equals or not kind:
            raise InvalidInput(f"--column takes {form}, not {text!r}")
        mapping.setdefault(kind, []).extend([name] if name else [])
    return mapping or None


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


FIELD_FORM: Final = "FIELD=NAME, for example --column price=Preis"
_PARAMETER: Final = re.compile(r"[a-z]+(_[a-z]+)+|^[a-z]+")
"""Matches parameters of the service; one without an underscore only at the start of a path."""
JournalOption = Annotated[
    Path | None,
    Parameter(
        help="Keep here what is confirmed, so that the job can go on after a stop or a kill: `socialapi jobs resume`, or "
        "the same command again, sends only what is left."
    ),
]
AllowEmpty = Annotated[bool, Parameter(help="Accept an input without rows.", negative=())]
MaxRejectShare = Annotated[
    float | None,
    Parameter(help="Largest share of the rows that may be rejected (0 to 1); beyond it nothing new is sent."),
]
_WHOLE: Final = re.compile("[+-]?[0-9]{1,18}")


def whole_number(*, help: str, least: int | None = None, most: int | None = None) -> Parameter:  # noqa: A002  # as Parameter has it
    """Returns the declaration of an integer option. Fractions are refused rather than rounded."""
    bounds = validators.Number(gte=least, lte=most)
    return Parameter(help=help, converter=_whole, validator=bounds)


def _whole(kind: Any, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    if not _WHOLE.fullmatch(text):
        raise ValueError("must be a whole number")
    return int(text)


@contextlib.contextmanager
def named(options: Mapping[str, str]) -> Iterator[None]:
    """Replaces the parameters in broken rules by the names of the options."""
    try:
        yield
    except InvalidInput as problem:
        rules = [
            attrs.evolve(rule, path=_renamed(rule.path, options), reason=_renamed(rule.reason, options))
            for rule in problem.broken_rules
        ]
        raise InvalidInput(problem.message, rules) from None


def _renamed(text: str, options: Mapping[str, str]) -> str:
    return _PARAMETER.sub(lambda word: options.get(word[0], word[0]), text)
