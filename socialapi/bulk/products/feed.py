"""Finds the columns of a feed that contain product fields."""

import datetime
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Final, Self

import attrs

from socialapi.bulk.inputs.columns import (
    KEY,
    MAX_NAMES_KEPT,
    ColumnMapping,
    key_position,
    looks_personal,
    names_given,
    noted_as,
    positions_of,
    quoted,
    refuse_models,
    shown_name,
    with_article,
)
from socialapi.bulk.inputs.layouts import FoundFiles
from socialapi.bulk.inputs.objects import add_member
from socialapi.bulk.inputs.reader import ANY_FORM, FoundColumns, TableForm, note_names
from socialapi.bulk.products.merchant_values import (
    COMPANION_NAMES,
    CURRENCY,
    PRICES,
    SALE_DATES,
    SALE_PRICE,
    companion_of,
    comparable,
    fields_of,
    is_own,
    known_currency,
    may_tell_id,
    with_one_id,
)
from socialapi.bulk.products.price_objects import (
    MEMBERS,
    attribute_matters,
    has_amount,
    in_main_unit,
    is_in_small_units,
)
from socialapi.bulk.products.rows import FIELDS, IDENTIFYING, REQUIRED
from socialapi.bulk.products.texts import IMAGES, read_text
from socialapi.bulk.rejects import FILE_COLUMNS, HEADER
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord
from socialapi.models.products import Product
from socialapi.models.spelling import near_name
from socialapi.models.validation import Faults, broken_rules
from socialapi.reports import RowIssue

_SPLIT: Final = frozenset({"offerId", *(f"{field}.{name}" for field in PRICES for name in MEMBERS)})
"""The keys that show that an object must be rearranged."""
_member_of_price: Final = re.compile(rf"({'|'.join(sorted(PRICES))})\.(?:[^.@]+@)?([^.@]+)").fullmatch
_NAMES_COMPARED: Final = 200
_OFTEN_CONSTANT: Final = {"condition": "new", "availability": "in stock"}
Constants = Mapping[str, str | int]
"""Values for fields that a product lacks."""
_is_link: Final = re.compile(r"(?:https?:)?//\S+", re.IGNORECASE).fullmatch
_SALE_HAS_NO_DATES: Final = f"the columns with the start and end of sale prices are not read, so sale prices apply at all times: give both times in one column {SALE_DATES}, for example 2026-01-01T00:00+01:00/2026-01-31T23:59+01:00"
_ID_IS_ATTRIBUTE: Final = (
    'an id is read from an element id, not from an attribute: to read the attribute, give columns={{"id": "{}"}}'
)
_UNKNOWN_ATTRIBUTE: Final = "the attribute {} of {} is not read: check that it does not change the price"
_is_sale_date: Final = re.compile(
    "(?:dates?|on)*(?:sale|special|discount|promo(?:tion(?:al)?)?|offer)(?:price|dates?|effective|period|valid|is|on)*"
    "(?:start|begin|from|end|until|till|to|thru|through|expir\\w*|period|validity|dates)s?(?:on|at|date|time|gmt|utc)*"
).fullmatch
_not_letters: Final = re.compile("[^a-z]").sub
_is_price: Final = re.compile(r"\D{0,5}\d[\d.,' ]*\D{0,5}").fullmatch


@attrs.frozen
class ProductColumn(FrozenRecord):
    """A column that contains a field: its index in the block, and its number and name in the table."""

    index: int
    number: int
    field: str
    name: str


@attrs.frozen
class ProductLayout(FrozenRecord):
    """The columns of a block that contain product fields. Columns that have the name of their field come first.

    `companions` are the columns that are not fields, but say more about prices. `shown` are the indexes of the columns
    in the rejects file, if that file shows the original rows. `constants` are values for missing fields, and
    `default_currency` is the currency of prices without one.
    """

    positions: Sequence[int]
    columns: tuple[ProductColumn, ...]
    companions: tuple[ProductColumn, ...] = ()
    shown: Sequence[int] | None = None
    constants: tuple[tuple[str, str | int], ...] = ()
    default_currency: str | None = None
    key: int | None = None

    @property
    def roles(self) -> frozenset[tuple[str, str]]:
        """Pairs of a column name and the field that is read from it."""
        return frozenset((column.name, column.field) for column in (*self.columns, *self.companions))

    def is_row(self, cells: Sequence[str]) -> bool:
        """Returns whether these cells are a complete product: they have an id, and a link or a price."""
        values = {column.field: cells[column.number - 1].strip(' \t"') for column in reversed(self.columns)}
        is_usable = _is_link(values.get("link", "")) or _is_price(values.get("price", ""))
        return bool(values.get("id")) and is_usable is not None

    def is_aligned(self, cells: Sequence[str]) -> bool:
        """Returns False, because any column may contain text and numbers."""
        return False


