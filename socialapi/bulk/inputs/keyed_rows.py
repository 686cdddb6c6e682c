"""Reads the names and values of rows that have names: rows of databases, and objects with fields.

The type of an item says how. None of the libraries is imported: their classes are recognised by
documented attributes.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

import attrs

from socialapi.bulk.inputs.columns import quoted
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord

_KINDS_KEPT: Final = 256

_PLAIN_ROW: Final = (
    "a row has to name its columns: use sqlite3.Row as the row_factory of a SQLite connection and dict_row as that of "
    "psycopg, give the relation of DuckDB itself, or make mappings with dict(zip(names, row))"
)
_ENTITY: Final = (
    "an entity of an ORM may ask the database for each of its attributes: select columns, as "
    'select(User.email, User.phone) or queryset.values("email", "phone") does'
)
_TABLE: Final = "a table is given by itself, not in a list: make one of several, as pandas.concat and polars.concat do"


@attrs.frozen
class KeyedRow(FrozenRecord):
    """Reads rows of one type. Names and values are in the same order.

    A name may occur twice, as in a join. Both functions raise InvalidInput, which quotes no value,
    for a row that cannot be read.
    """

    names: Callable[[Any], tuple[str, ...]]
    """Reads the names of a row. A key that is no text has an empty name, which is no column's."""
    values: Callable[[Any], Sequence[Any]]
    """Reads the values of a row."""
    fixed_names: tuple[str, ...] | None = None
    """The names, if the type fixes them: then no row has to be asked."""


def keyed_row(kind: type) -> KeyedRow | None:
    """Returns how rows of this type are read, or None for a type without names and for entities.

    Known are mappings, rows of SQLite, asyncpg and SQLAlchemy, named tuples, dataclasses, and
    classes of attrs, pydantic and msgspec. `advice_for` says what to do about others. Models of the
    service are attrs classes as well: whoever reads them otherwise asks for them first.
    """
    return _find(kind)


def advice_for(kind: type) -> str:
    """Returns what to do instead about rows of a type that are not read, or an empty text."""
    if issubclass(kind, tuple | list):
        return _PLAIN_ROW
    if hasattr(kind, "__arrow_c_stream__"):
        return _TABLE
    return _ENTITY if _is_entity(kind) or hasattr(kind, "_meta") else ""


def _mapping(kind: type) -> KeyedRow | None:
    if not issubclass(kind, Mapping):
        return None
    if kind is dict:  # whose methods raise nothing
        return KeyedRow(lambda item: _texts(tuple(item)), lambda item: tuple(item.values()))
    return KeyedRow(_guarded(kind, lambda item: _texts(tuple(item))), _guarded(kind, lambda item: tuple(item.values())))


def _named_tuple(kind: type) -> KeyedRow | None:
    if not (issubclass(kind, tuple) and isinstance(names := getattr(kind, "_fields", None), tuple)):
        return None
    return KeyedRow(lambda _: names, lambda item: item, names)


