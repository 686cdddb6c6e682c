"""Turns the cells of a feed into products."""

import functools
import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

import attrs

from socialapi.bulk.inputs.columns import shown_name
from socialapi.bulk.inputs.numbers import NOT_TEXT, NoDigits, digits_of, is_missing, is_number, looks_like_float
from socialapi.bulk.inputs.reader import IS_BLANK, Block
from socialapi.bulk.products.feed import IMAGES, ProductColumn, ProductLayout
from socialapi.bulk.products.merchant_values import (
    PRICES,
    doubt,
    is_amount,
    joined,
    known_currency,
    price_of,
    unchanged_tests,
    understood,
    with_currency,
)
from socialapi.bulk.products.rows import REQUIRED, ProductRow
from socialapi.internal.unset import Unset
from socialapi.models.products import Product
from socialapi.models.validation import Test, text_tests
from socialapi.reports import LOOKS_LIKE_FLOAT

NOT_UTF8: Final = "is not UTF-8 text: save the file as UTF-8"
NOT_UNICODE: Final = "is not UTF-8 text"
NUL: Final = "holds a NUL byte"
CATEGORY: Final = "product_type"
FIRST_OF_SEVERAL: Final = "has several values, of which the first one is sent"
_MAX_DEPTH: Final = 10
_MAX_VALUES: Final = 1_000
"""Of an array that is looked into."""
_IDENTIFIERS: Final = frozenset({"id", "gtin", "mpn", "item_group_id", "product_key", "item_group_key"})
_whole: Final = re.compile(r"([0-9]{1,18})|([0-9]{1,15})\.0+").fullmatch
_is_count: Final = re.compile("[0-9]{1,18}").fullmatch
_MAX_PLAIN: Final = 10**18
"""Whole numbers below it have neither more digits than 64 bits, nor take long to be written out."""
_REQUIRED: Final = frozenset(REQUIRED)
_EMPTY: Final = frozenset({type(None), Unset})
_NUMBERS: Final = frozenset({float, Decimal})


def product_rows(block: Block[ProductLayout]) -> list[ProductRow]:
    """The products of a block. What cannot be used of one is its problem.

    Most cells are texts that raise no question. These are read a column at a time, and a row that
    has any other cell by itself, with the same result.
    """
    columns = _columns(block)
    if columns is None:
        return [_product(block, index) for index in range(len(block))]
    by_itself = set[int]().union(block.faults, block.doubts, *(column.odd for column in columns))
    converted: dict[int, list[str]] = {}
    for column in columns:
        for index in column.converted:
            converted.setdefault(index, []).append(column.field)
    shown = block.layout.shown
    written = None if shown is None else list(map(list, zip(*(block.columns[at] for at in shown), strict=True)))
    return [
        _product(block, index)
        if index in by_itself
        else ProductRow(
            block.first_number + index,
            shape,
            values=None if written is None else written[index],
            converted=converted.get(index, ()),
            keeps_field_rules=True,
        )
        for index, shape in enumerate(_shapes(columns))
    ]


@attrs.frozen(eq=False, repr=False)
class _Column:
    """What the cells of a field are sent as, by their rows. An empty text is not sent.

    `odd` are the rows whose cell has to be looked at by itself, and `converted` those in which it
    is sent otherwise than it was written.
    """

    field: str
    values: Sequence[Any]
    has_gaps: bool
    odd: Collection[int]
    converted: Sequence[int] = ()


def _columns(block: Block[ProductLayout]) -> Sequence[_Column] | None:
    """The columns of a block; None where each row has to be read by itself."""
    layout, found = block.layout, list[_Column]()
    fields = [column.field for column in layout.columns]
    if len(set(fields)) < len(fields) or not _REQUIRED.issubset(fields):
        return None
    for each in layout.columns:
        cells = block.columns[each.index]
        if _EMPTY.issuperset(map(type, cells)) and each.field not in _REQUIRED:
            continue
        if each.field == "inventory":
            column = _counts(cells)
        elif layout.currency is not None and each.field in PRICES:
            column = _prices(each.field, cells, block.columns[layout.currency])
        else:
            column = _texts(each.field, cells)
        if len(column.odd) == len(block):
            return None
        found.append(column)
    return found