@attrs.define(eq=False)
class ProductColumns(FoundColumns):
    """The selected columns of a feed: columns that have the name of a field, and columns that the user assigned to a
    field.

    `noted` maps each name found in the feed to its field (empty if it was ignored), and `remarks` are warnings about
    the entire feed. `table_names` are the column names of a text table, without the columns that a rejects file adds in
    front. `constants` are the values for products that lack a field or the currency.
    """

    given: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    form: TableForm = ANY_FORM
    files: FoundFiles = attrs.field(factory=FoundFiles, repr=False)
    remarks: list[RowIssue] = attrs.field(factory=list, repr=False)
    noted: dict[str, str] = attrs.field(factory=dict, repr=False)
    table_names: Sequence[str] = FIELDS
    constants: Mapping[str, str | int] = attrs.field(factory=dict)
    key: str | int | None = None
    no_ids: set[str] = attrs.field(factory=set, repr=False, init=False)
    """Other names of the id that stand next to the id in the first object of the file. They are not the id of an object
    that lacks it either: its `sku` may be the id of another product.
    """

    reads: ClassVar[str] = "products"
    roles: ClassVar[Sequence[str]] = FIELDS
    all_roles: ClassVar[Sequence[str]] = (*FIELDS, *COMPANION_NAMES)
    noun: ClassVar[str] = "products"
    items: ClassVar[str] = "Product"
    instead_of_paths: ClassVar[str] = ""
    why_no_xml: ClassVar[str | None] = None
    models: ClassVar[tuple[type, ...]] = (Product,)
    bundles: ClassVar[tuple[type, ...]] = ()

    @classmethod
    def of(
        cls,
        mapping: ColumnMapping | None,
        form: TableForm = ANY_FORM,
        constants: Constants | None = None,
        key: str | int | None = None,
    ) -> Self:
        """Returns the selection for a mapping of fields to column names, and for constants. Raises InvalidInput for an
        unknown field, and for a constant that is invalid for its field.
        """
        given: dict[str, tuple[str, ...]] = {}
        found, faults = dict[str, str | int](), Faults()
        for field, names in (mapping or {}).items():
            with faults:
                if field not in cls.all_roles:
                    raise _no_field(field, "give a column as field and name")
                given[field] = names_given(names)
                if len(given[field]) > 1 and field != IMAGES:
                    raise InvalidInput(f"{field} must come from one column, but {len(given[field])} are given")
                if field in PRICES and any(map(is_in_small_units, given[field])):
                    raise InvalidInput(
                        f"{field} cannot be read from {quoted(given[field][0])}, which is in cents or micros: give the "
                        "object that contains it, or a column in the currency's main unit"
                    )
        for field, value in (constants or {}).items():
            with faults:
                found[field] = _constant(field, value)
        faults.extend(form.problems())
        faults.refuse()
        return cls(given, form, constants=found, key=key)

    def flattened(self, objects: Sequence[Any]) -> Sequence[Any]:
        """Returns the objects, with the attributes of Google's Merchant API moved to the top level, with flattened
        price objects restored, and with the attributes of prices in XML as members of price objects.
        """
        # Checks for `dict` first, because the test for the abstract class is slow.
        mappings = [item for item in objects if item.__class__ is dict or isinstance(item, Mapping)]
        names, given = set[Any]().union(*mappings), {each for names in self.given.values() for each in names}
        self._note_ids(mappings)
        attributes = defaultdict[str, list[str]](list)
        for name in sorted(name for name in names if isinstance(name, str) and "@" in name):
            element, _, attribute = name.partition("@")
            # Attributes from other namespaces, such as xsi:nil, do not affect the amount.
            if element and ":" not in attribute and name not in given and self.role_of(element) in PRICES:
                attributes[element].append(name)
        if attributes:
            read = {name for each in attributes.values() for name in each if self.role_of(name)}
            objects = [
                _with_attributes(item, attributes, read) if isinstance(item, Mapping) else item for item in objects
            ]
        if not _SPLIT.isdisjoint(names):
            objects = [_rearranged(item, given) if isinstance(item, Mapping) else item for item in objects]
            names = set[Any]().union(*(item for item in objects if isinstance(item, Mapping)))
        is_dict = set(map(type, objects)) == {dict}
        texts = (name for name in names if isinstance(name, str) and (name in given or "price" in name.lower()))
        for name in (name for name in texts if self.role_of(name) in PRICES):
            # Of all objects, because the blocks of objects with different keys are short.
            before = [item.get(name) if is_dict or isinstance(item, Mapping) else None for item in objects]
            prices = in_main_unit(before)
            if prices is not before:
                objects = [
                    {**item, name: price} if isinstance(price, Mapping) else item
                    for item, price in zip(objects, prices, strict=True)
                ]
        return objects

    def _note_ids(self, objects: Sequence[Mapping[Any, Any]]) -> None:
        """Fills `no_ids` from the first object of a file. Later objects change nothing, because how a product is read
        must not depend on where a block ends.
        """
        if self.files.current.names is not None or not objects:
            return
        self.no_ids.clear()
        names = [name for name in objects[0] if isinstance(name, str) and may_tell_id(name)]
        if "id" in (fields := self._find(names)):
            others = (name for name, field in zip(names, fields, strict=True) if field != "id")
            self.no_ids.update(name for name in others if not is_own(name, "id"))

    def of_table(self, names: Sequence[str], line: int | None = None) -> ProductLayout:
        """Returns the layout of a table. Raises InvalidInput if a required or given column is missing."""
        location = "" if line is None else f"line {line}: "
        note_names(self, names)
        self.require_given(names, location)
        key_position(self.key, names, is_needed=True)
        fields = self._fields_of(names)
        self._refuse_same(names, fields, location)
        there = {*fields, *self.constants}
        missing = [name for name in REQUIRED if name not in there]
        if not missing and there.isdisjoint(IDENTIFYING):
            missing = [" or ".join(IDENTIFYING)]
        if missing:
            raise InvalidInput(location + _no_columns(missing, names, fields))
        if line is None:
            return self._layout(names, fields)
        headers = ((*HEADER, *FILE_COLUMNS), HEADER)
        own = next((len(each) for each in headers if tuple(names[: len(each)]) == each), 0)
        for name in names[:own]:  # added by a rejects file, so not reported
            self.noted.pop(name, None)
        self.table_names = tuple(names[own:])
        return attrs.evolve(self._layout(names, fields, every=True), shown=range(own, len(names)))

    def of_keys(self, names: Sequence[str]) -> ProductLayout:
        """Returns the layout of objects with these keys."""
        return self._layout(names, self._fields_of(names))

    def role_of(self, name: str) -> str:
        """Returns the field for a column name, or an empty string if the column is ignored."""
        return self._find((name,))[0] or ""

    def check_keys(self, names: Collection[str]) -> None:
        """Raises InvalidInput if a given column is missing, or if a file has no required field except possibly the id.
        Other missing fields are reported later, for each product.
        """
        note_names(self, names)
        self.require_given(tuple(names))
        key_position(self.key, tuple(names), is_needed=True)
        fields = self._find(tuple(names))
        missing = [name for name in REQUIRED if name not in {*fields, *self.constants}]
        if self.files.current.format and None in fields and missing and {*fields}.isdisjoint({*REQUIRED} - {"id"}):
            raise InvalidInput(_no_columns(missing, tuple(names), fields))

    def may_be_rows(self, names: Sequence[str]) -> bool:
        """Returns whether objects with these names have a price, and a link or an image. Categories and facets do not,
        although they have other names of a product.
        """
        fields = {*self._find(names), *self.constants}
        return "price" in fields and not fields.isdisjoint(("link", "image_link"))

    def look_at(self, columns: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Does nothing, because values do not show which field they belong to."""

    def of_models(self, items: Sequence[Any]) -> tuple[ProductLayout, Sequence[Sequence[Any]]]:
        """Returns the layout and columns of products."""
        refuse_models(self.key)
        columns = tuple(ProductColumn(at, at + 1, field, field) for at, field in enumerate(FIELDS))
        cells = [[getattr(item, field) for item in items] for field in FIELDS]
        return ProductLayout(range(len(FIELDS)), columns, **self._defaults()), cells

    def unbundled(self, bundle: Any) -> Iterator[Any]:
        """Yields the item itself, because an item is always a single product."""
        yield bundle

    def why_not(self, item: object) -> str:
        """Returns why an item cannot be read as a product."""
        kind = with_article(type(item).__name__)
        return f"is {kind}: give Product objects, mappings of product fields, or rows with these names"

    def _fields_of(self, names: Sequence[str]) -> list[str | None]:
        """Returns the field of each column, or None, and adds the names to `noted`. The currency counts as a field."""
        key_at = key_position(self.key, names)
        fields = [
            None if field == "id" and name in self.no_ids else field
            for name, field in zip(names, self._find(names), strict=True)
        ]
        for at, (name, field) in enumerate(zip(names, fields, strict=True)):
            taken = field or (KEY if at == key_at else None)
            known = noted_as(name)
            if known in self.noted or len(self.noted) < MAX_NAMES_KEPT:
                self.noted[known] = taken or self.noted.get(known, "")
        dates = (name for name in names if _is_sale_date(_not_letters("", comparable(name))))
        if "sale_price" in fields and SALE_DATES not in (*fields, *self.constants) and any(dates):
            remark = RowIssue(0, "", _SALE_HAS_NO_DATES)
            self.remarks += [] if remark in self.remarks else [remark]
        attributes = [name for name in names if name[:1] == "@"]
        if attributes and "id" not in fields and "id" in (found := fields_of([name[1:] for name in attributes])):
            remark = RowIssue(0, "", _ID_IS_ATTRIBUTE.format(attributes[found.index("id")]))
            self.remarks += [] if remark in self.remarks else [remark]
        for name in (name for name, field in zip(names, fields, strict=True) if field is None and "@" in name[1:]):
            element, _, attribute = name.partition("@")
            is_unknown = self.role_of(element) in PRICES and attribute_matters(attribute) is None
            if is_unknown and ":" not in attribute and len(self.remarks) < MAX_NAMES_KEPT:
                remark = RowIssue(0, "", _UNKNOWN_ATTRIBUTE.format(shown_name(attribute), shown_name(element)))
                self.remarks += [] if remark in self.remarks else [remark]
        return fields

    def _find(self, names: Sequence[str]) -> list[str | None]:
        """Returns the field of each column, or None. Raises InvalidInput if a column is given for two fields."""
        if (layout := self.form.layout) is not None:
            return with_one_id(names, self._assigned(layout.positions(names), names, [None] * len(names)))
        given_names = [each for given in self.given.values() for each in given]
        found = fields_of(["" if positions_of(given_names, (name,)) else name for name in names])
        positions = {field: positions_of(given, names) for field, given in self.given.items()}
        fields = self._assigned(positions, names, [None if field in self.given else field for field in found])
        return [
            companion if field is None and (companion := companion_of(name)) not in self.given else field
            for name, field in zip(names, fields, strict=True)
        ]

    @staticmethod
    def _assigned(
        given: Mapping[str, Sequence[int]], names: Sequence[str], fields: list[str | None]
    ) -> list[str | None]:
        for field, position in ((field, position) for field, positions in given.items() for position in positions):
            if (other := fields[position]) not in (None, field):
                name = shown_name(names[position])
                raise InvalidInput(
                    f"{name} is given for {other} and for {field}: a column can be read as one field only"
                )
            fields[position] = field
        return fields

    def _refuse_same(self, names: Sequence[str], fields: Sequence[str | None], location: str) -> None:
        """Raises InvalidInput if two columns have the name of the same field. A field may have several synonyms,
        because each row may use a different one.
        """
        first: dict[str, int] = {}
        for at, (name, field) in enumerate(zip(names, fields, strict=True)):
            if field is None or field in (IMAGES, *COMPANION_NAMES) or not is_own(name, field):
                continue
            if field in first:
                raise InvalidInput(f"{location}the columns {first[field] + 1} and {at + 1} are both called {field}")
            first[field] = at

    def _defaults(self) -> dict[str, Any]:
        constants = tuple((field, value) for field, value in self.constants.items() if field != CURRENCY)
        return {"constants": constants, "default_currency": self.constants.get(CURRENCY)}

    def _layout(self, names: Sequence[str], fields: Sequence[str | None], *, every: bool = False) -> ProductLayout:
        key_at = key_position(self.key, names)
        positions = [at for at, field in enumerate(fields) if every or field is not None or at == key_at]
        found = [
            ProductColumn(index, at + 1, field, names[at])
            for index, at in enumerate(positions)
            if (field := fields[at]) is not None
        ]
        columns = [column for column in found if column.field not in COMPANION_NAMES]
        return ProductLayout(
            positions,
            # A sale price may have the currency of the price, which is therefore read first.
            tuple(sorted(columns, key=lambda each: (each.field == SALE_PRICE, not is_own(each.name, each.field)))),
            tuple(column for column in found if column.field in COMPANION_NAMES),
            key=None if key_at is None else positions.index(key_at),
            **self._defaults(),
        )


def _no_field(field: str, form: str) -> InvalidInput:
    near = near_name(field, (*FIELDS, *COMPANION_NAMES))
    hint = f"; did you mean {near}?" if near else ""
    return InvalidInput(
        f"{quoted(field)} is not a field of a product{hint} ({form}, not the other way around; the fields are: "
        f"{', '.join(FIELDS)}, and {CURRENCY} for prices without one)"
    )


def _rearranged(item: Mapping[Any, Any], given: AbstractSet[str]) -> Mapping[Any, Any]:
    """Returns the object with its attributes and price objects in their places. Leaves the names in `given` as they
    are.
    """
    if _SPLIT.isdisjoint(item):
        return item
    attributes = item.get("productAttributes", item.get("attributes")) if "offerId" in item else None
    rearranged = {**item, **attributes} if isinstance(attributes, Mapping) else dict(item)
    for field in PRICES - rearranged.keys():
        price: dict[str, Any] = {}
        for name in [name for name in rearranged if isinstance(name, str) and name not in given]:
            # `price.amount@currency` is the currency. Deeper names, such as `price.regular.amount`, are other prices.
            if (member := _member_of_price(name)) is not None and member[1] == field:
                add_member(price, member[2], rearranged.pop(name))
        if price:
            rearranged[field] = price
    return rearranged


def _with_attributes(
    item: Mapping[Any, Any], attributes: Mapping[str, Sequence[str]], read: AbstractSet[str]
) -> Mapping[Any, Any]:
    """Returns the item, with a price object in place of each price whose attributes matter. Attributes in `read` do
    not, because they are columns. Prices or attributes that differ between several elements remain a list, which is
    rejected.
    """
    changed = dict(item)
    for element, names in attributes.items():
        given = {
            name: item[name]
            for name in names
            if name in item and attribute_matters(name.partition("@")[2], item[name], item.get(element))
        }
        columns = {name for name, value in given.items() if name in read and isinstance(value, str)}
        if len(columns) == len(given):
            continue
        for name in given.keys() - columns:
            del changed[name]
        parts = [item.get(element), *given.values()]
        different = (part for part in parts if isinstance(part, list) and any(each != part[0] for each in part))
        if (several := next(different, None)) is not None:
            changed[element] = several
            continue
        amount, *values = (part[0] if isinstance(part, list) else part for part in parts)
        price = dict(zip((name.partition("@")[2] for name in given), values, strict=True))
        for member, value in (amount if isinstance(amount, Mapping) else {"value": amount}).items():
            if value is not None:
                add_member(price, member, value)
        if amount is not None or has_amount(price):
            changed[element] = price
    return changed


def _constant(field: str, value: str | int) -> str | int:
    """Returns the value to send for a constant. Raises InvalidInput if no product can have this value."""
    if field == CURRENCY:
        if (code := known_currency(str(value))) is None:
            raise InvalidInput("the constant currency must be an ISO 4217 currency code, for example USD")
        return code
    if field not in FIELDS:
        raise _no_field(field, "specify each constant as a field and a value")
    if field == "id":
        raise InvalidInput("id cannot be a constant: each product needs its own")
    reading = read_text(field, str(value).strip())
    now = datetime.datetime.now(datetime.UTC)
    broken = (rule.reason for rule in broken_rules(Product, {field: reading.value}, now=now) if rule.path == field)
    problem = reading.problem or next(iter(reading.warnings), None) or next(broken, None)
    if problem is not None:
        raise InvalidInput(f"the constant {field} {problem}")
    return reading.value


def _no_columns(missing: Sequence[str], names: Sequence[str], fields: Sequence[str | None]) -> str:
    """Returns the error for missing fields, with the ignored columns that may contain them, and how to specify the
    right column.
    """
    # Only the first names are compared, because the search would take minutes for a wide table.
    unread = [name for name, field in zip(names[:_NAMES_COMPARED], fields, strict=False) if field is None]
    few = [shown_name(name) for name in unread if not looks_personal(name)]
    plain = tuple(name.strip().lower().removeprefix("g:") for name in few)
    guesses = [(name, near_name(name, plain)) for name in missing]
    close = "".join(f"; {found} might be meant for {name}" for name, found in guesses if found)
    listed = ", ".join(shown_name(name)[:40] for name in names[:40])
    hint = f"there is no column {', '.join(missing)}{close} (columns: {listed})"
    if " " in missing[0]:
        return hint
    hint += f'; specify the column with columns={{"{missing[0]}": "<column>"}}'
    constant = next((field for field in missing if field in _OFTEN_CONSTANT), None)
    if constant is None:
        return hint
    value = _OFTEN_CONSTANT[constant]
    return f'{hint}; if it is the same for all products, give constants={{"{constant}": "{value}"}}'
