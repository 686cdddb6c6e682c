"""The extension in plain Python: its specification, and its replacement if there is no `_native`.

Names, signatures and results are the same as in the extension; tests/speedups compares both. This module is written for
readability and not for speed.
"""

import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar, final, overload

P = TypeVar("P")

MAX_BYTES: Final = 247
"""The longest string that `hash_column` hashes. Longer ones stay undecided."""
DIGEST_BYTES: Final = 32
DIGEST_DIGITS: Final = 64
START_DIGITS: Final = 4
MAX_DIGITS: Final = 31
MAX_NULL_WORD: Final = 15
MAX_NULL_WORDS: Final = 32
MAX_NULL_DIGESTS: Final = 3_072

_is_digest: Final = re.compile("[0-9a-fA-F]{64}").fullmatch
_is_lower_digest: Final = re.compile("[0-9a-f]{64}").fullmatch

# Identifiers that are hashed ------------------------------------------------------------------------------------------

_is_email: Final = re.compile(
    r"(?!['#])[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]++@(?:[A-Za-z0-9_-]++\.)++[A-Za-z0-9_-]++"
).fullmatch
_is_number: Final = re.compile(r"[+(]?[0-9](?:[0-9 ()/.-]*[0-9])?").fullmatch
_separators: Final = re.compile("[^0-9]").sub
# A slash is within a number if fewer than seven digits precede it and more than four follow it.
_is_several: Final = re.compile(r"(?:[^/0-9]*[0-9]){7}[^/]*/|.*/.*/|.*/(?:[^0-9]*[0-9]){0,4}[^0-9]*$").match
_may_be_other: Final = re.compile(  # ends in .0 or like an amount, or is an IP address or a date of at most eight digits
    r".*\.[^1-9]*|[^+.]*\.[^.]{2}|[^+.]*(?:\.[^.]*){3}|(?=(?:[^0-9]*[0-9]){1,8}[^0-9]*$)(?:[^+.]*(?:\.[^.]*){2}|[^+-]*(?:-[^-]*){2})"
).fullmatch
_is_device_id: Final = re.compile(
    r"(?i:(?!(.)(?:\1|-)*$))[0-9A-Fa-f]{8}(?:(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{8}|[0-9A-Fa-f]{24})"
).fullmatch
_ends_in_one_digit: Final = re.compile(r".*([0-9])\1{4}").fullmatch
_handle: Final = re.compile("@?([A-Za-z0-9_]{1,15})").fullmatch
_is_decimal: Final = re.compile("(?!0*$)[0-9]+").fullmatch

_phone_plans: Final = dict[str, tuple[str, str, set[tuple[str, int]]]]()


def add_phone_start(region: str, prefix: str, trunk: str, start: str, length: int, /) -> None:
    """Registers a rule: in a region (two capital letters), phone numbers of this length (5 to 31 digits) with these
    first four digits are read by adding a prefix (`+` and at most three digits). An empty region stands for numbers
    with a plus sign, which stay unchanged.

    A `trunk` of one digit is removed from the numbers that begin with it; their `start` has five digits.
    """
    if len(region) not in (0, 2) or not all("A" <= letter <= "Z" for letter in region):
        raise ValueError("a region must have two capital letters")
    skipped = 1 if len(trunk) == 1 and start.startswith(trunk) else 0
    is_fitting = len(start) == skipped + START_DIGITS and START_DIGITS < length <= MAX_DIGITS
    if not is_fitting or not start.isascii() or not start.isdigit() or not 1 <= len(prefix) <= 4 or len(trunk) > 1:
        raise ValueError("a start must have four digits, and a number five or more")
    _, known_trunk, starts = _phone_plans.setdefault(region, (prefix, trunk, set()))
    if known_trunk != trunk:
        raise ValueError("a region must have one trunk prefix")
    starts.add((start, length))


_null_words: Final = set[str]()
_null_digests: Final = set[str]()


def add_null_word(word: str, /) -> None:
    """Registers a lower-case placeholder. Handles with this name, and e-mail addresses with this local part, stay
    undecided. A word of 64 hexadecimal digits is a digest, which stays undecided in every column.

    Other words have at most 15 bytes. There can be 32 words of each size, and 3,072 digests.
    """
    if not isinstance(word, str):
        raise TypeError("a word must be a string")
    size = len(word.encode())
    if size == DIGEST_DIGITS:
        if not _is_digest(word) or len(_null_digests) == MAX_NULL_DIGESTS:
            raise ValueError("the digest is invalid, or there are too many")
        _null_digests.add(word.lower())
        return
    if not 1 <= size <= MAX_NULL_WORD or sum(len(each.encode()) == size for each in _null_words) >= MAX_NULL_WORDS:
        raise ValueError("the word is empty or too long, or there are too many")
    _null_words.add(word)