def _shapes(columns: Sequence[_Column]) -> Iterator[dict[str, Any]]:
    names = [column.field for column in columns]
    rows = zip(*(column.values for column in columns), strict=True)
    if any(column.has_gaps for column in columns):
        return ({name: value for name, value in zip(names, row, strict=True) if value != ""} for row in rows)
    return (dict(zip(names, row, strict=True)) for row in rows)


def _texts(field: str, cells: Sequence[Any]) -> _Column:
    """The cells of a field whose values are texts."""
    odd = set[int]()
    if set(map(type, cells)) != {str}:
        found = [_text_of(field, cell) for cell in cells]
        odd.update(index for index, text in enumerate(found) if text is None)
        cells = [text or "" for text in found]
    texts = list(map(str.strip, cells))
    different = set(texts)
    if has_gaps := "" in different:
        different.discard("")
        if field in _REQUIRED:
            odd.update(index for index, text in enumerate(texts) if not text)
    tests = _tests(field)
    if tests.pass_all(different):
        return _Column(field, texts, has_gaps, odd)
    sent = {text: text if tests.pass_all((text,)) else _sent(field, text) for text in different}
    odd.update(index for index, text in enumerate(texts) if text and sent[text] is None)
    values = [sent.get(text) or "" for text in texts]
    return _Column(
        field,
        values,
        has_gaps or "" in values,
        odd,
        [index for index, (text, value) in enumerate(zip(texts, values, strict=True)) if text != value],
    )


def _prices(field: str, cells: Sequence[Any], currencies: Sequence[Any]) -> _Column:
    """As `_texts`, of prices beside a column with their currencies."""
    codes = [known_currency(cell) if isinstance(cell, str) else None for cell in currencies]
    priced: list[Any] = []
    for cell, code in zip(cells, codes, strict=True):
        text = None if code is None else _text_of(field, cell)
        priced.append(cell if text is None or not is_amount(text.strip()) else f"{text.strip()} {code}")
    column = _texts(field, priced)
    pairs = enumerate(zip(column.values, codes, strict=True))
    contradicted = {index for index, (value, code) in pairs if value and code and not value.endswith(f" {code}")}
    return attrs.evolve(column, odd=contradicted.union(column.odd))


def _text_of(field: str, cell: Any) -> str | None:
    """The text of a cell, empty where it says nothing; None for one that has to be looked at."""
    if cell.__class__ is str:
        text: str = cell
        return text
    if cell.__class__ is int and abs(cell) < _MAX_PLAIN:
        return str(cell)
    if _says_nothing(cell):
        return ""
    if cell.__class__ not in _NUMBERS:
        return None
    number, fault = _of_number(field, cell)
    return number if fault is None and isinstance(number, str) else None


def _counts(cells: Sequence[Any]) -> _Column:
    """The cells of a field whose values are counts."""
    values = [_count_of(cell) for cell in cells]
    odd = {index for index, value in enumerate(values) if value is None}
    return _Column("inventory", values, "" in values, odd)


def _count_of(cell: Any) -> int | Literal[""] | None:
    """As `_text_of`, of a count that keeps the rules."""
    if cell.__class__ is str:
        text = cell.strip()
        return int(text) if _is_count(text) is not None else None if text else ""
    if cell.__class__ is int:
        count: int = cell
        return count if 0 <= count < _MAX_PLAIN else None
    if _says_nothing(cell):
        return ""
    number = _of_number("inventory", cell)[0] if cell.__class__ in _NUMBERS else None
    return _count_of(number) if number.__class__ is int else None


def _sent(field: str, text: str) -> str | None:
    """What is sent for a text; None where there is more to say."""
    if _fault(text) is not None or doubt(field, text) is not None:
        return None
    if field in _IDENTIFIERS and looks_like_float(text) is not None:
        return None
    meant = understood(field, text)
    return meant if all(test(meant) for test in _tests(field).rules) else None


