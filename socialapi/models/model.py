"""What every object that the service answers with has in common."""

from typing import Any

import attrs

from socialapi.problems import Problem, ServiceError


@attrs.define(kw_only=True)
class Model:
    """An object of an answer.

    `extra` has the members that this version does not know, by their names. `partial_errors` are the errors that stood
    beside the object in a successful answer; an object within another one has none of its own.
    """

    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)
    partial_errors: tuple[Problem | ServiceError, ...] = attrs.field(init=False, factory=tuple, eq=False, repr=False)
