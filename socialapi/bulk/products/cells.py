"""Turns the cells of a feed into products."""

import datetime
import functools
import re
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Final, Literal

import attrs

from socialapi.bulk.inputs.columns import shown_name
from socialapi.bulk.inputs.leftovers import is_wrapped
from socialapi.bulk.inputs.null_words import NULL_WORDS
from socialapi.bulk.inputs.numbers import NOT_TEXT, NoDigits, digits_of, is_missing, is_number, looks_like_float
from socialapi.bulk.inputs.reader import IS_BLANK, Block
from socialapi.bulk.products.feed import ProductColumn, ProductLayout
from socialapi.bulk.products.merchant_values import (
    CURRENCY,
    MAY_HAVE_ENTITIES,
    NO_CURRENCY,
    ON_SALE,
    PRICES,
    SALE_CURRENCY,
    SALE_DATES,
    SALE_PRICE,
    UNLIKE,
    URLS,
    has_entity,
    interval_of,
    is_amount,
    is_own,
    is_pence,
    known_currency,
    unchanged_tests,
)
from socialapi.bulk.products.price_objects import UNCLEAR_PRICE, has_currency, in_main_unit, price_of
from socialapi.bulk.products.rows import REQUIRED, ProductRow
from socialapi.bulk.products.texts import (
    CATEGORY,
    CONTROLS,
    FIRST_IMAGE,
    FIRST_OF_SEVERAL,
    IDENTIFIERS,
    IMAGES,
    LEFT_OUT,
    NOT_BELOW_ZERO,
    NOT_ON_SALE,
    NOT_UNICODE,
    NOT_UTF8,
    has_break,
    has_invisible,
    may_be_damaged,
    read_text,
    starts_marked,
    without_marks,
)
from socialapi.internal.unset import Unset
from socialapi.models.products import Product
from socialapi.models.validation import Test, text_tests

IS_LIST: Final = "is a list: give one value"
LARGE_COUNT: Final = "is larger than 64 bits"
_OF_SEVERAL: Final = frozenset({CATEGORY, "gtin"})
"""The fields for which the first of several values is sent."""
_MAX_DEPTH: Final = 10
_MAX_VALUES: Final = 1_000
"""The maximum length of an array that is searched for values."""
_is_count: Final = re.compile("[0-9]{1,18}").fullmatch
_TOO_LARGE: Final = 2**64
"""The first count that does not fit into the JSON of a request. Integers below it also convert quickly to strings."""
_REQUIRED: Final = frozenset(REQUIRED)
_EMPTY: Final = frozenset({type(None), Unset})
_NUMBERS: Final = frozenset({float, Decimal})
_NO: Final = frozenset({"false", "no", "n", "f", "0", "0.0"})


def with_main_units(block: Block[ProductLayout]) -> Block[ProductLayout]:
    """Returns the block with its price objects as `in_main_unit` returns them. Call it before the block is divided,
    because other rows may show the unit of a price.
    """
    if block.is_text:
        return block
    prices = {column.index for column in block.layout.columns if column.field in PRICES}
    return attrs.evolve(
        block, columns=[in_main_unit(cells) if at in prices else cells for at, cells in enumerate(block.columns)]
    )


def product_rows(block: Block[ProductLayout]) -> list[ProductRow]:
    """Returns the products of a block or of a part of one. Unusable products have a `problem`. Reads plain cells column by
    column.
    """
    reading = _Reading(block)
    for column in block.layout.columns:
        reading.take(column)
    for field, value in block.layout.constants:
        reading.fill(field, value)
    shown = block.layout.shown
    written = (
        (None,) * len(block) if shown is None else map(list, zip(*(block.columns[at] for at in shown), strict=True))
    )
    shapes, unusual, first = reading.shapes(), reading.unusual, block.first_number
    return [
        reading.row(index, shape, values)
        if index in unusual
        else ProductRow(first + index, shape, values=values, keeps_field_rules=True)
        for index, (shape, values) in enumerate(zip(shapes, written, strict=True))
    ]