@attrs.frozen(eq=False, repr=False)
class _Tests:
    """What the texts of a field have to pass: `rules` are those of `Product`, and `every` has the
    tests besides that show that a text is sent as it was written. An identifier must not look like
    a number that was rewritten.
    """

    rules: tuple[Test, ...]
    every: tuple[Test, ...]
    is_identifier: bool

    def pass_all(self, texts: Collection[str]) -> bool:
        """Whether all of these texts are sent as they were written, and there is nothing to say."""
        if _fault("".join(texts)) is not None or (self.is_identifier and any(map(looks_like_float, texts))):
            return False
        return all(all(map(test, texts)) for test in self.every)


@functools.cache
def _tests(field: str) -> _Tests:
    attrs.resolve_types(Product, include_extras=True)
    rules = text_tests(attrs.fields_dict(Product)[field].type)
    return _Tests(rules, (*rules, *unchanged_tests(field)), field in _IDENTIFIERS)


def _product(block: Block[ProductLayout], index: int) -> ProductRow:
    layout, number = block.layout, block.first_number + index
    values = None if layout.shown is None else [block.columns[at][index] for at in layout.shown]
    if (fault := block.faults.get(index)) is not None:
        place = block.place_of(index, fault.column)
        return ProductRow(number, {}, ("", place + fault.reason), values, is_blank=fault is IS_BLANK, place=place)
    reading = _Reading(block, index)
    for column in layout.columns:
        cell = block.columns[column.index][index]
        if not _says_nothing(cell):
            reading.take(column, cell)
    if layout.currency is not None:
        reading.take_currency(block.columns[layout.currency][index])
    place, problem = reading.place, reading.problem
    if (odd := block.doubts.get(index)) is not None:
        place = block.place_of(index, odd.column)
        problem = ("", place + odd.reason)
        values = None if values is None else [*values, *odd.surplus]
        if layout.shown and not any(each.field == "id" and each.index == layout.shown[0] for each in layout.columns):
            reading.shape.pop("id", None)  # what stands under it may belong under the column before
    return ProductRow(
        number, reading.shape, problem, values, warnings=reading.warnings, converted=reading.converted, place=place
    )


class _Reading:
    """What is known so far of the product in a row."""

    def __init__(self, block: Block[ProductLayout], index: int) -> None:
        self._block = block
        self._index = index
        self._names: dict[str, str] = {}
        self.shape: dict[str, Any] = {}
        self.problem: tuple[str, str] | None = None
        self.warnings: list[tuple[str, str]] = []
        self.converted: list[str] = []
        self.place = ""

    def take(self, column: ProductColumn, cell: Any) -> None:
        """Takes in what a cell says of its field."""
        field, fault = column.field, None
        if hasattr(cell, "tolist") and not is_number(cell):  # an array of NumPy or pandas
            cell = cell.tolist()
        if isinstance(cell, list | tuple):
            cell = self._of_several(field, cell)
        if field in PRICES and isinstance(cell, Mapping):
            cell = price_of(cell)
        if isinstance(cell, str):
            cell, fault = self._of_text(field, cell.strip())
        elif is_number(cell):
            cell, fault = _of_number(field, cell)
        elif isinstance(cell, uuid.UUID):
            cell = str(cell)
        if field in self._names and _differ(cell, self.shape.get(field)):
            fault = self._add(field, cell, column.name)
        else:
            self._names[field] = column.name
            self.shape[field] = cell
        if fault is not None and self.problem is None:
            number = column.number if self._block.is_text else None
            self.place = self._block.place_of(self._index, number)
            self.problem = (field, self.place + fault)

    def _of_several(self, field: str, cell: Sequence[Any]) -> Any:
        """What an array says. Of categories the service takes one, and merchants give several."""
        found = _one_of_several(field, cell)
        if field == CATEGORY and found is cell and all(isinstance(each, str) for each in cell):
            self.warnings.append((field, FIRST_OF_SEVERAL))
            return next(each for each in cell if not _says_nothing(each))
        return found

    def take_currency(self, cell: Any) -> None:
        """Takes in the currency of prices that are numbers alone."""
        for field in PRICES:
            price = self.shape.get(field)
            if isinstance(cell, str) and isinstance(price, str):
                self.shape[field] = with_currency(price, cell)

    def _add(self, field: str, cell: Any, name: str) -> str | None:
        """Takes in a second value of a field, which only images may have."""
        before = self.shape.get(field)
        if field == IMAGES and isinstance(before, str) and isinstance(cell, str):
            self.shape[field] = joined(field, (before, cell))
            return None
        if field == "id":  # nobody knows which
            self.shape.pop(field, None)
        return f"is there twice, as {shown_name(self._names[field])} and as {shown_name(name)}"

    def _of_text(self, field: str, text: str) -> tuple[Any, str | None]:
        """What a text says of a field, and what is wrong with it; the rules judge what is not
        understood.
        """
        if (fault := _fault(text)) is not None:
            has_file = self._block.lines is not None
            return text, fault if has_file or fault != NOT_UTF8 else NOT_UNICODE
        if field == "inventory" and (found := _whole(text)) is not None:
            return int(found[1] or found[2]), None
        if field in _IDENTIFIERS and looks_like_float(text):
            self.warnings.append((field, LOOKS_LIKE_FLOAT))
        meant = understood(field, text)
        if meant != text:
            self.converted.append(field)
        if (doubtful := doubt(field, text)) is None:
            return meant, None
        if meant == text and not _is_taken(text):
            return text, doubtful
        self.warnings.append((field, doubtful))
        return meant, None


