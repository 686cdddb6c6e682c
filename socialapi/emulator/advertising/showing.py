"""Which fields of a record are shown: those that its model declares."""

import functools
import types
import typing
from collections.abc import Collection, Mapping
from typing import Any

import attrs

from socialapi.emulator.advertising.records import Record
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer, ads_data
from socialapi.models.pages import Page
from socialapi.models.validation import wire_name
from socialapi.routes.route import Route


def shown(record: Record, model: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """The documented fields of a record that it has."""
    return {name: record[name] for name in _fields(model) if name in record and name not in without}


def answer_record(call: Call, arguments: Arguments, record: Record) -> Answer:
    """The answer of an endpoint about one record."""
    return ads_data(shown(record, call.route.result), arguments.echo)


def item_of(route: Route[Any]) -> Any:
    """The model of what a route answers, or of an item of the collection that it answers."""
    return typing.get_args(route.result)[0] if typing.get_origin(route.result) is Page else route.result


def sortable(route: Route[Any]) -> Collection[str]:
    """The fields that the items of a collection can be sorted by: those with a single value."""
    return frozenset(name for name, kind in _fields(item_of(route)).items() if _is_scalar(kind))


@functools.cache
def _fields(model: Any) -> Mapping[str, Any]:
    """The names of the fields of a model on the wire, with their types."""
    attrs.resolve_types(model)
    return {wire_name(field): field.type for field in attrs.fields(model) if field.name != "extra"}


def _is_scalar(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return all(map(_is_scalar, typing.get_args(kind)))
    return origin is typing.Literal or (origin is None and not attrs.has(kind))
