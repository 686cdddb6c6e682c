"""Makes what reads models from decoded JSON, one reader per class, by the plan of the class.

With the optional extension, an object of its own fills the slots of a model. It hands what it does
not take to the functions of this module, which also read everything without the extension.

They are generated. Every class has a general function that reads any object, name by name. Objects
of a collection mostly have the same names in the same order, so names that keep coming get a
specialised function. It knows which fields are present, missing or unknown and takes all values at
once, which saves a quarter of the time. Both functions convert a value in the same way.
"""

import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from socialapi._speedups import IS_ENABLED
from socialapi.errors import DecodeError
from socialapi.wire import scalars
from socialapi.wire.class_plans import (
    ClassPlan,
    FieldPlan,
    Form,
    PlannedReader,
    Read,
    Structure,
    plan_of,
    scalar_reader,
)

if TYPE_CHECKING:
    from socialapi._speedups._native import ObjectReader

Explain = Callable[[Any, Any, Exception], DecodeError]
Names = tuple[str, ...]

MIN_OCCURRENCES: Final = 16
"""How often the same names must come before a function is generated for them, which takes a
millisecond.
"""
MAX_SHAPES: Final = 64
"""The most specialised functions of a class. Later names are read by the general function."""
MAX_COUNTED: Final = 1024
"""The most sets of names that are counted at a time."""
MAX_LEFT_OVER: Final = 16
"""Objects with more unknown names than this are not counted: their names may all differ, and be
long.
"""

NEEDS_CONVERSION: Final[Mapping[Form, str]] = {
    Form.TEXT: "{v}.__class__ is not str",
    Form.BOOLEAN: "{v}.__class__ is not bool",
    Form.WHOLE_NUMBER: "{v}.__class__ is not int",
    Form.NUMBER: "{v}.__class__ is not float and {v}.__class__ is not int",
}
"""For each form, the expression that is true if a value needs conversion. Any other value is used
as it is.
"""


UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError, DecodeError)
"""What the functions raise for data of an unexpected shape."""


def required(value: Any) -> Any:
    """Returns the value. Raises DecodeError if it is None."""
    if value is None:
        raise DecodeError("", "is empty")
    return value


def read_items(items: Sequence[Any], kind: Any, hook: Any) -> tuple[Any, ...]:
    """Returns the items of an array, each read by `hook`. Raises DecodeError with the index of the
    item at fault.

    A null is skipped, but refused among numbers, where the index of an item may carry meaning.
    """
    found: list[Any] = []
    for index, item in enumerate(items):
        try:
            value = read_value(kind, hook, item)
            if value is None and kind not in _TEXTS_AND_OBJECTS and scalar_reader(kind) is not None:
                required(value)
        except DecodeError as problem:
            error = DecodeError(join_path(f"[{index}]", problem.path), problem.reason)
        else:
            if value is not None:
                found.append(value)
            continue
        raise error
    return tuple(found)


_TEXTS_AND_OBJECTS: Final = (str, Any)


def read_value(kind: Any, hook: Any, value: Any) -> Any:
    """Returns a value of the kind, read by `hook`; None for a null or empty one. Raises
    DecodeError.
    """
    if kind is Any or value is None:
        return value
    if scalar_reader(kind) is not None:
        return hook(value)
    if isinstance(hook, Reader):
        value = scalars.only_object(value)
    return None if value is None else hook(value, kind)


def join_path(name: str, rest: str) -> str:
    """Returns the path of a field within another: `a` and `b` give `a.b`, `a` and `[0]` give
    `a[0]`.
    """
    return f"{name}.{rest}" if name and rest and not rest.startswith("[") else name + rest


