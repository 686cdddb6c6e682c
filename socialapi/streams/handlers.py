"""Checks and calls handler functions, plain or async."""

import inspect
from collections.abc import Callable
from typing import Any

from socialapi.errors import InvalidInput


def check_handler(name: str, handler: object) -> None:
    """Raises InvalidInput, which names the argument, if the handler is not a function that can be called with an event.

    It also rejects classes and generator functions, because calling a generator would run nothing.
    """
    if not callable(handler) or inspect.isclass(handler):
        kind = f"the class {handler.__name__}" if inspect.isclass(handler) else type(handler).__name__
        raise InvalidInput(f"{name} must be a function, not {kind}")
    runs = type(handler).__call__  # for a callable object
    if any(is_one(each) for is_one in _GENERATORS for each in (handler, runs)):
        raise InvalidInput(f"{name} must be a function without yield: a generator would not run")


_GENERATORS = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)


async def call_handler(handler: Callable[..., Any], *given: Any) -> None:
    """Calls the handler and awaits its result if that is awaitable."""
    result = handler(*given)
    if inspect.isawaitable(result):
        await result
