"""Reads the names and values of rows with named fields: database rows and objects.

The class of an item determines how the item is read. No library is imported: classes are recognized by documented
attributes.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.bulk.inputs.columns import quoted
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord

_PLAIN_ROW: Final = (
    "a row must name its columns: set row_factory to sqlite3.Row (SQLite) or dict_row (psycopg), pass the DuckDB "
    "relation itself, or make mappings with dict(zip(names, row))"
)
_ENTITY: Final = (
    "an ORM entity may query the database for each attribute: select columns instead, for example with "
    'select(User.email, User.phone) or queryset.values("email", "phone")'
)
_TABLE: Final = (
    "pass a table itself, not a list of tables: combine several, for example with pandas.concat or polars.concat"
)


@attrs.frozen
class KeyedRow(FrozenRecord):
    """The way to read rows of one class. Names and values are in the same order.

    A name may occur twice, as in a join. If a row cannot be read, both functions raise InvalidInput without quoting a
    value.
    """

    names: Callable[[Any], tuple[str, ...]]
    """Returns the names of a row. A key that is not a string gets an empty name, which matches no column."""
    values: Callable[[Any], Sequence[Any]]
    """Returns the values of a row."""
    fixed_names: tuple[str, ...] | None = None
    """The names, if they are the same for all rows of the class."""


def keyed_row(kind: type) -> KeyedRow | None:
    """Returns the way to read rows of this class, or None for ORM entities and for classes without names.

    Supports rows of SQLite, asyncpg and SQLAlchemy, named tuples, dataclasses, and classes of attrs, pydantic and
    msgspec. Models of the service are attrs classes as well, so callers must check for them first.
    """
    return next((found for adapt in _ADAPTERS if (found := adapt(kind)) is not None), None)


def advice_for(kind: type) -> str:
    """Returns advice about rows of an unsupported class, or an empty string."""
    if issubclass(kind, tuple | list):
        return _PLAIN_ROW
    if hasattr(kind, "__arrow_c_stream__"):
        return _TABLE
    return _ENTITY if _is_entity(kind) or hasattr(kind, "_meta") else ""


def _named_tuple(kind: type) -> KeyedRow | None:
    if not (issubclass(kind, tuple) and isinstance(names := getattr(kind, "_fields", None), tuple)):
        return None
    return KeyedRow(lambda _: names, lambda item: item, names)


def _sqlalchemy_row(kind: type) -> KeyedRow | None:
    def names(row: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = row._fields
        if len(found) == 1 and _is_entity(type(row[0])):
            raise InvalidInput(f"a {kind.__name__} contains one {type(row[0]).__name__}: {_ENTITY}")
        if len(found) != len(row):  # SQLAlchemy omits columns that have no name
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
        # pydantic 1 has no attribute for extra fields, but `dict` lists them after the declared fields.
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
    """Returns the way to read asyncpg.Record, sqlite3.Row, and mappings whose class is not registered as a Mapping."""
    is_table = hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "columns")
    if _is_entity(kind) or is_table:  # a pandas DataFrame has the methods of a mapping of columns
        return None
    if not callable(getattr(kind, "keys", None)) or not hasattr(kind, "__getitem__"):
        return None
    names = _guarded(kind, lambda item: _texts(tuple(item.keys())))
    if callable(getattr(kind, "values", None)):
        return KeyedRow(names, _guarded(kind, lambda item: tuple(item.values())))
    return KeyedRow(names, _guarded(kind, tuple)) if hasattr(kind, "__iter__") else None


_ADAPTERS: Final = (_named_tuple, _sqlalchemy_row, _pydantic_model, _object_with_fields, _object_with_keys)
"""The functions to try, in this order, because an object with fields may also have the methods of a mapping."""


def _is_entity(kind: type) -> bool:
    """Returns whether SQLAlchemy maps the class to a table. If so, reading a relationship may query the database."""
    return hasattr(kind, "__mapper__")


def _of_attributes(kind: type, declared: Iterable[str]) -> KeyedRow:
    names = tuple(name for name in declared if not name.startswith("_"))
    if len(names) > 1 and all(map(str.isidentifier, names)):
        read: Callable[[Any], tuple[Any, ...]] = operator.attrgetter(*names)
    else:
        # attrgetter returns no tuple for a single name, and treats a dot as access to a nested attribute.
        def read(item: Any) -> tuple[Any, ...]:
            return tuple(getattr(item, name) for name in names)

    return KeyedRow(lambda _: names, _guarded(kind, read, names), names)


def _guarded(
    kind: type, read: Callable[[Any], tuple[Any, ...]], attributes: Sequence[str] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """Returns a function that reads an item, and replaces any error with InvalidInput."""

    def guarded(item: Any) -> tuple[Any, ...]:
        try:
            return read(item)
        except InvalidInput:
            raise
        except Exception as error:  # noqa: BLE001 - any error of a class or library, whose message may quote values
            what = next((quoted(name) for name in attributes if not _can_be_read(item, name)), "a row")
            raise InvalidInput(f"{what} of type {kind.__name__} cannot be read: {type(error).__name__}") from None

    return guarded


def _can_be_read(item: Any, name: str) -> bool:
    try:
        getattr(item, name)
    except Exception:  # noqa: BLE001 - any error means that the attribute cannot be read
        return False
    return True


@functools.lru_cache(maxsize=256)
def _texts(keys: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(key if isinstance(key, str) else "" for key in keys)