class Reader(dict[Names, Read], PlannedReader):
    """Reads objects of an attrs class. Maps the names of an object to the function that reads it.

    `hook_of` returns the reader of a field's kind, `explain` the error for data that cannot be
    read. The functions for nested objects call one another directly; only the outermost caller
    turns a failure, which is one of UNREADABLE, into a DecodeError.

    `read` returns the instance for an object, and raises one of UNREADABLE. `replace_each` puts the
    instances in a list in the place of the objects, up to the first that cannot be read, and returns
    its index or the length of the list. Both are those of `native`, the reader of the extension, if
    it is enabled.

    The first object has the functions generated, or `native` told of the class. A class that occurs
    in no answer costs nothing.
    """

    def __init__(
        self, cls: Any, hook_of: Callable[[Any], Structure], explain: Explain, *, is_native: bool = IS_ENABLED
    ) -> None:
        self._cls = cls
        self._hook_of = hook_of
        self._explain = explain
        self._counts: dict[Names, int] = {}
        self.native: ObjectReader | None = None
        self.read: Read = self._read
        self.replace_each: Callable[[list[Any]], int] = self._replace_each
        if is_native:
            from socialapi._speedups import _native

            self.native = _native.ObjectReader(self._read, self._describe, UNREADABLE)
            self.read, self.replace_each = self.native.read, self.native.replace_each

    @functools.cached_property
    def plan(self) -> ClassPlan:
        """How the objects are read."""
        return plan_of(self._cls, self._hook_of)

    @functools.cached_property
    def _writer(self) -> "_Writer":
        return _Writer(self.plan)

    def __call__(self, data: Any, _: Any = None) -> Any:
        """Returns the model instance for the data. Raises DecodeError."""
        try:
            return self.read(data)
        except UNREADABLE as problem:
            error = self.explain(data, problem)
        raise error

    def _describe(self) -> "tuple[Any, tuple[tuple[Any, ...], ...], Any] | None":
        return description(self.plan)

    def _read(self, data: Any) -> Any:
        return self[tuple(data)](data)

    def _replace_each(self, items: list[Any]) -> int:
        # What is replaced is freed at once. The collector is called for by the number of
        # containers, and would otherwise go through the data of a whole page again and again.
        index = 0
        try:
            for index, item in enumerate(items):
                items[index] = self[tuple(item)](item)
        except UNREADABLE:
            return index
        return len(items)

    def explain(self, data: Any, problem: Exception) -> DecodeError:
        """Returns the error that names the field at fault. Slow: it reads the data again."""
        return self._explain(self._cls, data, problem)

    def __missing__(self, names: Names) -> Read:
        """Returns the general function until the names have come often enough for one of
        their own.
        """
        if len(self) >= MAX_SHAPES or not self._writer.takes(names):
            return self._writer.general
        if len(self._counts) >= MAX_COUNTED:
            self._counts.clear()
        self._counts[names] = self._counts.get(names, 0) + 1
        if self._counts[names] < MIN_OCCURRENCES:
            return self._writer.general
        del self._counts[names]
        self[names] = self._writer.function(names)
        return self[names]