def _plain_email(text: str) -> str | None:
    address = text.lower()
    is_plain = _is_email(address) and not address.endswith(".invalid")
    return address if is_plain and address.partition("@")[0] not in _null_words else None


def _plain_phone_number(text: str, region: str) -> str | None:
    has_plus = text[0] == "+"
    plan = _phone_plans.get("" if has_plus else region) if has_plus or region else None
    if plan is None or len(text) > MAX_DIGITS or not _is_number(text) or _is_several(text) or _may_be_other(text):
        return None
    digits, (prefix, trunk, starts) = _separators("", text), plan
    skipped = 1 if trunk and digits.startswith(trunk) else 0
    is_known = (digits[: skipped + START_DIGITS], len(digits)) in starts
    return prefix + digits[skipped:] if is_known and not _ends_in_one_digit(digits) else None


def _plain_device_id(text: str) -> str | None:
    return text.lower() if _is_device_id(text) else None


def _plain_handle(text: str) -> str | None:
    found = _handle(text)
    name = found[1].lower() if found else ""
    return name if name and name not in _null_words else None


def _plain_service_id(text: str) -> str | None:
    return text if _is_decimal(text) else None


_PLAIN: Final[Mapping[str, Callable[[str], str | None]]] = {
    "email": _plain_email,
    "phone_number": functools.partial(_plain_phone_number, region=""),
    "device_id": _plain_device_id,
    "handle": _plain_handle,
    "service_id": _plain_service_id,
    "digest": lambda _: None,
}
"""For each kind, a function that normalizes an ASCII string for hashing, or returns None if it cannot decide."""


def digests_of(cells: list[Any] | tuple[Any, ...], kind: str, region: str = "", /) -> list[str | None]:
    """Returns the result of `hash_column` as a list."""
    if kind not in _PLAIN:
        raise ValueError("kind must be a hashed kind of identifiers")
    plain, digests = _PLAIN[kind], list[str | None]()
    if kind == "phone_number":
        plain = functools.partial(_plain_phone_number, region=region)
    for cell in cells:
        digest: str | None = None
        if cell is None:
            digest = ""
        elif type(cell) is str and cell.isascii():  # subclasses of str may behave differently
            text = cell.strip(" \t")
            if len(text) == DIGEST_DIGITS and _is_digest(text):
                digest = text.lower() if text.lower() not in _null_digests else None
            elif not text:
                digest = ""
            elif len(text) <= MAX_BYTES and (hashed := plain(text)) is not None:
                digest = hashlib.sha256(hashed.encode()).hexdigest()
        digests.append(digest)
    return digests


def hash_column(cells: list[Any] | tuple[Any, ...], kind: str, region: str = "", /) -> "Digests":
    """Returns the SHA-256 of each normalized cell of a list or tuple.

    Spaces and tabs around a string are ignored. A string of 64 hexadecimal digits is already a digest. An empty string
    and None have no digest. Phone numbers without a plus sign are read in `region`. A cell that is not a plain ASCII
    value of its kind has the result None and is left to the caller.
    """
    return _column(digests_of(cells, kind, region))


def _column(cells: Iterable[str | None]) -> "Digests":
    """Returns a column of these cells without checking them."""
    column = Digests(())
    column.extend(cells)
    return column