class _Reading:
    """The values of a block's products while its columns are being read. Empty strings are not sent."""

    def __init__(self, block: Block[ProductLayout]) -> None:
        self._block = block
        self._companions: dict[str, Sequence[Any]] = {}
        for column in block.layout.companions:
            cells, before = _cells(block, column), self._companions.get(column.field)
            texts = {cell for cell in cells if isinstance(cell, str)}
            plain = {text: without_marks(column.field, text.strip()) for text in texts}
            cells = [plain[cell] if isinstance(cell, str) else cell for cell in cells]
            self._companions[column.field] = cells if before is None else _all_together(before, cells)
        self._values: dict[str, list[Any]] = {}
        self._names: dict[str, list[str]] = {}
        """For each field, the name of the column that provides each row's value."""
        self._problems: dict[int, list[tuple[str, str, str]]] = {}
        """Maps each row with problems to its unusable fields, each with the location in the file, and the reason."""
        self._warnings: dict[int, list[tuple[str, str]]] = {}
        self._converted: dict[int, list[str]] = {}
        self._further_images = dict[int, str]()
        """The further images in the `image_link` of a row."""
        self._has_gaps = False
        self._unchecked = set[int]()
        """The rows with a value that may be invalid for its field."""

    def take(self, column: ProductColumn) -> None:
        """Reads the cells of a column."""
        block, field, layout = self._block, column.field, self._block.layout
        cells = _cells(block, column)
        if field in dict(layout.constants):
            cells = ["" if _is_null_word(cell) else cell for cell in cells]
        if field in self._values and not is_own(column.name, field):
            # A value in the column with the field's own name takes precedence.
            names = self._names[field]
            own = {name for name in set(names) if is_own(name, field)}
            before = zip(cells, self._values[field], names, strict=True)
            cells = [cell if _is_empty(value) or name not in own else "" for cell, value, name in before]
        if _EMPTY.issuperset(map(type, cells)):
            return
        cells = self._on_sale(cells) if field == SALE_PRICE else cells
        currencies = self._currencies(field, cells) if field in PRICES else None
        plain = _plain(field, cells, currencies)
        values, problems = plain.values, dict[int, str | None]()
        self._has_gaps = self._has_gaps or bool(plain.unusual) or "" in values
        for index in plain.converted:
            self._converted.setdefault(index, []).append(field)
        for index in sorted(plain.unusual):
            self._unchecked.add(index)
            currency = None if currencies is None else currencies[index]
            currency = currency if isinstance(currency, str) else None
            values[index], problems[index] = self._cell(index, field, cells[index], currency)
        if field in self._values:
            self._merge(column, values, problems)
        else:
            self._values[field], self._names[field] = values, [column.name] * len(block)
        for index, problem in problems.items():
            if field == SALE_PRICE and problem == NO_CURRENCY:
                continue  # the price has none either, and is named
            if problem is not None:
                location = block.location_of(index, column.number if block.is_text else None)
                found = [each for each in self._problems.get(index, ()) if each[0] != field]
                # A problem with the id comes first, because without the id the product is unknown.
                found.insert(0 if field == "id" else len(found), (field, location, problem))
                self._problems[index] = found

    def _on_sale(self, prices: Sequence[Any]) -> Sequence[Any]:
        """Returns the sale prices without those of products that are not on sale, according to their row. If the row has
        the dates of the sale, they decide.
        """
        kept, dates = list(prices), self._values.get(SALE_DATES)
        for index, flag in enumerate(self._companions.get(ON_SALE, ())):
            if dates is not None and not _is_empty(dates[index]):
                continue
            is_plain = isinstance(flag, str | bool) or is_number(flag)
            if is_plain and str(flag).strip().lower() in _NO and not _has_no_value(kept[index]):
                self._warn(index, SALE_PRICE, NOT_ON_SALE)
                kept[index] = ""
        return kept

    def _currencies(self, field: str, prices: Sequence[Any]) -> Sequence[Any] | None:
        """Returns the currency next to each price. A price without one gets the default currency, and a sale price gets
        the price's currency. Returns None if no price has a currency to add.
        """
        default, main_prices, names = self._block.layout.default_currency, None, [CURRENCY]
        if field == SALE_PRICE:
            main_prices, names = self._values.get("price"), [SALE_CURRENCY, CURRENCY]
        columns = [self._companions[name] for name in names if name in self._companions]
        if not columns and default is None and (main_prices is None or not _texts(field, prices).unusual):
            return None
        found: list[Any] = []
        for index, price in enumerate(prices):
            given = (codes[index] for codes in columns)
            code = next((code for code in given if not (_has_no_value(code) or _is_null_word(code))), None)
            if code is None and not _is_empty(price) and not has_currency(price):
                own = default if main_prices is None else main_prices[index]
                code = known_currency(own.rpartition(" ")[2]) if isinstance(own, str) else None
            found.append(code)
        return None if found.count(None) == len(found) else found

    def fill(self, field: str, value: str | int) -> None:
        """Sets a field to this value in all products that have no value for it."""
        # Moved to the end, as if the block had no such column, because the order of fields must not depend on other
        # rows.
        values = self._values.pop(field, [""] * len(self._block))
        self._values[field] = [value if _is_empty(each) else each for each in values]

    def _merge(self, column: ProductColumn, values: Sequence[Any], problems: dict[int, str | None]) -> None:
        """Adds the values of another column for the same field. Only images may have several values."""
        field, before, names = column.field, self._values[column.field], self._names[column.field]
        for index, value in enumerate(values):
            if _is_empty(value):
                continue
            if _is_empty(before[index]):
                before[index], names[index] = value, column.name
                continue
            self._unchecked.add(index)
            if not _differ(value, before[index]):
                continue
            if field == IMAGES and isinstance(before[index], str) and isinstance(value, str):
                before[index] = self._images(index, before[index], value)
                continue
            if field in _OF_SEVERAL:
                self._warn(index, field, FIRST_OF_SEVERAL)
                continue
            problems[index] = f"occurs twice, as {shown_name(names[index])} and as {shown_name(column.name)}"
            if field == "id":  # either value may be the right id
                before[index] = ""

    def _images(self, index: int, one: str, other: str) -> str:
        """Returns the additional images of a row from two cells."""
        reading = read_text(IMAGES, f"{one},{other}" if one else other)
        for warning in reading.warnings:
            self._warn(index, IMAGES, warning)
        return str(reading.value)

    def shapes(self) -> Iterator[dict[str, Any]]:
        """Yields the fields to send for each row."""
        names = list(self._values)
        if not _REQUIRED.issubset(names):
            self._unchecked.update(range(len(self._block)))
        if not names:
            return iter([{} for _ in range(len(self._block))])
        rows = zip(*self._values.values(), strict=True)
        if not self._has_gaps:
            return (dict(zip(names, row, strict=True)) for row in rows)
        return (
            {name: value for name, value in zip(names, row, strict=True) if value.__class__ is not str or value}
            for row in rows
        )

    @property
    def unusual(self) -> AbstractSet[int]:
        """The rows with a problem, a warning, or a converted or unchecked value. Most feeds have few such rows."""
        of_block = (self._block.unreadable, self._block.ambiguous)
        return self._unchecked.union(*of_block, self._problems, self._warnings, self._converted)

    def row(self, index: int, shape: dict[str, Any], values: list[Any] | None) -> ProductRow:
        """Returns the product in a row, with its problem, its warnings and its converted fields."""
        block, layout = self._block, self._block.layout
        number = block.first_number + index
        if (problem := block.unreadable.get(index)) is not None:
            location = block.location_of(index, problem.column)
            return ProductRow(
                number, {}, ("", location + problem.reason), values, is_blank=problem is IS_BLANK, location=location
            )
        (field, location, reason), *others = self._problems.get(index, [("", "", "")])
        if index in self._further_images and isinstance(shape.get(IMAGES, ""), str):
            shape[IMAGES] = self._images(index, shape.get(IMAGES, ""), self._further_images[index])
        if (problem := block.ambiguous.get(index)) is not None:
            field, location, reason, others = "", block.location_of(index, problem.column), problem.reason, []
            values = None if values is None else [*values, *problem.surplus]
            is_first = any(
                each.field == "id" and layout.shown and each.index == layout.shown[0] for each in layout.columns
            )
            if layout.shown and not is_first:
                shape.pop("id", None)  # the cell may belong to the column before it
            if not problem.columns:  # the cells are not in their columns, and would look right in a rejects file
                shape = {name: value for name, value in shape.items() if name == "id"}
        if others:
            location = block.location_of(index, None)
        return ProductRow(
            number,
            shape,
            (field, location + reason) if reason else None,
            values,
            other_problems=[(field, reason) for field, _, reason in others],
            warnings=self._warnings.get(index, ()),
            converted=self._converted.get(index, ()),
            location=location,
            keeps_field_rules=not reason and index not in self._unchecked,
        )

    def _cell(self, index: int, field: str, cell: Any, currency: str | None) -> tuple[Any, str | None]:
        """Returns the value of a cell that is not a simple string or number, and its problem or None."""
        if hasattr(cell, "tolist") and not is_number(cell):  # an array of NumPy or pandas
            cell = cell.tolist()
        if _has_no_value(cell):
            return "", None
        if isinstance(cell, list | tuple):
            cell = self._of_several(index, field, cell)
        if isinstance(cell, Mapping | list | tuple):
            cell, problem = _of_object(field, cell)
            if problem is not None or not cell:
                return cell, problem
        if isinstance(cell, str):
            return self._of_text(index, field, cell.strip(), currency)
        if is_number(cell):
            value, problem = _of_number(field, cell)
            if problem is None and isinstance(value, str):
                return self._of_text(index, field, value, currency)
            if field == "inventory" and isinstance(value, int) and value < 0:
                self._warn(index, field, NOT_BELOW_ZERO)
                value = 0
            return value, problem
        is_label = field.startswith("custom_label") and isinstance(cell, bool | datetime.date)
        return (str(cell).lower() if is_label or isinstance(cell, uuid.UUID) else cell), None

    def _of_several(self, index: int, field: str, cell: Sequence[Any]) -> Any:
        """Returns the value of an array: all additional images in one string, as in a cell, a single or repeated value
        once, or the first value of a field for which merchants often give several. Returns any other array unchanged.
        """
        if len(cell) > _MAX_VALUES or isinstance(cell[0], Mapping):
            return cell[0] if len(cell) == 1 else cell
        given = [each for each in cell if not _has_no_value(each)]
        try:
            texts = [str(each).strip() for each in given]
        except Exception:  # noqa: BLE001 - too many digits, nesting that is too deep, or any error of a user's object
            return cell
        if field == IMAGES:
            return ",".join(texts)
        first, *others = dict.fromkeys(texts)
        if not all(isinstance(each, str) for each in given) or (others and field not in (*_OF_SEVERAL, "image_link")):
            return cell
        if others and field == "image_link":
            self._warn(index, field, FIRST_IMAGE)
            self._further_images[index] = ",".join(others)
        elif others:
            self._warn(index, field, FIRST_OF_SEVERAL)
        return first

    def _of_text(self, index: int, field: str, text: str, currency: str | None) -> tuple[Any, str | None]:
        reading = read_text(field, text, currency)
        for warning in reading.warnings:
            self._warn(index, field, warning)
        if reading.images:
            self._further_images[index] = reading.images
        if reading.problem is None and reading.value not in (text, ""):
            self._converted.setdefault(index, []).append(field)
        is_no_file = self._block.lines is None
        return reading.value, NOT_UNICODE if is_no_file and reading.problem == NOT_UTF8 else reading.problem

    def _warn(self, index: int, field: str, reason: str) -> None:
        warnings = self._warnings.setdefault(index, [])
        warnings += [] if (field, reason) in warnings else [(field, reason)]