class _Writer:
    """Generates and compiles the functions of a class. Data that are read never become part of
    their source.
    """

    def __init__(self, plan: ClassPlan) -> None:
        self._plan = plan
        self._required = frozenset(name for name, field in plan.named.items() if field.is_required)
        self._scope: dict[str, Any] = {"cls": plan.cls, "new": plan.cls.__new__, "known": frozenset(plan.named)}
        self._scope |= {"fromisoformat": datetime.datetime.fromisoformat, "UTC": datetime.UTC, "moment": scalars.moment}
        self._scope |= {"only_object": scalars.only_object, "several": scalars.as_list, "required": required}
        self._scope |= {"unreadable": UNREADABLE, "read_items": read_items}
        for field in plan.every_field:
            self._scope[f"default_{field.attribute}"] = field.make_default or field.default
            self._scope[f"kind_{field.attribute}"] = field.kind
            self._scope[f"hook_{field.attribute}"] = field.hook
            if field.is_late and field.slot is not None:
                self._scope[f"set_{field.attribute}"] = field.slot.__set__

    def takes(self, names: Names) -> bool:
        """Returns whether to generate a function for these names.

        Not if a required one is missing: then nothing can be read. Not for none at all either,
        which an empty array or string has as well.
        """
        return 0 < len(names) <= len(self._plan.named) + MAX_LEFT_OVER and self._required.issubset(names)

    @functools.cached_property
    def general(self) -> Read:
        """The function for any object."""
        return self.function(None)

    def function(self, names: Names | None) -> Read:
        """Returns the function for objects with exactly these names in this order, or for any
        object if None.
        """
        known = self._plan.named
        scope, lines = dict(self._scope), ["def read(data):"]
        values = {name: f"v{index}" for index, name in enumerate(known if names is None else names)}
        if names is None:
            lines.append("    get = data.get")
        else:
            lines.append(f"    {', '.join(values.values())}, = data.values()")
        for name, field in known.items():
            v = values.get(name)
            if v is None:
                values[name] = "" if field.is_late else _default(field)
                continue
            if names is None:
                fetch = "data[{!r}]" if field.is_required else "get({!r})"
                lines.append(f"    {v} = {fetch.format(name)}")
            lines += [f"    {line}" for line in self._conversion(field, v)]
        left_over = [name for name in names or () if name not in known]
        scope |= {f"name_{values[name]}": name for name in left_over}
        extra = "None if known.issuperset(data) else {k: data[k] for k in data if k not in known}"
        if names is not None:
            extra = (
                f"{{{', '.join(f'name_{values[name]}: {values[name]}' for name in left_over)}}}" if left_over else ""
            )
        if extra and self._plan.extra is not None:
            lines.append(f"    extra = {extra}")
        lines += [f"    {line}" for line in self._making(values, extra and "extra")]
        exec("\n".join(lines), scope)  # noqa: S102  # the text is made of field names and types of our own classes
        read: Read = scope["read"]
        return read

    def _conversion(self, field: FieldPlan, v: str) -> list[str]:
        """Returns the lines that convert the value of a field. Missing, null and empty values get
        the default.
        """
        if field.is_array:
            lines = self._array(field, v)
        elif field.form is Form.ANY:
            lines = []
        elif field.form in NEEDS_CONVERSION:
            return self._scalar(field, v)
        elif field.form is Form.TIME:
            lines = [  # as `_time`
                f"try: time = fromisoformat({v})",
                f"except (TypeError, ValueError): {v} = moment({v})",
                f"else: {v} = moment({v}) if time.microsecond and not time.second else time",
                f"if {v} is not None and {v}.tzinfo is None: {v} = {v}.replace(tzinfo=UTC)",
            ]
        else:
            lines = self._object(field, v)
        if field.is_required:
            return [*lines, f"required({v})"] if lines else []
        if lines:
            lines = [f"if {v} is not None:", *(f"    {line}" for line in lines)]
        return lines + self._or_default(field, v)

    def _scalar(self, field: FieldPlan, v: str) -> list[str]:
        """Returns the lines for a scalar. The type is tested first, so that a regular value costs
        one test.
        """
        is_odd, hook = NEEDS_CONVERSION[field.form].format(v=v), f"hook_{field.attribute}"
        if field.is_required:
            return [f"if {is_odd}: {v} = required({hook}({v}))"]
        rest = [f"if {v} is not None: {v} = {hook}({v})", *self._or_default(field, v)]
        return [f"if {is_odd}:", *(f"    {line}" for line in rest)]

    def _or_default(self, field: FieldPlan, v: str) -> list[str]:
        if field.default is None or field.is_late:
            return []
        return [f"if {v} is None: {v} = {_default(field)}"]

    def _object(self, field: FieldPlan, v: str) -> list[str]:
        """Returns the lines for an object, which may also come as an array of one."""
        hook = f"hook_{field.attribute}"
        if field.form is not Form.OBJECT:
            return [f"{v} = {hook}({v}, kind_{field.attribute})"]
        return [
            f"if {v}.__class__ is not dict: {v} = only_object({v})",
            f"if {v} is not None: {v} = {hook}[tuple({v})]({v})",
        ]

    def _array(self, field: FieldPlan, v: str) -> list[str]:
        """Returns the lines for an array: all items at once, or one by one if any needs
        conversion.
        """
        hook = f"hook_{field.attribute}"
        lines = [f"if {v}.__class__ is not list: {v} = several({v})", f"if {v} is not None:"]
        one_by_one = f"{v} = read_items({v}, kind_{field.attribute}, {hook})"
        if field.form in NEEDS_CONVERSION:
            is_odd = NEEDS_CONVERSION[field.form].format(v="item")
            return [
                *lines,
                f"    for item in {v}:",
                f"        if {is_odd}: {one_by_one}; break",
                f"    {v} = tuple({v})",
            ]
        if field.form is Form.OBJECT:
            read = f"{v} = tuple([{hook}[tuple(item)](item) for item in {v}])"
            return [*lines, f"    try: {read}", f"    except unreadable: {one_by_one}"]
        return [*lines, f"    {v} = tuple({v})" if field.form is Form.ANY else f"    {one_by_one}"]

    def _making(self, values: Mapping[str, str], extra: str) -> list[str]:
        """Returns the lines that create the object from the values of its fields."""
        plan, of_fields = self._plan, {field.attribute: values[name] for name, field in self._plan.named.items()}
        if plan.extra is not None:
            of_fields["extra"] = extra if plan.extra.is_late else f"{extra} or {{}}" if extra else "{}"
        if not plan.is_bare:
            given = ((field.alias, of_fields.get(field.attribute)) for field in plan.every_field)
            return [f"return cls({', '.join(f'{alias}={value}' for alias, value in given if value is not None)})"]
        # Setting the attributes does the same as `__init__` without passing as many keyword
        # arguments.
        lines = ["self = new(cls)"]
        for field in plan.every_field:
            value = of_fields.get(field.attribute, "")
            if not field.is_late:
                lines.append(f"self.{field.attribute} = {value or _default(field)}")
            elif value:
                lines.append(f"if {value} is not None: set_{field.attribute}(self, {value})")
        return [*lines, "return self"]


