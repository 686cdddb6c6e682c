"""Finds the columns of products in a feed, and turns its rows into products."""

import difflib
import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import attrs

from socialapi.bulk.inputs.columns import (
    MAX_NAMES_KEPT,
    ColumnMapping,
    ignored_names,
    looks_personal,
    noted_as,
    positions_of,
    printable_names,
    quoted,
    shown_name,
    with_article,
)
from socialapi.bulk.inputs.numbers import NOT_TEXT, NoDigits, digits_of, is_missing, is_number, looks_like_float
from socialapi.bulk.inputs.reader import IS_BLANK, Block
from socialapi.bulk.products.merchant_values import (
    doubt,
    fields_of,
    is_currency,
    joined,
    squeezed,
    understood,
    with_currency,
)
from socialapi.bulk.products.rows import FIELDS, IDENTIFYING, REQUIRED, ProductRow
from socialapi.bulk.rejects import HEADER, PLACE
from socialapi.errors import InvalidInput
from socialapi.models.products import Product
from socialapi.reports import LOOKS_LIKE_FLOAT

NOT_UTF8: Final = "is not UTF-8 text: save the file as UTF-8"
NOT_UNICODE: Final = "is not UTF-8 text"
NUL: Final = "holds a NUL byte"
IMAGES: Final = "additional_image_link"
"""The one field that may have several columns, and several values in one."""
CATEGORY: Final = "product_type"
FIRST_OF_SEVERAL: Final = "has several values, of which the first one is sent"
_CURRENCY: Final = "currency"
_NAMES_COMPARED: Final = 200
_MAX_DEPTH: Final = 10
_MAX_VALUES: Final = 1_000
"""Of an array that is looked into."""
_IDENTIFIERS: Final = frozenset({"id", "gtin", "mpn", "item_group_id", "product_key", "item_group_key"})
_whole: Final = re.compile(r"([0-9]{1,18})|([0-9]{1,15})\.0+").fullmatch


@attrs.frozen
class ProductColumn:
    """A column of a block that holds a field: its index there, its number in the table and its
    name.
    """

    index: int
    number: int
    field: str
    name: str


@attrs.frozen
class ProductLayout:
    """Which columns of a block hold which fields of products.

    `currency` is the index of the column with the currency of `price`, which has the name
    `currency_name`, and `shown` are the indexes
    of the columns that a rejects file shows, if it shows the row as it was written.
    """

    positions: Sequence[int]
    columns: tuple[ProductColumn, ...]
    currency: int | None = None
    shown: Sequence[int] | None = None
    currency_name: str = ""

    @property
    def roles(self) -> frozenset[tuple[str, str]]:
        """The name of each column, and the field that it holds."""
        fields = frozenset((column.name, column.field) for column in self.columns)
        return fields if self.currency is None else fields | {(self.currency_name, _CURRENCY)}


