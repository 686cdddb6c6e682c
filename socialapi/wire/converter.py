"""From decoded JSON to models: one generated function per class, registered with cattrs.

Reading is tolerant where the documentation leaves room: unknown fields go to `extra`, a missing or null optional
field gets its default, an enumeration takes values it does not know. It is strict about shapes: a number where a text
is documented is a `DecodeError` that names the field. Stock cattrs costs twice as much an object, and coerces.
"""

import contextlib
import datetime
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
from cattrs.preconf.orjson import OrjsonConverter, make_converter

from socialapi.errors import DecodeError
from socialapi.models.account_history import CampaignSnapshot, HistoryEntry
from socialapi.models.audiences import UploadCounts
from socialapi.models.rules import Tagged, members_by_tag, wire_name
from socialapi.wire.readers import (
    PLAIN,
    UNREADABLE,
    Reader,
    Structure,
    is_tagged,
    is_tuple,
    item_kind,
    kind_of,
    without_none,
)


def structure(data: Any, cls: Any) -> Any:
    """`data` as an instance of `cls`. Raises DecodeError with the path of the first field that cannot be read."""
    hook = CONVERTER.get_structure_hook(cls)
    if isinstance(hook, Reader):
        try:
            return hook[tuple(data)](data)
        except UNREADABLE as problem:
            error = hook.explain(data, problem)
    else:
        try:
            return hook(data, cls)
        except DecodeError as problem:
            error = DecodeError(problem.path, problem.reason)
    # Made anew out here: the context of the other one may hold what was to be read.
    raise error


_IS_WRONG: Final[Mapping[Any, Callable[[Any], bool]]] = {
    kind: eval(f"lambda value: {test.format(v='value')}")  # noqa: S307  # the five constants above
    for kind, test in PLAIN.items()
}


def _says(kind: Any) -> str:
    names = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}
    return f"expected {names[kind]}"


def _tagged_fn(declared: Any) -> Structure:
    """Reads what the tag says; an object with a tag that is not known stays as it came."""
    field = next(each.field for each in declared.__metadata__ if isinstance(each, Tagged))
    members = members_by_tag(declared.__origin__, field)

    def read(data: Any, _: Any) -> Any:
        if data.__class__ is not dict:
            raise DecodeError("", "expected an object")
        kind = members.get(str(data.get(field)))
        return data if kind is None else CONVERTER.structure(data, kind)

    return read


def _structure_fn(cls: Any) -> Structure:
    """The function that reads `cls`; a failure is looked up field by field afterwards."""
    return Reader(cls, CONVERTER.get_structure_hook, _explain)


def _explain(cls: Any, data: Any, problem: Exception) -> DecodeError:
    """Which field was at fault; slow, and only walked after a failure."""
    if not isinstance(data, Mapping):
        return DecodeError("", "expected an object")
    for field in attrs.fields(cls):
        name, kind = wire_name(field), kind_of(field)
        if field.name == "extra":
            continue
        if name not in data:
            if field.default is attrs.NOTHING:
                return DecodeError(name, "is missing")
        elif data[name] is not None or field.default is attrs.NOTHING:
            try:
                _read_value(kind, data[name])
            except DecodeError as inner:
                return DecodeError(join_path(name, inner.path), inner.reason)
    return DecodeError("", f"expected an object of type {cls.__name__} ({type(problem).__name__})")


def _read_value(kind: Any, value: Any) -> Any:
    if kind in PLAIN:
        if _IS_WRONG[kind](value):
            raise DecodeError("", _says(kind))
        return value
    return CONVERTER.get_structure_hook(kind)(value, kind)


def join_path(name: str, rest: str) -> str:
    """The path of a field and, within it, of what could not be read: `a` and `b` are `a.b`, `a` and `[0]` are `a[0]`."""
    return name + rest if rest.startswith("[") else f"{name}.{rest}" if rest else name


def _tuple_fn(declared: Any) -> Structure:
    kind = item_kind(declared)
    return _array_fn(kind, None if kind in PLAIN else CONVERTER.get_structure_hook(kind))


def _array_fn(kind: Any, hook: Structure | None) -> Structure:
    is_wrong = _IS_WRONG.get(kind)

    def read(data: Any, _: Any) -> tuple[Any, ...]:
        if data.__class__ is not list:
            raise DecodeError("", "expected an array")
        if is_wrong is not None and not any(map(is_wrong, data)):
            return tuple(data)
        if isinstance(hook, Reader):
            with contextlib.suppress(*UNREADABLE):  # which of them it is, is found out below
                return tuple([hook[tuple(value)](value) for value in data])
        items: list[Any] = []
        try:
            for value in data:
                items.append(_read_value(kind, value) if hook is None else hook(value, kind))  # noqa: PERF401  # keeps the index for the path
        except DecodeError as inner:
            raise DecodeError(join_path(f"[{len(items)}]", inner.path), inner.reason) from None
        return tuple(items)

    return read


def _mapping_fn(declared: Any) -> Structure:
    arguments = typing.get_args(declared)
    kind = without_none(arguments[1]) if arguments else Any

    def read(data: Any, _: Any) -> dict[str, Any]:
        if data.__class__ is not dict:
            raise DecodeError("", "expected an object")
        return {name: _read_value(kind, value) for name, value in data.items()}

    return read


def _read_datetime(data: Any, _: Any) -> datetime.datetime:
    if isinstance(data, str):
        try:
            value = datetime.datetime.fromisoformat(data)
        except ValueError:
            raise DecodeError("", "expected an ISO 8601 time") from None
        return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    raise DecodeError("", "expected an ISO 8601 time")


def _is_mapping(declared: Any) -> bool:
    return declared is dict or typing.get_origin(declared) in (dict, Mapping)


def _make_converter() -> OrjsonConverter:
    converter = make_converter()
    converter.register_structure_hook_factory(attrs.has, _structure_fn)
    converter.register_structure_hook_factory(is_tagged, _tagged_fn)
    converter.register_structure_hook_factory(is_tuple, _tuple_fn)
    converter.register_structure_hook_factory(_is_mapping, _mapping_fn)
    converter.register_structure_hook(datetime.datetime, _read_datetime)
    return converter


CONVERTER: Final = _make_converter()


def _upload_counts(data: Any, _: Any) -> UploadCounts:
    """Audiences answer one pair of counts, do-not-reach lists one for each operation, which are added up."""
    if not isinstance(data, list):
        counts: UploadCounts = _read_counts(data, UploadCounts)
        return counts
    parts: tuple[UploadCounts, ...] = _read_each(data, None)
    return UploadCounts(
        success_count=sum(part.success_count for part in parts), total_count=sum(part.total_count for part in parts)
    )


_read_counts: Final = _structure_fn(UploadCounts)
_read_each: Final = _array_fn(UploadCounts, _read_counts)
CONVERTER.register_structure_hook(UploadCounts, _upload_counts)


def _history_entry(data: Any, _: Any) -> HistoryEntry:
    """The snapshot of a campaign is typed; that of anything else stays as it came."""
    entry: HistoryEntry = _read_history_entry(data, HistoryEntry)
    if entry.entity == "CAMPAIGN":
        try:
            entry.entity_data = CONVERTER.structure(entry.entity_data, CampaignSnapshot)
        except DecodeError as problem:
            raise DecodeError(join_path("entity_data", problem.path), problem.reason) from None
    return entry


_read_history_entry: Final = _structure_fn(HistoryEntry)
CONVERTER.register_structure_hook(HistoryEntry, _history_entry)