class Digests(list[str | None]):
    """A column of digests with a fixed length. A cell has 64 lower-case hexadecimal digits, "" if there is no value, or
    None while it is undecided.

    A slice may share its cells with the column, so setting a cell in one may change the other.
    """

    __repr__ = object.__repr__  # digests of identifiers are personal data

    def __init__(self, cells: Iterable[str | None], /) -> None:
        super().__init__(cells)
        for cell in self:
            if cell is not None and cell != "" and not _is_lower_digest(cell):
                raise ValueError("a cell holds 64 lower-case hexadecimal digits, or nothing")

    @classmethod
    def joined(cls, columns: tuple[Sequence[str | None], ...], /) -> "Digests":
        """Concatenates columns of digests."""
        return _column(itertools.chain.from_iterable(columns))

    @classmethod
    def unpacked(cls, packed: bytes, gaps: list[int], /) -> "Digests":
        """Returns a column from packed digests of 32 bytes each, with empty cells at the ascending indexes `gaps`."""
        starts = range(0, len(packed), DIGEST_BYTES)
        column = _column(packed[start : start + DIGEST_BYTES].hex() for start in starts)
        for gap in gaps:
            column.insert(gap, "")
        return column

    @overload  # type: ignore[override]  # the index of a list has other names
    def __getitem__(self, index: int, /) -> str | None: ...
    @overload
    def __getitem__(self, index: slice, /) -> "Digests": ...
    def __getitem__(self, index: int | slice, /) -> "str | Digests | None":
        found = super().__getitem__(index)
        return _column(found) if isinstance(found, list) else found

    def __setitem__(self, index: int, value: str | None, /) -> None:  # type: ignore[override]  # no slices
        (checked,) = Digests([value])
        super().__setitem__(index, checked)

    def gaps(self) -> list[int]:
        """Returns the indexes of the cells without a digest."""
        return [index for index, cell in enumerate(self) if not cell]

    def undecided(self) -> list[int]:
        """Returns the indexes of the cells that are None."""
        return [index for index, cell in enumerate(self) if cell is None]

    def same_as(self, other: Sequence[str | None], /) -> list[int]:
        """Returns the indexes of the rows in which both columns have the same digest."""
        rows = enumerate(zip(self, other, strict=True))
        return [index for index, (cell, another) in rows if cell and cell == another]

    def compress(self, kept: bytes | bytearray, /) -> "Digests":
        """Returns a column of the cells whose byte in `kept` is not zero."""
        return _column(itertools.compress(self, kept))

    def packed(self) -> bytes:
        """Returns the concatenated digests of 32 bytes each, without cells that have no digest."""
        return bytes.fromhex("".join(filter(None, self)))


# User objects ---------------------------------------------------------------------------------------------------------


class Users(tuple[str, ...]):
    """The user objects of rows in JSON: `{"email":["…","…"],"handle":["…"]}`.

    `members` are pairs of a name and one or more columns. A column is `Digests`, or a tuple of values in ASCII JSON,
    with "" for no value.
    """

    __slots__ = ()
    __repr__ = object.__repr__  # shows no identifiers

    def __new__(cls, members: tuple[tuple[str, tuple[Digests | tuple[str, ...], ...]], ...], /) -> Self:
        """Renders the objects."""
        if not any(columns for _, columns in members):
            raise ValueError("there must be a column")
        texts = [_member_texts(name, columns) for name, columns in members]
        return super().__new__(cls, [f"{{{','.join(filter(None, row))}}}" for row in zip(*texts, strict=True)])

    @overload  # type: ignore[override]  # as for Digests: a tuple names its index otherwise
    def __getitem__(self, index: int, /) -> str: ...
    @overload
    def __getitem__(self, index: slice, /) -> "Users": ...
    def __getitem__(self, index: int | slice, /) -> "str | Users":
        found = super().__getitem__(index)
        return tuple.__new__(Users, found) if isinstance(found, tuple) else found

    def fitting(self, most: int, more: int, room: int, /) -> tuple[int, int]:
        """Returns how many of the first `most` rows fit into `room` bytes, and how many bytes they take. Each row takes
        `more` bytes in addition to its JSON.
        """
        if more < 0:
            raise ValueError("a row takes at least the size of its JSON")
        rows = taken = 0
        for text in itertools.islice(self, max(most, 0)):
            if taken + len(text) + more > room:
                break
            rows += 1
            taken += len(text) + more
        return rows, taken

    def render(self, between: bytes, before: bytes, /) -> bytes:
        """Returns the JSON of all rows, separated by `between` and preceded by `before`."""
        return before + between.join(map(str.encode, self))


def _member_texts(name: str, columns: tuple[Digests | tuple[str, ...], ...]) -> list[str]:
    """Returns the JSON of the member in each row's object; "" for a row without a value in these columns."""
    values = [
        [cell and f'"{cell}"' for cell in column] if isinstance(column, Digests) else column for column in columns
    ]
    rows = values[0] if len(values) == 1 else [",".join(filter(None, row)) for row in zip(*values, strict=True)]
    return [f'"{name}":[{row}]' if row else "" for row in rows]


# Recent identifiers ---------------------------------------------------------------------------------------------------


