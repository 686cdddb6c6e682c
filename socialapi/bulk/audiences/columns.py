"""Finds the columns of a table, or the keys of an object, that contain the identifiers of an upload."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, ClassVar, Final, Self, cast

import attrs

from socialapi.bulk.audiences.cleanup import cleaned_phone_number, digest_in
from socialapi.bulk.audiences.column_names import (
    AREA_CODE,
    REGION,
    CountryColumn,
    countries_for,
    detected_as,
    folded,
    set_aside,
)
from socialapi.bulk.audiences.countries import may_be_country, names_no_country, region_of
from socialapi.bulk.audiences.normalize import is_identifier, normalizers
from socialapi.bulk.audiences.phone_numbers import PhoneFormat, check_region, may_be_number
from socialapi.bulk.inputs.columns import (
    KEY,
    MAX_NAMES_KEPT,
    OVERRIDES,
    ColumnMapping,
    has_address,
    is_value,
    key_position,
    looks_personal,
    names_given,
    noted_as,
    positions_of,
    printable_names,
    quoted,
    refuse_models,
    shown_name,
    with_article,
)
from socialapi.bulk.inputs.layouts import FileLayout, FoundFiles
from socialapi.bulk.inputs.null_words import is_null_word
from socialapi.bulk.inputs.numbers import is_gtin, texts_of
from socialapi.bulk.inputs.objects import paths_in, value_at
from socialapi.bulk.inputs.reader import ANY_FORM, COLUMNS_LOOKED_AT, FoundColumns, TableForm, note_names
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord
from socialapi.internal.unset import UNSET
from socialapi.models.audiences import (
    IDENTIFIER_KINDS,
    AudienceUser,
    DoNotReachOperation,
    DoNotReachUser,
    IdentifierKind,
    Operation,
)
from socialapi.models.spelling import near_name
from socialapi.models.validation import Faults
from socialapi.reports import HOLDS_IDENTIFIERS, IS_NOT_READ, RowIssue

_NAME_WORDS: Final = frozenset(
    {"account", "contact", "handle", "id", "login", "member", "name", "names", "nick", "profile", "screen", "twitter"}
    | {"user", "username", "users", "x"}
)
"""Words that occur in column names. A string with one of them is a column name, even if it could be a handle."""
_DIGITS_OF_DATE: Final = 8
_MOST_DIGITS: Final = 17
"""The maximum number of digits in a phone number: 00 and the 15 digits that E.164 allows."""
MAX_OVERLOOKED: Final = 50
MAX_IDENTIFIER_COLUMNS: Final = 100
"""The maximum number of identifier columns. Each column takes time on the event loop at every step, even if few rows
have a value.
"""
_USER_NAMES: Final = ("username", "login", "userlogin", "loginname", "nickname")
_VALUES_LOOKED_AT: Final = 100
_PATHS_LOOKED_AT: Final = 5_000
_NESTED_LOOKED_AT: Final = 10
"""The maximum number of nested objects of a column in which identifiers are searched. A hundred of them would block the
event loop for milliseconds.
"""
_VALUES_PER_EXCEPTION: Final = 10
_LONGEST: Final = 320
"""The maximum number of characters in an e-mail address."""
_several: Final = re.compile(r"\s*(?:[;,|\n]|:::)\s*").split
_looks_like_email: Final = re.compile(r"(?:mailto:|[^@<>]*<)?[^@\s,;<>\"]+@[^@\s,;<>\"]+\.[^@\s,;<>\"]{2,}>?").fullmatch
_looks_like_phone_number: Final = re.compile(
    r"(?:p:|tel:)?(?:(?:\+[1-9]|\(0?[1-9][0-9]{1,4}\) ?[0-9]|0[1-9][0-9]{1,4}[ /-][0-9])[0-9 ()/.-]{5,16}[0-9]"
    r"|[2-9][0-9]{2}[ .-][2-9][0-9]{2}[ .-][0-9]{4}|0[1-9](?:[ .-][0-9]{2}){4})"
).fullmatch
_may_be_national_number: Final = re.compile("0[1-9][0-9]{8,9}|[2-9][0-9]{2}[2-9][0-9]{6}").fullmatch
"""Matches digits that may be a national phone number or, for example, an order number. The column name decides."""
_are_digits: Final = re.compile("(?!1[0-9]{9}$)[0-9]{9,15}").fullmatch
"""Matches strings of digits that are long enough for a phone number and are not a time in epoch seconds."""
_DIGITS_OF_EAN: Final = 13
_has_international_number: Final = re.compile(r"\+[1-9](?:[ ()/.-]*[0-9]){6}").search
_SHOW_THEIR_KIND: Final[Mapping[str, Callable[[str], object]]] = {
    "email": _looks_like_email,
    "phone_number": re.compile(r"(?:\+|00)[1-9][0-9 ()/.-]{6,}").fullmatch,
}
"""Tests for values that can belong to only one kind of identifier."""
_unusual_separators: Final = re.compile(r"[~^:*#!&%=+§¦¬]").findall
_DIGESTS: Final = "SHA-256 digests"
_MIXED: Final = "e-mail addresses and phone numbers"
_READS: Final = {_DIGESTS: "reads them as digests of e-mail addresses", _MIXED: "reads the addresses"}
_is_other_personal_field: Final = re.compile(
    r"f[ni]|ln|ct|st|zi?p|dob[dmy]?|db|gen?(?:der)?|age|.*(?:name|zip|postal|city|state|country|street|birth).*"
).fullmatch
"""Matches the names of columns, such as first names and cities, whose digests only other networks accept."""
_is_id_or_date_column: Final = re.compile(
    r"(?!.*[ck]onta[ck]t(?:no|nr|num|number|nummer)s?$)(?:ts|.*(?:id|no|nr|num|number|nummer|code|key|order|account|tin|ssn"
    r"|reference|ean|gtin|upc|isbn|barcode|sku|imei|zip|plz"
    r"|price|preis|prix|amount|betrag|total|value|wert|count|score|customer|kunde|client|cliente|user|member|invoice|ticket"
    r"|date|datum|fecha|data|zeit|since|seit|seen|login"
    r"|(?:time|stamp|created|updated|modified|registered|subscribed|erstellt|geandert)(?:at|on|am|utc|ms)?)s?)"
).fullmatch
"""Matches the names of columns whose digits are unlikely to be phone numbers. A `Contact No` may be one."""
_is_other_country: Final = re.compile(
    r"(?!.*country|.*land[a-z]*name)(?:.*(?:prov|bundesland|kanton|canton|lang|locale|sprache|idioma|lingua|taal|gender|city"
    r"|stadt|town|ville|ciudad|citta|comune|name|title|salutation|anrede|currency|state|estado).*|pv|uf|sex|ort|lieu|nom)"
).fullmatch
"""Matches the names of columns whose codes or names only look like those of countries, such as states and languages."""
_Look = tuple[str, str, Callable[[str], object], Callable[[str], object] | None]
_LOOKS: Final[Sequence[_Look]] = (
    ("email", "e-mail addresses", _looks_like_email, None),
    ("phone_number", "phone numbers", _looks_like_phone_number, None),
    ("email", _DIGESTS, digest_in, _is_other_personal_field),
    ("email", _MIXED, lambda text: _looks_like_email(text) or _looks_like_phone_number(text), None),
)
"""Tests for values that clearly look like identifiers. Each has the kind, its name in messages, the test, and a test
for the names of columns in which such values mean something else.
"""


def _may_be_number(text: str, region: str | None) -> bool:
    """Returns whether a string looks like a phone number, or consists of digits that may be one."""
    if _are_digits(text) is None:
        return _looks_like_phone_number(text) is not None
    return _may_be_national_number(text) is not None or may_be_number(text, region)


def why_overlooked(name: str, kind: str, what: str, number: int, read: Sequence[str] = ()) -> str:
    """Returns a warning that an ignored column seems to contain identifiers, with advice on how to include the column.

    `read` lists the columns that are already read as this kind, because the advice must include them.
    """
    if not name.strip():
        return f"{HOLDS_IDENTIFIERS} {what}: give column {number} a name (in the first line of a file)"
    names = [*read, name]
    listed = ", ".join(map(quoted, names))
    reads = _READS.get(what, "reads it")
    return f'{HOLDS_IDENTIFIERS} {what}: columns={{"{kind}": {f"[{listed}]" if read else listed}}} {reads}'


def why_set_aside(name: str, kind: str, other: str, read: Sequence[str]) -> str:
    """Returns the warning that a column is ignored because of another column, and how to include it."""
    listed = ", ".join(map(quoted, (*read, name)))
    because = f"because it may mean something else next to {quoted(other)}"
    return f'{IS_NOT_READ}{because}: columns={{"{kind}": [{listed}]}} reads it'


def _first_texts(cells: Sequence[Any]) -> Sequence[str]:
    """Returns the first strings of a column, and its integers of at most 15 digits, as phone numbers have. Skips empty
    cells and placeholders.
    """
    plain = (cell for cell in cells if cell.__class__ is str or (isinstance(cell, int) and 0 <= cell < 10**15))
    texts = (str(cell).strip() for cell in plain)
    return list(islice((text for text in texts if text and not is_null_word(text)), _VALUES_LOOKED_AT))


def _nested(name: str, cells: Sequence[Any], names: Sequence[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yields the columns of values in some nested objects of a column, with their paths as names."""
    objects = [{name: cell} for cell in cells if cell.__class__ in (dict, list)]
    objects = objects[:: -(-len(objects) // _NESTED_LOOKED_AT) or 1]
    paths = (path for each in objects for path in paths_in(each))
    for path in dict.fromkeys(islice(paths, _PATHS_LOOKED_AT)):
        if path not in names:
            values = (value_at(each, path) for each in objects)
            yield path, [one for value in values for one in (value if isinstance(value, list) else (value,))]


def is_personal(text: str) -> bool:
    """Returns whether a string seems to contain an e-mail address or to be a phone number."""
    parts = filter(None, _several(text.strip(" \t\r\n'\"")))
    return has_address(text) is not None or any(
        _looks_like_phone_number(part) or (_is_number(part) and sum(map(str.isdigit, part)) <= _MOST_DIGITS)
        for part in parts
    )


def _is_number(text: str) -> bool:
    """Returns whether a string is a number that has more digits than a date or is written like a phone number."""
    is_long = is_value(text) and sum(map(str.isdigit, text)) > _DIGITS_OF_DATE and not any(map(str.isalpha, text))
    return is_long or _looks_like_phone_number(text) is not None


def _nearly_all(looks: Callable[[str], object], texts: Sequence[str]) -> bool:
    """Returns whether at least nine in ten strings pass the test `looks`. A string with several values passes if each
    of them does.
    """
    others = 0
    for text in texts:
        parts = [part for part in _several(text) if part]
        others += not parts or not all(len(part) <= _LONGEST and looks(part) for part in parts)
        if others * _VALUES_PER_EXCEPTION > len(texts):  # returns early, because the test for phone numbers is slow
            return False
    return bool(texts)


@attrs.frozen
class IdentifierLayout(FrozenRecord):
    """The indexes of the columns of a block that contain identifiers and overrides.

    `identifiers` are (index, name, kind) triples in the order of the kinds. `countries` are the columns of countries and
    of area codes. An override is None if no column has it.
    """

    positions: tuple[int, ...]
    identifiers: tuple[tuple[int, str, IdentifierKind], ...]
    countries: tuple[CountryColumn, ...] = ()
    operation_type: int | None = None
    effective_at: int | None = None
    expires_at: int | None = None
    key: int | None = None
    roles: frozenset[tuple[str, str]] = frozenset()
    is_of_models: bool = False
    """Whether the rows are models, in which the caller has already assigned each value to its kind."""

    @property
    def has_overrides(self) -> bool:
        """Whether rows can override the operation or a time."""
        return not self.operation_type is self.effective_at is self.expires_at is None

    def is_row(self, cells: Sequence[str]) -> bool | None:
        """Returns whether at least one cell is a usable identifier of its column's kind; None if such a cell may also
        be an ordinary word.
        """
        found = {is_identifier(kind, cells[self.positions[at]].strip(' \t"')) for at, _, kind in self.identifiers}
        return True if True in found else None if None in found else False

    def is_aligned(self, cells: Sequence[str]) -> bool:
        """Returns whether the last filled cell, apart from any countries after it, is certainly in the right column: an
        e-mail address or an international phone number in a column of its kind.
        """
        kinds = {self.positions[at]: kind for at, _, kind in self.identifiers}
        filled = [at for at in sorted(self.positions) if cells[at].strip()]
        while filled and filled[-1] not in kinds and region_of(cells[filled[-1]]) is not None:
            filled.pop()
        # Digits, digests and handles look alike in columns of different kinds.
        shows_kind = _SHOW_THEIR_KIND.get(kinds.get(filled[-1], "")) if filled else None
        return shows_kind is not None and shows_kind(cells[filled[-1]].strip()) is not None

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        found: Mapping[str, Sequence[int]],
        key_at: int | None = None,
        *,
        is_of_models: bool = False,
    ) -> Self:
        """Returns the layout of a table. `found` maps each kind and override to the positions of its columns."""
        wanted = [at for positions in found.values() for at in positions]
        positions = tuple(dict.fromkeys(wanted if key_at is None else [*wanted, key_at]))
        indexes = {at: index for index, at in enumerate(positions)}
        overrides = {override: indexes[found[override][0]] if found[override] else None for override in OVERRIDES}
        identifiers = [(indexes[at], names[at], kind) for kind in IDENTIFIER_KINDS for at in found.get(kind, ())]
        countries = [
            (indexes[at], names[at], key == AREA_CODE) for key in (REGION, AREA_CODE) for at in found.get(key, ())
        ]
        roles = frozenset([(names[at], key) for key, positions in found.items() for at in positions])
        key = None if key_at is None else indexes[key_at]
        return cls(
            positions,
            tuple(identifiers),
            tuple(countries),
            **overrides,
            key=key,
            roles=roles,
            is_of_models=is_of_models,
        )


@attrs.define(repr=False)
class BundledUser:
    """A user from an operation: the values of each kind, the countries and area codes of the user's phone numbers, and
    the type and times of the operation.
    """

    operation_type: Any
    effective_at: Any
    expires_at: Any
    email: Sequence[Any] = ()
    device_id: Sequence[Any] = ()
    handle: Sequence[Any] = ()
    service_id: Sequence[Any] = ()
    phone_number: Sequence[Any] = ()
    partner_user_id: Sequence[Any] = ()
    region: Sequence[Any] = ()
    area_code: Sequence[Any] = ()


COLUMNS_IN_OBJECT: Final = (
    "the only object has several values in an array, and is read as one person with all of them: pass a separate object "
    "for each person, or a table"
)
_MOST_OF_ONE_PERSON: Final = 5
"""The number of values above which a single array in the only object of an input probably has those of many people."""


@attrs.frozen
class IdentifierColumns(FoundColumns, FrozenRecord):
    """The columns to look for: the kinds to detect, and the names that the user assigned to a kind or an override.

    `noted` maps each name in the input to its kind or override, which is empty for an ignored column. `remarks` are
    warnings about the whole input, and about ignored columns that seem to contain identifiers.
    """

    kinds: tuple[IdentifierKind, ...]
    given: Mapping[str, tuple[str, ...]]
    form: TableForm = ANY_FORM
    key: str | int | None = None
    default_region: str | None = None
    files: FoundFiles = attrs.field(factory=FoundFiles, eq=False, repr=False)
    noted: dict[str, str] = attrs.field(factory=dict, eq=False, repr=False)
    remarks: list[RowIssue] = attrs.field(factory=list, eq=False, repr=False)

    reads: ClassVar[str] = "people"
    all_roles: ClassVar[Sequence[str]] = (*IDENTIFIER_KINDS, *OVERRIDES, REGION, AREA_CODE)
    noun: ClassVar[str] = "records"
    items: ClassVar[str] = "AudienceUser or Operation"
    instead_of_paths: ClassVar[str] = (
        "give identifiers as records, for example [AudienceUser(email=…)] or [{'email': …}]"
    )
    why_no_xml: ClassVar[str | None] = (
        "this is XML, which is supported only for product feeds: provide people as CSV, JSON Lines or Parquet"
    )
    models: ClassVar[tuple[type, ...]] = (AudienceUser, DoNotReachUser, BundledUser)
    bundles: ClassVar[tuple[type, ...]] = (Operation, DoNotReachOperation)

    @classmethod
    def of(
        cls,
        mapping: ColumnMapping | None,
        kinds: Iterable[IdentifierKind],
        form: TableForm = ANY_FORM,
        key: str | int | None = None,
        default_region: str | None = None,
    ) -> Self:
        """Returns the selection for a column mapping. Raises InvalidInput for a key that is neither a kind nor an
        override.
        """
        taken = tuple(filter(frozenset(kinds).__contains__, IDENTIFIER_KINDS))
        given: dict[str, tuple[str, ...]] = {}
        faults, others = Faults(), (*OVERRIDES, REGION, AREA_CODE)
        for kind, names in (mapping or {}).items():
            with faults:
                if kind not in taken and kind not in others:
                    meant = near_name(str(kind), (*taken, *others))
                    hint = f"; did you mean {meant}?" if meant else ""
                    raise InvalidInput(
                        f"{quoted(kind)} is not a kind of identifier accepted here{hint} (write the kind first, and then the "
                        f"column; the kinds are: {', '.join((*taken, *others))})"
                    )
                given[kind] = names_given(names)
                if kind in OVERRIDES and len(given[kind]) > 1:
                    raise InvalidInput(f"{kind} must come from one column, but {len(given[kind])} are given")
        faults.extend(form.problems())
        faults.refuse()
        return cls(taken, given, form, key, default_region)

    @property
    def roles(self) -> Sequence[str]:
        """The kinds and overrides to which the user may assign columns."""
        return (*self.kinds, *OVERRIDES, REGION, AREA_CODE)

    def check_layout(self, layout: FileLayout) -> None:
        """Raises InvalidInput if the layout has an unknown region or format of phone numbers."""
        normalizers((), layout.default_region, cast("PhoneFormat", layout.phone_format))

    def flattened(self, objects: Sequence[Any]) -> Sequence[Any]:
        """Returns the objects unchanged: values inside them are read only by a path."""
        return objects

    def of_table(self, names: Sequence[str], line: int | None = None) -> IdentifierLayout:
        """Returns the layout as `of_keys` does. Also raises InvalidInput if a given column is
        missing, if no column has identifiers, or if the header line looks like a row of data.
        """
        note_names(self, names)
        key_position(self.key, names, is_needed=True)
        layout = self.of_keys(names)
        self._require(names, found_identifiers=bool(layout.identifiers), line=line if self.form.header else None)
        if line is not None and self.form == TableForm(guesses=self.form.guesses):
            # Raises InvalidInput if the names look like values, because otherwise the first row would be lost.
            given = [(name, kind) for _, name, kind in layout.identifiers if self.given.get(kind)]
            found = _values_among(names)
            if given and not found:
                is_row = layout.is_row(names)
                is_word = len(names) == len(given) == 1 and not {*re.split("[^a-z]+", names[0].lower())} & _NAME_WORDS
                is_handle = is_word and given[0][1] == "handle" and not detected_as(names[0])
                if any(looks_personal(name) for name, _ in given) or is_row or (is_handle and is_row is None):
                    found = [(1, layout.identifiers[0][2])]
            if found:
                raise InvalidInput(f"line {line} looks like data: {_no_header(found[0][1], found[0][0])}")
        return layout

    def of_keys(self, names: Sequence[str]) -> IdentifierLayout:
        """Returns the layout of the columns with these names. Raises InvalidInput if two names mean the same override."""
        found = self._find(names, self.files.current.names or ())
        for override in OVERRIDES:
            if len(found[override]) > 1:
                option = f'columns={{"{override}": "<column>"}}'
                raise InvalidInput(f"{len(found[override])} columns are called {override}: choose one with {option}")
        if sum(len(found[kind]) for kind in self.kinds) > MAX_IDENTIFIER_COLUMNS:
            raise InvalidInput(
                f"more than {MAX_IDENTIFIER_COLUMNS} columns are read as identifiers: name the columns to read, "
                'for example with columns={"email": ["<column>", "<column>"]}'
            )
        key_at = None if self.key is None else self._key_at(names, found)
        taken = {} if key_at is None else {names[key_at]: KEY}
        taken |= {names[at]: key for key, positions in found.items() for at in positions}
        for name in names:
            known = noted_as(name)
            if known in self.noted or len(self.noted) < MAX_NAMES_KEPT:
                self.noted[known] = taken.get(name, "")
        return IdentifierLayout.of(names, found, key_at)

    def _key_at(self, names: Sequence[str], found: Mapping[str, Sequence[int]]) -> int | None:
        """Returns the position of the key column. Raises InvalidInput if the column contains identifiers of people."""
        at = key_position(self.key, names)
        kinds = [kind for kind in self.kinds if at in found[kind] and kind != "partner_user_id"]
        if kinds:
            raise InvalidInput(
                f"the column {quoted(self.key)} is read as {kinds[0]}, but keys are written unchanged: choose a column that "
                "does not identify a person by itself"
            )
        return at

    def role_of(self, name: str) -> str:
        """Returns the kind or override for a column name, or an empty string if the column is ignored."""
        return next((key for key, positions in self._find((name,)).items() if positions), "")

    def _find(self, names: Sequence[str], others: Sequence[str] = ()) -> dict[str, list[int]]:
        """Returns the positions of the columns of each kind and override, of the countries and of the area codes."""
        found: dict[str, list[int]] = {key: [] for key in self.roles}
        if self.form.layout is not None:
            positions = self.form.layout.positions(names)
            return {key: positions.get(key, []) for key in found}
        claimed = {*set_aside(names, others)}
        for key, given in self.given.items():
            found[key] = positions_of(given, names)
            claimed.update(found[key])
        for position, name in enumerate(names):
            key = detected_as(name)
            if key in found and key not in self.given and position not in claimed:
                found[key].append(position)
        if any(found[kind] for kind in self.kinds) and not found.get("phone_number") and AREA_CODE not in self.given:
            found[AREA_CODE] = []
        return found

    def check_keys(self, names: Collection[str]) -> None:
        """Raises InvalidInput if the first objects lack a given column, or if none of them has identifiers."""
        note_names(self, names)
        found = self._find(tuple(names))
        self._require(tuple(names), found_identifiers=any(found[kind] for kind in self.kinds))
        key_position(self.key, tuple(names), is_needed=True)
        self._key_at(tuple(names), found)

    def may_be_rows(self, names: Sequence[str]) -> bool:
        """Returns whether objects with these names have identifiers."""
        found = self._find(names)
        return any(found[kind] for kind in self.kinds)

    def look_at(self, columns: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Adds a warning for each ignored column whose first values nearly all look like e-mail addresses, phone
        numbers, digests or countries; values in nested objects count as columns. Also adds one for each column that is
        set aside because of another one, and for a single object whose arrays may be columns.
        """
        columns = tuple(columns)
        names = [name for name, _ in columns]
        found = self._find(names)
        read = {at for key, positions in found.items() for at in positions if key != REGION}
        first = [cells[0] for at, (_, cells) in enumerate(columns) if at in read and len(cells) == 1]
        lengths = [len(cell) for cell in first if isinstance(cell, list | tuple)]
        if (len(lengths) > 1 and len({*lengths}) == 1 < lengths[0]) or max(lengths, default=0) > _MOST_OF_ONE_PERSON:
            self.remarks.append(RowIssue(0, "", COLUMNS_IN_OBJECT))
        aside = {} if self.form.layout is not None else set_aside(names)
        for at, other in aside.items():
            kind = detected_as(names[at])
            if at not in read and kind in self.kinds and kind not in self.given:
                self._note(names[at], why_set_aside(names[at], kind, other, [names[each] for each in found[kind]]))
        # A country column may be empty or have objects. Of tables, only the cells of text columns are here.
        countries = [columns[at][1] for at in found[REGION]]
        has_country = any(
            not len(cells) or any(text for cell in cells for text, _ in texts_of(cell)) for cells in countries
        )
        known = {text for at in read for text in _first_texts(columns[at][1])}
        nested = (each for name, cells in columns for each in _nested(name, cells, names))
        looks = self._looks(cells for at, (_, cells) in enumerate(columns) if at in found.get("phone_number", ()))
        for at, (name, cells) in enumerate(chain(columns, islice(nested, COLUMNS_LOOKED_AT))):
            texts = _first_texts(cells) if at not in read and at not in aside else ()
            if known.issuperset(texts) or _nearly_all(
                lambda text: len(text) == _DIGITS_OF_EAN and is_gtin(text), texts
            ):
                continue
            for kind, what, looks_so, is_other in looks:
                if kind not in self.roles or self.given.get(kind) == () or (kind == REGION and has_country):
                    continue
                if not (is_other is not None and is_other(folded(name))) and _nearly_all(looks_so, texts):
                    of_kind = tuple(dict.fromkeys(names[position] for position in found[kind]))
                    self._note(name, why_overlooked(name, kind, what, at + 1, of_kind))
                    break

    def _looks(self, phones: Iterable[Sequence[Any]]) -> Sequence[_Look]:
        """Returns the tests for ignored columns. Countries matter only if the numbers in `phones` need one."""
        may_be_number = partial(_may_be_number, region=check_region(self.default_region))
        digits: _Look = ("phone_number", "phone numbers", may_be_number, _is_id_or_date_column)
        texts = (text for cells in phones for text in _first_texts(cells))
        need_country = any(not text.startswith(("+", "00")) and not digest_in(text) for text in texts)
        countries: _Look = (REGION, "countries", may_be_country, _is_other_country)
        return (*_LOOKS, digits, countries) if need_country else (*_LOOKS, digits)

    def _note(self, name: str, reason: str) -> None:
        remark = RowIssue(0, shown_name(name), reason)
        if remark not in self.remarks and len(self.remarks) < MAX_OVERLOOKED:
            self.remarks.append(remark)

    def _require(self, names: Sequence[str], *, found_identifiers: bool, line: int | None = None) -> None:
        self.require_given(names)
        if found_identifiers:
            return
        if any(map(looks_personal, names)):
            values = ((at, kind) for at, kind in _values_among(names) if kind in self.kinds)
            at, kind = next(values, (1, self.kinds[0]))
            raise InvalidInput(
                "no column of identifiers was found, and the names look like data: the first line of a table must "
                f"name its columns, for example {self.kinds[0]}" + (f"; {_no_header(kind, at)}" if line else "")
            )
        marks = _unusual_separators(names[0]) if len(names) == 1 else ()
        mark = next((mark for mark in marks if any(map(self.role_of, names[0].split(mark)))), None)
        if mark is not None:  # it splits the only name into several names, at least one of them known
            raise InvalidInput(
                f"no column of identifiers was found; the only name is {printable_names(names)}. If {mark} separates the "
                f"columns, write the line sep={mark} above the names"
            )
        user_names = [name for name in names if folded(name) in _USER_NAMES] if "handle" in self.kinds else ()
        hint = f" ({quoted(user_names[0])} is read as handles only if you assign it to handle)" if user_names else ""
        for at, other in islice(set_aside(names).items(), 1):
            hint = f" ({quoted(names[at])} {why_set_aside(names[at], detected_as(names[at]), other, ())})"
        raise InvalidInput(
            f"no column of identifiers was found; the columns are: {printable_names(names)}. Name the column with "
            f'columns={{"email": "<column>"}}; '
            f"the kinds are: {', '.join(self.kinds)}{hint}"
            + (f". If line {line} is data, {_no_header('handle')}" if line else "")
        )

    def of_models(self, items: Sequence[Any]) -> tuple[IdentifierLayout, Sequence[Sequence[Any]]]:
        """Returns the layout and the columns of user models, including kinds that the target does not accept."""
        refuse_models(self.key)
        columns = dict[str, Sequence[Any]]()
        for kind in (*IDENTIFIER_KINDS, REGION, AREA_CODE):
            values: list[Sequence[Any]] = [getattr(user, kind, ()) for user in items]
            if any(values):
                columns[kind] = [value[0] if len(value) == 1 else value or None for value in values]
        for override in OVERRIDES:
            given = [getattr(user, override, None) for user in items]
            if any(each is not None for each in given):
                columns[override] = given
        found: dict[str, Sequence[int]] = {name: (at,) for at, name in enumerate(columns)}
        found |= {override: () for override in OVERRIDES if override not in columns}
        return IdentifierLayout.of(tuple(columns), found, is_of_models=True), tuple(columns.values())

    def unbundled(self, bundle: Any) -> Iterator[Any]:
        """Yields the users of an operation, or one empty user if it has none, so that every item has an outcome."""
        params = bundle.params
        overrides = (bundle.operation_type, getattr(params, "effective_at", None), params.expires_at)
        operation_type, effective_at, expires_at = (None if each is UNSET else each for each in overrides)
        for user in params.users or (AudienceUser(),):
            values: dict[str, list[Any]] = {}
            if isinstance(user, Mapping):
                layout = self.of_keys([name for name in user if isinstance(name, str)])
                for _, name, kind in (*layout.identifiers, *_countries_of(user, layout)):
                    value = user[name]
                    values.setdefault(kind, []).extend(value if isinstance(value, list | tuple) else (value,))
            elif isinstance(user, AudienceUser | DoNotReachUser):
                values = {kind: getattr(user, kind) for kind in IDENTIFIER_KINDS if hasattr(user, kind)}
            else:
                yield user  # rejected later, like any other item of its class
                continue
            yield BundledUser(operation_type, effective_at, expires_at, **values)

    def why_not(self, item: object) -> str:
        """Returns why an item cannot be read as a row."""
        kind = with_article(type(item).__name__)
        return f"is or holds {kind}, where an AudienceUser, an Operation or a mapping is expected"


def _countries_of(user: Mapping[Any, Any], layout: IdentifierLayout) -> Iterator[tuple[int, str, str]]:
    """Yields the country columns that apply to the phone numbers of a user: for each, up to the first group with a
    country.
    """
    phones = tuple([name for _, name, kind in layout.identifiers if kind == "phone_number"])
    for phone in phones:
        for group in countries_for(phone, phones, layout.countries):
            yield from ((at, name, AREA_CODE if is_area else REGION) for at, name, is_area in group)
            if not all(is_area or names_no_country(user[name]) for _, name, is_area in group):
                break


def _kind_of_value(name: str) -> IdentifierKind | None:
    """Returns the kind of identifier that a column name looks like; None if it looks like a real name or may be a date."""
    text = name.strip()
    if any(map(str.isdigit, text)):
        number = cleaned_phone_number(text).text
        if is_value(number) and not any(map(str.isalpha, number)):
            return "phone_number" if _is_number(number) else None
        if _has_international_number(text) is not None:
            return "phone_number"
    if text.startswith("@"):
        return "handle"
    if detected_as(text):
        return None
    kinds: tuple[IdentifierKind, ...] = ("email", "handle", "device_id")
    return next((kind for kind in kinds if is_identifier(kind, text)), None)


def _values_among(names: Sequence[str]) -> list[tuple[int, IdentifierKind]]:
    """Returns the number and the kind of each column whose name looks like a value."""
    return [(at, kind) for at, name in enumerate(names, 1) if (kind := _kind_of_value(name)) is not None]


def _no_header(kind: str, column: int = 1) -> str:
    return (
        f'give header=False and columns={{"{kind}": {column}}} for a file without column names; if a line does name them, '
        "give its number as header_line=…"
    )