@attrs.define(eq=False)
class ProductColumns:
    """The columns to look for in a feed: those that are called as fields are, and those that were
    given for one.

    `noted` are the names that were met, each with the field (empty for none). `table_names` are
    those of a text table as written, without those that a rejects file adds in front.
    """

    given: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    noted: dict[str, str] = attrs.field(factory=dict, repr=False)
    table_names: Sequence[str] = FIELDS

    noun: ClassVar[str] = "products"
    items: ClassVar[str] = "Product"
    instead_of_paths: ClassVar[str] = ""
    why_no_xml: ClassVar[str | None] = None
    models: ClassVar[tuple[type, ...]] = (Product,)
    bundles: ClassVar[tuple[type, ...]] = ()

    @classmethod
    def of(cls, mapping: ColumnMapping | None) -> Self:
        """Checks a mapping of fields to names. Raises InvalidInput for what is no field of a
        product.
        """
        given: dict[str, tuple[str, ...]] = {}
        for field, names in (mapping or {}).items():
            if field not in FIELDS:
                near = difflib.get_close_matches(field, FIELDS, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise InvalidInput(
                    f"{quoted(field)} is not a field of a product{hint} (a column is given as field and name, not the "
                    f"other way round; the fields are: {', '.join(FIELDS)})"
                )
            given[field] = tuple(n for n in ((names,) if isinstance(names, str) else tuple(names)) if n)
            if len(given[field]) > 1 and field != IMAGES:
                raise InvalidInput(f"{field} comes from one column, and {len(given[field])} are given")
        return cls(given)

    def of_table(self, names: Sequence[str], line: int | None = None) -> ProductLayout:
        """The layout of a table. Raises InvalidInput, which names the line, when what every product
        needs is missing.
        """
        place = "" if line is None else f"line {line}: "
        self._require_given(names, place)
        fields = self._fields_of(names)
        self._refuse_same(names, fields, place)
        missing = [name for name in REQUIRED if name not in fields]
        if not missing and not any(name in fields for name in IDENTIFYING):
            missing = [" or ".join(IDENTIFYING)]
        if missing:
            raise InvalidInput(f"{place}there is no column {', '.join(missing)}{self._hint(missing, names)}")
        if line is None:
            return _layout(names, fields)
        own = _own_columns(names)
        for name in names[:own]:  # which the user never wrote, and need not hear of
            self.noted.pop(name, None)
        self.table_names = tuple(names[own:])
        return attrs.evolve(_layout(names, fields, every=True), shown=range(own, len(names)))

    def of_keys(self, names: Sequence[str]) -> ProductLayout:
        """The layout of objects with these keys."""
        return _layout(names, self._fields_of(names))

    def role_of(self, name: str) -> str:
        """The field for which a name is taken where there is no other."""
        return self._find((name,))[0] or ""

    def knows_any(self, names: Sequence[str]) -> bool:
        """Whether some of these names are of interest."""
        return any(self._find(names))

    def check_keys(self, names: Collection[str]) -> None:
        """Raises InvalidInput when a given column is not among the names; every product decides for
        itself otherwise.
        """
        self._require_given(tuple(names), "")

    def ignored_columns(self) -> Sequence[str]:
        """The names that were met and taken for nothing."""
        return ignored_names(self.noted)

    def of_models(self, items: Sequence[Any]) -> tuple[ProductLayout, Sequence[Sequence[Any]]]:
        """The layout and columns of products."""
        columns = tuple(ProductColumn(at, at + 1, field, field) for at, field in enumerate(FIELDS))
        cells = [[getattr(item, field) for item in items] for field in FIELDS]
        return ProductLayout(range(len(FIELDS)), columns), cells

    def unbundled(self, bundle: Any) -> Iterator[Any]:
        """Of no use: nothing holds several products."""
        yield bundle

    def why_not(self, item: object) -> str:
        """What is said of an item that is no product."""
        kind = with_article(type(item).__name__)
        return f"is {kind}: give Product, mappings of its fields, or rows that have them as names"

    def _fields_of(self, names: Sequence[str]) -> list[str | None]:
        """The field of each column, or None, which is noted; the currency counts as one."""
        fields = self._find(names)
        for name, taken in zip(names, fields, strict=True):
            known = noted_as(name)
            if known in self.noted or len(self.noted) < MAX_NAMES_KEPT:
                self.noted[known] = taken or self.noted.get(known, "")
        return fields

    def _find(self, names: Sequence[str]) -> list[str | None]:
        found = fields_of([name if self._is_free(name) else "" for name in names])
        fields = [None if field in self.given else field for field in found]
        for field, given in self.given.items():
            for position in positions_of(given, names):
                fields[position] = field
        return [
            _CURRENCY if field is None and is_currency(name) else field
            for name, field in zip(names, fields, strict=True)
        ]

    def _is_free(self, name: str) -> bool:
        return not any(positions_of(given, (name,)) for given in self.given.values())

    def _require_given(self, names: Sequence[str], place: str) -> None:
        for field, given in self.given.items():
            for each in given:
                if not positions_of((each,), names):
                    listed = printable_names(names)
                    raise InvalidInput(f"{place}there is no column {quoted(each)} for {field}; there are: {listed}")

    def _refuse_same(self, names: Sequence[str], fields: Sequence[str | None], place: str) -> None:
        """Refuses two columns that have the name of the same field; of synonyms, a row may use any
        one.
        """
        first: dict[str, int] = {}
        for at, (name, field) in enumerate(zip(names, fields, strict=True)):
            if field is None or field in (IMAGES, _CURRENCY) or _squeezed(name) != squeezed(field):
                continue
            if field in first:
                raise InvalidInput(f"{place}the columns {first[field] + 1} and {at + 1} are both called {field}")
            first[field] = at

    def _hint(self, missing: Sequence[str], names: Sequence[str]) -> str:
        # A wide table would keep the search busy for minutes.
        few = [shown_name(name) for name in names[:_NAMES_COMPARED] if not looks_personal(name)]
        plain = [name.strip().lower().removeprefix("g:").replace(" ", "_").replace("-", "_") for name in few]
        guesses = [(name, difflib.get_close_matches(name, plain, n=1)) for name in missing]
        close = [f"{found[0]} might be meant for {name}" for name, found in guesses if found]
        shown = ", ".join(shown_name(name)[:40] for name in names[:40])
        option = (
            f'; say which column it is with columns={{"{missing[0]}": "<column>"}} or --column {missing[0]}=<column>'
        )
        return (
            (f"; {'; '.join(close)}" if close else "") + f" (columns: {shown})" + ("" if " " in missing[0] else option)
        )


def _squeezed(name: str) -> str:
    return squeezed(name).removeprefix("g:")


def _own_columns(names: Sequence[str]) -> int:
    """How many columns a rejects file has added in front."""
    for header in ((*HEADER, *PLACE), HEADER):
        if tuple(names[: len(header)]) == header:
            return len(header)
    return 0


def _layout(names: Sequence[str], fields: Sequence[str | None], *, every: bool = False) -> ProductLayout:
    positions = [at for at, field in enumerate(fields) if every or field is not None]
    found = [(index, at, fields[at]) for index, at in enumerate(positions)]
    currency = next((index for index, _, field in found if field == _CURRENCY), None)
    return ProductLayout(
        positions,
        tuple(
            ProductColumn(index, at + 1, field, names[at])
            for index, at, field in found
            if field not in (None, _CURRENCY)
        ),
        currency,
        currency_name="" if currency is None else names[positions[currency]],
    )


def product_rows(block: Block[ProductLayout]) -> list[ProductRow]:
    """The products of a block. What cannot be used of one is its problem."""
    return [_product(block, index) for index in range(len(block))]


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
        for field in ("price", "sale_price"):
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
    if any("\udc80" <= letter <= "\udcff" for letter in text):  # what a byte that is not UTF-8 is read as
        return NOT_UTF8
    return NOT_UNICODE if any("\ud800" <= letter <= "\udfff" for letter in text) else None
