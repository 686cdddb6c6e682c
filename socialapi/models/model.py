"""The base class of models in answers, and the tuple of answers without pages."""

from collections.abc import Iterable
from typing import Any, Self, TypeVar

import attrs

from socialapi.problems import Problem, ServiceError
from socialapi.records import Record

T = TypeVar("T")


class Items(tuple[T, ...]):  # noqa: SLOT001  # a tuple with slots of its own is none
    """The items of an answer without pages. `partial_errors` are the errors beside them."""

    partial_errors: "tuple[Problem | ServiceError, ...]" = ()

    @classmethod
    def of(cls, items: Iterable[T], partial_errors: "tuple[Problem | ServiceError, ...]") -> Self:
        """Returns the items with the errors beside them."""
        found = cls(items)
        found.partial_errors = partial_errors
        return found


@attrs.define(kw_only=True)
class Model(Record):
    """An object in an answer of the service.

    `extra` holds the members that this version does not know, by name. `partial_errors` are the
    errors beside the object in a successful answer; nested objects have none.
    """

    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)
    partial_errors: tuple[Problem | ServiceError, ...] = attrs.field(init=False, factory=tuple, eq=False, repr=False)
