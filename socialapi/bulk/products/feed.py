"""Turns table rows, objects and `Product` instances into products to load."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs

from socialapi.bulk.inputs.numbers import NOT_TEXT, NoDigits, digits_of, is_missing, is_number, looks_like_float
from socialapi.bulk.products.rows import FIELDS, IDENTIFYING, REQUIRED, ProductRow, printable
from socialapi.bulk.rejects import HEADER
from socialapi.errors import InvalidInput
from socialapi.models.products import Product
from socialapi.reports import LOOKS_LIKE_FLOAT
from socialapi.wire.encode import json_shape

NOT_UTF8: Final = "is not UTF-8 text: save the file as UTF-8"
NOT_UNICODE: Final = "is not UTF-8 text"
NUL: Final = "holds a NUL byte"
_IDENTIFIERS: Final = frozenset({"id", "gtin", "mpn", "item_group_id", "product_key", "item_group_key"})
_whole: Final = re.compile(r"([0-9]{1,18})|([0-9]{1,15})\.0+").fullmatch


@attrs.define(eq=False)
class Feed:
    """The names of a feed's columns, and the conversion of their values into products.

    `columns` are the names as written, without those that a rejects file adds in front; without a
    table, they are the fields of a product.
    """

    columns: Sequence[str] = FIELDS
    _names: Sequence[str] = ()
    _places: Sequence[tuple[int, str]] = ()
    _ours: int = 0

    def take_header(self, names: Sequence[str], line: int) -> None:
        """Raises InvalidInput, which names line and column, when what every product needs is not there."""
        places: dict[str, int] = {}
        for at, name in enumerate(names):
            field = field_of(name)
            if field in places:
                raise InvalidInput(f"line {line}: the columns {places[field] + 1} and {at + 1} are both called {field}")
            if field in FIELDS:
                places[field] = at
        missing = [name for name in REQUIRED if name not in places]
        if not missing and not any(name in places for name in IDENTIFYING):
            missing = [" or ".join(IDENTIFYING)]
        if missing:
            raise InvalidInput(f"line {line}: there is no column {', '.join(missing)}{_hint(missing, names)}")
        self._names = tuple(names)
        self._ours = len(HEADER) if self._names[: len(HEADER)] == HEADER else 0
        self.columns = self._names[self._ours :]
        self._places = [(at, field) for field, at in places.items()]

    def from_cells(self, cells: Sequence[str], number: int, line: int) -> ProductRow:
        """The product on a line of a table; an empty cell says nothing."""
        wide = len(self._names)
        values = cells if len(cells) >= wide else [*cells, *[""] * (wide - len(cells))]
        shape: dict[str, Any] = {}
        problem: tuple[str, str] | None = None
        warnings: list[tuple[str, str]] = []
        for at, field in self._places:
            text = values[at].strip()
            if not text:
                continue
            if (fault := _fault(text)) is not None and problem is None:
                problem = (field, f"line {line}, column {at + 1}: {fault}")
            shape[field] = _of_text(field, text, warnings)
        if len(cells) > wide:
            problem = ("", f"line {line}, column {wide + 1}: has {len(cells)} cells where there are {wide} columns")
            if (self._ours, "id") not in self._places:  # what stands under it may belong under the column before
                shape.pop("id", None)
        is_blank = not any(cell.strip() for cell in cells)
        if is_blank:
            problem = ("", f"line {line}: is blank")
        return ProductRow(number, shape, problem, values[self._ours :], is_blank=is_blank, warnings=tuple(warnings))

    def from_object(self, item: Mapping[Any, Any], number: int, place: str) -> ProductRow:
        """The product that an object describes.

        null, NaN and blank texts say nothing, and names that no product has are left out. A whole number is its digits, in
        whatever type it comes, unless digits of it may have been lost.
        """
        names: dict[str, str] = {}
        ids = 0
        shape: dict[str, Any] = {}
        problem: tuple[str, str] | None = None
        warnings: list[tuple[str, str]] = []
        for name, value in item.items():
            field = field_of(name) if isinstance(name, str) else ""
            if field not in FIELDS:
                continue
            given = _joined(value) if field == "additional_image_link" else value
            if _says_nothing(given):
                continue
            if isinstance(given, str):
                shape[field], fault = _of_text(field, given.strip(), warnings), _fault(given)
            else:
                shape[field], fault = _of_number(field, given) if is_number(given) else (given, None)
            if fault == NOT_UTF8 and not place:  # there is no file to save
                fault = NOT_UNICODE
            if field in names:
                fault = f"is there twice, as {printable(names[field])} and as {printable(name)}"
            names[field] = name
            ids += field == "id"
            if fault is not None and problem is None:
                problem = (field, f"{place}{fault}")
        if ids > 1:  # nobody knows which
            del shape["id"]
        return ProductRow(number, shape, problem, warnings=tuple(warnings))

    bundles: ClassVar[tuple[type, ...]] = ()

    def count(self, bundle: Any) -> int:
        """One product for each item."""
        return 1

    def table(self, items: Sequence[Any], *, number: int) -> None:
        """Every product is looked at by itself."""

    def rows(self, item: Any, *, number: int, position: int) -> Iterator[ProductRow]:
        """The product that an item of an iterable stands for. Raises InvalidInput for what is none."""
        if isinstance(item, Product):
            yield self.from_object(json_shape(item), number, "")
        elif isinstance(item, Mapping):
            yield self.from_object(item, number, "")
        else:
            raise InvalidInput(f"item {position} is a {type(item).__name__}: give Product, or mappings of its fields")

    def check(self) -> None:
        """Every item decides for itself."""


def field_of(name: str) -> str:
    """What a column is called, without what feeds add: blanks, capitals, hyphens, the prefix of a namespace."""
    return name.strip().lower().removeprefix("g:").replace(" ", "_").replace("-", "_")


def _hint(missing: Sequence[str], names: Sequence[str]) -> str:
    guesses = [(name, difflib.get_close_matches(name, map(field_of, names), n=1)) for name in missing]
    close = [f"{found[0]} might be meant for {name}" for name, found in guesses if found]
    shown = ", ".join(printable(name)[:40] for name in names[:40])
    return (f"; {'; '.join(close)}" if close else "") + f" (columns: {shown})"


def _of_text(field: str, text: str, warnings: list[tuple[str, str]]) -> Any:
    """A count where one is meant, as far as the text is one; the rules judge everything else. Other texts stay."""
    if field == "inventory" and (found := _whole(text)) is not None:
        return int(found[1] or found[2])
    if field in _IDENTIFIERS and looks_like_float(text):
        warnings.append((field, LOOKS_LIKE_FLOAT))
    return text


def _of_number(field: str, value: Any) -> tuple[Any, str | None]:
    """What a number says of a field, and what is wrong with it: digits, where an identifier or a text is meant."""
    if field == "inventory" and isinstance(value, int):
        return value, None
    try:
        digits = digits_of(value)
    except NoDigits as problem:
        fault = problem.reason
    else:
        return (int(digits) if field == "inventory" else digits), None
    # A fraction may be a text, such as a size, but no identifier; that a count has none is for the rules.
    is_fine = fault == NOT_TEXT and field not in _IDENTIFIERS
    return (value if field == "inventory" else _written(value)), None if is_fine else fault


def _written(value: Any) -> Any:
    try:
        return str(value)
    except ValueError:  # of more digits than Python writes
        return value


def _joined(value: Any) -> Any:
    """Several images may come as an array."""
    if not isinstance(value, list | tuple):
        return value
    try:
        return ",".join(str(each).strip() for each in value if not _says_nothing(each))
    except ValueError:  # a number of more digits than Python writes
        return value


def _says_nothing(value: Any) -> bool:
    """Whether an object might as well not have the name."""
    if isinstance(value, str):
        return not value.strip()
    return is_missing(value)


def _fault(text: str) -> str | None:
    if "\0" in text:
        return NUL
    if text.isascii():
        return None
    if any("\udc80" <= letter <= "\udcff" for letter in text):  # what a byte that is not UTF-8 is read as
        return NOT_UTF8
    return NOT_UNICODE if any("\ud800" <= letter <= "\udfff" for letter in text) else None
