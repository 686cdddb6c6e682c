"""Equality, hash, repr and export of attrs classes, implemented once for all of them.

The first three are half of the code that attrs generates for a class, and compiling them takes a quarter of the time to
load a part of the package on first use. Classes that derive from `Record` (`FrozenRecord` if frozen) have methods that
use the list of fields instead. These are slower, so classes that are compared or hashed for each row or item do not
derive from them.
"""

import functools
import inspect
import operator
import reprlib
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import attrs


class Exported:
    """The base of classes whose objects can be converted to plain data and back.

    `Record` and `FrozenRecord` derive from it. A class that is compared for each row derives only from this base.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the object as dicts, lists, strings, numbers, booleans and None, with the service's names.
        `from_dict` converts the result back to an equal object.

        Times are in UTC. Undocumented fields that the service sent are included, and `UNSET` values are omitted. Raises
        InvalidInput, which names the field, for a value that JSON cannot represent, such as NaN or a time without a
        zone.
        """
        from socialapi.wire import export

        return export.to_dict(self)

    def to_json(self, *, indent: bool = False) -> str:
        """Returns `to_dict()` as a JSON string, indented if `indent` is true. Raises InvalidInput like `to_dict`."""
        from socialapi.wire import export

        return export.json_text(self.to_dict(), indent=indent)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Returns the object for the result of `to_dict`, or for an object from a response.

        Data is read as tolerantly as responses: unknown fields are kept or ignored, numbers may be strings, and a time
        without a zone is in UTC. For a JSON string, use `from_dict(json.loads(text))`. Raises InvalidInput if a field
        is missing or cannot be read. The error names the first such field, without its value.
        """
        from socialapi.wire import export

        made: Self = export.from_dict(cls, data)
        return made


class _ByFields(Exported):
    """Equality, hash and repr that use the fields of a class."""

    __slots__ = ()
    _METHODS: ClassVar[tuple[str, ...]] = ("__eq__", "__hash__", "__repr__")

    def __init_subclass__(cls) -> None:
        """Copies the methods into the class, because attrs would replace inherited ones."""
        super().__init_subclass__()
        for name in cls._METHODS:
            if name not in vars(cls):
                setattr(cls, name, getattr(cls, name))

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        cls: Any = self.__class__
        return all(getattr(self, name) == getattr(other, name) for name in _fields_of(cls).compared)

    def __hash__(self) -> int:
        cls: Any = self.__class__
        return hash((cls, *(getattr(self, name) for name in _fields_of(cls).hashed)))

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        cls: Any = self.__class__
        values = ((name, getattr(self, name, attrs.NOTHING)) for name in _fields_of(cls).shown)
        shown = (f"{name}={value!r}" for name, value in values if self._is_shown(value))
        return f"{cls.__qualname__.rpartition('>.')[2]}({', '.join(shown)})"

    def _is_shown(self, value: object) -> bool:
        """Returns whether the repr shows the value of a field."""
        return True


def accepted_type(kind: Any) -> Any:
    """Returns the type that callers may pass for a field of this type, without its rules."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Annotated, typing.Required):
        rules = getattr(kind, "__metadata__", ())
        return next((rule.accepts for rule in rules if hasattr(rule, "accepts")), None) or accepted_type(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, map(accepted_type, arguments))
    if origin is tuple:
        item = accepted_type(arguments[0])
        return item | types.GenericAlias(Sequence, item)
    return kind | Mapping[str, Any] if isinstance(kind, type) and issubclass(kind, Record) else kind


class _AcceptedTypes:
    """The signature of a request class with the types that callers may pass, for `help()` and notebooks."""

    def __get__(self, instance: object, cls: Any) -> inspect.Signature:
        made = inspect.signature(cls.__init__)
        kinds = inspect.get_annotations(cls.__init__, globals=vars(sys.modules[cls.__module__]), eval_str=True)
        _, *parameters = made.parameters.values()
        return made.replace(
            parameters=[each.replace(annotation=accepted_type(kinds[each.name])) for each in parameters]
        )


class Record(_ByFields):
    """The base of mutable attrs classes, whose objects cannot be hashed."""

    __slots__ = ()
    __signature__: ClassVar[Any] = _AcceptedTypes()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]


class FrozenRecord(_ByFields):
    """The base of frozen attrs classes."""

    __slots__ = ()


class _Fields:
    """The names of the fields that are compared, hashed and shown."""

    __slots__ = ("compared", "hashed", "shown")

    def __init__(self, cls: Any) -> None:
        fields = attrs.fields(cls)
        self.compared: Final = tuple(field.name for field in fields if field.eq)
        self.hashed: Final = tuple(field.name for field in fields if (field.eq if field.hash is None else field.hash))
        self.shown: Final = tuple(field.name for field in fields if field.repr)


_fields_of: Final = functools.cache(_Fields)
