"""What may be true of the service: a call whose outcome is unknown leaves two possibilities."""

import copy
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

S = TypeVar("S")
V = TypeVar("V")

Executed = Literal["yes", "no", "unknown"]


class Worlds(Generic[S]):
    """All that may be true: states of which one is. They are changed and compared by value.

    A change whose outcome is unknown leaves each state as it was and as it would be. What is seen
    leaves those states that agree with it, and there is always one.
    """

    def __init__(self, *states: S) -> None:
        self.states: list[S] = list(states)

    def change(self, executed: Executed, change: Callable[[S], object]) -> None:
        """Changes the states in place, unless the change was not executed."""
        if executed == "no":
            return
        before = copy.deepcopy(self.states) if executed == "unknown" else []
        for state in self.states:
            change(state)
        self.states += [state for state in before if state not in self.states]

    def split(self, *changes: Callable[[S], object]) -> None:
        """Makes each of the changes to each state: one of them was made, and nobody knows which."""
        found: list[S] = []
        for state in self.states:
            for change in changes:
                changed = copy.deepcopy(state)
                change(changed)
                if changed not in found:
                    found.append(changed)
        self.states = found

    def see(self, look: Callable[[S], V], seen: V) -> None:
        """Leaves the states that look like what was seen. There has to be one."""
        possible = [look(state) for state in self.states]
        self.states = [state for state, looks in zip(self.states, possible, strict=True) if looks == seen]
        assert self.states, f"seen: {seen!r}; possible: {possible!r}"

    def keep(self, change: Callable[[S], bool]) -> None:
        """Changes the states in place, and leaves those in which that was possible. There has to be
        one.
        """
        before = repr(self.states)
        self.states = [state for state in self.states if change(state)]
        assert self.states, f"possible before: {before}"

    @property
    def only(self) -> S:
        """The one state that is left."""
        assert len(self.states) == 1, self.states
        return self.states[0]
