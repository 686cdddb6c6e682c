"""Layouts are files that record how an input was read, so that a later run does not have to guess again."""

import contextlib
import csv
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

import attrs

from socialapi.bulk.inputs.addresses import ONLY_HERE, is_address
from socialapi.bulk.inputs.columns import holds_data, is_value, looks_personal, names_given, quoted
from socialapi.bulk.inputs.null_words import is_null_word
from socialapi.errors import InvalidInput, printable
from socialapi.internal.private_files import MAX_BYTES, read_small
from socialapi.internal.records import FrozenRecord
from socialapi.models.validation import Faults, invalid

VERSION: Final = 1
DELIMITERS: Final = (",", ";", "\t", "|")
ENCODINGS: Final = ("utf-8", "utf-16", "unknown-8bit")
"""The encodings that are recognized. XML files declare their encoding."""
FORMATS: Final = ("csv", "jsonl", "json", "xml", "parquet")
Escapes = Literal["nothing", "quotes", "everything", "unquoted"]
"""The characters that a backslash escapes: none, quotation marks, or all. In an `unquoted` file, a backslash escapes
all characters, and quotation marks are ordinary characters.
"""
OPTIONS: Final[Mapping[str, Any]] = {
    "columns": None,
    "header": True,
    "header_line": None,
    "default_region": None,
    "phone_format": "auto",
}
"""The job options that a layout sets, with their defaults."""
LINES_SEARCHED: Final = 40
_LINE_CHARACTERS: Final = 100_000
_LISTED: Final = 20
_COMMENT: Final = "# How socialapi reads a file. With layout= or --layout, none of this is guessed again.\n"
_COLUMNS: Final = '\n# Every column, and what it is read as; "" means not read.\n[columns]\n'
_place_in_toml: Final = re.compile(r"\(at [^()]*\)$").search
_line_ends: Final = re.compile(r"\r\n|\r|\n").split


class NamesChanged(Exception):
    """Raised if the column names of a file differ from its layout. `changes` lists the differences."""

    def __init__(self, changes: list[str]) -> None:
        super().__init__(changes)
        self.changes = changes


@attrs.define
class FileFacts:
    """The properties of an input file. `names` is None until the column names are read."""

    format: str = ""
    encoding: str | None = None
    rows: tuple[str, ...] = ()
    delimiter: str | None = None
    escapes: Escapes = "nothing"
    header_line: int | None = None
    names: Sequence[str] | None = None


@attrs.define(eq=False)
class FoundFiles:
    """The properties of an input's first file, and of the first file that differs from it."""

    found: list[FileFacts] = attrs.field(factory=list)
    current: FileFacts = attrs.field(factory=FileFacts)

    def begin(self, facts: FileFacts) -> None:
        """Records the properties of the next file."""
        self.found = self.different()
        self.current = facts
        if len(self.found) < 2:
            self.found.append(facts)

    def different(self) -> list[FileFacts]:
        """Returns the first file that has column names, and the next one if its column names differ."""
        named = [each for each in self.found if each.names is not None]
        return named[:1] if len(named) > 1 and named[0] == named[1] else named


