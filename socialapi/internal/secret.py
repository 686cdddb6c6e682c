"""Texts that the repr of what holds them does not show."""

from collections.abc import Iterator, Mapping


class Secret(str):
    """A secret that is used like any text, but not shown in the repr of what holds it.

    Error trackers record the repr of every local variable in a traceback.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'"


class HiddenMapping(Mapping[str, str]):
    """Variables of an environment, with names and values that its repr does not show."""

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
