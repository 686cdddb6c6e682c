"""Converts records and pages to plain data and back, for `to_dict` and `from_dict`.

It uses the modules that encode requests and decode responses. In addition, it handles classes whose responses contain
data without a field, and data that JSON cannot represent.
"""

import base64
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from socialapi.errors import DecodeError, InvalidInput
from socialapi.internal.records import Exported
from socialapi.models.events import ActivityEvent, MatchedPost, StreamNotice
from socialapi.models.model import Items
from socialapi.models.pages import Page
from socialapi.models.undecoded import Undecoded
from socialapi.problems import BrokenRule, ServiceError
from socialapi.wire.decode import read_errors, read_service_error, structure
from socialapi.wire.encode import json_shape, rules_of_values
from socialapi.wire.events import matched_post, with_message
from socialapi.wire.paging import page_of


def to_dict(record: Any) -> dict[str, Any]:
    """Returns a record as JSON types, with JSON names. Raises InvalidInput."""
    found: dict[str, Any] = json_ready(record, _shape_of)
    return found


def _shape_of(record: Any) -> Any:
    """Returns a record as dicts, lists and scalars, including scalars that JSON lacks."""
    return _SHAPES.get(type(record), json_shape)(record)


def json_ready(value: Any, shape: Callable[[Any], Any] = json_shape) -> Any:
    """Returns a value as JSON types. Raises InvalidInput, which names every invalid field."""
    try:
        found = shape(value)
        broken = rules_of_values(found, _why_not_json)
    except RecursionError:
        broken = [BrokenRule(path="", reason="it is nested too deeply")]
    if broken:
        raise InvalidInput(f"{type(value).__name__} cannot be exported as JSON", broken)
    return found


_SCALARS: Final = frozenset({str, int, bool, type(None)})


def _why_not_json(value: Any) -> str | None:
    """Returns why a value has no JSON type, or None. Lone surrogates and large integers count as JSON."""
    if value.__class__ in _SCALARS or (value.__class__ is float and math.isfinite(value)):
        return None
    return "is not a finite number" if isinstance(value, float) else f"JSON has no equivalent of {type(value).__name__}"


def json_text(data: Any, *, indent: bool = False) -> str:
    """Returns data of JSON types as a JSON string, on one line or indented. Escapes lone surrogates."""
    try:
        return orjson.dumps(data, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except orjson.JSONEncodeError:
        pass  # lone surrogates, or integers of more than 64 bits
    try:
        return json.dumps(data, indent=2) if indent else json.dumps(data, separators=(",", ":"))
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError:  # which Python raises for integers with thousands of digits
        reason = "a number in it has too many digits"
    raise InvalidInput(f"the data cannot be exported as JSON: {reason}")


def from_dict(cls: Any, data: Mapping[str, Any]) -> Any:
    """Returns an instance of the class for the result of `to_dict`. Raises InvalidInput."""
    return _read(cls, _READERS.get(cls) or (lambda given: structure(given, cls)), data)


def page_from_dict(data: Mapping[str, Any], item_type: Any) -> Page[Any]:
    """Returns the page for the result of `Page.to_dict`, or for a response. Raises InvalidInput."""
    page: Page[Any] = _read(Page, lambda given: page_of(given, item_type), data)
    return page


def items_from_dict(data: Mapping[str, Any], item_type: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Returns the items and the errors for the result of `Items.to_dict`. Raises InvalidInput."""

    def read(given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return structure(given.get("data"), tuple[item_type, ...]) or (), read_errors(given.get("errors"))

    found: tuple[tuple[Any, ...], tuple[Any, ...]] = _read(Items, read, data)
    return found


def _read(cls: Any, read: Callable[[dict[str, Any]], Any], data: object) -> Any:
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{cls.__name__}.from_dict takes a mapping, not {type(data).__name__}")
    try:
        return read(dict(data))
    except DecodeError as problem:
        rule = BrokenRule(path=problem.path, reason=problem.reason)
    except RecursionError:
        rule = BrokenRule(path="", reason="is nested too deeply")
    raise InvalidInput(f"the data cannot be read as {cls.__name__}", [rule])


# Classes that are not just their fields --------------------------------------------------------------------


def _page_shape(page: Page[Any]) -> dict[str, Any]:
    return {
        **json_shape(page.extra),
        "data": _each_shaped(page.data),
        "includes": json_shape(page.includes),
        "meta": json_shape(page.meta),
        "errors": json_shape(page.errors),
        "undecoded": [_undecoded_shape(each) for each in page.undecoded],
        "next_token": page.next_token,
        "previous_token": page.previous_token,
        "result_count": page.result_count,
        "total_count": page.total_count,
        "request": {"params": json_shape(page.params)},
    }


def _each_shaped(items: Sequence[Any]) -> list[Any]:
    """Returns the result of `to_dict` for each item."""
    return [each.to_dict() if _has_own_form(each.__class__) else _shape_of(each) for each in items]


@functools.cache
def _has_own_form(cls: Any) -> bool:
    """Returns whether a class exports itself differently, or only on request."""
    return getattr(cls, "to_dict", Exported.to_dict) is not Exported.to_dict


def _undecoded_shape(undecoded: Undecoded) -> dict[str, Any]:
    shape: dict[str, Any] = json_shape(undecoded)
    if isinstance(undecoded.raw, bytes):
        shape["raw_base64"] = base64.b64encode(shape.pop("raw")).decode()
    return shape


def _post_shape(post: MatchedPost) -> dict[str, Any]:
    shape: dict[str, Any] = json_shape(post)
    return shape | {"errors": json_shape(post.errors)} if post.errors else shape


_SHAPES: Final[Mapping[Any, Callable[[Any], Any]]] = {
    Items: lambda items: {"data": _each_shaped(items), "errors": json_shape(items.partial_errors)},
    Page: _page_shape,
    MatchedPost: _post_shape,
    StreamNotice: lambda notice: {"errors": json_shape(notice.problems)},
    Undecoded: _undecoded_shape,
}
"""Maps classes with data outside their fields to functions that shape an instance."""


_READERS: Final[Mapping[Any, Callable[[dict[str, Any]], Any]]] = {
    ActivityEvent: lambda data: with_message(structure(data, ActivityEvent), json_text(data).encode()),
    MatchedPost: lambda data: matched_post(data, json_text(data).encode()),
    ServiceError: read_service_error,
    StreamNotice: lambda data: StreamNotice(read_errors(data.get("errors")), json_text(data).encode()),
}
"""Maps classes with data outside their fields to functions that read an instance."""
