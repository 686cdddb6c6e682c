"""Reads models from decoded JSON, with one reader per class.

Each class has a plan, computed once from its fields. `ObjectReader` reads regular values with the plan, which covers
nearly everything. Any other value goes to the function of its field, which this module creates.
"""

import functools
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import attrs

from socialapi._speedups import ObjectReader
from socialapi.errors import DecodeError
from socialapi.internal.unset import Unset
from socialapi.models.validation import Tagged, wire_name
from socialapi.wire import scalars

Structure = Callable[[Any, Any], Any]
Read = Callable[[Any], Any]
Explain = Callable[[Any, Any, Exception], DecodeError]

UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError, DecodeError)
"""The errors that a reader raises for data with an unexpected structure."""


class Reader:
    """Reads objects of an attrs class.

    `hook_of` returns the reader for a kind of field, and `explain` returns the error for unreadable data. Readers of
    nested objects call one another directly. They raise one of the UNREADABLE exceptions, which only the outermost
    caller turns into a DecodeError.

    `read` returns the instance for an object, and raises one of UNREADABLE. `replace_each` replaces the objects of a
    list with instances, up to the first unreadable object, and returns its index or the length of the list.

    The plan for the class is created when the first object is read, so a class that no response contains costs nothing.
    """

    def __init__(self, cls: Any, hook_of: Callable[[Any], Structure], explain: Explain) -> None:
        self._cls = cls
        self._explain = explain
        self.objects: Final = ObjectReader(functools.partial(plan_of, cls, hook_of), UNREADABLE)
        self.read: Final[Read] = self.objects.read
        self.replace_each: Final[Callable[[list[Any]], int]] = self.objects.replace_each

    def __call__(self, data: Any, _: Any = None) -> Any:
        """Returns the model instance for the data. Raises DecodeError."""
        try:
            return self.read(data)
        except UNREADABLE as problem:
            error = self._explain(self._cls, data, problem)
        raise error


# Plans --------------------------------------------------------------------------------------------


class FieldPlan(NamedTuple):
    """How the value of a field is read.

    `name` is the field's name on the wire, or None for a field that always has its default. For an array, `kind` is the
    kind of its items; `object` means any value. `nested` reads an object, or each item of an array; it is None for
    other kinds. `convert` reads any value and returns None for an empty one.

    A missing, null or empty value becomes `default`, or a new result of `make_default`, unless the class computes it on
    access (`is_late`). If the field is required, such a value is rejected. `slot` is the descriptor that stores the
    value, if the class has slots.
    """

    name: str | None
    attribute: str
    alias: str
    kind: Any
    is_array: bool
    is_required: bool
    default: Any
    make_default: Callable[[], Any] | None
    slot: Any
    is_late: bool
    nested: ObjectReader | None
    convert: Read | None


class ClassPlan(NamedTuple):
    """How the objects of a class are read.

    `extra` is the index of the attribute for unknown fields, or -1 in a class without it. `given` lists the arguments
    without a default that a response may lack. `fills_slots` is True if creating an object only fills its slots.
    """

    cls: Any
    fields: tuple[FieldPlan, ...]
    extra: int
    given: Mapping[str, Any]
    fills_slots: bool


def plan_of(cls: Any, hook_of: Callable[[Any], Structure]) -> ClassPlan:
    """Returns the plan of an attrs class; `hook_of` returns the reader of a field's kind.

    Raises TypeError for a field that may be of several kinds.
    """
    attrs.resolve_types(cls, include_extras=True)
    fields = attrs.fields(cls)
    extra = next((index for index, field in enumerate(fields) if field.name == "extra" and field.init), -1)
    plans = tuple(_field_plan(cls, field, hook_of) for field in fields)
    fills_slots = (
        cls.__new__ is object.__new__
        and not hasattr(cls, "__attrs_init__")
        and not any(hasattr(cls, f"__attrs_{when}_init__") for when in ("pre", "post"))
        and not any(
            field.converter or field.validator or getattr(field.default, "takes_self", False)
            for field in attrs.fields(cls)
        )
    ) and all(isinstance(each.slot, types.MemberDescriptorType) for each in plans)
    given = {field.alias: None for field in fields if field.default is not default_of(field)}
    return ClassPlan(cls, plans, extra, given, fills_slots)