def _sqlalchemy_row(kind: type) -> KeyedRow | None:
    def names(row: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = row._fields
        if len(found) == 1 and _is_entity(type(row[0])):
            raise InvalidInput(f"a {kind.__name__} holds one {type(row[0]).__name__}: {_ENTITY}")
        if len(found) != len(row):  # SQLAlchemy leaves out names that the database did not give
            raise InvalidInput(f"a {kind.__name__} has {len(row)} values and {len(found)} names: name every column")
        return found

    is_row = hasattr(kind, "_fields") and hasattr(kind, "_mapping")
    return KeyedRow(_guarded(kind, names), _guarded(kind, tuple)) if is_row else None


def _pydantic_model(kind: type) -> KeyedRow | None:
    if hasattr(kind, "model_validate") and isinstance(fields := getattr(kind, "model_fields", None), Mapping):
        takes_extras = getattr(kind, "model_config", {}).get("extra") == "allow"
    elif hasattr(kind, "parse_obj") and isinstance(fields := getattr(kind, "__fields__", None), Mapping):
        takes_extras = getattr(getattr(kind, "__config__", None), "extra", None) == "allow"
    else:
        return None
    declared = _of_attributes(kind, fields)
    if not takes_extras:
        return declared

    def extras(model: Any) -> dict[str, Any]:
        # The first version of pydantic has no name for them, yet gives them behind the fields.
        given = model.model_extra if hasattr(kind, "model_extra") else dict(model)
        return {name: value for name, value in (given or {}).items() if name not in fields}

    return KeyedRow(
        _guarded(kind, lambda model: (*declared.names(model), *extras(model))),
        _guarded(kind, lambda model: (*declared.values(model), *extras(model).values())),
    )


def _object_with_fields(kind: type) -> KeyedRow | None:
    if _is_entity(kind):
        return None
    if isinstance(names := getattr(kind, "__struct_fields__", None), tuple):  # of msgspec
        return _of_attributes(kind, names)
    if isinstance(attributes := getattr(kind, "__attrs_attrs__", None), tuple):
        return _of_attributes(kind, (each.name for each in attributes))
    if dataclasses.is_dataclass(kind):
        return _of_attributes(kind, (each.name for each in dataclasses.fields(kind)))
    return None


def _object_with_keys(kind: type) -> KeyedRow | None:
    """Reads asyncpg.Record, sqlite3.Row, and mappings that do not register as such."""
    if _is_entity(kind) or _is_table(kind):
        return None
    if not callable(getattr(kind, "keys", None)) or not hasattr(kind, "__getitem__"):
        return None
    names = _guarded(kind, lambda item: _texts(tuple(item.keys())))
    if callable(getattr(kind, "values", None)):
        return KeyedRow(names, _guarded(kind, lambda item: tuple(item.values())))
    return KeyedRow(names, _guarded(kind, tuple)) if hasattr(kind, "__iter__") else None


_WAYS: Final = (_mapping, _named_tuple, _sqlalchemy_row, _pydantic_model, _object_with_fields, _object_with_keys)
"""In this order: an object with fields may have methods for mappings as well."""


@functools.lru_cache(maxsize=_KINDS_KEPT)
def _find(kind: type) -> KeyedRow | None:
    return next((found for read_by in _WAYS if (found := read_by(kind)) is not None), None)


def _is_entity(kind: type) -> bool:
    """Returns whether SQLAlchemy maps the class to a table.

    Relationships are among the fields of an entity, and reading one is a query.
    """
    return hasattr(kind, "__mapper__")


def _is_table(kind: type) -> bool:
    """Whether it has rows of its own, as a DataFrame of pandas, whose methods are those of a
    mapping of columns.
    """
    return hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "columns")


def _of_attributes(kind: type, declared: Iterable[str]) -> KeyedRow:
    """Reads attributes of these names, but for private ones."""
    names = tuple(name for name in declared if not name.startswith("_"))
    if len(names) > 1 and all(map(str.isidentifier, names)):
        read: Callable[[Any], tuple[Any, ...]] = operator.attrgetter(*names)
    else:
        # Of one name attrgetter returns no tuple, and a dot would lead it into the value.
        def read(item: Any) -> tuple[Any, ...]:
            return tuple(getattr(item, name) for name in names)

    return KeyedRow(lambda _: names, _guarded(kind, read, names), names)


def _guarded(
    kind: type, read: Callable[[Any], tuple[Any, ...]], attributes: Sequence[str] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """Returns a function that reads an item, and raises InvalidInput for whatever that raises."""

    def guarded(item: Any) -> tuple[Any, ...]:
        try:
            return read(item)
        except Exception as error:  # noqa: BLE001 - of a user's class or a library; its words may quote values
            _refuse(kind, item, error, attributes)

    return guarded


def _refuse(kind: type, item: Any, error: Exception, attributes: Sequence[str]) -> NoReturn:
    if isinstance(error, InvalidInput):
        raise error
    what = next((quoted(name) for name in attributes if not _can_be_read(item, name)), "a row")
    raise InvalidInput(f"{what} of type {kind.__name__} cannot be read: {type(error).__name__}") from None


def _can_be_read(item: Any, name: str) -> bool:
    try:
        getattr(item, name)
    except Exception:  # noqa: BLE001 - only whether it raises is asked
        return False
    return True


@functools.lru_cache(maxsize=_KINDS_KEPT)
def _texts(keys: tuple[Any, ...]) -> tuple[str, ...]:
    """Returns the keys with an empty name for each that is no text."""
    return tuple(key if isinstance(key, str) else "" for key in keys)
