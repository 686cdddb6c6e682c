"""What every object that the service answers with has in common."""

from collections.abc import Iterable
from typing import Any, Self, TypeVar

import attrs

from socialapi.problems import Problem, ServiceError

T = TypeVar("T")


class Items(tuple[T, ...]):  # noqa: SLOT001  # a tuple with slots of its own is none
    """The items of an answer that has no pages. `partial_errors` are the errors that stood beside them."""

    partial_errors: "tuple[Problem | ServiceError, ...]" = ()

    @classmethod
    def of(cls, items: Iterable[T], partial_errors: "tuple[Problem | ServiceError, ...]") -> Self:
        """The items with the errors beside them."""
        found = cls(items)
        found.partial_errors = partial_errors
        return found


@attrs.define(kw_only=True)
class Model:
    """An object of an answer.

    `extra` has the members that this version does not know, by their names. `partial_errors` are the errors that stood
    beside the object in a successful answer; an object within another one has none of its own.
    """

    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)
    partial_errors: tuple[Problem | ServiceError, ...] = attrs.field(init=False, factory=tuple, eq=False, repr=False)
