"""How requests to the control plane are declared: paths, what each is given, and checked bodies."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import attrs

from socialapi.emulator.call import DEFAULT_BODY_LIMIT
from socialapi.emulator.envelopes import Answer
from socialapi.emulator.service import Service
from socialapi.errors import InvalidInput
from socialapi.models.validation import broken_rules

PREFIX: Final = "/_emulator/"


@attrs.frozen
class Lines:
    """An answer of one JSON document a line, made and sent in slices so that others are served in between."""

    slices: Iterable[bytes]


@attrs.frozen
class Ask:
    """A control request: the path parameters and the decoded body, None if there was none."""

    service: Service
    parameters: dict[str, str]
    body: Any


Serve = Callable[[Ask], Awaitable[Answer | Lines]]


@attrs.frozen
class Control:
    """What serves a control request, and how large its body may be."""

    serve: Serve
    max_body_bytes: int = DEFAULT_BODY_LIMIT


ROWS: Final[list[tuple[str, str, Control]]] = []
"""Everything registered by `control`."""


def control(method: str, path: str, *, max_body_bytes: int = DEFAULT_BODY_LIMIT) -> Callable[[Serve], Serve]:
    """Registers the function below for a path under `/_emulator/`."""

    def register(function: Serve) -> Serve:
        ROWS.append((method, PREFIX + path, Control(function, max_body_bytes)))
        return function

    return register


def json_object(body: Any) -> dict[str, Any]:
    """The body, which has to be an object."""
    if not isinstance(body, dict):
        raise InvalidInput("the body must be a JSON object")
    return body


def checked(declared: Any, ask: Ask) -> dict[str, Any]:
    """The body, which has to keep the declared rules; none is an empty one."""
    body = json_object({} if ask.body is None else ask.body)
    if broken := broken_rules(declared, body, now=ask.service.clock.datetime()):
        raise InvalidInput("the body breaks rules", broken)
    return body
