"""Strings with a repr that hides their value."""

from collections.abc import Iterator, Mapping
from typing import TypeVar, cast


class Secret(str):
    """An ordinary string, except that its repr hides the value.

    Error trackers record the repr of every local variable in a traceback.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'"


T = TypeVar("T")


def hidden(value: T) -> T:
    """Returns a string with a repr that hides it, and any other value unchanged."""
    return cast("T", Secret(value)) if isinstance(value, str) else value


class HiddenMapping(Mapping[str, str]):
    """Environment variables with a repr that hides names and values."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> str:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:
        return f"<{len(self)} variables>"