def _cells(block: Block[ProductLayout], column: ProductColumn) -> Sequence[Any]:
    """Returns the cells of a column. UTF-8 bytes are read as strings."""
    cells = block.columns[column.index]
    if bytes not in set(map(type, cells)):
        return cells
    return [cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell for cell in cells]


def _all_together(some: Sequence[Any], others: Sequence[Any]) -> Sequence[Any]:
    """Returns the currency of each row from two columns. Compares each distinct pair of strings only once."""
    if {str}.issuperset(map(type, (*some, *others))):
        pairs = list(zip(some, others, strict=True))
        found = {pair: _together(*pair) for pair in set(pairs)}
        return [found[pair] for pair in pairs]
    return list(map(_together, some, others))


def _together(one: Any, other: Any) -> Any:
    """Returns the currency of a price from two columns. If their currencies differ, returns both. Otherwise returns the
    first one that is a currency, or the first value if neither is.
    """
    first, second = (
        (each if is_pence(each) else known_currency(each)) if isinstance(each, str) else None for each in (one, other)
    )
    if first and second:
        return one if first == second else f"{one.strip()}{UNLIKE}{other.strip()}"
    return other if second or (not first and _has_no_value(one)) else one


def _of_object(field: str, given: Mapping[Any, Any] | Sequence[Any]) -> tuple[Any, str | None]:
    """Returns the price or sale dates in an object, and None. Returns any other value unchanged, with the problem."""
    if isinstance(given, Mapping):
        found = price_of(given) if field in PRICES else interval_of(given) if field == SALE_DATES else None
        if found is not None:
            return found, None
    elif not isinstance(given[0], Mapping):
        return given, None if field == IMAGES else IS_LIST
    is_object = f'is an object: give the path of the value in it, as in columns={{"{field}": "<column>.value"}}'
    return given, UNCLEAR_PRICE if field in PRICES else is_object