def _default(field: FieldPlan) -> str:
    """Returns the default of a field as an expression. A factory is called for every object."""
    if field.make_default is None:
        return f"default_{field.attribute}"
    return "{}" if field.make_default is dict else f"default_{field.attribute}()"


# What the extension needs -----------------------------------------------------------------------


def description(plan: ClassPlan) -> tuple[Any, tuple[tuple[Any, ...], ...], Any] | None:
    """Returns what the reader of the extension is told of a class: the class, its fields, and the
    slot of `extra`. None for a class whose objects have to be made by Python.
    """
    if not plan.is_bare:
        return None
    if any(field.slot is None or (field.make_default and not field.is_late) for field in plan.every_field):
        return None
    if plan.extra is not None and not plan.extra.is_late:
        return None
    return plan.cls, tuple(map(_description, plan.fields)), plan.extra and plan.extra.slot


def _description(field: FieldPlan) -> tuple[Any, ...]:
    nested = field.hook.native if isinstance(field.hook, Reader) else None
    return (
        field.name,
        field.form,
        field.is_array,
        field.is_required,
        field.is_late,
        field.slot,
        field.default,
        nested,
        functools.partial(_convert, field),
    )


def _convert(field: FieldPlan, value: Any) -> Any:
    """Returns any value of a field as the generated functions read it, None for an empty one.
    Raises one of UNREADABLE.
    """
    if field.is_array:
        items = scalars.as_list(value)
        if items is None or field.form is Form.ANY:
            return None if items is None else tuple(items)
        return read_items(items, field.kind, field.hook)
    if field.form is Form.TIME:
        return _time(value)
    if isinstance(field.hook, Reader):
        data = scalars.only_object(value)
        return None if data is None else field.hook.read(data)
    return field.hook(value, field.kind) if field.form is Form.OTHER else field.hook(value)


def _time(value: Any) -> datetime.datetime | None:
    try:
        time = datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        found = scalars.moment(value)
    else:
        # The fraction may be one of a minute or an hour, which Python takes for one of a second.
        found = scalars.moment(value) if time.microsecond and not time.second else time
    return found.replace(tzinfo=datetime.UTC) if found is not None and found.tzinfo is None else found
