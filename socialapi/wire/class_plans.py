"""Says how the objects of a class are read from decoded JSON: a plan, made once from its fields.

A plan holds no code that reads whole objects. `class_readers` makes functions of it, and the
optional extension an object of its own; both read the same.
"""

import datetime
import enum
import functools
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Final, Literal

import attrs

from socialapi.internal.unset import Unset
from socialapi.models.validation import Tagged, wire_name
from socialapi.wire import scalars

Structure = Callable[[Any, Any], Any]
Read = Callable[[Any], Any]


class Form(enum.IntEnum):
    """How a value is read: as it is, as a scalar, by the reader of a class, or by its hook alone.

    The extension has the same numbers.
    """

    ANY = 0
    TEXT = 1
    BOOLEAN = 2
    WHOLE_NUMBER = 3
    NUMBER = 4
    TIME = 5
    OBJECT = 6
    OTHER = 7


_FORMS: Final = {
    Any: Form.ANY,
    str: Form.TEXT,
    bool: Form.BOOLEAN,
    int: Form.WHOLE_NUMBER,
    float: Form.NUMBER,
    datetime.datetime: Form.TIME,
}


@attrs.frozen(kw_only=True)
class FieldPlan:
    """How the value of a field is read.

    `name` is its name on the wire; None for a field that only has its default. For an array,
    `kind`, `form` and `hook` are those of an item. `hook` reads a scalar (a function of the value), or an
    object or anything else (a function of the value and the kind); None for Form.ANY.

    `default` is what a missing, null or empty value becomes, attrs.NOTHING if it is refused. It is
    made by `make_default` for every object where there is one: when the object is made, or if
    `is_late` on the first access. `slot` is the descriptor that stores the value, if the class has
    slots.
    """

    name: str | None
    attribute: str
    alias: str
    kind: Any = None
    form: Form = Form.ANY
    is_array: bool = False
    hook: Any = None
    default: Any
    make_default: Callable[[], Any] | None
    is_late: bool
    slot: types.MemberDescriptorType | None

    @property
    def is_required(self) -> bool:
        """Whether an object without the field is refused."""
        return self.name is not None and self.default is attrs.NOTHING


@attrs.frozen(kw_only=True)
class ClassPlan:
    """How the objects of a class are read.

    `fields` are all fields but `extra`, in the order of the class. `extra` takes the members that no
    field is named after; None in a class without it. Creating an object of a bare class does
    nothing but set its attributes.
    """

    cls: Any
    fields: tuple[FieldPlan, ...]
    extra: FieldPlan | None
    is_bare: bool

    @functools.cached_property
    def every_field(self) -> tuple[FieldPlan, ...]:
        """All fields, `extra` last."""
        return self.fields if self.extra is None else (*self.fields, self.extra)

    @functools.cached_property
    def named(self) -> dict[str, FieldPlan]:
        """The fields that are read, by their names on the wire."""
        return {field.name: field for field in self.fields if field.name is not None}


class PlannedReader:
    """Reads the objects of a class by its plan.

    It stands here because a plan asks whether a hook is one, and the readers are made of plans.
    """


def plan_of(cls: Any, hook_of: Callable[[Any], Structure]) -> ClassPlan:
    """Returns the plan of an attrs class; `hook_of` returns the reader of a field's kind.

    Raises TypeError for a field that may be of several kinds.
    """
    attrs.resolve_types(cls, include_extras=True)
    is_bare = _is_bare(cls)
    fields = [_field_plan(cls, field, hook_of, is_bare=is_bare) for field in attrs.fields(cls)]
    return ClassPlan(
        cls=cls,
        fields=tuple(field for field in fields if not _is_extra(field)),
        extra=next(filter(_is_extra, fields), None),
        is_bare=is_bare,
    )


def _is_extra(field: FieldPlan) -> bool:
    return field.attribute == "extra" and field.name is not None