def _is_empty(value: Any) -> bool:
    return value.__class__ is str and not value


@attrs.frozen(eq=False, repr=False)
class _Column:
    """The values to send for a column of a field, one per row. Empty strings are not sent.

    `unusual` are the rows whose cell must be read individually. `converted` are the rows whose value differs from the
    cell.
    """

    values: list[Any]
    unusual: Collection[int]
    converted: Sequence[int] = ()


def _plain(field: str, cells: Sequence[Any], currencies: Sequence[Any] | None) -> _Column:
    if field == "inventory":
        values = [_count_of(cell) for cell in cells]
        return _Column(values, {index for index, value in enumerate(values) if value is None})
    return _texts(field, cells) if currencies is None else _prices(field, cells, currencies)


def _texts(field: str, cells: Sequence[Any]) -> _Column:
    unusual = set[int]()
    try:
        texts = list(map(str.strip, cells))
    except TypeError:  # not all cells are strings
        found = [_text_of(field, cell) for cell in cells]
        unusual.update(index for index, text in enumerate(found) if text is None)
        texts = [(text or "").strip() for text in found]
    different = set(texts)
    if "" in different:
        different.discard("")
        if field in _REQUIRED:
            unusual.update(index for index, text in enumerate(texts) if not text)
    tests = _tests(field)
    if tests.pass_all(different):
        return _Column(texts, unusual)
    sent = {text: text if tests.pass_all((text,)) else _sent(field, text) for text in different}
    unusual.update(index for index, text in enumerate(texts) if text and sent[text] is None)
    values = [sent.get(text) or "" for text in texts]
    rows = enumerate(zip(texts, values, strict=True))
    return _Column(values, unusual, [index for index, (text, value) in rows if text != value and index not in unusual])