class IdentifierTable(dict[str, P]):
    """Maps the identifiers of a kind to their last placements. Ignores empty strings.

    Callers use only `get` and `len` of the dict.
    """

    __repr__ = object.__repr__  # shows no identifiers

    def put(self, identifier: str, placement: P, /) -> None:
        """Sets the placement of an identifier."""
        if identifier:
            self[identifier] = placement

    def put_column(self, identifiers: Sequence[str | None], placement: P, /) -> None:
        """Sets the placement of every identifier of a column."""
        self.update((identifier, placement) for identifier in identifiers if identifier)

    def get_column(self, identifiers: Sequence[str | None], /) -> list[P | None]:
        """Returns the placement of each identifier of a column; None for unknown ones."""
        return [self.get(identifier) if identifier else None for identifier in identifiers]

    def repeated(self, columns: tuple[Sequence[str | None], ...], others: tuple[Self, ...], /) -> list[int]:
        """Returns the indexes of rows with an identifier that is in this table, in one of the other tables, in an
        earlier row, or in the row twice. All columns and tables have the same kind.
        """
        tables, seen, found = (self, *others), set[str](), list[int]()
        for index, row in enumerate(zip(*columns, strict=True)):
            known = False
            for identifier in row:
                if not identifier:
                    continue
                known = known or identifier in seen
                for table in tables:
                    known = known or identifier in table
                seen.add(identifier)
            if known:
                found.append(index)
        return found

    def placements(self) -> set[P]:
        """Returns all placements."""
        return set(self.values())

    def take_over(self, other: Self, placements: set[P], /) -> None:
        """Adds the identifiers of another table that have one of these placements."""
        self.update((identifier, each) for identifier, each in other.items() if each in placements)


# Objects of answers ---------------------------------------------------------------------------------------------------

Read = Callable[[Any], Any]

_TAKEN: Final[Mapping[Any, frozenset[type]]] = {
    str: frozenset({str}),
    bool: frozenset({bool}),
    int: frozenset({int}),
    float: frozenset({float, int}),
}
"""The types of values that need no conversion, for each kind of field."""


@final
class ObjectReader:
    """Reads objects of a class from decoded JSON.

    `describe` returns the plan of the class, a `ClassPlan` of `socialapi/wire/class_readers.py`. It is called for the
    first object. `unreadable` are the exceptions that `read` raises for unreadable data.
    """

    def __init__(self, describe: Callable[[], Any], unreadable: tuple[type[BaseException], ...], /) -> None:
        self._describe = describe
        self._unreadable = unreadable
        self._loaded: tuple[Any, ...] | None = None

    def read(self, data: Any, /) -> Any:
        """Returns the object for a dict. Raises one of `unreadable`."""
        cls, field_of, given, extra = self._loaded or self._load()
        if type(data) is not dict:
            data = {**data}
        values: dict[str, Any] = given.copy()
        others: dict[Any, Any] | None = None
        for name, value in data.items():
            if (field := field_of(name)) is None:
                others = {} if others is None else others
                others[name] = value
                continue
            alias, regular, read, convert = field
            if type(value) is regular:
                values[alias] = value if read is None else read(value)
            elif value is not None and (value := convert(value)) is not None:
                values[alias] = value
        if others is not None and extra is not None:
            values[extra] = others
        return cls(**values)

    def replace_each(self, items: list[Any], /) -> int:
        """Replaces the dicts in a list with objects, up to the first unreadable one. Returns its index, or the length
        of the list.

        Each dict is freed immediately. Otherwise the garbage collector, which runs after a certain number of new
        containers, would traverse the data of a page again and again.
        """
        index, read = 0, self.read
        try:
            for index, item in enumerate(items):
                items[index] = read(item)
        except self._unreadable:
            return index
        return len(items)

    def _load(self) -> tuple[Any, ...]:
        """Returns the class, the function that finds a field by its name, the arguments that every object needs, and
        the name of the argument for unknown members.
        """
        cls, fields, extra, given, _ = self._describe()
        found = {field.name: (field.alias, *self._reading(field)) for field in fields if field.name is not None}
        self._loaded = cls, found.get, given, None if extra < 0 else fields[extra].alias
        return self._loaded

    def _reading(self, field: Any) -> tuple[type | None, Read | None, Read]:
        """Returns the type of regular values of a field, the function that reads them (None if they need no
        conversion), and the function that reads other values.
        """
        nested, convert = field.nested, field.convert
        if field.is_array:
            return list, self._array_reader(field), convert
        if nested is not None:
            return dict, nested.read, convert
        if field.kind is object:
            return type(None) if field.is_required else None, None, lambda value: value
        return field.kind if field.kind in _TAKEN else None, None, convert

    def _array_reader(self, field: Any) -> Read:
        nested, convert, unreadable = field.nested, field.convert, self._unreadable
        taken = _TAKEN.get(field.kind, frozenset())

        def read_objects(items: list[Any]) -> Any:
            try:
                return tuple(map(nested.read, items))
            except unreadable:
                return convert(items)

        def read_values(items: list[Any]) -> Any:
            return tuple(items) if taken.issuperset(map(type, items)) else convert(items)

        if field.kind is object:
            return tuple
        return read_values if nested is None else read_objects
