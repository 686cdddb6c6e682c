"""Reads identifiers, operations and times from the cells of a block."""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import attrs

from socialapi.bulk.audiences.column_names import countries_for
from socialapi.bulk.audiences.columns import IdentifierLayout
from socialapi.bulk.audiences.countries import Country, UnclearCountry, calling_code_of, names_no_country, region_of
from socialapi.bulk.inputs.columns import quoted
from socialapi.bulk.inputs.null_words import NO_VALUE, is_null_word
from socialapi.bulk.inputs.numbers import is_missing, texts_of
from socialapi.bulk.inputs.reader import Block
from socialapi.models.audiences import IdentifierKind

When = str | datetime.datetime | None
UserBlock = Block[IdentifierLayout]

NOT_UNDERSTOOD: Final = "?"
"""Replaces an override of an unsupported type, so that it is rejected as an invalid operation type or time."""
SEPARATOR: Final = ":::"
"""The separator that Google Contacts puts between the addresses or numbers in a cell."""
MAX_TEXTS_PER_CELL: Final = 100
"""The maximum number of addresses or numbers in a list, or in a cell that is split."""
TOO_MANY_TEXTS: Final = f"is a list of more than {MAX_TEXTS_PER_CELL} values"
SEVERAL_ADDRESSES: Final = re.compile(r"additional[ _]email[ _]addresses|hs_additional_emails", re.IGNORECASE).fullmatch
"""Matches the name of the column in which HubSpot lists several addresses, separated by semicolons."""
OTHER_AREA_CODE: Final = (
    "has no country code, and {0} of the row may be its area code: join the two columns, or pass "
    'columns={{"region": {0}}} if that column has country codes (to ignore the column: columns={{"area_code": ""}})'
)
OTHER_COUNTRY: Final = (
    "has no country code, and the countries of the row differ ({0}): choose one column, for example with "
    'columns={{"region": {1}}}'
)
_is_area_code: Final = re.compile(r"[(0-9][0-9 ()/.-]{0,8}").fullmatch
_DECIMALS: Final = re.compile(r"[.,]0+$")
"""Matches the decimals of a code that a table stored as a number, such as `512.0`."""
_TEXTS: Final = frozenset({str, type(None)})
_WHOLE_NUMBERS: Final = frozenset({int, type(None)})


@attrs.define(eq=False, repr=False, weakref_slot=False)
class UserRow:
    """A row of a block, before it is normalized.

    `number` counts data rows from 1. `identifiers` are (field, kind, raw value) triples, where `field` is the column
    name in the input. `countries` maps each field to the country of its phone numbers. Each of the three overrides is
    None if the row does not have it. `problem` is a (field, reason) pair if the row could not be read. `unusable` has a
    (field, reason) pair for each value that is not a string.
    """

    number: int
    identifiers: list[tuple[str, IdentifierKind, str]]
    operation_type: str | None = None
    effective_at: When = None
    expires_at: When = None
    problem: tuple[str, str] | None = None
    unusable: tuple[tuple[str, str], ...] = ()
    countries: Mapping[str, Country] = {}


def user_rows(block: UserBlock) -> Iterator[UserRow]:
    """Yields the rows of a block one by one. This is slower than reading the block by column."""
    operation_types, effective_ats, expires_ats = overrides_of(block)
    for index in range(len(block)):
        identifiers, unusable = list[tuple[str, IdentifierKind, str]](), list[tuple[str, str]]()
        for column, name, kind in block.layout.identifiers:
            for text, reason in texts_in(block.columns[column][index], name, kind):
                if reason:
                    unusable.append((name, reason))
                elif text and not text.isspace():
                    identifiers.append((name, kind, text))
        problem = block.unreadable.get(index)
        yield UserRow(
            block.first_number + index,
            identifiers,
            operation_types[index],
            effective_ats[index],
            expires_ats[index],
            None if problem is None else ("", problem.reason),
            tuple(unusable),
            {name: country_of(block, index, name)[1] for _, name, _ in block.layout.identifiers}
            if block.layout.countries
            else {},
        )


def texts_in(cell: Any, field: str, kind: IdentifierKind) -> Iterator[tuple[str, str]]:
    """Yields the strings in a cell, like `texts_of`, but splits strings that contain several addresses or numbers."""
    # Normalizing thousands of strings from one cell would block the event loop.
    if isinstance(cell, list | tuple) and len(cell) > MAX_TEXTS_PER_CELL:
        yield "", TOO_MANY_TEXTS
        return
    separator = ";" if SEVERAL_ADDRESSES(field) else SEPARATOR
    for text, reason in texts_of(cell):
        if 0 < text.count(separator) < MAX_TEXTS_PER_CELL and kind in ("email", "phone_number"):
            yield from ((part, "") for part in text.split(separator))
        else:
            yield text, reason