def _field_plan(
    cls: Any, field: "attrs.Attribute[Any]", hook_of: Callable[[Any], Structure], *, is_bare: bool
) -> FieldPlan:
    is_late = is_bare and _is_made_late(cls, field)
    found: Any = getattr(cls, field.name, None)
    slot = found.slot if isinstance(found, _LazyAttribute) else found
    is_read = field.init and field.name != "extra"
    kind = kind_of(field) if is_read else Any
    item = item_kind(kind) if is_tuple(kind) else kind
    hook: Any = scalar_reader(item, field.name) or (None if item is Any else hook_of(item))
    return FieldPlan(
        name=wire_name(field) if field.init else None,
        attribute=field.name,
        alias=field.alias or field.name,
        kind=item,
        form=_FORMS.get(item, Form.OBJECT if isinstance(hook, PlannedReader) else Form.OTHER),
        is_array=is_tuple(kind),
        hook=hook,
        default=default_of(field),
        make_default=getattr(field.default, "factory", None),
        is_late=is_late,
        slot=slot if isinstance(slot, types.MemberDescriptorType) else None,
    )


def without_none(annotation: Any) -> Any:
    """Returns the type without None and annotations: `Literal[…] | str | None` gives str, `int |
    None` gives int.

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
    """Returns whether this is a union of classes told apart by the value of a field."""
    return any(isinstance(each, Tagged) for each in getattr(declared, "__metadata__", ()))


def kind_of(field: "attrs.Attribute[Any]") -> Any:
    """Returns what a field is read as: its type, or its `read_as` metadata if the type depends on
    other fields.
    """
    return field.metadata.get("read_as") or without_none(field.type)


def default_of(field: "attrs.Attribute[Any]") -> Any:
    """Returns what a missing or null value of a field becomes; attrs.NOTHING if it is refused.

    A field without a default that may be None is only required of those who make an object.
    """
    if field.default is attrs.NOTHING and type(None) in typing.get_args(field.type):
        return None
    return field.default


def is_tuple(declared: Any) -> bool:
    """Returns whether this type is read from an array."""
    return typing.get_origin(declared) is tuple


def item_kind(declared: Any) -> Any:
    """Returns what the items of an array are read as."""
    return without_none(typing.get_args(declared)[0])


def scalar_reader(kind: Any, field_name: str = "") -> Read | None:
    """Returns the function that reads a single value of the kind; None if the kind is no scalar.

    Strings in fields named like an id are read as ids.
    """
    if kind is str and _names_an_id(field_name):
        return scalars.identifier
    return scalars.READERS.get(kind)


_names_an_id: Final = re.compile(r"(?:.*_)?(?:id|ids|key|keys|uuid|uuids|token)").fullmatch


class _LazyAttribute:
    """An attribute whose default is created on first access.

    Most objects have no unknown fields. An empty dictionary for each would cost as much as the
    fields of a small object, and more in the garbage collector.
    """

    __slots__ = ("make", "slot")

    def __init__(self, slot: types.MemberDescriptorType, make: Callable[[], Any]) -> None:
        self.slot = slot
        self.make = make

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            return self.slot.__get__(instance, owner)
        except AttributeError:
            made = self.make()
            self.slot.__set__(instance, made)
            return made

    def __set__(self, instance: Any, value: Any) -> None:
        self.slot.__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        self.slot.__delete__(instance)


def _is_made_late(cls: Any, field: "attrs.Attribute[Any]") -> bool:
    """Returns whether the default of an attribute is created on access; true if it has a
    factory.
    """
    make, slot = getattr(field.default, "factory", None), getattr(cls, field.name, None)
    if make is not None and isinstance(slot, types.MemberDescriptorType):
        setattr(cls, field.name, _LazyAttribute(slot, make))
    return isinstance(getattr(cls, field.name, None), _LazyAttribute)


def _is_bare(cls: Any) -> bool:
    """Returns whether creating an object does nothing but set its attributes."""
    return (
        cls.__setattr__ is object.__setattr__
        and cls.__new__ is object.__new__
        and not hasattr(cls, "__attrs_init__")
        and not any(hasattr(cls, f"__attrs_{when}_init__") for when in ("pre", "post"))
        and not any(
            field.converter or field.validator or getattr(field.default, "takes_self", False)
            for field in attrs.fields(cls)
        )
    )