_is_taken: Final = re.compile(r"[0-9]+(?:\.[0-9]+)? [A-Z]{3}").fullmatch
"""Matches a price that the service takes as it is."""


def _one_of_several(field: str, cell: Sequence[Any]) -> Any:
    """What an array says: several images as one text, a value that stands alone or is repeated, or
    the array itself.
    """
    if len(cell) > _MAX_VALUES:
        return cell
    try:
        texts = [str(each).strip() for each in cell if not _says_nothing(each)]
    except Exception:  # noqa: BLE001 - of more digits than Python writes, nested deeply, or whatever an object raises
        return cell
    if field == IMAGES or all(isinstance(each, str) for each in cell if not _says_nothing(each)):
        found = joined(field, texts)
        return cell if found is None else found
    return cell


def _differ(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except Exception:  # noqa: BLE001 - whatever a user's object raises
        return True


def _of_number(field: str, value: Any) -> tuple[Any, str | None]:
    """What a number says of a field, and what is wrong with it: digits, where an identifier or a
    text is meant.
    """
    if field == "inventory" and isinstance(value, int):
        return value, None
    try:
        digits = digits_of(value)
    except NoDigits as problem:
        fault = problem.reason
    else:
        return (int(digits) if field == "inventory" else digits), None
    # A fraction may be a text, such as a size, but no identifier; that a count has none is for the
    # rules.
    is_fine = fault == NOT_TEXT and field not in _IDENTIFIERS
    return (value if field == "inventory" else _written(value)), None if is_fine else fault


def _written(value: Any) -> Any:
    try:
        return str(value)
    except ValueError:  # of more digits than Python writes
        return value


def _says_nothing(value: Any, depth: int = 0) -> bool:
    """Whether an object might as well not have the name; what is nested deeply says something, if
    no field takes it.
    """
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, list | tuple):
        return (
            depth < _MAX_DEPTH and len(value) <= _MAX_VALUES and all(_says_nothing(each, depth + 1) for each in value)
        )
    return is_missing(value)


def _fault(text: str) -> str | None:
    if "\0" in text:
        return NUL
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return NOT_UTF8 if _has_undecoded(text) is not None else NOT_UNICODE
    return None


_has_undecoded: Final = re.compile("[\udc80-\udcff]").search
"""Finds what a byte that is not UTF-8 is read as."""