@attrs.frozen(kw_only=True)
class FileLayout(FrozenRecord):
    """The rules for reading a file. `columns` maps the name of each column to the fields that it is read as.

    `repeated` are the names that several columns share. A CSV file whose `header_line` is None has no column names, and
    its columns are numbered. `rows` is the path of the array of rows in a JSON document.
    """

    reads: str
    format: str
    columns: Mapping[str, tuple[str, ...]]
    encoding: str | None = None
    rows: tuple[str, ...] = ()
    delimiter: str | None = None
    escapes: Escapes = "nothing"
    header_line: int | None = None
    repeated: tuple[str, ...] = ()
    default_region: str | None = None
    phone_format: str = "auto"
    path: str | os.PathLike[str] = attrs.field(default="", eq=False)
    """The path of the layout file."""

    @property
    def header(self) -> bool:
        """Whether the CSV file has a line that names its columns."""
        return self.format != "csv" or self.header_line is not None

    @property
    def paths(self) -> Sequence[str]:
        """The names of columns that are read and may be paths into objects."""
        return tuple(name for name, roles in self.columns.items() if roles and "." in name)

    def names_of(self, role: str) -> list[str]:
        """Returns the columns that are read as this field."""
        return [name for name, roles in self.columns.items() if role in roles]

    def positions(self, names: Sequence[str]) -> Mapping[str, list[int]]:
        """Returns the positions of each field's columns among these names."""
        places, found = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for at, name in enumerate(names):
            places[name].append(at)
        for name, roles in self.columns.items():
            for role in roles:
                found[role] += places.get(name, ())
        return found

    def changes(self, names: Sequence[str], read_as: Callable[[str], str]) -> list[str]:
        """Returns the differences between a file's names and the layout. `read_as` returns the field of a name."""
        if not self.header:
            count, listed = len(names), len(self.columns)
            return [] if count == listed else [f"the number of columns is {count}, not {listed}"]
        counts = Counter(name for name in names if name.strip())
        # Objects need not have every key, so a key that is not read may be missing from all of them.
        is_table = self.format in ("csv", "parquet")
        needed = {name: roles for name, roles in self.columns.items() if roles or is_table}
        missing = [_named(name, roles) for name, roles in needed.items() if not counts[name]]
        again = [_named(name) for name in self.columns if counts[name] > 1 and name not in self.repeated]
        once = [_named(name) for name in self.repeated if counts[name] == 1]
        new = [_named(name, (role,)) for name in counts if name not in self.columns and (role := read_as(name))]
        found = {"missing": missing, "repeated": again, "no longer repeated": once, "new": new}
        return [f"{what}: {_listed(which)}" for what, which in found.items() if which]

    def explained(self, text: str, changes: Sequence[str], read_as: Callable[[str], str]) -> list[str]:
        """Returns the differences of a file that starts with `text`: in its delimiter, the line of its names, and the
        names.
        """
        if self.format != "csv":
            return list(changes)
        listed, lines = set(self.columns), _line_ends(text)[:LINES_SEARCHED]
        if not self.header:
            first = next((line for line in lines if line.strip()), "")
            widths = {each: len(_cells(first, each)) for each in DELIMITERS}
            other = next((each for each in DELIMITERS if widths[each] == len(listed) > 1), None)
            return [self._delimited(other)] if other not in (None, self.delimiter) else list(changes)
        found = {
            (len(listed.intersection(cells)), delimiter == self.delimiter, number == self.header_line): (
                delimiter,
                number,
                cells,
            )
            for number, line in reversed([*enumerate(lines, 1)])
            for delimiter in {*DELIMITERS, self.delimiter or ","}
            if (cells := _cells(line, delimiter))
        }
        best = max(found, default=(0, True, True))
        if not best[0] or best[1:] == (True, True):
            return list(changes)
        delimiter, number, cells = found[best]
        places = [] if best[1] else [self._delimited(delimiter)]
        if not best[2]:
            places.append(f"line {number} names the columns, not line {self.header_line}")
        return [*places, *self.changes(cells, read_as)]

    def _delimited(self, delimiter: str | None) -> str:
        return f"the delimiter is {delimiter!r}, not {self.delimiter!r}"

    def named_in(
        self, text: str, read_as: Callable[[str], str], is_row: Callable[[list[str]], bool | None]
    ) -> list[str]:
        """Returns a difference if a table starts with column names although its layout specifies that it has none."""
        lines = [line for line in _line_ends(text) if line.strip()][:2] or [""]
        first, *rest = [_cells(line, self.delimiter or ",") for line in lines]
        first += [""] * (len(self.columns) - len(first))
        roles = [self.columns.get(str(at), ()) for at in range(1, len(first) + 1)]
        is_known = any(role and read_as(cell) for cell, role in zip(first, roles, strict=True))
        is_same = any(cell in role for cell, role in zip(first, roles, strict=True))
        # If the first line contains only words and the next line is a row, the words are probably unknown column names.
        are_words = all(cell.strip() and not (is_value(cell) or is_null_word(cell)) for cell in first)
        is_above = are_words and any(len(cells) == len(self.columns) and is_row(cells) for cells in rest)
        is_named = is_same or ((is_known or is_above) and is_row(first) is False)
        return ["line 1 names the columns"] if is_named else []

    def text(self) -> str:
        """Returns the layout as TOML."""
        facts: dict[str, Any] = {"version": VERSION, "reads": self.reads, "format": self.format}
        facts |= {"encoding": self.encoding, "rows": list(self.rows) or None}
        if self.format == "csv":
            facts |= {"delimiter": self.delimiter, "escapes": None if self.escapes == "nothing" else self.escapes}
            facts |= {"header_line": self.header_line} if self.header else {"header": False}
        if self.reads == "people":
            facts |= {"default_region": self.default_region, "phone_format": self.phone_format}
        facts["repeated"] = list(self.repeated) or None
        lines = [f"{name} = {_toml(value)}\n" for name, value in facts.items() if value is not None]
        lines += [_COLUMNS]
        lines += [f"{_toml(name)} = {_toml(_one_or_several(roles))}\n" for name, roles in self.columns.items()]
        return _COMMENT + "".join(lines)