def _prices(field: str, cells: Sequence[Any], currencies: Sequence[Any]) -> _Column:
    """Reads prices like `_texts`, each with the currency from another column."""
    codes = [known_currency(cell) if isinstance(cell, str) else None for cell in currencies]
    priced: list[Any] = []
    for cell, code in zip(cells, codes, strict=True):
        text = None if code is None else _text_of(field, cell)
        priced.append(cell if text is None or is_amount(text.strip()) is None else f"{text.strip()} {code}")
    column = _texts(field, priced)
    pairs = enumerate(zip(column.values, codes, strict=True))
    contradicted = {index for index, (value, code) in pairs if value and code and not value.endswith(f" {code}")}
    texts = ((index, cell) for index, cell in enumerate(currencies) if isinstance(cell, str))
    contradicted.update(index for index, cell in texts if is_pence(cell) or UNLIKE in cell)
    converted = [index for index in column.converted if index not in contradicted]
    return _Column(column.values, contradicted.union(column.unusual), converted)


def _text_of(field: str, cell: Any) -> str | None:
    """Returns the string in a cell (empty for no value), or None if the cell must be read individually."""
    if cell.__class__ is str:
        text: str = cell
        return text
    if cell.__class__ is int and abs(cell) < _TOO_LARGE:
        return str(cell)
    if _has_no_value(cell):
        return ""
    if cell.__class__ not in _NUMBERS:
        return None
    number, problem = _of_number(field, cell)
    return number if problem is None and isinstance(number, str) else None