def count_texts(cell: Any) -> int:
    """Returns the number of strings in a cell, at least 1. A string in a list counts once, even if `texts_in` splits
    it.
    """
    if isinstance(cell, list | tuple):
        return min(max(1, len(cell)), MAX_TEXTS_PER_CELL)
    return 1 + cell.count(SEPARATOR) if isinstance(cell, str) else 1


def _area_code_in(text: str) -> str:
    """Returns the digits of an area code, or an empty string for a salutation, an extension or a complete number."""
    text = _DECIMALS.sub("", text)
    digits = "".join(filter(str.isdecimal, text)) if _is_area_code(text) else ""
    return digits if digits.strip("0") else ""


def country_of(block: UserBlock, index: int, phone: str) -> tuple[str, Country]:
    """Returns the name of the country column that applies to a row's phone number in the column `phone`, and the
    country in that column. Uses the first group from `countries_for` that has a known country, or else the first column
    that has any value. Returns two empty strings if all country columns are empty.

    Returns an unclear country if the group has several countries, or if another column has the number's area code.
    """
    area = unknown = ("", "")
    known = dict[int, tuple[str, str]]()
    phones = tuple([name for _, name, kind in block.layout.identifiers if kind == "phone_number"])
    for group in countries_for(phone, phones, block.layout.countries):
        for column, name, may_be_area in () if known else group:
            cell = block.columns[column][index]
            if names_no_country(cell):
                continue
            # Any other cell without text names an unknown country: its reason stands for it.
            cells = islice(texts_of(cell), MAX_TEXTS_PER_CELL)
            texts = (text.strip() or why for text, why in cells)
            for country in (text for text in texts if text and not is_null_word(text)):
                if may_be_area and not country.startswith(("+", "00")):
                    area = area if area[1] else (name, _area_code_in(country))
                elif (code := calling_code_of(country)) is not None:
                    known.setdefault(code, (name, country))
                else:
                    unknown = unknown if unknown[1] else (name, country)
    if area[1]:
        reason = OTHER_AREA_CODE.format(quoted(area[0]))
    elif len(known) > 1:
        names = [quoted(name) for name, _ in known.values()]
        reason = OTHER_COUNTRY.format(" and ".join(dict.fromkeys(names)), names[0])
    else:
        return next(iter(known.values()), unknown)
    regions = [region_of(country) for _, country in known.values()]
    return "", UnclearCountry(tuple(filter(None, regions)), area[1], reason)


def countries_of(block: UserBlock, phone: str) -> Sequence[Country]:
    """Returns the country of each row's phone number, or an empty sequence if a country column contains values that are
    not strings.
    """
    columns = [block.columns[column] for column, _, _ in block.layout.countries]
    if not all(_TEXTS.issuperset(map(type, column)) for column in columns):
        return ()
    cells, known = list(zip(*columns, strict=True)), dict[tuple[Any, ...], Country]()
    for index, key in enumerate(cells):
        if key not in known:
            known[key] = country_of(block, index, phone)[1]
    return [known[key] for key in cells]


def overrides_of(block: UserBlock) -> tuple[Sequence[str | None], Sequence[When], Sequence[When]]:
    """Returns the operation types, the start times and the expiries of the rows."""
    layout, nothing = block.layout, (None,) * len(block)
    operations, effective_ats, expires_ats = (
        nothing if column is None else block.columns[column]
        for column in (layout.operation_type, layout.effective_at, layout.expires_at)
    )
    return list(map(_text, operations)), list(map(_time, effective_ats)), list(map(_time, expires_ats))


def texts_of_cells(cells: Sequence[Any]) -> tuple[Sequence[str], Sequence[int]]:
    """Returns the string in each cell (empty if it has no value), and the indexes of the cells that do not contain
    exactly one usable string.
    """
    kinds = frozenset(map(type, cells))
    if kinds <= _TEXTS:
        return (cells if type(None) not in kinds else [cell or "" for cell in cells]), ()
    try:
        if kinds <= _WHOLE_NUMBERS:
            return ["" if cell is None else str(cell) for cell in cells], ()
    except ValueError:  # Python refuses to convert numbers with too many digits
        pass
    texts, unusual = [""] * len(cells), list[int]()
    for index, cell in enumerate(cells):
        match list(islice(texts_of(cell), 2)):
            case []:
                pass
            case [(text, "")]:
                texts[index] = text
            case _:
                unusual.append(index)
    return texts, unusual


def _time(value: Any) -> When:
    # NaT, the missing time of pandas, is also an instance of date.
    if isinstance(value, datetime.date) and not is_missing(value):
        return value if isinstance(value, datetime.datetime) else value.isoformat()
    return _text(value)


def _text(value: Any) -> str | None:
    """Returns the override in a cell, or None if the cell is empty. A value of an unsupported type becomes
    `NOT_UNDERSTOOD`, which is rejected later.
    """
    if isinstance(value, str):
        text = value.strip()
        return text if text and text.lower() not in NO_VALUE else None
    return None if is_missing(value) else NOT_UNDERSTOOD