def _field_plan(cls: Any, field: "attrs.Attribute[Any]", hook_of: Callable[[Any], Structure]) -> FieldPlan:
    is_read = field.init and field.name != "extra"
    kind = kind_of(field) if is_read else Any
    is_array = is_tuple(kind)
    item = item_kind(kind) if is_array else kind
    hook: Any = scalar_reader(item, field.name) or (None if item is Any else hook_of(item))
    default = default_of(field)
    found: Any = getattr(cls, field.name, None)
    slot = getattr(found, "slot", found)
    return FieldPlan(
        name=wire_name(field) if is_read else None,
        attribute=field.name,
        alias=field.alias or field.name,
        kind=object if item is Any else item,
        is_array=is_array,
        is_required=is_read and default is attrs.NOTHING,
        default=default,
        make_default=getattr(field.default, "factory", None),
        slot=slot,
        is_late=slot is not found,
        nested=hook.objects if isinstance(hook, Reader) else None,
        convert=_converter(item, hook, is_array=is_array),
    )


def _converter(kind: Any, hook: Any, *, is_array: bool) -> Any:
    """Returns the function that reads any value of a field, or None if every value is used unchanged."""
    if is_array:
        return functools.partial(read_array, kind, hook)
    if hook is None or scalar_reader(kind) is not None:
        return hook
    return functools.partial(read_value, kind, hook)


# Values -------------------------------------------------------------------------------------------


def read_array(kind: Any, hook: Any, value: Any) -> tuple[Any, ...] | None:
    """Returns the items of an array, each read by `hook`; None for a null or empty value.

    Raises DecodeError with the index of the unreadable item. Skips a null, but rejects it among
    numbers, where the index of an item may carry meaning.
    """
    if (items := scalars.as_list(value)) is None:
        return None
    found: list[Any] = []
    for index, item in enumerate(items):
        try:
            one = read_value(kind, hook, item)
        except DecodeError as problem:
            error = DecodeError(join_path(f"[{index}]", problem.path), problem.reason)
        else:
            if one is not None:
                found.append(one)
                continue
            if kind is str or scalar_reader(kind) is None:
                continue
            error = DecodeError(f"[{index}]", "is empty")
        raise error
    return tuple(found)


def read_value(kind: Any, hook: Any, value: Any) -> Any:
    """Returns a value of the kind, read by `hook`; None for a null or empty one. Raises DecodeError."""
    if kind is Any or value is None:
        return value
    if scalar_reader(kind) is not None:
        return hook(value)
    if isinstance(hook, Reader):
        value = scalars.only_object(value)
    return None if value is None else hook(value, kind)


def join_path(name: str, rest: str) -> str:
    """Returns the path of a field within another: `a` and `b` give `a.b`, `a` and `[0]` give `a[0]`."""
    return f"{name}.{rest}" if name and rest and not rest.startswith("[") else name + rest


def without_none(annotation: Any) -> Any:
    """Returns the type without None and annotations: `Literal[…] | str | None` gives str, `int | None` gives int.

    Raises TypeError for a union of several types.
    """
    if is_tagged(annotation):
        return annotation
    if typing.get_origin(annotation) is typing.Annotated:
        return without_none(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        kinds = {without_none(m) for m in typing.get_args(annotation) if m not in (type(None), Unset)}
        if len(kinds) != 1:
            raise TypeError(f"no way to tell the members of {annotation} apart")
        return kinds.pop()
    return str if typing.get_origin(annotation) is Literal else annotation


def is_tagged(declared: Any) -> bool:
    """Returns whether this is a union of classes that the value of a field distinguishes."""
    return any(isinstance(each, Tagged) for each in getattr(declared, "__metadata__", ()))


def kind_of(field: "attrs.Attribute[Any]") -> Any:
    """Returns the type of a field, or its `read_as` metadata if the type depends on other fields."""
    return field.metadata.get("read_as") or without_none(field.type)


def default_of(field: "attrs.Attribute[Any]") -> Any:
    """Returns the replacement for a missing or null value of a field; attrs.NOTHING if such a value is rejected.

    A field that may be None and has no default is required only when code creates an object.
    """
    if field.default is attrs.NOTHING and type(None) in typing.get_args(field.type):
        return None
    return field.default


def is_tuple(declared: Any) -> bool:
    """Returns whether this type is read from an array."""
    return typing.get_origin(declared) is tuple


def item_kind(declared: Any) -> Any:
    """Returns the type of an array's items."""
    return without_none(typing.get_args(declared)[0])


def scalar_reader(kind: Any, field_name: str = "") -> Read | None:
    """Returns the function that reads a single value of the kind, or None if the kind is not a scalar.

    Strings in fields named like an id are read as ids.
    """
    if kind is str and _names_an_id(field_name):
        return scalars.identifier
    return scalars.READERS.get(kind)


_names_an_id: Final = re.compile(r"(?:.*_)?(?:id|ids|key|keys|uuid|uuids|token)").fullmatch