def _count_of(cell: Any) -> int | Literal[""] | None:
    """Returns the count in a cell (an empty string for no value), or None if the cell must be read individually."""
    if cell.__class__ is str:
        text = cell.strip()
        return int(text) if _is_count(text) is not None else None if text else ""
    if cell.__class__ is int:
        count: int = cell
        return count if 0 <= count < _TOO_LARGE else None
    if _has_no_value(cell):
        return ""
    number = _of_number("inventory", cell)[0] if cell.__class__ in _NUMBERS else None
    return _count_of(number) if number.__class__ is int else None


def _sent(field: str, text: str) -> str | None:
    """Returns the string to send, or None if the value is invalid or needs a warning."""
    reading = read_text(field, text)
    if reading.problem is not None or reading.warnings or not isinstance(reading.value, str):
        return None
    return reading.value if all(test(reading.value) for test in _tests(field).rules) else None


@attrs.frozen(eq=False, repr=False)
class _Tests:
    """The tests that show whether a value of a field can be sent unchanged.

    `rules` are the rules of `Product`, and `every` also includes tests that the value needs no conversion. In addition,
    the value must not be in `left_out`, an identifier must not look like a rewritten number, a URL must be a single one,
    and values of some fields must not contain HTML entities.
    """

    rules: tuple[Test, ...]
    every: tuple[Test, ...]
    left_out: frozenset[str]
    is_identifier: bool
    may_have_entities: bool
    is_url: bool

    def pass_all(self, texts: Collection[str]) -> bool:
        """Returns whether all these values can be sent unchanged and without a warning."""
        together = "".join(texts)
        try:
            data = together.encode()
        except UnicodeEncodeError:
            return False
        if any(map(data.__contains__, CONTROLS)) or not self.left_out.isdisjoint(texts):
            return False
        is_marked: Callable[[str], object] = is_wrapped if self.is_identifier else starts_marked
        has_marks = '"' in together or not together.isascii() if self.is_identifier else '="' in together
        if ("'" in together or has_marks) and any(map(is_marked, texts)):
            return False
        if self.is_identifier:
            may_be_float = any(map(together.__contains__, ".,eE"))
            has_more = "#" in together or has_break(together) is not None
            if has_more or (may_be_float and any(map(looks_like_float, texts))):
                return False
        is_odd = self.is_url and together.count("://") != len(texts)
        if not together.isascii():
            is_odd = is_odd or has_invisible(together) is not None or may_be_damaged(together) is not None
        if is_odd or (self.may_have_entities and has_entity(together) is not None):
            return False
        return all(all(map(test, texts)) for test in self.every)


@functools.cache
def _tests(field: str) -> _Tests:
    attrs.resolve_types(Product, include_extras=True)
    rules = text_tests(attrs.fields_dict(Product)[field].type)
    every = (*rules, *unchanged_tests(field))
    left_out = frozenset(text for text in LEFT_OUT[field] if all(test(text) for test in every))
    return _Tests(rules, every, left_out, field in IDENTIFIERS, field in MAY_HAVE_ENTITIES, field in URLS)


def _differ(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except Exception:  # noqa: BLE001 - any error of a user's object
        return True


def _of_number(field: str, value: Any) -> tuple[Any, str | None]:
    """Returns the value to send for a number (digits for identifiers and text fields), and the problem or None."""
    try:
        if field == "inventory":
            number = value if isinstance(value, int) else int(digits_of(value))
            return number, None if number < _TOO_LARGE else LARGE_COUNT
        return digits_of(value), None
    except NoDigits as problem:
        reason = problem.reason
    # A fraction is valid in a text field, such as a size, but not in an identifier. As a count, a fraction is rejected
    # by the rules of the field.
    is_fine = reason == NOT_TEXT and field not in IDENTIFIERS
    return (value if field == "inventory" else _written(value)), None if is_fine else reason


def _written(value: Any) -> Any:
    try:
        return str(value)
    except ValueError:  # Python limits the number of digits that it converts to a string
        return value


def _is_null_word(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in NULL_WORDS


def _has_no_value(value: Any, depth: int = 0) -> bool:
    """Returns whether a value is empty or contains only empty values. Deeply nested values never count as empty."""
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, Mapping):
        return not value  # PHP writes an empty object for an empty element of XML
    if isinstance(value, list | tuple):
        return (
            depth < _MAX_DEPTH and len(value) <= _MAX_VALUES and all(_has_no_value(each, depth + 1) for each in value)
        )
    return is_missing(value)