class Layout(Protocol):
    """The meaning of the columns of a block."""

    @property
    def positions(self) -> Sequence[int]:
        """The positions of the columns to read among all names, in the order of the block."""

    @property
    def key(self) -> int | None:
        """The index of the key column among the columns of the block, or None if there is no key column."""

    @property
    def roles(self) -> AbstractSet[tuple[str, str]]:
        """The columns to read: pairs of a column name and its field."""

    def is_row(self, cells: Sequence[str]) -> bool | None:
        """Returns whether these cells, one for each name, are a complete row, or None if that is unclear."""

    def is_aligned(self, cells: Sequence[str]) -> bool:
        """Returns whether the values show that no cell has moved to another column."""


class NamedColumns(Protocol):
    """The information about a job's columns that a layout records."""

    @property
    def given(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that the user assigned to each field."""

    @property
    def noted(self) -> dict[str, str]:
        """The field for each column name in the input, empty for an ignored column."""

    @property
    def reads(self) -> str:
        """The kind of rows: people or products."""

    @property
    def roles(self) -> Sequence[str]:
        """The fields that this job reads."""

    @property
    def all_roles(self) -> Sequence[str]:
        """The fields that any job reads."""

    @property
    def files(self) -> FoundFiles:
        """The properties of the files that were read."""

    def of_keys(self, names: Sequence[str]) -> Layout:
        """Returns the layout of objects with these keys, even if required ones are missing."""

    def role_of(self, name: str) -> str:
        """Returns the field for a column name, or an empty string if the column is ignored.

        The result ignores the input's other columns, which matter only if they are read as the same field.
        """

    def check_layout(self, layout: FileLayout) -> None:
        """Raises InvalidInput if the job cannot use the options in the layout."""


def _toml(value: Any) -> str:
    """Returns a value as TOML. TOML's basic strings use the escapes of JSON, but must also escape DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_or_several(roles: Sequence[str]) -> str | list[str]:
    return list(roles) if len(roles) > 1 else next(iter(roles), "")


def _named(name: str, roles: Iterable[str] = ()) -> str:
    """Returns a name and its fields for a message. Unlike with `quoted`, long names and names with many digits are
    shown.
    """
    shown = "<hidden>" if holds_data(name) else f'"{printable(name)}"'
    return f"{shown} ({', '.join(roles)})" if roles else shown


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _cells(line: str, delimiter: str) -> list[str]:
    text = line.lstrip("# ") if line.startswith("#") else line
    return next(csv.reader([text[:_LINE_CHARACTERS]], delimiter=delimiter, skipinitialspace=True), [])


def layout_of(selection: NamedColumns, default_region: str | None, phone_format: str) -> FileLayout:
    """Returns the layout of the files that were read. Raises InvalidInput if they differ or a name looks like data."""
    files = selection.files.different()
    if not files:
        raise InvalidInput("no layout is written: the input names no columns")
    if len(files) > 1:
        other = [name for name in attrs.fields_dict(FileFacts) if getattr(files[0], name) != getattr(files[1], name)]
        raise InvalidInput(f"no layout is written: the files differ in their {', '.join(other)}")
    facts = attrs.asdict(files[0], recurse=False)
    counts = Counter(name for name in facts.pop("names") if name.strip())
    if hidden := [str(at) for at, name in enumerate(counts, 1) if holds_data(name)]:
        raise InvalidInput(f"no layout is written: the names of columns {_listed(hidden)} look like data")
    roles = defaultdict[str, list[str]](list)
    for name, role in sorted(selection.of_keys(tuple(counts)).roles):
        roles[name].append(role)
    # One object may use a synonym, and another object the name of the field.
    for name, role in selection.noted.items():
        if role and role not in roles[name]:
            roles[name].append(role)
    # The columns that the user gave come first and in their order, because it determines the order of their values.
    names = dict.fromkeys([*(name for given in selection.given.values() for name in given if name in counts), *counts])
    return FileLayout(
        reads=selection.reads,
        columns={name: tuple(roles[name]) for name in names},
        repeated=tuple(name for name in counts if counts[name] > 1),
        default_region=default_region,
        phone_format=phone_format,
        **facts,
    )


def _shown(path: str | os.PathLike[str]) -> str:
    """Returns the path for a message, or a placeholder if it looks like data."""
    text = os.fsdecode(path)
    is_shown = text.endswith(".toml") or not looks_personal(Path(text).name)
    return printable(text) if is_shown else "(hidden because its path looks like data)"


def _check_local(option: str, path: str | os.PathLike[str]) -> None:
    if is_address(os.fsdecode(path)):
        raise invalid(option, ONLY_HERE)


def check_place(path: str | os.PathLike[str]) -> None:
    """Raises InvalidInput if the path is a file other than a layout, or its folder does not exist."""
    _check_local("write_layout", path)
    place = Path(path)
    if place.is_file():
        with contextlib.suppress(OSError), place.open("rb") as file:
            if file.read(len(_COMMENT)) == _COMMENT.encode():
                return
    if os.path.lexists(place):
        raise InvalidInput(f"{_shown(path)} is not a layout and is not overwritten: choose another path")
    if not place.parent.is_dir():
        raise InvalidInput(f"{_shown(path)} cannot be written: there is no such folder")


def write_layout_of(
    selection: NamedColumns,
    path: str | os.PathLike[str] | None,
    default_region: str | None = None,
    phone_format: str = "auto",
) -> None:
    """Writes the layout of the files (mode 0600) if a path is given. An existing file must have the same content."""
    if path is None:
        return
    place = Path(path)
    try:
        content = layout_of(selection, default_region, phone_format).text().encode()
    except UnicodeEncodeError:
        raise InvalidInput("no layout is written: the names of the columns are not UTF-8") from None
    if len(content) > MAX_BYTES:
        raise InvalidInput("no layout is written: the column names exceed 1 MB")
    says = ""
    try:
        with open(place, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
    except FileExistsError:
        with place.open("rb") as file:
            is_same = file.read(len(content) + 1) == content
        if not is_same:
            says = "is a different layout and is not overwritten: choose another path, or delete it"
    except OSError as problem:
        says = f"cannot be written ({problem.strerror})"
        with contextlib.suppress(OSError):
            place.unlink()
    if says:  # raised outside `except`: the OSError contains the path, which may be data
        raise InvalidInput(f"{_shown(path)} {says}")


def _toml_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    import tomllib  # most jobs have no layout

    _check_local("layout", path)
    try:
        return tomllib.loads(read_small(path).decode("utf-8-sig"))
    except OSError as problem:
        says = str(problem.strerror)
    except ValueError as problem:  # invalid TOML or UTF-8
        found = _place_in_toml(str(problem))
        says = "it is not TOML" if found is None else f"it is not TOML {found[0]}"
    # Raised outside `except`: the OSError contains the path, which may be data.
    raise InvalidInput(f"the layout {_shown(path)} cannot be read: {says}")


def read_layout(path: str | os.PathLike[str], selection: NamedColumns) -> FileLayout:
    """Reads a layout file for a selection. If it cannot be used, raises InvalidInput with the reason."""
    found, place = _toml_of(path), _shown(path)
    if found.get("version") != VERSION:
        raise InvalidInput(f"{place} is not a layout, or was written by another version: version is not {VERSION}")
    if found.get("reads") != selection.reads:
        raise InvalidInput(f"{place} is not a layout of {selection.reads}: reads is not {selection.reads!r}")
    broken = [name for name, value in found.items() if name not in _VALID or not _VALID[name](value)]
    broken += [name for name in ("format", "columns") if name not in found]
    is_csv, columns = found.get("format") == "csv", found.get("columns", {})
    if is_csv and (found.get("header") is None) == (found.get("header_line") is None):
        broken.append("header_line")
    if is_csv and "delimiter" not in found:
        broken.append("delimiter")
    if found.get("format") != "xml" and found.get("encoding", "utf-8") not in ENCODINGS:
        broken.append("encoding")
    if broken:
        raise InvalidInput(f"the layout {place} is not valid: check {', '.join(map(quoted, dict.fromkeys(broken)))}")
    roles = {name: tuple([value] if isinstance(value, str) else value) for name, value in columns.items()}
    for name, given in roles.items():
        if other := [role for role in given if role and role not in selection.all_roles]:
            raise InvalidInput(f"the layout {place} reads {quoted(name)} as {quoted(other[0])}, which is not a field")
    facts = {name: value for name, value in found.items() if name not in ("version", "header", "columns")}
    facts |= {name: tuple(facts[name]) for name in ("rows", "repeated") if name in facts}
    columns = {name: tuple(filter(None, given)) for name, given in roles.items()}
    layout = FileLayout(**facts, columns=columns, path=path)
    try:
        selection.check_layout(layout)
    except InvalidInput as problem:
        raise InvalidInput(f"the layout {place} is not valid: {problem.message}") from None
    return layout


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_VALID: Final[Mapping[str, Callable[[Any], bool]]] = {
    "version": lambda value: value.__class__ is int,
    "reads": lambda value: isinstance(value, str),
    "format": lambda value: value in FORMATS,
    "encoding": lambda value: isinstance(value, str),
    "rows": _are_texts,
    "delimiter": lambda value: isinstance(value, str) and len(value) == 1 and value not in '"\\\r\n ',
    "escapes": lambda value: value in get_args(Escapes),
    "header": lambda value: value is False,
    "header_line": lambda value: value.__class__ is int and value > 0,
    "default_region": lambda value: isinstance(value, str),
    "phone_format": lambda value: isinstance(value, str),
    "repeated": _are_texts,
    "columns": lambda value: (
        isinstance(value, dict) and all(isinstance(each, str) or _are_texts(each) for each in value.values())
    ),
}


def with_layout(options: Mapping[str, Any], selection: NamedColumns) -> Mapping[str, Any]:
    """Returns the options of a job, completed from its layout. `selection` must have no given columns.

    Adds only columns that would not be found by their names, because a job must have the same journal settings with and
    without a layout. Raises InvalidInput for options that contradict the layout.
    """
    layout, faults = read_layout(options["layout"], selection), Faults()
    says = {name: getattr(layout, name) for name in OPTIONS}
    given_columns = {role: list(names_given(names)) for role, names in (options["columns"] or {}).items()}
    says["columns"] = {role: layout.names_of(role) for role in given_columns}
    for name in options.keys() & OPTIONS.keys():
        given = given_columns if name == "columns" else options[name]
        if (given or given is False) and given != OPTIONS[name] and given != says[name]:
            advice = f"leave it out, or set it in the layout to {_toml(given)}"
            advice = advice if name in ("default_region", "phone_format") else "leave out one of them"
            faults.append(invalid(name, f"contradicts the layout {_shown(layout.path)}: {advice}"))
    faults.refuse()
    by_name = defaultdict[str, set[str]](set)
    for name, role in selection.of_keys(tuple(layout.columns)).roles:
        by_name[role].add(name)
    columns = dict[str, list[str]]()
    for role in selection.roles:
        listed = layout.names_of(role)
        if not (by_name[role] <= {*listed} and all(selection.role_of(name) == role for name in listed)):
            columns[role] = listed
    line = layout.header_line if (layout.header_line or 1) > 1 else None
    says |= {"columns": columns or None, "header_line": line, "layout": layout}
    return {name: says[name] for name in options}
